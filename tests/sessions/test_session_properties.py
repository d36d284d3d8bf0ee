"""Whatever the lines and however they arrive, the session is whole and the same."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from reread.records import (
    Assistant,
    Attachment,
    QueueOperation,
    Record,
    ServerToolUse,
    Spoken,
    ToolResultLine,
    ToolUse,
    Unknown,
    User,
    decode_all,
)
from reread.sessions import Session, SessionBuilder, WithdrawnBlock
from reread.sessions.agents import _AGENT_ID_IN_TEXT
from reread.sessions.calls import call_identity
from reread.sessions.titles import _one_line

ERAS = Path(__file__).parents[1] / "eras"
FIXTURES = sorted(path for path in ERAS.rglob("*.jsonl") if path.stat().st_size and path.name != "history.jsonl")
fixtures = st.sampled_from(FIXTURES)


@cache
def content(path: Path) -> bytes:
    return path.read_bytes()


def records_of(raw: bytes) -> list[Record]:
    lines = raw.removesuffix(b"\n").split(b"\n")
    return [record for number, line in enumerate(lines, 1) for record in decode_all(line, number)]


def session_of(records: list[Record], *, ask_every: int = 0) -> Session:
    builder = SessionBuilder("s")
    for number, record in enumerate(records):
        builder.add(record)
        if ask_every and number % ask_every == 0:
            reading(builder.session())
    return builder.session()


def reading(session: Session) -> dict[str, Any]:
    """All that must not depend on how the lines arrived."""
    return {
        "turns": [
            (turn.prompt.text if turn.prompt else None, len(turn.steps), len(turn.records)) for turn in session.turns
        ],
        "branches": [(branch.id, branch.leaf, branch.forked_at, branch.certain) for branch in session.branches],
        "calls": [(call.id, call.status) for call in session.tool_calls],
        "usage": session.total_usage,
        "agents": [(agent.id, agent.call.id if agent.call else None) for agent in session.subagents],
        "title": session.title,
        "complete": session.coverage.is_complete,
    }


@settings(max_examples=15)
@given(fixtures, st.integers(1, 9))
def test_asking_in_between_changes_nothing(path: Path, every: int) -> None:
    records = records_of(content(path))
    assert reading(session_of(records, ask_every=max(every, len(records) // 10))) == reading(session_of(records))


@settings(max_examples=40)
@given(fixtures, st.floats(0, 1))
def test_a_file_cut_anywhere_is_the_beginning_of_the_whole(path: Path, part: float) -> None:
    raw = content(path)
    whole, cut = records_of(raw), records_of(raw[: int(len(raw) * part)])
    if cut and isinstance(cut[-1], Unknown) and cut[-1].malformed:
        cut = cut[:-1]
    assert [record.raw for record in cut] == [record.raw for record in whole[: len(cut)]]
    before, after = session_of(cut), session_of(whole)
    assert before.coverage.is_complete
    assert counts_what_is_written(before)
    assert _begins([message.id for message in before.messages], [message.id for message in after.messages])
    assert _begins([call.id for call in before.tool_calls], [call.id for call in after.tool_calls])
    assert _begins([thought.text for thought in before.thoughts], [thought.text for thought in after.thoughts])
    assert before.usage.output_tokens <= after.usage.output_tokens


@given(fixtures)
def test_lines_are_told_apart_as_if_each_were_asked_whether_it_is_one_of_a_kind(path: Path) -> None:
    session = session_of(records_of(content(path)))
    assert session.spoken == tuple(record for record in session.distinct if isinstance(record, Spoken))
    others = [record for record in session.distinct if not isinstance(record, Spoken)]
    assert session.beside == {
        kind: [record for record in others if type(record) is kind] for kind in dict.fromkeys(map(type, others))
    }
    assert list(session.kinds) == [i for i, record in enumerate(session.line) if isinstance(record, User)]
    assert [call.identity for call in session.tool_calls] == [
        call_identity(call.id, call.time) for call in session.tool_calls
    ]
    assert [request.name_in("file") for request in session.requests] == [
        " ".join(map(str, (*["file"] * (request.identity[0] == "line"), *request.identity)))
        for request in session.requests
    ]


def test_kinds_of_lines_and_blocks_have_no_others_below_them() -> None:
    """They are told by their exact type."""
    assert [each for kind in (Assistant, Attachment, QueueOperation, WithdrawnBlock) for each in below(kind)] == []
    assert (below(User), below(ToolUse)) == ([ToolResultLine], [ServerToolUse])


def below(kind: type[Any]) -> list[type[Any]]:
    return [each for one in kind.__subclasses__() for each in (one, *below(one))]


@given(st.lists(st.sampled_from(["agentId:", "agentId", ":", " ", "\n", "a1", "-", "_", "é", "."])).map("".join))
def test_ids_of_agents_are_found_where_a_word_begins(text: str) -> None:
    assert _AGENT_ID_IN_TEXT.findall(text) == re.findall(r"\bagentId:\s*([\w-]+)", text)


@given(st.lists(st.sampled_from(["a", "word", "x" * 150, " ", "  ", "\n", "\u2003"]), max_size=700).map("".join))
@example("a\n" * 99)
@example("a\n" * 300)
def test_a_title_is_the_beginning_of_all_words(text: str) -> None:
    line = " ".join(text.split())
    assert _one_line(text) == (line if len(line) <= 200 else line[:199] + "…")


def counts_what_is_written(session: Session) -> bool:
    """What is told without writing turns is what the written ones show."""
    left = [record for branch in session.branches[1:] for turn in branch.turns for record in turn.records]
    return (
        {id(session.line[i]) for i in session.opening_lines}
        == {id(turn.prompt.record) for turn in session.turns if turn.prompt is not None}
        and session.branch_count == len(session.branches)
        and session.abandoned == {id(record) for record in left}
    )


def _begins(start: list[Any], whole: list[Any]) -> bool:
    return whole[: len(start)] == start


names = st.sampled_from("abcdefgh")
lines = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["user", "user", "assistant", "assistant", "system", "attachment", "progress", "new", "mode"]
        )
    },
    optional={
        "uuid": names,
        "parentUuid": st.none() | names | st.just("missing"),
        "isSidechain": st.booleans(),
        "isMeta": st.booleans(),
        "agentId": st.sampled_from(["a1", None]),
        "teamName": st.sampled_from(["t", None]),
        "isCompactSummary": st.just(True),
        "logicalParentUuid": names,
        "subtype": st.sampled_from(["compact_boundary", "turn_duration", "local_command", "other"]),
        "timestamp": st.sampled_from(["2026-01-05T09:00:00Z", 5, None]),
        "message": st.fixed_dictionaries(
            {},
            optional={
                "id": st.sampled_from(["msg_1", "msg_2", "gateway", None]),
                "content": st.sampled_from(
                    [
                        "words",
                        "",
                        None,
                        "<command-name>/x</command-name>",
                        "[Request interrupted by user]",
                        [{"type": "text", "text": "block"}],
                        [{"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "words"}}],
                        [{"type": "tool_use", "name": "Bash"}, {"type": "tool_use", "name": "Read"}],
                        [{"type": "tool_result", "tool_use_id": "t1", "content": "out"}],
                        [{"type": "thinking", "thinking": "long enough thought"}],
                        [7, None, {"type": "song"}],
                    ]
                ),
                "model": st.sampled_from(["<synthetic>", "claude-opus-4-8"]),
                "usage": st.just({"output_tokens": 3}),
            },
        ),
        "leafUuid": names,
        "operation": st.just("enqueue"),
        "content": st.just("typed"),
    },
)


@given(st.lists(lines | st.just({"type": "last-prompt", "leafUuid": "c"}), max_size=14))
def test_any_graph_of_any_lines_is_read_to_the_end(made: list[dict[str, Any]]) -> None:
    records = [record for line in made for record in decode_all(json.dumps(line).encode())]
    session = session_of(records)
    found = reading(session)
    assert found["complete"]
    assert counts_what_is_written(session)
    assert sorted(session.tree.order) == list(range(len(session.line)))
    placed = [id(record) for branch in session.branches for turn in branch.turns for record in turn.records]
    assert len(placed) == len(set(placed))
    held_by_agents = sum(len(agent.records) for agent in session.subagents)
    assert len(session.line) + held_by_agents + len(session.repeats) == len(records)
    assert all(agent.coverage.is_complete for agent in session.subagents)
    assert all(left.reason == "repeats an earlier line" for left in session.coverage.unplaced)
    assert found == reading(session_of(records, ask_every=1))


@given(st.permutations(range(8)), st.lists(st.integers(-1, 8), min_size=8, max_size=8))
def test_any_links_between_prompts_are_read_to_the_end(order: list[int], parents: list[int]) -> None:
    made = [
        {"type": "user", "uuid": str(n), "parentUuid": str(parents[n]), "message": {"content": f"prompt {n}"}}
        for n in order
    ]
    session = session_of([record for line in made for record in decode_all(json.dumps(line).encode())])
    assert session.coverage.is_complete
    shown = [turn.prompt.text for branch in session.branches for turn in branch.turns if turn.prompt]
    assert sorted(shown) == [f"prompt {n}" for n in range(8)]
    assert counts_what_is_written(session)
    assert session.branches[0].active
    assert [branch.active for branch in session.branches[1:]] == [False] * (len(session.branches) - 1)
