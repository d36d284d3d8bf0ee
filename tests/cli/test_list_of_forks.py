"""A fork shows what it copied, and a list says so: its costs add up to more than was spent."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from accounting.books import a_response
from cli.kept import Kept
from cli.running import Run
from reread.testing import Entry, a_prompt, a_session, a_subagent, a_usage

ANN, BOB, CAT = "a11", "b0b", "ca7"
NOTE = "`reread usage` counts it once"


def response(number: int) -> Entry:
    return a_response(a_usage(10, 200), f"2026-11-02T{number + 8:02}:00:00.000Z", id=f"msg_{number}")


@pytest.fixture
def forked(run: Run, tmp_path: Path) -> Kept:
    """A session, one that was forked from it and went on, and one that has nothing to do with them."""
    claude = tmp_path / ".claude"
    shared = [response(1), response(2)]
    a_session(a_prompt("q"), *shared, id=ANN).write(claude / "projects")
    replay = a_subagent(response(2), response(4))
    a_session(a_prompt("q"), *shared, response(3), replay, id=BOB).write(claude / "projects")
    a_session(a_prompt("other"), response(5), id=CAT).write(claude / "projects")
    return Kept(run, claude, tmp_path / "archive")


def test_what_a_fork_copied_is_told_with_its_cost(forked: Kept) -> None:
    listed = {each["id"]: each for each in forked.json("list")["sessions"]}
    assert {name: each["copied_from"] for name, each in listed.items()} == {ANN: [], BOB: [ANN], CAT: []}
    assert listed[ANN]["copied_cost_usd"] == listed[CAT]["copied_cost_usd"] == "0.000000000"
    assert listed[BOB]["copied_cost_usd"] == listed[ANN]["cost_usd"]


def test_without_what_was_copied_a_list_adds_up_to_the_usage(forked: Kept) -> None:
    listed = forked.json("list")["sessions"]
    own = {each["id"]: Decimal(each["cost_usd"]) - Decimal(each["copied_cost_usd"]) for each in listed}
    used = forked.json("usage", "session")
    assert own == {row["session"]: Decimal(row["cost_usd"]) for row in used["rows"]}
    assert sum(own.values()) == Decimal(used["totals"]["cost_usd"])
    assert sum(Decimal(each["cost_usd"]) for each in listed) > sum(own.values())


@pytest.mark.parametrize("columns", ["120", "80"])
def test_the_cost_of_a_fork_has_a_mark_and_the_mark_a_note(
    forked: Kept, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    lines = forked("list").out.splitlines()
    marked = [line[:3] for line in lines if "*" in line]
    assert marked == [BOB, "* $"]
    assert " ".join(lines).endswith(NOTE)
    assert max(map(len, lines)) <= int(columns)


def test_where_nothing_was_copied_there_is_no_note(forked: Kept) -> None:
    forked("sync")
    assert forked("archive", "forget", ANN, "--yes").code == 0
    assert "*" not in forked("list", "--no-sync").out
    assert [each["copied_from"] for each in forked.json("list", "--no-sync")["sessions"]] == [[], []]


def test_a_list_of_60_columns_has_project_and_cost(forked: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert forked("list").out.splitlines()[0].split() == ["session", "last", "project", "title", "cost"]


def test_what_is_shown_of_a_session_says_so_as_the_list_does(forked: Kept) -> None:
    shown = json.loads(forked("show", BOB, "--json").out)["session"]
    assert (shown["copied_from"], shown["copied_cost_usd"]) == ([ANN], "0.010100000")
