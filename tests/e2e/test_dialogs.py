"""Dialogs of the real client on its own screen, answered in the queue, on the screen, or by nobody."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.running import reread as program
from client.install import VERSIONS, claude_binary
from client.run import Scratch, has_tmux
from web.serving import served, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not has_tmux(), reason="tmux drives the interactive client; install tmux"),
]
SETTINGS = '{\n  "cleanupPeriodDays": 99\n}\n'
ASK = ("--permission-mode", "default")
OPEN = r"❯ 1\. Yes"


@pytest.fixture(params=VERSIONS)
def client(request: pytest.FixtureRequest) -> Path:
    return claude_binary(request.param)


@pytest.fixture
def home(scratch: Scratch) -> Iterator[Path]:
    """The archive of a server that runs; the hook is installed, and its removal gives the settings back."""
    settings, home = scratch.home / ".claude" / "settings.json", scratch.home / "the archive"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(SETTINGS)
    hook(scratch, "install", "--approvals", "--home", home)
    yield home
    hook(scratch, "remove")
    assert settings.read_text() == SETTINGS


def hook(scratch: Scratch, *arguments: str | Path) -> None:
    ran = program("hook", *arguments, "--yes", HOME=str(scratch.home))
    assert (ran.code, ran.err) == (0, "")


def waiting(home: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(program("approvals", "--json", "--home", home).out)["waiting"]
    return found


def answer(home: Path, *decision: str) -> dict[str, Any]:
    (asked,) = until(lambda: waiting(home))
    ran = program("approvals", asked["id"], *decision, "--home", home)
    assert (ran.code, ran.err) == (0, "")
    return dict(asked)


def test_whoever_answers_first_answers(scratch: Scratch, home: Path) -> None:
    env = {**scratch.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    with served(home, scratch.home / ".claude", "--port", "0", env=env), scratch.screen(*ASK) as screen:
        screen.wait_for("❯")
        screen.settle()
        screen.submit("mock:write(poem.txt)")
        screen.wait_for(OPEN)
        assert answer(home, "--allow")["input"]["content"] == "line one\nline two\n"
        screen.wait_for("I wrote the file")
        assert (scratch.work / "poem.txt").exists()

        screen.submit("mock:bash(touch denied.txt)")
        screen.wait_for(OPEN)
        answer(home, "--deny", "Not today.")
        screen.wait_for("The command finished")
        assert not (scratch.work / "denied.txt").exists()
        assert any("Not today." in str(body) for body in scratch.mock.requests)

        screen.submit("mock:question")
        screen.wait_for("Which colour")
        answer(home, "--answer", "2")
        screen.wait_for("→ Blue")

        screen.submit("mock:bash(touch on-the-screen.txt; while [ ! -e seen.txt ]; do sleep 0.1; done; touch done.txt)")
        screen.wait_for(OPEN)
        until(lambda: waiting(home))
        time.sleep(1)  # a person needs longer, too
        screen.keys("Enter")
        until(lambda: (scratch.work / "on-the-screen.txt").exists())
        until(lambda: not waiting(home))  # while the command still runs, since it waits for this
        (scratch.work / "seen.txt").touch()
        until(lambda: (scratch.work / "done.txt").exists())

        screen.submit("mock:task-permission")
        screen.wait_for(OPEN)
        assert waiting(home) == [], "an agent in the background would get no dialog as long as a hook waits"
        screen.keys("Enter")
        until(lambda: (scratch.work / "from-the-agent.txt").exists())
        screen.wait_for("The subagent was let through")
        screen.settle()

        screen.submit("mock:bash(touch never.txt)")
        screen.wait_for(OPEN)
        until(lambda: waiting(home))
        screen.close()
        until(lambda: not waiting(home))
        log = json.loads(program("approvals", "--log", "--json", "--home", home).out)["answered"]
    assert [each["answer"] for each in log] == ["answered: Blue", "denied: Not today.", "allowed"]
    assert not (scratch.work / "never.txt").exists()


def test_without_a_server_the_dialog_is_as_ever(scratch: Scratch, home: Path) -> None:
    with scratch.screen(*ASK) as screen:
        screen.wait_for("❯")
        screen.settle()
        screen.submit("mock:bash(touch here.txt)")
        screen.wait_for(OPEN)
        screen.settle()
        assert screen.shows(OPEN) and not screen.shows("hook")
        screen.keys("Enter")
        screen.wait_for("The command finished")
    assert (scratch.work / "here.txt").exists()
    assert not home.exists() or waiting(home) == []
