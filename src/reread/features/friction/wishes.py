"""What a person wishes every time, and what became of the drafts they applied.

A draft that was applied keeps its matcher: it is judged by its own breaks, not by everything that went wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache

from msgspec import Struct

from reread.features.activity import Rate, SessionShare, verdicts

from .detection import FrictionKind, Moment
from .material import Material
from .patterns import ALIKE_PROMPTS, ALIKE_RULES, PatternKind, RepeatedPattern, error_name
from .prompt_text import likeness, sketch
from .suggestions import Basis, Suggestion, broken_since


class StandingWish(Struct, frozen=True, kw_only=True):
    """Something the person asked for in several sessions."""

    words: str
    """As the reply restates it, or else as it was typed at its shortest."""
    count: int
    sessions: int
    last: datetime | None
    """When it was last asked for."""
    uuid: str
    """The line of that."""
    stated: str = ""
    """The file that states it; empty if none does."""
    since: datetime | None = None
    broken: int = 0
    """How often it was asked for after the file stated it."""


def standing_wishes(patterns: Iterable[RepeatedPattern], basis: Basis) -> list[StandingWish]:
    """The ledger, what was asked for most first."""
    found: list[StandingWish] = []
    for pattern in patterns:
        words = str(pattern.details.get("clean", pattern.example))
        if pattern.kind is PatternKind.REFUSAL and pattern.details.get("reason"):
            words = f"`{pattern.about}`: {pattern.details['reason']}"
        elif pattern.kind not in (PatternKind.INSTRUCTION, PatternKind.CORRECTION):
            continue
        timed = [moment for moment in pattern.moments if moment.time is not None]
        last = max(timed, key=lambda moment: moment.time or datetime.max) if timed else pattern.moments[-1]
        name, since, broken = broken_since(pattern, words, basis) or ("", None, ())
        found.append(
            StandingWish(
                words=words,
                count=pattern.count,
                sessions=len(pattern.sessions),
                last=last.time,
                uuid=last.uuid,
                stated=name,
                since=since,
                broken=len(broken),
            )
        )
    return sorted(found, key=lambda wish: (-wish.sessions, -wish.count, wish.words))


JUDGED = (FrictionKind.CORRECTION, FrictionKind.RE_ASK, FrictionKind.MANUAL_STEP)
"""The kinds that are guessed from words, so that a person can be asked about them."""
_FEWEST_AGAINST = 3


def own_threshold(answers: Iterable[tuple[float, bool]], least: float) -> float:
    """The confidence from which a person's answers leave most right guesses over wrong ones; `least` until at least
    three more below it were wrong than right."""
    balance = best = 0
    for confidence, is_right in sorted(answers):
        balance += -1 if is_right else 1
        if balance > best:
            best, found = balance, confidence
    return least if best < _FEWEST_AGAINST else round(found + 0.01, 2)


class AppliedDraft(Struct, frozen=True, kw_only=True):
    """A draft that the person put into a file."""

    path: str
    time: datetime
    draft: Suggestion


_COUNTED = {
    PatternKind.WORKFLOW: "chains",
    PatternKind.AFTER_EDIT: "after_edits",
    PatternKind.PERMISSION: "permissions",
}


_wanted = lru_cache(maxsize=64)(sketch)


def breaks(draft: Suggestion, material: Material, events: Sequence[Moment]) -> int:
    """How often what a draft is about happened in a session."""
    kind, about = draft.kind_of_pattern, draft.about
    if kind in (PatternKind.INSTRUCTION, PatternKind.CORRECTION):
        return sum(likeness(rule.sketch, _wanted(about)) >= ALIKE_RULES for rule in material.rules)
    if kind == PatternKind.RE_ASK:
        return sum(likeness(asked.sketch, _wanted(about)) >= ALIKE_PROMPTS for asked in material.prompts)
    if kind == PatternKind.READ_AGAIN:
        return sum(file.path in about.split("\n") for file in material.read)
    if kind in _COUNTED:
        return sum(each.count for each in getattr(material, _COUNTED[PatternKind(kind)]) if each.what == about)
    return sum(_is_about(event, kind, about) for event in events)


def _is_about(event: Moment, kind: str, about: str) -> bool:
    if event.kind is FrictionKind.TOOL_ERROR:
        line = str(event.details.get("line", ""))
        is_line = kind == PatternKind.HABIT and (line == about or line.startswith(f"{about} "))
        return is_line or (kind == PatternKind.TOOL_ERROR and about == error_name(event))
    return event.kind is FrictionKind.REJECTION and kind == PatternKind.REFUSAL and event.about == about


_FEWEST_AFTER = 5
_HARDLY_LESS = 0.8


class AppliedOutcome(Struct, frozen=True, kw_only=True):
    """How often what an applied draft is about happened per prompt, in sessions that began before it and after."""

    applied: AppliedDraft
    before: Rate
    after: Rate
    sessions: SessionShare
    """In how many sessions it happened, after and before."""

    @property
    def verdict(self) -> str:
        (changed,) = verdicts([self.sessions])
        past, now = self.before.per_hundred or 0.0, self.after.per_hundred or 0.0
        is_as_often = self.after.count >= _FEWEST_AFTER and now >= _HARDLY_LESS * past
        if changed == "more" or (changed is None and is_as_often):
            return "did not help"
        return "helped" if changed == "less" else f"no difference yet ({self.after.exposure} prompts since)"


class BreaksTally:
    """Counts the breaks of every applied draft, session by session."""

    def __init__(self, applied: Sequence[AppliedDraft]) -> None:
        self._counts = [(each, [0] * 4, [0] * 4) for each in applied]
        """Breaks, prompts, sessions with breaks and sessions, each before and after."""

    def add(self, material: Material, started: datetime | None, prompts: int, events: Sequence[Moment]) -> None:
        for each, *both in self._counts:
            if started is not None and each.draft.project in (None, material.project):
                broken = breaks(each.draft, material, events)
                counts = both[started > each.time]
                for place, count in enumerate((broken, prompts, int(broken > 0), 1)):
                    counts[place] += count

    def outcomes(self) -> Iterator[AppliedOutcome]:
        for each, (broken, prompts, with_any, sessions), (again, since, with_any_since, sessions_since) in self._counts:
            share = SessionShare(with_any_since, sessions_since, with_any, sessions)
            yield AppliedOutcome(applied=each, before=Rate(broken, prompts), after=Rate(again, since), sessions=share)
