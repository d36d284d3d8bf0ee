"""What was asked and answered, and what a session amounts to."""

from __future__ import annotations

from typing import Any

import pytest

from reread.features.friction import find
from reread.features.summaries import summary_of
from reread.features.tool_use import Decision, chosen, decisions_of
from reread.testing import Entry, a_line, a_prompt, a_reply, a_thought, a_tool_call, a_tool_result, an_interrupt, build
from reread.views.summary import summary_lines
from reread.views.text import Style
from reread.views.values import View

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
    assert (summary.goal, summary.outcome) == ("Make a module", "Committed.")
    assert [(step.prompt, step.calls, step.errors, step.files) for step in summary.journey] == [
        ("make a module", 4, 1, ("/home/ann/app/a.py",)),
        ("commit it", 1, 0, ()),
    ]
    assert [(diff.path, diff.status) for diff in summary.files] == [("/home/ann/app/a.py", "added")]
    assert summary.files_read == ("/home/ann/app/b.py",)
    assert [(error.tool, error.status, error.turn) for error in summary.errors] == [("Bash", "error", 1)]
    assert [commit.message for commit in summary.commits] == [""]
    assert (summary.tests, summary.todos_done, summary.todos) == ("failed", 1, 2)
    assert summary.pull_requests == ("https://example.org/pr/1",)
    assert not summary.is_interrupted


def test_an_empty_session_has_an_empty_summary() -> None:
    summary = summary_of(build())
    assert (summary.goal, summary.journey, summary.outcome, summary.files) == ("", (), "", ())
    assert (summary.open, summary.commits, summary.refusals) == ((), (), ())


def test_a_session_that_was_broken_off_says_so() -> None:
    assert summary_of(build(a_prompt("go"), a_reply("well"), an_interrupt())).is_interrupted


def test_the_goal_is_the_sentence_that_comes_back_and_not_the_first_prompt() -> None:
    session = build(
        a_prompt("hello"),
        a_reply("Hello."),
        a_prompt(
            "Thanks for that, and for looking at it. The importer drops rows with quoted commas, please fix the "
            "importer. It is late."
        ),
        a_reply("Done: the importer keeps quoted commas."),
    )
    told = summary_of(session)
    assert (told.goal, told.goal_source) == (
        "The importer drops rows with quoted commas, please fix the importer",
        "prompt",
    )


def test_a_small_task_at_the_end_is_no_goal_and_a_role_is_none() -> None:
    session = build(
        a_prompt("You are a careful editor of the importer. The importer loses rows, find out why."),
        a_reply("It splits quoted fields."),
        a_prompt("fix the importer docs, fix the importer tests and commit the importer"),
        a_reply("Committed the importer."),
    )
    assert summary_of(session).goal == "The importer loses rows, find out why"


def test_a_short_prompt_is_the_goal_as_it_stands() -> None:
    session = build(a_prompt("I've enabled tags. please push to pr and merge this"), a_reply("Merged."))
    assert summary_of(session).goal == "I've enabled tags. please push to pr and merge this"
    address = "https://example.org/owner/repository/issues/3"
    session = build(
        a_prompt(f"can you read this and tell me what goes on {address}"),
        a_reply("It asks for a name."),
        a_prompt("the name will break the other agent"),
    )
    assert summary_of(session).goal == f"Can you read this and tell me what goes on {address}"


def test_the_goal_of_a_plan_is_its_heading() -> None:
    text = "Implement the following plan:\n\n# Plan: Fix the deletion of failed runs\n\n## Context\nA failed run stays."
    assert summary_of(build(a_prompt(text), a_reply("Done."))).goal == "Fix the deletion of failed runs"


