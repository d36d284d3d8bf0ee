"""`--ask-claude` with the real client: it is asked once, without tools, and what it says is kept as a model's words."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from client.run import Scratch
from reread.testing import a_prompt, a_reply, a_session

pytestmark = pytest.mark.e2e

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
SESSION = "5e55a5c0-0000-4000-8000-000000000009"


@pytest.mark.parametrize("command", [["summary", SESSION], ["retro", "--project", "window"]])
def test_the_real_client_is_shown_the_evidence_and_nothing_else(scratch: Scratch, command: list[str]) -> None:
    correction = "no, that is wrong, mock:text(Open the window first.)"
    a_session(
        a_prompt(f"mock:text(Open the window first.) {KEY}", timestamp="2026-11-10T10:00:00.000Z"),
        a_reply("Done."),
        a_prompt(correction, timestamp="2026-11-10T10:01:00.000Z"),
        a_reply("You're right, my mistake."),
        id=SESSION,
        cwd="/home/ann/window",
    ).write(scratch.projects)
    archive = scratch.home / "archive"
    done = subprocess.run(
        [sys.executable, "-m", "reread", *command, "--ask-claude", "--yes", "--json", "--claude", str(scratch.client),
         "--home", str(archive), "--source", str(scratch.home / ".claude")],
        cwd=scratch.work,
        env=scratch.environment,
        capture_output=True,
        timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    answer = json.loads(done.stdout)["asked_claude"]
    assert answer["text"] == "Hello from the mock. You said: Open the window first."
    assert answer["model"]
    asked = [body for body in scratch.mock.requests if "<evidence>" in json.dumps(body)]
    assert asked
    assert all(not body.get("tools") for body in asked)
    assert KEY not in json.dumps(scratch.mock.requests)
    [path] = (archive / "asked").glob("*.json")
    assert json.loads(path.read_text())["text"] == answer["text"]
