"""What a stream amounts to: every block once, whatever order and pieces its frames come in."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live import frames
from live.frames import FINAL, SESSION
from reread.errors import BadInput
from reread.live import events, outgoing
from reread.live.events import Event
from reread.live.protocol import Stream
from reread.sessions import SessionBuilder

AnyEvent = TypeVar("AnyEvent", bound=Event)

MESSAGE = (
    frames.message_start("msg_1", ttft_ms=120)
    + frames.thinks(0, "Let me ", "think.")
    + frames.delta(0, type="signature_delta", signature="sig")
    + frames.assistant("msg_1", frames.thinking("Let me think."), uuid="a1")
    + frames.block_stop(0)
    + frames.says(1, "Hel", "lo.")
    + frames.assistant("msg_1", frames.text("Hello."), uuid="a2")
    + frames.block_stop(1)
    + frames.message_end()
)
"""Two blocks as clients since 2.0 send them: each block's own frame before its stop."""


def events_of(*parts: bytes | str, closed: bool = False) -> list[Event]:
    stream = Stream()
    found = [event for part in parts for event in stream.feed(part)]
    return found + (stream.close() if closed else [])


def only(kind: type[AnyEvent], found: list[Event]) -> list[AnyEvent]:
    return [event for event in found if isinstance(event, kind)]


def wholes(found: list[Event]) -> list[tuple[str, int | None, str]]:
    return [
        (event.message_id or "", event.index, event.text)
        for event in found
        if isinstance(event, events.Thinking | events.Text)
    ]


def test_every_block_comes_whole_once_after_its_deltas() -> None:
    found = events_of(MESSAGE)
    kinds = [event.__struct_config__.tag for event in found]
    assert kinds == ["thinking_delta", "thinking_delta", "thinking", "text_delta", "text_delta", "text", "usage"]
    assert wholes(found) == [("msg_1", 0, "Let me think."), ("msg_1", 1, "Hello.")]
    assert "".join(each.text for each in only(events.ThinkingDelta, found)) == "Let me think."


def test_text_and_buffers_are_read_like_bytes() -> None:
    assert events_of(MESSAGE.decode()) == events_of(MESSAGE)
    buffer = bytearray(100)
    stream = Stream()
    found: list[Event] = []
    for start in range(0, len(MESSAGE), len(buffer)):
        piece = MESSAGE[start : start + len(buffer)]
        buffer[: len(piece)] = piece
        found += stream.feed(memoryview(buffer)[: len(piece)])
    assert found == events_of(MESSAGE)


@pytest.mark.parametrize("wrong", [None, 7, {"type": "user"}])
def test_what_is_no_chunk_is_an_error_of_ours(wrong: Any) -> None:
    with pytest.raises(BadInput, match="give bytes or text"):
        Stream().feed(wrong)


def test_counts_are_final_only_when_the_message_ended() -> None:
    (usage,) = only(events.MessageUsage, events_of(MESSAGE))
    assert (usage.usage.output_tokens, usage.stop_reason, usage.ttft_ms) == (63, "end_turn", 120)
    begun = MESSAGE.partition(
        b'{"type": "stream_event", "session_id": "%s", "event": {"type": "message_d' % SESSION.encode()
    )
    assert only(events.MessageUsage, events_of(begun[0])) == []


@given(st.lists(st.integers(0, len(MESSAGE)), max_size=12))
def test_cutting_the_bytes_anywhere_changes_nothing(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(MESSAGE)]
    pieces = [MESSAGE[start:end] for start, end in pairwise(places)]
    assert events_of(*pieces) == events_of(MESSAGE)


def test_a_frame_without_its_newline_is_complete() -> None:
    lines = MESSAGE.splitlines()
    assert events_of(*lines) == events_of(MESSAGE)


def test_noise_without_a_newline_costs_no_frame() -> None:
    stream = Stream()
    assert stream.feed(b"(node:1) Warning: ") == []
    noise, started = stream.feed(b'{"type":"system","subtype":"init","session_id":"s"}')
    assert (type(noise), type(started)) == (events.UnknownFrame, events.SessionStarted)
    assert stream.feed(b"\n") == []


def test_a_message_without_stream_events_gives_the_same_blocks() -> None:
    lines = [line + b"\n" for line in MESSAGE.splitlines() if b'"assistant"' in line]
    assert wholes(events_of(*lines)) == wholes(events_of(MESSAGE))


