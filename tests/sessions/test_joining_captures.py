"""A captured run and the transcript of it are one session: every line once, what only the wire knew in its place."""

from __future__ import annotations

import json

from live import frames
from live.captures import a_capture, a_prompt_sent, an_interrupted_thought, as_agent_frames, as_frames
from live.frames import SESSION
from reread.live.capture_fold import fold
from reread.records import decode
from reread.sessions import Session, SessionBuilder
from reread.testing import (
    Transcript,
    a_prompt,
    a_queued_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_tool_call,
    a_tool_result,
    an_interrupt,
)


def joined(transcript: Transcript, *captures: bytes) -> Session:
    builder = SessionBuilder(transcript.id)
    for record in transcript.records():
        builder.add(record)
    for name, lines in transcript.agent_lines.items():
        for line in lines:
            builder.add(decode(line), name)
    for number, content in enumerate(captures):
        builder.add_capture(fold(content, f"{number}.wire"))
    return builder.session()


def added(session: Session) -> list[str]:
    return [record.text for capture in session.captures for record in capture.added]


def steps(session: Session) -> list[list[str]]:
    return [[type(step).__name__ + ("*" if step.withdrawn else "") for step in turn.steps] for turn in session.turns]


TRANSCRIPT = a_session(
    a_prompt("look", uuid="u1"),
    a_reply("let me", a_tool_call("Bash", {"command": "ls"}), thinking="hm, a directory"),
    a_tool_result("a.txt"),
    a_reply("one file"),
    id=SESSION,
)


def test_a_capture_of_what_the_transcript_has_adds_nothing() -> None:
    alone = TRANSCRIPT.build()
    session = joined(TRANSCRIPT, a_capture(*as_frames(TRANSCRIPT)))
    assert added(session) == []
    assert session.records == alone.records
    assert session.total_usage == alone.total_usage


def test_interrupted_thinking_stands_before_the_interrupt_in_its_own_turn() -> None:
    transcript = a_session(
        a_prompt("first", uuid="u1"),
        a_reply("done"),
        a_prompt("second", uuid="u2"),
        an_interrupt(),
        a_prompt("third", uuid="u3"),
        a_reply("done again"),
        id=SESSION,
    )
    one, two, three, four, five, six = as_frames(transcript)
    session = joined(transcript, a_capture(one, two, three, an_interrupted_thought(), four, five, six))
    assert steps(session) == [["Said"], ["Thought*", "Notice"], ["Said"]]
    assert session.coverage.is_complete
    assert session.total_usage.output_tokens == transcript.build().total_usage.output_tokens + 2


def test_a_prompt_that_was_sent_without_an_id_is_told_by_its_words() -> None:
    transcript = a_session(a_prompt("go on"), a_reply("one"), a_prompt("go on"), an_interrupt(), id=SESSION)
    _, reply, _, interrupt = as_frames(transcript)
    prompt = a_prompt_sent("go on")
    session = joined(transcript, a_capture(prompt, reply, prompt, an_interrupted_thought(), interrupt))
    assert len(session.prompts) == 2
    assert steps(session) == [["Said"], ["Thought*", "Notice"]]


def test_what_a_killed_client_did_not_write_is_added_at_its_end() -> None:
    half = a_session(*TRANSCRIPT.entries[:2], id=SESSION)
    session = joined(half, a_capture(*as_frames(TRANSCRIPT), frames.assistant("msg_x", frames.text("and on"))))
    assert added(session) == ["", "one file", "and on"]
    assert [call.status.value for call in session.tool_calls] == ["ok"]
    assert steps(session) == [["Thought", "Said", "ToolCall", "Said", "Said"]]


def test_a_prompt_that_never_reached_the_transcript_is_not_lost() -> None:
    session = joined(TRANSCRIPT, a_capture(*as_frames(TRANSCRIPT), a_prompt_sent("look", "u9")))
    assert [prompt.text for prompt in session.prompts] == ["look", "look"]
    assert session.turns[-1].prompt is not None


