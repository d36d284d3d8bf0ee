"""What a chart shows: series, labels, units, axes, colours, and what is added up if there is too much to show."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from decimal import ROUND_CEILING, Decimal
from functools import cached_property
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.views.numbers import money, tokens
from reread.views.text import after_split, before_split, one_line

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))


class Scale(Struct, frozen=True):
    """The ticks of an axis, from 0 to the first tick that no bar exceeds."""

    step: Decimal
    ticks: tuple[Decimal, ...]

    @property
    def top(self) -> float:
        return float(self.ticks[-1])


def scale(highest: float, intervals: int, *, whole: bool) -> Scale:
    """A scale with at most `intervals` intervals; with `whole`, ticks are whole numbers only."""
    if highest <= 0:
        return Scale(Decimal(1), (Decimal(0), Decimal(1)))
    most = Decimal(highest)
    step = _step(most / intervals, whole)
    count = int((most / step).to_integral_value(ROUND_CEILING))
    return Scale(step, tuple(step * number for number in range(count + 1)))


def _step(least: Decimal, whole: bool) -> Decimal:
    """The smallest round number that is at least `least`."""
    if whole and least <= 1:
        return Decimal(1)
    power = Decimal(1).scaleb(least.adjusted())
    candidates = (base * power for base in _STEPS)
    return next(step for step in candidates if step >= least and not (whole and step % 1))


Unit = Literal["dollars", "tokens", "plain"]
UNKNOWN = "–"

_COMPACT = ((Decimal(10**9), "B"), (Decimal(10**6), "M"), (Decimal(10**3), "k"))
_LONG_DOLLARS = 10_000


def written(value: float | None, unit: Unit) -> str:
    """A value as it is written next to its bar: `$12.30`, `3.1M`, `1,204`."""
    return UNKNOWN if value is None else _VALUES[unit](value)


def exact(value: float | None, unit: Unit) -> str:
    """A value with all its digits, for tooltips: `$12.3041`, `3,104,221`."""
    if value is None:
        return UNKNOWN
    return f"${value:,.4f}" if unit == "dollars" else _plain(value)


def tick(value: Decimal, step: Decimal, unit: Unit) -> str:
    """A value on an axis with a tick at every `step`: `$10`, `$0.25`, `1.5M`."""
    return _TICKS[unit](value, step)


def is_whole(unit: Unit) -> bool:
    """Whether values are whole numbers, so that an axis must not show fractions."""
    return unit != "dollars"


def _dollars(value: float) -> str:
    return money(Decimal(value), is_partial=False) if value else "$0"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _dollar_tick(value: Decimal, step: Decimal) -> str:
    if not value:
        return "$0"
    if value >= _LONG_DOLLARS:
        return f"${_compact(value)}"
    return f"${value:,.{_digits(step)}f}"


def _plain_tick(value: Decimal, _step: Decimal) -> str:
    return _compact(value)


def _digits(step: Decimal) -> int:
    """The decimals needed to tell ticks apart; never one alone, because cents have two."""
    exponent = step.normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 0
    return 2 if digits == 1 else digits


def _compact(value: Decimal) -> str:
    for limit, letter in _COMPACT:
        if value >= limit:
            return f"{(value / limit).normalize():f}{letter}"
    return f"{value.normalize():f}"


_VALUES: dict[Unit, Callable[[float], str]] = {
    "dollars": _dollars,
    "tokens": lambda value: tokens(round(value)),
    "plain": _plain,
}
_TICKS: dict[Unit, Callable[[Decimal, Decimal], str]] = {
    "dollars": _dollar_tick,
    "tokens": _plain_tick,
    "plain": _plain_tick,
}


_ASCII = (
    *(28, 28, 40, 63, 64, 81, 64, 22, 36, 36, 50, 66, 28, 46, 28, 36),  # space to /
    *(65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 28, 28, 66, 66, 66, 51),  # 0 to ?
    *(94, 68, 65, 73, 72, 60, 59, 74, 74, 26, 54, 65, 56, 89, 75, 76),  # @ to O
    *(63, 76, 64, 64, 64, 74, 68, 95, 64, 66, 62, 36, 36, 36, 47, 45),  # P to _
    *(50, 56, 62, 56, 62, 58, 36, 61, 59, 24, 24, 54, 24, 87, 59, 60),  # ` to o
    *(61, 61, 37, 52, 36, 58, 56, 81, 54, 56, 54, 36, 33, 36, 66),  # p to ~
)
"""The widths of the printable ASCII characters, in hundredths of the font size."""
_OTHER = 0.75
_NARROWEST = 0.22
_BOLD = 1.05
_ELLIPSIS = "…"
_NOT_XML = lazy.pattern("[\ud800-\udfff\ufffe\uffff]")
"""Characters that an XML document must not contain, in addition to control characters."""


def plain(text: str) -> str:
    """A text on one line that any document may contain."""
    return _NOT_XML.sub("\ufffd", one_line(text))


def breadth(text: str, size: float, *, bold: bool = False) -> float:
    """The approximate width of a text."""
    return sum(map(_width, text)) * size * (_BOLD if bold else 1)


def _width(character: str) -> float:
    if " " <= character <= "~":
        return _ASCII[ord(character) - 32] / 100
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 1 if unicodedata.east_asian_width(character) in "WF" else _OTHER


def fit(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """The text, cut at its end if it does not fit."""
    return _cut(plain(text), room, size, bold, tail=0)


def fit_name(text: str, room: float, size: float) -> str:
    """The same for a path or an id. Its end matters most: of a path the first folders go, then the middle is cut."""
    folders = plain(text).split("/")
    shorter = (f"…/{'/'.join(folders[at:])}" for at in range(1, len(folders)))
    whole = next((each for each in (plain(text), *shorter) if breadth(each, size) <= room), None)
    return whole or _cut(folders[-1], room, size, False, tail=2 / 3)


def folded(text: str, room: float, size: float) -> Iterator[str]:
    """The text over as many lines as it takes, broken at spaces; a word that is too long is cut."""
    line = ""
    for word in plain(text).split():
        longer = f"{line} {word}" if line else word
        if line and breadth(longer, size) > room:
            yield fit(line, room, size)
            longer = word
        line = longer
    yield fit(line, room, size)


def _cut(text: str, room: float, size: float, bold: bool, tail: float) -> str:
    most = int(room / (size * _NARROWEST)) + 1
    if len(text) <= most and breadth(text, size, bold=bold) <= room:
        return text
    low, high = 0, min(most, len(text))  # how many characters are kept
    while low < high:
        kept = (low + high + 1) // 2
        if breadth(_without_middle(text, kept, tail), size, bold=bold) <= room:
            low = kept
        else:
            high = kept - 1
    return _without_middle(text, low, tail) if low or breadth(_ELLIPSIS, size) <= room else ""


def _without_middle(text: str, kept: int, tail: float) -> str:
    last = round(kept * tail)
    start, end = before_split(text, kept - last), after_split(text, len(text) - last)
    return text[:start].rstrip() + _ELLIPSIS + text[end:].lstrip()


Number = int | float | Decimal
Kind = Literal["time", "names", "areas", "days"]
"""Bars over time; bars next to names; a treemap, with a field for each name as large as its value; calendar squares."""


class Series(Struct, frozen=True):
    """One series of values, drawn in one colour."""

    name: str
    values: tuple[Number | None, ...]
    """One value for each label of the chart. None is unknown, which differs from 0."""
    colour: int | None = None
    """Its colour in every chart. None takes one of the first that no other series has."""

    @property
    def total(self) -> float | None:
        return added(self.values)


class Chart(Struct, frozen=True, kw_only=True, dict=True):
    """Bars with labels; several series are stacked in the order given."""

    title: str
    labels: tuple[str, ...]
    """In drawing order. Days and months in ISO 8601 get an axis with the marks of a calendar."""
    series: tuple[Series, ...]
    kind: Kind = "time"
    """`time` runs from left to right, `names` from top to bottom. The labels of `days` are consecutive ISO 8601 days.
    A terminal draws `areas` as `names`, and `days` as `time`."""
    unit: Unit = "plain"
    is_partial: bool = False
    """Whether the total is a lower bound."""
    adds_up: bool = True
    """Whether the sum of all bars is meaningful; a sum of rates is not."""
    has_rest: bool = False
    """Whether the last name is the sum of all that have no name of their own. It is written but has no bar: the sum of
    hundreds would make the other bars too short to compare."""
    subtitle: str = ""
    footnote: str = ""
    limit: float | None = None
    """The value that a bar should not exceed, drawn as a line across the bars of a `time` chart."""

    def __post_init__(self) -> None:
        for series in self.series:
            if len(series.values) != len(self.labels):
                raise ValueError(f"{series.name!r} has {len(series.values)} values for {len(self.labels)} labels")
            for value in series.values:
                if value is not None and not (math.isfinite(value) and value >= 0):
                    raise ValueError(f"{series.name!r} has {value}, which no bar can show")

    @cached_property
    def totals(self) -> tuple[float | None, ...]:
        """The height of each bar; None if no series has a value for it."""
        return tuple(added(column) for column in self.columns)

    @cached_property
    def columns(self) -> tuple[tuple[Number | None, ...], ...]:
        """The values of all series, for each label."""
        return tuple(tuple(series.values[position] for series in self.series) for position in range(len(self.labels)))

    @cached_property
    def total(self) -> float | None:
        return added(self.totals)

    @property
    def written_total(self) -> str:
        return f"{'≥' if self.is_partial else ''}{written(self.total, self.unit)}"

    @cached_property
    def highest(self) -> float:
        return max((total for total in self.named if total is not None), default=0.0)

    @property
    def named(self) -> tuple[float | None, ...]:
        """The totals, without that of the rest."""
        return self.totals[:-1] if self.has_rest else self.totals

    @property
    def is_empty(self) -> bool:
        """Whether there is no value to show; 0 counts as a value."""
        return self.total is None

    @property
    def has_total(self) -> bool:
        """Whether there is a meaningful total to show."""
        return self.adds_up and not self.is_empty and len(self.labels) > 1

    @property
    def is_stacked(self) -> bool:
        return len(self.series) > 1

    @cached_property
    def colours(self) -> tuple[int, ...]:
        """The index of each series' colour in a theme: its own, else the next free one."""
        taken = {series.colour for series in self.series}
        free = iter([number for number in range(MOST_SERIES) if number not in taken])
        return tuple(next(free, MOST_SERIES) if series.colour is None else series.colour for series in self.series)

    @cached_property
    def reach(self) -> float:
        """The value the axis must reach: the highest bar, or the limit if that does not make the bars too small."""
        is_near = self.limit is not None and 0 < self.limit <= self.highest * FARTHEST_LIMIT
        return max(self.highest, self.limit or 0.0) if is_near else self.highest


