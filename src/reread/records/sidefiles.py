"""The small JSON files beside transcripts: agent meta, titles, the index, prompt history, settings."""

from typing import Any, TypeVar

from msgspec import Raw, Struct, field

from .base import Number
from .lenient import ABSENT, Timestamp, parse_or_none, salvage

S = TypeVar("S", bound=Struct)


class AgentMeta(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """`agent-<id>.meta.json`: which call started the agent. It may exist without its transcript."""

    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None
    spawn_depth: int | None = None
    model: str | None = None
    parent_agent_id: str | None = None
    is_built_in: bool | None = None
    launched_with_defaults: bool | None = None
    request_shape: Raw = ABSENT
    request_non_interactive: bool | None = None
    picked_effort_model: Raw = ABSENT
    finished: Raw = ABSENT
    name: str | None = None
    worktree_path: str | None = None


class CustomTitleFile(Struct, frozen=True, gc=False, rename="camel"):
    custom_title: str | None = None


class IndexEntry(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    session_id: str | None = None
    full_path: str | None = None
    file_mtime: Timestamp = None
    first_prompt: str | None = None
    summary: str | None = None
    message_count: int | None = None
    created: Timestamp = None
    modified: Timestamp = None
    git_branch: str | None = None
    project_path: str | None = None
    is_sidechain: bool | None = None


class SessionsIndex(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """`sessions-index.json`: a cache of older clients that lists only some sessions. A hint, no truth."""

    version: int | None = None
    original_path: str | None = None
    entries: list[IndexEntry] = field(default_factory=list)


class HistoryEntry(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One line of `history.jsonl`: a prompt typed in the interactive client. It outlives the session."""

    display: str | None = None
    pasted_contents: Any = None
    timestamp: Timestamp = None
    project: str | None = None
    session_id: str | None = None


class SettingsFields(Struct, frozen=True, gc=False, rename="camel"):
    cleanup_period_days: Number | None = None


def decode_side_file(raw: bytes, kind: type[S]) -> S | None:
    """A side file as its type, field by field; None when the bytes are no JSON object."""
    value = parse_or_none(raw)
    return salvage(kind, value, []) if isinstance(value, dict) else None
