"""A chart as a self-contained SVG: bars, areas or days. No scripts, no external fonts, every text escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from html import escape
from importlib import resources

from msgspec import Struct
from msgspec.structs import replace

from reread.errors import BadInput

from .chart import (
    DARK,
    LIGHT,
    Chart,
    Kind,
    Scale,
    Theme,
    breadth,
    exact,
    fit,
    fit_name,
    fold_bars,
    fold_names,
    fold_series,
    folded,
    is_whole,
    marks,
    plain,
    scale,
    tick,
    written,
)

TITLE, BODY, SMALL = 19, 13, 12
MARGIN = 32


class Sheet(Struct, frozen=True):
    """The size of a drawing, and the links in it."""

    width: float = 960
    plot: float = 264
    """The height of the bars or areas."""
    links: tuple[str, ...] = ()
    """The link of each label; an empty or missing one is no link."""

    crop: float = 0
    """How much is cut off each margin, for a page that has its own margins around the drawing."""

    @property
    def right(self) -> float:
        return self.width - MARGIN

    def link(self, number: int) -> str:
        return self.links[number] if number < len(self.links) else ""


class Box(Struct, frozen=True):
    """A part of the sheet."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top


def rectangle(x: float, y: float, width: float, height: float, tip: str = "", more: str = "") -> str:
    """A bar with its tooltip; `more` are further attributes and is not escaped."""
    place = f'x="{n(x)}" y="{n(y)}" width="{n(width)}" height="{n(height)}"{more}'
    return f"<rect {place}>{_title(tip)}</rect>" if tip else f"<rect {place}/>"


def linked(element: str, href: str, tip: str, *, is_first: bool) -> str:
    """The element as a link; of many links the Tab key reaches only the first."""
    if not href:
        return element
    return f'<a href="{e(href)}" aria-label="{e(_lines(tip))}" tabindex="{0 if is_first else -1}">{element}</a>'


def coloured(colour: int, elements: list[str]) -> list[str]:
    """Elements in a colour of the theme."""
    if not elements:
        return []
    return [f'<g class="s{colour}" fill="{LIGHT.colours[colour]}">', *elements, "</g>"]


def line(name: str, colour: str, x1: float, y1: float, x2: float, y2: float) -> str:
    place = f'x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}"'
    return f'<line class="{name}" stroke="{colour}" {place}/>'


def text(
    x: float,
    y: float,
    text: str,
    *,
    look: str = "ink",
    size: int = BODY,
    bold: bool = False,
    anchor: str = "",
    tip: str = "",
    after: str = "",
    halo: bool = False,
) -> str:
    """A line of text. `after` follows it in a muted colour, wherever the text ends in the reader's font.

    With `halo`, a border in the colour of the paper keeps lines behind the text from crossing its letters.
    """
    more = f' font-size="{size}"' if size != BODY else ""
    more += ' font-weight="600"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    more += f' stroke="{LIGHT.paper}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    title = _title(tip) if tip else ""
    inner = f'{e(text)}<tspan class="muted" fill="{LIGHT.muted}" dx="7">{e(after)}</tspan>' if after else e(text)
    names = f"{look} halo" if halo else look
    return f'<text class="{names}" fill="{getattr(LIGHT, look)}" x="{n(x)}" y="{n(y)}"{more}>{title}{inner}</text>'


def _title(tip: str) -> str:
    return f"<title>{e(_lines(tip))}</title>"


def _lines(tip: str) -> str:
    """A tooltip with each of its lines made `plain`."""
    return "\n".join(plain(each) for each in tip.split("\n"))


