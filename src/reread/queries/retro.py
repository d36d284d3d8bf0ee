"""The retrospective: what hurt most, how often against one's own past, what repeats, what to change."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, tzinfo
from typing import NamedTuple

from msgspec import Struct

from reread.analyses.friction.events import Cause, Event, Kind
from reread.analyses.friction.instructions import Stated
from reread.analyses.friction.material import Asked, Rule
from reread.analyses.friction.patterns import Pattern, PatternKind, find_patterns
from reread.analyses.friction.suggestions import Basis, Suggestion, suggest
from reread.analyses.rates import Rate, change
from reread.errors import BadInput, printable
from reread.store.sessions import StoredSession, bare_sessions

from .filters import Filter
from .listing import passing_ids
from .moments import History, Labels
from .trends import Changed, Week, changes, weeks

LEAST_CONFIDENCE = 0.5
"""Below it a guess is more often wrong than right."""


class Ask(NamedTuple):
    """A question about friction."""

    wanted: Filter = Filter()
    session: StoredSession | None = None
    """One session alone; its patterns are those it shares with others."""
    kinds: frozenset[Kind] | None = None
    with_agents: bool = False
    least_confidence: float = LEAST_CONFIDENCE
    with_wrong: bool = False
    by: str = "hurt"
    zone: tzinfo | None = None
    stated: Callable[[str | None], Stated] | None = None
    """What the files of a project say already, None for what holds everywhere; not asked where nobody can tell."""
    applied: tuple[tuple[str, datetime], ...] = ()
    """Files that suggestions were put into, and when."""


class Group(Struct, frozen=True, kw_only=True):
    """Moments of one kind, or of one kind about the same thing."""

    kind: Kind
    about: str | None
    """None for all of a kind."""
    count: int
    sessions: int
    seconds: float
    tokens: int
    nanodollars: int
    hurt: float
    """The mean of its shares in the time, the money and the number of all moments."""
    causes: dict[str, int]
    rate: Rate
    before: Rate | None
    """The same before the period; None where there was none."""
    change: str | None
    """`more` or `less` than before, where that is not likely to be chance."""
    example: Event
    """The moment that cost most."""


class Spared(NamedTuple):
    """Moments that are not shown."""

    unsure: int = 0
    of_agents: int = 0
    wrong: int = 0


class Outcomes(NamedTuple):
    """How sessions ended, as far as their lines tell."""

    tests_passed: int
    tests_failed: int
    committed: int
    pull_requests: int
    ended: dict[str, int]


class Retro(Struct, frozen=True, kw_only=True):
    since: datetime | None
    until: datetime | None
    session: StoredSession | None
    sessions: int
    prompts: int
    sessions_before: int
    prompts_before: int
    events: list[Event]
    """The newest first."""
    wrong: frozenset[tuple[str | None, Kind]]
    """Those among them that a person said are none."""
    kinds: list[Group]
    subjects: list[Group]
    causes: dict[Cause, Group | None]
    weeks: list[Week]
    changes: list[Changed]
    outcomes: Outcomes
    patterns: list[Pattern]
    suggestions: list[Suggestion]
    spared: Spared
    homes: dict[str, str]
    """The session of every line that is named."""


def retro(connection: sqlite3.Connection, ask: Ask) -> Retro:
    """Answers from rows alone: no transcript is read."""
    ranked((), ask.by)  # whoever asks for an order that is none should not wait to hear of it
    everything = Filter() if ask.session is not None else ask.wanted._replace(since=None, until=None, limit=None)
    history = History(
        connection,
        bare_sessions(connection, passing_ids(connection, everything)),
        ask.session.id if ask.session is not None else None,
    )
    return _Retrospect(connection, ask, history).retro()


class _Retrospect:
    """One question on its way to an answer."""

    def __init__(self, connection: sqlite3.Connection, ask: Ask, history: History) -> None:
        self._connection = connection
        self._ask = ask
        self._history = history
        self._labels = Labels(connection)
        self._moments, self._spared = self._chosen(history.events())

    def retro(self) -> Retro:
        ask = self._ask
        own = [(number, event) for number, event in self._moments if self._is_now(number, event.time)]
        typed = [each for each in self._history.typed if self._is_now(each.session, each.time)]
        numbers = {number for number, _ in own} | {each.session for each in typed}
        patterns = self._patterns(numbers, [event for _, event in own])
        own += self._told_again(patterns)
        events = sorted((event for _, event in own), key=_by_time, reverse=True)
        earlier = [event for number, event in self._moments if self._is_before(number, event.time)]
        before = [each for each in self._history.typed if self._is_before(each.session, each.time)]
        groups = Groups(events, len(typed), earlier, len(before), ask.by)
        return Retro(
            since=ask.wanted.since,
            until=ask.wanted.until,
            session=ask.session,
            sessions=len(numbers),
            prompts=len(typed),
            sessions_before=len({each.session for each in before}),
            prompts_before=len(before),
            events=events,
            wrong=frozenset((e.uuid, e.kind) for e in events if self._labels.is_wrong(e.uuid, e.kind)),
            kinds=groups.by(lambda event: (event.kind, None)),
            subjects=groups.by(lambda event: (event.kind, event.about)),
            causes=groups.causes(),
            weeks=weeks(events, typed, ask.zone),
            changes=changes(self._connection, self._history, self._moments, self._is_now, ask.applied),
            outcomes=self._outcomes(numbers),
            patterns=patterns,
            suggestions=suggest(patterns, events, self._basis(patterns)),
            spared=self._spared,
            homes=_homes(events, patterns),
        )

    def _chosen(self, moments: Iterable[tuple[int, Event]]) -> tuple[list[tuple[int, Event]], Spared]:
        """Those that are asked for; of the others of the period, how many there are."""
        ask, chosen = self._ask, []
        unsure = of_agents = wrong = 0
        for number, event in moments:
            if ask.kinds is not None and event.kind not in ask.kinds:
                continue
            is_now = self._is_now(number, event.time)
            if event.agent is not None and not ask.with_agents:
                of_agents += is_now
            elif event.confidence < ask.least_confidence:
                unsure += is_now
            elif self._labels.is_wrong(event.uuid, event.kind) and not ask.with_wrong:
                wrong += is_now
            else:
                chosen.append((number, event))
        return chosen, Spared(unsure, of_agents, wrong)

    def _is_now(self, session: int, time: datetime | None) -> bool:
        if self._ask.session is not None and session != self._ask.session.id:
            return False
        return self._ask.wanted.keeps_time(time)

    def _is_before(self, session: int, time: datetime | None) -> bool:
        """Whether a moment lies in the person's past: before the period, or before the one session began."""
        asked = self._ask.session
        if asked is None:
            return self._ask.wanted.since is not None and time is not None and time < self._ask.wanted.since
        if session == asked.id or time is None or asked.row.started is None:
            return False
        return time.timestamp() * 1000 < asked.row.started

    def _patterns(self, numbers: set[int], events: Sequence[Event]) -> list[Pattern]:
        ask = self._ask
        if ask.session is None:
            found = find_patterns(self._history.materials(numbers, self._keeps), events)
        else:
            everything = [event for _, event in self._moments]
            found = find_patterns(self._history.materials(self._history.sessions, self._keeps), everything)
            found = [pattern for pattern in found if ask.session.row.uuid in pattern.sessions]
        if ask.kinds is None:
            return found
        wanted = {kind.value for kind in ask.kinds}
        return [pattern for pattern in found if pattern.kind.value in wanted]

    def _keeps(self, said: Asked | Rule) -> bool:
        kind = Kind.REPEATED_INSTRUCTION if isinstance(said, Rule) else Kind.RE_ASK
        is_wrong = self._labels.is_wrong(said.uuid, kind) and not self._ask.with_wrong
        return not is_wrong and (self._ask.session is not None or self._ask.wanted.keeps_time(said.time))

    def _told_again(self, patterns: Iterable[Pattern]) -> list[tuple[int, Event]]:
        """Instructions that are repeated are found over many sessions, so no session has them by itself."""
        numbers = {each.row.uuid: number for number, each in self._history.sessions.items()}
        told = [
            (numbers[event.session], event)
            for pattern in patterns
            if pattern.kind is PatternKind.INSTRUCTION
            for event in pattern.as_events()
            if event.confidence >= self._ask.least_confidence
        ]
        return [(number, event) for number, event in told if self._is_now(number, event.time)]

    def _basis(self, patterns: Iterable[Pattern]) -> Basis:
        """The projects of sessions, and what the files of those with a pattern say already."""
        projects = {each.row.uuid: each.row.project for each in self._history.sessions.values()}
        if self._ask.stated is None:
            return Basis(projects=projects)
        named = {projects.get(session) for pattern in patterns for session in pattern.sessions}
        return Basis(projects=projects, stated={each or "": self._ask.stated(each) for each in {*named, None}})

    def _outcomes(self, numbers: Iterable[int]) -> Outcomes:
        kept = [self._history.kept[number] for number in numbers if number in self._history.kept]
        ended: dict[str, int] = {}
        for each in kept:
            ended[each.ended] = ended.get(each.ended, 0) + 1
        return Outcomes(
            tests_passed=sum(each.last_test == "passed" for each in kept),
            tests_failed=sum(each.last_test == "failed" for each in kept),
            committed=sum(each.commits > 0 for each in kept),
            pull_requests=sum(each.pull_requests for each in kept),
            ended=ended,
        )


