"""`reread usage` asked wrongly: one sentence on stderr, exit code 2, nothing on stdout."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cli.kept import Kept
from cli.running import Ran


def assert_refused(ran: Ran, *words: str) -> None:
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("reread: ")
    assert ran.err.count("\n") == 1, ran.err
    assert not [word for word in words if word not in ran.err], ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["year"], ["'year' is not a grouping", "day, week, month"]),
        ([""], ["'' is not a grouping"]),
        (["day", "month"], ["unrecognized arguments: month"]),
        (["--timezone", "Mars/Base"], ["unknown time zone 'Mars/Base'"]),
        (["--timezone", ""], ["time zone"]),
        (["--since", "2026-11-02", "--until", "2026-11-01"], ["--since must lie before --until"]),
        (["--since", "2026-11-02", "--until", "2026-11-02T00:00"], ["--since must lie before --until"]),
        (["--since", "2026-02-30"], ["--since '2026-02-30' is not a date"]),
        (["--until", "someday"], ["--until 'someday' is not a date"]),
        (["--limit", "0"], ["--limit", "'0' is not a positive number"]),
        (["--limit", "-3"], ["--limit"]),
        (["--limit", "all"], ["'all' is not a positive number"]),
        (["--cost", "guessed"], ["--cost", "'guessed'"]),
        (["--plot", "chart.pdf"], [".svg or .png", "'chart.pdf'"]),
        (["--plot", "-", "--json"], ["--json and --plot - cannot"]),
        (["--csv", "--json"], ["--json and --csv cannot"]),
        (["--plot", "chart"], [".svg or .png"]),
        (["--plot", ""], [".svg or .png"]),
        (["--plot", "no/such/folder/chart.svg"], ["cannot be written", "no such file"]),
        (["--prices", "no-such-prices.json"], ["no-such-prices.json", "cannot be read", "no such file"]),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else None,
)
def test_a_wrong_request_is_refused_in_one_sentence(kept: Kept, arguments: list[str], words: list[str]) -> None:
    ran = kept("usage", *arguments)
    assert_refused(ran._replace(err=ran.err.lower()), *(word.lower() for word in words))


PRICES: dict[str, tuple[Any, str]] = {
    "negative": ({"models": {"x": {"input": "-1", "output": "2"}}}, "is negative"),
    "missing": ({"models": {"x": {"input": "1"}}}, "model 'x': object missing required field `output`"),
    "no number": ({"models": {"x": {"input": "cheap", "output": "2"}}}, "no decimal number"),
    "no object": (["x"], "expected `object`"),
    "another currency": ({"currency": "EUR"}, "currency"),
    "an unknown field": ({"model": {}}, "unknown field `model`"),
    "an alias of nothing": ({"aliases": {"x": "y"}}, "no model 'y'"),
}


@pytest.mark.parametrize(("content", "word"), PRICES.values(), ids=PRICES)
@pytest.mark.parametrize("way", ["option", "archive"])
def test_a_price_file_that_is_none_is_refused_with_its_fault(
    kept: Kept, tmp_path: Path, content: Any, word: str, way: str
) -> None:
    path = tmp_path / "own.json" if way == "option" else kept.home / "prices.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
    assert_refused(kept("usage", *(["--prices", str(path)] if way == "option" else [])), path.name, word)


def test_a_price_file_that_is_no_json_or_a_folder_is_refused(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text('{"models": ', "utf-8")
    assert_refused(kept("usage", "--prices", path), "own.json")
    assert_refused(kept("usage", "--prices", tmp_path), "cannot be read")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_an_unreadable_price_file_is_refused(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text("{}", "utf-8")
    path.chmod(0)
    assert_refused(kept("usage", "--prices", path), "own.json", "permission denied")


def test_a_refused_price_file_changes_no_money(kept: Kept, tmp_path: Path) -> None:
    before = kept.json("usage")
    path = tmp_path / "own.json"
    path.write_text('{"models": {"claude-opus-4-8": {"input": "-5", "output": "1"}}}', "utf-8")
    assert_refused(kept("usage", "--prices", path), "negative")
    assert kept.json("usage") == before


def test_a_chart_is_not_written_into_the_sources(kept: Kept) -> None:
    assert_refused(kept("usage", "--plot", kept.claude / "chart.svg"), "where reread writes nothing")


def test_a_source_that_is_missing_is_named(kept: Kept, tmp_path: Path) -> None:
    ran = kept.run("usage", "--source", tmp_path / "nowhere", "--home", kept.home)
    assert_refused(ran, "nowhere", "no such file or folder")
