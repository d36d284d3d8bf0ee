"""The retrospective: what hurt most compared with one's own past, trends by week, what repeats, what to change."""

from __future__ import annotations

import sqlite3
import time as clock
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

from msgspec import Struct

from reread.errors import BadInput, printable
from reread.features.activity import Rate, SessionShare, verdicts
from reread.features.friction.detection import PRINTED_NAMES, Cause, FrictionKind, Moment, money_of
from reread.features.friction.material import AskedPrompt, Material, Rule
from reread.features.friction.patterns import PatternKind, RepeatedPattern, find_patterns
from reread.features.friction.stated import ShownInstructions, Stated, with_shown
from reread.features.friction.suggestions import Basis, Suggestion, suggest
from reread.features.friction.wishes import AppliedDraft, AppliedOutcome, BreaksTally, StandingWish, standing_wishes
from reread.index import findings, meta, user_data
from reread.index.findings import NO_TIME
from reread.index.meta import as_path, stored_path
from reread.index.sessions import StoredSession, session_outlines
from reread.rows.groups import grouped
from reread.times import moment

from .answer import Answer
from .filters import Filter
from .friction_history import FrictionHistory, Labels, Typed
from .friction_trends import TurningPoint, Week, changes, concerned, is_below, not_before, weeks
from .listing import session_filter


class Labelled(NamedTuple):
    """A moment that a person marks as wrong, or unmarks."""

    uuid: str
    kinds: tuple[str, ...]
    """All kinds found at the line."""
    kind: str | None
    """The kind that is meant; None for all."""
    session: str


def kind_called(name: str) -> FrictionKind:
    """A kind by its own name or the one that reports print, singular or plural: `re_ask`, `re-ask`, `needless reads`.
    Raises BadInput."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    names = {kind.value: kind for kind in FrictionKind}
    names |= {shown.replace("-", "_").replace(" ", "_"): FrictionKind(kind) for kind, shown in PRINTED_NAMES.items()}
    found = names.get(plain) or names.get(plain.removesuffix("s"))
    if found is None:
        known = ", ".join(kind.value for kind in FrictionKind)
        raise BadInput(f"there is no kind {printable(name)!r}; try {known}")
    return found


def moment_called(connection: sqlite3.Connection, uuid: str, kind: str | None) -> Labelled:
    """The moment at a line, given by a prefix of its uuid; raises BadInput if there is none or several lines match."""
    found = findings.homes_of(connection, _text(uuid)) if uuid else []
    found = found or _repeated_instructions(connection, uuid)
    line = _line_called(uuid, sorted({line for line, _, _ in found}))
    kinds = tuple(sorted({what for at, what, _ in found if at == line}))
    meant = kind_called(kind).value if kind is not None else None
    if meant is not None and meant not in kinds:
        raise BadInput(f"line {printable(line)} shows no {meant}, but {', '.join(kinds)}")
    return Labelled(line, kinds, meant, as_path(next(session for at, _, session in found if at == line)))


def _line_called(uuid: str, lines: Sequence[str]) -> str:
    """The one of these lines that is meant."""
    if not lines:
        raise BadInput(f"there is no moment at record {printable(uuid)!r}; `reread retro --json` has the uuids")
    if len(lines) > 1 and uuid not in lines:
        raise BadInput(f"{len(lines)} lines begin with {printable(uuid)!r}: {', '.join(map(printable, lines[:5]))}")
    return uuid if uuid in lines else lines[0]


def _repeated_instructions(connection: sqlite3.Connection, uuid: str) -> list[tuple[str, str, str | bytes]]:
    """Repeated instructions are found across many sessions, so they have no rows."""

    question = RetroQuestion(kinds=frozenset({FrictionKind.REPEATED_INSTRUCTION}), with_wrong=True)
    events = retro(connection, question).events
    return [
        (e.uuid, e.kind.value, e.session) for e in events if uuid and e.uuid is not None and e.uuid.startswith(uuid)
    ]


def label_called(connection: sqlite3.Connection, uuid: str, kind: str | None) -> Labelled:
    """The mark on a line, given by a prefix of its uuid; raises BadInput if there is none or several lines match."""
    meant = kind_called(kind).value if kind is not None else None
    labels = [row for row in _labels_at(connection, uuid) if meant is None or row[1] in (meant, "")]
    if len({line for line, *_ in labels}) != 1:
        raise BadInput(f"{'more than one thing' if labels else 'nothing'} was said about a line {printable(uuid)!r}")
    return Labelled(labels[0][0], tuple(row[1] for row in labels if row[1]), meant, as_path(labels[0][2]))


def _labels_at(connection: sqlite3.Connection, uuid: str) -> list[tuple[Any, ...]]:
    """The marks on this line, or else on those whose uuid begins so."""
    begun = [row for row in user_data.labels(connection) if uuid and row[0].startswith(uuid)]
    return [row for row in begun if row[0] == uuid] or begun


def put(connection: sqlite3.Connection, named: Labelled) -> None:
    """Marks a moment as wrong, inside the caller's transaction."""
    now = int(clock.time() * 1000)
    user_data.put_label(connection, named.uuid, named.kind or "", stored_path(named.session), now)


