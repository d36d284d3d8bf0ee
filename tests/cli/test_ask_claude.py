"""`--ask-claude`: evidence without secrets, cost told first, consent, a run without tools, an answer marked as such."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a program that begins with #!")

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
SESSION = "5e55a5c0-0000-4000-8000-000000000001"
OTHER = "5e55a5c0-0000-4000-8000-000000000002"


class Asking:
    """A session with a key in it, and a client that repeats what it is told."""

    def __init__(self, run: Run, folder: Path, way: str = "echoes") -> None:
        refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nno"
        projects = folder / ".claude" / "projects"
        a_session(
            a_prompt(f"deploy the lantern with {KEY}", uuid="p1", timestamp="2026-11-10T10:00:00.000Z"),
            a_reply(a_tool_call("Bash", {"command": "deploy lantern"}, id="t1"), model="claude-opus-4-8"),
            a_tool_result(refused, of="t1", is_error=True),
            a_reply("It is deployed."),
            id=SESSION,
        ).write(projects)
        a_session(a_prompt("hello", timestamp="2026-11-11T10:00:00.000Z"), a_reply("hi"), id=OTHER).write(projects)
        self.kept = Kept(run, folder / ".claude", folder / "archive")
        self.started = folder / "started.json"
        self.claude = folder / "claude"
        fake = Path(__file__).parents[1] / "live" / "fake_client.py"
        self.claude.write_text(
            f"#!{sys.executable}\nimport json, runpy, sys\n"
            f"open({str(self.started)!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
            f"sys.argv[1:1] = [{way!r}]\nrunpy.run_path({str(fake)!r}, run_name='__main__')\n"
        )
        self.claude.chmod(0o755)

    @property
    def options(self) -> list[str]:
        return ["--ask-claude", "--claude", str(self.claude)]


@pytest.fixture
def asking(run: Run, tmp_path: Path) -> Asking:
    return Asking(run, tmp_path)


def test_nothing_is_sent_unless_somebody_says_so(asking: Asking) -> None:
    asking.kept("summary", SESSION)
    ran = asking.kept("summary", SESSION, *asking.options)
    assert ran.code == 2
    assert "nothing was sent" in ran.err
    assert "characters would be sent" in ran.err
    assert not asking.started.exists()
    assert not list((asking.kept.home / "asked").glob("*.json"))


@pytest.mark.parametrize("command", [["summary", SESSION], ["retro"]])
def test_what_is_sent_is_redacted_and_what_is_said_is_marked(asking: Asking, command: list[str]) -> None:
    ran = asking.kept(*command, *asking.options, "--yes")
    assert ran.code == 0, ran.err
    assert "about $0.0" in ran.err
    assert "with claude-opus-4-8, at list prices" in ran.err
    assert "In Claude's words (claude-opus-4-8, " in ran.out
    assert "a model said this, no record does" in ran.out
    assert "You said" in ran.out
    [path] = (asking.kept.home / "asked").glob("*.json")
    assert path.stat().st_mode & 0o077 == 0
    answer = json.loads(path.read_text())
    assert KEY not in path.read_text()
    assert answer["evidence"] in answer["text"]  # the client repeats all that it was sent
    assert "[redacted: " in answer["evidence"] or command == ["retro"]


def test_the_client_has_no_tools_and_no_servers(asking: Asking) -> None:
    assert asking.kept("summary", SESSION, *asking.options, "--yes", "--ask-model", "sonnet").code == 0
    started = json.loads(asking.started.read_text())
    assert "--tools=" in started
    assert "--strict-mcp-config" in started
    assert "--setting-sources=user" in started
    assert "sonnet" in " ".join(started)


def test_the_answer_is_kept_beside_the_evidence_and_told_again(asking: Asking) -> None:
    assert asking.kept.json("summary", SESSION)["asked_claude"] is None
    asking.kept("summary", SESSION, *asking.options, "--yes")
    document = asking.kept.json("summary", SESSION)
    assert document["asked_claude"]["model"] == "claude-opus-4-8"
    assert "deploy the lantern" in document["asked_claude"]["evidence"]
    assert "a model said this" in asking.kept("summary", SESSION, "--format", "markdown").out
    assert "In Claude's words" not in asking.kept("summary", OTHER).out


def test_what_claude_says_is_as_safe_in_markdown_as_any_reply(asking: Asking) -> None:
    """The client repeats the evidence, which stands between tags."""
    told = asking.kept("summary", OTHER, "--format", "markdown", *asking.options, "--yes").out
    assert "> &lt;/evidence>" in told
    assert "<evidence>" not in told and "</evidence>" not in told


def test_what_was_said_about_a_forgotten_session_is_forgotten(asking: Asking) -> None:
    for command in (["summary", SESSION], ["summary", OTHER], ["retro"]):
        assert asking.kept(*command, *asking.options, "--yes").code == 0
    assert asking.kept("archive", "forget", SESSION, "--yes").code == 0
    [path] = (asking.kept.home / "asked").glob("*")
    assert json.loads(path.read_text())["session"] == OTHER


def test_a_client_that_fails_is_told_in_a_sentence(run: Run, tmp_path: Path) -> None:
    asking = Asking(run, tmp_path, "fails_the_turn")
    ran = asking.kept("summary", SESSION, *asking.options, "--yes")
    assert ran.code == 2
    assert "No such session" in ran.err
    assert asking.kept.json("summary", SESSION)["asked_claude"] is None