def n(number: float) -> str:
    """A number rounded to hundredths of a pixel, which keeps the SVG short."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def e(text: str) -> str:
    return escape(text, quote=True)


def squarified(values: Sequence[float], box: Box) -> list[Box | None]:
    """Divides a box into a part for each value, as close to squares as possible; None for a value of 0.

    The largest is at the upper left, whatever the order of the values.
    """
    found: list[Box | None] = [None] * len(values)
    order = sorted((index for index, value in enumerate(values) if value > 0), key=lambda index: -values[index])
    total = math.fsum(values[index] for index in order)
    if not order or box.width <= 0 or box.height <= 0:
        return found
    scale = box.width * box.height / total
    areas = [values[index] * scale for index in order]
    start = 0
    while start < len(order):
        end = _row_end(areas, start, min(box.width, box.height))
        is_last = end == len(order)
        placed, box = _row(areas[start:end], box, is_last=is_last)
        for index, part in zip(order[start:end], placed, strict=True):
            found[index] = part
        start = end
    return found


def _row_end(areas: Sequence[float], start: int, side: float) -> int:
    """The end of a row along the shorter side: it grows as long as its worst rectangle gets no worse."""
    end, worst = start + 1, _worst(areas[start : start + 1], side)
    while end < len(areas):
        longer = _worst(areas[start : end + 1], side)
        if longer > worst:
            break
        end, worst = end + 1, longer
    return end


def _worst(row: Sequence[float], side: float) -> float:
    """The largest ratio of sides among the rectangles of a row."""
    whole = math.fsum(row)
    depth = whole / side if side > 0 else 0.0
    lengths = [side * area / whole for area in row] if whole > 0 else [0.0]
    if depth <= 0 or not all(lengths):
        return math.inf  # vanishingly small values in a vanishingly small corner
    return max(max(length / depth, depth / length) for length in (min(lengths), max(lengths)))


def _row(row: Sequence[float], box: Box, *, is_last: bool) -> tuple[list[Box], Box]:
    """A row laid along the shorter side of the box, and the rest of the box; the last row fills the box."""
    whole = math.fsum(row)
    stands = box.width >= box.height
    side = box.height if stands else box.width
    depth = (box.width if stands else box.height) if is_last or side <= 0 else whole / side
    depth = min(depth, box.width if stands else box.height)
    parts, at = [], 0.0
    for number, area in enumerate(row):
        before, at = at, side if number == len(row) - 1 else min(side, at + (side * area / whole if whole > 0 else 0))
        if stands:
            parts.append(Box(box.left, box.top + before, box.left + depth, box.top + at))
        else:
            parts.append(Box(box.left + before, box.top, box.left + at, box.top + depth))
    left = Box(box.left + depth, box.top, box.right, box.bottom)
    below = Box(box.left, box.top + depth, box.right, box.bottom)
    return parts, left if stands else below


Place = tuple[float, float, float, float]
"""Left, top, width and height."""


def with_hits(chart: Chart, sheet: Sheet, places: Sequence[Place], bars: Iterable[str]) -> Iterator[str]:
    """The bars, and invisible bars of full size, so that small values can be pointed at too.

    If the labels have links, the invisible bars are on top; each has one tooltip with all values of its label.
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
        tip = whole_tip(chart, number) if sheet.links else label_tip(chart, number)
        yield linked(rectangle(*place, tip), sheet.link(number), tip, is_first=number == first)
    yield "</g>"


def label_tip(chart: Chart, number: int) -> str:
    return f"{chart.labels[number]}: {written(chart.totals[number], chart.unit)}"


def whole_tip(chart: Chart, number: int) -> str:
    """A tooltip: the label with its exact value, and a line for each series that is part of it."""
    lines = [f"{chart.labels[number]}: {exact(chart.totals[number], chart.unit)}"]
    if chart.is_stacked:
        values = ((each.name, each.values[number]) for each in chart.series)
        lines += [f"{name}: {exact(float(value), chart.unit)}" for name, value in values if value]
    return "\n".join(lines)


def tip(chart: Chart, number: int, position: int) -> str:
    """A tooltip: the value of one series at a label."""
    series = chart.series[position]
    value = series.values[number]
    amount = written(None if value is None else float(value), chart.unit)
    if not chart.is_stacked:
        return f"{chart.labels[number]}: {amount}"
    return f"{chart.labels[number]} · {series.name}: {amount} of {written(chart.totals[number], chart.unit)}"


_HEAD = 19
"""Room for a name above its field."""
_LEAST_WIDTH, _LEAST_HEIGHT = 52, 40
"""A field smaller than this shows no name."""
_GAP = 3.0
_SHORTEST_NAME = 48
_BOLDER, _WIDER = 1.3, 1.18
"""How much wider bold and plain letters of any font may be than Inter's plain letters; measured with DejaVu."""


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
    drawn = [element for position, rects in enumerate(parts) for element in coloured(chart.colours[position], rects)]
    places = [
        (0.0, 0.0, 0.0, 0.0) if each is None else (each.left, each.top, each.width, each.height) for each in fields
    ]
    return [*with_hits(chart, sheet, places, drawn), *names], whole.bottom + 8