def take(connection: sqlite3.Connection, named: Labelled) -> None:
    """Removes the mark of a moment, inside the caller's transaction."""
    user_data.take_label(connection, named.uuid, named.kind or "")


def _text(uuid: str) -> str:
    """The uuid as valid text: an argument may contain bytes that are not UTF-8, which no line's uuid has."""
    return uuid.encode("utf-8", "replace").decode()


LEAST_CONFIDENCE = 0.5
"""Guesses below this confidence are more often wrong than right."""


class RetroQuestion(NamedTuple):
    """A question about friction."""

    filters: Filter = Filter()
    session: StoredSession | None = None
    """Asks about one session only; its patterns are those that it shares with others."""
    kinds: frozenset[FrictionKind] | None = None
    with_agents: bool = False
    least_confidence: float = LEAST_CONFIDENCE
    own_least: Mapping[FrictionKind, float] = {}
    """What the person's answers about doubtful moments require of a kind."""
    with_wrong: bool = False
    by: str = "hurt"
    zone: tzinfo | None = None
    stated: Callable[[str | None], Stated] | None = None
    """Gives what the settings and instructions of a project already contain; called with None for those that apply
    everywhere. Without it, suggestions do not take them into account."""
    applied: tuple[AppliedDraft, ...] = ()
    """Drafts that were put into files; what became of them is said if everything is asked about."""


class FrictionGroup(Struct, frozen=True, kw_only=True):
    """Moments of one kind, or of one kind about the same thing."""

    kind: FrictionKind
    about: str | None
    """None if the group is a whole kind."""
    count: int
    sessions: int
    seconds: float
    tokens: int
    nanodollars: int | None
    """What is known of their money; None if some were paid for and none of those has a price."""
    unpriced: int = 0
    """How many of them were paid for, but at no known price."""
    hurt: float
    """The mean of its shares of the time, the money and the number of all moments."""
    causes: dict[str, int]
    rate: Rate
    before: Rate | None
    """The rate before the period; None if there is nothing to compare with."""
    change: str | None
    """`more` or `less` than before, if that is unlikely to be chance."""
    example: Moment
    """The moment that `shown_first` ranks highest."""


class Spared(NamedTuple):
    """How many moments are not shown."""

    unsure: int = 0
    of_agents: int = 0
    wrong: int = 0


class Outcomes(NamedTuple):
    """How sessions ended, as far as their lines show."""

    tests_passed: int
    tests_failed: int
    committed: int
    pull_requests: int
    ended: dict[str, int]


