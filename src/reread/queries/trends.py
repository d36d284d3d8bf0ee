"""Friction over time: by week, and before and after something changed."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import PurePosixPath, PureWindowsPath

from msgspec import Struct

from reread.analyses.friction.events import Event
from reread.analyses.rates import Rate, change
from reread.store.friction import instruction_changes
from reread.store.sessions import StoredSession
from reread.times import moment

from .days import PERIODS, QUARTER_SECONDS
from .moments import History, Typed

SPAN = timedelta(days=28)
"""How far before and after a change is looked: long enough for some sessions, short enough for one way of working."""
_FEWEST_PROMPTS = 10
_MOST_OF_A_SORT = 3
_SAME_CHANGE = timedelta(days=1)


class Week(Struct, frozen=True, kw_only=True):
    week: str
    """Its Monday."""
    rate: Rate
    kinds: dict[str, int]


def weeks(events: Iterable[Event], typed: Iterable[Typed], zone: tzinfo | None) -> list[Week]:
    """Weeks in which anything was typed or went wrong, in order."""
    calendar = _Calendar(zone)
    prompts: dict[str, int] = {}
    kinds: dict[str, dict[str, int]] = {}
    for each in typed:
        if each.time is not None:
            week = calendar.week(each.time)
            prompts[week] = prompts.get(week, 0) + 1
    for event in events:
        if event.time is not None:
            found = kinds.setdefault(calendar.week(event.time), {})
            found[event.kind.value] = found.get(event.kind.value, 0) + 1
    return [
        Week(
            week=week,
            rate=Rate(sum(kinds.get(week, {}).values()), prompts.get(week, 0)),
            kinds=kinds.get(week, {}),
        )
        for week in sorted({*prompts, *kinds})
    ]


class _Calendar:
    """The week of every moment; each quarter of an hour is looked up once."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._known: dict[int, str] = {}

    def week(self, time: datetime) -> str:
        quarter = int(time.timestamp()) // QUARTER_SECONDS
        if quarter not in self._known:
            self._known[quarter] = PERIODS["week"](time.astimezone(self._zone).date())
        return self._known[quarter]


class Changed(Struct, frozen=True, kw_only=True):
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
    """`more` or `less` after it, where that is not likely to be chance."""


def changes(
    connection: sqlite3.Connection,
    history: History,
    moments: Sequence[tuple[int, Event]],
    is_now: Callable[[int, datetime | None], bool],
    applied: Sequence[tuple[str, datetime]] = (),
) -> list[Changed]:
    """The last few changes of each sort within the period, the newest first; those with too little on a side are not
    told. `applied` are files that suggestions were put into, which no session shows."""
    sessions = list(history.sessions.values())
    told = [
        *_instructions(connection, history),
        *_applied(applied, sessions),
        *_first_seen("model", sessions),
        *_first_seen("version", sessions),
    ]
    scales = _Scales(history, moments)
    found: list[Changed] = []
    for what, name, session, uuid, time in sorted(told, key=lambda each: each[-1], reverse=True):
        if not is_now(session.id, time) or sum(each.what == what for each in found) >= _MOST_OF_A_SORT:
            continue
        past, present = scales.around(what, name)
        before, after = past.rate(time - SPAN, time), present.rate(time, time + SPAN)
        if min(before.exposure, after.exposure) >= _FEWEST_PROMPTS:
            found.append(
                Changed(
                    what=what,
                    name=name,
                    time=time,
                    session=session.row.uuid,
                    uuid=uuid,
                    before=before,
                    after=after,
                    change=change(after, before),
                )
            )
    return found


_Told = tuple[str, str, StoredSession, str | None, datetime]


def _instructions(connection: sqlite3.Connection, history: History) -> Iterator[_Told]:
    """Edits of a file that follow each other within a day are one change."""
    last: dict[str, datetime] = {}
    for each in instruction_changes(connection, history.sessions):
        time = moment(each.time)
        if time is not None and (each.path not in last or time - last[each.path] > _SAME_CHANGE):
            yield "instructions", each.path, history.sessions[each.session], each.uuid, time
        if time is not None:
            last[each.path] = time


def _applied(applied: Sequence[tuple[str, datetime]], sessions: Sequence[StoredSession]) -> Iterator[_Told]:
    """Each at the last session before it that it concerns."""
    for path, time in applied:
        began = time.timestamp() * 1000
        earlier = [
            each for each in sessions if (each.row.started or 0) < began and _is_concerned(each, "instructions", path)
        ]
        if earlier:
            yield "instructions", path, max(earlier, key=lambda each: each.row.started or 0), None, time


def _first_seen(what: str, sessions: Sequence[StoredSession]) -> Iterator[_Told]:
    """The first session of every model or version, but for what was there from the beginning."""
    seen: set[str] = set()
    for session in sorted(sessions, key=lambda each: each.row.started or 0):
        row, time = session.row, moment(session.row.started)
        names = row.models if what == "model" else row.versions
        fresh = [name for name in names if name not in seen and not name.startswith("<")]
        if fresh and seen and time is not None:
            yield what, fresh[-1], session, None, time
        seen.update(names)


def _concerned(path: str) -> str | None:
    """The folder whose sessions an instruction file is for; None for all."""
    kind = PureWindowsPath if "\\" in path else PurePosixPath
    folder = kind(path).parent
    folder = folder.parent if folder.name == ".claude" else folder
    return str(folder) if folder.is_absolute() else None


class _Scale:
    """Times of prompts and moments, in order."""

    def __init__(self) -> None:
        self.prompts: list[datetime] = []
        self.moments: list[datetime] = []

    def rate(self, since: datetime, until: datetime) -> Rate:
        return Rate(_between(self.moments, since, until), _between(self.prompts, since, until))


def _between(times: Sequence[datetime], since: datetime, until: datetime) -> int:
    return bisect_left(times, until) - bisect_left(times, since)


class _Scales:
    """A scale for all sessions, and one for those that a change concerns."""

    def __init__(self, history: History, moments: Sequence[tuple[int, Event]]) -> None:
        self._history, self._moments = history, moments
        self._known: dict[tuple[str, str] | None, _Scale] = {}

    def around(self, what: str, name: str) -> tuple[_Scale, _Scale]:
        """Before and after: an instruction file is for the sessions of its folder, whether it has changed or not; a
        model or a version is held against whatever was used before it."""
        concerned = self._of((what, name))
        return (concerned if what == "instructions" else self._of(None)), concerned

    def _of(self, named: tuple[str, str] | None) -> _Scale:
        if named not in self._known:
            sessions = self._history.sessions.items()
            chosen = {number for number, each in sessions if named is None or _is_concerned(each, *named)}
            self._known[named] = self._made(chosen)
        return self._known[named]

    def _made(self, chosen: set[int]) -> _Scale:
        scale = _Scale()
        scale.prompts = sorted(
            each.time for each in self._history.typed if each.session in chosen and each.time is not None
        )
        scale.moments = sorted(
            event.time for number, event in self._moments if number in chosen and event.time is not None
        )
        return scale


def _is_concerned(session: StoredSession, what: str, name: str) -> bool:
    if what == "instructions":
        return _is_below(session.row.project, _concerned(name))
    return name in (session.row.models if what == "model" else session.row.versions)


def _is_below(project: str | None, folder: str | None) -> bool:
    if folder is None:
        return True
    return project is not None and f"{project}/".replace("\\", "/").startswith(f"{folder}/".replace("\\", "/"))
