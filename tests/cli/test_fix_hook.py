"""`hook install --fixes`, and the tools `fix` and `how`: what worked after an error in past sessions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import reread
from reread.testing import Entry, a_prompt, a_reply, a_session, a_tool_call, a_tool_result

MISSING = "Exit code 1\nError: Cannot find module 'left-pad'"
NAMES = [f"aaaa000{n}-1111-4222-8333-444455556666" for n in range(2)]
CALLS = [("npm test", MISSING), ("npm ci --token=ghp_k3Jd92mfLq81zXcVbNm45tYuIoPa7sDfGh6R", None), ("npm test", None)]


def ran(*calls: tuple[str, str | None]) -> list[Entry]:
    """Commands, each with its error or None."""
    found: list[Entry] = []
    for command, error in calls:
        result = a_tool_result("done") if error is None else a_tool_result(error, is_error=True)
        found += [a_reply(a_tool_call("Bash", {"command": command})), result]
    return found


@pytest.fixture
def archive(tmp_path: Path) -> reread.Archive:
    for name in NAMES:
        a_session(a_prompt("go"), *ran(*CALLS), id=name).write(tmp_path / ".claude" / "projects")
    made = reread.open(home=tmp_path / "archive", sources=[tmp_path / ".claude"])
    made.sync()
    return made


def told(home: Path, **fields: Any) -> str:
    given = {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "npm test"}}
    line = json.dumps({**given, "error": MISSING, **fields}).encode()
    command = [sys.executable, "-m", "reread", "hook", "fix", "--home", str(home)]
    done = subprocess.run(command, input=line, capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode()


def test_nothing_is_kept_for_the_hook_until_it_is_installed(archive: reread.Archive) -> None:
    with archive:
        archive.friction.keep_fixes(NAMES[0])
        assert not (archive.home / "fixes.json").exists()
        assert told(archive.home) == ""
        archive.friction.keep_fixes()
        assert (archive.home / "fixes.json").exists()


def test_what_two_sessions_did_is_said_without_secrets(archive: reread.Archive) -> None:
    with archive:
        (archive.home / "fixes.json").write_text("{}")
        archive.friction.keep_fixes(NAMES[0])
        assert told(archive.home) == ""
        archive.friction.keep_fixes(NAMES[1])
        answer = told(archive.home)
        context = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
        assert "`npm ci --token=" in context
        assert "worked in 2 past sessions" in context
        assert "ghp_" not in context
        assert told(archive.home, error="Exit code 2\nerror: of another kind") == ""
        assert told(archive.home, tool_name="Read") == ""
        archive.safe.forget(NAMES[0])
        assert json.loads((archive.home / "fixes.json").read_bytes()) == {}
        assert told(archive.home) == ""


def test_the_archive_knows_fixes_and_runs(archive: reread.Archive) -> None:
    with archive:
        [fix] = archive.friction.fixes(MISSING)
        assert (fix.worked, len(fix.sessions)) == (2, 2)
        assert fix.command.startswith("npm ci")
        runs = {each.command.split(" --")[0]: (each.worked, each.failed) for each in archive.friction.runs("npm")}
        assert runs == {"npm test": (2, 2), "npm ci": (2, 0)}
        assert archive.friction.fixes("nothing of the kind") == []