def test_a_message_repeated_whole_at_its_end_is_not_delivered_again() -> None:
    again = frames.assistant("msg_1", frames.thinking("Let me think."), frames.text("Hello."), uuid="a9")
    assert wholes(events_of(MESSAGE + again)) == wholes(events_of(MESSAGE))


def test_a_frame_that_comes_after_the_end_of_its_message_is_not_delivered_again() -> None:
    late = (
        frames.message_start("msg_1")
        + frames.says(0, "Hel", "lo.")
        + frames.block_stop(0)
        + frames.message_end()
        + frames.assistant("msg_1", frames.text("Hello."), uuid="a1")
    )
    assert wholes(events_of(late)) == [("msg_1", 0, "Hello.")]


def test_a_frame_that_comes_twice_is_read_once() -> None:
    line = frames.assistant("msg_1", frames.text("Hello."), uuid="a1")
    assert len(wholes(events_of(line + line))) == 1


def test_two_blocks_with_the_same_words_are_two() -> None:
    lines = frames.assistant("msg_1", frames.text("Yes."), uuid="a1") + frames.assistant(
        "msg_1", frames.text("Yes."), uuid="a2"
    )
    assert wholes(events_of(lines)) == [("msg_1", 0, "Yes."), ("msg_1", 1, "Yes.")]


def test_the_words_of_the_complete_frame_count() -> None:
    found = events_of(
        frames.message_start("msg_1")
        + frames.says(0, "Hello. ")
        + frames.assistant("msg_1", frames.text("Hello."), uuid="a1")
    )
    assert wholes(found) == [("msg_1", 0, "Hello.")]


def test_empty_thinking_with_a_signature_and_redacted_thinking_are_blocks() -> None:
    found = events_of(
        frames.message_start("msg_1")
        + frames.block_start(0, type="thinking", thinking="", signature="")
        + frames.delta(0, type="signature_delta", signature="sig")
        + frames.assistant("msg_1", frames.thinking(""), uuid="a1")
        + frames.block_start(1, type="redacted_thinking", data="xyz")
        + frames.assistant("msg_1", {"type": "redacted_thinking", "data": "xyz"}, uuid="a2")
        + frames.message_end()
    )
    hidden = [(each.index, each.text, each.signature, each.is_redacted) for each in only(events.Thinking, found)]
    assert hidden == [(0, "", "sig", False), (1, "", None, True)]


def test_a_call_grows_and_then_comes_with_its_input() -> None:
    found = events_of(
        frames.message_start("msg_1")
        + frames.calls(0, "toolu_1", "Bash", '{"comm', 'and": "ls"}')
        + frames.assistant("msg_1", frames.tool("toolu_1", "Bash", command="ls"), uuid="a1")
        + frames.message_end("tool_use")
    )
    assert [(each.name, each.text) for each in only(events.ToolDelta, found)] == [
        ("Bash", '{"comm'),
        ("Bash", 'and": "ls"}'),
    ]
    (call,) = only(events.ToolCall, found)
    assert (call.id, call.name, call.input, call.index) == ("toolu_1", "Bash", {"command": "ls"}, 0)


def test_calls_of_one_tool_are_told_apart_by_id() -> None:
    found = events_of(
        frames.message_start("msg_1")
        + frames.calls(0, "toolu_1", "Bash", '{"command": "a"}')
        + frames.calls(1, "toolu_2", "Bash", '{"command": "b"}')
        + frames.assistant("msg_1", frames.tool("toolu_2", "Bash", command="b"), uuid="a1")
        + frames.assistant("msg_1", frames.tool("toolu_1", "Bash", command="a"), uuid="a2")
    )
    assert [(each.id, each.index) for each in only(events.ToolCall, found)] == [("toolu_2", 1), ("toolu_1", 0)]


def test_input_that_is_no_json_is_delivered_as_the_client_wraps_it() -> None:
    found = events_of(
        frames.message_start("msg_1")
        + frames.calls(0, "toolu_1", "Bash", '{"command": "ec')
        + frames.message_end("tool_use")
    )
    (call,) = only(events.ToolCall, found)
    assert call.input == {"__unparsedToolInput": {"raw": '{"command": "ec', "len": 15}}


