"""System frames in words: what the client says about itself between the messages."""

from __future__ import annotations

from typing import Any

from reread.records import ApiRetry, CompactBoundary, System, TaskEvent, parse_or_none
from reread.records.system import HookEvent, PermissionDenied, SessionTitleChanged, Status, ThinkingTokens
from reread.sessions.turns import compacted_sizes

from .events import Notice, Where

_WHAT = {
    "compact_boundary": "compacted",
    "api_retry": "retry",
    "task_started": "task",
    "task_progress": "task",
    "task_updated": "task",
    "task_notification": "task",
    "hook_started": "hook",
    "hook_progress": "hook",
    "hook_response": "hook",
    "session_title_changed": "title",
}
"""Subtypes that go by a shorter name; all others go by their own."""


def notice_of(frame: System, where: Where) -> Notice:
    what = _WHAT.get(frame.subtype or "", frame.subtype or "system")
    return Notice(**where, what=what, text=_text(frame), record=frame)


def _text(frame: System) -> str:
    if isinstance(frame, ApiRetry):
        return _retry(frame)
    if isinstance(frame, CompactBoundary):
        return compacted_sizes(frame)
    if isinstance(frame, TaskEvent):
        return " ".join(part for part in (_task_status(frame), frame.summary or frame.description) if part)
    if isinstance(frame, ThinkingTokens):
        return f"about {frame.estimated_tokens:,} tokens" if frame.estimated_tokens is not None else ""
    if isinstance(frame, HookEvent):
        return " ".join(part for part in (frame.hook_name or frame.hook_event, frame.outcome) if part)
    if isinstance(frame, Status):
        return frame.status or ""
    if isinstance(frame, SessionTitleChanged):
        return frame.title or ""
    if isinstance(frame, PermissionDenied):
        return ": ".join(part for part in (frame.tool_name, frame.message) if part)
    return frame.text


def _retry(frame: ApiRetry) -> str:
    status = f"HTTP {frame.error_status}" if frame.error_status is not None else "the connection broke"
    of = f" of {frame.max_retries}" if frame.max_retries is not None else ""
    wait = f", in {frame.retry_delay_ms / 1000:.1f} s" if frame.retry_delay_ms is not None else ""
    return f"{status}; attempt {frame.attempt}{of}{wait}"


_STATUS = {"task_started": "started", "task_progress": "works on"}


def _task_status(frame: TaskEvent) -> str:
    return task_state(frame) or _STATUS.get(frame.subtype or "", "")


def task_state(frame: TaskEvent) -> str | None:
    """How a task stands, where the frame says so: in itself or in its patch."""
    patch: Any = parse_or_none(frame.patch)
    changed = patch.get("status") if isinstance(patch, dict) else None
    return frame.status or (changed if isinstance(changed, str) else None)
