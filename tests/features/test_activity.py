"""What a session does right now, by its last lines and by how long they are ago."""

from __future__ import annotations

from pathlib import Path

import pytest

from reread.features.activity import Activity, Doing, activity_of
from reread.loading import last_of
from reread.sessions import Session
from reread.testing import (
    a_prompt,
    a_reply,
    a_session,
    a_subagent,
    a_system_line,
    a_thought,
    a_tool_call,
    a_tool_result,
    an_interrupt,
    build,
)
from reread.views.reports import activity_words

NOW, LATER, MUCH_LATER = 1.0, 30.0, 3_600.0


def calling(tool: str) -> Session:
    return build(a_prompt("go"), a_reply("I will.", a_tool_call(tool, {"command": "make"}, id="t1")))


@pytest.mark.parametrize(
    ("session", "quiet", "words"),
    [
        (build(a_prompt("go")), NOW, "thinking"),
        (build(a_prompt("go"), a_reply(a_thought("hm"))), LATER, "thinking"),
        (build(a_prompt("go")), MUCH_LATER, "silent for long; it may have ended"),
        (calling("Bash"), NOW, "working: Bash"),
        (calling("Bash"), LATER, "may be waiting for you: Bash gave no result yet"),
        (calling("mcp__sea__sound"), LATER, "may be waiting for you: sea:sound gave no result yet"),
        (calling("Bash"), MUCH_LATER, "silent for long; it may have ended"),
        (calling("Task"), LATER, "working: Task"),
        (calling("AskUserQuestion"), NOW, "waiting for you: a question"),
        (calling("ExitPlanMode"), LATER, "waiting for you: a plan"),
        (calling("AskUserQuestion"), MUCH_LATER, "may be waiting for you: a question"),
        (build(a_prompt("go"), a_reply("Done.", stop_reason="end_turn")), NOW, "waiting for your next prompt"),
        (build(a_prompt("go"), a_reply("Done.", stop_reason=None)), NOW, "thinking"),
        (build(a_prompt("go"), a_reply("Done.", stop_reason=None)), LATER, "waiting for your next prompt"),
        (build(a_prompt("go"), a_reply("I look.", stop_reason="tool_use")), LATER, "thinking"),
        (
            build(a_prompt("go"), a_reply("Done.", stop_reason="end_turn")),
            MUCH_LATER,
            "waiting for your next prompt, or closed",
        ),
        (build(), NOW, "waiting for your next prompt"),
    ],
)
def test_in_words(session: Session, quiet: float, words: str) -> None:
    assert activity_words(activity_of(session, quiet)) == words


def test_a_result_ends_the_work_and_a_call_beside_it_goes_on() -> None:
    calls = a_reply(a_tool_call("Bash", {"command": "a"}, id="t1"), a_tool_call("Read", {"file_path": "b"}, id="t2"))
    both = build(a_prompt("go"), calls, a_tool_result("ok", of="t2"))
    assert activity_of(both, NOW) == Activity(Doing.WORKING, "Bash")
    done = build(a_prompt("go"), calls, a_tool_result("ok", of="t2"), a_tool_result("ok", of="t1"))
    assert activity_of(done, NOW) == Activity(Doing.THINKING)


def test_an_agent_at_work_is_no_question() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call("Task", {"prompt": "look"}, id="t1")),
        a_subagent(a_prompt("look"), a_reply(a_tool_call("Bash", {"command": "ls"})), of="t1"),
    )
    assert activity_of(session, LATER) == Activity(Doing.WORKING, "Task")


def test_an_interrupt_and_a_told_duration_end_a_turn() -> None:
    stopped = build(a_prompt("go"), a_reply(a_tool_call("Bash", {"command": "a"})), an_interrupt(for_tool=True))
    assert activity_of(stopped, NOW).doing is Doing.WAITING
    timed = build(a_prompt("go"), a_reply("Done."), a_system_line("turn_duration", durationMs=900))
    assert activity_of(timed, NOW).doing is Doing.WAITING


def test_the_last_lines_of_a_long_file_are_enough(tmp_path: Path) -> None:
    turns = [each for number in range(500) for each in (a_prompt(f"q{number}"), a_reply("words " * 100))]
    path = a_session(*turns, a_reply(a_tool_call("Bash", {"command": "make"}))).write(tmp_path)
    session = last_of(path, 20_000)
    assert 0 < len(session.records) < 60
    assert activity_of(session, NOW) == Activity(Doing.WORKING, "Bash")
    assert len(last_of(path, 10_000_000).records) == 1_001