def _inside(field: Box) -> Box:
    """The coloured part of a field: below its name if there is room for one, with a gap to its neighbours."""
    gap = min(_GAP, field.width / 3, field.height / 3)
    has_name = field.width >= _LEAST_WIDTH and field.height >= _LEAST_HEIGHT
    head = _HEAD if has_name else 0
    return Box(field.left, field.top + head, field.right - gap, field.bottom - gap)


def _name(chart: Chart, number: int, field: Box) -> str:
    """The name of a field, and its value if both fit."""
    room = field.width - 3 * _GAP
    value = written(chart.totals[number], chart.unit)
    beside = breadth(value, SMALL) * _WIDER + 7
    label = chart.labels[number]
    has_both = room - beside > _SHORTEST_NAME
    # Of a short name both ends would be left: "e…ent"; its beginning says more.
    name = (fit_name if room > _SHORTEST_NAME * 2 else fit)(
        label, (room - beside if has_both else room) / _BOLDER, SMALL
    )
    return text(field.left, field.top + 13, name, size=SMALL, bold=True, after=value if has_both else "")


_FLAT_HEIGHT = 72
"""The height of a chart in which every value is 0."""
_APART = 44
"""About how many pixels are between two lines of the grid."""
_WIDEST_BAR = 56
_LONGEST_NAME = 300
_WIDEST_FONT = 1.12
"""The width of DejaVu Sans, the sans-serif of many Linux systems, relative to the font whose widths are known."""
_CROWDED = 30
"""From more names than this on, rows are closer together."""


def time_bars(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    """Vertical bars on a time axis, with a grid of round numbers behind them."""
    made = scale(chart.reach, max(2, round(sheet.plot / _APART)), whole=is_whole(chart.unit))
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
        *_limit(chart, made, box),
        line("axis", LIGHT.axis, box.left, box.bottom, box.right, box.bottom),
    ]
    labels, bottom = _time_labels(chart, box, slot)
    return parts + labels, bottom


def _grid(ticks: dict[Decimal, str], made: Scale, box: Box) -> Iterator[str]:
    for value, label in ticks.items():
        y = box.bottom - box.height * float(value) / made.top
        if y < box.bottom:
            yield line("grid", LIGHT.grid, box.left, y, box.right, y)
        yield text(box.left - 10, y + 4, label, look="muted", size=SMALL, anchor="end")


def _limit(chart: Chart, made: Scale, box: Box) -> Iterator[str]:
    """A dashed line at the budget, with its label at the end."""
    if chart.limit is None or not 0 < chart.limit <= made.top:
        return
    y = box.bottom - box.height * chart.limit / made.top
    place = f'x1="{n(box.left)}" y1="{n(y)}" x2="{n(box.right)}" y2="{n(y)}"'
    yield f'<line class="limit" stroke="{LIGHT.limit}" stroke-width="1.5" stroke-dasharray="6 4" {place}/>'
    label = f"budget {written(chart.limit, chart.unit)}"
    yield text(
        box.right, y - 5 if y > box.top + 12 else y + 15, label, look="limit", size=SMALL, anchor="end", halo=True
    )


def _columns(chart: Chart, made: Scale, box: Box, slot: float, bar: float) -> Iterator[str]:
    def place(number: int, below: float, height: float) -> Place:
        return box.left + slot * number + (slot - bar) / 2, box.bottom - below - height, bar, height

    return _stacked(chart, box.height, made.top, place)


def _stacked(
    chart: Chart, longest: float, highest: float, place: Callable[[int, float, float], Place]
) -> Iterator[str]:
    """The bars of all series, each where the one before it ends; `place` has the number of a bar, where it begins and
    how long it is. A bar as high as `highest` is the longest."""
    ends = [0.0] * len(chart.labels)
    for position, series in enumerate(chart.series):
        rects = []
        for number, value in enumerate(series.values[: len(chart.named)]):
            if value:
                length = longest * float(value) / highest
                rects.append(rectangle(*place(number, ends[number], length), tip(chart, number, position)))
                ends[number] += length
        yield from coloured(chart.colours[position], rects)


def _on_top(chart: Chart, made: Scale, box: Box, slot: float) -> Iterator[str]:
    """The value above each bar if there is room for all of them; a dot for an unknown value."""
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
    """Horizontal bars next to their names, with the value at the end of each."""
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
    def place(number: int, before: float, width: float) -> Place:
        return box.left + before, box.top + row * number + (row - bar) / 2, width, bar

    return _stacked(chart, box.width, chart.highest, place)


