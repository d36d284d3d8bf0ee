"""Which files calls name, and how often tools ran."""

from __future__ import annotations

from typing import Any

import pytest

from reread.features.tool_use import count_tools, paths_of
from reread.sessions import CallStatus
from reread.testing import a_prompt, a_reply, a_tool_call, a_tool_result, build


def paths(given: Any) -> list[str]:
    [call] = build(a_prompt("go"), a_tool_call("Tool", given)).tool_calls
    return paths_of(call)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"file_path": "/a.py"}, ["/a.py"]),
        ({"notebook_path": "/n.ipynb"}, ["/n.ipynb"]),
        ({"path": "/src", "pattern": "x"}, ["/src"]),
        ({"path": "/src", "file_path": "/a.py"}, ["/a.py", "/src"]),
        ({"command": "cat /a.py"}, []),
        ({"file_path": None}, []),
        ({"file_path": 7}, []),
        ({"file_path": ["/a.py"]}, []),
        ({}, []),
        (["/a.py"], []),
        ("/a.py", []),
    ],
)
def test_a_call_names_these_paths(given: Any, expected: list[str]) -> None:
    assert paths(given) == expected


def test_tools_are_counted_with_how_they_ended_and_how_long_they_took() -> None:
    session = build(
        a_prompt("go"),
        a_reply(a_tool_call("Bash", {"command": "a"}, id="t1")),
        a_tool_result("ok", of="t1"),
        a_reply(a_tool_call("Bash", {"command": "b"}, id="t2")),
        a_tool_result("boom", of="t2", is_error=True),
        a_reply(a_tool_call("mcp__web__fetch", {"url": "x"}, id="t3")),
        a_tool_result("The user doesn't want to proceed with this tool use.", of="t3", is_error=True),
        a_reply(a_tool_call("Read", {"file_path": "/a"}, id="t4")),
        a_tool_result("[Request interrupted by user for tool use]", of="t4", is_error=True),
        a_reply(a_tool_call("Bash", {"command": "c"}, id="t5")),
    )
    assert [call.status for call in session.tool_calls] == [
        CallStatus.OK,
        CallStatus.ERROR,
        CallStatus.REJECTED,
        CallStatus.INTERRUPTED,
        CallStatus.MISSING,
    ]
    counts = count_tools(session.tool_calls)
    assert [(count.name, count.calls) for count in counts] == [("Bash", 3), ("Read", 1), ("mcp__web__fetch", 1)]
    bash, read, fetch = counts
    assert (bash.errors, bash.missing, bash.seconds, round(bash.error_rate, 3)) == (1, 1, 2.0, 0.333)
    assert (read.interrupted, read.errors) == (1, 0)
    assert (fetch.rejected, fetch.errors, fetch.server, fetch.tool) == (1, 0, "web", "fetch")
    assert bash.server is None


def test_no_calls_are_no_counts() -> None:
    assert count_tools([]) == []