def test_words_that_announce_work_are_no_outcome() -> None:
    session = build(
        a_prompt("fix the importer"),
        a_reply("The importer is fixed."),
        a_prompt("and push it"),
        a_reply("I'm on main — I need to switch to another branch first."),
    )
    assert summary_of(session).outcome == "The importer is fixed."
    for announced in (
        "That is all of them. Now let me write the plan.",
        "Creating task 3: the footer.\n\nSpawning planner.",
    ):
        more = build(a_prompt("plan it"), a_reply("It takes two steps."), a_prompt("go"), a_reply(announced))
        assert summary_of(more).outcome == "It takes two steps."
    asked = build(a_prompt("go"), a_reply("All is pushed. Let me know if it fails."))
    assert summary_of(asked).outcome == "All is pushed. Let me know if it fails."


def test_a_farewell_is_no_outcome_and_short_words_after_work_are_one() -> None:
    worked = [a_prompt("add globs"), *ran("make", "ok", 1), a_reply("Globs work in all three commands.")]
    bye = a_prompt("done for the day, bye"), a_reply("Have a great evening!")
    assert summary_of(build(*worked, *bye)).outcome == "Globs work in all three commands."
    assert (
        summary_of(build(*worked, a_prompt("push"), *ran("git push", "ok", 2), a_reply("Landed."))).outcome == "Landed."
    )
    assert summary_of(build(a_prompt("is it 3?"), a_reply("Yes."))).outcome == "Yes."


def test_an_announcement_is_no_goal_of_a_session_without_prompts() -> None:
    summary = summary_of(build(a_reply("I'll start by retrieving the issue."), a_reply("The issue is marked done.")))
    assert (summary.goal, summary.outcome) == ("", "The issue is marked done.")


def test_a_question_is_open_only_where_nothing_was_said_after_it() -> None:
    offer = "It hides the error. Want me to print the whole error? That way every value would show up."
    assert [each.text for each in summary_of(build(a_prompt("why?"), a_reply(offer))).open] == [
        "Want me to print the whole error?"
    ]
    assert summary_of(build(a_prompt("why?"), a_reply(offer), a_prompt("no, thanks"), a_reply("Fine."))).open == ()


def test_a_call_that_never_came_back_is_left_open() -> None:
    session = build(
        a_prompt("commit it"), a_reply("Let me commit."), a_reply(a_tool_call("Bash", {"command": "git push"}))
    )
    assert [(each.source, each.text) for each in summary_of(session).open] == [
        ("unanswered", "no result of the last call: Bash git push")
    ]


def test_neither_a_polite_question_nor_the_clients_own_plan_is_left_open() -> None:
    plan = {"file_path": "/home/ann/.claude/plans/blue-otter.md", "content": "x"}
    session = build(
        a_prompt("go"), *ran("git commit -m x", "ok", 1), a_reply(a_tool_call("Write", plan)), a_tool_result("ok"),
        *ran("go build -o /tmp/app-test . && /tmp/app-test aaa", "", 2, is_error=True),
        a_reply("Done. What else would you like me to do?"),
    )  # fmt: skip
    assert summary_of(session).open == ()


def test_what_another_program_may_have_committed_is_not_left_open() -> None:
    def left(command: str) -> list[str]:
        written = {"file_path": "/app/a.py", "content": "x"}
        session = build(
            a_prompt("go"), *ran("git commit -m x", "ok", 1),
            a_reply(a_tool_call("Write", written)), a_tool_result("ok"), *ran(command, "ok", 2), a_reply("Done."),
        )  # fmt: skip
        return [point.source for point in summary_of(session).open]

    assert left("ls") == ["uncommitted"]
    assert left("vc-x1 push main --title 'feat: x'") == []


def test_the_clients_own_words_are_no_reason_for_turning_down_a_question() -> None:
    said = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, "
        "the user said:\nThe user wants to clarify these questions.\n    This means they may have more information"
    )
    session = build(
        a_prompt("go"), a_reply(a_tool_call("AskUserQuestion", {"questions": []})), a_tool_result(said, is_error=True)
    )
    (refusal,) = summary_of(session).refusals
    assert refusal.text == ""


