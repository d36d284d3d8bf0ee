"""Which labels of a time axis are written, and how: as many as fit, at places a calendar would choose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from itertools import pairwise

from msgspec import Struct

from .folding import SPAN

_DATE = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY_STEPS = (1, 2, 5, 7, 10, 14)
_MONTH_STEPS = (1, 2, 3, 6, 12)
_MANY_MONTHS = 5
"""From here on the first of a month tells more than every fifth day."""


class Mark(Struct, frozen=True):
    """A label of the axis: at which bar, and what; a year stands below the first mark that lies in it."""

    position: int
    text: str
    year: str = ""


class _Moment(Struct, frozen=True):
    year: int
    month: int
    day: int | None


def marks(labels: Sequence[str], slot: float, breadth: Callable[[str], float], gap: float) -> list[Mark]:
    """The labels to write where each has `slot` of room and two need `gap` between them."""
    moments = [_moment(label) for label in labels]
    known = [moment for moment in moments if moment is not None]
    if not labels or len(known) < len(moments):
        texts = [label.partition(SPAN)[0] for label in labels]
        return _every(texts, _fitting(texts, slot, breadth, gap))
    if all(moment.day is None for moment in known):
        return _by_month(known, slot, breadth, gap)
    texts = [_day_text(moment) for moment in known]
    least = _fitting(texts, slot, breadth, gap)
    months = {(moment.year, moment.month) for moment in known}
    if least > 1 and len(months) >= _MANY_MONTHS:
        return _by_month(known, slot, breadth, gap)
    step = next((step for step in _DAY_STEPS if step >= least), least)
    return _with_years(_every(texts, step), known)


def _moment(label: str) -> _Moment | None:
    match = _DATE.fullmatch(label.partition(SPAN)[0])
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), match[3]
    try:
        date(year, month, int(day or 1))
    except ValueError:
        return None
    return _Moment(year, month, int(day) if day else None)


def _day_text(moment: _Moment) -> str:
    return f"{_MONTHS[moment.month - 1]} {moment.day}"


def _fitting(texts: Sequence[str], slot: float, breadth: Callable[[str], float], gap: float) -> int:
    """How many labels apart the written ones must be."""
    widest = max((breadth(text) for text in texts), default=0)
    return max(1, -int(-(widest + gap) // slot))


def _every(texts: Sequence[str], step: int) -> list[Mark]:
    return [Mark(position, texts[position]) for position in range(0, len(texts), step)]


def _by_month(moments: list[_Moment], slot: float, breadth: Callable[[str], float], gap: float) -> list[Mark]:
    """The first label of every month, or of every second, third, sixth, or only the Januaries."""
    starts = [position for position in range(len(moments)) if _begins_month(moments, position)]
    for step in _MONTH_STEPS:
        chosen = [position for position in starts if (moments[position].month - 1) % step == 0]
        found = [Mark(position, _MONTHS[moments[position].month - 1]) for position in chosen]
        needed = max(breadth(text) for text in ("2000", *(mark.text for mark in found))) + gap
        if found and all((b - a) * slot >= needed for a, b in pairwise(chosen)):
            return _with_years(found, moments)
    texts = [str(moment.year) for moment in moments]
    return _every(texts, _fitting(texts, slot, breadth, gap))


def _begins_month(moments: list[_Moment], position: int) -> bool:
    moment = moments[position]
    if position == 0:
        return moment.day is None or moment.day <= 7
    return (moment.year, moment.month) != (moments[position - 1].year, moments[position - 1].month)


def _with_years(found: list[Mark], moments: list[_Moment]) -> list[Mark]:
    years = [moments[mark.position].year for mark in found]
    before = [None, *years]
    return [
        Mark(mark.position, mark.text, str(year) if year != previous else "")
        for mark, year, previous in zip(found, years, before, strict=False)
    ]
