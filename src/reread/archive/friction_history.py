"""The prompts, moments and materials of a retrospective, each counted once however many sessions repeat it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from reread.features.friction.detection import FrictionKind, Moment
from reread.features.friction.material import AskedPrompt, CountedPhrase, Material, Rule
from reread.index import findings
from reread.index.findings import NO_TIME, prompts_in
from reread.index.sessions import SessionOutline, StoredSession
from reread.index.user_data import labels
from reread.rows.groups import grouped

_COUNTED = ("chains", "after_edits", "permissions", "shell_lines")


class Typed(NamedTuple):
    """When and in which session a prompt was typed."""

    time: int | None
    """In milliseconds: very many are compared, and making a datetime costs more than comparing it."""
    session: int


class Labels:
    """The moments that a person marked as wrong."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._wrong = {(uuid, kind) for uuid, kind, *_ in labels(connection)}

    def __bool__(self) -> bool:
        return bool(self._wrong)

    def is_wrong(self, uuid: str | None, kind: FrictionKind) -> bool:
        return bool(self._wrong) and ((uuid, "") in self._wrong or (uuid, kind.value) in self._wrong)


Keeps = Callable[[AskedPrompt | Rule], bool]


class FrictionHistory:
    """The sessions of a retrospective; prompts and moments that several of them repeat count once."""

    def __init__(self, connection: sqlite3.Connection, sessions: Iterable[SessionOutline], first: int | None) -> None:
        """What two sessions contain belongs to the earlier one; what the session `first` contains always belongs to
        it."""
        ordered = sorted(sessions, key=_age)
        if first is not None:
            ordered.sort(key=lambda each: each.id != first)
        self.sessions = {each.id: each for each in ordered}
        self._connection = connection
        self.typed: list[Typed] = []
        """Every prompt, each once."""
        self._origins: dict[int, int] = {}
        """For each session that repeats the first prompt of another: that other session."""
        self._read()

    def _read(self) -> None:
        homes: dict[int, int] = {}
        packed, typed = findings.prompts_of(self._connection, self.sessions), self.typed
        for number in self.sessions:
            is_first = True
            for time, words in prompts_in(packed.pop(number, b"")):
                if time == NO_TIME:
                    typed.append(Typed(None, number))
                elif (home := homes.setdefault(time << 32 | words, number)) == number:
                    typed.append(Typed(time, number))
                elif is_first:
                    self._origins[number] = home
                is_first = False

    def events(self) -> list[tuple[int, Moment]]:
        """Every moment, each once, with its session."""
        names = {number: each.uuid for number, each in self.sessions.items()}
        found = grouped(findings.moments(self._connection, names), lambda each: each[0])
        by_session = {number: [event for _, event in each] for number, each in found.items()}
        return list(_own(self.sessions, by_session))

    def materials(self, numbers: Collection[int], keeps: Keeps | None) -> Iterator[Material]:
        """The material of some sessions, one session at a time: what passes `keeps` and no earlier one contains."""
        names = {number: each for number, each in self.sessions.items() if number in numbers}
        origins = {self._origins[number] for number in names if number in self._origins} & names.keys()
        found: dict[int, Material] = {}
        seen: set[int] = set()
        for number, material in findings.materials(self._connection, names):
            if number in origins:
                found[number] = material
            yield self._own_material(material, found.get(self._origins.get(number, -1)), seen, keeps)

    @staticmethod
    def _own_material(material: Material, origin: Material | None, seen: set[int], keeps: Keeps | None) -> Material:
        """What the origin of a copy counted is not counted again: how much of it is a repetition is unknown."""
        keeps = keeps or (lambda _: True)
        prompts = [each for each in material.prompts if _is_new(each, each.example, seen) and keeps(each)]
        rules = [each for each in material.rules if _is_new(each, each.text, seen) and keeps(each)]
        is_all_new = len(prompts) == len(material.prompts) and len(rules) == len(material.rules)
        if is_all_new and origin is None:
            return material
        again = _counted_here(material, origin) if origin is not None else {}
        return replace(material, prompts=tuple(prompts), rules=tuple(rules), **again)


def _counted_here(material: Material, origin: Material) -> dict[str, tuple[CountedPhrase, ...]]:
    found: dict[str, tuple[CountedPhrase, ...]] = {}
    for name in _COUNTED:
        known = {each.what for each in getattr(origin, name)}
        found[name] = tuple(each for each in getattr(material, name) if each.what not in known)
    return found


def moments_of(connection: sqlite3.Connection, session: StoredSession, least_confidence: float) -> list[Moment]:
    """The moments of one session, in order, without those that happened in subagents, are unsure or were marked as
    wrong."""
    labels = Labels(connection)
    return [
        event
        for _, event in findings.moments(connection, {session.id: session.row.uuid})
        if event.agent is None and event.confidence >= least_confidence and not labels.is_wrong(event.uuid, event.kind)
    ]


def _age(session: SessionOutline) -> tuple[int, int, int]:
    return session.started or 0, session.ended or 0, session.id


def _own(sessions: Iterable[int], moments: Mapping[int, Sequence[Moment]]) -> Iterator[tuple[int, Moment]]:
    """Moments that are not copies. A copy has the uuid of its original or, if it got new ids, its time and words."""
    homes: dict[tuple[object, ...], int] = {}
    for number in sessions:
        for event in moments.get(number, ()):
            names = _names(event)
            if all(homes.setdefault(name, number) == number for name in names):
                yield number, event


def _names(event: Moment) -> list[tuple[object, ...]]:
    by_line = [(event.kind, event.uuid)] if event.uuid is not None else []
    by_time = [(event.kind, event.time, event.evidence)] if event.time is not None else []
    return [*by_line, *by_time]


def _is_new(each: AskedPrompt | Rule, text: str, seen: set[int]) -> bool:
    """Whether neither the line of a text nor its time and words were seen before. Keeps 64-bit hashes, which take a
    sixth of the memory of the texts."""
    names = {hash((type(each), each.uuid, text))}
    if each.time is not None:
        names.add(hash((type(each), each.time, text)))
    is_new = seen.isdisjoint(names)
    seen |= names
    return is_new
