"""Bytes to records: what one line of a transcript or one frame of a stream says."""

from .attachments import Attachment, HookBlockingError, QueuedCommand, UnknownAttachment
from .base import Record, Unknown
from .blocks import (
    AdvisorToolResult,
    Block,
    Content,
    Document,
    Image,
    RedactedThinking,
    ServerToolUse,
    Text,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    UnknownBlock,
    WebSearchToolResult,
    text_of,
)
from .conversation import SYNTHETIC_MODEL, Assistant, Message, ToolResultLine, User
from .decoding import RECORD_TYPES, decode, decode_all
from .drift import Drift
from .frames import ControlRequest, Result, StreamEvent
from .progress import AgentProgress, Progress
from .results import ResultTwin, result_twin
from .sidefiles import (
    AgentMeta,
    CustomTitleFile,
    HistoryEntry,
    SessionsIndex,
    Settings,
    decode_side_file,
)
from .state import AiTitle, CostState, CustomTitle, LastPrompt, QueueOperation, Summary
from .system import (
    SYSTEM_SUBTYPES,
    ApiError,
    ApiRetry,
    AwaySummary,
    CompactBoundary,
    Init,
    LocalCommand,
    StopHookSummary,
    System,
    TaskEvent,
    TurnDuration,
)
from .timestamps import parse_time
from .tolerant import parse_or_none
from .usage import Iteration, Usage

__all__ = [
    "RECORD_TYPES",
    "SYNTHETIC_MODEL",
    "SYSTEM_SUBTYPES",
    "AdvisorToolResult",
    "AgentMeta",
    "AgentProgress",
    "AiTitle",
    "ApiError",
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
    "Message",
    "Progress",
    "QueueOperation",
    "QueuedCommand",
    "Record",
    "RedactedThinking",
    "Result",
    "ResultTwin",
    "ServerToolUse",
    "SessionsIndex",
    "Settings",
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
