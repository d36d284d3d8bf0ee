"""What a person is asked, in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
    assert rows(question) == ["? Bash", "    rm -r build", "    ls", "  Cleans up", "  because of build"]


def test_an_edit_is_shown_as_a_diff() -> None:
    edit = {"file_path": "/home/ann/app/a.py", "old_string": "one\ntwo\n", "new_string": "one\nthree\n"}
    assert rows(asked("Edit", edit)) == ["? Edit  a.py", "      one", "    - two", "    + three"]


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
    assert rows(asked("mcp__db__drop", {"table": "users"})) == [
        "? db:drop",
        "    {",
        '      "table": "users"',
        "    }",
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
            "allow Bash(touch:*) in this project",
        ),
        (
            {"type": "addRules", "rules": [{"toolName": "Read"}], "destination": "userSettings"},
            "allow Read in all projects",
        ),
        (
            {"type": "addDirectories", "directories": ["/a", "/b"], "destination": "session"},
            "work in /a, /b in this session",
        ),
        ({"type": "setMode", "mode": "acceptEdits", "destination": "session"}, "accept every edit in this session"),
        ({"type": "setMode", "mode": "martian", "destination": "session"}, "mode martian in this session"),
        ({"type": "new", "x": 1}, '{"type": "new", "x": 1}'),
        ("text\x1b[2J", "text"),
    ],
)
def test_what_would_be_remembered_is_said_in_words(suggestion: Any, words: str) -> None:
    assert permissions.in_words(suggestion) == words


def test_several_suggestions_are_numbered() -> None:
    modes = ({"type": "setMode", "mode": "plan"}, {"type": "setMode", "mode": "default"})
    assert list(permissions.key_line(asked("Bash", {}, suggestions=modes), VIEW)) == [
        "  [y]es [n]o [a]lways [e]dit [q]uit turn",
        "  a = all of these, a number = that one:",
        "    1 = only plan",
        "    2 = ask as usual",
    ]


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
