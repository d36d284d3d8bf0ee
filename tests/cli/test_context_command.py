"""`reread context`: what a person sees, and what a script can rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.kept import Kept
from cli.running import Run
from reread.testing import (
    a_compaction,
    a_prompt,
    a_reply,
    a_session,
    a_tool_call,
    a_tool_result,
    a_usage,
    an_attachment,
)

ANN = "aaaa0000-1111-4222-8333-444455556666"
LISTING = an_attachment("skill_listing", content="- lamp: lights when it is dark", names=["lamp"])


@pytest.fixture
def kept(run: Run, tmp_path: Path) -> Kept:
    found = Kept(run, tmp_path / ".claude", tmp_path / "archive")
    read = [a_reply(a_tool_call("Read", {"file_path": "/app/a.py"})), a_tool_result("x" * 400)]
    last = a_reply("Done.", usage=a_usage(2000))
    a_session(a_prompt("go"), LISTING, *read, a_compaction(), a_prompt("on"), *read, last, id=ANN).write(
        found.claude / "projects"
    )
    return found


def test_no_line_is_wider_than_a_narrow_terminal(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for asked in (("@last",), ("--unused",), ("--unused", "--since", "2099-01-01")):
        assert max(map(len, kept("context", *asked).out.splitlines())) <= 40


def test_a_session_shows_what_fills_its_context_and_what_a_compaction_cost(kept: Kept) -> None:
    lines = kept("context", "@last").out.splitlines()
    assert lines[0] == "context of 2.0k tokens, estimated from the transcript"
    assert any(line.split() == ["Read", "messages", "~212", "10.6%"] for line in lines)
    assert lines[-1] == "  again: /app/a.py"


def test_the_document_of_a_session(kept: Kept) -> None:
    document = kept.json("context", "@last")
    assert document["schema"] == "reread.context/1"
    [told] = document["compositions"]
    assert (told["total_tokens"], told["is_estimate"], told["limit_tokens"]) == (2000, True, None)
    assert {"kind": "skill", "name": "lamp", "tokens": 7} in told["parts"]
    [compaction] = document["compactions"]
    assert compaction["dropped"] == {"files": 1, "commands": 0, "decisions": 0}
    assert (compaction["looked_up_again"], compaction["actions_until_work"]) == (["/app/a.py"], 1)


def test_what_was_never_used_is_listed_with_its_cost(kept: Kept) -> None:
    document = kept.json("context", "--unused", "--since", "2020-01-01")
    assert document["schema"] == "reread.offered/1"
    [lamp] = document["offered"]
    assert (lamp["kind"], lamp["name"], lamp["sessions"], lamp["uses"]) == ("skill", "lamp", 1, 0)
    assert lamp["is_dead_weight"]
    assert float(lamp["cost_per_session_usd"]) > 0
    assert " never " in kept("context", "--unused", "--since", "2020-01-01").out
    assert "no session" in kept("context", "--unused", "--until", "2020-01-01", "--since", "2019-01-01").out


def test_what_takes_it_away_is_said_only_of_what_is_there_and_of_no_plugin_that_is_used(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home"))
    (tmp_path / "home" / "skills" / "lamp").mkdir(parents=True)
    names = ["lamp", "bundled", "tools:hammer", "tools:saw", "garden:rake", "garden:hoe"]
    listing = an_attachment("skill_listing", content="\n".join(f"- {name}: does it" for name in names), names=names)
    servers = an_attachment(
        "mcp_instructions_delta", addedNames=["birds", "claude_ai_Mail", "ide"], addedBlocks=["x" * 40] * 3
    )
    used = [a_reply(a_tool_call("Skill", {"skill": "tools:saw"})), a_tool_result("ok")]
    a_session(a_prompt("go"), listing, servers, *used, a_reply("Done.", usage=a_usage(2000))).write(
        kept.claude / "projects"
    )
    document = kept.json("context", "--unused", "--since", "2020-01-01")
    assert {each["name"]: each["removal"] for each in document["offered"]} == {
        "lamp": f"delete {tmp_path / 'home' / 'skills' / 'lamp'}",
        "bundled": None,
        "tools:hammer": None,
        "tools:saw": None,
        "garden:rake": "claude plugin disable garden",
        "garden:hoe": "claude plugin disable garden",
        "birds": "claude mcp remove birds",
        "claude_ai_Mail": "/mcp: turn Mail off",
        "ide": None,
    }
    assert kept("context", "--unused", "--since", "2020-01-01").out.count("claude plugin disable garden") == 1


@pytest.mark.parametrize("given", [[], ["@last", "--unused"], ["--unused", "--days", "0"]])
def test_bad_input_is_one_sentence(kept: Kept, given: list[str]) -> None:
    ran = kept("context", *given)
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