class TestWithdrawal:
    """Text that was shown and taken back is kept, marked, and never delivered as a block."""

    BEGUN = frames.message_start("msg_1") + frames.thinks(0, "I was ", "about to")

    def withdrawn(self, found: list[Event]) -> list[tuple[str, str, str]]:
        return [(each.kind, each.text, each.reason) for each in only(events.Withdrawn, found)]

    @pytest.mark.parametrize("marker", ["[Request interrupted by user]", "[Request interrupted by user for tool use]"])
    def test_by_the_person(self, marker: str) -> None:
        found = events_of(self.BEGUN + frames.user([frames.text(marker)]))
        assert self.withdrawn(found) == [("thinking", "I was about to", "interrupted")]
        assert only(events.Notice, found)[0].what == "interrupted"
        assert wholes(found) == []

    def test_closing_events_after_an_interrupt_deliver_nothing(self) -> None:
        found = events_of(
            self.BEGUN + frames.user("[Request interrupted by user]") + frames.block_stop(0) + frames.message_end(None)
        )
        assert self.withdrawn(found) == [("thinking", "I was about to", "interrupted")]
        assert wholes(found) == [] and only(events.MessageUsage, found) == []

    def test_by_an_error_in_mid_stream_after_which_the_client_asks_again(self) -> None:
        found = events_of(
            self.BEGUN + frames.block_stop(0) + frames.streamed("message_stop") + MESSAGE.replace(b"msg_1", b"msg_2")
        )
        assert self.withdrawn(found) == [("thinking", "I was about to", "error")]
        assert [whole[0] for whole in wholes(found)] == ["msg_2", "msg_2"]

    def test_from_the_block_that_the_client_names(self) -> None:
        stopped = frames.streamed("message_stop", abandoned_blocks={"api_message_id": "msg_1", "from_block_index": 0})
        assert self.withdrawn(events_of(self.BEGUN + frames.block_stop(0) + stopped)) == [
            ("thinking", "I was about to", "error")
        ]

    def test_by_a_cut_connection_after_which_a_plain_request_answers(self) -> None:
        found = events_of(self.BEGUN + frames.assistant("msg_2", frames.text("Hello."), uuid="a1"))
        assert self.withdrawn(found) == [("thinking", "I was about to", "error")]
        assert wholes(found) == [("msg_2", 0, "Hello.")]

    def test_by_the_end_of_the_stream(self) -> None:
        assert self.withdrawn(events_of(self.BEGUN, closed=True)) == [("thinking", "I was about to", "cut")]

    def test_what_a_complete_frame_has_shown_stays(self) -> None:
        shown = self.BEGUN + frames.assistant("msg_1", frames.thinking("I was about to"), uuid="a1")
        found = events_of(shown + frames.says(1, "Hel") + frames.user("[Request interrupted by user]"))
        assert wholes(found) == [("msg_1", 0, "I was about to")]
        assert self.withdrawn(found) == [("text", "Hel", "interrupted")]

    def test_a_call_that_was_never_made(self) -> None:
        found = events_of(frames.message_start("msg_1") + frames.calls(0, "toolu_1", "Bash", '{"com'), closed=True)
        (gone,) = only(events.Withdrawn, found)
        assert (gone.kind, gone.id, gone.name, gone.text) == ("tool", "toolu_1", "Bash", '{"com')

    def test_nothing_is_withdrawn_after_a_message_ended(self) -> None:
        assert self.withdrawn(events_of(MESSAGE, closed=True)) == []


SUGGESTION = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


