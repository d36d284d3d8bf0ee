"""The retrospective as a page shows it: groups that open to their moments, each moment with the way to its message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from reread.analyses.friction.events import Event
from reread.analyses.friction.patterns import Pattern
from reread.analyses.friction.suggestions import Suggestion
from reread.archive import Listed
from reread.queries.retro import Group, Retro, cost_of, ranked
from reread.render.html.anchors import anchor
from reread.render.retro import (
    about_name,
    checked,
    compared,
    guess,
    kind_name,
    losses,
    pattern_title,
    rate_text,
    subject_facts,
    times_in,
)
from reread.render.text import shorten

from .library import link_name


class Limits(NamedTuple):
    """How much of it is shown."""

    subjects: int
    """Of each kind."""
    moments: int
    """Of each subject."""
    alone: int
    """Of the only subject of a kind."""


OVERVIEW = Limits(subjects=6, moments=4, alone=6)
ONE_KIND = Limits(subjects=40, moments=6, alone=200)
MOST_FIRST = 3
MOST_SUGGESTIONS = 30
MOST_PATTERNS = 30
MOST_EVIDENCE = 12
_LONGEST_EXAMPLE = 300


class Evidence(NamedTuple):
    """A link to the very message."""

    href: str
    session: str
    """Its title."""
    time: datetime | None
    words: str


class Told(NamedTuple):
    """A moment."""

    id: str
    event: Event
    at: Evidence
    further: Evidence | None
    loss: str
    guess: str
    is_wrong: bool


class Subject(NamedTuple):
    """Moments of a kind about the same thing."""

    name: str
    facts: str
    about: str
    moments: list[Told]
    left_out: int


class Hurt(NamedTuple):
    """All moments of a kind."""

    kind: str
    name: str
    times: str
    loss: tuple[str, str]
    rate: str
    compared: str
    change: str
    share: float
    """Of all that hurt."""
    subjects: list[Subject]
    left_out: int
    """Subjects that are not shown."""


class Repeated(NamedTuple):
    """A pattern."""

    title: str
    example: str
    evidence: list[Evidence]
    left_out: int


class Advice(NamedTuple):
    """A suggestion."""

    suggestion: Suggestion
    number: int
    """By which `reread retro apply` knows it."""
    seen: str
    checked: str
    evidence: list[Evidence]


class Shelf:
    """Sessions by their name, for links to them."""

    def __init__(self, sessions: Iterable[Listed]) -> None:
        self._known = {each.stored.row.uuid: each.stored for each in sessions}

    def evidence(self, session: str, uuid: str | None, time: datetime | None = None, words: str = "") -> Evidence:
        """Without an address where the session is not in the archive any more."""
        stored = self._known.get(session)
        if stored is None:
            return Evidence("", shorten(session, 60), time, words)
        place = f"?at={anchor(uuid)}#{anchor(uuid)}" if uuid else ""
        title = shorten(stored.row.title or "(no title)", 90)
        return Evidence(f"/s/{link_name(stored)}{place}", title, time, words)


def moment_id(uuid: str, kind: str) -> str:
    """What a moment is called in a page; the line alone may show several."""
    return f"e-{sha256(f'{kind} {uuid}'.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def hurts(found: Retro, shelf: Shelf, order: str, limits: Limits, about: str | None = None) -> list[Hurt]:
    """What hurt most first; of one subject alone where it is named."""
    moments: dict[tuple[str, str], list[Event]] = {}
    for event in found.events:
        moments.setdefault((event.kind.value, event.about), []).append(event)
    subjects: dict[str, list[Group]] = {}
    for group in ranked(found.subjects, order):
        if about is None or group.about == about:
            subjects.setdefault(group.kind.value, []).append(group)
    made = []
    for group in ranked(found.kinds, order):
        kind = group.kind.value
        own = subjects.get(kind, [])
        if own:
            most = limits.moments if len(own) > 1 else limits.alone
            shown = [
                _subject(each, moments[kind, each.about or ""], found, shelf, most) for each in own[: limits.subjects]
            ]
            made.append(_hurt(group, shown, len(own) - len(shown)))
    return made


def _hurt(group: Group, shown: list[Subject], left_out: int) -> Hurt:
    return Hurt(
        kind=group.kind.value,
        name=kind_name(group.kind.value),
        times=times_in(group.count, group.sessions),
        loss=losses(group.seconds, group.nanodollars),
        rate=rate_text(group.rate),
        compared=compared(group),
        change=group.change or "",
        share=group.hurt,
        subjects=shown,
        left_out=left_out,
    )


def _subject(group: Group, events: Sequence[Event], found: Retro, shelf: Shelf, most: int) -> Subject:
    """Its moments, what cost most first; they came with the newest first."""
    shown = sorted(events, key=lambda event: cost_of(event)[:2], reverse=True)[:most]
    return Subject(
        name=about_name(group),
        facts=subject_facts(group),
        about=group.about or "",
        moments=[_told(event, found, shelf) for event in shown],
        left_out=len(events) - len(shown),
    )


def _told(event: Event, found: Retro, shelf: Shelf) -> Told:
    first = event.details.get("first")
    return Told(
        id=moment_id(event.uuid or "", event.kind.value),
        event=event,
        at=shelf.evidence(event.session, event.uuid, event.time, event.evidence),
        further=shelf.evidence(event.session, first) if isinstance(first, str) else None,
        loss=" · ".join(each for each in losses(event.loss.seconds, event.loss.nanodollars) if each),
        guess=guess(event),
        is_wrong=(event.uuid, event.kind) in found.wrong,
    )


def repeated(patterns: Sequence[Pattern], shelf: Shelf) -> list[Repeated]:
    return [
        Repeated(
            title=pattern_title(pattern),
            example=shorten(pattern.example, _LONGEST_EXAMPLE),
            evidence=[
                shelf.evidence(
                    moment.session, moment.uuid, moment.time, moment.text if moment.text != pattern.example else ""
                )
                for moment in pattern.moments[:MOST_EVIDENCE]
            ],
            left_out=max(0, len(pattern.moments) - MOST_EVIDENCE),
        )
        for pattern in patterns[:MOST_PATTERNS]
    ]


def advice(found: Retro, shelf: Shelf) -> list[Advice]:
    moments = _moments(found)
    return [
        Advice(
            suggestion=each,
            number=number,
            checked=checked(each),
            seen=times_in(each.count, each.sessions),
            evidence=[
                shelf.evidence(found.homes[uuid], uuid, *moments.get(uuid, (None, "")))
                for uuid in each.evidence[:MOST_EVIDENCE]
                if uuid in found.homes
            ],
        )
        for number, each in enumerate(found.suggestions[:MOST_SUGGESTIONS], 1)
    ]


def _moments(found: Retro) -> Mapping[str, tuple[datetime | None, str]]:
    """Time and words of every line that is named."""
    told = {moment.uuid: (moment.time, moment.text) for pattern in found.patterns for moment in pattern.moments}
    return told | {event.uuid: (event.time, event.evidence) for event in found.events if event.uuid is not None}
