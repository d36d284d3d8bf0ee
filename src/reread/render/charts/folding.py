"""Charts with more colours or bars than can be told apart, made into smaller ones that say what they left together."""

from __future__ import annotations

from msgspec.structs import replace

from .chart import Chart, Series, added

MOST_SERIES = 6
"""As many colours as stay apart for every eye; what else there is shares a grey."""
SPAN = " – "


def fold_series(chart: Chart) -> Chart:
    """The largest series as they are, in their order, and the sum of the others last."""
    if len(chart.series) <= MOST_SERIES:
        return chart
    by_size = sorted(range(len(chart.series)), key=lambda index: -(chart.series[index].total or 0))
    kept = set(by_size[:MOST_SERIES])
    others = [series for index, series in enumerate(chart.series) if index not in kept]
    columns = zip(*(series.values for series in others), strict=True)
    rest = Series(f"{len(others)} others", tuple(added(column) for column in columns))
    return replace(chart, series=(*(chart.series[index] for index in sorted(kept)), rest))


def fold_bars(chart: Chart, most: int) -> tuple[Chart, int]:
    """At most that many bars, and how many of the given ones each stands for: neighbours in time are added up."""
    each = -(-len(chart.labels) // most)
    if each <= 1:
        return chart, 1
    starts = range(0, len(chart.labels), each)
    labels = tuple(_span(chart.labels[start : start + each]) for start in starts)
    series = tuple(
        Series(old.name, tuple(added(old.values[start : start + each]) for start in starts)) for old in chart.series
    )
    return replace(chart, labels=labels, series=series), each


def _span(labels: tuple[str, ...]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]}{SPAN}{labels[-1]}"


def fold_names(chart: Chart, most: int) -> Chart:
    """The first names as they are, and the sum of the others last."""
    if len(chart.labels) <= most:
        return chart
    kept = most - 1
    labels = (*chart.labels[:kept], f"{len(chart.labels) - kept:,} others")
    series = tuple(Series(old.name, (*old.values[:kept], added(old.values[kept:]))) for old in chart.series)
    return replace(chart, labels=labels, series=series, has_rest=True)