class Retro(Answer[Moment], frozen=True, kw_only=True):
    _rows_in = "events"
    since: datetime | None
    until: datetime | None
    session: StoredSession | None
    sessions: int
    prompts: int
    sessions_before: int
    prompts_before: int
    events: list[Moment]
    """The newest first."""
    wrong: frozenset[tuple[str | None, FrictionKind]]
    """Those among the events that a person marked as wrong."""
    kinds: list[FrictionGroup]
    subjects: list[FrictionGroup]
    causes: dict[Cause, FrictionGroup | None]
    weeks: list[Week]
    changes: list[TurningPoint]
    outcomes: Outcomes
    patterns: list[RepeatedPattern]
    suggestions: list[Suggestion]
    wishes: list[StandingWish]
    applied: list[AppliedOutcome]
    """What became of the drafts that were put into files, the newest first."""
    spared: Spared
    homes: dict[str, str]
    """The session of every line in this answer."""
    gone: tuple[tuple[FrictionKind, Rate], ...] = ()
    """Kinds that the period has none of, with their rates before, where chance does not explain it."""
    waiting: int = 0
    """How many sessions have not been searched for moments, or not completely."""

    def _plain(self, row: Moment) -> dict[str, object]:
        where = {"kind": str(row.kind), "about": row.about, "session": row.session, "uuid": row.uuid, "time": row.time}
        return {**where, "evidence": row.evidence, "cause": str(row.cause), "confidence": row.confidence}


def retro(connection: sqlite3.Connection, ask: RetroQuestion) -> Retro:
    """The answer, from rows alone: no transcript is read. Raises BadInput for an unknown order."""
    ranked((), ask.by)  # refuses an unknown order before doing the work
    everything = Filter() if ask.session is not None else ask.filters._replace(since=None, until=None, limit=None)
    is_typed = ask.session is None and not ask.filters.programs
    history = FrictionHistory(
        connection,
        session_outlines(connection, session_filter(connection, everything)._replace(without_programs=is_typed)),
        ask.session.id if ask.session is not None else None,
    )
    return _Retrospect(connection, ask, history).retro()