def test_the_goal_may_be_what_the_model_took_it_for() -> None:
    session = build(
        a_prompt("can you have a look at importer.py, rows go missing"),
        a_reply(a_thought("The user wants me to fix the importer so that rows with commas are kept. Let me look.")),
    )
    told = summary_of(session)
    assert (told.goal, told.goal_source) == ("Fix the importer so that rows with commas are kept", "thinking")


def test_a_pasted_log_is_no_goal() -> None:
    log = "Traceback (most recent call last):\n  File 'x.py', line 3, in main\nValueError: bad importer rows\n"
    goal = summary_of(build(a_prompt(f"{log}\nplease make the importer survive this"))).goal
    assert goal == "Please make the importer survive this"


def ran(command: str, output: str, number: int, *, is_error: bool = False) -> list[Entry]:
    name = f"toolu_{number}"
    return [
        a_reply(a_tool_call("Bash", {"command": command}, id=name), uuid=f"u{number}"),
        a_tool_result(output, of=name, is_error=is_error),
    ]


def test_what_was_done_is_told_with_commits_and_tests() -> None:
    session = build(
        a_prompt("fix it"),
        *ran("pytest -q", "2 failed, 10 passed in 1s", 1, is_error=True),
        *ran("cd app && pytest -q | tail -3", "1 failed, 11 passed in 1s", 2),
        *ran("pytest -q", "12 passed in 1s", 3),
        *ran("git commit -am 'Keep commas'", "[main 1a2b3c4d] Keep commas\n 1 file changed", 4),
    )
    summary = summary_of(session)
    assert [(run.outcome, run.counts) for run in summary.test_runs] == [
        ("failed", "2 failed, 10 passed"),
        ("failed", "1 failed, 11 passed"),
        ("passed", "12 passed"),
    ]
    [commit] = summary.commits
    assert (commit.message, commit.hash, commit.branch, commit.uuid) == ("Keep commas", "1a2b3c4d", "main", "u4")
    assert next((each.name, each.runs, each.failed) for each in summary.commands) == ("pytest", 3, 1)


_MESSAGE = "git commit -m \"$(cat <<'EOF'\nKeep commas\n\nlog.go: Replace weak test, see git commit -h\nEOF\n)\""


@pytest.mark.parametrize(
    ("command", "tests", "commits"),
    [
        (f"git add a.go && {_MESSAGE}", 0, 1),
        ("gh pr create --title x --body 'ran `make test` after git commit'", 0, 0),
        ("pip install pytest", 0, 0),
        ("grep -rn jest package.json", 0, 0),
        ("git log --oneline commit.py", 0, 0),
        ("git commit --dry-run", 0, 0),
        ("git -C ../lib commit -m x", 0, 1),
        ("nix develop --command sh -c 'go test ./...'", 1, 0),
        ("git stash && mise run test:ci | tail", 1, 0),
        ("npm test -- \\\n  --watch=false", 1, 0),
    ],
)
def test_a_command_is_what_it_runs_and_not_what_its_texts_name(command: str, tests: int, commits: int) -> None:
    session = build(a_prompt("fix it"), *ran(command, "", 1))
    summary = summary_of(session)
    assert (len(summary.test_runs), len(summary.commits)) == (tests, commits)
    outcome = find(session).outcome
    assert (outcome.last_test is not None, outcome.commits) == (tests > 0, commits)


def test_tests_behind_a_step_that_failed_were_not_run() -> None:
    chain = "ruff check && pytest"
    session = build(a_prompt("fix it"), *ran(chain, "Exit code 1\nF401 imported but unused", 1, is_error=True))
    assert (summary_of(session).test_runs, summary_of(session).open) == ((), ())
    assert find(session).outcome.last_test is None
    session = build(a_prompt("fix it"), *ran(chain, "Exit code 1\n2 failed, 1 passed", 1, is_error=True))
    assert [run.outcome for run in summary_of(session).test_runs] == ["failed"]


def test_counts_of_several_test_programs_are_added_up() -> None:
    output = "running 2 tests\ntest result: ok. 2 passed; 0 failed\nrunning 1 test\ntest result: ok. 1 passed; 0 failed"
    [run] = summary_of(build(a_prompt("test"), *ran("cargo test", output, 1))).test_runs
    assert run.counts == "3 passed, 0 failed"


