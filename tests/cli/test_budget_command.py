"""`reread budget` and what the status line says of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.running import reread
from reread.testing import a_prompt, a_reply, a_session


@pytest.fixture
def home(tmp_path: Path) -> Path:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    usage = {"input_tokens": 1_000_000, "output_tokens": 0}
    a_session(
        a_prompt("hello", timestamp=now), a_reply("hi", timestamp=now, usage=usage, model="claude-opus-4-8")
    ).write(tmp_path / "claude" / "projects")
    assert reread("sync", "--source", tmp_path / "claude", "--home", tmp_path / "home").code == 0
    return tmp_path / "home"


def test_a_budget_is_set_shown_and_taken_away(home: Path) -> None:
    told = reread("budget", "day", "6", "--home", home, "--no-sync")
    assert told.code == 0, told.err
    assert "83% of $6 for today, nearly used up" in told.out
    found = json.loads(reread("budget", "--json", "--home", home, "--no-sync").out)
    assert found["schema"] == "reread.budget/1"
    today = found["periods"][0]
    assert (today["spent_usd"], today["limit_usd"], today["state"]) == ("5.000000000", "6.000000000", "near")
    assert "day 83% of $6 !" in reread("statusline", "--home", home).out
    reread("budget", "day", "none", "--home", home, "--no-sync")
    assert "nearly used up" not in reread("budget", "--home", home, "--no-sync").out


def test_a_budget_of_less_than_whole_dollars_stands_in_the_status_line_to_the_cent(home: Path) -> None:
    reread("budget", "day", "12.5", "--home", home, "--no-sync")
    assert "day 40% of $12.50" in reread("statusline", "--home", home).out
    reread("budget", "day", "0.4", "--home", home, "--no-sync")
    assert "of $0.40 !!" in reread("statusline", "--home", home).out


@pytest.mark.parametrize("words", [["day"], ["day", "x"], ["year", "5"], ["day", "-5"]])
def test_what_is_no_budget_is_told_in_a_sentence(words: list[str], tmp_path: Path) -> None:
    told = reread("budget", *words, "--home", tmp_path / "home")
    assert told.code == 2
    assert "Traceback" not in told.err
