"""Agents that only progress lines of the trunk tell of: shown, found and counted once, until their file turns up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import reread
from reread.archive import Archive
from reread.archive.answers import tools
from reread.archive.filters import Filter
from reread.archive.search_language import ALL_FIELDS
from reread.blocks.model import CallBlock
from reread.blocks.of_session import SessionBlocks
from reread.features.edits.changes import changes_of
from reread.features.secrets import Redactor, redacted_session
from reread.sessions import CallStatus, Notice, Session
from reread.testing import Entry, a_line, a_prompt, a_reply, a_session, a_subagent, a_tool_call, a_tool_result, build
from reread.views.session_json import session_document
from reread.views.terminal import session_lines
from reread.views.text import Style
from reread.views.values import View

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
WRITTEN = {"file_path": "/app/found.md", "content": "periwinkle\n"}


def progress(number: int, said: dict[str, Any], agent: str = "a1", of: str = "t1", **fields: Any) -> Entry:
    """As 2.1.12 to 2.1.81 wrote it: the agent's own line inside, with an id and a time of its own."""
    message = {"uuid": f"inner-{number}", "timestamp": f"2026-01-05T09:01:0{number}.000Z", **said}
    data = {"type": "agent_progress", "agentId": agent, "prompt": "", "message": message, "normalizedMessages": []}
    return a_line("progress", data=data, parentToolUseID=of, toolUseID="agent_msg_1", **fields)


def user(content: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}}


def reply(*blocks: dict[str, Any], id: str = "msg_agent_1") -> dict[str, Any]:  # noqa: A002
    usage = {"input_tokens": 5, "output_tokens": 700}
    message = {"id": id, "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101"}
    return {"type": "assistant", "requestId": "req_a", "message": {**message, "content": list(blocks), "usage": usage}}


def told(agent: str = "a1") -> list[Entry]:
    call = {"type": "tool_use", "id": "toolu_inner", "name": "Write", "input": WRITTEN}
    result = {"type": "tool_result", "tool_use_id": "toolu_inner", "content": "File created"}
    return [
        progress(1, user("look for marigold"), agent),
        progress(2, reply({"type": "text", "text": "the marigold lies here"}), agent),
        progress(3, reply(call, id="msg_agent_2"), agent),
        progress(4, user([result]), agent),
    ]


def the_session(*more: Any) -> list[Any]:
    task = a_tool_call("Task", {"prompt": "look for marigold", "subagent_type": "Explore"}, id="t1")
    return [a_prompt("go"), a_reply(task), *told(), a_tool_result("done", of="t1"), a_reply("ready"), *more]


def a_file(*, id: str = "a1") -> Any:  # noqa: A002
    call = a_tool_call("Write", WRITTEN, id="toolu_inner")
    return a_subagent(
        a_prompt("look for marigold"), a_reply(call), a_tool_result("File created", of="toolu_inner"), id=id
    )


class TestWithoutAFile:
    def test_it_is_rebuilt_in_the_place_of_its_call_and_says_so(self) -> None:
        session = build(*the_session())
        (agent,) = session.subagents
        assert (agent.id, agent.is_from_progress, agent.type) == ("a1", True, "Explore")
        assert agent.call is not None
        assert agent.call.id == "t1"
        assert agent.task == "look for marigold"
        (turn,) = agent.turns
        assert isinstance(turn.steps[0], Notice)
        assert "from progress lines" in turn.steps[0].text
        assert session.agents_by_call["t1"] is agent

    def test_its_calls_and_files_count_once(self) -> None:
        session = build(*the_session())
        assert [call.name for call in session.tool_calls] == ["Task", "Write"]
        (call,) = session.subagents[0].tool_calls
        assert (call.id, call.status) == ("toolu_inner", CallStatus.OK)
        (change,) = changes_of(session)
        assert (change.key.rpartition("/")[2], change.place.agent) == ("found.md", "a1")

    def test_its_tokens_are_in_no_sum(self) -> None:
        session = build(*the_session())
        alone = build(*(entry for entry in the_session() if entry.lines[0]["type"] != "progress"))
        assert session.total_usage == alone.total_usage
        assert session.subagents[0].usage.output_tokens == 1400

    def test_every_line_keeps_its_place(self) -> None:
        session = build(*the_session())
        assert session.coverage.is_complete
        assert not session.coverage.unplaced

    def test_a_line_that_is_told_twice_is_read_once(self) -> None:
        session = build(*the_session(*told()))
        assert len(session.subagents[0].records) == 4

    def test_they_have_no_price_and_the_heading_says_once_why(self) -> None:
        session = build(*the_session())
        lines = "\n".join(session_lines(session, [session.branches[0]], None, View(200, Style(colour=False))))
        assert lines.count("not in the totals") == 1
        assert [
            block.agent.cost
            for turn in session.turns
            for block in SessionBlocks(session).turn(session, turn)
            if isinstance(block, CallBlock) and block.agent is not None
        ] == [None]

    def test_progress_that_tells_no_line_makes_no_agent(self) -> None:
        lines = [a_line("progress", data=data, parentToolUseID="t1") for data in _WITHOUT_A_LINE]
        assert build(a_prompt("go"), a_reply("ready"), *lines).subagents == ()

    def test_views_show_it(self) -> None:
        session = build(*the_session())
        text = "\n".join(session_lines(session, session.branches, None, View(100, Style(colour=False))))
        assert "the marigold lies here" in text
        assert "from progress lines" in text
        (row,) = session_document(session, session.branches, None)["subagents"]
        assert row["from_progress"] is True

    def test_a_secret_of_it_is_taken_out(self) -> None:
        key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
        line = progress(5, reply({"type": "text", "text": f"the token is {key[:40]}"}, id="msg_agent_3"))
        session = redacted_session(build(*the_session(line)), Redactor())
        assert session.subagents[0].is_from_progress
        assert key[:40] not in str(session_document(session, session.branches, None))


