"""Colours that every eye can tell apart, on both papers."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import pytest
from msgspec.structs import replace

from charting import rgb
from reread.views.charts import Chart, Series
from reread.views.charts.chart import DARK, LIGHT, MOST_SERIES, SHADES, Theme, fold_series
from reread.views.charts.svg import chart_svg
from reread.views.usage_table import model_colour

Triple = tuple[float, float, float]

EYES: dict[str, tuple[Triple, Triple, Triple]] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Machado, Oliveira and Fernandes (2009), at full severity, on linear light."""
APART = 0.08
"""In OKLab; neighbouring steps of a printed colour chart are some 0.02 apart."""


def light(colour: str) -> Triple:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = rgb(colour)
    return linear(red), linear(green), linear(blue)


def seen(colour: str, eye: str) -> Triple:
    """The colour in OKLab, as that eye sees it."""
    source = light(colour)
    red, green, blue = (min(1.0, max(0.0, sum(a * b for a, b in zip(row, source, strict=True)))) for row in EYES[eye])
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def contrast(one: str, other: str) -> float:
    """As WCAG 2 counts it."""
    values = [sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), light(each), strict=True)) for each in (one, other)]
    return (max(values) + 0.05) / (min(values) + 0.05)


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_any_two_series_can_be_told_apart(theme: Theme, eye: str) -> None:
    for one, other in combinations(theme.series, 2):
        assert math.dist(seen(one, eye), seen(other, eye)) >= APART, f"{one} and {other}"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_everything_stands_out_from_the_paper(theme: Theme) -> None:
    assert all(contrast(colour, theme.paper) >= 3 for colour in theme.colours)
    assert all(contrast(colour, theme.paper) >= 4.5 for colour in (theme.ink, theme.muted, theme.limit))


def test_there_is_a_colour_for_every_series_and_one_for_the_rest() -> None:
    series = tuple(Series(f"model {number}", (9 - number,)) for number in range(9))
    assert fold_series(Chart(title="t", labels=("a",), series=series)).colours == (0, 1, 2, 3, 4, 5, 6)
    assert len(LIGHT.series) == len(DARK.series) == MOST_SERIES + 1


def colours(*models: str) -> dict[str, int]:
    chart = Chart(title="t", labels=("a",), series=tuple(Series(each, (1,), model_colour(each)) for each in models))
    return dict(zip(models, chart.colours, strict=True))


OPUS = tuple(f"opus-{each}" for each in ("4", "4-1", "4-5", "4-6", "4-7", "4-8", "5", "5-5"))


def test_a_model_has_its_colour_whatever_stands_beside_it() -> None:
    every = (*OPUS, "sonnet-4-5", "3-7-sonnet", "haiku-4-5", "fable-5", "fable-5-1", "mythos-5", "glm-5", "kimi")
    together = colours(*every)
    assert all(colours(name)[name] == together[name] for name in every)
    assert together["glm-5"] == together["kimi"] == MOST_SERIES, "grey, with its name"
    known = [together[name] for name in every[:-2]]
    assert len(set(known)) == len(known), "no two look alike"


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_versions_of_a_family_are_shades_that_can_be_told_apart(theme: Theme) -> None:
    for first in range(0, len(theme.models), SHADES):
        shades = theme.models[first : first + SHADES]
        assert len(shades) == SHADES
        assert min(math.dist(seen(a, "usual"), seen(b, "usual")) for a, b in combinations(shades, 2)) >= 0.04
        assert min(math.dist(seen(a, "no green"), seen(b, "no green")) for a, b in pairwise(shades)) >= 0.07


def test_the_budget_is_a_line_where_bars_are_near_it() -> None:
    chart = Chart(title="t", labels=("2026-01-01", "2026-01-02"), series=(Series("cost", (4, 8)),), unit="dollars")

    def drawn(limit: float | None) -> str:
        return chart_svg(replace(chart, limit=limit))

    assert 'class="limit"' in drawn(6.0) and "budget $6.00" in drawn(6.0)
    assert 'class="limit"' in drawn(12.0), "the axis reaches it"
    assert 'class="limit"' not in drawn(500.0), "bars would be too small to read"
    assert 'class="limit"' not in drawn(None)