class Groups:
    """Moments put together, each group held against the same before the period."""

    def __init__(
        self, events: Sequence[Event], prompts: int, earlier: Sequence[Event], prompts_before: int, order: str
    ) -> None:
        self._events, self._prompts = events, prompts
        self._earlier, self._before = earlier, prompts_before
        self._order = order
        self._seconds = sum(event.loss.seconds or 0.0 for event in events)
        self._nanodollars = sum(event.loss.nanodollars or 0 for event in events)

    def by(self, name: Callable[[Event], tuple[Kind, str | None]]) -> list[Group]:
        """Groups of the same name, what hurt most first."""
        before: dict[tuple[Kind, str | None], int] = {}
        for event in self._earlier:
            before[name(event)] = before.get(name(event), 0) + 1
        found: dict[tuple[Kind, str | None], list[Event]] = {}
        for event in self._events:
            found.setdefault(name(event), []).append(event)
        groups = [
            self._group(*key, same, before.get(key, 0) if key[0] is not Kind.REPEATED_INSTRUCTION else None)
            for key, same in found.items()
        ]
        return ranked(groups, self._order)

    def causes(self) -> dict[Cause, Group | None]:
        found: dict[Cause, Group | None] = {}
        for cause in Cause:
            same = [event for event in self._events if event.cause is cause]
            before = sum(event.cause is cause for event in self._earlier)
            past = before if cause is not Cause.PROMPT else None
            found[cause] = self._group(same[0].kind, None, same, past) if same else None
        return found

    def _group(self, kind: Kind, about: str | None, same: Sequence[Event], before: int | None) -> Group:
        """`before` is None where nobody asked: what is repeated is found over the sessions of the period alone."""
        seconds = sum(event.loss.seconds or 0.0 for event in same)
        nanodollars = sum(event.loss.nanodollars or 0 for event in same)
        causes: dict[str, int] = {}
        for event in same:
            causes[event.cause.value] = causes.get(event.cause.value, 0) + 1
        rate = Rate(len(same), self._prompts)
        past = Rate(before, self._before) if self._before and before is not None else None
        shares = (
            len(same) / len(self._events),
            seconds / self._seconds if self._seconds else 0.0,
            nanodollars / self._nanodollars if self._nanodollars else 0.0,
        )
        return Group(
            kind=kind,
            about=about,
            count=len(same),
            sessions=len({event.session for event in same}),
            seconds=round(seconds, 3),
            tokens=sum(event.loss.tokens or 0 for event in same),
            nanodollars=nanodollars,
            hurt=round(sum(shares) / 3, 4),
            causes=causes,
            rate=rate,
            before=past,
            change=change(rate, past) if past is not None else None,
            example=max(same, key=cost_of),
        )