def added(values: Iterable[Number | None]) -> float | None:
    """The sum of the known values; None if there are none."""
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) if known else None


MOST_SERIES = 6
"""How many colours everyone can tell apart; all further series share a grey."""
SHADES = 8
"""Shades of each hue; those of versions that follow each other are far apart."""
FARTHEST_LIMIT = 3
"""A limit beyond this many times the highest bar is not drawn."""
SPAN = " – "


def shade_of(hue: int, shade: int) -> int:
    """The index of a shade in a theme's colours."""
    return MOST_SERIES + 1 + hue * SHADES + shade % SHADES


def fold_series(chart: Chart) -> Chart:
    """Keeps the largest series in their order, and adds up the others as the last one."""
    if len(chart.series) <= MOST_SERIES:
        return chart
    by_size = sorted(range(len(chart.series)), key=lambda index: -(chart.series[index].total or 0))
    kept = set(by_size[:MOST_SERIES])
    others = [series for index, series in enumerate(chart.series) if index not in kept]
    columns = zip(*(series.values for series in others), strict=True)
    rest = Series(f"{len(others)} others", tuple(added(column) for column in columns), MOST_SERIES)
    return replace(chart, series=(*(chart.series[index] for index in sorted(kept)), rest))


def fold_bars(chart: Chart, most: int) -> tuple[Chart, int]:
    """Adds up neighbouring bars until at most `most` are left; also returns how many bars each one stands for."""
    each = -(-len(chart.labels) // most)
    if each <= 1:
        return chart, 1
    starts = range(0, len(chart.labels), each)
    labels = tuple(_span(chart.labels[start : start + each]) for start in starts)
    series = tuple(
        replace(old, values=tuple(added(old.values[start : start + each]) for start in starts)) for old in chart.series
    )
    return replace(chart, labels=labels, series=series, limit=None), each  # a limit is for one label


def _span(labels: tuple[str, ...]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]}{SPAN}{labels[-1]}"


