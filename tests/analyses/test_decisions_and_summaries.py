"""What was asked and answered, and what a session amounts to."""

from __future__ import annotations

from typing import Any

import pytest

from reread.features.decisions import Decision, chosen, decisions_of
from reread.features.summaries import summary_of
from reread.testing import Entry, a_line, a_prompt, a_reply, a_tool_call, a_tool_result, an_interrupt, build

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}
EXTRAS = {**COLOUR, "question": "Which extras?", "header": "Extras", "multiSelect": True}


def asked(result: Entry, *questions: dict[str, Any]) -> list[Decision]:
    call = a_tool_call("AskUserQuestion", {"questions": list(questions or (COLOUR,))}, id="toolu_ask")
    session = build(a_prompt("go"), a_reply(call, uuid="asked"), result)
    return list(decisions_of(session, session.id))


def answered(answers: dict[str, Any], **twin: Any) -> Entry:
    return a_tool_result("answered", of="toolu_ask", twin={"questions": [], "answers": answers, **twin})


def test_an_answer_is_taken_from_the_result() -> None:
    [decision] = asked(answered({"Which colour?": "Blue"}))
    assert (decision.question, decision.header, decision.answer) == ("Which colour?", "Colour", "Blue")
    assert [option.label for option in decision.options] == ["Red", "Blue"]
    assert (decision.status, decision.uuid, decision.is_free) == ("answered", "asked", False)


def test_the_persons_own_words_are_an_answer() -> None:
    [decision] = asked(answered({"Which colour?": "green, please"}))
    assert (decision.answer, decision.is_free, decision.chosen) == ("green, please", True, ["green, please"])


def test_several_may_be_chosen() -> None:
    [decision] = asked(answered({"Which extras?": "Red, Blue"}), EXTRAS)
    assert decision.chosen == ["Red", "Blue"]
    [decision] = asked(answered({"Which extras?": ["Red", "Blue"]}), EXTRAS)
    assert decision.answer == "Red, Blue"


@pytest.mark.parametrize(
    ("answer", "labels", "expected"),
    [
        ("Yes, import it", ["Yes, import it", "No"], ["Yes, import it"]),
        ("a, b, own words, too", ["a", "b"], ["a", "b", "own words, too"]),
        ("ab", ["a", "b"], ["ab"]),
        ("x, a, b", ["a, b", "a"], ["x", "a, b"]),
        ("", ["a"], []),
    ],
)
def test_an_answer_is_taken_apart_by_its_options(answer: str, labels: list[str], expected: list[str]) -> None:
    assert chosen(answer, labels) == expected


def test_a_refused_question_has_no_answer_but_what_was_said() -> None:
    said = "The user doesn't want to proceed with this tool use."
    [decision] = asked(
        a_tool_result(said, of="toolu_ask", is_error=True, twin="User rejected tool use", userFeedback="later")
    )
    assert (decision.status, decision.answer, decision.note) == ("rejected", None, "later")


def test_an_answer_without_a_twin_is_read_from_the_text() -> None:
    text = 'User has answered your questions: "Which colour?"="Red", "Which extras?"="say \\"x\\"". Go on.'
    found = asked(a_tool_result(text, of="toolu_ask"), COLOUR, EXTRAS)
    assert [decision.answer for decision in found] == ["Red", 'say "x"']


def test_notes_beside_an_answer_are_kept() -> None:
    [decision] = asked(answered({"Which colour?": "Red"}, annotations={"Which colour?": {"notes": "for now"}}))
    assert decision.note == "for now"


def test_a_question_nobody_answered() -> None:
    session = build(a_prompt("go"), a_tool_call("AskUserQuestion", {"questions": [COLOUR]}))
    assert [decision.status for decision in decisions_of(session, session.id)] == ["unanswered"]


@pytest.mark.parametrize("given", [{}, {"questions": None}, {"questions": ["x"]}, {"questions": [{}]}, []])
def test_odd_questions_do_no_harm(given: Any) -> None:
    session = build(a_prompt("go"), a_tool_call("AskUserQuestion", given), a_tool_result("x"))
    assert len(list(decisions_of(session, session.id))) <= 1


def test_a_summary_tells_goal_journey_files_failures_and_outcome() -> None:
    write = {"type": "create", "filePath": "/home/ann/app/a.py", "content": "1\n", "structuredPatch": []}
    todos = [{"content": "x", "status": "completed"}, {"content": "y", "status": "pending"}]
    session = build(
        a_prompt("make a module"),
        a_reply("I'll write it.", a_tool_call("Write", {"file_path": "/home/ann/app/a.py", "content": "1\n"}, id="t1")),
        a_tool_result("done", of="t1", twin=write),
        a_reply(a_tool_call("Read", {"file_path": "/home/ann/app/b.py"}, id="t2")),
        a_tool_result("text", of="t2"),
        a_reply(a_tool_call("Bash", {"command": "pytest -q"}, id="t3")),
        a_tool_result("Exit code 1", of="t3", is_error=True),
        a_reply(a_tool_call("TodoWrite", {"todos": todos}, id="t4")),
        a_tool_result("ok", of="t4"),
        a_prompt("commit it"),
        a_reply(a_tool_call("Bash", {"command": "git add -A && git commit -m x"}, id="t5")),
        a_tool_result("ok", of="t5"),
        a_line("pr-link", prUrl="https://example.org/pr/1", prNumber=1),
        a_reply("Committed."),
    )
    summary = summary_of(session)
    assert (summary.goal, summary.outcome) == ("make a module", "Committed.")
    assert [(step.prompt, step.calls, step.errors, step.files) for step in summary.journey] == [
        ("make a module", 4, 1, ("/home/ann/app/a.py",)),
        ("commit it", 1, 0, ()),
    ]
    assert [(diff.path, diff.status) for diff in summary.files] == [("/home/ann/app/a.py", "added")]
    assert summary.files_read == ("/home/ann/app/b.py",)
    assert [(error.tool, error.status, error.turn) for error in summary.errors] == [("Bash", "error", 1)]
    assert (summary.commits, summary.tests, summary.todos_done, summary.todos) == (1, "failed", 1, 2)
    assert summary.pull_requests == ("https://example.org/pr/1",)
    assert not summary.is_interrupted


def test_an_empty_session_has_an_empty_summary() -> None:
    summary = summary_of(build())
    assert (summary.goal, summary.journey, summary.outcome, summary.files) == ("", (), "", ())


def test_a_session_that_was_broken_off_says_so() -> None:
    assert summary_of(build(a_prompt("go"), a_reply("well"), an_interrupt())).is_interrupted
