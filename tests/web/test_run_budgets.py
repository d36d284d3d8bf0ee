"""A run of `reread serve` stops at a budget, and goes on once the budget was raised."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reread import BadInput
from reread.archive import Archive
from reread.archive.status import write_limits
from reread.live.rules import AllowRule
from reread.testing import a_prompt, a_reply, a_session, a_usage
from reread.web.archive_pool import ServerSettings
from reread.web.runs import Driver, Run, RunRequest
from reread.web.updates import Hub

CLIENT = [sys.executable, str(Path(__file__).parents[1] / "cli" / "acting_client.py")]
DOLLAR = 10**9


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await asyncio.sleep(0.01)


def test_a_run_stops_at_the_budget_until_it_is_raised(tmp_path: Path) -> None:
    settings = ServerSettings(tmp_path / "home", claude=CLIENT)
    write_limits(str(settings.home), {"day": DOLLAR * 3 // 2})

    async def run() -> Run:
        hub = Hub()
        hub.begin()
        driver = Driver(settings, hub)
        started = await driver.start(RunRequest("spends", tmp_path))
        await until(lambda: started.result is not None)
        assert started.result is not None and started.result.terminal_reason == "hook_stopped"
        assert started.note.startswith("The day's budget of $1.50 is used up ($2.0")
        with pytest.raises(BadInput, match="raise it on the page Usage"):
            await started.say("hello")
        write_limits(str(settings.home), {"day": DOLLAR * 9})
        await started.say("hello")
        await until(lambda: started.result is not None and started.result.text == "done")
        await driver.close()
        return started

    assert asyncio.run(run()).problem == ""


def test_a_rule_answers_and_is_in_the_log(tmp_path: Path) -> None:
    rules = (AllowRule.parse("Bash(touch:*)"),)
    settings = ServerSettings(tmp_path / "home", claude=CLIENT, rules=rules)

    async def run() -> list[tuple[str, bool, bool]]:
        hub = Hub()
        hub.begin()
        driver = Driver(settings, hub)
        started = await driver.start(RunRequest("bash", tmp_path))
        await until(lambda: started.result is not None)
        await driver.close()
        return [(each.given.answer, each.given.allowed, each.given.by_policy) for each in driver.answered]

    assert asyncio.run(run()) == [("allowed by the rule Bash(touch:*)", True, True)]


def test_no_run_begins_when_the_budget_is_used_up(tmp_path: Path) -> None:
    settings = ServerSettings(tmp_path / "home", claude=CLIENT)
    write_limits(str(settings.home), {"day": DOLLAR})
    spent = a_reply("ok", usage=a_usage(input=1_000_000), timestamp=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.000Z}")
    a_session(a_prompt("q"), spent).write(tmp_path / "projects")
    with Archive(settings.home, [tmp_path / "projects"]) as archive:
        archive.sync()

    async def start() -> None:
        hub = Hub()
        hub.begin()
        driver = Driver(settings, hub)
        with pytest.raises(BadInput, match=r"The day's budget of \$1.00 is used up"):
            await driver.start(RunRequest("spends", tmp_path))
        assert driver.runs == []

    asyncio.run(start())
