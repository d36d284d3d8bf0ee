"""How often things went wrong week by week, and before and after something changed."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import PurePosixPath, PureWindowsPath

from msgspec import Struct
from msgspec.structs import replace

from reread.features.activity import Rate, SessionShare, share_of_high, verdicts
from reread.features.friction.detection import Moment
from reread.index.findings import instruction_changes
from reread.index.sessions import SessionOutline
from reread.times import is_moment, moment

from .friction_history import FrictionHistory, Typed
from .usage_report import PERIODS, QUARTER_SECONDS, Calendar

SPAN = timedelta(days=28)
"""How far before and after a change to look: long enough for some sessions, short enough for one way of working."""
_FEWEST_PROMPTS = 10
_MOST_OF_A_SORT = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAME_CHANGE = timedelta(days=1)


class Week(Struct, frozen=True, kw_only=True):
    week: str
    """The date of its Monday."""
    rate: Rate
    kinds: dict[str, int]


def weeks(events: Iterable[Moment], typed: Iterable[Typed], zone: tzinfo | None) -> list[Week]:
    """The weeks in which anything was typed or went wrong, in order."""
    prompts: Counter[str | None] = Counter()
    kinds: dict[str | None, Counter[str]] = defaultdict(Counter)
    quarters = Counter(each.time // (1000 * QUARTER_SECONDS) for each in typed if each.time is not None)
    happened = [
        (int(event.time.timestamp()) // QUARTER_SECONDS, event.kind.value) for event in events if event.time is not None
    ]
    week_of = _weeks_of({*quarters, *(quarter for quarter, _ in happened)}, zone)
    for quarter, number in quarters.items():
        prompts[week_of[quarter]] += number
    for quarter, kind in happened:
        kinds[week_of[quarter]][kind] += 1
    return [
        Week(week=week, rate=Rate(kinds[week].total(), prompts[week]), kinds=dict(kinds[week]))
        for week in sorted(week for week in {*prompts, *kinds} if week is not None)
    ]


def _weeks_of(quarters: Iterable[int], zone: tzinfo | None) -> dict[int, str | None]:
    """The week of each quarter of an hour; None if a report of usage has no day for it either. Raises OverflowError for
    a time that only damage can produce."""
    calendar = Calendar(zone)
    found: dict[int, str | None] = {}
    for quarter in sorted(quarters):
        if not is_moment(quarter * QUARTER_SECONDS * 1000):
            raise OverflowError(f"quarter {quarter} lies in no year")
        day = calendar.day(quarter)
        found[quarter] = None if day is None else PERIODS["week"](day)
    return found


class TurningPoint(Struct, frozen=True, kw_only=True):
    """Something that changed, and how often things went wrong in the four weeks before and after it."""

    what: str
    """`instructions`, `model` or `version`."""
    name: str
    time: datetime
    session: str
    uuid: str | None
    before: Rate
    after: Rate
    change: str | None
    """`more` or `less` after it, if that is unlikely to be chance."""


def changes(
    connection: sqlite3.Connection,
    history: FrictionHistory,
    moments: Sequence[tuple[int, Moment]],
    is_now: Callable[[int, datetime | None], bool],
) -> list[TurningPoint]:
    """The last few changes of each sort within the period, newest first, without those that have too few prompts before
    or after."""
    sessions = list(history.sessions.values())
    changed = [*_instructions(connection, history), *_first_seen("model", sessions), *_first_seen("version", sessions)]
    scales = _Scales(history, moments)
    found: list[TurningPoint] = []
    shares: list[SessionShare] = []
    for what, name, session, uuid, time in sorted(changed, key=lambda each: each[-1], reverse=True):
        if not is_now(session.id, time) or sum(each.what == what for each in found) >= _MOST_OF_A_SORT:
            continue
        past, present = scales.around(what, name)
        before, rates_before = past.rates(time - SPAN, time)
        after, rates_after = present.rates(time, time + SPAN)
        if min(before.exposure, after.exposure) >= _FEWEST_PROMPTS:
            shares.append(share_of_high(rates_after, rates_before))
            found.append(
                TurningPoint(
                    what=what,
                    name=name,
                    time=time,
                    session=session.uuid,
                    uuid=uuid,
                    before=before,
                    after=after,
                    change=None,
                )
            )
    return [replace(each, change=verdict) for each, verdict in zip(found, verdicts(shares), strict=True)]


_Told = tuple[str, str, SessionOutline, str | None, datetime]


def _instructions(connection: sqlite3.Connection, history: FrictionHistory) -> Iterator[_Told]:
    """Changes of instruction files; edits of a file within a day of each other are one change."""
    last: dict[str, datetime] = {}
    for each in instruction_changes(connection, history.sessions):
        time = moment(each.time)
        if time is not None and (each.path not in last or time - last[each.path] > _SAME_CHANGE):
            yield "instructions", each.path, history.sessions[each.session], each.uuid, time
        if time is not None:
            last[each.path] = time


def _first_seen(what: str, sessions: Sequence[SessionOutline]) -> Iterator[_Told]:
    """The first session of every model or version, except those used from the beginning."""
    seen: set[str] = set()
    for session in sorted(sessions, key=lambda each: each.started or 0):
        names = session.models if what == "model" else session.versions
        if seen.issuperset(names):
            continue
        time = moment(session.started)
        fresh = [name for name in names if name not in seen and not name.startswith("<")]
        if fresh and seen and time is not None:
            yield what, fresh[-1], session, None, time
        seen.update(names)


def concerned(path: str) -> str | None:
    """The folder whose sessions an instruction file applies to; None for all sessions."""
    kind = PureWindowsPath if "\\" in path else PurePosixPath
    folder = kind(path).parent
    folder = folder.parent if folder.name == ".claude" else folder
    return str(folder) if folder.is_absolute() else None


class _Scale:
    """The times of prompts and moments, in order, to compute rates from."""

    def __init__(self) -> None:
        self.prompts: list[tuple[int, int]] = []
        """Times with their sessions."""
        self.moments: list[tuple[int, int]] = []

    def rates(self, since: datetime, until: datetime) -> tuple[Rate, list[float]]:
        """The rate of a time, and that of each of its sessions."""
        first, end = (not_before(since), -1), (not_before(until), -1)
        prompts, moments = (
            each[bisect_left(each, first) : bisect_left(each, end)] for each in (self.prompts, self.moments)
        )
        found = Counter(session for _, session in moments)
        asked = Counter(session for _, session in prompts)
        return Rate(len(moments), len(prompts)), [found[session] / count for session, count in asked.items()]


class _Scales:
    """A scale for all sessions, and one for those that a change concerns."""

    def __init__(self, history: FrictionHistory, moments: Sequence[tuple[int, Moment]]) -> None:
        self._history, self._moments = history, moments
        self._known: dict[tuple[str, str] | None, _Scale] = {}

    def around(self, what: str, name: str) -> tuple[_Scale, _Scale]:
        """The scales for before and after a change. For an instruction file both cover the sessions of its folder; a
        model or a version is compared with everything that was used before it."""
        of_these = self._of((what, name))
        return (of_these if what == "instructions" else self._of(None)), of_these

    def _of(self, named: tuple[str, str] | None) -> _Scale:
        if named not in self._known:
            self._known[named] = self._made(self._chosen(*named) if named is not None else None)
        return self._known[named]

    def _chosen(self, what: str, name: str) -> set[int]:
        sessions = self._history.sessions.values()
        if what == "instructions":
            folder = concerned(name)
            return {each.id for each in sessions if is_below(each.project, folder)}
        if what == "model":
            return {each.id for each in sessions if name in each.models}
        return {each.id for each in sessions if name in each.versions}

    def _made(self, chosen: set[int] | None) -> _Scale:
        """The scale of some sessions, or of all."""
        scale, typed = _Scale(), self._history.typed
        scale.prompts = sorted(
            (time, number) for time, number in typed if time is not None and (chosen is None or number in chosen)
        )
        scale.moments = sorted(
            (not_before(event.time), number)
            for number, event in self._moments
            if event.time is not None and (chosen is None or number in chosen)
        )
        return scale


def not_before(time: datetime) -> int:
    """A time in milliseconds, rounded up."""
    return -((_EPOCH - time) // timedelta(milliseconds=1))


def is_below(project: str | None, folder: str | None) -> bool:
    if folder is None:
        return True
    return project is not None and f"{project}/".replace("\\", "/").startswith(f"{folder}/".replace("\\", "/"))