_WITHOUT_A_LINE: tuple[dict[str, Any], ...] = (
    {"type": "agent_progress", "agentId": "a1"},
    {"type": "agent_progress", "agentId": "a1", "message": 5},
    {"type": "agent_progress", "agentId": "a1", "message": {"type": "news"}},
    {"type": "agent_progress", "message": user("hello")},
    {"type": "bash_progress", "output": "x"},
)


class TestWithAFile:
    def test_the_file_wins(self) -> None:
        session = build(*the_session(a_file()))
        (agent,) = session.subagents
        assert not agent.is_from_progress
        assert [call.name for call in session.tool_calls] == ["Task"]
        assert len(changes_of(session)) == 1

    def test_another_agent_is_still_rebuilt(self) -> None:
        session = build(*the_session(a_file(id="b2")))
        assert {agent.id: agent.is_from_progress for agent in session.subagents} == {"a1": True, "b2": False}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "home", [tmp_path / "source"], machine="desk")


def _written(folder: Path, *entries: Any) -> Path:
    return a_session(*entries, id="11111111-1111-4111-8111-111111111111").write(folder)


def _found(archive: Archive, words: str) -> list[str]:
    return [hit.text for hit in archive.search(words, ALL_FIELDS, Filter(), 20).hits]


def _counted(archive: Archive) -> dict[str, int]:
    return {count.name: count.calls for count in tools(archive.read_all(), Filter())}


class TestInTheArchive:
    def test_it_is_searched_listed_and_counted(self, archive: Archive, tmp_path: Path) -> None:
        _written(tmp_path / "source", *the_session())
        archive.sync()
        assert "the marigold lies here" in _found(archive, "marigold lies")
        assert _counted(archive) == {"Task": 1, "Write": 1}
        _, rows = archive.sql("SELECT name FROM tool_call ORDER BY name")
        assert [row[0] for row in rows] == ["Task", "Write"]

    def test_a_hit_leads_to_the_line_that_is_shown(self, archive: Archive, tmp_path: Path) -> None:
        _written(tmp_path / "source", *the_session())
        archive.sync()
        (hit,) = archive.search("marigold lies", ALL_FIELDS, Filter(), 20).hits
        session: Session = archive.session("1111")
        assert hit.uuid in {record.uuid for record in session.subagents[0].records}

    def test_a_file_that_turns_up_later_wins(self, archive: Archive, tmp_path: Path) -> None:
        source = tmp_path / "source"
        trunk = _written(source, *the_session())
        archive.sync()
        before = trunk.read_bytes()
        _written(tmp_path / "other", *the_session(a_file()))
        (file,) = (tmp_path / "other").rglob("agent-a1.jsonl")
        place = source / file.relative_to(tmp_path / "other")
        place.parent.mkdir(parents=True)
        place.write_bytes(file.read_bytes())
        archive.sync()
        assert trunk.read_bytes() == before
        assert _found(archive, "marigold lies") == []
        assert len(_found(archive, "periwinkle")) == 1
        assert _counted(archive) == {"Task": 1, "Write": 1}
        assert archive.safe.verify().ok

    def test_a_copy_of_it_counts_once(self, archive: Archive, tmp_path: Path) -> None:
        source = tmp_path / "source"
        trunk = _written(source, *the_session())
        fork = trunk.with_name("22222222-2222-4222-8222-222222222222.jsonl")
        fork.write_bytes(trunk.read_bytes().replace(b"11111111-1111-4111-8111-111111111111", fork.stem.encode()))
        archive.sync()
        assert _counted(archive) == {"Task": 1, "Write": 1}


@pytest.mark.shared
@pytest.mark.skipif(not CORPUS.is_dir(), reason="no recorded transcripts beside the project")
def test_every_recorded_agent_of_progress_lines_is_there() -> None:
    agents = 0
    for path in sorted(CORPUS.rglob("*.jsonl")):
        if b'"agent_progress"' in path.read_bytes():
            session = reread.load(path)
            rebuilt = [agent for agent in session.subagents if agent.is_from_progress]
            calls = [call.id for call in session.tool_calls]
            assert len(calls) == len(set(calls))
            assert {call.id for agent in rebuilt for call in agent.tool_calls} <= set(calls)
            agents += len(rebuilt)
            assert _named(session) <= {agent.id for agent in session.subagents}
    assert agents > 0


def _named(session: Session) -> set[str]:
    lines = (record.data["data"] for record in session.records if record.type == "progress")
    return {data["agentId"] for data in lines if data["type"] == "agent_progress"}
