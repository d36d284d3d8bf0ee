"""What a chart holds, what its axis names, and what it adds up when there is too much."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charting import a_chart
from reread.views.charts import Chart, Series, Unit, chart_lines
from reread.views.charts.chart import MOST_SERIES, fold_bars, fold_names, fold_series, marks, scale, tick, written
from reread.views.charts.svg import chart_svg
from reread.views.text import Style

AMOUNTS = st.floats(min_value=1e-6, max_value=1e15)


def test_the_height_of_a_bar_is_the_sum_of_its_series() -> None:
    chart = a_chart([1, 2, None], [Decimal("0.5"), None, None])
    assert chart.totals == (1.5, 2.0, None)
    assert chart.total == 3.5


def test_no_value_is_not_zero() -> None:
    assert a_chart([None, None]).is_empty
    assert not a_chart([None, 0]).is_empty


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, Decimal("-0.01")])
def test_a_value_that_no_bar_can_show_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="no bar"):
        a_chart([1, wrong])


def test_a_series_must_match_the_labels() -> None:
    with pytest.raises(ValueError, match="2 values for 1 labels"):
        Chart(title="t", labels=("a",), series=(Series("s", (1, 2)),))


@pytest.mark.parametrize(
    ("highest", "unit", "wanted"),
    [
        (25.2, "dollars", ["$0", "$5", "$10", "$15", "$20", "$25", "$30"]),
        (12.34, "dollars", ["$0", "$2.50", "$5.00", "$7.50", "$10.00", "$12.50"]),
        (0.011, "dollars", ["$0", "$0.002", "$0.004", "$0.006", "$0.008", "$0.010", "$0.012"]),
        (58_000, "dollars", ["$0", "$10k", "$20k", "$30k", "$40k", "$50k", "$60k"]),
        (411_400_000, "tokens", ["0", "100M", "200M", "300M", "400M", "500M"]),
        (1_400_000, "tokens", ["0", "250k", "500k", "750k", "1M", "1.25M", "1.5M"]),
        (3, "plain", ["0", "1", "2", "3"]),
        (14, "plain", ["0", "5", "10", "15"]),
        (100, "plain", ["0", "20", "40", "60", "80", "100"]),
    ],
)
def test_an_axis_names_round_numbers(highest: float, unit: Unit, wanted: list[str]) -> None:
    made = scale(highest, 6, whole=unit != "dollars")
    assert [tick(value, made.step, unit) for value in made.ticks] == wanted


@given(AMOUNTS, st.integers(2, 8), st.booleans())
def test_an_axis_reaches_just_over_the_highest_bar(highest: float, intervals: int, whole: bool) -> None:
    made = scale(highest, intervals, whole=whole)
    assert highest <= made.top
    assert made.ticks[-2] < Decimal(highest), "the last interval is used"
    assert len(made.ticks) - 1 <= intervals or made.step == 1
    assert not whole or all(value == int(value) for value in made.ticks)


@given(AMOUNTS, st.sampled_from(["dollars", "tokens", "plain"]))
def test_no_two_ticks_read_the_same(highest: float, unit: Unit) -> None:
    made = scale(highest, 6, whole=unit != "dollars")
    named = [tick(value, made.step, unit) for value in made.ticks]
    assert len(set(named)) == len(named)


@pytest.mark.parametrize(
    ("value", "unit", "wanted"),
    [
        (None, "dollars", "–"),
        (0, "dollars", "$0"),
        (0.4473, "dollars", "$0.4473"),
        (1234.5, "dollars", "$1,234.50"),
        (3_100_000, "tokens", "3.1M"),
        (1204, "plain", "1,204"),
        (2.5, "plain", "2.50"),
    ],
)
def test_a_value_is_written_in_its_unit(value: float | None, unit: Unit, wanted: str) -> None:
    assert written(value, unit) == wanted


def test_more_series_than_colours_share_the_last_one_by_size() -> None:
    rows = [[size, None] for size in (5, 1, 8, 7, 2, 6, 9, 4)]
    folded = fold_series(a_chart(*rows))
    assert [series.name for series in folded.series] == [*(f"series {n}" for n in (0, 2, 3, 5, 6, 7)), "2 others"]
    assert folded.series[-1].values == (3.0, None)
    assert len(folded.series) == MOST_SERIES + 1
    assert folded.totals == a_chart(*rows).totals


@given(st.lists(st.one_of(st.none(), st.integers(0, 1000)), min_size=1, max_size=90), st.integers(1, 40))
def test_added_bars_keep_the_sum_and_fit(values: list[int | None], most: int) -> None:
    chart = a_chart(values)
    folded, each = fold_bars(chart, most)
    assert len(folded.labels) <= most
    assert folded.total == chart.total
    assert folded.labels[0].startswith("x0")
    assert each * len(folded.labels) >= len(values)


def test_names_beyond_the_most_are_added_up_at_the_end() -> None:
    folded = fold_names(a_chart([5, 4, 3, 2, None], kind="names"), 3)
    assert folded.labels == ("x0", "x1", "3 others")
    assert folded.series[0].values == (5, 4, 5.0)
    assert (folded.total, folded.highest) == (14, 5)


def test_the_rest_of_the_names_makes_no_other_bar_shorter() -> None:
    folded = fold_names(a_chart([8, 4, 90, 90], kind="names"), 3)
    assert folded.highest == 8
    drawn = chart_svg(folded)
    assert "Highest 8 (x0)" in drawn
    assert "2 others: 180" in drawn
    assert "2 others ·" not in drawn, "it has no bar"
    first, second, last = list(chart_lines(folded, 40, Style(False)))[-3:]
    assert (first.count("█"), second.count("█")) == (27, 13), "as long as the room, and half of it"
    assert last == "2 others 180"


def days(start: str, count: int, step: int = 1) -> list[str]:
    from datetime import date, timedelta

    return [(date.fromisoformat(start) + timedelta(step * number)).isoformat() for number in range(count)]


def named(labels: list[str], slot: float) -> list[tuple[int, str, str]]:
    return [(mark.position, mark.text, mark.year) for mark in marks(labels, slot, len, gap=2)]


def test_days_are_named_as_far_as_they_fit() -> None:
    assert named(days("2026-12-30", 4), 10) == [
        (0, "Dec 30", "2026"),
        (1, "Dec 31", ""),
        (2, "Jan 1", "2027"),
        (3, "Jan 2", ""),
    ]
    assert [position for position, _, _ in named(days("2026-10-01", 30), 2)] == [0, 5, 10, 15, 20, 25]


def test_many_days_are_named_by_the_first_of_the_month() -> None:
    found = named(days("2025-12-23", 200), 1)
    assert [text for _, text, _ in found] == ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul"]
    assert found[0] == (9, "Jan", "2026")


def test_crowded_months_are_named_from_january_on() -> None:
    labels = [f"{year}-{month:02d}" for year in (2025, 2026) for month in range(1, 13)]
    assert [text for _, text, _ in named(labels, 2)] == ["Jan", "Apr", "Jul", "Oct"] * 2


def test_labels_that_are_no_dates_stay_as_they_are() -> None:
    assert named(["2026-13-40", "b"], 20) == [(0, "2026-13-40", ""), (1, "b", "")]


@given(st.lists(st.text(max_size=12), max_size=60), st.floats(0.5, 30))
def test_named_labels_never_touch(labels: list[str], slot: float) -> None:
    found = marks(labels, slot, len, gap=2)
    for one, other in pairwise(found):
        reach = (len(one.text) + len(other.text)) / 2
        assert (other.position - one.position) * slot >= reach
