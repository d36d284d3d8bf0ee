"""What a person is asked, in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.running import without_colour
from reread.live.events import Permission
from reread.views import permissions
from reread.views.text import Style, partial_input
from reread.views.values import View

VIEW = View(width=70, style=Style(False))


def asked(tool: str, given: Any, **more: Any) -> Permission:
    return Permission(request_id="r", tool=tool, input=given, **more)


def rows(of: Permission) -> list[str]:
    return list(permissions.permission_lines(of, "/home/ann/app", VIEW))


def test_a_command_is_shown_whole_with_why_it_is_asked() -> None:
    question = asked(
        "Bash", {"command": "rm -r build\nls"}, description="Cleans up", blocked_path="/home/ann/app/build"
    )
    assert rows(question) == ["? Bash", "    rm -r build", "    ls", "  Cleans up", "  it concerns build"]


def test_an_edit_is_shown_as_a_diff() -> None:
    edit = {"file_path": "/home/ann/app/a.py", "old_string": "one\ntwo\n", "new_string": "one\nthree\n"}
    assert rows(asked("Edit", edit)) == ["? Edit  /home/ann/app/a.py", "      one", "    - two", "    + three"]


def test_a_path_that_the_question_has_already_is_not_said_again() -> None:
    given = {"file_path": "/home/ann/app/a.py", "content": "x"}
    assert rows(asked("Write", given, description="a.py")) == ["? Write  /home/ann/app/a.py", "    1 + x"]


def test_a_plan_is_read_like_a_reply() -> None:
    plan = asked("ExitPlanMode", {}, plan="# Steps\n\n1. **Read**\n\n| a | b |\n|---|---|\n| 1 | 2 |")
    shown = [without_colour(line) for line in permissions.plan_lines(plan, VIEW._replace(style=Style(True)))]
    assert shown == ["? a plan", "  Steps", "  ", "  1. Read", "  ", "  a │ b", "  ─ │ ─", "  1 │ 2"]


@pytest.mark.parametrize(
    ("tool", "given", "line"),
    [
        ("Write", {"file_path": "a.py", "content": "x\n"}, "    1 + x"),
        ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}]}, "    - x"),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "    1 + x"),
    ],
)
def test_every_way_to_edit_has_its_diff(tool: str, given: dict[str, Any], line: str) -> None:
    assert line in rows(asked(tool, given))


def test_an_unknown_tool_is_shown_with_its_whole_input() -> None:
    dropped = {"table": "users", "how": {"cascade": True, "of": ["a", 'b"c']}}
    assert rows(asked("mcp__db__drop", dropped)) == [
        "? db:drop",
        "    table: users",
        "    how.cascade: true",
        "    how.of[0]: a",
        '    how.of[1]: b"c',
    ]


@pytest.mark.parametrize(
    ("suggestion", "words"),
    [
        (
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
                "behavior": "allow",
                "destination": "localSettings",
            },
            "allow Bash(touch:*) in this project: every command that begins with touch",
        ),
        (
            {"type": "addRules", "rules": [{"toolName": "Read"}], "destination": "userSettings"},
            "allow Read in all projects: every use of Read",
        ),
        (
            {"type": "addDirectories", "directories": ["/a", "/b"], "destination": "session"},
            "work in /a, /b in this session: everything below counts as part of the project",
        ),
        (
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            "accept every edit in this session: every file of the project may be changed unasked",
        ),
        ({"type": "addRules", "rules": [{"toolName": "Bash"}]}, "allow Bash: every command"),
        ({"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "make test"}]}, "allow Bash(make test)"),
        ({"type": "setMode", "mode": "martian", "destination": "session"}, "mode martian in this session"),
        ({"type": "new", "x": 1}, '{"type": "new", "x": 1}'),
        ("text\x1b[2J", "text"),
    ],
)
def test_what_would_be_remembered_is_said_in_words(suggestion: Any, words: str) -> None:
    assert permissions.in_words(suggestion) == words


def rule(content: str | None, destination: str = "localSettings", tool: str = "Bash", **more: Any) -> dict[str, Any]:
    named = {"toolName": tool} if content is None else {"toolName": tool, "ruleContent": content}
    return {"type": "addRules", "behavior": "allow", "rules": [named], "destination": destination, **more}


FOLDER = {"type": "addDirectories", "directories": ["/srv"], "destination": "session"}
MODE = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def test_always_is_the_narrowest_rule_and_wider_ones_have_numbers_and_say_what_they_open() -> None:
    question = asked("Bash", {}, suggestions=(FOLDER, rule("touch:*"), MODE))
    assert list(permissions.key_line(question, View(width=100, style=Style(False)))) == [
        "  [y]es [n]o [a]lways [e]dit [q]uit turn",
        "  a = allow Bash(touch:*) in this project: every command that begins with touch",
        "  yes, and wider from now on:",
        "    1 = work in /srv in this session: everything below counts as part of the project",
        "    2 = accept every edit in this session: every file of the project may be changed unasked",
    ]
    assert permissions.wider_suggestions(question) == [FOLDER, MODE]


def test_without_a_rule_there_is_no_always() -> None:
    question = asked("Edit", {}, suggestions=(MODE,))
    first, *rest = permissions.key_line(question, View(width=100, style=Style(False)))
    assert first == "  [y]es [n]o [e]dit [q]uit turn"
    assert rest[-1].startswith("    1 = accept every edit in this session")


@pytest.mark.parametrize(
    ("suggestions", "narrowest"),
    [
        ((rule("git:*"), rule("git status")), 1),
        ((rule(None), rule("git:*")), 1),
        ((rule("git status", "userSettings"), rule("git status", "session")), 1),
        ((rule("/tmp/x", tool="Read"), rule("git:*")), 1),
        ((rule("git:*", behavior="deny"), MODE), None),
        ((MODE, FOLDER), None),
        ((rule("x", "martian"), "text", None, 7, {"type": "addRules", "rules": "x"}), 0),
        ((), None),
    ],
)
def test_the_narrowest_rule_is_found(suggestions: tuple[Any, ...], narrowest: int | None) -> None:
    assert asked("Bash", {}, suggestions=suggestions).narrowest == narrowest


def test_a_plan_names_its_file_and_a_plan_that_nobody_told_is_said_to_be_unknown() -> None:
    told = asked("ExitPlanMode", {}, plan="# Plan\n\n1. Do it\n", plan_file="/home/ann/.claude/plans/calm.md")
    assert list(permissions.plan_lines(told, VIEW)) == [
        "? a plan",
        "  /home/ann/.claude/plans/calm.md",
        "  # Plan",
        "  ",
        "  1. Do it",
    ]
    assert "does not say what the plan is" in "\n".join(permissions.plan_lines(asked("ExitPlanMode", {}), VIEW))


def test_nothing_to_remember_is_nothing_to_press() -> None:
    assert list(permissions.key_line(asked("Bash", {}), VIEW)) == ["  [y]es [n]o [e]dit [q]uit turn"]


@pytest.mark.parametrize("given", [None, 7, "text", [], {"questions": 3}, {"questions": [3]}])
def test_odd_inputs_are_shown_and_hurt_nothing(given: Any) -> None:
    for tool in ("Bash", "Edit", "AskUserQuestion", "ExitPlanMode"):
        question = asked(tool, given)
        assert rows(question)
        assert list(permissions.plan_lines(question, VIEW))
        assert permissions.questions_of(question) == []


def test_a_beginning_of_an_input_is_read_at_every_length() -> None:
    whole = {"command": 'echo "a\\b" é', "list": [1, {"x": None}], "is": True, "n": -1.5}
    text = json.dumps(whole)
    for end in range(1, len(text) + 1):
        found = partial_input(text[:end])
        assert found is None or set(found) <= set(whole) | {key[:n] for key in whole for n in range(len(key))}
        if end > text.index("list"):
            assert found is not None
            assert found["command"] == whole["command"]
    assert partial_input(text) == whole
    assert partial_input("not json") is None
