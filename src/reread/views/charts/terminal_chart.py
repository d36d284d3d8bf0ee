"""A chart as lines of terminal text, and a row of small bars for a table.

Eighths of a block make bars finer than the grid of cells. Without colour, stacked series differ by shade instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from reread.views.text import Style, cells, ending, shorten, wrap

from .chart import (
    SHADES,
    AxisMark,
    Chart,
    Number,
    fold_bars,
    fold_names,
    fold_series,
    is_whole,
    marks,
    scale,
    tick,
    written,
)

MOST_NAMES = 60
NOTHING = "nothing to show"

_UP = " ▁▂▃▄▅▆▇█"
_ALONG = " ▏▎▍▌▋▊▉█"
_EIGHTHS = 8
_COLOURS = ("blue", "yellow", "green", "magenta", "cyan", "red", "dim")
_SHADES = "█▓▒░▞▚▫"
_UNKNOWN = "·"
_INTERVALS = 5
_ROWS = 12
_WIDEST_SLOT = 8
_LONGEST_LABEL = 16
_NARROWEST = 10
"""If fewer cells than this would be left for the bars, the axis is dropped."""
_WIDEST_CHART = 120
"""In a wider chart, a bar would be too far from its label."""


class _Brush(Struct, frozen=True):
    """Draws parts of bars in colours, or stacked series in shades if there are no colours."""

    style: Style
    is_stacked: bool
    colours: tuple[int, ...]
    """The index of each series' colour."""

    @property
    def is_shaded(self) -> bool:
        return self.is_stacked and not self.style.colour

    def fill(self, position: int) -> str:
        if self.is_shaded:
            return _SHADES[position]
        hue, shade = divmod(self.colours[position] - len(_COLOURS), SHADES)
        return _SHADES[shade % 4] if hue >= 0 and self.is_stacked else "█"

    def paint(self, text: str, position: int) -> str:
        colour = self.colours[position]
        return self.style.paint(
            text, _COLOURS[colour if colour < len(_COLOURS) else (colour - len(_COLOURS)) // SHADES]
        )

    def edge(self, position: int, eighths: int, blocks: str) -> str:
        """The last cell of a bar, partly filled. A shade cannot fill part of a cell, so it is rounded."""
        if not self.is_shaded:
            return blocks[eighths]
        return self.fill(position) if eighths >= _EIGHTHS // 2 else blocks[1]


def sparkline(values: Sequence[Number | None]) -> str:
    """One character for each value: a blank for None, the lowest bar for 0 and for nothing else."""
    highest = max((float(value) for value in values if value is not None), default=0.0)
    return "".join(_spark(None if value is None else float(value), highest) for value in values)


def _spark(value: float | None, highest: float) -> str:
    if value is None:
        return " "
    return _UP[1] if value == 0 else _UP[2 + min(6, int(value / highest * 7))]


def chart_lines(chart: Chart, width: int, style: Style) -> Iterator[str]:
    """The whole chart, no line wider than `width`."""
    width = max(1, min(width, _WIDEST_CHART))
    chart = fold_series(chart)
    brush = _Brush(style, chart.is_stacked, chart.colours)
    yield from _header(chart, width, style)
    if chart.is_empty:
        yield shorten(NOTHING, width)
    elif chart.kind in ("names", "areas"):
        yield from _names(fold_names(chart, MOST_NAMES), width, brush)
    else:
        yield from _time(chart, width, brush)
    if chart.is_stacked and not chart.is_empty:
        yield ""
        yield from _legend(chart, width, brush)
    if chart.footnote.strip():
        yield ""
        yield from _note(chart.footnote, width, style)


def _header(chart: Chart, width: int, style: Style) -> Iterator[str]:
    total = f"{chart.written_total} total" if chart.has_total else ""
    room = width - cells(total) - 2
    if total and room > 0:
        title = shorten(chart.title, room)
        gap = " " * (width - cells(title) - cells(total))
        yield style.paint(title, "bold") + gap + style.paint(total, "bold")
    else:
        yield style.paint(shorten(chart.title, width), "bold")
    if chart.subtitle.strip():
        yield from _note(chart.subtitle, width, style)
    yield ""


def _note(text: str, width: int, style: Style) -> Iterator[str]:
    return (style.paint(shorten(line, width), "dim") for line in wrap(text, width))


def _legend(chart: Chart, width: int, brush: _Brush) -> Iterator[str]:
    """`■ name $12.30`, as many on a line as fit."""
    line, used = "", 0
    for position, series in enumerate(chart.series):
        swatch = brush.fill(position) if brush.is_shaded else "■"
        total = written(series.total, chart.unit)
        room = width - 3 - cells(total)
        text = f"{shorten(series.name, room)} {total}" if room > 0 else shorten(total, max(0, width - 2))
        entry, size = f"{brush.paint(swatch, position)} {text}".rstrip(), cells(text) + 2
        if line and used + 3 + size > width:
            yield line
            line, used = "", 0
        line, used = (f"{line}   {entry}", used + 3 + size) if line else (entry, size)
    yield from [line] if width > 1 else []


def _names(chart: Chart, width: int, brush: _Brush) -> Iterator[str]:
    values = [written(total, chart.unit) for total in chart.totals]
    end = max(cells(value) for value in values)
    longest = max(cells(_short_name(label, width)) for label in chart.labels)
    beside = min(longest, max(0, (width - end - 4) // 2))
    room = width - beside - end - 2
    for number, (label, value, column) in enumerate(zip(chart.labels, values, chart.columns, strict=True)):
        name = _short_name(label, beside)
        lead = " " * (beside - cells(name)) + name
        if room < 1:
            yield shorten(f"{lead} {value}", width)
            continue
        bar, used = _lying(column, chart.highest, room, brush) if number < len(chart.named) else ("", 0)
        tail = value if used < 1 else f" {value}"
        yield f"{lead} {bar}{tail}"


def _lying(column: Sequence[Number | None], highest: float, room: int, brush: _Brush) -> tuple[str, int]:
    """A horizontal bar, and how many cells it takes."""
    stack = _stack([float(value or 0) / (highest or 1) * room for value in column], room)
    parts = [brush.paint(brush.edge(position, eighths, _ALONG), position) for position, eighths in stack]
    return "".join(parts), len(parts)


def _stack(lengths: Sequence[float], most: int) -> list[tuple[int, int]]:
    """The cells of a bar from its base: the series at the middle of each, and how many eighths of it are filled.

    A bar that is not 0 has at least one eighth.
    """
    whole = sum(lengths)
    eighths = min(most * _EIGHTHS, max(1, round(whole * _EIGHTHS))) if whole > 0 else 0
    made = []
    for cell in range(-(-eighths // _EIGHTHS)):
        filled = min(_EIGHTHS, eighths - cell * _EIGHTHS)
        made.append((_at(lengths, cell + filled / _EIGHTHS / 2), filled))
    return made


def _at(lengths: Sequence[float], point: float) -> int:
    """The series that covers a point of the bar."""
    reached = 0.0
    last = 0
    for position, length in enumerate(lengths):
        if length <= 0:
            continue
        reached, last = reached + length, position
        if point < reached:
            break
    return last


def _short_name(text: str, width: int) -> str:
    """A path or an id, cut in the middle, because its end matters most."""
    line = shorten(text, 10**6)
    if cells(line) <= width:
        return line
    end = ending(line, (width - 1) * 2 // 3)
    return shorten(line, width - cells(end)) + end if width > 0 else ""


class _Axis(Struct, frozen=True):
    """The vertical axis: its texts from 0 upwards, and how many rows are between two."""

    texts: tuple[str, ...]
    top: float
    apart: int

    @property
    def rows(self) -> int:
        return self.apart * (len(self.texts) - 1)

    @property
    def beside(self) -> int:
        return max(cells(text) for text in self.texts)

    def text(self, row: int) -> str:
        """The text next to a row: the value at the row's upper edge, or nothing."""
        return "" if row % self.apart else self.texts[row // self.apart]


def _axis(chart: Chart) -> _Axis:
    made = scale(chart.highest, _INTERVALS, whole=is_whole(chart.unit))
    texts = tuple(tick(value, made.step, chart.unit) for value in made.ticks)
    if not chart.highest:
        return _Axis((texts[0], ""), made.top, 1)
    return _Axis(texts, made.top, max(1, _ROWS // (len(texts) - 1)))


def _fitted(chart: Chart, width: int) -> tuple[Chart, int, _Axis, int]:
    """The chart with no more bars than there are cells, how many labels each stands for, its axis, and the axis' width.

    Bars that are added up are higher, so their axis may be wider and leave room for fewer bars.
    """
    left = 0
    while True:
        folded, each = fold_bars(chart, width - left)
        axis = _axis(folded)
        wanted = axis.beside + 2 if width >= axis.beside + _NARROWEST else 0
        if wanted <= left:
            return folded, each, axis, left
        left = wanted


def _time(chart: Chart, width: int, brush: _Brush) -> Iterator[str]:
    chart, each, axis, left = _fitted(chart, width)
    slot = min(_WIDEST_SLOT, (width - left) // len(chart.labels))
    bar = slot - 1 if slot > 1 else 1
    columns = _standing(chart, axis, bar, brush)
    for row in range(axis.rows, 0, -1):
        text = axis.text(row)
        lead = f"{text.rjust(left - 2)} {'┤' if text else '│'}" if left else ""
        line = (" " * (slot - bar)).join(column[row - 1] for column in columns)
        yield brush.style.paint(lead, "dim") + line.rstrip()
    foot = f"{axis.texts[0].rjust(left - 2)} └" if left else ""
    yield brush.style.paint(foot + "─" * (slot * len(columns)), "dim")
    yield from _under(chart, slot, bar, width, left, brush.style)
    if each > 1:
        yield brush.style.paint(shorten(f"each column adds up {each}", width), "dim")


def _standing(chart: Chart, axis: _Axis, bar: int, brush: _Brush) -> list[list[str]]:
    """The cells of each label's column, from the base upwards."""
    made = []
    for column, total in zip(chart.columns, chart.totals, strict=True):
        stack = _stack([float(value or 0) / axis.top * axis.rows for value in column], axis.rows)
        drawn = [brush.paint(brush.edge(position, eighths, _UP) * bar, position) for position, eighths in stack]
        if total is None:
            drawn.append(brush.style.paint(_UNKNOWN.center(bar), "dim"))
        made.append(drawn + [" " * bar] * (axis.rows - len(drawn)))
    return made


def _under(chart: Chart, slot: int, bar: int, width: int, left: int, style: Style) -> Iterator[str]:
    """The labels of the axis, each centred under its bar as far as the edges allow, and the years below."""
    labels = [shorten(label, min(width, max(slot, _LONGEST_LABEL))) for label in chart.labels]
    chosen = marks(labels, slot, cells, gap=2)
    for line in (_placed(chosen, slot, bar, width, left, "text"), _placed(chosen, slot, bar, width, left, "year")):
        if line:
            yield style.paint(line, "dim")


def _placed(chosen: list[AxisMark], slot: int, bar: int, width: int, left: int, field: str) -> str:
    line = ""
    for mark in chosen:
        text = getattr(mark, field)
        start = left + mark.position * slot + (bar - cells(text)) // 2
        start = max(0, min(start, width - cells(text)))
        is_free = start >= cells(line) + (1 if line else 0)
        if text and is_free and start + cells(text) <= width:
            line += " " * (start - cells(line)) + text
    return line
