"""What the newest clients write beside the conversation, and what is shown of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from reread.archive import Archive
from reread.sessions import Notice, Session
from reread.sessions.client_facts import ClientFacts, client_facts
from reread.testing import a_line, a_prompt, a_reply, a_session, an_attachment, build
from reread.views.mcp_text import Recall, heading, sessions_text
from reread.views.session_json import session_document
from reread.views.session_list import listing_document, marks
from reread.views.terminal import session_lines
from reread.views.text import Style
from reread.views.values import View


def a_moved_session() -> Session:
    worktree = {"worktreePath": "/srv/app/.worktrees/lamp", "worktreeBranch": "lamp"}
    return build(
        a_line("tag", tag="draft"),
        a_line("worktree-state", worktreeSession=worktree),
        a_prompt("go"),
        a_reply("Done."),
        a_line("tag", tag="release"),
        a_line("agent-setting", agentSetting="reviewer"),
        a_line("relocated", relocatedCwd="/srv/app"),
        a_line("continued-in", continuedInSessionId="5e55"),
        a_line("derived-from", v=1, sessions=[{"type": "claude_code_session", "id": "0a0a"}, {"type": "unknown"}]),
    )


def test_the_last_line_of_each_kind_counts() -> None:
    assert client_facts(a_moved_session()) == ClientFacts(
        tag="release",
        agent="reviewer",
        worktree="/srv/app/.worktrees/lamp",
        branch="lamp",
        relocated="/srv/app",
        continued_in="5e55",
        derived_from=("0a0a",),
    )
    assert client_facts(build(a_prompt("go"))) == ClientFacts()


def test_a_list_names_the_session_that_goes_on(tmp_path: Path) -> None:
    going_on = a_line("continued-in", continuedInSessionId="0b0c7e52-5a5f-4a0e-9a31-6f2f01020304")
    a_session(a_prompt("mend the lamp please"), going_on, id="5e551011").write(tmp_path / "projects")
    with Archive(tmp_path / "home", [tmp_path / "projects"], machine="desk") as archive:
        archive.sync()
        found = archive.sessions()
        session = archive.session("5e551011")
    assert listing_document(found)["sessions"][0]["continued_in"] == "0b0c7e52-5a5f-4a0e-9a31-6f2f01020304"
    assert marks(found[0], datetime(2026, 1, 6, tzinfo=UTC)).count("⇢0b0c7e52")
    recall = Recall(UTC, lambda text: text)
    for told in (sessions_text(found, "here", recall), heading(session, recall)):
        assert 'continued in session="0b0c7e52"' in told


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("<thinking>\nIs it lit?\n</thinking>\n\nIt is.", [("thinking", "Is it lit?"), ("text", "It is.")]),
        ("<thinking>Is it lit?</thinking>", [("thinking", "Is it lit?")]),
        ("Use <thinking> here", [("text", "Use <thinking> here")]),
        ("<thinking>not closed", [("text", "<thinking>not closed")]),
    ],
)
def test_a_thought_that_is_written_as_text_is_a_thought(text: str, steps: list[tuple[str, str]]) -> None:
    session = build(a_prompt("go"), a_reply(text))
    (turn,) = session_document(session, session.branches, None)["turns"]
    assert [(step["kind"], step["text"]) for step in turn["steps"]] == steps


def test_what_it_was_told_of_its_budget_and_context_is_said() -> None:
    used = an_attachment("budget_usd", used=1.5, total=5, remaining=3.5)
    told = client_facts(build(a_prompt("go"), used, an_attachment("token_usage", used=12_000, total=200_000)))
    assert list(told.sentences()) == ["budget: $1.50 of $5.00", "context: 12,000 of 200,000 tokens"]


def test_a_session_belongs_to_the_folder_it_was_moved_to() -> None:
    moved = a_line("relocated", relocatedCwd="/srv/new")
    assert build(a_prompt("go", cwd="/srv/old"), moved).project == "/srv/new"


def test_a_worktree_beside_its_project_belongs_to_it() -> None:
    state = a_line("worktree-state", worktreeSession={"worktreePath": "/tmp/lamp", "originalCwd": "/srv/app"})
    assert build(a_prompt("go", cwd="/tmp/lamp/src"), state).project == "/srv/app"
    assert build(a_prompt("go", cwd="/srv/other"), state).project == "/srv/other"
    below = {"worktreePath": "/srv/app/.claude/worktrees/lamp", "originalCwd": "/srv/app"}
    inside = build(a_prompt("go", cwd=below["worktreePath"]), a_line("worktree-state", worktreeSession=below))
    assert inside.project == below["worktreePath"]


def test_a_line_may_follow_the_uuid_that_a_prompt_was_sent_with() -> None:
    sent = a_prompt("go", uuid="new", sentAsUuid="old")
    session = build(sent, a_reply("Done.", to="old", uuid="r"), a_prompt("more", to="r"))
    assert session.tree.orphans == []


def test_what_was_taken_back_is_said() -> None:
    back = a_line(
        "system", subtype="model_refusal_fallback", content="Another model answers", retractedMessageUuids=["a", "b"]
    )
    notices = [
        step.text for turn in build(a_prompt("go"), back).turns for step in turn.steps if isinstance(step, Notice)
    ]
    assert notices == ["Another model answers", "2 lines before taken back by the client"]


def test_a_thought_has_the_thinking_that_was_billed_for_its_response() -> None:
    usage = {"input_tokens": 1, "output_tokens": 90, "output_tokens_details": {"thinking_tokens": 80}}
    session = build(
        a_prompt("go"), a_reply(thinking="a visible summary", usage=usage), a_reply(thinking="of an older client")
    )
    assert [thought.billed_tokens for thought in session.thoughts] == [80, None]


def test_a_worktree_that_was_left_is_no_longer_said() -> None:
    worktree = {"worktreePath": "/w"}
    left = build(a_line("worktree-state", worktreeSession=worktree), a_line("worktree-state", worktreeSession=None))
    assert client_facts(left).worktree == ""


def test_they_are_above_the_session_and_in_its_document() -> None:
    session = a_moved_session()
    lines = list(session_lines(session, session.branches[:1], None, View(width=100, style=Style(False))))
    wanted = ["tag: release", "agent: reviewer", "worktree: /srv/app/.worktrees/lamp (branch lamp)"]
    wanted += ["moved to /srv/app", "knows from session 0a0a"]
    assert [line for line in lines if line in wanted] == wanted
    assert session_document(session, session.branches, None)["session"]["client"]["continued_in"] == "5e55"


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        ("thinking_stripped", {"scope": "all"}, "thinking taken out of what the model sees"),
        ("thinking_stripped", {"scope": "partial"}, "a part of the thinking taken out of what the model sees"),
        (
            "tool_results_cut",
            {"callIds": ["a", "b"], "roughTokens": 12000},
            "results of tools (2, about 12,000 tokens) taken out of what the model sees",
        ),
        ("whole_texts_withdrawn", {}, "whole texts of files taken out of what the model sees"),
        ("instruction_files_not_loaded", {"paths": ["a/CLAUDE.md"]}, "instruction files not loaded: a/CLAUDE.md"),
        ("memory_update", {"summary": "uses tabs"}, "memory: uses tabs"),
        (
            "hook_permission_decision",
            {"decision": "allow", "hookEvent": "PermissionRequest"},
            "allow by a hook (PermissionRequest)",
        ),
    ],
)
def test_what_the_client_did_to_the_context_is_said_where_it_happened(
    kind: str, fields: dict[str, Any], text: str
) -> None:
    session = build(a_prompt("go"), an_attachment(kind, **fields), a_reply("Done."))
    assert [step.text for turn in session.turns for step in turn.steps if isinstance(step, Notice)] == [text]


@pytest.mark.parametrize("kind", ["token_usage", "budget_usd", "invoked_skills", "plan_file_reference", "instructions"])
def test_what_is_for_the_model_alone_is_no_notice(kind: str) -> None:
    session = build(a_prompt("go"), an_attachment(kind), a_reply("Done."))
    assert not [step for turn in session.turns for step in turn.steps if isinstance(step, Notice)]