def fold_names(chart: Chart, most: int) -> Chart:
    """Keeps the first names, and adds up the others as the last one."""
    if len(chart.labels) <= most:
        return chart
    kept = most - 1
    labels = (*chart.labels[:kept], f"{len(chart.labels) - kept:,} others")
    series = tuple(replace(old, values=(*old.values[:kept], added(old.values[kept:]))) for old in chart.series)
    return replace(chart, labels=labels, series=series, has_rest=True)


class Theme(Struct, frozen=True):
    """The colours of a drawing."""

    paper: str
    ink: str
    muted: str
    grid: str
    axis: str
    limit: str
    series: tuple[str, ...]
    """The last one is for the sum of the other series, and for what has no colour of its own."""
    models: tuple[str, ...]
    """`SHADES` of each hue, for `shade_of`."""

    @property
    def colours(self) -> tuple[str, ...]:
        return self.series + self.models


LIGHT = Theme(
    paper="#ffffff",
    ink="#1b1f24",
    muted="#5f6670",
    grid="#e8eaed",
    axis="#aeb4bc",
    limit="#b3261e",
    series=("#2d4fc0", "#ef6b3a", "#08a87a", "#762a4d", "#1279b1", "#885b23", "#6b7079"),
    models=(
        *("#37198a", "#6050c1", "#4a36a5", "#776ade", "#001d7e", "#1f52b7", "#04389c", "#376cd4"),  # opus
        *("#710000", "#b33022", "#960901", "#d04c3c", "#4e1d00", "#8f4000", "#6e2e00", "#b25302"),  # sonnet
        *("#00433a", "#0b7768", "#075c50", "#109281", "#003821", "#036c45", "#005132", "#008858"),  # haiku
        *("#5f0065", "#943a9a", "#791e80", "#af54b5", "#57003d", "#972270", "#790057", "#b33f88"),  # fable
        *("#383d00", "#656d02", "#4d5400", "#7d8700", "#362e00", "#675b06", "#4e4400", "#827300"),  # mythos
    ),
)
DARK = Theme(
    paper="#15171c",
    ink="#e9ebee",
    muted="#9aa1ab",
    grid="#292d34",
    axis="#565c66",
    limit="#ff8a80",
    series=("#3470e0", "#ea8a24", "#64f0c4", "#93597f", "#22b5fa", "#c5441c", "#949aa2"),
    models=(
        *("#c7c7fd", "#8479ee", "#a49ffe", "#6758ca", "#cedffd", "#6399fe", "#99bdfd", "#4177e0"),  # opus
        *("#fdbaae", "#e05b4a", "#ff8270", "#bc392a", "#fdd4be", "#ec7623", "#ffa26d", "#c25a01"),  # sonnet
        *("#20ecd1", "#08a28f", "#00c7af", "#0b7f70", "#66ffb8", "#0ab87a", "#2ddd96", "#0e9461"),  # haiku
        *("#faaefe", "#be62c4", "#e183e6", "#9c42a2", "#ffcde8", "#e36bb4", "#fe94d2", "#bf4a93"),  # fable
        *("#cad941", "#8a9500", "#aab713", "#6c7504", "#f9e03f", "#b19d00", "#d6bd03", "#8e7d09"),  # mythos
    ),
)


