"""`reread run` stops at a budget's dollars and lets through what rules allow; `show` tells it afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.running import PROGRAM, environment
from cli.test_run import Place, place  # noqa: F401  a fixture
from reread.testing import a_prompt, a_reply, a_session, a_usage

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="types at a pseudo-terminal")


def reread(place: Place, *arguments: str) -> str:  # noqa: F811
    command = [*PROGRAM, *arguments, "--home", str(place.home), "--no-sync"]
    return subprocess.run(command, env=environment(**place.changes), capture_output=True, text=True, check=False).stdout


def test_without_a_limit_nothing_is_stopped(place: Place) -> None:  # noqa: F811
    ran = place("spends")
    assert (ran.code, "ran 3" in ran.out, ran.err) == (0, True, "")


def test_a_run_stops_at_its_cost_when_nobody_can_be_asked(place: Place) -> None:  # noqa: F811
    ran = place("spends", "--max-cost", "1.50")
    assert ran.code == 1
    assert "stopped: the run's limit of $1.50 is used up ($2.0" in ran.err
    assert ("ran 1" in ran.out, "ran 2" in ran.out) == (True, False)
    assert "Stopped by reread: the run's limit" in ran.out, "the client is told why"


def test_a_person_is_asked_once_and_may_go_on(place: Place) -> None:  # noqa: F811
    with place.terminal("spends", "--max-cost", "0.50") as terminal:
        terminal.wait_for("the run's limit of $0.5000 is used up ($1.0")
        terminal.wait_for("go on all the same? [y]es [n]o")
        terminal.press("y")
        terminal.wait_for("ran 3")
        assert terminal.end() == 0
    assert terminal.written.count("go on all the same?") == 1


def test_a_no_ends_the_run(place: Place) -> None:  # noqa: F811
    with place.terminal("spends", "--max-cost", "0.50") as terminal:
        terminal.wait_for("go on all the same?")
        terminal.press("n")
        assert terminal.end() == 1
    assert "ran 1" not in terminal.written


def test_a_budget_that_is_used_up_starts_no_client(place: Place) -> None:  # noqa: F811
    spent = a_reply("ok", usage=a_usage(input=1_000_000), timestamp=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000Z}")
    a_session(a_prompt("q"), spent).write(Path(place.changes["HOME"]) / ".claude" / "projects")
    subprocess.run([*PROGRAM, "sync", "--home", str(place.home)], env=environment(**place.changes), check=True)
    reread(place, "budget", "month", "4")
    ran = place("spends")
    assert (ran.code, ran.out) == (2, "")
    assert "stopped: the month's budget of $4.00 is used up ($5.00)" in ran.err
    assert not list(place.home.rglob("*.wire")), "no client was started"
    reread(place, "budget", "month", "6.50")
    assert (ran := place("spends")).code == 1
    assert "is used up ($7.0" in ran.err, "what was spent before counts"


def test_what_a_rule_lets_through_is_told_now_and_by_show(place: Place) -> None:  # noqa: F811
    ran = place("bash", "--allow", "Bash(touch:*)")
    assert ran.code == 0
    assert "✓ allowed, by the rule Bash(touch:*)" in ran.out
    assert "the rule Bash(touch:*) let 1 call through" in ran.out
    (capture,) = place.home.rglob("*.wire")
    [answer] = [line for line in capture.read_text().splitlines() if '"rule"' in line]
    assert json.loads(answer.partition(" > ")[2])["response"]["response"]["rule"] == "Bash(touch:*)"


def test_a_rule_that_does_not_match_asks(place: Place) -> None:  # noqa: F811
    ran = place("bash", "--allow", "Bash(ls:*)")
    assert "there was no terminal to ask at" in ran.err


@pytest.mark.parametrize("arguments", [["--allow", "rm -rf"], ["--max-cost", "much"], ["--max-cost", "-1"]])
def test_what_is_no_rule_and_no_amount_is_refused(place: Place, arguments: list[str]) -> None:  # noqa: F811
    ran = place("hello", *arguments)
    assert (ran.code, ran.out) == (2, "")
