"""Bytes to records: what one line of a transcript or one frame of a stream says.

Names are fetched when first used: a list of sessions reads the client's settings, and must not wait for sixty types.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
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
    from .conversation import SYNTHETIC_MODEL, Assistant, Message, Spoken, ToolResultLine, User
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

_HOME = {
    "AdvisorToolResult": "blocks",
    "AgentMeta": "sidefiles",
    "AgentProgress": "progress",
    "AiTitle": "state",
    "ApiError": "system",
    "ApiRetry": "system",
    "Assistant": "conversation",
    "Attachment": "attachments",
    "AwaySummary": "system",
    "Block": "blocks",
    "CompactBoundary": "system",
    "Content": "blocks",
    "ControlRequest": "frames",
    "CostState": "state",
    "CustomTitle": "state",
    "CustomTitleFile": "sidefiles",
    "Document": "blocks",
    "Drift": "drift",
    "HistoryEntry": "sidefiles",
    "HookBlockingError": "attachments",
    "Image": "blocks",
    "Init": "system",
    "Iteration": "usage",
    "LastPrompt": "state",
    "LocalCommand": "system",
    "Message": "conversation",
    "Progress": "progress",
    "QueueOperation": "state",
    "QueuedCommand": "attachments",
    "RECORD_TYPES": "decoding",
    "Record": "base",
    "RedactedThinking": "blocks",
    "Result": "frames",
    "ResultTwin": "results",
    "SYNTHETIC_MODEL": "conversation",
    "SYSTEM_SUBTYPES": "system",
    "ServerToolUse": "blocks",
    "SessionsIndex": "sidefiles",
    "Settings": "sidefiles",
    "Spoken": "conversation",
    "StopHookSummary": "system",
    "StreamEvent": "frames",
    "Summary": "state",
    "System": "system",
    "TaskEvent": "system",
    "Text": "blocks",
    "Thinking": "blocks",
    "ToolReference": "blocks",
    "ToolResult": "blocks",
    "ToolResultLine": "conversation",
    "ToolUse": "blocks",
    "TurnDuration": "system",
    "Unknown": "base",
    "UnknownAttachment": "attachments",
    "UnknownBlock": "blocks",
    "Usage": "usage",
    "User": "conversation",
    "WebSearchToolResult": "blocks",
    "decode": "decoding",
    "decode_all": "decoding",
    "decode_side_file": "sidefiles",
    "parse_or_none": "tolerant",
    "parse_time": "timestamps",
    "result_twin": "results",
    "text_of": "blocks",
}

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


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value
