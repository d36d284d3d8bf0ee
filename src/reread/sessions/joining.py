"""Puts what a capture tells into the session whose transcript it belongs to: every line once, each in its place.

Lines of a transcript and frames of the wire have the same uuid, nearly always; where they have not, or have none, the
ids inside them and their text tell. Where there is no transcript, the captures are the session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from reread.records import (
    Assistant,
    Attachment,
    Block,
    QueueOperation,
    Record,
    RedactedThinking,
    Spoken,
    Thinking,
    ToolResult,
    ToolUse,
    User,
)

from .kinds import TYPED, Kind, kind_of, typed_text
from .wire import Capture, Captured, WithdrawnBlock

Name = str | tuple[str, ...]
_TYPED = "typed"
_KEPT_KINDS = TYPED | {Kind.TOOL_RESULT, Kind.INTERRUPT, Kind.TASK_NOTIFICATION}
"""User lines a transcript may lack because its client was killed; the others are the client's own notes."""


class Joined:
    """The lines of a trunk with what captures add to them."""

    def __init__(
        self,
        trunk: Sequence[Record],
        agents: Mapping[str, Sequence[Record]],
        captures: Sequence[Captured],
        session: str,
    ) -> None:
        self._session = session
        self._has_transcript = bool(trunk)
        self._places = _Places(trunk)
        self._agents = _Places([record for lines in agents.values() for record in lines])
        self._after: dict[int, list[Record]] = {}
        """What comes behind a line of the trunk; -1 is before the first."""
        self.captures = tuple(Capture(told=each, added=tuple(self._join(each, trunk))) for each in captures)
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
        """The calls of agents whose own files have lines of the capture: those files tell more than the wire did."""
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
    """Behind the last line that is not later; a capture none of whose frames the transcript has."""
    began = next((time for record in records if (time := record.time) is not None), None)
    if began is None:
        return len(trunk) - 1
    for i in range(len(trunk) - 1, -1, -1):
        time = trunk[i].time
        if time is not None and time <= began:
            return i
    return len(trunk) - 1 if not any(record.time for record in trunk) else -1


class _Places:
    """Where lines stand, by all the names they go by."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._known: dict[Name, list[int]] = {}
        for i, record in enumerate(records):
            for name in _names(record):
                self._known.setdefault(name, []).append(i)

    def add_uuid(self, record: Record, place: int) -> None:
        """A line of another capture: two runs may have been told the same, but two prompts alike are two."""
        if record.uuid is not None:
            self._known.setdefault(record.uuid, []).append(place)

    def of(self, record: Record, after: int | None) -> int | None:
        """The place of the line that says the same; words alone are the same only behind `after`."""
        for name in _names(record):
            places = self._known.get(name, ())
            if isinstance(name, tuple) and name[0] == _TYPED:
                places = [place for place in places if after is None or place > after]
            if places:
                return places[0]
        return None


def _names(record: Record) -> Iterator[Name]:
    """The best first."""
    if isinstance(record, WithdrawnBlock):
        return
    if record.uuid is not None:
        yield record.uuid
    if isinstance(record, Assistant):
        yield from _names_of_reply(record)
    elif isinstance(record, User):
        kind = kind_of(record)
        if kind is Kind.TOOL_RESULT:
            results = (block for block in record.blocks if isinstance(block, ToolResult))
            yield from (("result", block.tool_use_id) for block in results if block.tool_use_id is not None)
        elif kind in TYPED:
            yield (_TYPED, typed_text(record, kind))
    elif isinstance(record, QueueOperation | Attachment) and record.text:
        yield (_TYPED, record.text)


def _names_of_reply(record: Assistant) -> Iterator[Name]:
    message = record.message
    for block in record.blocks:
        if isinstance(block, ToolUse):
            yield from [("call", block.id)] if block.id is not None else []
        elif message is not None and message.id is not None and (said := _said(block)):
            yield ("said", message.id, said)


def _said(block: Block) -> str | None:
    """Thinking may have no text, but then it is signed or sealed."""
    if isinstance(block, RedactedThinking):
        return block.data
    return block.as_text or (block.signature if isinstance(block, Thinking) else None)
