"""A calendar in an SVG: a column for each week, a square for each day, darker the more there was."""

from __future__ import annotations

from datetime import date

from .chart import Chart
from .palette import LIGHT
from .shapes import MARGIN, SMALL, Box, Sheet, rectangle, text
from .tips import Place, hits

_WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BESIDE = 30
_SHADES = (0.3, 0.5, 0.75, 1.0)
_LARGEST = 18.0
_LEAST_BETWEEN = 3
"""Weeks between the names of two months."""


def days(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    moments = [date.fromisoformat(label) for label in chart.labels]
    monday = moments[0].toordinal() - moments[0].weekday()
    weeks = [(moment.toordinal() - monday) // 7 for moment in moments]
    cell = min(_LARGEST, (sheet.width - 2 * MARGIN - _BESIDE) / (weeks[-1] + 1))
    box = Box(MARGIN + _BESIDE, top + 16, sheet.right, top + 16 + 7 * cell)
    places: list[Place] = [
        (box.left + week * cell, box.top + moment.weekday() * cell, cell - 2, cell - 2)
        for week, moment in zip(weeks, moments, strict=True)
    ]
    parts = [
        text(MARGIN, box.top + cell * (row + 0.5) + 4, name, look="muted", size=SMALL)
        for row, name in enumerate(_WEEKDAYS)
        if name and cell >= 9
    ]
    parts += _months(moments, weeks, box, cell)
    parts += _squares(chart, places)
    return [*parts, *hits(chart, sheet, places)], box.bottom


def _months(moments: list[date], weeks: list[int], box: Box, cell: float) -> list[str]:
    """The name of a month over the first whole week of it."""
    parts, last = [], -_LEAST_BETWEEN
    for moment, week in zip(moments, weeks, strict=True):
        if moment.day <= 7 and moment.weekday() == 0 and week - last >= _LEAST_BETWEEN:
            x = box.left + week * cell
            parts.append(text(x, box.top - 5, _MONTHS[moment.month - 1], look="muted", size=SMALL))
            last = week
    return parts


def _squares(chart: Chart, places: list[Place]) -> list[str]:
    edges = _edges([total for total in chart.totals if total])
    blank, full = [], []
    for total, place in zip(chart.totals, places, strict=True):
        if not total:
            blank.append(rectangle(*place, more=' rx="2"'))
            continue
        shade = _SHADES[sum(total > edge for edge in edges)]
        full.append(rectangle(*place, more=f' rx="2" fill-opacity="{shade}"'))
    return [
        f'<g class="blank" fill="{LIGHT.grid}">',
        *blank,
        "</g>",
        f'<g class="s0" fill="{LIGHT.series[0]}">',
        *full,
        "</g>",
    ]


def _edges(values: list[float]) -> list[float]:
    """What parts the values that are not 0 into quarters."""
    ordered = sorted(values)
    return [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)] if ordered else []
