"""Questions over many sessions: a line that a fork copied is told once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reread.archive.answers import prompts, thinking, tools
from reread.archive.filters import Filter
from reread.loading import SourceTree
from reread.testing import a_prompt, a_reply, a_subagent, a_tool_call, a_tool_result, build

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
