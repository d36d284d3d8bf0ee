"""One conversation as the detectors look at it: gone through once, shared by all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from reread.records import Record, User
from reread.sessions import MAIN, Conversation, Notice, Prompt, Request, Said, Status, ToolCall, Turn
from reread.sessions import Kind as Speaker

from .events import Cause, Event, Kind, Loss, quote


class Scene:
    """A conversation with its turns taken apart. Detectors must stay linear: a session may have 100,000 lines."""

    def __init__(self, conversation: Conversation, session: str, agent: str | None = None) -> None:
        self.conversation = conversation
        self.session = session
        self.agent = agent

    @cached_property
    def stretches(self) -> list[Stretch]:
        """All turns of all branches, each branch in reading order."""
        found: list[Stretch] = []
        for branch in self.conversation.branches:
            before: Stretch | None = None
            for turn in branch.turns:
                before = _stretch(turn, before, is_forked=before is None and branch.forked_at is not None)
                found.append(before)
        return found

    @cached_property
    def calls(self) -> list[ToolCall]:
        """All calls in reading order."""
        return [call for stretch in self.stretches for call in stretch.calls]

    @cached_property
    def main_calls(self) -> list[ToolCall]:
        """Those of the branch the conversation ended on."""
        return [call for stretch in self.stretches if stretch.turn.branch == MAIN for call in stretch.calls]

    @cached_property
    def spent(self) -> Spent:
        return Spent(self.conversation)

    def lines_of(self, speaker: Speaker) -> Iterator[User]:
        """The user lines of a class, in file order."""
        line = self.conversation.line
        for index, kind in self.conversation.kinds.items():
            if kind is speaker:
                record = line[index]
                if isinstance(record, User):
                    yield record

    def event(
        self,
        kind: Kind,
        at: Record,
        evidence: str,
        cause: Cause,
        confidence: float,
        *,
        about: str = "",
        loss: Loss | None = None,
        **details: str | int | float | bool | list[str] | None,
    ) -> Event:
        """An event of this conversation; details that are None are left out."""
        return Event(
            kind=kind,
            session=self.session,
            uuid=at.uuid,
            time=at.time,
            evidence=quote(evidence),
            confidence=round(confidence, 2),
            cause=cause,
            about=about,
            loss=loss if loss is not None else Loss(),
            agent=self.agent,
            details={name: value for name, value in details.items() if value is not None},
        )


class Stretch(NamedTuple):
    """A turn taken apart."""

    turn: Turn
    calls: list[ToolCall]
    notices: list[Notice]
    said: Said | None
    """The last words of the model."""
    before: Stretch | None
    is_forked: bool
    """Whether it begins a branch that left another one: something was answered before it."""

    @property
    def prompt(self) -> Prompt | None:
        return self.turn.prompt

    @property
    def is_answered(self) -> bool:
        return self.said is not None or bool(self.calls)

    @property
    def rejected(self) -> list[ToolCall]:
        return [call for call in self.calls if call.status is Status.REJECTED]

    @property
    def was_interrupted(self) -> bool:
        return any(notice.what == "interrupted" for notice in self.notices)


def _stretch(turn: Turn, before: Stretch | None, *, is_forked: bool) -> Stretch:
    calls: list[ToolCall] = []
    notices: list[Notice] = []
    said: Said | None = None
    for step in turn.steps:
        kind = type(step)
        if kind is ToolCall:
            calls.append(step)  # type: ignore[arg-type]  # type() is twice as fast as isinstance() here
        elif kind is Said:
            said = step  # type: ignore[assignment]
        elif kind is Notice:
            notices.append(step)  # type: ignore[arg-type]
    return Stretch(turn, calls, notices, said, before, is_forked)


class Spent:
    """What was spent between two lines of a conversation, from sums that are made once."""

    def __init__(self, conversation: Conversation) -> None:
        self._requests = conversation.requests
        self._prices = conversation.prices
        self._index = {id(row): number for number, request in enumerate(self._requests) for row in request.rows}

    @cached_property
    def _tokens(self) -> list[int]:
        return list(accumulate((_total(request) for request in self._requests), initial=0))

    @cached_property
    def _nanodollars(self) -> list[int]:
        return list(accumulate((self._cost(request) for request in self._requests), initial=0))

    def between(self, first: ToolCall, last: ToolCall) -> Loss:
        """From the result of one call to the result of a later one: the requests after the first's."""
        began = first.output.time if first.output is not None else first.time
        ended = last.output.time if last.output is not None else last.time
        start, end = self._index.get(id(first.record)), self._index.get(id(last.record))
        if start is None or end is None or end <= start:
            return Loss(seconds=_seconds(began, ended))
        return self._of(start + 1, end + 1, _seconds(began, ended))

    def on(self, records: tuple[Record, ...]) -> Loss:
        """On all requests among these lines."""
        numbers = {self._index[id(record)] for record in records if id(record) in self._index}
        times = [time for record in (records[0], records[-1]) if (time := record.time) is not None] if records else []
        seconds = _seconds(times[0], times[-1]) if len(times) > 1 else None
        return Loss(
            seconds=seconds,
            tokens=sum(self._tokens[n + 1] - self._tokens[n] for n in numbers),
            nanodollars=sum(self._nanodollars[n + 1] - self._nanodollars[n] for n in numbers),
        )

    @cached_property
    def _offsets(self) -> list[int]:
        return [request.rows[0].offset for request in self._requests]

    def first_after(self, record: Record) -> Request | None:
        """The first request whose first line stands after this line of the file."""
        place = bisect_right(self._offsets, record.offset)
        return self._requests[place] if place < len(self._requests) else None

    def of(self, request: Request) -> Loss:
        number = self._index[id(request.rows[0])]
        return self._of(number, number + 1, None)

    def _of(self, start: int, end: int, seconds: float | None) -> Loss:
        return Loss(
            seconds=seconds,
            tokens=self._tokens[end] - self._tokens[start],
            nanodollars=self._nanodollars[end] - self._nanodollars[start],
        )

    def _cost(self, request: Request) -> int:
        costs = (self._prices.cost(part, model, request.time) for part, model in request.parts())
        return sum(cost for cost in costs if cost is not None)


def _total(request: Request) -> int:
    return sum(part.total for part, _ in request.parts())


def _seconds(began: datetime | None, ended: datetime | None) -> float | None:
    return None if began is None or ended is None else round(max(0.0, (ended - began).total_seconds()), 3)
