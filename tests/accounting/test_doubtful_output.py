"""R19 and R23: counts that cannot be final are told, never estimated, and make a total a lower bound."""

from __future__ import annotations

from typing import Any

import pytest

from accounting.books import BOB, Books, a_response
from reread.testing import a_usage


@pytest.mark.parametrize(
    ("version", "output", "stop_reason", "suspect", "provisional"),
    [
        pytest.param("2.1.50", 2, None, 1, 0, id="a stub of an old client"),
        pytest.param("2.1.96", 10, None, 1, 0, id="the last version and count of stubs"),
        pytest.param("2.1.96", 11, None, 0, 1, id="too much for a stub"),
        pytest.param("2.1.97", 2, None, 0, 1, id="too new for a stub"),
        pytest.param("2.1.100", 2, None, 0, 1, id="versions are numbers"),
        pytest.param("2.1.50", 2, "end_turn", 0, 0, id="it ended"),
        pytest.param("2.1.325", 2, "end_turn", 0, 0, id="final"),
        pytest.param("nightly", 2, None, 1, 0, id="an unknown version"),
        pytest.param("1.0.83", 2, None, 1, 0, id="1.0"),
    ],
)
def test_a_response_that_says_no_end_is_doubtful(
    books: Books, version: str, output: int, stop_reason: str | None, suspect: int, provisional: int
) -> None:
    books.write(a_response(a_usage(10, output), stop_reason=stop_reason), version=version)
    told = books.usage()["accounting"]
    assert (told["suspect_output_requests"], told["provisional_requests"]) == (suspect, provisional)
    assert books.usage()["totals"]["output_tokens"] == output


def test_one_row_that_says_the_end_is_enough(books: Books) -> None:
    rows = [a_response(a_usage(10, 2), id="msg_A", stop_reason=reason) for reason in (None, "end_turn", None)]
    books.write(*rows, version="2.1.50")
    assert books.usage()["accounting"]["suspect_output_requests"] == 0


def test_a_copy_that_says_the_end_is_enough(books: Books) -> None:
    books.write(a_response(a_usage(10, 2), id="msg_A", stop_reason=None), version="2.1.50")
    books.write(a_response(a_usage(10, 2), id="msg_A", stop_reason="end_turn"), session=BOB, version="2.1.50")
    assert books.usage()["accounting"]["suspect_output_requests"] == 0


def doubtful(books: Books) -> None:
    stub = a_response(a_usage(1_000_000, 2), "2026-11-01T10:00:00.000Z", stop_reason=None)
    books.write(stub, version="2.1.50")
    books.write(a_response(a_usage(1_000_000, 2), model="claude-sonnet-5"), session=BOB)


def test_a_total_with_suspect_output_is_printed_as_a_bound(books: Books) -> None:
    doubtful(books)
    lines = books.command("usage", "--timezone", "UTC").out.splitlines()
    costs = {line.split()[0]: next(word for word in line.split() if "$" in word) for line in lines if "$" in line}
    assert costs == {"2026-11-01": "≥$5.00", "2026-11-02": "$2.00", "total": "≥$7.00"}


def test_a_model_with_suspect_output_is_printed_as_a_bound(books: Books) -> None:
    doubtful(books)
    lines = books.command("usage", "month", "--breakdown", "--timezone", "UTC").out.splitlines()
    costs = {line.split()[1]: next(word for word in line.split() if "$" in word) for line in lines if "└" in line}
    assert costs == {"opus-4-8": "≥$5.00", "sonnet-5": "$2.00"}


def test_a_part_without_a_price_is_printed_as_a_bound(books: Books) -> None:
    books.write(a_response(a_usage(1_000_000, 0)), a_response(a_usage(5, 0), model="glm-5.1"))
    out = books.command("usage", "model").out
    assert "≥$5.00" in out
    assert "no price" in out
    assert "5 tokens unpriced (1 model)" in " ".join(out.split())


@pytest.mark.parametrize("option", [[], ["--json"], ["--plot", "-"]])
def test_every_report_says_that_transcripts_are_a_lower_bound(books: Books, option: list[str]) -> None:
    doubtful(books)
    assert "lower" in books.command("usage", *option).out


def test_the_accounting_is_complete(books: Books) -> None:
    rows: list[Any] = [a_usage(10, 2), a_usage(10, 200)]
    path = books.write(a_response(rows), a_response(a_usage(7, 0), model="glm-5.1"))
    path.write_bytes(path.read_bytes() + b'{"type": "assis\n')
    told = books.usage()["accounting"]
    assert told == {
        "lines_read": 5,
        "malformed_lines": 1,
        "requests": 2,
        "duplicates_collapsed": 1,
        "unpriced_tokens": 7,
        "unpriced_models": ["glm-5.1"],
        "suspect_output_requests": 0,
        "provisional_requests": 0,
        "price_table_date": "2026-11-15",
        "is_lower_bound": True,
    }