_WEEKDAYS = ("Mon", "", "Wed", "", "Fri", "", "")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BESIDE = 30
_SHADES = (0.3, 0.5, 0.75, 1.0)
_LARGEST = 18.0
_LEAST_BETWEEN = 3
"""The least number of weeks between the names of two months."""


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
    """The name of each month above its first whole week, if it is not too close to the one before."""
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
    """The three quartiles of the values that are not 0."""
    ordered = sorted(values)
    return [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)] if ordered else []


WIDTH = 960
MOST_BARS = 600
MOST_NAMES = 300
MOST_AREAS = 40
FONTS = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
NOTHING = "nothing to show"


def chart_svg(chart: Chart, sheet: Sheet | None = None) -> str:
    """The whole drawing. The same chart always gives the same text. `sheet` sets the size and the links."""
    sheet = sheet or Sheet(width=WIDTH)
    drawn, each = _folded(fold_series(chart))
    if len(drawn.labels) < len(chart.labels):
        kept = len(drawn.labels) - 1 if each == 1 else 0
        sheet = replace(sheet, links=sheet.links[:kept])
    header, top = _header(drawn, sheet)
    body, bottom = _body(drawn, sheet, top)
    notes = [chart.footnote, f"each bar adds up {each}" if each > 1 else ""]
    footer, height = _footer([note for note in notes if note], sheet, bottom)
    parts = [
        _opening(chart, sheet, height),
        f"<style>{chart_style()}</style>",
        f'<rect class="paper" fill="{LIGHT.paper}" width="{n(sheet.width)}" height="{n(height)}"/>',
        *header,
        *body,
        *footer,
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _folded(chart: Chart) -> tuple[Chart, int]:
    """The chart with no more labels than can be told apart, and how many labels each bar stands for."""
    most = {"names": MOST_NAMES, "areas": MOST_AREAS}
    return (fold_names(chart, most[chart.kind]), 1) if chart.kind in most else fold_bars(chart, MOST_BARS)


def _opening(chart: Chart, sheet: Sheet, height: float) -> str:
    crop = sheet.crop
    view = f"{n(crop)} {n(crop)} {n(sheet.width - 2 * crop)} {n(height - 2 * crop)}"
    # With the role `img`, a screen reader would not see the links inside.
    role = "group" if any(sheet.links) else "img"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="reread-chart" viewBox="{view}" '
        f'role="{role}" aria-label="{e(description(chart))}" font-family="{e(FONTS)}" font-size="{BODY}">'
    )


def description(chart: Chart) -> str:
    """The chart in words, for screen readers."""
    facts = [chart.title, chart.subtitle]
    if chart.is_empty:
        facts.append(NOTHING)
    else:
        highest = max(range(len(chart.named)), key=lambda position: chart.named[position] or 0)
        facts.append(_what(chart))
        facts.append(f"Highest {written(chart.highest, chart.unit)} ({chart.labels[highest]})")
        facts += [f"Budget {written(chart.limit, chart.unit)}"] if chart.limit is not None else []
        facts += [f"Total {chart.written_total}"] if chart.adds_up else []
        facts += [f"{each.name} {written(each.total, chart.unit)}" for each in chart.series if chart.is_stacked]
    return ". ".join(plain(fact) for fact in (*facts, chart.footnote) if fact.strip())


def _what(chart: Chart) -> str:
    kind, part = {"areas": ("Treemap", "area"), "days": ("Calendar", "day")}.get(chart.kind, ("Bar chart", "bar"))
    if kind == "Bar chart" and chart.is_stacked:
        kind = "Stacked bar chart"
    parts = f"{len(chart.labels)} {part}s" if len(chart.labels) > 1 else f"1 {part}"
    is_time = chart.kind in ("time", "days") and len(chart.labels) > 1
    return f"{kind}, {parts}" + (f" from {chart.labels[0]} to {chart.labels[-1]}" if is_time else "")


def chart_style() -> str:
    """The style sheet inside every chart. A page with a content security policy allows it by its digest."""
    rules = [
        ".reread-chart{font-variant-numeric:tabular-nums}",
        ".reread-chart .hit rect:hover,.reread-chart .hit a:focus rect{fill-opacity:.1}",
        ".reread-chart a:focus{outline:none}.reread-chart a:focus-visible rect{stroke:#1a66d6;stroke-width:2}",
        f"@media screen and (prefers-color-scheme:dark){{{''.join(_rules(DARK))}}}",
    ]
    return "".join(rules)


