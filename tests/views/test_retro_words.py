"""The words of the retrospective that every surface shares."""

from __future__ import annotations

import pytest

from reread.archive.friction_report import FrictionGroup
from reread.archive.friction_trends import Week
from reread.features.activity import Rate
from reread.features.friction import PatternKind
from reread.features.friction.detection import Cause, FrictionKind, Moment
from reread.views.charts import chart_lines
from reread.views.charts.svg import chart_svg
from reread.views.retro_report import MOST_WEEKS, PATTERNS, change_line, guess, kinds_line, weeks_chart
from reread.views.text import Style


def an_event(kind: FrictionKind, confidence: float = 1.0) -> Moment:
    return Moment(
        kind=kind, session="s", uuid="u", time=None, evidence="so", confidence=confidence, cause=Cause.AGENT, about=""
    )


def a_group(before: Rate | None, change: str | None) -> FrictionGroup:
    return FrictionGroup(
        kind=FrictionKind.CORRECTION,
        about=None,
        count=5,
        sessions=2,
        seconds=0.0,
        tokens=0,
        nanodollars=0,
        hurt=0.5,
        causes={"agent": 5},
        rate=Rate(5, 100),
        before=before,
        change=change,
        example=an_event(FrictionKind.CORRECTION),
    )


def a_week(day: str, moments: int, prompts: int) -> Week:
    return Week(week=day, rate=Rate(moments, prompts), kinds={})


def test_kinds_are_counted_with_corrections_first() -> None:
    events = [
        an_event(kind)
        for kind in (
            FrictionKind.REWORK,
            FrictionKind.TOOL_ERROR,
            FrictionKind.TOOL_ERROR,
            FrictionKind.CORRECTION,
            FrictionKind.REWORK,
        )
    ]
    assert kinds_line(events) == "1 correction, 2 times rework, 2 tool errors"
    assert kinds_line([]) == ""


def test_a_guess_says_how_sure_it_is_and_a_proof_says_nothing() -> None:
    assert guess(an_event(FrictionKind.CORRECTION, 0.56)) == "a guess, 56% sure"
    assert guess(an_event(FrictionKind.INTERRUPT)) == ""


@pytest.mark.parametrize(
    ("before", "change", "said"),
    [
        (Rate(2, 100), "more", "more than before (2.0)"),
        (Rate(9, 100), "less", "less than before (9.0)"),
        (Rate(4, 100), None, "no clear difference (4.0)"),
        (None, None, ""),
    ],
)
def test_a_group_is_held_against_its_past_in_words(before: Rate | None, change: str | None, said: str) -> None:
    assert change_line(a_group(before, change)) == said


def test_a_week_without_prompts_has_its_place_and_no_rate() -> None:
    chart = weeks_chart([a_week("2026-02-02", 1, 4), a_week("2026-02-16", 3, 6), a_week("2026-02-23", 2, 0)])
    assert chart.labels == ("2026-02-02", "2026-02-09", "2026-02-16", "2026-02-23")
    assert chart.series[0].values == (25.0, None, 50.0, None)


def test_a_line_of_a_wrong_year_makes_no_endless_chart() -> None:
    chart = weeks_chart([a_week("0001-01-01", 1, 4), a_week("2026-02-16", 3, 6)])
    assert len(chart.labels) == MOST_WEEKS
    assert chart.labels[-1] == "2026-02-16"


def test_rates_are_not_added_up() -> None:
    chart = weeks_chart([a_week("2026-02-02", 1, 4), a_week("2026-02-09", 3, 6)])
    assert "otal" not in chart_svg(chart)
    assert "otal" not in "\n".join(chart_lines(chart, 80, Style(colour=False)))


def test_every_kind_of_pattern_has_a_name_for_a_person() -> None:
    assert set(PATTERNS) == {kind.value for kind in PatternKind}
