"""R5: agents of every era count, under the session that started them, and side files do not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from accounting.books import ANN, BOB, Books, a_response, nano
from reread.testing import a_prompt, a_subagent, a_usage

OWN = 10 * 5_000 + 200 * 25_000
AGENTS = 1 * 5_000 + 3 * 25_000


@pytest.mark.parametrize(
    "place",
    [
        pytest.param({"where": "below"}, id="2.1 folder"),
        pytest.param({"where": "beside"}, id="2.0 file beside"),
        pytest.param({"where": "inside"}, id="1.0 inline"),
        pytest.param({"workflow": "wf_1"}, id="workflow"),
    ],
)
def test_an_agent_counts_under_the_session_that_started_it(books: Books, place: dict[str, Any]) -> None:
    agent = a_subagent(a_prompt("look"), a_response(a_usage(1, 3), id="msg_agent"), id="abc", **place)
    books.write(a_response(a_usage(10, 200), id="msg_own"), agent)
    books.write(a_response(a_usage(10, 200), id="msg_other"), session=BOB)
    rows = books.by("session")
    assert (rows[ANN]["requests"], nano(rows[ANN]["cost_usd"])) == (2, OWN + AGENTS)
    assert (rows[ANN]["subagents"]["requests"], nano(rows[ANN]["subagents"]["cost_usd"])) == (1, AGENTS)
    assert (rows[BOB]["requests"], rows[BOB]["subagents"]["requests"]) == (1, 0)
    assert books.nanodollars() == 2 * OWN + AGENTS


def test_agents_of_one_session_are_all_in_its_total(books: Books) -> None:
    places: list[dict[str, Any]] = [{"where": "below"}, {"where": "beside"}, {"where": "inside"}, {"workflow": "wf_1"}]
    agents = [
        a_subagent(a_prompt("look"), a_response(a_usage(1, 3), id=f"msg_{i}"), id=f"a{i}", **place)
        for i, place in enumerate(places)
    ]
    books.write(a_response(a_usage(10, 200)), *agents)
    assert books.nanodollars() == OWN + 4 * AGENTS


def test_agents_of_one_name_in_two_workflows_both_count(books: Books) -> None:
    for workflow in ("wf_1", "wf_2"):
        agent = a_subagent(
            a_prompt("look"), a_response(a_usage(1, 3), id=f"msg_{workflow}"), id="a1", workflow=workflow
        )
        books.write(a_response(a_usage(10, 200), id="msg_own"), agent)
    with books.archive() as archive:
        assert [(row.key, row.tokens.requests) for row in archive.usage("session").rows] == [(ANN, 3)]


@pytest.mark.parametrize("workflow", [None, "wf_1"])
def test_a_journal_is_no_transcript(books: Books, workflow: str | None) -> None:
    agent = a_subagent(a_prompt("look"), a_response(a_usage(1, 3)), id="abc", workflow=workflow)
    books.write(a_response(a_usage(10, 200)), agent)
    folder = next(books.source.rglob("agent-abc.jsonl")).parent
    message = {"id": "msg_J", "model": "claude-opus-4-8", "role": "assistant", "content": [], "usage": a_usage(10, 200)}
    line = {"type": "assistant", "uuid": "j", "timestamp": "2026-11-02T10:00:00.000Z", "message": message}
    (folder / "journal.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    assert books.nanodollars() == OWN + AGENTS
    assert list(books.by("session")) == [ANN]


def test_an_agent_whose_session_is_gone_still_counts(books: Books) -> None:
    trunk = books.write(a_response(a_usage(10, 200)), a_subagent(a_prompt("look"), a_response(a_usage(1, 3)), id="abc"))
    trunk.unlink()
    assert nano(books.usage()["totals"]["cost_usd"]) == AGENTS
    assert list(books.by("session")) == [ANN]


def test_two_agents_that_tell_of_one_response_count_it_once(books: Books) -> None:
    agents = [a_subagent(a_prompt("x"), a_response(a_usage(1, 3), id="msg_shared"), id=name) for name in ("a1", "a2")]
    books.write(a_response(a_usage(10, 200)), *agents)
    assert books.nanodollars() == OWN + AGENTS
