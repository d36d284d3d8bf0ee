"""When a prompt is answered, told from its events alone."""

from __future__ import annotations

from reread.live.events import Event, Notice, Prompt, Text, TextDelta, TurnResult
from reread.live.running_turn import GRACE, RunningTurn
from reread.live.transport import Delivery
from reread.records import Unknown

PROMPT = Prompt(text="hello", uuid="u1")
ANSWER = TurnResult(is_error=False)
LATER = TurnResult(is_error=False, origin={"kind": "task-notification"})
REQUEST = Notice(what="status", text="requesting", record=Unknown())
TASK = Notice(what="task", record=Unknown())


def a_turn(*seen: Event | tuple[Event, bool]) -> RunningTurn:
    """Events; those with True came while a task was open."""
    turn = RunningTurn("u1")
    for each in (PROMPT, *seen):
        event, has_open_tasks = each if isinstance(each, tuple) else (each, False)
        turn.saw(Delivery(event, has_open_tasks, 0))
    return turn


def state(*seen: Event | tuple[Event, bool]) -> str:
    turn = a_turn(*seen)
    return "done" if turn.is_done else "waits" if turn.grace is None else "grace"


def test_a_turn_ends_with_its_result() -> None:
    assert state(REQUEST) == "waits"
    assert state(REQUEST, Text(text="Hi"), ANSWER) == "done"


def test_results_from_before_the_prompt_do_not_count() -> None:
    turn = RunningTurn("u1")
    for event in (ANSWER, Prompt(text="another", uuid="u0"), ANSWER):
        turn.saw(Delivery(event, False, 0))
    assert not turn.is_done


def test_an_agent_in_the_background_keeps_it_open() -> None:
    assert state(REQUEST, (TASK, True), (ANSWER, True)) == "waits"


def test_when_the_agent_has_ended_its_news_may_follow_for_a_while() -> None:
    seen = (REQUEST, (TASK, True), (ANSWER, True), TASK)
    assert state(*seen) == "grace"
    assert a_turn(*seen).grace == GRACE
    assert state(*seen, TASK) == "grace"


def test_news_that_are_being_told_are_waited_for() -> None:
    seen = (REQUEST, (TASK, True), (ANSWER, True), TASK)
    assert state(*seen, REQUEST) == "waits"
    assert state(*seen, TextDelta(text="The ag")) == "waits"
    assert state(*seen, REQUEST, LATER) == "done"


def test_an_agent_that_ended_before_the_last_request_has_been_heard() -> None:
    assert state(REQUEST, (TASK, True), TASK, REQUEST, ANSWER) == "done"


def test_an_agent_that_ended_after_it_has_not() -> None:
    assert state(REQUEST, (TASK, True), TASK, ANSWER) == "grace"


def test_words_of_an_agent_do_not_make_the_conversation_busy() -> None:
    assert state(REQUEST, ANSWER, Text(text="late", agent="toolu_1")) == "done"


def test_the_result_of_older_work_is_not_the_answer() -> None:
    assert state(LATER) == "waits"


def test_a_prompt_may_be_answered_in_a_turn_that_the_background_began() -> None:
    began = {"kind": "task-notification"}
    assert state(REQUEST, TurnResult(is_error=False, origin=began, prompts=("u1",))) == "done"
    assert state(REQUEST, TurnResult(is_error=False, origin=began, prompts=("u2",))) == "waits"
