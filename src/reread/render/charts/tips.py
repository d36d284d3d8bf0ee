"""What parts of a drawing say to who points at them, and where a click leads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .chart import Chart
from .palette import LIGHT
from .shapes import Sheet, linked, rectangle
from .units import exact, written

Place = tuple[float, float, float, float]
"""Left, top, width and height."""


def with_hits(chart: Chart, sheet: Sheet, places: Sequence[Place], bars: Iterable[str]) -> Iterator[str]:
    """Bars, and invisible ones of full size, so that small values can be pointed at too.

    Where they lead somewhere they lie above, and say everything at once.
    """
    if any(sheet.links):
        yield from bars
        yield from hits(chart, sheet, places)
    else:
        yield from hits(chart, sheet, places)
        yield from bars


def hits(chart: Chart, sheet: Sheet, places: Sequence[Place]) -> Iterator[str]:
    yield f'<g class="hit" fill="{LIGHT.ink}" fill-opacity="0">'
    first = next((number for number in range(len(places)) if sheet.link(number)), -1)
    for number, place in enumerate(places):
        said = whole_tip(chart, number) if sheet.links else label_tip(chart, number)
        yield linked(rectangle(*place, said), sheet.link(number), said, is_first=number == first)
    yield "</g>"


def label_tip(chart: Chart, number: int) -> str:
    return f"{chart.labels[number]}: {written(chart.totals[number], chart.unit)}"


def whole_tip(chart: Chart, number: int) -> str:
    """The label with its exact value, and a line for each series that is part of it."""
    lines = [f"{chart.labels[number]}: {exact(chart.totals[number], chart.unit)}"]
    if chart.is_stacked:
        values = ((each.name, each.values[number]) for each in chart.series)
        lines += [f"{name}: {exact(float(value), chart.unit)}" for name, value in values if value]
    return "\n".join(lines)


def tip(chart: Chart, number: int, position: int) -> str:
    """What one series has at a label."""
    series = chart.series[position]
    value = series.values[number]
    said = written(None if value is None else float(value), chart.unit)
    if not chart.is_stacked:
        return f"{chart.labels[number]}: {said}"
    return f"{chart.labels[number]} · {series.name}: {said} of {written(chart.totals[number], chart.unit)}"
