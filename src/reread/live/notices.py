"""What a notice of the client says, in a few words: the client sends its fields, not a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reread.records import ApiRetry, CompactBoundary, System, TaskEvent, parse_or_none
from reread.records.json_parts import object_of, text_or_none
from reread.records.system import HookEvent, PermissionDenied, SessionTitleChanged, StatusLineRecord, ThinkingTokens
from reread.sessions.turns import compacted_sizes

from .events import EventPlace, Notice

_WHAT = {
    "compact_boundary": "compacted",
    "api_retry": "retry",
    "session_title_changed": "title",
    **dict.fromkeys(("task_started", "task_progress", "task_updated", "task_notification"), "task"),
    **dict.fromkeys(("hook_started", "hook_progress", "hook_response"), "hook"),
}
"""Shorter names for some subtypes; the others keep their own."""


def notice_of(frame: System, where: EventPlace) -> Notice:
    what = _WHAT.get(frame.subtype or "", frame.subtype or "system")
    text_of = _TEXTS.get(type(frame))
    return Notice(**where, what=what, text=frame.text if text_of is None else text_of(frame), record=frame)


def _retry(frame: ApiRetry) -> str:
    status = f"HTTP {frame.error_status}" if frame.error_status is not None else "the connection broke"
    of = f" of {frame.max_retries}" if frame.max_retries is not None else ""
    wait = f", in {frame.retry_delay_ms / 1000:.1f} s" if frame.retry_delay_ms is not None else ""
    return f"{status}; attempt {frame.attempt}{of}{wait}"


def _thinking(frame: ThinkingTokens) -> str:
    return f"about {frame.estimated_tokens:,} tokens" if frame.estimated_tokens is not None else ""


_STATUS = {"task_started": "started", "task_progress": "works on"}


def _task(frame: TaskEvent) -> str:
    return _joined(" ", task_state(frame) or _STATUS.get(frame.subtype or ""), frame.summary or frame.description)


def task_state(frame: TaskEvent) -> str | None:
    """The state of a task, if the frame or its patch has it."""
    return frame.status or text_or_none(object_of(parse_or_none(frame.patch)).get("status"))


def _joined(by: str, *parts: str | None) -> str:
    return by.join(part for part in parts if part)


_TEXTS: dict[type[System], Callable[[Any], str]] = {
    ApiRetry: _retry,
    CompactBoundary: compacted_sizes,
    TaskEvent: _task,
    ThinkingTokens: _thinking,
    HookEvent: lambda frame: _joined(" ", frame.hook_name or frame.hook_event, frame.outcome),
    StatusLineRecord: lambda frame: frame.status or "",
    SessionTitleChanged: lambda frame: frame.title or "",
    PermissionDenied: lambda frame: _joined(": ", frame.tool_name, frame.message),
}
"""The others have a text of their own."""
