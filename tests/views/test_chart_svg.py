"""The SVG of a chart: true to its values, whole in itself, and closed to what labels may hold."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from charting import SVG, a_chart, bars, parsed, texts, tips
from reread.views.charts import Chart, Kind, Number, Series
from reread.views.charts.chart import DARK, LIGHT, breadth, fit, fit_name
from reread.views.charts.svg import MOST_BARS, WIDTH, Sheet, chart_svg

HOSTILE = (
    """</title></text><script>alert(1)</script><a href="javascript:x" onclick='y'>&amp;]]><!--\x00\x1b[31m\ud800"""
)
KNOWN_ELEMENTS = {"svg", "style", "g", "rect", "line", "circle", "text", "tspan", "title"}
TEXTS = st.text(st.characters(codec=None), max_size=60)
VALUES = st.one_of(st.none(), st.integers(0, 10**12), st.floats(0, 1e9))


@pytest.mark.parametrize(("kind", "along"), [("time", "height"), ("names", "width")])
def test_bars_are_as_long_as_their_values(kind: Kind, along: str) -> None:
    drawn = bars(chart_svg(a_chart([10, 5, 2.5, 20], kind=kind)), 0)
    lengths = [bar[along] for bar in drawn]
    assert lengths == pytest.approx([lengths[3] / 2, lengths[3] / 4, lengths[3] / 8, lengths[3]], abs=0.02)
    assert min(lengths) > 5


def test_a_bar_as_high_as_a_tick_ends_on_its_line() -> None:
    svg = chart_svg(a_chart([20, 15]))
    grid = [float(line.attrib["y1"]) for line in parsed(svg).iter(f"{SVG}line") if line.get("class") == "grid"]
    assert "15" in texts(svg)
    assert bars(svg, 0)[0]["y"] == pytest.approx(min(grid), abs=0.02)
    assert any(bars(svg, 0)[1]["y"] == pytest.approx(y, abs=0.02) for y in grid)


def test_series_are_stacked_without_gaps() -> None:
    svg = chart_svg(a_chart([1, 2], [3, 1]))
    for lower, upper in zip(bars(svg, 0), bars(svg, 1), strict=True):
        assert upper["y"] + upper["height"] == pytest.approx(lower["y"], abs=0.02)
        assert upper["x"] == lower["x"]
    lying = chart_svg(a_chart([1, 2], [3, 1], kind="names"))
    for first, second in zip(bars(lying, 0), bars(lying, 1), strict=True):
        assert first["x"] + first["width"] == pytest.approx(second["x"], abs=0.02)


def test_zero_has_no_bar_and_no_value_is_marked() -> None:
    svg = chart_svg(a_chart([1, 0, None]))
    assert len(bars(svg, 0)) == 1
    assert len(list(parsed(svg).iter(f"{SVG}circle"))) == 1, "a dot where nothing is known"
    assert "x1: 0" in tips(svg)
    assert "x2: –" in tips(svg)
    named = texts(chart_svg(a_chart([1, 0, None], kind="names")))
    assert named[-2:] == ["x2", "–"]
    assert named[-4:-2] == ["x1", "0"]


def test_every_bar_says_what_it_is() -> None:
    chart = a_chart([Decimal("1.25"), 2], [3, None], unit="dollars", labels=["2026-10-01", "2026-10-02"])
    said = tips(chart_svg(chart))
    assert "2026-10-01 · series 0: $1.25 of $4.25" in said
    assert "2026-10-01 · series 1: $3.00 of $4.25" in said
    assert "2026-10-02: $2.00" in said


def test_the_total_and_those_of_the_series_are_written() -> None:
    shown = texts(chart_svg(a_chart([1, 2], [3, 4], unit="dollars")))
    assert "$10.00" in shown
    assert "series 0 $3.00" in shown
    assert "series 1 $7.00" in shown


def test_one_series_needs_no_legend() -> None:
    assert "series 0" not in chart_svg(a_chart([1, 2]))


@pytest.mark.parametrize("chart", [a_chart(), a_chart([]), a_chart([None, None]), a_chart([None], kind="names")])
def test_an_empty_chart_says_so(chart: Chart) -> None:
    svg = chart_svg(chart)
    assert "nothing to show" in texts(svg)
    assert "nothing to show" in parsed(svg).attrib["aria-label"]


def test_only_zeros_are_no_empty_chart() -> None:
    svg = chart_svg(a_chart([0, 0]))
    assert "nothing to show" not in svg
    assert texts(svg).count("0") == 4, "the total, the axis and two bars"


def test_it_describes_itself() -> None:
    root = parsed(chart_svg(a_chart([1, 5, 2], labels=["2026-10", "2026-11", "2026-12"])))
    assert root.attrib["role"] == "img"
    said = root.attrib["aria-label"]
    assert said == "Requests. Bar chart, 3 bars from 2026-10 to 2026-12. Highest 5 (2026-11). Total 8"


def everywhere(text: str, kind: Kind, values: tuple[Number | None, ...] = (1, 2)) -> Chart:
    series = (Series(text, values), Series(text, values))
    labels = tuple(text for _ in values)
    return Chart(title=text, subtitle=text, footnote=text, labels=labels, series=series, kind=kind)


@pytest.mark.parametrize("kind", ["time", "names", "areas"])
@pytest.mark.parametrize("links", [(), ("/usage?a=b&c", '/s/"><script>')])
def test_no_text_becomes_markup(kind: Kind, links: tuple[str, ...]) -> None:
    svg = chart_svg(everywhere(HOSTILE, kind), Sheet(links=links))
    root = parsed(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= KNOWN_ELEMENTS | ({"a"} if links else set())
    assert [element.get("href") for element in root.iter() if element.get("href")] == list(links)
    assert links or not [
        name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name
    ]
    assert "<script" not in svg
    assert any("<script>alert(1)</script>" in tip for tip in tips(svg)), "shown, not run"
    svg.encode()


@given(TEXTS, st.sampled_from(["time", "names", "areas"]), st.lists(VALUES, max_size=5))
def test_any_text_and_value_make_a_well_formed_document(text: str, kind: Kind, values: list[float | None]) -> None:
    svg = chart_svg(everywhere(text, kind, tuple(values)))
    assert {element.tag.removeprefix(SVG) for element in parsed(svg.encode().decode()).iter()} <= KNOWN_ELEMENTS


def test_a_long_footnote_goes_over_several_lines() -> None:
    note = " ".join(f"{number:,} requests collapsed;" for number in range(1_000, 1_020))
    chart = Chart(title="t", labels=("a",), series=(Series("s", (1,)),), footnote=note)
    shown = [element.text or "" for element in parsed(chart_svg(chart)).iter(f"{SVG}text")]
    assert " ".join(shown).endswith(note)


def test_it_is_whole_in_itself() -> None:
    svg = chart_svg(a_chart([1, 2], [3, 4]))
    assert not re.search(r"url\(|@import|@font-face|href|<script|\bid=", svg)
    assert svg.count("http") == 1, "only the name of the format"


def test_dark_readers_get_the_dark_colours_and_a_page_keeps_its_own() -> None:
    style = next(parsed(chart_svg(a_chart([1], [2]))).iter(f"{SVG}style")).text or ""
    dark = style.partition("@media screen and (prefers-color-scheme:dark)")[2]
    assert all(colour in dark for colour in (DARK.paper, DARK.ink, DARK.muted, *DARK.series))
    selectors = re.findall(r"([^{}]+)\{[^{}]*\}", style.replace("@media screen and (prefers-color-scheme:dark){", ""))
    assert selectors
    assert all(selector.startswith(".reread-chart") for selector in selectors)


def test_the_same_chart_is_drawn_the_same() -> None:
    rows: list[list[Number | None]] = [[1.5, None, 3], [2, 2, 0]]
    assert chart_svg(a_chart(*rows)) == chart_svg(a_chart(*rows))
    fill = next(g for g in parsed(chart_svg(a_chart(*rows))).iter(f"{SVG}g") if g.get("class") == "s1")
    assert fill.attrib["fill"] == LIGHT.series[1]


def test_hundreds_of_bars_stay_inside_and_apart() -> None:
    drawn = bars(chart_svg(a_chart(list(range(1, 401)))), 0)
    assert len(drawn) == 400
    assert all(left["x"] + left["width"] <= right["x"] + 0.02 for left, right in pairwise(drawn))
    assert drawn[-1]["x"] + drawn[-1]["width"] <= WIDTH


def test_more_bars_than_pixels_are_added_up_and_it_says_so() -> None:
    svg = chart_svg(a_chart([1] * (MOST_BARS + 1)))
    assert len(bars(svg, 0)) == MOST_BARS // 2 + 1
    assert "each bar adds up 2" in texts(svg)
    assert "601" in texts(svg), "the total is that of all"


def test_long_names_lose_their_first_folders_and_are_kept_in_the_tooltip() -> None:
    path = "/home/ann/clients/acme/" + "very-" * 20 + "long/lantern"
    svg = chart_svg(a_chart([1, 2], labels=[path, "b"], kind="names"))
    shown = next(text for text in texts(svg) if "…" in text)
    assert shown == "…/lantern"
    assert path in tips(svg)


@given(TEXTS, st.floats(0, 400), st.integers(8, 20))
def test_text_is_cut_to_its_room(text: str, room: float, size: int) -> None:
    assert breadth(fit(text, room, size), size) <= room
    assert breadth(fit_name(text, room, size), size) <= room


def test_text_that_fits_is_left_alone() -> None:
    assert fit("Cost by day", 200, 13) == "Cost by day"
    assert fit_name("/home/ann/lantern", 200, 13) == "/home/ann/lantern"


def test_a_title_gives_way_to_the_total() -> None:
    chart = replace(a_chart([1, 2], title="long " * 60), unit="dollars")
    assert any(text.endswith("…") for text in texts(chart_svg(chart)))
    assert "$3.00" in texts(chart_svg(chart))
