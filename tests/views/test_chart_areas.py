"""Treemaps: every value has its part of the box, and no part is another's."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charting import a_chart, bars, parsed, pixels, rgb, texts, tips
from reread.views.charts import Chart, Series, chart_lines
from reread.views.charts.chart import LIGHT
from reread.views.charts.svg import MOST_AREAS, Box, Sheet, chart_png, chart_svg, squarified
from reread.views.text import Style

BOX = Box(10, 20, 310, 220)
SLACK = 1e-6
VALUES = st.one_of(st.just(0.0), st.floats(1e-9, 1e9), st.integers(1, 10**12).map(float))


def area(box: Box | None) -> float:
    return 0.0 if box is None else box.width * box.height


def shared(one: Box, other: Box) -> float:
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    return max(0.0, width) * max(0.0, height)


@given(st.lists(VALUES, min_size=1, max_size=40))
def test_areas_add_up_stay_inside_and_apart(values: list[float]) -> None:
    parts = squarified(values, BOX)
    total = math.fsum(values)
    assert len(parts) == len(values)
    assert [part is None for part in parts] == [value == 0 for value in values]
    if total:
        assert math.fsum(map(area, parts)) == pytest.approx(area(BOX), rel=1e-6)
    for value, part in zip(values, parts, strict=True):
        if part is None:
            continue
        assert area(part) == pytest.approx(area(BOX) * value / total, rel=1e-3, abs=1e-2)
        assert part.left >= BOX.left - SLACK
        assert part.right <= BOX.right + SLACK
        assert part.top >= BOX.top - SLACK
        assert part.bottom <= BOX.bottom + SLACK
    found = [part for part in parts if part is not None]
    assert all(shared(one, other) <= 1e-3 for one, other in combinations(found, 2))


def test_one_value_has_all_of_it_and_no_value_nothing() -> None:
    assert squarified([7], BOX) == [BOX]
    assert squarified([0, 5, 0], BOX) == [None, BOX, None]
    assert squarified([0, 0], BOX) == [None, None]
    assert squarified([], BOX) == []
    assert squarified([1, 2], Box(0, 0, 0, 10)) == [None, None]


def test_a_tiny_value_beside_a_huge_one_is_there() -> None:
    huge, tiny = squarified([1e12, 1e-3], BOX)
    assert huge is not None
    assert tiny is not None
    assert area(tiny) < 1e-6


def test_equal_values_are_near_squares() -> None:
    for part in squarified([1] * 12, Box(0, 0, 400, 300)):
        assert part is not None
        assert part.width == pytest.approx(100)
        assert part.height == pytest.approx(100)


def a_treemap(*rows: list[float | None], names: tuple[str, ...] = ("lantern", "harbour")) -> Chart:
    series = tuple(Series(f"model {number}", tuple(row)) for number, row in enumerate(rows))
    return Chart(title="Cost by project", labels=names, series=series, kind="areas", unit="dollars")


def test_a_treemap_shows_names_values_and_parts() -> None:
    svg = chart_svg(a_treemap([6, 1], [2, 1]))
    assert "lantern $8.00" in texts(svg)
    assert "harbour $2.00" in texts(svg)
    assert "lantern · model 1: $2.00 of $8.00" in tips(svg)
    assert "Treemap, 2 areas" in parsed(svg).attrib["aria-label"]
    sizes = [part["width"] * part["height"] for part in bars(svg, 0)]
    assert sizes[0] > 4 * sizes[1], "six times as large, without the room for names"


def test_areas_lead_where_the_page_wants_them_to() -> None:
    svg = chart_svg(a_treemap([6, 1]), Sheet(links=("/usage?project=a&by=day", "")))
    assert 'href="/usage?project=a&amp;by=day"' in svg
    assert svg.count("<a ") == 1
    assert 'aria-label="lantern: $6.0000"' in svg
    assert parsed(svg).attrib["role"] == "group"
    assert "<a " not in chart_svg(a_treemap([6, 1]))


def test_more_areas_than_can_be_told_apart_are_left_together() -> None:
    names = tuple(f"p{number}" for number in range(MOST_AREAS + 5))
    svg = chart_svg(a_treemap([1.0] * len(names), names=names), Sheet(links=tuple(f"/{name}" for name in names)))
    assert "6 others: $6.0000" in tips(svg)
    assert svg.count("<a ") == MOST_AREAS - 1, "what was left together leads nowhere"


def test_a_terminal_lists_areas_as_bars_and_a_png_has_their_colours() -> None:
    chart = a_treemap([6, 1], [2, 1])
    lines = list(chart_lines(chart, 60, Style(colour=False)))
    assert any(line.startswith("lantern █") for line in lines)
    seen = {pixel for row in pixels(chart_png(chart)) for pixel in row}
    assert {rgb(LIGHT.series[0]), rgb(LIGHT.series[1])} <= seen


def test_days_are_squares_of_a_calendar() -> None:
    labels = ["2026-10-31", "2026-11-01", "2026-11-02", "2026-11-03"]
    svg = chart_svg(a_chart([0, 4, 2, 1], labels=labels, kind="days"), Sheet(links=("", "/a", "/b", "/c")))
    assert len([rect for rect in parsed(svg).iter() if rect.get("rx") == "2"]) == 4
    assert "2026-11-01: 4" in tips(svg)
    assert "Nov" in texts(svg)
    assert svg.count("<a ") == 3
    assert "Calendar, 4 days from 2026-10-31 to 2026-11-03" in parsed(svg).attrib["aria-label"]
    assert list(chart_lines(a_chart([0, 4], labels=labels[:2], kind="days"), 60, Style(colour=False)))


def test_a_page_may_crop_the_margins() -> None:
    whole, cropped = (parsed(chart_svg(a_chart([1, 2]), Sheet(crop=crop))).attrib["viewBox"] for crop in (0, 16))
    assert whole.startswith("0 0 960 ")
    assert cropped.startswith("16 16 928 ")
