"""What only a capture has of a session, and how it is joined with the transcript: every line once, each in its
place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from reread.records import (
    Assistant,
    Attachment,
    Block,
    QueueOperation,
    Record,
    RedactedThinking,
    Spoken,
    StreamEvent,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    User,
)
from reread.records.lenient import ABSENT

from .speaker import TYPED, Speaker, kind_of, typed_text

Withdrawal = Literal["interrupted", "error", "cut"]
"""Who took the block back: the person; an error or a broken connection, after which the client asks again or gives up;
or nobody, because the stream itself ended."""


class WithdrawnBlock(Record, tag="reread:withdrawn", frozen=True, kw_only=True):
    """A block that was shown while it streamed and then taken back. Its answer is billed as far as it came, unless it
    failed: the fold adds it, without words.

    Its `raw` holds the lines of the capture from the beginning of its message to its last fragment.
    """

    message_id: str | None = None
    block: Block
    reason: Withdrawal

    @property
    def text(self) -> str:
        return self.block.as_text


class ToolPermission(Struct, frozen=True, kw_only=True):
    """The client's question whether a tool may run, and the answer."""

    asked: datetime | None
    answered: datetime | None = None
    decision: Literal["allow", "deny", "error", "void"] | None = None
    """`void`: the client took the question back. None: nobody answered."""
    message: str | None = None
    """What the model was told with a refusal."""
    edited_input: Any = None
    """The input the tool ran with, where it differs from the input the model gave."""
    remembered: tuple[Any, ...] = ()
    """Rules that hold from then on, in the client's own form."""
    reason: str | None = None
    """Why the client asked."""
    rule: str | None = None
    """The rule of `reread run` that let the call through unasked."""

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
    """When an API response arrived over the wire."""

    message_id: str
    began: datetime | None
    first_token: datetime | None = None
    ended: datetime | None = None
    """None for a response that was taken back."""
    ttft_ms: float | None = None
    """Time to the first token, as the client measured it."""


class Final(Struct, frozen=True):
    """How a message ended: in a stream, the message's own lines carry only the counts of its beginning."""

    usage: Usage
    stop_reason: str | None


class Captured(Struct, frozen=True, kw_only=True):
    """The content of one run's capture."""

    path: str
    records: tuple[Record, ...]
    """Complete frames, prompts that were sent, and blocks that were taken back, in the order they crossed the wire."""
    finals: Mapping[str, Final]
    """By message id."""
    permissions: Mapping[str, ToolPermission]
    """By the id of the call."""
    timings: tuple[MessageTiming, ...]
    contexts: tuple[tuple[datetime | None, Any], ...] = ()
    """What the client answered when it was asked what fills its context."""
    started: datetime | None
    ended: datetime | None
    lines: int
    malformed: int


class SessionCapture(Struct, frozen=True, kw_only=True):
    """A capture and what it adds to the transcript it belongs to."""

    told: Captured
    added: tuple[Record, ...]
    """Records that the transcript lacks; all records where there is no transcript."""

    @property
    def path(self) -> str:
        return self.told.path


class FinalCounts:
    """The final counts of the messages of a saved stream; its events must be added in order."""

    def __init__(self) -> None:
        self.finals: dict[str, Final] = {}
        self._current: dict[str | None, str | None] = {}

    def add(self, frame: StreamEvent) -> None:
        if b'"message_' not in frame.raw:
            return
        from reread.records.frames import MessageDelta, MessageStart, decode_api_event  # 3 ms, for few files

        event = decode_api_event(frame.raw_event)
        if isinstance(event, MessageStart):
            self._current[frame.parent_tool_use_id] = event.message.id if event.message is not None else None
        elif isinstance(event, MessageDelta) and event.usage is not None:
            message = self._current.get(frame.parent_tool_use_id)
            reason = event.delta.stop_reason if event.delta is not None else None
            if message is not None and reason is not None:
                self.finals[message] = Final(event.usage, reason)


def with_final_counts(records: Sequence[Record]) -> Sequence[Record]:
    """The records of one file; those of a saved stream get the final counts from its events."""
    counts = FinalCounts()
    for record in records:
        if type(record) is StreamEvent:
            counts.add(record)
    return completed(records, counts.finals) if counts.finals else records


def completed(records: Sequence[Record], finals: Mapping[str, Final]) -> list[Record]:
    """The records, with final counts on every message that has them, as in a transcript."""
    return [_completed(record, finals) for record in records] if finals else list(records)


def _completed(record: Record, finals: Mapping[str, Final]) -> Record:
    final = finals.get(record.api_message.id or "") if isinstance(record, Assistant) else None
    if not isinstance(record, Assistant) or final is None:
        return record
    message, known = record.api_message, record.api_message.usage
    if known is not None and (known.output_tokens or 0) > (final.usage.output_tokens or 0):
        return record
    usage = final.usage if known is None else _over(known, final.usage)
    ended = msgspec.structs.replace(message, usage=usage, stop_reason=final.stop_reason or message.stop_reason)
    return msgspec.structs.replace(record, message=ended)


def _over(start: Usage, end: Usage) -> Usage:
    """Fills what the end of a message leaves out (the split of the cache, the tier) from its start."""
    values = {name: getattr(end, name) for name in Usage.__struct_fields__}
    return msgspec.structs.replace(start, **{name: value for name, value in values.items() if _is_present(value)})


def _is_present(value: object) -> bool:
    return value is not None and value != ABSENT


Name = str | tuple[str, ...]
_TYPED = "typed"
_KEPT_KINDS = TYPED | {Speaker.TOOL_RESULT, Speaker.INTERRUPT, Speaker.TASK_NOTIFICATION}
"""User lines that a transcript may lack because its client was killed; the other kinds are the client's own notes."""