class TestQuestions:
    ASKED = frames.asks(
        "r1", "Bash", input={"command": "touch x"}, tool_use_id="toolu_1", permission_suggestions=[SUGGESTION]
    )

    def test_a_permission_request_is_open_until_it_is_answered(self) -> None:
        stream = Stream()
        (asked,) = only(events.Permission, stream.feed(self.ASKED))
        assert (asked.tool, asked.input, asked.id) == ("Bash", {"command": "touch x"}, "toolu_1")
        assert asked.suggestions == (SUGGESTION,)
        assert list(stream.open_permissions) == ["r1"]
        (answered,) = stream.sent(outgoing.decision("r1", outgoing.Allow(), asked.input))
        assert isinstance(answered, events.PermissionAnswered)
        assert (answered.decision, answered.is_edited, answered.id) == ("allow", False, "toolu_1")
        assert stream.open_permissions == {}

    def test_an_edited_input_a_remembered_rule_and_a_refusal_are_told_apart(self) -> None:
        stream = Stream()
        stream.feed(self.ASKED + self.ASKED.replace(b'"r1"', b'"r2"') + self.ASKED.replace(b'"r1"', b'"r3"'))
        edited = outgoing.Allow(input={"command": "touch y"})
        always = outgoing.Allow(remember=[SUGGESTION])
        refused = outgoing.Deny(reason="Not today.")
        answers = [
            stream.sent(outgoing.decision(name, decided, {"command": "touch x"}))[0]
            for name, decided in (("r1", edited), ("r2", always), ("r3", refused))
        ]
        told = [
            (each.decision, each.is_edited, each.remembered, each.message)
            for each in answers
            if isinstance(each, events.PermissionAnswered)
        ]
        assert told == [
            ("allow", True, (), None),
            ("allow", False, (SUGGESTION,), None),
            ("deny", False, (), "Not today."),
        ]

    @pytest.mark.parametrize("odd", ["true", "7", '"x"', '{"a": 1}'])
    def test_an_answer_with_odd_values_is_an_answer(self, odd: str) -> None:
        stream = Stream()
        stream.feed(self.ASKED)
        response = f'{{"behavior":"deny","message":{{}},"updatedPermissions":{odd}}}'.encode()
        line = (
            b'{"type":"control_response","response":{"subtype":"success","request_id":"r1","response":%b}}\n' % response
        )
        [answered] = stream.sent(line)
        assert isinstance(answered, events.PermissionAnswered)
        assert (answered.decision, answered.message, answered.remembered) == ("deny", None, ())

    EMPTY = frames.asks("r1", "ExitPlanMode", input={}, tool_use_id="toolu_9")
    FILE = "/home/ann/.claude/plans/calm-blue-harbor.md"

    def plan_asked(self, *before: bytes, files: dict[str, str] | None = None) -> events.Permission:
        stream = Stream(read_file=(files or {}).get)
        for line in before:
            stream.feed(line)
        (asked,) = only(events.Permission, stream.feed(self.EMPTY))
        assert stream.open_permissions["r1"] == asked
        assert asked.input == {}, "what is sent back is what was asked"
        return asked

    def test_an_empty_question_about_a_plan_has_the_plan_of_its_file(self) -> None:
        said = frames.assistant("m1", frames.text("I wrote a plan."))
        wrote = frames.assistant("m1", frames.tool("toolu_1", "Write", file_path=self.FILE, content="1. Old"))
        asked = self.plan_asked(said, wrote, files={self.FILE: "1. New"})
        assert (asked.plan, asked.plan_file) == ("1. New", self.FILE)
        assert self.plan_asked(said, wrote).plan == "1. Old", "where the file cannot be read"

    def test_a_plan_file_that_was_not_written_is_none(self) -> None:
        said = frames.assistant("m1", frames.text("1. Say it"))
        wrote = frames.assistant("m1", frames.tool("toolu_1", "Write", file_path=self.FILE, content="1. Old"))
        refused = frames.user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "no", "is_error": True}])
        other = frames.assistant("m2", frames.tool("toolu_2", "Write", file_path="/home/ann/app/a.md", content="A"))
        asked = self.plan_asked(said, wrote, refused, other, files={self.FILE: "1. Stale"})
        assert (asked.plan, asked.plan_file) == ("1. Say it", None)

    def test_an_empty_question_about_a_plan_has_the_plan_of_its_call_or_of_nothing(self) -> None:
        call = frames.assistant("m1", frames.tool("toolu_9", "ExitPlanMode", plan="1. Call it"))
        assert self.plan_asked(frames.assistant("m0", frames.text("So.")), call).plan == "1. Call it"
        assert self.plan_asked().plan is None

    def test_a_question_may_become_void(self) -> None:
        stream = Stream()
        stream.feed(self.ASKED)
        (void,) = stream.feed(b'{"type":"control_cancel_request","request_id":"r1"}\n')
        assert isinstance(void, events.PermissionVoid) and void.request_id == "r1"
        assert stream.open_permissions == {}
        assert stream.sent(outgoing.decision("r1", outgoing.Allow(), {})) == []

    def test_hooks_and_unknown_questions_are_events(self) -> None:
        hook = {"subtype": "hook_callback", "callback_id": "h0", "input": {"hook_event_name": "Stop"}}
        other = {"subtype": "brand_new", "value": 1}
        lines = [
            {"type": "control_request", "request_id": str(n), "request": ask} for n, ask in enumerate((hook, other))
        ]
        called, unknown = events_of(*(json.dumps(line).encode() for line in lines))
        assert isinstance(called, events.HookCallback) and called.callback == "h0"
        assert isinstance(unknown, events.ControlQuestion) and unknown.data == other

    def test_answers_of_the_client(self) -> None:
        good = {"subtype": "success", "request_id": "1", "response": {"mode": "plan"}}
        bare = {"subtype": "success", "request_id": "2"}
        bad = {"subtype": "error", "request_id": "3", "error": "Unsupported"}
        lines = [json.dumps({"type": "control_response", "response": each}).encode() for each in (good, bare, bad)]
        told = [(each.ok, each.response, each.error) for each in only(events.ControlAnswer, events_of(*lines))]
        assert told == [(True, {"mode": "plan"}, None), (True, None, None), (False, None, "Unsupported")]


