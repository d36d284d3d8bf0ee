"""Subagents of every era find the call that started them, by the strongest evidence there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reread
from reread.sessions import AgentKind, Session, Subagent
from reread.testing import (
    Agent,
    ContentBlock,
    Entry,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_task_notification,
    a_tool_call,
    a_tool_result,
    a_usage,
    build,
)


def a_task(id: str, prompt: str = "look around", name: str = "Agent") -> ContentBlock:  # noqa: A002
    return a_tool_call(name, {"prompt": prompt, "subagent_type": "Explore"}, id=id)


def work(prompt: str = "look around") -> tuple[Entry, Entry]:
    return a_prompt(prompt), a_reply("seen")


def linked(session: Session) -> dict[str, str | None]:
    return {agent.id: agent.call.id if agent.call else None for agent in session.subagents}


def one_agent(*between: Entry, agent: Agent) -> Subagent:
    (found,) = build(a_prompt("go"), a_reply(a_task("t1"), a_task("t2", "other")), *between, agent).subagents
    return found


class TestEvidence:
    def test_1_the_meta_file(self) -> None:
        agent = one_agent(agent=a_subagent(*work("no hint"), of="t2"))
        assert agent.call is not None
        assert (agent.call.id, agent.parent, agent.type) == ("t2", None, "general-purpose")

    def test_2_the_agent_id_in_the_result(self) -> None:
        agent = one_agent(
            a_tool_result("done", of="t2", twin={"agentId": "a1", "status": "completed"}),
            agent=a_subagent(*work("no hint")),
        )
        assert agent.call is not None
        assert agent.call.id == "t2"

    def test_3_the_agent_id_in_the_text_of_the_result(self) -> None:
        agent = one_agent(
            a_tool_result("Async agent launched\nagentId: a1 (internal)", of="t2"), agent=a_subagent(*work("no hint"))
        )
        assert agent.call is not None
        assert agent.call.id == "t2"

    def test_3_a_task_notification(self) -> None:
        agent = one_agent(
            a_tool_result("launched", of="t2"),
            a_task_notification("finished", task="a1", call="t2"),
            agent=a_subagent(*work("no hint")),
        )
        assert agent.call is not None
        assert agent.call.id == "t2"

    def test_4_a_progress_line(self) -> None:
        agent = one_agent(
            a_line("progress", data={"type": "agent_progress", "agentId": "a1"}, parentToolUseID="t2"),
            agent=a_subagent(*work("no hint")),
        )
        assert agent.call is not None
        assert agent.call.id == "t2"

    def test_5_the_same_prompt_whatever_its_spaces(self) -> None:
        agent = one_agent(agent=a_subagent(*work(" look\n around ")))
        assert agent.call is not None
        assert (agent.call.id, agent.type) == ("t1", "Explore")

    def test_6_without_any_it_is_listed_unlinked(self) -> None:
        agent = one_agent(agent=a_subagent(*work("no hint")))
        assert agent.call is None
        assert agent.kind is AgentKind.TASK

    def test_stronger_evidence_wins(self) -> None:
        agent = one_agent(a_tool_result("x", of="t1", twin={"agentId": "a1"}), agent=a_subagent(*work(), of="t2"))
        assert agent.call is not None
        assert agent.call.id == "t2"

    def test_evidence_that_names_no_call_is_passed_over(self) -> None:
        agent = one_agent(a_tool_result("x", of="t2", twin={"agentId": "a1"}), agent=a_subagent(*work(), of="gone"))
        assert agent.call is not None
        assert agent.call.id == "t2"


def test_two_agents_with_one_prompt_take_a_call_each() -> None:
    session = build(
        a_prompt("go"), a_reply(a_task("t1"), a_task("t2")), a_subagent(*work(), id="a1"), a_subagent(*work(), id="a2")
    )
    assert linked(session) == {"a1": "t1", "a2": "t2"}


def test_agents_whose_calls_a_gateway_gives_one_id_take_a_call_each() -> None:
    task = [a_reply(a_task("call_0", prompt)) for prompt in ("one", "two")]
    done = [a_tool_result("done", twin={"agentId": name, "status": "completed"}) for name in ("a1", "a2")]
    agents = [a_subagent(*work("no hint"), id=name, of="call_0") for name in ("a1", "a2")]
    session = build(a_prompt("go"), task[0], done[0], task[1], done[1], *agents)
    assert linked(session) == {"a1": "call_0", "a2": "call_0#2"}
    assert [agent.call.input["prompt"] for agent in session.subagents if agent.call] == ["one", "two"]


def test_an_agent_may_start_an_agent() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_task("t1")),
        a_subagent(a_prompt("look around"), a_reply(a_task("t2", "deeper")), id="a1", of="t1"),
        a_subagent(*work("deeper"), id="a2", of="t2"),
    )
    outer, inner = session.subagents
    assert (outer.id, outer.parent) == ("a1", None)
    assert (inner.id, inner.parent) == ("a2", "a1")
    assert [call.id for call in session.tool_calls] == ["t1"]
    assert session.agents_by_call["t2"] is inner


def test_a_meta_file_without_a_transcript_makes_no_agent() -> None:
    session = build(a_prompt("go"), a_reply(a_task("t1")), a_subagent(id="a1", of="t1"))
    assert session.subagents == ()


def test_agents_stand_in_the_order_they_started() -> None:
    session = build(
        a_prompt("go"), a_subagent(*work("x"), id="z"), a_subagent(*work("y"), id="a"), a_subagent(*work("w"), id="m")
    )
    assert [agent.id for agent in session.subagents] == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("id", "prompt", "kind"),
    [
        ("a1b2c3d4", "look", AgentKind.TASK),
        ("a1b2c3d4", "Warmup", AgentKind.WARMUP),
        ("aprompt_suggestion-1f", "x", AgentKind.PROMPT_SUGGESTION),
        ("acompact-1f", "x", AgentKind.COMPACTION),
        ("aside_question-1f", "x", AgentKind.SIDE_QUESTION),
    ],
)
def test_an_agent_says_by_its_name_why_it_ran(id: str, prompt: str, kind: AgentKind) -> None:  # noqa: A002
    session = build(a_prompt("go"), a_subagent(*work(prompt), id=id))
    (agent,) = session.subagents
    assert agent.kind is kind
    assert (agent in session.working_agents) is (kind is AgentKind.TASK)


def test_a_warmup_somebody_asked_for_is_a_task() -> None:
    agent = one_agent(agent=a_subagent(*work("Warmup"), of="t1"))
    assert agent.kind is AgentKind.TASK


class TestInline:
    def test_sidechain_lines_of_the_trunk_are_agents(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply(a_task("t1", name="Task")),
            a_subagent(a_prompt("look around"), a_reply("seen", usage=a_usage(1, 7)), where="inside"),
            a_tool_result("seen", of="t1"),
            a_reply("done", usage=a_usage(1, 5)),
        )
        (agent,) = session.subagents
        assert agent.is_recorded_inline
        assert agent.call is not None
        assert agent.call.id == "t1"
        assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["go"]
        assert session.total_usage == session.usage
        assert session.usage.output_tokens == 20 + 7 + 5

    def test_two_of_them_are_told_apart_by_their_roots(self) -> None:
        session = build(
            a_prompt("go"),
            a_reply(a_task("t1", "one"), a_task("t2", "two")),
            a_subagent(*work("two"), where="inside"),
            a_subagent(*work("one"), where="inside"),
            a_tool_result("x", of="t1"),
        )
        assert [(agent.task, agent.call.id) for agent in session.subagents if agent.call] == [
            ("two", "t2"),
            ("one", "t1"),
        ]

    def test_lines_of_a_stream_name_their_call(self) -> None:
        of_agent: dict[str, Any] = {"sessionId": None, "session_id": "s", "parent_tool_use_id": "t1"}
        session = build(
            a_prompt("go"),
            a_reply(a_task("t1", "x")),
            a_prompt("x", to=None, **of_agent),
            a_reply("seen", **of_agent),
            a_reply("done"),
        )
        assert linked(session) == {"t1": "t1"}

    def test_every_line_is_in_the_trunk_or_in_its_agent(self) -> None:
        session = build(a_prompt("go"), a_subagent(*work(), where="inside"), a_reply("done"))
        assert len(session.line) + sum(len(agent.line) for agent in session.subagents) == len(session.records)

    def test_a_file_of_agent_lines_only_is_read_for_itself(self) -> None:
        session = a_session(a_subagent(*work(), where="inside")).build()
        assert [turn.prompt.text for turn in session.turns if turn.prompt] == ["look around"]
        assert session.subagents == ()


class TestFiles:
    def load(self, tmp_path: Path, *agents: Agent) -> Session:
        transcript = a_session(a_prompt("go"), a_reply(a_task("t1")), *agents)
        return reread.load(transcript.write(tmp_path))

    def test_below_the_session(self, tmp_path: Path) -> None:
        assert linked(self.load(tmp_path, a_subagent(*work("no hint"), of="t1"))) == {"a1": "t1"}

    def test_beside_the_trunk(self, tmp_path: Path) -> None:
        assert linked(self.load(tmp_path, a_subagent(*work(), id="0a1b2c3d", where="beside"))) == {"0a1b2c3d": "t1"}

    def test_agents_of_other_sessions_beside_it_are_left_alone(self, tmp_path: Path) -> None:
        a_session(a_prompt("other"), a_subagent(*work(), id="0a1b2c3d", where="beside"), id="other").write(tmp_path)
        assert self.load(tmp_path).subagents == ()

    def test_of_a_workflow(self, tmp_path: Path) -> None:
        session = self.load(tmp_path, a_subagent(*work("step one"), workflow="w-1"))
        (agent,) = session.subagents
        assert (agent.kind, agent.workflow) == (AgentKind.WORKFLOW, "w-1")
        assert agent in session.working_agents
        assert session.total_usage.output_tokens == 40

    def test_what_is_written_reads_as_what_is_built(self, tmp_path: Path) -> None:
        transcript = a_session(
            a_prompt("go"), a_reply(a_task("t1")), a_subagent(*work(), of="t1"), a_tool_result("seen", of="t1")
        )
        loaded, built = reread.load(transcript.write(tmp_path)), transcript.build()
        assert loaded.id == built.id == transcript.id
        assert loaded.records == tuple(transcript.records())
        assert (linked(loaded), loaded.total_usage) == (linked(built), built.total_usage)
