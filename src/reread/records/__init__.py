"""Bytes to records: the content of one line of a transcript or one frame of a stream.

Names are fetched when first used: a list of sessions reads the client's settings and must not load sixty types.
"""

# ruff: noqa: I001  it would give each `X as X`, which makes X public, an import of its own

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .attachments import (
        Attachment as Attachment,
        HookBlockingError as HookBlockingError,
        QueuedCommand as QueuedCommand,
        UnknownAttachment as UnknownAttachment,
    )
    from .base import Record as Record, Unknown as Unknown
    from .content import (
        AdvisorToolResult as AdvisorToolResult,
        Block as Block,
        Content as Content,
        Document as Document,
        Image as Image,
        Iteration as Iteration,
        RedactedThinking as RedactedThinking,
        ServerToolResult as ServerToolResult,
        ServerToolUse as ServerToolUse,
        Text as Text,
        Thinking as Thinking,
        ToolReference as ToolReference,
        ToolResult as ToolResult,
        ToolUse as ToolUse,
        UnknownBlock as UnknownBlock,
        Usage as Usage,
        WebSearchToolResult as WebSearchToolResult,
        text_of as text_of,
    )
    from .conversation import (
        SYNTHETIC_MODEL as SYNTHETIC_MODEL,
        ApiMessage as ApiMessage,
        Assistant as Assistant,
        ResultTwin as ResultTwin,
        Spoken as Spoken,
        ToolResultLine as ToolResultLine,
        User as User,
        result_twin as result_twin,
    )
    from .decoder import RECORD_TYPES as RECORD_TYPES, decode as decode, decode_all as decode_all
    from .drift import Drift as Drift
    from .frames import ControlRequest as ControlRequest, Result as Result, StreamEvent as StreamEvent
    from .lenient import parse_or_none as parse_or_none, parse_time as parse_time
    from .state import (
        AgentMeta as AgentMeta,
        AgentProgress as AgentProgress,
        AiTitle as AiTitle,
        CostState as CostState,
        CustomTitle as CustomTitle,
        CustomTitleFile as CustomTitleFile,
        HistoryEntry as HistoryEntry,
        LastPrompt as LastPrompt,
        ProgressLine as ProgressLine,
        QueueOperation as QueueOperation,
        SessionsIndex as SessionsIndex,
        SettingsFields as SettingsFields,
        Summary as Summary,
        decode_side_file as decode_side_file,
    )
    from .system import (
        SYSTEM_SUBTYPES as SYSTEM_SUBTYPES,
        ApiError as ApiError,
        ApiRetry as ApiRetry,
        AwaySummary as AwaySummary,
        CompactBoundary as CompactBoundary,
        Init as Init,
        LocalCommand as LocalCommand,
        MicrocompactBoundary as MicrocompactBoundary,
        StopHookSummary as StopHookSummary,
        System as System,
        TaskEvent as TaskEvent,
        TurnDuration as TurnDuration,
    )

fetch_names(__name__)
