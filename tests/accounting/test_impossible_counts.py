"""Counts no API gives: they must not end a sync, nor hide what other rows say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounting.books import BOB, Books, a_response
from reread.testing import a_usage

ODD: dict[str, Any] = {
    "a float": 12.5,
    "a whole float": 12.0,
    "text": "12",
    "true": True,
    "a list": [12],
    "negative": -12,
    "more than 64 bits": 10**30,
    "the most 64 bits hold": 2**63 - 1,
    "4,000 digits": 10**4000,
}


@pytest.mark.sampled(1, over="field")
@pytest.mark.parametrize("count", ODD.values(), ids=ODD)
@pytest.mark.parametrize("field", ["input_tokens", "output_tokens", "cache_read_input_tokens"])
def test_an_impossible_count_leaves_the_other_rows_alone(books: Books, field: str, count: Any) -> None:
    usage = json.dumps(a_usage(1, 2) | {field: count}) if count != 10**4000 else _with_digits(field)
    path = books.write(a_response(a_usage(1, 2), id="msg_odd"), a_response(a_usage(7, 7), id="msg_other"))
    own = json.dumps(a_usage(1, 2), separators=(",", ":"))
    text = path.read_text("utf-8")
    assert own in text
    path.write_text(text.replace(own, usage), "utf-8")
    books.write(a_response(a_usage(10, 200), model="claude-sonnet-5"), session=BOB)
    books.write(
        a_response(a_usage(10, 200) | {field: count if count != 10**4000 else 1}),
        session="cccc0000-1111-4222-8333-444455556666",
    )
    [row] = [row for row in books.usage("model")["rows"] if row["model"] == "claude-sonnet-5"]
    assert (row["requests"], row["cost_usd"]) == (1, "0.002020000")
    assert books.usage("session")["totals"]["requests"] in (3, 4)


def _with_digits(field: str) -> str:
    rest = json.dumps(a_usage(1, 2) | {field: 0})
    return rest.replace(f'"{field}": 0', f'"{field}": 1{"0" * 4000}')


@pytest.mark.parametrize("told", [1e308, -5, 10**30, "0.5", True, None, []])
def test_an_impossible_recorded_cost_ends_nothing(books: Books, told: Any) -> None:
    books.write(a_response(a_usage(10, 200), costUSD=told), version="1.0.60")
    assert books.total()["requests"] == 1
    assert books.usage("day", "--cost", "recorded")["totals"]["requests"] == 1