class _Retrospect:
    """Answers one question."""

    def __init__(self, connection: sqlite3.Connection, ask: RetroQuestion, history: FrictionHistory) -> None:
        self._connection = connection
        self._ask = ask
        self._history = history
        self._labels = Labels(connection)
        self._shown: dict[str | None, list[ShownInstructions]] = {}
        """What sessions showed of the files that instruct the agent, by project."""
        self._moments, self._spared = self._chosen(history.events())
        is_narrowed = ask.kinds or ask.session or ask.filters.since or ask.filters.until
        self._tally = BreaksTally(() if is_narrowed else ask.applied)

    def retro(self) -> Retro:
        ask = self._ask
        own = [(number, event) for number, event in self._moments if self._is_now(number, event.time)]
        typed = self._typed_now()
        numbers = {number for number, _ in own} | {each.session for each in typed}
        patterns = self._patterns(numbers, [event for _, event in own])
        own += self._repeated_instructions(patterns)
        events = sorted((event for _, event in own), key=_by_time, reverse=True)
        earlier = [event for number, event in self._moments if self._is_before(number, event.time)]
        before = self._typed_before()
        groups = Groups(self._period(events, typed), self._period(earlier, before), ask.by)
        basis = self._basis(patterns)
        return Retro(
            since=ask.filters.since,
            until=ask.filters.until,
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
            changes=changes(self._connection, self._history, self._moments, self._is_now),
            outcomes=self._outcomes(numbers),
            patterns=patterns,
            suggestions=suggest(patterns, events, basis),
            wishes=standing_wishes(patterns, basis),
            applied=[*self._tally.outcomes()][::-1],
            spared=self._spared,
            homes=_homes(events, patterns),
            gone=tuple(groups.gone()),
            waiting=self._waiting(),
        )

    def _period(self, events: Sequence[Moment], typed: Sequence[Typed]) -> FrictionPeriod:
        known = self._history.sessions
        return FrictionPeriod(
            events, len(typed), frozenset(known[number].uuid for number in {each.session for each in typed})
        )

    def _waiting(self) -> int:
        numbers = {number for number, _ in meta.waiting_for_friction(self._connection)}
        asked = self._history.sessions if self._ask.session is None else (self._ask.session.id,)
        return len(numbers & set(asked))

    def _chosen(self, moments: Iterable[tuple[int, Moment]]) -> tuple[list[tuple[int, Moment]], Spared]:
        """The moments that are asked for, and how many others the period has."""
        ask, chosen = self._ask, []
        unsure = of_agents = wrong = 0
        for number, event in moments:
            if ask.kinds is not None and event.kind not in ask.kinds:
                continue
            is_now = self._is_now(number, event.time)
            if event.agent is not None and not ask.with_agents:
                of_agents += is_now
            elif event.confidence < max(ask.least_confidence, ask.own_least.get(event.kind, 0.0)):
                unsure += is_now
            elif self._labels.is_wrong(event.uuid, event.kind) and not ask.with_wrong:
                wrong += is_now
            else:
                chosen.append((number, event))
        return chosen, Spared(unsure, of_agents, wrong)

    def _is_now(self, session: int, time: datetime | None) -> bool:
        if self._ask.session is not None and session != self._ask.session.id:
            return False
        return self._ask.filters.keeps_time(time)

    def _typed_now(self) -> list[Typed]:
        """The prompts for which `_is_now` holds."""
        typed, filters = self._history.typed, self._ask.filters
        if self._ask.session is not None:
            typed = [each for each in typed if each.session == self._ask.session.id]
        if filters.since is None and filters.until is None:
            return typed
        first = not_before(filters.since) if filters.since is not None else NO_TIME
        return _typed_between(typed, first, not_before(filters.until) if filters.until is not None else -NO_TIME)

    def _typed_before(self) -> list[Typed]:
        """The prompts for which `_is_before` holds."""
        asked, since = self._ask.session, self._ask.filters.since
        if asked is None:
            return _typed_between(self._history.typed, NO_TIME, not_before(since) if since is not None else NO_TIME)
        others = (each for each in self._history.typed if each.session != asked.id)
        return _typed_between(others, NO_TIME, NO_TIME if asked.row.started is None else asked.row.started)

    def _is_before(self, session: int, time: datetime | None) -> bool:
        """Whether a moment is from before the period or, if one session is asked about, from before it began."""
        asked = self._ask.session
        if asked is None:
            return self._ask.filters.since is not None and time is not None and time < self._ask.filters.since
        if session == asked.id or time is None or asked.row.started is None:
            return False
        return time.timestamp() * 1000 < asked.row.started

    def _patterns(self, numbers: set[int], events: Sequence[Moment]) -> list[RepeatedPattern]:
        asked = self._ask.session
        sessions = numbers if asked is None else self._history.sessions
        moments = events if asked is None else [event for _, event in self._moments]
        keeps = None if self._keeps_all else self._keeps
        found = find_patterns(self._noticed(self._history.materials(sessions, keeps)), moments)
        found = [pattern for pattern in found if asked is None or asked.row.uuid in pattern.sessions]
        kinds = self._ask.kinds
        return [pattern for pattern in found if kinds is None or pattern.kind.value in {each.value for each in kinds}]

    @property
    def _keeps_all(self) -> bool:
        ask = self._ask
        is_open = ask.session is not None or (ask.filters.since is None and ask.filters.until is None)
        return is_open and (ask.with_wrong or not self._labels)

    def _noticed(self, materials: Iterable[Material]) -> Iterator[Material]:
        """The same materials; what each shows of the instructions of its own project is noted, and its breaks of what
        was applied are counted."""
        outlines = {each.uuid: each for each in self._history.sessions.values()}
        prompts = Counter(each.session for each in self._history.typed) if self._ask.applied else Counter[int]()
        events = grouped((event for _, event in self._moments if self._ask.applied), lambda event: event.session)
        for each in materials:
            outline = outlines[each.session]
            self._tally.add(each, moment(outline.started), prompts[outline.id], events.get(each.session, ()))
            for shown in each.shown:
                folder = concerned(shown.path) if shown.path else None
                if folder is None or is_below(each.project, folder) or is_below(folder, each.project):
                    self._shown.setdefault(each.project, []).append(shown)
            yield each

    def _keeps(self, repeated: AskedPrompt | Rule) -> bool:
        kind = FrictionKind.REPEATED_INSTRUCTION if isinstance(repeated, Rule) else FrictionKind.RE_ASK
        is_wrong = self._labels.is_wrong(repeated.uuid, kind) and not self._ask.with_wrong
        return not is_wrong and (self._ask.session is not None or self._ask.filters.keeps_time(repeated.time))

    def _repeated_instructions(self, patterns: Sequence[RepeatedPattern]) -> list[tuple[int, Moment]]:
        """Moments for repeated instructions, which are found across sessions, so no session has rows for them."""
        if not patterns:
            return []
        numbers = {each.uuid: number for number, each in self._history.sessions.items()}
        moments = [
            (numbers[event.session], event)
            for pattern in patterns
            if pattern.kind is PatternKind.INSTRUCTION
            for event in pattern.as_events()
            if event.confidence >= self._ask.least_confidence
        ]
        return [(number, event) for number, event in moments if self._is_now(number, event.time)]

    def _basis(self, patterns: Iterable[RepeatedPattern]) -> Basis:
        """The projects of sessions, and what the files of projects with a pattern already contain."""
        projects = {each.uuid: each.project for each in self._history.sessions.values()}
        named = {projects.get(session) for pattern in patterns for session in pattern.sessions}
        on_disk = self._ask.stated or (lambda _: Stated())
        stated = {each or "": with_shown(on_disk(each), self._shown.get(each, ())) for each in {*named, None}}
        began = {each.uuid: moment(each.started) for each in self._history.sessions.values()}
        return Basis(projects=projects, began=began, stated=stated)

    def _outcomes(self, numbers: Collection[int]) -> Outcomes:
        endings = findings.endings_of(self._connection, numbers)
        ended: Counter[str] = Counter()
        for each, count in endings.items():
            ended[each.ended] += count
        return Outcomes(
            tests_passed=sum(count for each, count in endings.items() if each.last_test == "passed"),
            tests_failed=sum(count for each, count in endings.items() if each.last_test == "failed"),
            committed=sum(count for each, count in endings.items() if each.commits > 0),
            pull_requests=sum(count * each.pull_requests for each, count in endings.items()),
            ended=dict(ended),
        )


