"""What a session is made of once it has been read: prompts, thoughts, words, calls, notices, turns, branches."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct

from reread.records import (
    Assistant,
    Block,
    Record,
    RedactedThinking,
    Spoken,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
)

from .kinds import Kind

MINIMUM_THOUGHT = 11
"""Shorter thoughts say nothing; a filter of views, never of the parser."""


class _FromLine(Struct, frozen=True, kw_only=True, gc=False):
    """Something that stands in a line of the transcript."""

    record: Record

    @property
    def uuid(self) -> str | None:
        return self.record.uuid

    @property
    def time(self) -> datetime | None:
        return self.record.time

    @property
    def message_id(self) -> str | None:
        """The API response it is part of."""
        message = self.record.message if isinstance(self.record, Spoken) else None
        return message.id if message is not None else None


class Prompt(_FromLine, frozen=True, kw_only=True, gc=False):
    """What a person (or, in a subagent, a model) asked for."""

    text: str
    kind: Kind
    images: int = 0
    is_queued: bool = False
    """Sent while the agent was busy: it steers the turn it fell into and opens none."""


class Thought(_FromLine, frozen=True, kw_only=True, gc=False):
    block: Thinking | RedactedThinking

    @property
    def text(self) -> str:
        """Empty when the client did not store it."""
        return self.block.as_text

    @property
    def is_redacted(self) -> bool:
        return isinstance(self.block, RedactedThinking)

    @property
    def is_signed(self) -> bool:
        return isinstance(self.block, Thinking) and bool(self.block.signature)

    @property
    def duration_ms(self) -> float | None:
        return self.record.thinking_duration_ms if isinstance(self.record, Assistant) else None

    @property
    def estimated_tokens(self) -> int:
        return len(self.text) // 4


class Said(_FromLine, frozen=True, kw_only=True, gc=False):
    """Words of the model meant for the person."""

    block: Text

    @property
    def text(self) -> str:
        return self.block.as_text


class Status(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    REJECTED = "rejected"
    INTERRUPTED = "interrupted"
    MISSING = "missing"


class ToolOutput(_FromLine, frozen=True, kw_only=True, gc=False):
    block: ToolResult

    @property
    def text(self) -> str:
        return self.block.as_text

    @property
    def is_error(self) -> bool:
        return bool(self.block.is_error)


class ToolCall(_FromLine, frozen=True, kw_only=True, gc=False):
    block: ToolUse
    output: ToolOutput | None
    status: Status
    persisted: str | None = None
    """Base name of the side file that holds the whole output, when the line holds only its beginning."""

    @property
    def id(self) -> str | None:
        return self.block.id

    @property
    def name(self) -> str:
        return self.block.name or "(unnamed)"

    @property
    def input(self) -> Any:
        return self.block.input

    @property
    def server(self) -> str | None:
        """The MCP server, for tools that come from one."""
        return split_tool_name(self.name)[0]

    @property
    def seconds(self) -> float | None:
        """From the call's line to its result's."""
        if self.output is None or self.time is None or self.output.time is None:
            return None
        return max(0.0, (self.output.time - self.time).total_seconds())


def split_tool_name(name: str) -> tuple[str | None, str]:
    """`mcp__desktop-commander__read_file` -> the server and its tool; others have no server."""
    if not name.startswith("mcp__"):
        return None, name
    server, found, tool = name.removeprefix("mcp__").partition("__")
    return (server, tool) if found else (None, name)


class Notice(_FromLine, frozen=True, kw_only=True, gc=False):
    """Something that happened beside the talk."""

    what: str
    """interrupted, compacted, api_error, queued, command, rewound, hook, task, unknown."""
    text: str
    detail: str = ""
    """Longer text that goes with it: a summary, an output."""


Step = Thought | Said | ToolCall | Notice


class Message(Struct, frozen=True, kw_only=True, gc=False):
    """One message of the conversation: a user line, or all lines of one API response."""

    role: str
    id: str | None
    records: tuple[Spoken, ...]
    kind: Kind | None = None
    """Who speaks, for user lines."""

    @property
    def uuid(self) -> str | None:
        return self.records[0].uuid

    @property
    def time(self) -> datetime | None:
        return self.records[0].time

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for record in self.records for block in record.blocks)

    @property
    def text(self) -> str:
        return " ".join(record.text for record in self.records if record.text)

    @property
    def usage(self) -> Usage | None:
        """Of the row with most output, the last on a tie; None on user lines."""
        rows = [row.message.usage for row in self.records if row.message is not None]
        counted = [usage for usage in rows if usage is not None]
        return max(reversed(counted), key=lambda usage: usage.output_tokens or 0, default=None)

    @property
    def model(self) -> str | None:
        return self.records[-1].message.model if self.records[-1].message is not None else None


class Turn(Struct, frozen=True, kw_only=True):
    """A prompt and all that followed until the next one."""

    index: int
    branch: str
    prompt: Prompt | None
    """None before the first prompt, and where a branch begins in the middle of an answer."""
    steps: tuple[Step, ...]
    records: tuple[Record, ...]
    """Every line of the turn, shown or not."""
    duration_ms: float | None = None


class Branch(Struct, frozen=True, kw_only=True):
    """One way the conversation went."""

    id: str
    leaf: str | None
    active: bool
    forked_at: str | None
    """The line it shares with the branch it left; None where it starts at the beginning."""
    turns: tuple[Turn, ...]
    """All turns for the active branch; for an abandoned one those after the fork."""
    certain: bool = True
    """False when the fork was guessed: it is not two prompts side by side."""


class Unplaced(Struct, frozen=True, kw_only=True):
    """A line that is in no turn, and why."""

    record: Record
    reason: str


class Coverage(Struct, frozen=True, kw_only=True):
    """The proof that nothing was lost: records = placed + unplaced."""

    records: int
    placed: int
    unplaced: tuple[Unplaced, ...]

    @property
    def is_complete(self) -> bool:
        return self.records == self.placed + len(self.unplaced)
