"""A treemap in an SVG: a field for each label as large as its value, and in it a part for each series.

Names stand above their field on the paper, not on the colours, so they can be read in both themes.
"""

from __future__ import annotations

from .areas import squarified
from .chart import Chart
from .lettering import breadth, fit_name
from .shapes import MARGIN, SMALL, Box, Sheet, coloured, rectangle, text
from .tips import tip, with_hits
from .units import written

_HEAD = 19
"""Room for a name above its field."""
_LEAST_WIDTH, _LEAST_HEIGHT = 52, 40
"""A field smaller than this has no name of its own."""
_GAP = 3.0
_SHORTEST_NAME = 48
_BOLDER, _WIDER = 1.3, 1.18
"""How much wider than the plain letters of Inter the bold and the plain ones of any font may be; DejaVu's are."""


def areas(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    whole = Box(MARGIN, top, sheet.right, top + sheet.plot)
    fields = squarified([total or 0.0 for total in chart.totals], whole)
    parts: list[list[str]] = [[] for _ in chart.series]
    names: list[str] = []
    for number, field in enumerate(fields):
        if field is None:
            continue
        inner = _inside(field)
        if inner.top > field.top + _HEAD / 2:
            names.append(_name(chart, number, field))
        values = [float(value or 0) for value in chart.columns[number]]
        for position, part in enumerate(squarified(values, inner)):
            if part is not None:
                place = (part.left, part.top, part.width, part.height)
                parts[position].append(rectangle(*place, tip(chart, number, position)))
    drawn = [element for position, rects in enumerate(parts) for element in coloured(position, rects)]
    places = [
        (0.0, 0.0, 0.0, 0.0) if each is None else (each.left, each.top, each.width, each.height) for each in fields
    ]
    return [*with_hits(chart, sheet, places, drawn), *names], whole.bottom + 8


def _inside(field: Box) -> Box:
    """Where the colours go: below the name where there is room for one, and apart from the neighbours."""
    gap = min(_GAP, field.width / 3, field.height / 3)
    has_name = field.width >= _LEAST_WIDTH and field.height >= _LEAST_HEIGHT
    head = _HEAD if has_name else 0
    return Box(field.left, field.top + head, field.right - gap, field.bottom - gap)


def _name(chart: Chart, number: int, field: Box) -> str:
    """The name, and the value where both fit."""
    room = field.width - 3 * _GAP
    value = written(chart.totals[number], chart.unit)
    beside = breadth(value, SMALL) * _WIDER + 7
    label = chart.labels[number]
    has_both = room - beside > _SHORTEST_NAME
    name = fit_name(label, (room - beside if has_both else room) / _BOLDER, SMALL)
    return text(field.left, field.top + 13, name, size=SMALL, bold=True, after=value if has_both else "")
