"""A tool call in one line: the argument that matters, by tool, and why it failed."""

from __future__ import annotations

from typing import Any

import pytest

from reread.blocks.model import CallBlock
from reread.blocks.of_session import SessionBlocks
from reread.sessions import CallStatus
from reread.testing import a_prompt, a_reply, a_tool_call, a_tool_result, build
from reread.views.calls import MARKS, failure, relative, summary, tool_label

PROJECT = "/home/ann/app"


def a_call(name: str, given: Any, *result: Any) -> CallBlock:
    session = build(a_prompt("q"), a_reply(a_tool_call(name, given)), *result)
    (call,) = session.tool_calls
    return SessionBlocks(session).call(call)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("Read", {"file_path": "/home/ann/app/src/a.py", "limit": 10}, "src/a.py"),
        ("Read", {"file_path": "/etc/hosts"}, "/etc/hosts"),
        ("Write", {"file_path": "/home/ann/app/b.py", "content": "x"}, "b.py"),
        ("Edit", {"file_path": "/home/ann/app/b.py", "old_string": "a", "new_string": "b"}, "b.py"),
        ("NotebookEdit", {"notebook_path": "/home/ann/app/a.ipynb", "new_source": "x"}, "a.ipynb"),
        ("Bash", {"command": "ls -la", "description": "list"}, "ls -la"),
        ("Grep", {"pattern": "TODO", "path": "src", "glob": "*.py"}, "TODO · src · *.py"),
        ("Glob", {"pattern": "**/*.py", "path": None}, "**/*.py"),
        ("Task", {"description": "look", "subagent_type": "Explore", "prompt": "long"}, "look · Explore"),
        ("WebFetch", {"url": "https://x.org", "prompt": "p"}, "https://x.org"),
        (
            "TodoWrite",
            {"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress"}]},
            "1 of 2 done, now: b",
        ),
        ("AskUserQuestion", {"questions": [{"question": "Which?"}, {"question": "Why?"}]}, "Which? / Why?"),
        ("mcp__github__search", {"query": "x", "page": 2}, "x · 2"),
        ("Unheard", {"deep": {"er": [1]}}, '{"er":[1]}'),
        ("Unheard", {}, ""),
    ],
)
def test_the_point_of_a_call(name: str, given: dict[str, Any], said: str) -> None:
    assert summary(a_call(name, given), PROJECT) == said


@pytest.mark.parametrize("todos", ["text", [None, "x"], None])
def test_a_call_of_the_wrong_shape_is_summarised_all_the_same(todos: Any) -> None:
    assert summary(a_call("TodoWrite", {"todos": todos}), PROJECT).startswith("0 of 0")


def test_paths_are_relative_to_the_project_on_windows_too() -> None:
    assert relative("C:\\Users\\ann\\app\\src\\a.py", "C:\\Users\\ann\\app") == "src\\a.py"
    assert relative("/home/ann/application/x", "/home/ann/app") == "/home/ann/application/x"


def test_mcp_tools_are_called_by_server_and_tool() -> None:
    assert tool_label("mcp__linear-server__get_issue") == "linear-server:get_issue"
    assert tool_label("Bash") == "Bash"


def test_every_status_has_a_mark() -> None:
    assert set(MARKS) == set(CallStatus)


def test_a_failure_says_why() -> None:
    error = "<tool_use_error>File does not exist.\nReally.</tool_use_error>"
    assert failure(a_call("Read", {}, a_tool_result(error, is_error=True))) == "File does not exist.\nReally."
    assert failure(a_call("Read", {}, a_tool_result("fine"))) == ""
    assert failure(a_call("Read", {})) == "no result"
