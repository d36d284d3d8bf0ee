"""Agents that no call names are told, too: nothing of a session is left out silently."""

from __future__ import annotations

from datetime import UTC

import pytest

from reread.sessions import Session
from reread.testing import a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result
from reread.views.html.session import page_of
from reread.views.session_json import session_document
from reread.views.terminal import session_lines
from reread.views.text import Style
from reread.views.values import View


@pytest.fixture
def session() -> Session:
    return a_session(
        a_prompt("go"),
        a_reply(a_tool_call("Task", {"prompt": "the task"}, id="t1")),
        a_subagent(a_prompt("the task"), a_reply("said by the one that was called"), id="abc", of="t1"),
        a_subagent(a_prompt("another task"), a_reply("said by the lone one"), id="def"),
        a_subagent(a_prompt("what next?"), a_reply("a suggestion nobody took"), id="aprompt_suggestion-1"),
        a_tool_result("done", of="t1"),
    ).build()


def shown(session: Session, turns: range | None = None, tools: str = "brief") -> str:
    view = View(width=80, style=Style(colour=False), timezone=UTC, tools=tools)
    return "\n".join(session_lines(session, session.branches, turns, view))


def test_a_terminal_shows_them_behind_the_turns(session: Session) -> None:
    called, lone = shown(session).split("─── agents that no call names ─")
    assert "said by the one that was called" in called
    assert "said by the lone one" in lone
    assert "said by the one that was called" not in lone
    assert "a suggestion nobody took" not in lone


def test_a_page_names_those_without_a_description_by_their_kind_alone(session: Session) -> None:
    page = page_of(session)
    assert [agent.title for agent in page.lone_agents] == ["task", "prompt_suggestion"]


@pytest.mark.parametrize(("turns", "tools"), [(range(1, 2), "brief"), (None, "none")])
def test_some_turns_or_words_alone_are_shown_without_them(session: Session, turns: range | None, tools: str) -> None:
    assert "said by the lone one" not in shown(session, turns, tools)


def test_the_document_has_their_turns_and_those_of_the_others_once(session: Session) -> None:
    told = {agent["id"]: agent.get("turns") for agent in session_document(session, session.branches, None)["subagents"]}
    assert told["abc"] is None
    assert [step["text"] for turn in told["def"] for step in turn["steps"]] == ["said by the lone one"]
    assert [step["text"] for turn in told["aprompt_suggestion-1"] for step in turn["steps"]] == [
        "a suggestion nobody took"
    ]
