"""One API response is one message and one request, however many lines show it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reread.sessions import Session
from reread.testing import (
    Entry,
    a_line,
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_thought,
    a_tool_call,
    a_tool_result,
    a_usage,
    build,
)


def outputs(session: Session) -> list[int]:
    return [request.output for request in session.requests]


def test_the_lines_of_a_response_are_one_message_wherever_they_stand() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call(id="a"), id="msg_x"),
        a_tool_result("1", of="a"),
        a_reply(a_tool_call(id="b"), id="msg_x"),
        a_tool_result("2", of="b"),
        a_reply("done", id="msg_y"),
    )
    assert [message.id for message in session.assistant_messages] == ["msg_x", "msg_y"]
    assert len(session.assistant_messages[0].blocks) == 2
    assert outputs(session) == [20, 20]
    assert session.usage.requests == 2


def test_every_user_line_is_a_message_of_its_own() -> None:
    session = build(a_prompt("a"), a_reply(a_tool_call()), a_tool_result("x"), a_prompt("b"))
    assert [message.role for message in session.messages] == ["user", "assistant", "user", "user"]
    assert [message.text for message in session.user_messages] == ["a", "", "b"]


def test_the_row_with_most_output_tells_the_usage() -> None:
    rows = [a_usage(50, 2, cache_read=10_000), a_usage(50, 400, cache_read=10_000), a_usage(50, 2, cache_read=9)]
    session = build(a_prompt("go"), a_reply(a_thought("hm"), "a", "b", usage=rows))
    assert outputs(session) == [400]
    assert session.usage.cache_read_tokens == 10_000
    usage = session.assistant_messages[0].usage
    assert usage is not None
    assert usage.output_tokens == 400


def test_on_a_tie_the_last_row_does() -> None:
    session = build(a_reply("a", "b", usage=[a_usage(1, 7), a_usage(2, 7)]))
    assert session.usage.input_tokens == 2
    usage = session.assistant_messages[0].usage
    assert usage is not None
    assert usage.input_tokens == 2


def test_the_winner_is_one_whole_row_and_brings_its_model() -> None:
    first = a_reply(
        "a", id="msg_x", model="claude-fable-5-1", usage=a_usage(400, 3, cache_write=8000, cache_write_1h=8000)
    )
    second = a_reply("b", id="msg_x", model="claude-opus-4-8", usage=a_usage(400, 600, cache_read=8000))
    session = build(a_prompt("go"), first, second)
    assert [request.model for request in session.requests] == ["claude-opus-4-8"]
    assert session.usage.cache_write_tokens == 0
    assert session.usage.nanodollars == 21_000_000


def test_searches_are_the_most_any_row_counted() -> None:
    rows = [a_usage(1, 1, web_searches=3), a_usage(1, 9, web_searches=1)]
    assert build(a_reply("a", "b", usage=rows)).usage.web_searches == 3


def test_the_request_id_of_the_api_does_not_split_a_response() -> None:
    session = build(a_reply("a", id="msg_x", requestId="req_1"), a_reply("b", id="msg_x", requestId="req_2"))
    assert outputs(session) == [20]


def gateway(text: str, **fields: Any) -> Entry:
    return a_reply(text, id="ocgo", **{"requestId": None, **fields})


def test_a_gateway_that_answers_every_call_with_one_id_made_a_request_each_time() -> None:
    session = build(a_prompt("one"), gateway("a"), a_prompt("two"), gateway("b"))
    assert len(session.requests) == 2
    assert session.usage.output_tokens == 40


def test_rows_of_one_gateway_response_are_one_request() -> None:
    session = build(
        a_prompt("one"), a_reply("a", a_tool_call(), thinking="hm", id="ocgo", requestId=None), a_tool_result("x")
    )
    assert len(session.requests) == 1


def test_parallel_rows_of_a_gateway_response_are_told_by_their_chain() -> None:
    session = build(
        a_prompt("one"),
        a_reply(a_tool_call(id="a"), id="ocgo", requestId=None, uuid="x"),
        a_tool_result("1", of="a"),
        a_reply(a_tool_call(id="b"), id="ocgo", requestId=None, to="x"),
        a_tool_result("2", of="b"),
        a_reply("next", id="ocgo", requestId=None, usage=a_usage(80, 20)),
    )
    assert len(session.requests) == 2


@pytest.mark.parametrize("name", ["0b0c7e52-5a5f-4a0e-9a31-6f2f0b3f9f10", "ocgo"])
def test_a_result_between_the_calls_of_a_gateway_response_makes_no_second_one(name: str) -> None:
    """Since about 2.1.29 the client writes each result below its call, and the next call of the response below that."""
    about: dict[str, Any] = {"id": name, "requestId": None}
    session = build(
        a_prompt("one"),
        a_reply(a_tool_call(id="a"), usage=a_usage(500, 40), **about),
        a_tool_result("1", of="a"),
        a_reply(a_tool_call(id="b"), usage=a_usage(500, 40), **about),
        a_tool_result("2", of="b"),
        a_reply("next", usage=a_usage(620, 7), **about),
    )
    assert outputs(session) == [40, 7]


def test_dated_rows_of_a_gateway_that_no_chain_holds_together_are_responses_of_their_own() -> None:
    first, second = (gateway(text, parentUuid=None) for text in "ab")
    assert len(build(a_prompt("one"), first, second).requests) == 2


def test_a_gateway_request_id_tells_responses_apart() -> None:
    session = build(gateway("a", requestId="r1"), gateway("b", requestId="r1"), gateway("c", requestId="r2"))
    assert len(session.requests) == 2


def test_a_forks_copy_of_a_gateway_response_is_the_response_of_the_session_that_asked() -> None:
    """2.1.327 writes who asked for it; the id of a gateway alone tells nothing."""
    asked = gateway("a", requestId="r1", sessionId="one", timestamp="2026-11-18T10:00:00Z")
    copied = gateway("a", requestId="r1", sessionId="two", requestSessionId="one", timestamp="2026-11-18T10:00:00Z")
    (first,), (second,) = build(asked).requests, build(copied).requests
    assert first.key == second.key


def test_a_line_without_any_id_is_a_request_of_its_own() -> None:
    session = build(a_reply("a", id=None), a_reply("b", id=None))
    assert len(session.requests) == 2
    assert [message.id for message in session.assistant_messages] == [None, None]


def test_what_looks_like_a_message_and_is_none_is_not_counted() -> None:
    session = build(
        a_prompt("go"),
        a_reply("API Error", model="<synthetic>", isApiErrorMessage=True, usage=a_usage(0, 0)),
        a_reply("no usage", usage=[None]),
        a_line("api-request-blob", message={"id": "msg_z", "usage": a_usage(), "content": "x"}),
        a_line("progress", data={"type": "agent_progress", "agentId": "a", "message": {"usage": a_usage()}}),
        a_line("cost-state", totalCostUSD=9.5),
        a_line("result", usage=a_usage()),
    )
    assert session.requests == ()
    assert session.cost is None
    assert session.usage.total_tokens == 0


def test_agents_are_in_the_total_and_each_response_is_counted_once() -> None:
    copied = a_reply("copied", id="msg_shared", usage=a_usage(1, 100, cache_read=3_000))
    replay = a_reply("copied", id="msg_shared", usage=a_usage(1, 100, cache_read=500_000), requestId="other")
    session = build(
        a_prompt("go"),
        copied,
        a_subagent(a_prompt("look"), replay, a_reply("own", usage=a_usage(1, 7)), id="aside_question-1"),
    )
    assert session.usage.output_tokens == 100
    assert session.total_usage.output_tokens == 107
    assert session.total_usage.cache_read_tokens == 3_000


def test_a_copied_line_in_the_same_file_changes_nothing() -> None:
    once = a_session(a_prompt("a", uuid="a"), a_reply("b", uuid="b", id="msg_1"))
    again = [a_prompt("a", uuid="a", timestamp="2026-01-05T09:00:01.000Z")]
    twice = a_session(*once.entries, *again).build()
    assert twice.usage == once.build().usage
    assert [message.text for message in twice.messages] == ["a", "b"]
    assert [left.reason for left in twice.coverage.unplaced] == ["repeats an earlier line"]


def test_the_usage_of_a_turn_is_that_of_its_responses() -> None:
    session = build(a_prompt("a"), a_reply("x", usage=a_usage(1, 5)), a_prompt("b"), a_reply("y", usage=a_usage(1, 7)))
    assert [session.usage_of(turn).output_tokens for turn in session.turns] == [5, 7]


def test_the_tokens_of_a_message_are_estimated_from_what_it_says() -> None:
    reply = a_reply(a_thought("x" * 10), "y" * 9, a_tool_call("Bash", {"command": "ls"}), a_tool_call("Read", {}))
    [message] = build(a_prompt("go"), reply).assistant_messages
    assert len(json.dumps({"command": "ls"})) == 17
    assert message.estimated_tokens == (10 + 9 + 17) // 4


def test_one_request_is_made_as_all_of_them_are() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call(id="a"), "one moment", id="msg_x", usage=[a_usage(1, 2), a_usage(1, 9)]),
        a_tool_result("1", of="a"),
        a_reply("undated", id="msg_y", timestamp=None),
        a_reply("without usage", id="msg_z", usage=[None]),
        a_reply("done", id="msg_w"),
    )
    assert [session.request(number) for number in range(3)] == list(session.requests)
    assert session.requests[1].time is not None  # that of the result before it