def test_a_description_is_read_from_the_standard_input_and_an_empty_one_is_no_commit() -> None:
    typed = "jj describe -r x --stdin <<'EOF'\nKeep commas\n\nAs asked.\nEOF"
    session = build(a_prompt("fix it"), *ran(typed, "", 1), *ran('jj describe -m ""', "", 2))
    assert [commit.message for commit in summary_of(session).commits] == ["Keep commas"]


def test_a_refusal_has_its_reason_and_not_the_clients_sentences() -> None:
    canned = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
        " new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse uv, not pip"
    )
    silent = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    hook = "PreToolUse:Bash hook error: [guard.sh]: never push to main"
    session = build(
        a_prompt("install"),
        *ran("pip install x", canned, 1, is_error=True),
        *ran("rm -rf build", silent, 2, is_error=True),
        *ran("git push", hook, 3, is_error=True),
    )
    summary = summary_of(session)
    assert [(each.target, each.refused_by, each.text) for each in summary.refusals] == [
        ("pip install x", "person", "use uv, not pip"),
        ("rm -rf build", "person", ""),
        ("git push", "hook", "never push to main"),
    ]
    told = "\n".join(summary_lines(summary, View(width=100, style=Style(colour=False))))
    assert "by you: use uv, not pip" in told
    assert "by you, without a reason" in told
    assert "doesn't want to proceed" not in told


def test_what_is_left_open_is_told_with_how_it_is_known() -> None:
    todos = [{"content": "write docs", "status": "pending"}, {"content": "fix", "status": "completed"}]
    session = build(
        a_prompt("fix it"),
        *ran("git commit -m x", "[main 1a2b3c4d] x", 1),
        a_reply(a_tool_call("Edit", {"file_path": "/app/late.py", "old_string": "a", "new_string": "b"}, id="e")),
        a_tool_result("ok", of="e"),
        a_reply(a_tool_call("TodoWrite", {"todos": todos}, id="t")),
        a_tool_result("ok", of="t"),
        *ran("pytest", "1 failed", 2, is_error=True),
        a_reply("It is nearly done.\n\n## Next steps\n- run the migration\n- tell Ann\n\nShall I go on?"),
    )
    assert [(point.source, point.text) for point in summary_of(session).open] == [
        ("todo", "write docs"),
        ("tests", "the last run of tests failed (1 failed): pytest"),
        ("uncommitted", "changed after the last commit: late.py"),
        ("reply", "run the migration"),
        ("reply", "tell Ann"),
        ("question", "Shall I go on?"),
    ]


def test_tasks_are_todos() -> None:
    """Clients since 2.1 make a task where older ones wrote the whole list."""
    made = {"task": {"id": "1", "subject": "Write the test"}}
    entries = [
        a_prompt("do it"),
        a_reply(a_tool_call("TaskCreate", {"subject": "Write the test"}, id="t1")),
        a_tool_result("Task #1 created successfully: Write the test", of="t1", twin=made),
        a_reply(a_tool_call("TaskCreate", {"subject": "Tell Ann"}, id="t2")),
        a_tool_result("Task #2 created successfully: Tell Ann", of="t2"),
        a_reply(a_tool_call("TaskCreate", {"subject": "Needless"}, id="t3")),
        a_tool_result("Task #3 created successfully: Needless", of="t3"),
    ]
    for number, status in (("1", "completed"), ("2", "in_progress"), ("3", "deleted")):
        update = {"taskId": number, "status": status}
        entries += [
            a_reply(a_tool_call("TaskUpdate", update, id=f"u{number}")),
            a_tool_result("Updated task", of=f"u{number}"),
        ]
    found = summary_of(build(*entries))
    assert (found.todos, found.todos_done) == (2, 1)
    assert [point.text for point in found.open if point.source == "todo"] == ["Tell Ann"]
