"""What only the wire knew of a session: blocks that were taken back, how permissions were answered, when it happened.

A client writes none of this into its transcript; it stands in the capture of a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from reread.records import Assistant, Block, Record, StreamEvent, Usage
from reread.records.tolerant import ABSENT

Withdrawal = Literal["interrupted", "error", "cut"]
"""By the person; by an error or a broken connection, after which the client asks again or gives up; or the stream
itself ended."""


class WithdrawnBlock(Record, tag="reread:withdrawn", frozen=True, kw_only=True):
    """A block that was shown while it streamed and then taken back: it counts nothing.

    Its `raw` are the lines of the capture from the beginning of its message to its last fragment.
    """

    message_id: str | None = None
    block: Block
    reason: Withdrawal

    @property
    def text(self) -> str:
        return self.block.as_text


class ToolPermission(Struct, frozen=True, kw_only=True):
    """A question of the client whether a tool may run, and what was answered."""

    asked: datetime | None
    answered: datetime | None = None
    decision: Literal["allow", "deny", "error", "void"] | None = None
    """`void`: the client took the question back. None: nobody answered."""
    message: str | None = None
    """What the model was told with a refusal."""
    edited_input: Any = None
    """What the tool was run with, where that is not what the model gave it."""
    remembered: tuple[Any, ...] = ()
    """Rules that hold from then on, as the client puts them."""
    reason: str | None = None
    """Why the client asked."""

    @property
    def is_edited(self) -> bool:
        return self.edited_input is not None

    @property
    def seconds(self) -> float | None:
        """How long the client waited."""
        if self.asked is None or self.answered is None:
            return None
        return max(0.0, (self.answered - self.asked).total_seconds())


class MessageTiming(Struct, frozen=True, kw_only=True):
    """When an API response came over the wire."""

    message_id: str
    began: datetime | None
    first_token: datetime | None = None
    ended: datetime | None = None
    """None for one that was taken back."""
    ttft_ms: float | None = None
    """Time to the first token, as the client measured it."""


class Final(Struct, frozen=True):
    """How a message ended: its lines in a stream carry the counts of its beginning."""

    usage: Usage
    stop_reason: str | None


class Captured(Struct, frozen=True, kw_only=True):
    """What the capture of one run tells."""

    path: str
    records: tuple[Record, ...]
    """Complete frames, prompts that were sent, and blocks that were taken back, in the order they crossed the wire."""
    finals: Mapping[str, Final]
    """By message id."""
    permissions: Mapping[str, ToolPermission]
    """By the id of the call."""
    timings: tuple[MessageTiming, ...]
    started: datetime | None
    ended: datetime | None
    lines: int
    malformed: int


class Capture(Struct, frozen=True, kw_only=True):
    """A capture beside the transcript it belongs to."""

    told: Captured
    added: tuple[Record, ...]
    """Records that the transcript lacks; all of them where there is none."""

    @property
    def path(self) -> str:
        return self.told.path


class FinalCounts:
    """The counts that messages of a saved stream ended with; its events come in order."""

    def __init__(self) -> None:
        self.finals: dict[str, Final] = {}
        self._current: dict[str | None, str | None] = {}

    def add(self, frame: StreamEvent) -> None:
        if b'"message_' not in frame.raw:
            return
        from reread.records.api_events import MessageDelta, MessageStart, decode_api_event  # 3 ms, for few files

        event = decode_api_event(frame.raw_event)
        if isinstance(event, MessageStart):
            self._current[frame.parent_tool_use_id] = event.message.id if event.message is not None else None
        elif isinstance(event, MessageDelta) and event.usage is not None:
            message = self._current.get(frame.parent_tool_use_id)
            reason = event.delta.stop_reason if event.delta is not None else None
            if message is not None and reason is not None:
                self.finals[message] = Final(event.usage, reason)


def with_final_counts(records: Sequence[Record]) -> Sequence[Record]:
    """The records of one file; those of a saved stream with the counts that its events tell."""
    counts = FinalCounts()
    for record in records:
        if type(record) is StreamEvent:
            counts.add(record)
    return completed(records, counts.finals) if counts.finals else records


def completed(records: Sequence[Record], finals: Mapping[str, Final]) -> list[Record]:
    """The records, those of a message with the counts it ended with, as a transcript has them."""
    return [_completed(record, finals) for record in records] if finals else list(records)


def _completed(record: Record, finals: Mapping[str, Final]) -> Record:
    message = record.message if isinstance(record, Assistant) else None
    final = finals.get(message.id or "") if message is not None else None
    if message is None or final is None:
        return record
    known = message.usage
    if known is not None and (known.output_tokens or 0) > (final.usage.output_tokens or 0):
        return record
    usage = final.usage if known is None else _over(known, final.usage)
    ended = msgspec.structs.replace(message, usage=usage, stop_reason=final.stop_reason or message.stop_reason)
    return msgspec.structs.replace(record, message=ended)


def _over(start: Usage, end: Usage) -> Usage:
    """What the end of a message leaves unsaid was said at its start: the split of the cache, the tier."""
    told = {name: getattr(end, name) for name in Usage.__struct_fields__}
    return msgspec.structs.replace(start, **{name: value for name, value in told.items() if _is_told(value)})


def _is_told(value: object) -> bool:
    return value is not None and value != ABSENT