class FrictionPeriod(NamedTuple):
    """What was found in some time, and what was typed in it."""

    events: Sequence[Moment]
    prompts: int
    sessions: frozenset[str]
    """Those in which something was typed."""

    def with_any(self, moments: Iterable[Moment]) -> int:
        return len(self.sessions & {event.session for event in moments})


_Name = tuple[FrictionKind, str | None]


class Groups:
    """Groups moments, and compares each group with the same group before the period."""

    def __init__(self, now: FrictionPeriod, before: FrictionPeriod, order: str) -> None:
        self._now, self._before, self._order = now, before, order
        self._seconds = sum(event.loss.seconds or 0.0 for event in now.events)
        self._nanodollars = sum(event.loss.nanodollars or 0 for event in now.events)

    def by(self, name: Callable[[Moment], _Name]) -> list[FrictionGroup]:
        """Groups of moments with the same name, ranked by the order asked for."""
        before, found = grouped(self._before.events, name), grouped(self._now.events, name)
        shares = [self._share(same, before.get(key, ())) for key, same in found.items()]
        verdict_on = dict(zip(found, verdicts(shares), strict=True))
        groups = [
            self._group(*key, same, None, None)
            if key[0] is FrictionKind.REPEATED_INSTRUCTION  # looked for only in the sessions of the period
            else self._group(*key, same, len(before.get(key, ())), verdict_on[key])
            for key, same in found.items()
        ]
        return ranked(groups, self._order)

    def gone(self) -> Iterator[tuple[FrictionKind, Rate]]:
        """Kinds that the period has none of, with their rates before, where chance does not explain it."""
        now = {event.kind for event in self._now.events}
        past = (event for event in self._before.events if event.kind not in now)
        before = grouped(past, lambda event: event.kind)
        shares = [self._share((), same) for same in before.values()]
        for (kind, same), verdict in zip(before.items(), verdicts(shares), strict=True):
            if verdict is not None:
                yield kind, Rate(len(same), self._before.prompts)

    def _share(self, now: Iterable[Moment], before: Iterable[Moment]) -> SessionShare:
        sessions, sessions_before = len(self._now.sessions), len(self._before.sessions)
        return SessionShare(self._now.with_any(now), sessions, self._before.with_any(before), sessions_before)

    def causes(self) -> dict[Cause, FrictionGroup | None]:
        found: dict[Cause, FrictionGroup | None] = {}
        for cause in Cause:
            same = [event for event in self._now.events if event.cause is cause]
            before = [event for event in self._before.events if event.cause is cause]
            past = None if cause is Cause.PROMPT else len(before)
            verdict = None if past is None else verdicts([self._share(same, before)])[0]
            found[cause] = self._group(same[0].kind, None, same, past, verdict) if same else None
        return found

    def _group(
        self, kind: FrictionKind, about: str | None, same: Sequence[Moment], before: int | None, verdict: str | None
    ) -> FrictionGroup:
        seconds = sum(event.loss.seconds or 0.0 for event in same)
        nanodollars, unpriced = money_of(event.loss for event in same)
        past = Rate(before, self._before.prompts) if self._before.prompts and before is not None else None
        shares = (
            len(same) / len(self._now.events),
            seconds / self._seconds if self._seconds else 0.0,
            (nanodollars or 0) / self._nanodollars if self._nanodollars else 0.0,
        )
        return FrictionGroup(
            kind=kind,
            about=about,
            count=len(same),
            sessions=len({event.session for event in same}),
            seconds=round(seconds, 3),
            tokens=sum(event.loss.tokens or 0 for event in same),
            nanodollars=nanodollars,
            unpriced=unpriced,
            hurt=round(sum(shares) / 3, 4),
            causes=dict(Counter(event.cause.value for event in same)),
            rate=Rate(len(same), self._now.prompts),
            before=past,
            change=verdict if past is not None else None,
            example=max(same, key=shown_first),
        )