class TestAgents:
    def test_what_an_agent_says_names_the_call_that_started_it(self) -> None:
        found = events_of(
            frames.assistant(
                "msg_9", frames.tool("toolu_9", "Bash", command="ls"), uuid="a1", parent_tool_use_id="toolu_1"
            )
        )
        assert only(events.ToolCall, found)[0].agent == "toolu_1"

    def test_an_agent_does_not_disturb_the_message_that_streams(self) -> None:
        begun, ended = MESSAGE[: MESSAGE.index(b"Hel") - 200], MESSAGE[MESSAGE.index(b"Hel") - 200 :]
        inside = frames.assistant("msg_9", frames.text("Inside."), uuid="a8", parent_tool_use_id="toolu_1")
        cut = begun.rindex(b"\n") + 1
        found = events_of(MESSAGE[:cut] + inside + MESSAGE[cut:])
        assert begun + ended == MESSAGE
        assert [whole for whole in wholes(found) if whole[0] == "msg_1"] == wholes(events_of(MESSAGE))

    def test_permissions_of_an_agent_name_its_call_once_the_task_is_known(self) -> None:
        started = frames.frame("system", subtype="task_started", task_id="agent-7", tool_use_id="toolu_1")
        found = events_of(started + frames.asks("r1", "Bash", input={}, agent_id="agent-7"))
        assert only(events.Permission, found)[0].agent == "toolu_1"

    def test_tasks_are_open_until_they_end(self) -> None:
        stream = Stream()
        stream.feed(frames.frame("system", subtype="task_started", task_id="t1", tool_use_id="toolu_1"))
        stream.feed(frames.frame("system", subtype="task_started", task_id="t2", tool_use_id="toolu_2"))
        stream.feed(frames.frame("system", subtype="task_progress", task_id="t1", description="Reading"))
        assert stream.open_tasks == {"t1", "t2"}
        stream.feed(frames.frame("system", subtype="task_updated", task_id="t1", patch={"status": "completed"}))
        stream.feed(frames.frame("system", subtype="task_notification", task_id="t2", status="failed"))
        assert stream.open_tasks == set()