_MEASURES: dict[str, Callable[[Group], float]] = {
    "hurt": lambda group: group.hurt,
    "time": lambda group: group.seconds,
    "cost": lambda group: group.nanodollars,
    "count": lambda group: group.count,
}
ORDERS = tuple(_MEASURES)


def ranked(groups: Iterable[Group], order: str) -> list[Group]:
    """The most of what the order names first; raises BadInput for one that nobody knows."""
    if order not in _MEASURES:
        raise BadInput(f"there is no order {printable(order)!r}; try {', '.join(ORDERS)}")
    measure = _MEASURES[order]
    return sorted(groups, key=lambda group: (-measure(group), -group.hurt, group.kind.value, group.about or ""))


def cost_of(event: Event) -> tuple[float, float, float]:
    """To sort by: what cost most money, then time, then what is surest."""
    return event.loss.nanodollars or 0, event.loss.seconds or 0.0, event.confidence


def _by_time(event: Event) -> float:
    return event.time.timestamp() if event.time is not None else float("-inf")


def _homes(events: Iterable[Event], patterns: Iterable[Pattern]) -> dict[str, str]:
    found = {moment.uuid: moment.session for pattern in patterns for moment in pattern.moments}
    return found | {event.uuid: event.session for event in events if event.uuid is not None}
