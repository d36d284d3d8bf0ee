"""Questions over many sessions: a line that a fork copied is told once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET, UnsetType

from reread.archive import Archive
from reread.archive.answers import decisions, prompts, thinking, tools
from reread.archive.filters import Filter
from reread.features.tool_use import ASKING
from reread.loading import SourceTree
from reread.testing import (
    ContentBlock,
    Entry,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_tool_call,
    a_tool_result,
    build,
)

ERAS = Path(__file__).parents[1] / "eras"
FORKS = ["e09-fork", "e11-fork"]


def expected(era: str, key: str) -> list[Any]:
    cases = json.loads((ERAS / era / "expected.json").read_text("utf-8"))["sessions"]
    return [item for case in cases for item in case[key]]


@pytest.mark.parametrize("era", FORKS)
def test_thoughts_of_a_fork_are_told_once(era: str) -> None:
    answer = thinking(SourceTree([ERAS / era / "source"]), Filter(), 11)
    texts = [found.thought.text for found in answer.thoughts]
    assert sorted(texts) == sorted(set(expected(era, "thinking")))
    assert len(texts) < len(expected(era, "thinking"))


@pytest.mark.parametrize("era", FORKS)
def test_prompts_of_a_fork_are_told_once(era: str) -> None:
    texts = [found.prompt.text for found in prompts(SourceTree([ERAS / era / "source"]), Filter()).prompts]
    assert sorted(texts) == sorted(set(expected(era, "prompts")))
    assert len(texts) < len(expected(era, "prompts"))


@pytest.mark.parametrize("era", FORKS)
def test_calls_of_a_fork_are_counted_once(era: str) -> None:
    counted = {count.name: count.calls for count in tools(SourceTree([ERAS / era / "source"]), Filter())}
    distinct = {(call, name) for call, name, _ in expected(era, "tool_calls")}
    assert counted == Counter(name for _, name in distinct)
    assert sum(counted.values()) < len(expected(era, "tool_calls"))


def test_the_same_words_typed_twice_are_two_prompts() -> None:
    session = build(a_prompt("go"), a_reply("a"), a_prompt("go"), a_reply("b"))
    assert [found.prompt.text for found in prompts([session], Filter()).prompts] == ["go", "go"]


def test_the_same_thought_of_two_responses_is_two_thoughts() -> None:
    session = build(a_prompt("q"), a_reply("a", thinking="let me see first"), a_reply("b", thinking="let me see first"))
    assert len(thinking([session], Filter(), 11).thoughts) == 2


def test_a_limit_keeps_the_newest() -> None:
    session = build(a_prompt("old"), a_reply("a"), a_prompt("new"))
    assert [found.prompt.text for found in prompts([session], Filter(limit=1)).prompts] == ["new"]


def test_calls_of_agents_are_counted_with_their_session() -> None:
    session = build(
        a_prompt("q"),
        a_reply(a_tool_call("Task", id="toolu_1")),
        a_subagent(
            a_prompt("t"), a_reply(a_tool_call("Grep", id="toolu_2")), a_tool_result(of="toolu_2"), of="toolu_1"
        ),
    )
    assert [(count.name, count.calls) for count in tools([session], Filter())] == [("Grep", 1), ("Task", 1)]


def test_agents_inside_the_trunks_file_are_counted_once() -> None:
    session = build(
        a_prompt("q"),
        a_reply(a_tool_call("Task", id="toolu_1"), "text"),
        a_subagent(
            a_prompt("t"), a_reply(a_tool_call("Grep", id="toolu_2"), thinking="inside the file"), where="inside"
        ),
        a_reply("end"),
    )
    assert {count.name: count.calls for count in tools([session], Filter())}.get("Grep") == 1
    assert len(thinking([session], Filter(), 11).thoughts) == 1


def a_question(words: str, *, id: str | UnsetType) -> ContentBlock:  # noqa: A002
    return a_tool_call("AskUserQuestion", {"questions": [{"question": words, "options": [{"label": "yes"}]}]}, id=id)


def answered(words: str, *, of: str, uuid: str) -> Entry:
    return a_tool_result("answered", of=of, twin={"questions": [], "answers": {words: "yes"}}, uuid=uuid)


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected"


def a_talk_with_questions() -> list[Entry]:
    beside = a_tool_call("Bash", id="toolu_beside")
    return [
        a_prompt("begin", uuid="a"),
        a_reply(a_question("Which port?", id="toolu_port"), beside, uuid="b"),
        a_tool_result("toolu_port waits for an answer", of="toolu_beside", uuid="c"),
        answered("Which port?", of="toolu_port", uuid="d"),
        a_reply(a_question("Which mast?", id="toolu_mast"), uuid="e"),
        a_tool_result(REFUSED, of="toolu_mast", is_error=True, uuid="f"),
    ]


def kept_questions(tmp_path: Path) -> Path:
    """Answered, refused, never answered and without an id; in an agent, and again in a fork."""
    an_agent = a_subagent(
        a_prompt("t"),
        a_reply(a_question("Which rope?", id="toolu_rope")),
        answered("Which rope?", of="toolu_rope", uuid="g"),
        of="toolu_task",
    )
    asked = [
        *a_talk_with_questions(),
        *(a_reply(a_tool_call("Task", id="toolu_task")), an_agent),
        a_reply(a_question("Which sail?", id="toolu_sail")),
    ]
    forked = [*a_talk_with_questions(), *[a_prompt("go on")] * 5, a_reply(a_question("Which flag?", id=UNSET))]
    for name, entries in (("1", asked), ("2", forked)):
        a_session(*entries, id=f"{name}0000000-0000-4000-8000-000000000000").write(tmp_path / "claude" / "projects")
    return tmp_path / "claude"


def test_questions_are_found_by_rows_as_by_reading_every_session(tmp_path: Path) -> None:
    with Archive(tmp_path / "home", [kept_questions(tmp_path)]) as archive:
        archive.sync()
        found = archive.decisions()
        assert found == decisions(archive.read_all(Filter(tool=ASKING)), Filter())
        assert {each.question: (each.status, each.agent is not None) for each in found} == {
            "Which port?": ("answered", False),
            "Which mast?": ("rejected", False),
            "Which rope?": ("answered", True),
            "Which sail?": ("unanswered", False),
            "Which flag?": ("unanswered", False),
        }
        assert len(found) == 5, "a fork asks nothing again"
        assert archive.decisions(limit=2) == found[:2]
        assert [each.question for each in archive.decisions(topic="mast")] == ["Which mast?"]
        assert archive.decisions(tool="Bash") == found, "both sessions called it"
        assert archive.decisions(tool="Task") == [each for each in found if each.session.startswith("1")]


def test_a_question_is_read_without_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_session(*a_talk_with_questions()).write(tmp_path / "claude" / "projects")
    with Archive(tmp_path / "home", [tmp_path / "claude"]) as archive:
        archive.sync()
        monkeypatch.setattr(Archive, "session", None)
        assert [each.answer for each in archive.decisions()] == [None, "yes"]
