"""One conversation as the detectors look at it: gone through once, shared by all of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from reread.records import Assistant, Record, User
from reread.sessions import MAIN, Conversation, Notice, Prompt, Said, Status, Thought, ToolCall, Turn
from reread.sessions import Kind as Speaker

from .calls import Call
from .events import Cause, Event, Kind, Loss, quote
from .fingerprints import Sketch, sketch_of_words, words_of
from .prose import prose_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .judge import Judged


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
    def calls(self) -> list[Call]:
        """All calls in reading order."""
        return [call for stretch in self.stretches for call in stretch.calls]

    @cached_property
    def troubled(self) -> list[Call]:
        """Those that did not end well."""
        return [call for stretch in self.stretches for call in stretch.troubled]

    @cached_property
    def main_calls(self) -> list[Call]:
        """Those of the branch the conversation ended on."""
        return [call for stretch in self.stretches if stretch.turn.branch == MAIN for call in stretch.calls]

    @cached_property
    def asked(self) -> list[Asked]:
        """What the person asked for on the branch the conversation ended on, in their own words."""
        found: list[Asked] = []
        for stretch in self.stretches:
            prompt = stretch.prompt
            if prompt is None or prompt.kind is not Speaker.PROMPT or stretch.turn.branch != MAIN:
                continue
            prose = prose_of(prompt.text)
            words = words_of(prose)
            found.append(Asked(stretch, prompt, prose, len(set(words)), sketch_of_words(words)))
        return found

    @cached_property
    def judged(self) -> list[Judged]:
        """Every prompt the person typed, with what speaks for and against its being friction."""
        from .judge import judge

        return judge(self)

    @cached_property
    def spent(self) -> Spent:
        return Spent(self.conversation)

    @cached_property
    def _by_speaker(self) -> dict[Speaker, list[User]]:
        """All user lines but the results of tools, which are nine in ten."""
        line = self.conversation.line
        found: dict[Speaker, list[User]] = {}
        for index, kind in self.conversation.kinds.items():
            if kind is not Speaker.TOOL_RESULT:
                found.setdefault(kind, []).append(line[index])  # type: ignore[arg-type]  # kinds are of user lines only
        return found

    def lines_of(self, speaker: Speaker) -> list[User]:
        """The user lines of a class, in file order."""
        return self._by_speaker.get(speaker, [])

    @cached_property
    def decided(self) -> list[Call]:
        """Calls somebody or something decided on, as far as lines tell: clients before 2.1.325 note refusals only."""
        return [
            call
            for call in self.calls
            if call.status is not Status.OK or getattr(call.proof, "permission_decision", None) is not None
        ]

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
    calls: list[Call]
    troubled: list[Call]
    """Calls that did not end well."""
    notices: list[Notice]
    said: Said | None
    """The last words of the model."""
    opening: Said | None
    """Its first words."""
    thought: Thought | None
    """What it thought first, where the client kept that."""
    before: Stretch | None
    answered_before: Stretch | None
    """The nearest turn before it that had an answer; many prompts may have gone without."""
    is_forked: bool
    """Whether it begins a branch that left another one: something was answered before it."""

    @property
    def prompt(self) -> Prompt | None:
        return self.turn.prompt

    @property
    def is_answered(self) -> bool:
        return self.said is not None or bool(self.calls)

    @property
    def was_interrupted(self) -> bool:
        return any(notice.what == "interrupted" for notice in self.notices)


class Asked(NamedTuple):
    """A prompt, and what it says."""

    stretch: Stretch
    prompt: Prompt
    prose: str
    words: int
    """How many different words tell what it is about."""
    sketch: Sketch


def _stretch(turn: Turn, before: Stretch | None, *, is_forked: bool) -> Stretch:
    calls: list[Call] = []
    troubled: list[Call] = []
    notices: list[Notice] = []
    said: Said | None = None
    opening: Said | None = None
    thought: Thought | None = None
    for step in turn.steps:
        kind = type(step)
        if kind is ToolCall:
            call = Call(step)  # type: ignore[arg-type]  # type() is twice as fast as isinstance() here
            calls.append(call)
            if call.status is not Status.OK:
                troubled.append(call)
        elif kind is Said:
            said = step  # type: ignore[assignment]
            if opening is None and said.text.strip():  # type: ignore[union-attr]
                opening = said
        elif kind is Thought:
            thought = thought or step  # type: ignore[assignment]
        elif kind is Notice:
            notices.append(step)  # type: ignore[arg-type]
    answered = before if before is None or before.is_answered else before.answered_before
    return Stretch(turn, calls, troubled, notices, said, opening, thought, before, answered, is_forked)


class Spent:
    """What was spent on requests; each is priced when first asked for, and once."""

    def __init__(self, conversation: Conversation) -> None:
        self._requests = conversation.requests
        self._prices = conversation.prices
        self._known: dict[int, tuple[int, int]] = {}

    @cached_property
    def _offsets(self) -> list[int]:
        return [request.lines[0].offset for request in self._requests]

    def between(self, first: Call, last: Call) -> Loss:
        """From the result of one call to the result of a later one: the requests after the first's."""
        seconds = _seconds(first.ended, last.ended)
        start, end = self._number(first.record), self._number(last.record)
        if not 0 <= start < end:
            return Loss(seconds=seconds)
        return self._sum(range(start + 1, end + 1), seconds)

    def on(self, records: Sequence[Record]) -> Loss:
        """On all requests among these lines."""
        numbers = {self._number(record) for record in records if type(record) is Assistant}
        times = [time for record in (records[0], records[-1]) if (time := record.time) is not None] if records else []
        return self._sum(numbers, _seconds(times[0], times[-1]) if len(times) > 1 else None)

    def after(self, record: Record, seconds: float | None) -> Loss:
        """On the first request whose first line stands after this line of the file."""
        place = bisect_right(self._offsets, record.offset)
        return self._sum([place], seconds) if place < len(self._requests) else Loss(seconds=seconds)

    def _number(self, record: Record) -> int:
        """Which request a line of a reply belongs to: the last that began at or before it."""
        return bisect_right(self._offsets, record.offset) - 1

    def _sum(self, numbers: Iterable[int], seconds: float | None) -> Loss:
        tokens = nanodollars = 0
        for number in numbers:
            used, cost = self._of(number)
            tokens, nanodollars = tokens + used, nanodollars + cost
        return Loss(seconds=seconds, tokens=tokens, nanodollars=nanodollars)

    def _of(self, number: int) -> tuple[int, int]:
        if number not in self._known:
            request = self._requests[number]
            parts = list(request.parts())
            costs = (self._prices.cost(part, part.model, part.time) for part in parts)
            self._known[number] = sum(part.total for part in parts), sum(cost for cost in costs if cost is not None)
        return self._known[number]


def _seconds(began: datetime | None, ended: datetime | None) -> float | None:
    return None if began is None or ended is None else round(max(0.0, (ended - began).total_seconds()), 3)