def _rules(theme: Theme) -> Iterator[str]:
    fills = {"paper": theme.paper, "ink": theme.ink, "muted": theme.muted, "hit": theme.ink, "blank": theme.grid}
    fills |= {"limit": theme.limit}
    fills |= {f"s{number}": colour for number, colour in enumerate(theme.colours)}
    yield from (f".reread-chart .{name}{{fill:{colour}}}" for name, colour in fills.items())
    strokes = {"grid": theme.grid, "axis": theme.axis, "halo": theme.paper}
    strokes |= {"limit:not(text)": theme.limit}
    yield from (f".reread-chart .{name}{{stroke:{colour}}}" for name, colour in strokes.items())


def _header(chart: Chart, sheet: Sheet) -> tuple[list[str], float]:
    """Title and total, subtitle and legend; also returns where they end."""
    total = chart.written_total if chart.has_total else ""
    room = sheet.width - 2 * MARGIN - breadth(total, TITLE, bold=True) - 24
    right = sheet.right
    parts = [text(MARGIN, 42, fit(chart.title, room, TITLE, bold=True), size=TITLE, bold=True)]
    bottom = 48.0
    if total:
        parts.append(text(right, 42, total, size=TITLE, bold=True, anchor="end"))
        parts.append(text(right, 63, "total", look="muted", anchor="end"))
    if chart.subtitle:
        parts.append(text(MARGIN, 63, fit(chart.subtitle, room, BODY), look="muted"))
    if total or chart.subtitle:
        bottom = 70.0
    if chart.is_stacked and not chart.is_empty:
        legend, bottom = _legend(chart, sheet, bottom + 24)
        parts += legend
    return parts, bottom


def _legend(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    parts: list[str] = []
    x, y = float(MARGIN), top
    for position, series in enumerate(chart.series):
        name = fit_name(series.name, 260, BODY)
        amount = written(series.total, chart.unit)
        width = 18 + breadth(name, BODY) + 7 + breadth(amount, BODY)
        if x > MARGIN and x + width > sheet.right:
            x, y = float(MARGIN), y + 22
        colour = chart.colours[position]
        swatch = f'<rect x="{n(x)}" y="{n(y - 10)}" width="11" height="11" rx="2.5"/>'
        parts.append(f'<g class="s{colour}" fill="{LIGHT.colours[colour]}">{swatch}</g>')
        parts.append(text(x + 18, y, name, tip=series.name, after=amount))
        x += width + 26
    return parts, y + 6


def _body(chart: Chart, sheet: Sheet, top: float) -> tuple[list[str], float]:
    if chart.is_empty:
        return [text(sheet.width / 2, top + 84, NOTHING, look="muted", anchor="middle")], top + 150
    draw, gap = _DRAWINGS[chart.kind]
    return draw(chart, sheet, top + gap)


_DRAWINGS: dict[Kind, tuple[Callable[[Chart, Sheet, float], tuple[list[str], float]], int]] = {
    "time": (time_bars, 30),
    "names": (name_bars, 22),
    "areas": (areas, 18),
    "days": (days, 18),
}
"""The function that draws each kind, and its distance below the header."""


def _footer(notes: list[str], sheet: Sheet, bottom: float) -> tuple[list[str], float]:
    parts = []
    for note in notes:
        bottom += 4
        for line in folded(note, sheet.width - 2 * MARGIN, SMALL):
            bottom += 16
            parts.append(text(MARGIN, bottom, line, look="muted", size=SMALL))
    return parts, bottom + 24


NEEDED = "PNG needs one more package: pip install resvg-py"
SCALE = 2
"""Pixels for each unit of the SVG, so that the image is sharp on dense screens and in documents."""
_DRAWN_BY_OURS = re.compile(r"[\n\x20-\x7e\xa0-\u017f\u0370-\u045f\u2010-\u2027\u2212\u2264\u2265]*")
"""The scripts in our font. System fonts are loaded only for others, because that takes time and varies by machine."""


def chart_png(chart: Chart) -> bytes:
    """The light theme, twice the size of the SVG. Raises `BadInput` if resvg is not installed."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise BadInput(f"{NEEDED}; SVG works without it") from error
    svg = chart_svg(chart)
    with resources.as_file(resources.files(__package__).joinpath("fonts")) as fonts:
        return svg_to_bytes(
            svg_string=svg,
            width=WIDTH * SCALE,
            font_dirs=[str(fonts)],
            skip_system_fonts=_DRAWN_BY_OURS.fullmatch(svg) is not None,
            font_family="Inter",
            sans_serif_family="Inter",
        )