class Joined:
    """The lines of a trunk together with what captures add to them."""

    def __init__(
        self,
        trunk: Sequence[Record],
        agents: Mapping[str, Sequence[Record]],
        captures: Sequence[Captured],
        session: str,
    ) -> None:
        self._session = session
        self._has_transcript = bool(trunk)
        self._places = _LineNumbers(trunk)
        self._agents = _LineNumbers([record for lines in agents.values() for record in lines])
        self._after: dict[int, list[Record]] = {}
        """The added records that follow each line of the trunk; -1 is before the first line."""
        self.captures = tuple(SessionCapture(told=each, added=tuple(self._join(each, trunk))) for each in captures)
        self.records = [
            record
            for i in range(-1, len(trunk))
            for record in (*([trunk[i]] if i >= 0 else []), *self._after.get(i, ()))
        ]

    def _join(self, capture: Captured, trunk: Sequence[Record]) -> list[Record]:
        known_agents = self._agents_with_files(capture)
        added: list[Record] = []
        waiting: list[Record] = []
        anchor: int | None = None
        for record in capture.records:
            place = self._places.of(record, anchor)
            if place is not None:
                self._put(waiting, place - 1)
                waiting, anchor = [], place
            elif self._is_lacking(record, known_agents):
                self._places.add_uuid(record, anchor if anchor is not None else len(trunk) - 1)
                added.append(record)
                if anchor is None:
                    waiting.append(record)
                else:
                    self._put([record], anchor)
        self._put(waiting, _place_by_time(waiting, trunk))
        return added

    def _put(self, records: list[Record], after: int) -> None:
        if records:
            self._after.setdefault(after, []).extend(records)

    def _agents_with_files(self, capture: Captured) -> set[str]:
        """The calls of agents whose own files have lines of the capture: those files hold more than the capture
        does."""
        spoken = (record for record in capture.records if isinstance(record, Spoken))
        return {
            record.parent_tool_use_id
            for record in spoken
            if record.parent_tool_use_id is not None and self._agents.of(record, None) is not None
        }

    def _is_lacking(self, record: Record, known_agents: set[str]) -> bool:
        if not self._has_transcript or isinstance(record, WithdrawnBlock):
            return True
        if not isinstance(record, Spoken) or record.parent_tool_use_id in known_agents:
            return False
        if record.session_id and record.session_id != self._session:  # after /clear: its own transcript has it
            return False
        if isinstance(record, User):
            return not record.is_replay and kind_of(record) in _KEPT_KINDS
        if isinstance(record, Assistant) and record.is_synthetic:  # 2.1.197 answers `/clear` with a line of its own
            return False
        return self._agents.of(record, None) is None


def _place_by_time(records: Sequence[Record], trunk: Sequence[Record]) -> int:
    """After the last line that is not later; used for a capture of which the transcript has no frame."""
    began = next((time for record in records if (time := record.time) is not None), None)
    if began is None:
        return len(trunk) - 1
    for i in range(len(trunk) - 1, -1, -1):
        time = trunk[i].time
        if time is not None and time <= began:
            return i
    return len(trunk) - 1 if not any(record.time for record in trunk) else -1


class _LineNumbers:
    """The places of lines, found by any of the names that identify a line."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._known: dict[Name, list[int]] = {}
        for i, record in enumerate(records):
            for name in _names(record):
                self._known.setdefault(name, []).append(i)

    def add_uuid(self, record: Record, place: int) -> None:
        """Adds a line of another capture by its uuid alone: two captures may have the same line, but two prompts with
        the same text are two prompts."""
        if record.uuid is not None:
            self._known.setdefault(record.uuid, []).append(place)

    def of(self, record: Record, after: int | None) -> int | None:
        """The place of the line with the same content. A match by typed text alone counts only after place `after`."""
        for name in _names(record):
            places = self._known.get(name, ())
            if isinstance(name, tuple) and name[0] == _TYPED:
                places = [place for place in places if after is None or place > after]
            if places:
                return places[0]
        return None


def _names(record: Record) -> Iterator[Name]:
    """The names that identify a line, best first."""
    if isinstance(record, WithdrawnBlock):
        return
    if record.uuid is not None:
        yield record.uuid
    if isinstance(record, Assistant):
        yield from _names_of_reply(record)
    elif isinstance(record, User):
        yield from _names_of_user_line(record)
    elif isinstance(record, QueueOperation | Attachment) and record.text:
        yield (_TYPED, record.text)


def _names_of_user_line(record: User) -> Iterator[Name]:
    if record.sent_as_uuid:
        yield record.sent_as_uuid
    kind = kind_of(record)
    if kind is Speaker.TOOL_RESULT:
        results = (block for block in record.blocks if isinstance(block, ToolResult))
        yield from (("result", block.tool_use_id) for block in results if block.tool_use_id is not None)
    elif kind in TYPED:
        yield (_TYPED, typed_text(record, kind))


def _names_of_reply(record: Assistant) -> Iterator[Name]:
    message = record.api_message.id
    for block in record.blocks:
        if isinstance(block, ToolUse):
            yield from [("call", block.id)] if block.id is not None else []
        elif message is not None and (text := _text_of(block)):
            yield ("said", message, text)


def _text_of(block: Block) -> str | None:
    """What identifies a block. Thinking may have no text, but then it has a signature or is redacted."""
    if isinstance(block, RedactedThinking):
        return block.data
    return block.as_text or (block.signature if isinstance(block, Thinking) else None)
