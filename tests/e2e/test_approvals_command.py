"""`reread approvals` and the real client: two sessions wait, one terminal answers both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any
from urllib.parse import urlencode

import pytest

from cli.terminals import Terminal
from client.run import Scratch
from web.serving import Served, served, until

pytestmark = [pytest.mark.e2e, pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a pseudo-terminal")]


def begin(server: Served, scratch: Scratch, prompt: str) -> None:
    connection = server.connect()
    form = urlencode({"prompt": prompt, "folder": str(scratch.work)})
    connection.request(
        "POST", "/live", form, {**server.page, "Content-Type": "application/x-www-form-urlencoded", "X-Part": "1"}
    )
    assert connection.getresponse().status in (200, 204, 303)


def told(scratch: Scratch, env: dict[str, str], *arguments: str) -> Any:
    command = [sys.executable, "-m", "reread", "approvals", "--home", str(scratch.home / "archive"), *arguments]
    ran = subprocess.run([*command, "--json"], env=env, capture_output=True, timeout=60, check=True)
    return json.loads(ran.stdout)


def test_two_sessions_are_answered_in_one_terminal(scratch: Scratch) -> None:
    source, archive = scratch.home / ".claude", scratch.home / "archive"
    source.mkdir(exist_ok=True)
    env = {**scratch.environment, "PYTHONPATH": os.pathsep.join(sys.path)}
    with served(archive, source, "--claude", str(scratch.client), "--port", "0", env=env) as server:
        begin(server, scratch, "mock:write(poem.txt)")
        begin(server, scratch, "mock:bash(touch denied.txt)")
        waiting = until(lambda: found if len(found := told(scratch, env)["waiting"]) == 2 else None)
        by_tool = {each["tool"]: each for each in waiting}
        assert set(by_tool) == {"Write", "Bash"}
        assert all(each["always"] or each["wider"] for each in waiting), "the client names what would have allowed it"
        with Terminal("approvals", "--home", archive) as terminal:
            for _ in waiting:
                terminal.wait_for("[s]kip [q]uit")
                terminal.wait_for("  > ")
                asked = terminal.written.rpartition("waits")[2]
                if "poem.txt" in asked:
                    terminal.press("y")
                    terminal.wait_for("yes")
                else:
                    assert "touch denied.txt" in asked
                    terminal.press("n")
                    terminal.wait_for("no, because")
                    terminal.press("Not today.\r")
            terminal.wait_for("nothing waits for an answer; [q]uit")
            terminal.press("q")
            assert terminal.end() == 0
        until(lambda: (scratch.work / "poem.txt").exists())
        begin(server, scratch, "mock:bash(touch allowed.txt)")
        (last,) = until(lambda: told(scratch, env)["waiting"])
        told(scratch, env, last["id"][:6], "--allow")
        until(lambda: (scratch.work / "allowed.txt").exists())
        answers = [each["answer"] for each in told(scratch, env, "--log")["answered"]]
    assert answers[0] == "allowed"
    assert sorted(answers[1:]) == ["allowed", "denied: Not today."]
    assert not (scratch.work / "denied.txt").exists()
