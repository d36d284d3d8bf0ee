"""Section 8 of the counting contract: output tokens per turn second."""

from __future__ import annotations

from typing import Any

from reread.features.activity import Throughput, throughput
from reread.testing import Entry, a_prompt, a_reply, a_system_line, a_usage, build


def answers(*outputs: int, **fields: Any) -> list[Entry]:
    return [a_reply("so", usage=a_usage(1, output), **fields) for output in outputs]


def timed(milliseconds: float | None, **fields: Any) -> Entry:
    return a_system_line("turn_duration", durationMs=milliseconds, **fields)


def speed(*entries: Entry) -> Throughput:
    return throughput(build(*entries))


def test_the_worked_example() -> None:
    found = speed(a_prompt("go"), *answers(120, 300, 80), timed(20_000))
    assert (found.tokens_per_second, found.turns, found.output_tokens, found.milliseconds) == (25.0, 1, 500, 20_000)


def test_turns_are_added_up_before_they_are_divided() -> None:
    found = speed(a_prompt("a"), *answers(100), timed(1_000), a_prompt("b"), *answers(200), timed(9_000))
    assert (found.tokens_per_second, found.turns) == (30.0, 2)


def test_a_response_of_several_lines_counts_once() -> None:
    reply = a_reply("one", "two", usage=a_usage(1, 50))
    assert speed(a_prompt("a"), reply, timed(1_000)).output_tokens == 50


def test_turns_with_suspect_output_are_left_out() -> None:
    stub = answers(2, stop_reason=None, version="2.1.50")
    found = speed(a_prompt("a"), *answers(500), *stub, timed(1_000), a_prompt("b"), *answers(30), timed(1_000))
    assert (found.tokens_per_second, found.turns, found.left_out) == (30.0, 1, 1)


def test_turns_that_leave_agents_running_are_left_out() -> None:
    found = speed(a_prompt("a"), *answers(500), timed(1_000, pendingBackgroundAgentCount=2))
    assert (found.tokens_per_second, found.turns, found.left_out) == (None, 0, 1)


def test_no_agents_running_is_no_reason_to_leave_a_turn_out() -> None:
    assert speed(a_prompt("a"), *answers(500), timed(1_000, pendingBackgroundAgentCount=0)).turns == 1


def test_a_prompt_that_was_timed_twice_is_two_turns() -> None:
    """A background task woke the agent up again."""
    found = speed(a_prompt("a"), *answers(10), timed(1_000), *answers(20), timed(2_000))
    assert (found.turns, found.output_tokens, found.milliseconds) == (2, 30, 3_000)


def test_without_a_duration_there_is_no_speed() -> None:
    for unclear in (timed(None), timed(0), a_system_line("other")):
        found = speed(a_prompt("a"), *answers(10), unclear)
        assert (found.tokens_per_second, found.turns, found.left_out) == (None, 0, 0)


def test_a_duration_without_a_response_is_no_turn() -> None:
    assert speed(a_prompt("a"), timed(5_000)).turns == 0


def test_a_rewound_turn_took_its_time_too() -> None:
    left = a_prompt("a", uuid="a", to=None), *answers(10), timed(1_000)
    found = speed(*left, a_prompt("b", uuid="b", to=None), *answers(20), timed(1_000))
    assert (found.turns, found.output_tokens) == (2, 30)
