"""Standing wishes and what became of applied drafts, in words that every form of the retrospective shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .numbers import count
from .rates import rate_document, rate_text, times_in
from .text import one_line
from .values import Document, View, picked, when

if TYPE_CHECKING:
    from reread.archive import Retro
    from reread.features.friction.wishes import AppliedOutcome, StandingWish

WISHES, APPLIED = "What you wish every time", "What became of what you applied, per 100 prompts"


def wish_text(wish: StandingWish, view: View) -> str:
    said = f"{one_line(wish.words)}: {times_in(wish.count, wish.sessions)}"
    last = f", last on {when(wish.last, view.timezone, '%Y-%m-%d')}" if wish.last is not None else ""
    if not wish.stated:
        return f"{said}{last}; no file states it"
    broken = f", and broken {count(wish.broken, 'time')} since" if wish.broken else ""
    return f"{said}{last}; stated in {wish.stated}{broken}"


def applied_text(each: AppliedOutcome, view: View) -> str:
    day = when(each.applied.time, view.timezone, "%Y-%m-%d")
    return f"{day}  {one_line(each.applied.draft.title)}: {rates(each)}: {each.verdict}"


def rates(each: AppliedOutcome) -> str:
    return f"{rate_text(each.before)} → {rate_text(each.after)}"


def ledger_sections(found: Retro, view: View, most: int) -> list[tuple[str, list[str]]]:
    """The sections that have something to say: their headings and lines."""
    wishes = [wish_text(each, view) for each in found.wishes[:most]]
    applied = [f"{number}. {applied_text(each, view)}" for number, each in enumerate(found.applied, 1)]
    return [(heading, lines) for heading, lines in ((WISHES, wishes), (APPLIED, applied)) if lines]


def ledger_document(found: Retro) -> Document:
    return {
        "wishes": [
            {
                **picked(each, "words count sessions last uuid"),
                "stated": each.stated or None,
                **picked(each, "stated_since=since broken_since=broken"),
            }
            for each in found.wishes
        ],
        "applied": [
            {
                "number": number,
                **picked(each.applied, "title=draft.title path time"),
                "before": rate_document(each.before),
                "after": rate_document(each.after),
                "verdict": each.verdict,
            }
            for number, each in enumerate(found.applied, 1)
        ],
    }