class TestTheRest:
    def test_the_first_frame_is_told_again_only_when_it_changes(self) -> None:
        init = frames.frame("system", subtype="init", model="claude-opus-4-8", cwd="/app", permissionMode="default")
        mode = frames.frame("system", subtype="status", status=None, permissionMode="plan")
        found = only(events.SessionStarted, events_of(init + init + mode))
        assert [(each.model, each.permission_mode) for each in found] == [
            ("claude-opus-4-8", "default"),
            ("claude-opus-4-8", "plan"),
        ]

    def test_results_of_tools_come_with_their_twin(self) -> None:
        result = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok", "is_error": False}]
        (found,) = only(events.ToolResult, events_of(frames.user(result, uuid="u1", tool_use_result={"stdout": "ok"})))
        assert (found.id, found.text, found.is_error, found.result) == ("toolu_1", "ok", False, {"stdout": "ok"})

    @pytest.mark.parametrize(
        ("subtype", "is_error", "failed"),
        [
            ("success", False, False),
            ("success", True, True),
            ("error_during_execution", False, True),
            (None, None, False),
        ],
    )
    def test_success_is_what_both_words_say(self, subtype: str | None, is_error: bool | None, failed: bool) -> None:
        line = frames.frame("result", subtype=subtype, is_error=is_error, result="x", total_cost_usd=0.0173012)
        (found,) = only(events.TurnResult, events_of(line))
        assert found.is_error is failed
        assert str(found.cost_usd) == "0.0173012"

    def test_dollars_have_at_most_nine_decimals(self) -> None:
        costs = (0.1 + 0.2, 1e-12, 0.000000001)
        lines = [frames.frame("result", subtype="success", is_error=False, total_cost_usd=each) for each in costs]
        found = only(events.TurnResult, events_of(*lines))
        assert [f"{each.cost_usd:f}" for each in found] == ["0.3", "0", "0.000000001"]

    def test_a_result_has_its_structured_output_and_its_frame(self) -> None:
        line = frames.frame("result", subtype="success", structured_output={"name": "x"}, user_message_uuids=["u1"])
        (found,) = only(events.TurnResult, events_of(line))
        assert (found.structured_output, found.prompts) == ({"name": "x"}, ("u1",))
        assert found.record is not None and found.record.raw == line.strip()

    def test_the_cost_of_a_turn_is_what_came_on_top_of_the_run_before(self) -> None:
        costs = (0.01, 0.035, 0.035, None, 0.04, 0.001)
        lines = [frames.frame("result", subtype="success", is_error=False, total_cost_usd=each) for each in costs]
        found = only(events.TurnResult, events_of(*lines))
        told = [None if each.turn_cost_usd is None else str(each.turn_cost_usd) for each in found]
        assert told == ["0.01", "0.025", "0.000", None, "0.005", "0.001"], "the last one began anew"

    def test_the_first_turn_of_a_session_that_goes_on_does_not_cost_what_the_session_did(self) -> None:
        usage = {"input_tokens": 1000, "output_tokens": 100}
        init = frames.frame("system", subtype="init", model="claude-opus-4-8")
        lines = [
            frames.frame("result", subtype="success", is_error=False, total_cost_usd=each, usage=usage)
            for each in (0.19, 0.2)
        ]
        stream = Stream(counts_on=True)
        found = only(events.TurnResult, [event for line in (init, *lines) for event in stream.feed(line)])
        assert [str(each.turn_cost_usd) for each in found] == ["0.0075", "0.01"]

    @pytest.mark.parametrize(
        "line",
        [
            b"this is not json\n",
            b'{"type":"brand_new","x":1}\n',
            b"[1,2]\n",
            b'{"no":"type"}\n',
            b'{"type":"stream_event"}\n',
        ],
    )
    def test_what_nobody_knows_is_passed_on(self, line: bytes) -> None:
        (found,) = events_of(line)
        assert isinstance(found, events.UnknownFrame)
        assert found.record.raw == line.rstrip(b"\n")

    def test_an_unfinished_last_line_is_passed_on_at_the_end(self) -> None:
        found = events_of(b'{"type":"assist', closed=True)
        assert isinstance(found[0], events.UnknownFrame)

    def test_a_line_of_many_megabytes_is_one_frame(self) -> None:
        line = frames.assistant("msg_1", frames.text("x" * 5_000_000), uuid="a1")
        chunks = [line[i : i + 65536] for i in range(0, len(line), 65536)]
        assert [len(each.text) for each in only(events.Text, events_of(*chunks))] == [5_000_000]

    def test_separators_inside_a_text_end_no_line(self) -> None:
        words = "a\u2028b\u0085c\r\x0bd"
        assert wholes(events_of(frames.assistant("msg_1", frames.text(words), uuid="a1"))) == [("msg_1", 0, words)]

    def test_another_session_after_clear(self) -> None:
        stream = Stream()
        stream.feed(MESSAGE)
        stream.feed(MESSAGE.replace(SESSION.encode(), b"another").replace(b"msg_1", b"msg_2"))
        assert stream.session == "another"


def test_the_session_that_is_built_has_the_final_counts() -> None:
    builder = SessionBuilder()
    stream = Stream(builder)
    stream.sent(outgoing.prompt("Hello?", uuid="u1", session=SESSION))
    stream.feed(MESSAGE)
    session = builder.session()
    assert session.id == SESSION
    assert [turn.prompt.text for turn in session.turns if turn.prompt is not None] == ["Hello?"]
    assert session.usage.output_tokens == FINAL["output_tokens"]
    assert [thought.text for thought in session.thinking()] == ["Let me think."]
