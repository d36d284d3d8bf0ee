"""Budgets: what counts to which period, what the month comes to, and what is kept."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from reread.archive.status import NEAR, Budget, dollars_to_nano, month_range, read_limits, spending, write_limits
from reread.errors import BadInput
from reread.views.price_table import budget_words, projection_words, spending_lines

DOLLAR = 10**9


def each_day(amount: int, until: date, days: int) -> dict[str, int]:
    return {(until - timedelta(days=n)).isoformat(): amount for n in range(days)}


def test_periods_begin_where_calendars_say_and_stand_beside_the_same_stretch_before() -> None:
    wednesday = date(2026, 11, 18)
    found = spending(each_day(DOLLAR, wednesday, 62), wednesday.isoformat(), {})
    assert found.spent == {"day": DOLLAR, "week": 3 * DOLLAR, "month": 18 * DOLLAR}
    assert found.before == found.spent
    assert (found.low, found.high) == (30 * DOLLAR, 30 * DOLLAR), "a steady pace leaves no doubt"
    assert projection_words(found) == "at this pace $30"


def test_the_last_day_of_a_long_month_is_compared_with_the_whole_month_before() -> None:
    last = date(2026, 10, 31)
    found = spending(each_day(DOLLAR, last, 62), last.isoformat(), {})
    assert found.before["month"] == 30 * DOLLAR
    assert found.low == found.high == found.spent["month"]
    assert projection_words(found) == "$31 so far"


def test_a_first_day_has_no_pace() -> None:
    found = spending({"2026-11-18": 3 * DOLLAR // 10}, "2026-11-18", {})
    assert spending_lines(found, 80)[-1] == "The whole month: $0.30 so far."


def test_paces_that_differ_make_a_range() -> None:
    days = [0] * 20 + [4 * DOLLAR] * 9 + [DOLLAR]
    low, high = month_range(days, 10, 30)
    assert low < high
    assert high == 37 * DOLLAR + 20 * 4 * DOLLAR


def test_a_budget_says_so_before_it_is_used_up() -> None:
    states = [Budget("day", 100, spent).state for spent in (0, 79, int(NEAR * 100), 99, 100, 250)]
    assert states == ["ok", "ok", "near", "near", "over", "over"]
    assert budget_words(Budget("day", 10 * DOLLAR, 9 * DOLLAR)) == "90% of $10 for today, nearly used up"
    found = spending({"2026-11-18": 9 * DOLLAR}, "2026-11-18", {"day": 10 * DOLLAR})
    assert [each.period for each in found.warnings] == ["day"]
    assert any("nearly used up" in line for line in spending_lines(found, 80))
    for width in (40, 80):
        lines = spending_lines(found, width)
        assert max(map(len, lines)) <= width
        assert sum("same days: $" in line for line in lines) == 2


@pytest.mark.parametrize(
    ("text", "amount"), [("10", 10 * DOLLAR), ("$1,250.50", 1250_500_000_000), (" 0.5 ", DOLLAR // 2)]
)
def test_amounts_as_people_write_them(text: str, amount: int) -> None:
    assert dollars_to_nano(text) == amount


@pytest.mark.parametrize("text", ["1,50", "2,5", "$1,00", "1,", "10,0000", "1,000,00", "1.5,000"])
def test_a_comma_that_separates_no_thousands_is_not_dropped(text: str) -> None:
    """`1,50` is one dollar fifty in half of Europe, never 150 dollars."""
    with pytest.raises(BadInput, match=re.escape(text)):
        dollars_to_nano(text)


@pytest.mark.parametrize("text", ["", "ten", "-1", "0", "nan", "inf", "1e99"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(BadInput, match="is not an amount in dollars"):
        dollars_to_nano(text)


@pytest.mark.parametrize(
    "kept", ["", "[]", "{", '{"day": "x", "week": -1, "year": 3}', '{"day": true, "week": 1' + "0" * 400 + "}"]
)
def test_a_file_that_holds_no_budgets_has_none(kept: str, tmp_path: Path) -> None:
    (tmp_path / "budgets.json").write_text(kept)
    assert read_limits(str(tmp_path)) == {}


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    write_limits(str(tmp_path / "home"), {"month": 5, "day": 7})
    assert read_limits(str(tmp_path / "home")) == {"day": 7, "month": 5}
