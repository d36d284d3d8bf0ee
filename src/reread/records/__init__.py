"""Bytes to records: the content of one line of a transcript or one frame of a stream.

Names are fetched when first used: a list of sessions reads the client's settings and must not load sixty types.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .attachments import Attachment, HookBlockingError, QueuedCommand, UnknownAttachment
    from .base import Record, Unknown
    from .content import (
        AdvisorToolResult,
        Block,
        Content,
        Document,
        Image,
        Iteration,
        RedactedThinking,
        ServerToolResult,
        ServerToolUse,
        Text,
        Thinking,
        ToolReference,
        ToolResult,
        ToolUse,
        UnknownBlock,
        Usage,
        WebSearchToolResult,
        text_of,
    )
    from .conversation import (
        SYNTHETIC_MODEL,
        ApiMessage,
        Assistant,
        ResultTwin,
        Spoken,
        ToolResultLine,
        User,
        result_twin,
    )
    from .decoder import RECORD_TYPES, decode, decode_all
    from .drift import Drift
    from .frames import ControlRequest, Result, StreamEvent
    from .lenient import parse_or_none, parse_time
    from .state import (
        AgentMeta,
        AgentProgress,
        AiTitle,
        CostState,
        CustomTitle,
        CustomTitleFile,
        HistoryEntry,
        LastPrompt,
        ProgressLine,
        QueueOperation,
        SessionsIndex,
        SettingsFields,
        Summary,
        decode_side_file,
    )
    from .system import (
        SYSTEM_SUBTYPES,
        ApiError,
        ApiRetry,
        AwaySummary,
        CompactBoundary,
        Init,
        LocalCommand,
        MicrocompactBoundary,
        StopHookSummary,
        System,
        TaskEvent,
        TurnDuration,
    )


__all__ = [
    "RECORD_TYPES",
    "SYNTHETIC_MODEL",
    "SYSTEM_SUBTYPES",
    "AdvisorToolResult",
    "AgentMeta",
    "AgentProgress",
    "AiTitle",
    "ApiError",
    "ApiMessage",
    "ApiRetry",
    "Assistant",
    "Attachment",
    "AwaySummary",
    "Block",
    "CompactBoundary",
    "Content",
    "ControlRequest",
    "CostState",
    "CustomTitle",
    "CustomTitleFile",
    "Document",
    "Drift",
    "HistoryEntry",
    "HookBlockingError",
    "Image",
    "Init",
    "Iteration",
    "LastPrompt",
    "LocalCommand",
    "MicrocompactBoundary",
    "ProgressLine",
    "QueueOperation",
    "QueuedCommand",
    "Record",
    "RedactedThinking",
    "Result",
    "ResultTwin",
    "ServerToolResult",
    "ServerToolUse",
    "SessionsIndex",
    "SettingsFields",
    "Spoken",
    "StopHookSummary",
    "StreamEvent",
    "Summary",
    "System",
    "TaskEvent",
    "Text",
    "Thinking",
    "ToolReference",
    "ToolResult",
    "ToolResultLine",
    "ToolUse",
    "TurnDuration",
    "Unknown",
    "UnknownAttachment",
    "UnknownBlock",
    "Usage",
    "User",
    "WebSearchToolResult",
    "decode",
    "decode_all",
    "decode_side_file",
    "parse_or_none",
    "parse_time",
    "result_twin",
    "text_of",
]

__getattr__ = fetcher(__name__)