def _typed_between(typed: Iterable[Typed], first: int, end: int) -> list[Typed]:
    return [each for each in typed if each.time is not None and first <= each.time < end]


_MEASURES: dict[str, Callable[[FrictionGroup], float]] = {
    "hurt": lambda group: group.hurt,
    "time": lambda group: group.seconds,
    "cost": lambda group: group.nanodollars or 0,
    "count": lambda group: group.count,
}
ORDERS = tuple(_MEASURES)


def ranked(groups: Iterable[FrictionGroup], order: str) -> list[FrictionGroup]:
    """Groups sorted by the measure that `order` names, largest first; raises BadInput for an unknown order."""
    if order not in _MEASURES:
        raise BadInput(f"there is no order {printable(order)!r}; try {', '.join(ORDERS)}")
    measure = _MEASURES[order]
    return sorted(groups, key=lambda group: (-measure(group), -group.hurt, group.kind.value, group.about or ""))


def shown_first(event: Moment) -> tuple[bool, float, int, float]:
    """The sort key for the example of a group, which is the highest: a moment that can be opened and is sure, then the
    one that cost the most money, then time. What the client records is always sure, so there the cost decides."""
    return event.uuid is not None, round(event.confidence, 1), event.loss.nanodollars or 0, event.loss.seconds or 0.0


def _by_time(event: Moment) -> float:
    return event.time.timestamp() if event.time is not None else float("-inf")


def _homes(events: Iterable[Moment], patterns: Iterable[RepeatedPattern]) -> dict[str, str]:
    found = {moment.uuid: moment.session for pattern in patterns for moment in pattern.moments}
    return found | {event.uuid: event.session for event in events if event.uuid is not None}
