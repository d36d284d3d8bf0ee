"""A chart in the terminal: true to its values, never wider than asked, readable without colour."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from charting import a_chart
from reread.views.charts import Chart, Kind, Series, Unit, chart_lines, sparkline
from reread.views.text import Style, cells

PLAIN, COLOURED = Style(False), Style(True)
EIGHTHS = " ▁▂▃▄▅▆▇█"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def drawn(chart: Chart, width: int = 80, style: Style = PLAIN) -> list[str]:
    return list(chart_lines(chart, width, style))


def heights(lines: list[str]) -> list[int]:
    """The columns of bars, in eighths of a cell."""
    rows = [re.split("[┤│]", line)[1] for line in lines if re.search("[┤│]", line)]
    width = max(map(len, rows))
    return [sum(EIGHTHS.find(row.ljust(width)[column]) for row in rows) for column in range(width)]


def test_columns_are_as_high_as_their_values() -> None:
    found = heights(drawn(a_chart([10, 5, 2.5, 20, 0])))
    each = [found[start] for start in range(0, len(found), 8)]
    assert each == [each[3] / 2, each[3] / 4, each[3] / 8, each[3]], "and nothing at all for 0"
    assert each[3] == 12 * 8


def test_rows_are_as_long_as_their_values() -> None:
    lines = drawn(a_chart([40, 20, 10, 0, None], kind="names"), 46)[2:]
    lengths = [line.count("█") for line in lines]
    assert lengths == [lengths[0], lengths[0] / 2, lengths[0] / 4, 0, 0]
    assert lengths[0] == 40
    assert [line.split()[-1] for line in lines] == ["40", "20", "10", "0", "–"]


def test_the_axis_names_its_rows() -> None:
    lines = drawn(a_chart([20, 15], unit="dollars"))
    assert [line.split()[0] for line in lines if re.search("[┤└]", line)] == ["$20", "$15", "$10", "$5", "$0"]
    top = next(line for line in lines if "$20" in line)
    assert "█" in top, "a bar of $20 fills the row of $20"


def test_no_value_is_marked_and_zero_is_not() -> None:
    lines = drawn(a_chart([1, 0, None, 1]))
    lowest = next(line for line in reversed(lines) if "│" in line or "┤" in line)
    assert lowest.count("·") == 1
    assert lowest.index("·") > lowest.index("█") + 15


def test_the_smallest_value_is_seen() -> None:
    assert heights(drawn(a_chart([1_000_000, 1])))[8] == 1
    assert drawn(a_chart([1_000_000, 1], kind="names"))[-1].split()[1] == "▏"


def test_series_differ_by_colour_or_by_shade() -> None:
    chart = a_chart([5, 5], [10, 5])
    plain = "\n".join(drawn(chart))
    assert "█ series 0 10" in plain
    assert "▓ series 1 15" in plain
    rows = [line for line in plain.splitlines() if "┤" in line or "│" in line]
    assert [sum(shade in row for row in rows) for shade in "█▓"] == [4, 8], "of 12 rows for 15"
    coloured = "\n".join(drawn(chart, style=COLOURED))
    assert "\x1b[34m■\x1b[0m series 0" in coloured
    assert "\x1b[33m■\x1b[0m series 1" in coloured
    assert "▓" not in coloured


def test_totals_are_those_of_the_whole_chart_when_columns_are_added_up() -> None:
    lines = drawn(a_chart([1] * 300), 60)
    assert lines[0].endswith("300 total")
    assert "each column adds up 6" in lines
    assert len(set(filter(None, heights(lines)))) == 1


@pytest.mark.parametrize("chart", [a_chart(), a_chart([None]), a_chart([None], kind="names")])
def test_an_empty_chart_says_so(chart: Chart) -> None:
    assert drawn(chart)[-1] == "nothing to show"


def test_only_zeros_have_an_axis_and_no_bars() -> None:
    text = "\n".join(drawn(a_chart([0, 0])))
    assert "nothing to show" not in text
    assert "0 └" in text
    assert not set(text) & set(EIGHTHS[1:])


def test_long_paths_keep_both_ends() -> None:
    line = drawn(a_chart([1], labels=["/home/ann/" + "x" * 80 + "/lantern"], kind="names"), 60)[-1]
    assert re.match(r"/home/a\w*/?x*…x*/lantern █+ 1$", line)


TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("ab /汉字한글🙂é\u0301\u200d\x1b\n")), max_size=60
)
VALUES = st.one_of(st.none(), st.integers(0, 10**13), st.floats(0, 1e9))


@given(
    st.data(),
    st.integers(1, 140),
    st.sampled_from(["time", "names"]),
    st.sampled_from(["dollars", "tokens", "plain"]),
    st.booleans(),
)
def test_no_line_is_wider_than_asked(data: st.DataObject, width: int, kind: Kind, unit: Unit, colour: bool) -> None:
    labels = tuple(data.draw(st.lists(TEXTS, max_size=40)))
    values = st.lists(VALUES, min_size=len(labels), max_size=len(labels)).map(tuple)
    series = tuple(Series(data.draw(TEXTS), data.draw(values)) for _ in range(data.draw(st.integers(0, 9))))
    title, subtitle, footnote = (data.draw(TEXTS) for _ in range(3))
    chart = Chart(title=title, subtitle=subtitle, footnote=footnote, labels=labels, series=series, kind=kind, unit=unit)
    for line in drawn(chart, width, Style(colour)):
        assert cells(line) <= width
        assert "\x1b" not in ESCAPE.sub("", line)
        assert "\n" not in line


@pytest.mark.parametrize("kind", ["time", "names"])
@pytest.mark.parametrize("width", range(1, 26))
def test_even_the_narrowest_screen_is_kept(width: int, kind: Kind) -> None:
    dated = a_chart(
        [8430.69, 1, None],
        [2, 3, 4],
        labels=["2026-08-26", "汉字/汉字/汉字/汉字", "2026-11"],
        kind=kind,
        unit="dollars",
    )
    months = a_chart([8430.69, 1], labels=["2026-01", "2026-02"], kind=kind, unit="dollars", title="汉字")
    assert all(cells(line) <= width for chart in (dated, months) for line in drawn(chart, width))


def test_days_in_a_terminal_are_named_in_their_place() -> None:
    lines = drawn(a_chart([1, 2, 3], labels=["2026-12-30", "2026-12-31", "2027-01-01"]))
    assert lines[-2:] == ["   Dec 30  Dec 31   Jan 1", "    2026            2027"]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([], ""), ([None, 0, 1], " ▁█"), ([0, 0], "▁▁"), ([1, 7, 14, 28, 56], "▂▂▃▅█"), ([5], "█"), ([None], " ")],
)
def test_a_sparkline_has_one_bar_for_each_value(values: list[int | None], wanted: str) -> None:
    assert sparkline(values) == wanted


@given(st.lists(VALUES, max_size=50))
def test_a_sparkline_rises_with_its_values(values: list[float | None]) -> None:
    line = sparkline(values)
    assert len(line) == len(values)
    known = sorted((value, bar) for value, bar in zip(values, line, strict=True) if value is not None)
    assert [bar for _, bar in known] == sorted(bar for _, bar in known)
    assert all((bar == "▁") == (value == 0) for value, bar in known)


def test_the_legend_cuts_a_long_name_and_not_its_value() -> None:
    rows = [Series("a gateway with a very long model name", (1234.5,)), Series("short", (1,))]
    chart = Chart(title="t", labels=("a",), series=tuple(rows), kind="names", unit="dollars")
    assert any(line.endswith("… $1,234.50") for line in drawn(chart, 30))
