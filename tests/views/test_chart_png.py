"""The PNG of a chart: the same picture, its letters included, wherever it is made."""

from __future__ import annotations

import sys

import pytest

from charting import BLUE, Pixel, a_chart, bars, pixels
from reread.errors import BadInput
from reread.views.charts.svg import SCALE, WIDTH, chart_png, chart_svg


def dark_in(picture: list[list[Pixel]], rows: range, columns: range) -> int:
    return sum(sum(picture[y][x]) < 200 for y in rows for x in columns)


def test_bars_and_letters_are_where_the_svg_has_them() -> None:
    chart = a_chart([4, 2], title="Requests")
    picture = pixels(chart_png(chart))
    assert len(picture[0]) == WIDTH * SCALE
    for bar in bars(chart_svg(chart), 0):
        middle = round((bar["x"] + bar["width"] / 2) * SCALE)
        column = [row[middle] for row in picture]
        assert column.count(BLUE) == pytest.approx(bar["height"] * SCALE, abs=3)
    assert dark_in(picture, range(25 * SCALE, 46 * SCALE), range(32 * SCALE, 120 * SCALE)) > 200, "the title is read"


def test_it_is_the_same_every_time() -> None:
    assert chart_png(a_chart([1, 2], [3, None])) == chart_png(a_chart([1, 2], [3, None]))


def test_letters_do_not_need_a_font_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    import resvg_py

    given: list[object] = []
    draw = resvg_py.svg_to_bytes

    def noted(**options: object) -> bytes:
        given.append(options["skip_system_fonts"])
        return draw(**options)  # type: ignore[arg-type]

    monkeypatch.setattr(resvg_py, "svg_to_bytes", noted)
    latin, other = a_chart([1], title="Größe, Ωmega, Кофе … ≥ 2"), a_chart([1], title="費用")
    assert chart_png(latin) != chart_png(a_chart([1], title=""))
    chart_png(other)
    assert given == [True, True, False]


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(BadInput, match="pip install resvg-py"):
        chart_png(a_chart([1]))