def test_a_prompt_sent_to_a_busy_client_waits_in_the_queue_and_is_one_prompt() -> None:
    transcript = a_session(a_prompt("a", uuid="u1"), a_reply("b"), a_queued_prompt("c"), a_reply("d"), id=SESSION)
    prompts = len(transcript.build().prompts)
    session = joined(
        transcript, a_capture(a_prompt_sent("a", "u1"), a_prompt_sent("c", "u7"), as_frames(transcript)[1])
    )
    assert len(session.prompts) == prompts


def test_lines_without_uuids_are_told_by_the_ids_in_them() -> None:
    bare = [
        json.dumps({key: value for key, value in json.loads(frame).items() if key != "uuid"}).encode()
        for frame in as_frames(TRANSCRIPT)
    ]
    assert added(joined(TRANSCRIPT, a_capture(*bare))) == []


def test_after_a_clear_the_lines_of_the_other_session_stay_with_its_own_transcript() -> None:
    other = a_session(a_prompt("elsewhere"), a_reply("there"), id="22222222-2222-4333-8444-555555555555")
    content = a_capture(*as_frames(other), an_interrupted_thought(), *as_frames(TRANSCRIPT))
    session = joined(TRANSCRIPT, content)
    assert added(session) == ["A pangolin crosses the road."]
    assert steps(session)[-1] == ["Thought", "Said", "ToolCall", "Said"]


def test_without_a_transcript_nothing_is_left_out() -> None:
    other = a_session(a_prompt("elsewhere"), a_reply("there"), id="22222222-2222-4333-8444-555555555555")
    builder = SessionBuilder(SESSION)
    builder.add_capture(fold(a_capture(*as_frames(other), *as_frames(TRANSCRIPT)), "run.wire"))
    assert [prompt.text for prompt in builder.session().prompts] == ["elsewhere", "look"]


def test_two_runs_of_a_session_are_one_conversation() -> None:
    first, second = a_capture(*as_frames(TRANSCRIPT)[:2]), a_capture(*as_frames(TRANSCRIPT)[1:])
    builder = SessionBuilder(SESSION)
    builder.add_capture(fold(first, "1.wire"))
    builder.add_capture(fold(second, "2.wire"))
    session = builder.session()
    assert [len(capture.added) for capture in session.captures] == [2, len(TRANSCRIPT.lines) - 2]
    assert session.total_usage == TRANSCRIPT.build().total_usage


def test_lines_of_an_agent_are_its_own_files() -> None:
    agent = a_subagent(a_prompt("dig"), a_reply("a bone"), id="abc")
    transcript = a_session(a_prompt("go"), a_tool_call("Agent", {"prompt": "dig"}, id="toolu_a"), agent, id=SESSION)
    spoken = as_agent_frames(transcript, "abc", "toolu_a")
    more = frames.assistant("msg_y", frames.text("unwritten"), parent_tool_use_id="toolu_a")
    session = joined(transcript, a_capture(*as_frames(transcript), *spoken, more))
    assert added(session) == []
    assert len(session.subagents) == 1


def test_final_counts_take_the_place_of_opening_numbers() -> None:
    opening = {**frames.USAGE, "output_tokens": 1}
    transcript = a_session(a_prompt("a"), a_reply("b", id="msg_1", usage=opening, stop_reason=None), id=SESSION)
    content = a_capture(frames.message_start("msg_1"), *as_frames(transcript), frames.message_end())
    session = joined(transcript, content)
    assert session.usage.output_tokens == frames.FINAL["output_tokens"]
    assert [request.stop_reason for request in session.requests] == ["end_turn"]


def test_counts_of_a_transcript_are_never_lowered() -> None:
    told = {**frames.USAGE, "output_tokens": 900}
    transcript = a_session(a_prompt("a"), a_reply("b", id="msg_1", usage=told), id=SESSION)
    content = a_capture(frames.message_start("msg_1"), *as_frames(transcript), frames.message_end())
    assert joined(transcript, content).usage.output_tokens == 900
