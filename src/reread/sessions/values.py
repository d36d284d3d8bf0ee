"""The parts of a session that has been read: prompts, thoughts, words, calls, notices, turns, branches."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from msgspec import Struct

from reread import lazy
from reread.billing import Prices, packaged_prices
from reread.billing.report import Tokens
from reread.lazy import TYPE_CHECKING
from reread.records import Assistant, Block, Record, RedactedThinking, Spoken, Text, Thinking, ToolUse, Usage, User
from reread.records.json_parts import list_of, object_of

from .calls import FromLine, ToolCall
from .requests import add_up, requests_of, spoken_groups
from .speaker import Speaker, kind_of

if TYPE_CHECKING:
    import json
    from collections.abc import Mapping
    from typing import Any
else:
    lazy.bind(globals())

MINIMUM_THOUGHT = 11
"""Shorter thoughts say nothing. Views filter by it; the parser never does."""


class Prompt(FromLine, frozen=True, kw_only=True, gc=False):
    """What a person (or, in a subagent, a model) asked for."""

    text: str
    kind: Speaker
    images: int = 0
    is_queued: bool = False
    """Sent while the agent was busy: it belongs to the running turn and opens no turn of its own."""


class Thought(FromLine, frozen=True, kw_only=True, gc=False):
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

    @property
    def billed_tokens(self) -> int | None:
        """Tokens of all thinking in its response that the API billed, where its line says so."""
        usage = self.record.api_message.usage if isinstance(self.record, Assistant) else None
        details = usage.output_tokens_details if usage is not None else None
        return details.thinking_tokens if details is not None else None


class FlatText(TypedDict):
    """A text without its place in the conversation."""

    type: str
    """`user`, `thinking` or `output`."""
    text: str
    ts: str | float | None
    """The time as the line has it."""


class Said(FromLine, frozen=True, kw_only=True, gc=False):
    """Words of the model to the person."""

    block: Text

    @property
    def text(self) -> str:
        return self.block.as_text


class Notice(FromLine, frozen=True, kw_only=True, gc=False):
    """Something that happened and is neither a prompt nor the model's words, thoughts or calls."""

    what: str
    """interrupted, compacted, api_error, queued, command, rewound, hook, task, withdrawn, unsaid, unknown."""
    text: str
    detail: str = ""
    """Longer text that goes with it: a summary, an output."""


Step = Thought | Said | ToolCall | Notice


class Message(Struct, frozen=True, kw_only=True, gc=False):
    """One message of the conversation: a user line, or all lines of one API response."""

    role: str
    id: str | None
    records: tuple[Spoken, ...]

    def __repr__(self) -> str:
        return f"<Message {self.role}{f' {self.id}' if self.id else ''}, {len(self.records)} records>"

    @property
    def kind(self) -> Speaker | None:
        """The speaker of a user line; None for other messages."""
        first = self.records[0]
        return kind_of(first) if isinstance(first, User) else None

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
        """Of the row with the most output, the last on a tie; None on user lines."""
        counted = [usage for row in self.records if (usage := row.api_message.usage) is not None]
        return max(reversed(counted), key=lambda usage: usage.output_tokens or 0, default=None)

    @property
    def message(self) -> dict[str, Any]:
        """Plain values, as in the transcript; `content` is that of all its lines, and `usage` the one that counts."""
        lines = [object_of(record.data.get("message")) for record in self.records]
        parts = [part for line in lines for part in list_of(line.get("content"))]
        usages = [usage for line in lines if isinstance(usage := line.get("usage"), dict)]
        counted = max(reversed(usages), key=_output, default=None)
        first = next(filter(None, lines), {})
        whole = {**first, "content": parts or first.get("content", [])}
        return whole if counted is None else {**whole, "usage": counted}

    @property
    def estimated_tokens(self) -> int:
        """A quarter of the characters of thinking, text and tool inputs: for messages without usage."""
        return sum(_characters(block) for block in self.blocks) // 4

    @property
    def model(self) -> str | None:
        return self.records[-1].api_message.model


def _output(usage: Mapping[str, Any]) -> int:
    given = usage.get("output_tokens")
    return given if isinstance(given, int) else 0


def _characters(block: Block) -> int:
    if isinstance(block, ToolUse):
        return len(json.dumps(block.input)) if block.input else 0
    return len(block.as_text) if isinstance(block, Thinking | Text) else 0


class Turn(Struct, frozen=True, kw_only=True):
    """A prompt and everything that followed until the next one."""

    index: int
    branch: str
    prompt: Prompt | None
    """None before the first prompt, and where a branch begins in the middle of an answer."""
    steps: tuple[Step, ...]
    records: tuple[Record, ...]
    """Every line of the turn, shown or not."""
    duration_ms: float | None = None

    def __repr__(self) -> str:
        return f"<Turn {self.index}, {len(self.steps)} steps, {len(self.records)} records>"

    @property
    def calls(self) -> list[ToolCall]:
        return [step for step in self.steps if isinstance(step, ToolCall)]


class Branch(Struct, frozen=True, kw_only=True):
    """One way the conversation went."""

    id: str
    leaf: str | None
    active: bool
    forked_at: str | None
    """The line it shares with the branch it left; None where it starts at the beginning."""
    turns: tuple[Turn, ...]
    """For the active branch all turns; for an abandoned one the turns after the fork."""
    certain: bool = True
    """False when the fork is a guess: it is not two prompts side by side."""
    prices: Prices | None = None
    """None stands for the packaged prices."""

    @property
    def usage(self) -> Tokens:
        """Tokens and money of these turns, without agents that have files of their own."""
        lines = (record for turn in self.turns for record in turn.records)
        return add_up(requests_of(spoken_groups(lines)), self.prices if self.prices is not None else packaged_prices())

    def __repr__(self) -> str:
        kind = "active" if self.active else f"left at {self.forked_at}"
        return f"<Branch {self.id}, {kind}, {len(self.turns)} turns>"


class Unplaced(Struct, frozen=True, kw_only=True):
    """A line that is in no turn, and why."""

    record: Record
    reason: str


class Coverage(Struct, frozen=True, kw_only=True):
    """Proof that nothing was lost: records = placed + unplaced."""

    records: int
    placed: int
    unplaced: tuple[Unplaced, ...]

    @property
    def is_complete(self) -> bool:
        return self.records == self.placed + len(self.unplaced)
