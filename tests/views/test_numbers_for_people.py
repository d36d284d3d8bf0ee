"""Numbers as people read them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from reread.views.numbers import count, duration, money, percent, tokens


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(0, "prompt", "0 prompts"), (1, "branch", "1 branch"), (2, "branch", "2 branches"), (1234, "line", "1,234 lines")],
)
def test_things_are_counted_in_words(number: int, noun: str, said: str) -> None:
    assert count(number, noun) == said


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_400, "12.4k"), (3_100_000, "3.1M"), (2_000_000_000, "2.0B")],
)
def test_tokens_are_rounded(number: int, said: str) -> None:
    assert tokens(number) == said


def test_tokens_just_below_a_million_are_a_million() -> None:
    assert tokens(999_999) == "1.0M"


@pytest.mark.parametrize(
    ("dollars", "is_partial", "said"),
    [
        (Decimal("1234.567"), False, "$1,234.57"),
        (Decimal("0.0123456"), False, "$0.0123"),
        (Decimal("1.5"), True, "≥$1.50"),
        (Decimal(0), False, "$0"),
        (None, True, "no price"),
        (None, False, ""),
    ],
)
def test_money_that_is_not_known_is_no_number(dollars: Decimal | None, is_partial: bool, said: str) -> None:
    assert money(dollars, is_partial=is_partial) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0s"), (9.94, "9.9s"), (12, "12s"), (59.6, "1m 0s"), (200, "3m 20s"), (7500, "2h 5m")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(("share", "said"), [(0.0, "0%"), (0.079, "7.9%"), (0.5, "50%"), (1.0, "100%")])
def test_shares(share: float, said: str) -> None:
    assert percent(share) == said
