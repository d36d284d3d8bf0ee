"""The hook that says what worked after an error, and the tools `fix` and `how`, in the real client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import reread_here
from client.run import Scratch
from reread.testing import Entry, a_prompt, a_reply, a_session, a_tool_call, a_tool_result

pytestmark = pytest.mark.e2e
NAMES = [f"aaaa000{n}-1111-4222-8333-444455556666" for n in range(2)]


def lessons() -> list[Entry]:
    error = "Exit code 127\n/bin/bash: line 1: lampctl: command not found"
    calls = [("lampctl on", error), ("npx lampctl on", None)]
    found: list[Entry] = []
    for command, failed in calls:
        result = a_tool_result(failed or "on", is_error=failed is not None)
        found += [a_reply(a_tool_call("Bash", {"command": command})), result]
    return found


def test_the_model_is_told_what_worked_after_the_error(scratch: Scratch, tmp_path: Path) -> None:
    for name in NAMES:
        a_session(a_prompt("go"), *lessons(), id=name).write(scratch.projects)
    home = tmp_path / "archive"
    environment = {**scratch.environment, "REREAD_HOME": str(home)}
    installed = reread_here("hook", "install", "--fixes", "--yes", env=environment)
    assert installed.code == 0, installed.err
    for name in NAMES:
        path = next(scratch.projects.glob(f"*/{name}.jsonl"))
        taken = reread_here("hook", "take", "--session", name, "--transcript", str(path), env=environment)
        assert (taken.code, taken.err) == (0, "")
    run = scratch.run("mock:bash(lampctl on)")
    assert run.status == 0
    told = "`npx lampctl on` worked in 2 past sessions"
    assert any(told in json.dumps(request["messages"]) for request in scratch.mock.requests if "messages" in request)
    assert told in scratch.transcript(run.session).read_text("utf-8")
    quiet = scratch.run("mock:bash(othertool on)")
    assert "past sessions" not in scratch.transcript(quiet.session).read_text("utf-8")
