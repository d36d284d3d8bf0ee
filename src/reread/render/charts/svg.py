"""A chart as one self-contained SVG: no scripts, no outside fonts, light and dark by what the reader prefers.

It can stand alone, in an `<img>` or inside a page: every style is scoped to its own class, and no ids can collide.
Colours are attributes first, so a page whose policy forbids inline styles still shows the light theme.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from html import escape

from msgspec import Struct

from .calendar import marks
from .chart import Chart
from .folding import fold_bars, fold_names, fold_series
from .lettering import breadth, fit, fit_name, plain
from .palette import DARK, LIGHT, Theme, colour_of
from .scale import Scale, scale
from .units import is_whole, tick, written

WIDTH = 960
MARGIN = 32
MOST_BARS = 600
MOST_NAMES = 300
FONTS = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
NOTHING = "nothing to show"

_TITLE, _BODY, _SMALL = 19, 13, 12
_PLOT_HEIGHT = 264
_FLAT_HEIGHT = 72
"""Where every value is 0."""
_INTERVALS = 6
_WIDEST_BAR = 56
_LONGEST_NAME = 300
_CROWDED = 30
"""More rows of names than this are set closer."""


class _Box(Struct, frozen=True):
    """Where bars may be drawn."""

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


def chart_svg(chart: Chart) -> str:
    """The whole drawing; the same chart gives the same text."""
    drawn = fold_series(chart)
    drawn, each = (fold_names(drawn, MOST_NAMES), 1) if chart.kind == "names" else fold_bars(drawn, MOST_BARS)
    header, top = _header(drawn)
    body, bottom = _body(drawn, top)
    notes = [chart.footnote, f"each bar adds up {each}" if each > 1 else ""]
    footer, height = _footer([note for note in notes if note], bottom)
    parts = [
        _opening(chart, height),
        f"<style>{chart_style()}</style>",
        _rectangle("paper", LIGHT.paper, height),
        *header,
        *body,
        *footer,
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _opening(chart: Chart, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="reread-chart" viewBox="0 0 {WIDTH} {_n(height)}" '
        f'role="img" aria-label="{_e(description(chart))}" font-family="{_e(FONTS)}" font-size="{_BODY}">'
    )


def description(chart: Chart) -> str:
    """What the chart shows, for those who cannot see it."""
    facts = [chart.title, chart.subtitle]
    if chart.is_empty:
        facts.append(NOTHING)
    else:
        bars = f"{len(chart.labels)} bars" if len(chart.labels) > 1 else "1 bar"
        span = (
            f" from {chart.labels[0]} to {chart.labels[-1]}" if chart.kind == "time" and len(chart.labels) > 1 else ""
        )
        highest = max(range(len(chart.labels)), key=lambda position: chart.totals[position] or 0)
        facts.append(f"{'Stacked bar' if chart.is_stacked else 'Bar'} chart, {bars}{span}")
        facts.append(f"Highest {written(chart.highest, chart.unit)} ({chart.labels[highest]})")
        facts += [f"Total {written(chart.total, chart.unit)}"] if chart.adds_up else []
        facts += [f"{each.name} {written(each.total, chart.unit)}" for each in chart.series if chart.is_stacked]
    return ". ".join(plain(fact) for fact in (*facts, chart.footnote) if fact.strip())


def chart_style() -> str:
    """The style sheet inside every chart: a page with a policy allows it by its digest."""
    rules = [
        ".reread-chart{font-variant-numeric:tabular-nums}",
        ".reread-chart .hit rect:hover{fill-opacity:.08}",
        f"@media (prefers-color-scheme:dark){{{''.join(_rules(DARK))}}}",
    ]
    return "".join(rules)


def _rules(theme: Theme) -> Iterator[str]:
    fills = {"paper": theme.paper, "ink": theme.ink, "muted": theme.muted, "hit": theme.ink}
    fills |= {f"s{number}": colour for number, colour in enumerate(theme.series)}
    yield from (f".reread-chart .{name}{{fill:{colour}}}" for name, colour in fills.items())
    strokes = {"grid": theme.grid, "axis": theme.axis, "halo": theme.paper}
    yield from (f".reread-chart .{name}{{stroke:{colour}}}" for name, colour in strokes.items())


def _rectangle(name: str, colour: str, height: float) -> str:
    return f'<rect class="{name}" fill="{colour}" width="{WIDTH}" height="{_n(height)}"/>'


def _header(chart: Chart) -> tuple[list[str], float]:
    """Title and total, what stands under them, and the legend; and where they end."""
    total = written(chart.total, chart.unit) if chart.has_total else ""
    room = WIDTH - 2 * MARGIN - breadth(total, _TITLE, bold=True) - 24
    right = WIDTH - MARGIN
    parts = [_text(MARGIN, 42, fit(chart.title, room, _TITLE, bold=True), size=_TITLE, bold=True)]
    bottom = 48.0
    if total:
        parts.append(_text(right, 42, total, size=_TITLE, bold=True, anchor="end"))
        parts.append(_text(right, 63, "total", look="muted", anchor="end"))
    if chart.subtitle:
        parts.append(_text(MARGIN, 63, fit(chart.subtitle, room, _BODY), look="muted"))
    if total or chart.subtitle:
        bottom = 70.0
    if chart.is_stacked and not chart.is_empty:
        legend, bottom = _legend(chart, bottom + 24)
        parts += legend
    return parts, bottom


def _legend(chart: Chart, top: float) -> tuple[list[str], float]:
    parts: list[str] = []
    x, y = float(MARGIN), top
    for position, series in enumerate(chart.series):
        name = fit_name(series.name, 260, _BODY)
        amount = written(series.total, chart.unit)
        width = 18 + breadth(name, _BODY) + 7 + breadth(amount, _BODY)
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = float(MARGIN), y + 22
        colour = colour_of(position)
        swatch = f'<rect x="{_n(x)}" y="{_n(y - 10)}" width="11" height="11" rx="2.5"/>'
        parts.append(f'<g class="s{colour}" fill="{LIGHT.series[colour]}">{swatch}</g>')
        parts.append(_text(x + 18, y, name, tip=series.name, after=amount))
        x += width + 26
    return parts, y + 6


def _body(chart: Chart, top: float) -> tuple[list[str], float]:
    if chart.is_empty:
        bottom = top + 150
        return [_text(WIDTH / 2, top + 84, NOTHING, look="muted", anchor="middle")], bottom
    return _names(chart, top + 22) if chart.kind == "names" else _time(chart, top + 30)


def _footer(notes: list[str], bottom: float) -> tuple[list[str], float]:
    parts = []
    for note in notes:
        bottom += 20
        parts.append(_text(MARGIN, bottom, fit(note, WIDTH - 2 * MARGIN, _SMALL), look="muted", size=_SMALL))
    return parts, bottom + 24


def _time(chart: Chart, top: float) -> tuple[list[str], float]:
    """Bars that stand on a time axis, a grid of round numbers behind them."""
    made = scale(chart.highest, _INTERVALS, whole=is_whole(chart.unit))
    ticks = {value: tick(value, made.step, chart.unit) for value in made.ticks}
    if chart.highest == 0:
        ticks = {value: text for value, text in ticks.items() if not value}
    left = MARGIN + max(breadth(text, _SMALL) for text in ticks.values()) + 10
    box = _Box(left, top, WIDTH - MARGIN, top + (_PLOT_HEIGHT if chart.highest else _FLAT_HEIGHT))
    slot = box.width / len(chart.labels)
    bar = min(_WIDEST_BAR, slot * (0.72 if slot >= 6 else 0.85 if slot >= 3 else 1))
    parts = [
        *_grid(ticks, made, box),
        *_hits(chart, [(box.left + slot * n, box.top, slot, box.height) for n in range(len(chart.labels))]),
        *_columns(chart, made, box, slot, bar),
        *_on_top(chart, made, box, slot),
        _line("axis", LIGHT.axis, box.left, box.bottom, box.right, box.bottom),
    ]
    labels, bottom = _time_labels(chart, box, slot)
    return parts + labels, bottom


def _grid(ticks: dict[Decimal, str], made: Scale, box: _Box) -> Iterator[str]:
    for value, text in ticks.items():
        y = box.bottom - box.height * float(value) / made.top
        if y < box.bottom:
            yield _line("grid", LIGHT.grid, box.left, y, box.right, y)
        yield _text(box.left - 10, y + 4, text, look="muted", size=_SMALL, anchor="end")


def _columns(chart: Chart, made: Scale, box: _Box, slot: float, bar: float) -> Iterator[str]:
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
            rects.append(_bar(x, y, bar, height, _tip(chart, number, position)))
        yield from _colour(position, rects)


def _on_top(chart: Chart, made: Scale, box: _Box, slot: float) -> Iterator[str]:
    """The value over each bar where all of them have the room; a dot where a value is not known."""
    texts = [written(total, chart.unit) if total is not None else "" for total in chart.totals]
    has_room = max(breadth(text, _SMALL) for text in texts) + 6 <= slot
    for number, total in enumerate(chart.totals):
        middle = box.left + slot * (number + 0.5)
        if total is None:
            place = f'cx="{_n(middle)}" cy="{_n(box.bottom - 7)}" r="{_n(min(2.5, slot / 3))}"'
            yield f'<circle class="muted" fill="{LIGHT.muted}" {place}/>'
        elif has_room:
            y = box.bottom - box.height * total / made.top - 7
            yield _text(middle, y, texts[number], size=_SMALL, anchor="middle", halo=True)


def _time_labels(chart: Chart, box: _Box, slot: float) -> tuple[list[str], float]:
    longest = max(slot - 8, 130)
    labels = [fit(label, longest, _SMALL) for label in chart.labels]
    chosen = marks(labels, slot, lambda text: breadth(text, _SMALL), gap=14)
    parts = []
    for mark in chosen:
        middle = box.left + slot * (mark.position + 0.5)
        if slot < 20:
            parts.append(_line("axis", LIGHT.axis, middle, box.bottom, middle, box.bottom + 5))
        parts.append(_text(middle, box.bottom + 21, mark.text, look="muted", size=_SMALL, anchor="middle"))
        if mark.year:
            parts.append(_text(middle, box.bottom + 38, mark.year, size=_SMALL, anchor="middle"))
    return parts, box.bottom + (42 if any(mark.year for mark in chosen) else 24)


def _names(chart: Chart, top: float) -> tuple[list[str], float]:
    """Bars that lie beside their names, the value at the end of each."""
    row, bar = (30, 18) if len(chart.labels) <= _CROWDED else (21, 13)
    labels = [fit_name(label, _LONGEST_NAME, _BODY) for label in chart.labels]
    values = [written(total, chart.unit) for total in chart.totals]
    left = MARGIN + max(breadth(label, _BODY) for label in labels) + 14
    right = WIDTH - MARGIN - max(breadth(value, _BODY) for value in values) - 8
    box = _Box(left, top, right, top + row * len(labels))
    parts = [
        *_hits(chart, [(MARGIN - 8, box.top + row * n, WIDTH - 2 * MARGIN + 16, row) for n in range(len(labels))]),
        *_rows(chart, box, row, bar),
    ]
    for number, (label, value, total) in enumerate(zip(labels, values, chart.totals, strict=True)):
        y = box.top + row * (number + 0.5) + 4.5
        end = box.left + box.width * (total or 0) / (chart.highest or 1)
        parts.append(_text(left - 14, y, label, anchor="end", tip=chart.labels[number]))
        parts.append(_text(end + 8, y, value, look="muted" if not total else "ink"))
    parts.append(_line("axis", LIGHT.axis, box.left, box.top, box.left, box.bottom))
    return parts, box.bottom + 8


def _rows(chart: Chart, box: _Box, row: float, bar: float) -> Iterator[str]:
    before = [0.0] * len(chart.labels)
    for position, series in enumerate(chart.series):
        rects = []
        for number, value in enumerate(series.values):
            if not value:
                continue
            width = box.width * float(value) / chart.highest
            y = box.top + row * number + (row - bar) / 2
            rects.append(_bar(box.left + before[number], y, width, bar, _tip(chart, number, position)))
            before[number] += width
        yield from _colour(position, rects)


def _hits(chart: Chart, places: Iterable[tuple[float, float, float, float]]) -> Iterator[str]:
    """Invisible bars of full size, so that small values can be pointed at too."""
    yield f'<g class="hit" fill="{LIGHT.ink}" fill-opacity="0">'
    for number, place in enumerate(places):
        yield _bar(*place, f"{chart.labels[number]}: {written(chart.totals[number], chart.unit)}")
    yield "</g>"


def _tip(chart: Chart, number: int, position: int) -> str:
    series = chart.series[position]
    value = series.values[number]
    text = written(None if value is None else float(value), chart.unit)
    if not chart.is_stacked:
        return f"{chart.labels[number]}: {text}"
    return f"{chart.labels[number]} · {series.name}: {text} of {written(chart.totals[number], chart.unit)}"


def _colour(position: int, rects: list[str]) -> Iterator[str]:
    if rects:
        colour = colour_of(position)
        yield f'<g class="s{colour}" fill="{LIGHT.series[colour]}">'
        yield from rects
        yield "</g>"


def _bar(x: float, y: float, width: float, height: float, tip: str) -> str:
    place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"'
    return f"<rect {place}><title>{_e(plain(tip))}</title></rect>"


def _line(name: str, colour: str, x1: float, y1: float, x2: float, y2: float) -> str:
    place = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line class="{name}" stroke="{colour}" {place}/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    look: str = "ink",
    size: int = _BODY,
    bold: bool = False,
    anchor: str = "",
    tip: str = "",
    after: str = "",
    halo: bool = False,
) -> str:
    """A line of text; `after` follows it more quietly, wherever the reader's font makes it end.

    A halo of paper keeps the lines behind it from crossing the letters.
    """
    more = f' font-size="{size}"' if size != _BODY else ""
    more += ' font-weight="600"' if bold else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    more += f' stroke="{LIGHT.paper}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    title = f"<title>{_e(plain(tip))}</title>" if tip else ""
    inner = f'{_e(text)}<tspan class="muted" fill="{LIGHT.muted}" dx="7">{_e(after)}</tspan>' if after else _e(text)
    names = f"{look} halo" if halo else look
    return f'<text class="{names}" fill="{getattr(LIGHT, look)}" x="{_n(x)}" y="{_n(y)}"{more}>{title}{inner}</text>'


def _n(number: float) -> str:
    """Hundredths of a pixel are enough, and keep the text short."""
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _e(text: str) -> str:
    return escape(text, quote=True)
