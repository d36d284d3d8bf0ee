"""A chart as one self-contained SVG: no scripts, no outside fonts, light and dark by what the reader prefers.

It can stand alone, in an `<img>` or inside a page: every style is scoped to its own class, and no ids can collide.
Colours are attributes first, so a page whose policy forbids inline styles still shows the light theme.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from .chart import Chart, Kind
from .folding import fold_bars, fold_names, fold_series
from .lettering import breadth, fit, fit_name, plain
from .palette import DARK, LIGHT, Theme, colour_of
from .shapes import BODY, MARGIN, SMALL, TITLE, Sheet, e, n, text
from .svg_areas import areas
from .svg_bars import name_bars, time_bars
from .svg_days import days
from .units import written

WIDTH = 960
MOST_BARS = 600
MOST_NAMES = 300
MOST_AREAS = 40
FONTS = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
NOTHING = "nothing to show"


def chart_svg(chart: Chart, sheet: Sheet | None = None) -> str:
    """The whole drawing; the same chart gives the same text. A sheet says how large, and where its labels lead."""
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
    """No more labels than can be told apart, and how many of them each bar stands for."""
    most = {"names": MOST_NAMES, "areas": MOST_AREAS}
    return (fold_names(chart, most[chart.kind]), 1) if chart.kind in most else fold_bars(chart, MOST_BARS)


def _opening(chart: Chart, sheet: Sheet, height: float) -> str:
    crop = sheet.crop
    view = f"{n(crop)} {n(crop)} {n(sheet.width - 2 * crop)} {n(height - 2 * crop)}"
    # What is one picture to a screen reader hides the links in it.
    role = "group" if any(sheet.links) else "img"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="reread-chart" viewBox="{view}" '
        f'role="{role}" aria-label="{e(description(chart))}" font-family="{e(FONTS)}" font-size="{BODY}">'
    )


def description(chart: Chart) -> str:
    """What the chart shows, for those who cannot see it."""
    facts = [chart.title, chart.subtitle]
    if chart.is_empty:
        facts.append(NOTHING)
    else:
        highest = max(range(len(chart.named)), key=lambda position: chart.named[position] or 0)
        facts.append(_what(chart))
        facts.append(f"Highest {written(chart.highest, chart.unit)} ({chart.labels[highest]})")
        facts += [f"Total {written(chart.total, chart.unit)}"] if chart.adds_up else []
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
    """The style sheet inside every chart: a page with a policy allows it by its digest."""
    rules = [
        ".reread-chart{font-variant-numeric:tabular-nums}",
        ".reread-chart .hit rect:hover,.reread-chart .hit a:focus rect{fill-opacity:.1}",
        ".reread-chart a:focus{outline:none}.reread-chart a:focus-visible rect{stroke:#1a66d6;stroke-width:2}",
        f"@media (prefers-color-scheme:dark){{{''.join(_rules(DARK))}}}",
    ]
    return "".join(rules)


def _rules(theme: Theme) -> Iterator[str]:
    fills = {"paper": theme.paper, "ink": theme.ink, "muted": theme.muted, "hit": theme.ink, "blank": theme.grid}
    fills |= {f"s{number}": colour for number, colour in enumerate(theme.series)}
    yield from (f".reread-chart .{name}{{fill:{colour}}}" for name, colour in fills.items())
    strokes = {"grid": theme.grid, "axis": theme.axis, "halo": theme.paper}
    yield from (f".reread-chart .{name}{{stroke:{colour}}}" for name, colour in strokes.items())


def _header(chart: Chart, sheet: Sheet) -> tuple[list[str], float]:
    """Title and total, what stands under them, and the legend; and where they end."""
    total = written(chart.total, chart.unit) if chart.has_total else ""
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
        colour = colour_of(position)
        swatch = f'<rect x="{n(x)}" y="{n(y - 10)}" width="11" height="11" rx="2.5"/>'
        parts.append(f'<g class="s{colour}" fill="{LIGHT.series[colour]}">{swatch}</g>')
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
"""What draws each kind, and how far below the header."""


def _footer(notes: list[str], sheet: Sheet, bottom: float) -> tuple[list[str], float]:
    parts = []
    for note in notes:
        bottom += 20
        parts.append(text(MARGIN, bottom, fit(note, sheet.width - 2 * MARGIN, SMALL), look="muted", size=SMALL))
    return parts, bottom + 24