_DATE = lazy.pattern(r"(\d{4})-(\d\d)(?:-(\d\d))?")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY_STEPS = (1, 2, 5, 7, 10, 14)
_MONTH_STEPS = (1, 2, 3, 6, 12)
_MANY_MONTHS = 5
"""From this many months on, the axis marks months rather than days."""


class AxisMark(Struct, frozen=True):
    """A label of the axis: its bar and its text. The year is written below the first mark in it."""

    position: int
    text: str
    year: str = ""


class _Moment(Struct, frozen=True):
    year: int
    month: int
    day: int | None


def marks(labels: Sequence[str], slot: float, breadth: Callable[[str], float], gap: float) -> list[AxisMark]:
    """The labels to write, if each bar is `slot` wide and two labels need a `gap` between them."""
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
    """The step between labels at which they do not overlap."""
    widest = max((breadth(text) for text in texts), default=0)
    return max(1, -int(-(widest + gap) // slot))


def _every(texts: Sequence[str], step: int) -> list[AxisMark]:
    return [AxisMark(position, texts[position]) for position in range(0, len(texts), step)]


def _by_month(moments: list[_Moment], slot: float, breadth: Callable[[str], float], gap: float) -> list[AxisMark]:
    """A mark at the first label of every month, or of every second, third or sixth month, or of every January."""
    starts = [position for position in range(len(moments)) if _begins_month(moments, position)]
    for step in _MONTH_STEPS:
        chosen = [position for position in starts if (moments[position].month - 1) % step == 0]
        found = [AxisMark(position, _MONTHS[moments[position].month - 1]) for position in chosen]
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


def _with_years(found: list[AxisMark], moments: list[_Moment]) -> list[AxisMark]:
    years = [moments[mark.position].year for mark in found]
    before = [None, *years]
    return [
        AxisMark(mark.position, mark.text, str(year) if year != previous else "")
        for mark, year, previous in zip(found, years, before, strict=False)
    ]
