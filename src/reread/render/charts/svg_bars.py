"""Bars of an SVG: standing on a time axis, or lying beside names."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from .calendar import marks
from .chart import Chart
from .lettering import breadth, fit, fit_name
from .palette import LIGHT
from .scale import Scale, scale
from .shapes import BODY, MARGIN, SMALL, Box, Sheet, coloured, line, n, rectangle, text
from .tips import tip, with_hits
from .units import is_whole, tick, written

_FLAT_HEIGHT = 72
"""Where every value is 0."""
_APART = 44
"""Pixels between two lines of the grid, about."""
_WIDEST_BAR = 56
_LONGEST_NAME = 300
_WIDEST_FONT = 1.12
"""DejaVu Sans, which many a Linux has for sans-serif, against the font whose widths we know."""
_CROWDED = 30
"""More rows of names than this are set closer."""


def time_bars(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    """Bars that stand on a time axis, a grid of round numbers behind them."""
    made = scale(chart.highest, max(2, round(sheet.plot / _APART)), whole=is_whole(chart.unit))
    ticks = {value: tick(value, made.step, chart.unit) for value in made.ticks if chart.highest or not value}
    left = MARGIN + max(breadth(each, SMALL) for each in ticks.values()) + 10
    box = Box(left, top, sheet.right, top + (sheet.plot if chart.highest else _FLAT_HEIGHT))
    slot = box.width / len(chart.labels)
    bar = min(_WIDEST_BAR, slot * (0.72 if slot >= 6 else 0.85 if slot >= 3 else 1))
    places = [(box.left + slot * number, box.top, slot, box.height) for number in range(len(chart.labels))]
    parts = [
        *_grid(ticks, made, box),
        *with_hits(chart, sheet, places, _columns(chart, made, box, slot, bar)),
        *_on_top(chart, made, box, slot),
        line("axis", LIGHT.axis, box.left, box.bottom, box.right, box.bottom),
    ]
    labels, bottom = _time_labels(chart, box, slot)
    return parts + labels, bottom


def _grid(ticks: dict[Decimal, str], made: Scale, box: Box) -> Iterator[str]:
    for value, said in ticks.items():
        y = box.bottom - box.height * float(value) / made.top
        if y < box.bottom:
            yield line("grid", LIGHT.grid, box.left, y, box.right, y)
        yield text(box.left - 10, y + 4, said, look="muted", size=SMALL, anchor="end")


def _columns(chart: Chart, made: Scale, box: Box, slot: float, bar: float) -> Iterator[str]:
    below = [0.0] * len(chart.labels)
    for position, series in enumerate(chart.series):
        rects = []
        for number, value in enumerate(series.values):
            if not value:
                continue
            height = box.height * float(value) / made.top
            x = box.left + slot * number + (slot - bar) / 2
            y = box.bottom - below[number] - height
            below[number] += height
            rects.append(rectangle(x, y, bar, height, tip(chart, number, position)))
        yield from coloured(position, rects)


def _on_top(chart: Chart, made: Scale, box: Box, slot: float) -> Iterator[str]:
    """The value over each bar where all of them have the room; a dot where a value is not known."""
    texts = [written(total, chart.unit) if total is not None else "" for total in chart.totals]
    has_room = max(breadth(each, SMALL) for each in texts) + 6 <= slot
    for number, total in enumerate(chart.totals):
        middle = box.left + slot * (number + 0.5)
        if total is None:
            place = f'cx="{n(middle)}" cy="{n(box.bottom - 7)}" r="{n(min(2.5, slot / 3))}"'
            yield f'<circle class="muted" fill="{LIGHT.muted}" {place}/>'
        elif has_room:
            y = box.bottom - box.height * total / made.top - 7
            yield text(middle, y, texts[number], size=SMALL, anchor="middle", halo=True)


def _time_labels(chart: Chart, box: Box, slot: float) -> tuple[list[str], float]:
    longest = max(slot - 8, 130)
    labels = [fit(label, longest, SMALL) for label in chart.labels]
    chosen = marks(labels, slot, lambda said: breadth(said, SMALL), gap=14)
    parts = []
    for mark in chosen:
        middle = box.left + slot * (mark.position + 0.5)
        if slot < 20:
            parts.append(line("axis", LIGHT.axis, middle, box.bottom, middle, box.bottom + 5))
        parts.append(text(middle, box.bottom + 21, mark.text, look="muted", size=SMALL, anchor="middle"))
        if mark.year:
            parts.append(text(middle, box.bottom + 38, mark.year, size=SMALL, anchor="middle"))
    return parts, box.bottom + (42 if any(mark.year for mark in chosen) else 24)


def name_bars(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    """Bars that lie beside their names, the value at the end of each."""
    row, bar = (30, 18) if len(chart.labels) <= _CROWDED else (21, 13)
    labels = [fit_name(label, min(_LONGEST_NAME, sheet.width / 3), BODY) for label in chart.labels]
    values = [written(total, chart.unit) for total in chart.totals]
    left = MARGIN + max(breadth(label, BODY) for label in labels) * _WIDEST_FONT + 14
    right = sheet.right - max(breadth(value, BODY) for value in values) - 8
    box = Box(left, top, right, top + row * len(labels))
    across = sheet.width - 2 * MARGIN + 16
    places = [(MARGIN - 8, box.top + row * number, across, row) for number in range(len(labels))]
    parts = list(with_hits(chart, sheet, places, _rows(chart, box, row, bar)))
    for number, (label, value, total) in enumerate(zip(labels, values, chart.totals, strict=True)):
        y = box.top + row * (number + 0.5) + 4.5
        end = box.left + (box.width * (total or 0) / (chart.highest or 1) if number < len(chart.named) else 0)
        parts.append(text(left - 14, y, label, anchor="end", tip=chart.labels[number]))
        parts.append(text(end + 8, y, value, look="muted" if not total else "ink"))
    parts.append(line("axis", LIGHT.axis, box.left, box.top, box.left, box.bottom))
    return parts, box.bottom + 8


def _rows(chart: Chart, box: Box, row: float, bar: float) -> Iterator[str]:
    before = [0.0] * len(chart.labels)
    for position, series in enumerate(chart.series):
        rects = []
        for number, value in enumerate(series.values[: len(chart.named)]):
            if not value:
                continue
            width = box.width * float(value) / chart.highest
            y = box.top + row * number + (row - bar) / 2
            rects.append(rectangle(box.left + before[number], y, width, bar, tip(chart, number, position)))
            before[number] += width
        yield from coloured(position, rects)
