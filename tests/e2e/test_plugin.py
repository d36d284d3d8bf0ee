"""The plugin in the real client: installed into a scratch home, used in a conversation, removed without a trace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import reread
from client.install import PROJECT, VERSIONS
from client.run import Json, Scratch
from client.scenarios import SCENARIOS, calls, says, turn
from web.serving import until

pytestmark = pytest.mark.e2e
MEMORY = "mcp__plugin_reread_memory__search"
CHARACTERS_PER_TOKEN, MOST_TOKENS = 4, 60
SCENARIOS["plugin-recall"] = [
    turn(calls("ToolSearch", query=f"select:{MEMORY}")),
    turn(calls(MEMORY, query="granite premise")),
    turn(says("I looked it up.")),
]


def claude(scratch: Scratch, *arguments: str) -> str:
    command = [str(scratch.client), *arguments]
    done = subprocess.run(
        command, env=scratch.environment, cwd=scratch.work, capture_output=True, text=True, timeout=90, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The archive of the `reread` that is first on the PATH."""
    program = tmp_path / "bin" / "reread"
    program.parent.mkdir()
    settings = f'PYTHONPATH="{os.pathsep.join(sys.path)}" REREAD_HOME="{tmp_path / "archive"}"'
    program.write_text(f'#!/bin/sh\n{settings} exec "{sys.executable}" -m reread "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "archive"


def left(home: Path) -> dict[str, object]:
    """What the client's own settings name, and which files of plugins it keeps."""
    names = ("settings.json", "plugins/installed_plugins.json", "plugins/known_marketplaces.json")
    found = {name: json.loads((home / name).read_text()) for name in names if (home / name).exists()}
    files = [
        path for path in (home / "plugins").rglob("*") if path.is_file() and "reread" in str(path.relative_to(home))
    ]
    orphaned = any((home / "plugins").rglob(".orphaned_at"))  # the client deletes such folders itself, after a week
    return {"named": "reread" in json.dumps(found), "files": [] if orphaned else files}


def sent(body: Json) -> str:
    return json.dumps([body.get("system"), body.get("messages"), body.get("tools")])


def test_the_plugin_in_a_conversation(scratch: Scratch, home: Path) -> None:
    scratch.run("mock:thinking(plain!!)")
    before = sent(scratch.mock.requests[-1])
    is_newest = VERSIONS[-1] in scratch.client.parts
    if is_newest:
        for folder in (PROJECT, PROJECT / "plugin"):
            assert "Validation passed" in claude(scratch, "plugin", "validate", "--strict", str(folder))
    claude(scratch, "plugin", "marketplace", "add", str(PROJECT))
    claude(scratch, "plugin", "install", "reread@reread")

    earlier = scratch.run("mock:thinking(granite)")
    added = sent(scratch.mock.requests[-1])
    tools = sum(MEMORY in json.dumps(tool) for tool in scratch.mock.requests[-1]["tools"])
    if not tools:  # deferred: only their names are sent
        assert len(added) - len(before) <= MOST_TOKENS * CHARACTERS_PER_TOKEN
    else:
        assert not is_newest
    until(lambda: earlier.session in archived(home))

    recalled = scratch.run("mock:plugin-recall")
    told = [line for line in recalled.lines if line["type"] == "user"]
    assert "Let me think about granite" in json.dumps(told)

    scratch.run("/reread:why-so-dear mock:text(dear)", resume=earlier.session)
    asked = json.dumps(scratch.mock.requests[-1]["messages"])
    assert "$0." in asked
    scratch.run("/reread:retro mock:text(retro)")
    assert "reread retro" in json.dumps(scratch.mock.requests[-1]["messages"])

    claude(scratch, "plugin", "uninstall", "reread@reread")
    claude(scratch, "plugin", "marketplace", "remove", "reread")
    assert left(scratch.home / ".claude") == {"named": False, "files": []}


def archived(home: Path) -> list[str]:
    with reread.open(home=home) as archive:
        return [kept.stored.row.uuid for kept in archive.sessions()] if archive.exists else []
