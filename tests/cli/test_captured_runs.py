"""What only the wire knew, as `show`, `thinking`, `search` and `list` tell it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cli.running import Ran, Run
from live import frames
from live.captures import a_capture, a_prompt_sent, a_result, an_answer, an_init, an_interrupted_thought, keep
from live.frames import FINAL, SESSION

CALL = frames.assistant("msg_1", frames.tool("toolu_1", "Bash", command="ls"), uuid="a1")
ASKED = frames.asks("r1", "Bash", input={"command": "ls"}, tool_use_id="toolu_1")
RESULT = frames.user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}], uuid="u3")


def a_run(answer: dict[str, Any]) -> bytes:
    return a_capture(
        a_prompt_sent("list the burrow", "u1"),
        an_init(),
        frames.message_start("msg_1", ttft_ms=80) + frames.calls(0, "toolu_1", "Bash", '{"command":"ls"}'),
        CALL,
        frames.message_end("tool_use"),
        ASKED,
        *[frames.frame("system", subtype="status")] * 15,
        an_answer("r1", **answer),
        RESULT,
        an_interrupted_thought(),
        frames.user([frames.text("[Request interrupted by user]")], uuid="u4"),
        a_result(0.25),
    )


class Captured:
    def __init__(self, run: Run, folder: Path) -> None:
        self.run = run
        self.home = folder / "archive"
        self.capture(behavior="allow", updatedInput={"command": "ls -a"})

    def capture(self, **answer: Any) -> None:
        keep(self.home, a_run(answer))

    def __call__(self, *arguments: str) -> Ran:
        return self.run(*arguments, "--home", str(self.home))

    def json(self, *arguments: str) -> Any:
        ran = self(*arguments, "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)


@pytest.fixture
def captured(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Captured:
    """With a source that has nothing in it: one that is named would leave out what comes from elsewhere."""
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    return Captured(run, tmp_path)


def test_show_marks_what_was_taken_back_and_how_a_tool_was_allowed(captured: Captured) -> None:
    shown = captured("show", "@last").out
    assert "[interrupted] A pangolin crosses the road." in shown
    assert re.search(r"● Bash  ls  allowed with edited input after 4\.0s", shown)
    assert captured("show", "@last", "--no-thinking").out.count("pangolin") == 0


def test_a_refusal_is_shown_with_its_reason(captured: Captured) -> None:
    captured.capture(behavior="deny", message="Not today.")
    assert re.search(r"Bash  ls  denied after 4\.0s: Not today\.", captured("show", "@last").out)


def test_the_document_of_a_session_has_what_the_wire_knew(captured: Captured) -> None:
    document = captured.json("show", "@last")
    tool, thinking, interrupted = document["turns"][0]["steps"]
    assert (thinking["kind"], thinking["text"]) == ("thinking", "A pangolin crosses the road.")
    assert (thinking["withdrawn"], "withdrawn" in interrupted) == ("interrupted", False)
    asked = tool["permission"]
    assert (asked["decision"], asked["edited_input"], asked["seconds"]) == ("allow", {"command": "ls -a"}, 4.0)
    assert [message["ttft_ms"] for message in document["wire"]["messages"]] == [80, 120]
    assert document["wire"]["messages"][0]["began"] < document["wire"]["messages"][0]["ended"]
    assert document["turns"][0]["usage"]["output_tokens"] == FINAL["output_tokens"] + 2  # and what was interrupted


def test_thinking_marks_what_was_taken_back(captured: Captured) -> None:
    [thought] = captured.json("thinking")["thoughts"]
    assert (thought["withdrawn"], thought["session"]) == ("interrupted", SESSION)
    assert "[interrupted] A pangolin" in captured("thinking").out


def test_search_finds_interrupted_thinking_and_leads_to_it(captured: Captured) -> None:
    [hit] = captured.json("search", "pangolin")["hits"]
    assert (hit["field"], hit["session"]) == ("thinking", SESSION)
    assert hit["snippet"] == "A [pangolin] crosses the road."
    assert "pangolin" in captured("show", SESSION, "--around", hit["uuid"]).out
    [same] = captured.json("search", "--regex", "pang.lin")["hits"]
    assert same["uuid"] == hit["uuid"]


def test_a_captured_session_is_neither_gone_nor_expiring(captured: Captured) -> None:
    [row] = captured.json("list")["sessions"]
    assert (row["id"], row["present"], row["expires"], row["archived"]) == (SESSION, True, None, True)
    assert "only here" not in captured("list").out


def test_the_clients_own_cost_is_held_against_ours(captured: Captured) -> None:
    [row] = captured.json("usage", "session", "--reconcile")["rows"]
    assert row["client_cost_usd"] == "0.250000000"


def test_a_capture_can_be_shown_by_its_path(captured: Captured, tmp_path: Path) -> None:
    path = tmp_path / "run.wire"
    path.write_bytes(a_run({"behavior": "deny", "message": "no"}))
    assert "[interrupted] A pangolin" in captured.run("show", path).out


def test_forgetting_says_that_there_is_no_other_copy(captured: Captured) -> None:
    captured("sync")
    assert captured("archive", "forget", SESSION, "--yes").code == 0
    assert captured.json("list")["sessions"] == []
    assert not list((captured.home / "wire").rglob("*.wire"))
