"""What is kept of sessions for the retrospective, every moment once: forks, resumes and copies repeat others."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from reread.analyses.friction.events import Event, Kind
from reread.analyses.friction.material import Asked, Counted, Material, Rule
from reread.store import friction
from reread.store.friction import NO_TIME, Kept
from reread.store.labels import labels
from reread.store.sessions import StoredSession
from reread.times import moment

_COUNTED = ("chains", "after_edits", "permissions", "shell_lines")


class Typed(NamedTuple):
    """A prompt, by when and where it was typed."""

    time: datetime | None
    session: int


class Labels:
    """Moments a person said are none."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._wrong = {(uuid, kind) for uuid, kind, *_ in labels(connection)}

    def is_wrong(self, uuid: str | None, kind: Kind) -> bool:
        return bool(self._wrong) and ((uuid, "") in self._wrong or (uuid, kind.value) in self._wrong)


class History:
    """Sessions as the retrospective sees them, read when first asked for."""

    def __init__(self, connection: sqlite3.Connection, sessions: Iterable[StoredSession], first: int | None) -> None:
        """What two sessions tell belongs to the earlier; what `first` tells belongs to it before all others."""
        ordered = sorted(sessions, key=lambda each: (each.id != first, *_age(each)))
        self.sessions = {each.id: each for each in ordered}
        self._connection = connection
        self._names = {number: each.row.uuid for number, each in self.sessions.items()}
        self.kept: dict[int, Kept] = friction.kept_of(connection, self.sessions)
        self.typed, self._origins = _typed(self.sessions, self.kept)

    def events(self) -> list[tuple[int, Event]]:
        """Every moment once, with its session."""
        by_session: dict[int, list[Event]] = {}
        for number, event in friction.moments(self._connection, self._names):
            by_session.setdefault(number, []).append(event)
        return list(_own(self.sessions, by_session))

    def materials(self, numbers: Iterable[int], keeps: Callable[[Asked | Rule], bool]) -> list[Material]:
        """Of some sessions: what is not told by an earlier one already, and passes."""
        found = friction.materials(self._connection, {number: self._names[number] for number in numbers})
        seen: set[tuple[object, ...]] = set()
        return [
            self._own_material(found[number], found.get(self._origins.get(number, -1)), seen, keeps)
            for number in self.sessions
            if number in found
        ]

    @staticmethod
    def _own_material(
        material: Material,
        origin: Material | None,
        seen: set[tuple[object, ...]],
        keeps: Callable[[Asked | Rule], bool],
    ) -> Material:
        """What an origin counted is not counted again: how much of it was repeated here nobody can tell."""

        def counted(name: str) -> tuple[Counted, ...]:
            known = {each.what for each in getattr(origin, name)}
            return tuple(each for each in getattr(material, name) if each.what not in known)

        prompts = tuple(each for each in material.prompts if _is_new(each, seen) and keeps(each))
        rules = tuple(each for each in material.rules if _is_new(each, seen) and keeps(each))
        if origin is not None:
            return replace(material, prompts=prompts, rules=rules, **{name: counted(name) for name in _COUNTED})
        is_all_new = len(prompts) == len(material.prompts) and len(rules) == len(material.rules)
        return material if is_all_new else replace(material, prompts=prompts, rules=rules)


def moments_of(connection: sqlite3.Connection, session: StoredSession, least_confidence: float) -> list[Event]:
    """What one session shows by itself, in order; not what happened in subagents, is unsure or was said to be none."""
    labels = Labels(connection)
    return [
        event
        for _, event in friction.moments(connection, {session.id: session.row.uuid})
        if event.agent is None and event.confidence >= least_confidence and not labels.is_wrong(event.uuid, event.kind)
    ]


def _age(session: StoredSession) -> tuple[int, int, int]:
    row = session.row
    return row.started or 0, row.ended or 0, session.id


def _typed(sessions: Iterable[int], kept: Mapping[int, Kept]) -> tuple[list[Typed], dict[int, int]]:
    """Every prompt once; and by session the one whose first prompt it repeats."""
    homes: dict[tuple[int, int], int] = {}
    origins: dict[int, int] = {}
    found: list[Typed] = []
    for number in sessions:
        own = kept[number].prompted if number in kept else []
        for position, prompt in enumerate(own):
            home = homes.setdefault(prompt, number) if prompt[0] != NO_TIME else number
            if home == number:
                found.append(Typed(None if prompt[0] == NO_TIME else moment(prompt[0]), number))
            elif position == 0:
                origins[number] = home
    return found, origins


def _own(sessions: Iterable[int], moments: Mapping[int, Sequence[Event]]) -> Iterator[tuple[int, Event]]:
    """A copy has the uuid of what it copies, or, where ids were made anew, its time and words."""
    homes: dict[tuple[object, ...], int] = {}
    for number in sessions:
        for event in moments.get(number, ()):
            names = _names(event)
            if all(homes.setdefault(name, number) == number for name in names):
                yield number, event


def _names(event: Event) -> list[tuple[object, ...]]:
    by_line = [(event.kind, event.uuid)] if event.uuid is not None else []
    by_time = [(event.kind, event.time, event.evidence)] if event.time is not None else []
    return [*by_line, *by_time]


def _is_new(each: Asked | Rule, seen: set[tuple[object, ...]]) -> bool:
    """Each is seen once by its line, and once by its time and words."""
    text = each.text if isinstance(each, Rule) else each.example
    names: list[tuple[object, ...]] = [(type(each), each.uuid, text)]
    names += [(type(each), each.time, text)] if each.time is not None else []
    is_new = seen.isdisjoint(names)
    seen.update(names)
    return is_new
