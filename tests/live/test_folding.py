"""What the capture of a run tells: records as of a saved stream, and what no transcript has."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from live import frames
from live.captures import (
    START,
    STEP,
    Crossed,
    a_capture,
    a_prompt_sent,
    an_answer,
    an_init,
    an_interrupted_thought,
    sent,
)
from live.frames import FINAL, SESSION
from reread import load
from reread.live.capture_fold import fold, withdrawn_in
from reread.records import Assistant, User
from reread.sessions import Captured, Session, SessionBuilder, ToolPermission, WithdrawnBlock

REPLY = (
    frames.message_start("msg_1", ttft_ms=120)
    + frames.says(0, "An ", "alpaca.")
    + frames.assistant("msg_1", frames.text("An alpaca."), uuid="a1")
    + frames.block_stop(0)
    + frames.message_end()
)
INTERRUPT = frames.user([frames.text("[Request interrupted by user]")], uuid="u2")


def alone(content: bytes) -> Session:
    """The session that a capture makes without a transcript."""
    builder = SessionBuilder()
    builder.add_capture(fold(content, "run.wire"))
    return builder.session()


def withdrawn(captured: Captured) -> list[WithdrawnBlock]:
    return [record for record in captured.records if isinstance(record, WithdrawnBlock)]


def test_a_run_is_a_session_with_the_prompts_that_were_sent() -> None:
    session = alone(a_capture(a_prompt_sent("what is it?", "u1"), an_init(), REPLY))
    assert session.id == SESSION
    assert [prompt.text for prompt in session.prompts] == ["what is it?"]
    assert [message.text for message in session.assistant_messages] == ["An alpaca."]
    assert (session.project, session.versions) == ("/home/ann/app", ("2.1.197",))
    assert session.coverage.is_complete


def test_what_fills_the_context_is_kept_where_it_was_asked() -> None:
    def asked(request: str, subtype: str) -> Crossed:
        return sent(
            json.dumps({"type": "control_request", "request_id": request, "request": {"subtype": subtype}}).encode()
        )

    def answered(request: str) -> bytes:
        given = {"subtype": "success", "request_id": request, "response": {"totalTokens": 9}}
        return frames.frame("control_response", response=given)

    other: list[Crossed | bytes] = [asked("r1", "get_settings"), answered("r1")]
    run = a_capture(an_init(), *other, asked("r2", "get_context_usage"), answered("r2"))
    assert [told for _, told in fold(run, "run.wire").contexts] == [{"totalTokens": 9}]


def test_a_prompt_belongs_to_the_session_that_answers_it() -> None:
    second = "22222222-2222-4333-8444-555555555555"
    cleared = an_init(session_id=second)
    told = fold(a_capture(a_prompt_sent("before"), an_init(), a_prompt_sent("/clear"), cleared, a_prompt_sent("after")))
    prompts = [record for record in told.records if isinstance(record, User)]
    assert [prompt.session_id for prompt in prompts] == [SESSION, second, ""]


def test_rows_carry_the_counts_their_message_ended_with() -> None:
    [request] = alone(a_capture(REPLY)).requests
    assert (request.output, request.stop_reason) == (FINAL["output_tokens"], "end_turn")


def test_what_the_end_of_a_message_leaves_unsaid_was_said_at_its_start() -> None:
    split = {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 3}
    start = {**frames.USAGE, "cache_creation": split, "service_tier": "priority"}
    line = frames.assistant("msg_1", frames.text("An alpaca."), message={"usage": start})
    session = alone(a_capture(frames.message_start("msg_1"), frames.says(0, "An alpaca."), line, frames.message_end()))
    [request] = session.requests
    assert (session.usage.output_tokens, session.usage.cache_write_1h_tokens) == (FINAL["output_tokens"], 3)
    assert request.usage.service_tier == "priority"


def test_times_come_from_the_capture_where_a_frame_has_none() -> None:
    own = "2026-01-05T10:00:00.000Z"
    told = fold(a_capture(a_prompt_sent("a"), frames.user("b", timestamp=own), frames.assistant("m", frames.text("c"))))
    assert [record.time for record in told.records] == [START + STEP, told.records[1].time, START + 3 * STEP]
    assert told.records[1].timestamp == own
    assert (told.started, told.ended) == (START, START + 4 * STEP)


def test_interrupted_thinking_is_kept_in_its_place_and_billed_as_far_as_it_came() -> None:
    content = a_capture(a_prompt_sent("think"), an_interrupted_thought(), INTERRUPT)
    session = alone(content)
    [block] = withdrawn(session.captures[0].told)
    assert (block.text, block.reason, block.message_id) == ("A pangolin crosses the road.", "interrupted", "msg_taken")
    kinds = [type(step).__name__ for step in session.turns[0].steps]
    assert kinds == ["Thought", "Notice"]
    assert [thought.withdrawn for thought in session.thinking()] == ["interrupted"]
    assert (session.usage.requests, session.usage.input_tokens, session.usage.output_tokens) == (1, 3, 2)
    assert session.requests[0].doubt


def test_a_withdrawn_block_is_read_again_from_the_lines_it_names() -> None:
    content = a_capture(
        frames.message_start("msg_1"),
        frames.says(0, "said "),
        frames.thinks(1, "and ", "thought"),
        frames.delta(0, type="text_delta", text="in turns"),
        INTERRUPT,
    )
    blocks = withdrawn(fold(content))
    assert [block.text for block in blocks] == ["said in turns", "and thought"]
    for block in blocks:
        named = content[block.offset : block.offset + len(block.raw)]
        assert withdrawn_in(named) == (block.uuid, block.text)


def test_a_call_that_was_cut_off_is_no_call() -> None:
    session = alone(a_capture(frames.message_start("m"), frames.calls(0, "toolu_1", "Bash", '{"comm'), INTERRUPT))
    assert session.tool_calls == ()
    [notice, _] = session.turns[0].steps
    assert (notice.withdrawn, getattr(notice, "text", "")) == ("interrupted", "Bash, interrupted")


CALL = frames.assistant("msg_1", frames.tool("toolu_1", "Bash", command="ls"), uuid="a1")
ASKED = frames.asks("r1", "Bash", input={"command": "ls"}, tool_use_id="toolu_1", decision_reason="not a safe command")


def permission(*parts: bytes | Crossed) -> ToolPermission:
    [call] = alone(a_capture(CALL, ASKED, *parts)).tool_calls
    assert call.permission is not None
    return call.permission


def test_a_permission_says_when_it_was_asked_and_what_was_answered() -> None:
    told = permission(an_answer("r1", behavior="allow", updatedInput={"command": "ls"}))
    assert (told.decision, told.seconds, told.reason) == ("allow", 0.25, "not a safe command")
    assert (told.is_edited, told.remembered, told.message) == (False, (), None)


def test_a_refusal_has_its_reason() -> None:
    told = permission(an_answer("r1", behavior="deny", message="Not today."))
    assert (told.decision, told.message) == ("deny", "Not today.")


def test_an_input_that_was_edited_is_kept() -> None:
    told = permission(an_answer("r1", behavior="allow", updatedInput={"command": "ls -la"}))
    assert (told.decision, told.edited_input) == ("allow", {"command": "ls -la"})


def test_a_rule_that_was_remembered_is_kept() -> None:
    rule = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    told = permission(an_answer("r1", behavior="allow", updatedInput={"command": "ls"}, updatedPermissions=[rule]))
    assert told.remembered == (rule,)


def test_a_question_that_was_taken_back_or_never_answered_says_so() -> None:
    void = frames.frame("control_cancel_request", request_id="r1")
    assert (permission(void).decision, permission().decision) == ("void", None)


def test_a_message_tells_when_it_began_and_ended() -> None:
    [timing] = fold(a_capture(REPLY)).timings
    assert timing.message_id == "msg_1"
    assert (timing.began, timing.ttft_ms) == (START + STEP, 120)
    assert (timing.first_token, timing.ended) == (START + 3 * STEP, START + 7 * STEP)


def test_a_prompt_that_comes_back_is_one_prompt() -> None:
    once, twice = frames.user("one", isReplay=True), frames.user("two", uuid="u2", isReplay=True)
    told = fold(a_capture(a_prompt_sent("one"), once, a_prompt_sent("two", "u2"), twice, a_prompt_sent("one")))
    assert [record.text for record in told.records if isinstance(record, User)] == ["one", "two", "one"]


def test_a_capture_cut_off_in_a_line_tells_all_that_came_before() -> None:
    whole = a_capture(a_prompt_sent("what is it?"), REPLY, frames.assistant("msg_2", frames.text("lost")))
    cut = whole[: whole.index(b"lost")]
    told = fold(cut)
    assert [record.text for record in told.records if isinstance(record, Assistant)] == ["An alpaca."]
    assert told.malformed == 1
    assert not alone(cut).turns[0].steps[1:]


def test_a_capture_may_end_anywhere() -> None:
    whole = a_capture(a_prompt_sent("think"), an_interrupted_thought(), INTERRUPT, REPLY)
    sizes = [len(fold(whole[:end]).records) for end in range(len(whole) + 1)]
    assert sizes[0] == 0
    assert sizes[-1] == len(fold(whole).records)
    cut = fold(whole[: whole.index(b"[Request")])
    assert [block.reason for block in withdrawn(cut)] == ["cut"]


def test_lines_that_are_none_are_counted_and_passed_by() -> None:
    told = fold(b"no line of ours\n" + a_capture(REPLY) + b"\n")
    assert (told.malformed, [record.text for record in told.records]) == (2, ["An alpaca."])


def test_a_capture_can_be_loaded_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "run.wire"
    path.write_bytes(a_capture(sent(b'{"type":"user","message":{"content":"go"}}'), REPLY))
    session = load(path)
    assert (session.id, session.files) == (SESSION, (str(path),))
    assert session.usage.output_tokens == FINAL["output_tokens"]


CAPTURES = sorted((Path(__file__).parents[1] / "wire" / "captures").rglob("*.wire"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-2:]))
def test_recorded_runs_count_what_their_messages_ended_with(path: Path) -> None:
    session = load(path)
    ends = {
        event["message_id"]: event["usage"]["output_tokens"]
        for event in _message_ends(path)
        if event["delta"].get("stop_reason") is not None
    }
    counted = {request.key: request.output for request in session.requests}
    assert {name: counted.get(name) for name in ends} == ends
    assert session.coverage.is_complete
    for block in withdrawn(session.captures[0].told):
        assert not block.raw or withdrawn_in(block.raw) == (block.uuid, block.text)
    assert session.captures[0].told.ended is None or session.captures[0].told.ended - START > timedelta()


def _message_ends(path: Path) -> list[dict[str, Any]]:
    """The raw `message_delta` events, each with the id of its message."""
    found = []
    message = None
    for line in path.read_bytes().splitlines():
        if line[28:29] != b"<" or b'"stream_event"' not in line:
            continue
        event = json.loads(line[30:])["event"]
        if event["type"] == "message_start":
            message = event["message"]["id"]
        elif event["type"] == "message_delta":
            found.append({**event, "message_id": message})
    return found
