"""What worked after an error."""

from __future__ import annotations

from typing import Any

import pytest

from reread.features.fixes import recoveries, signature
from reread.testing import Entry, a_prompt, a_reply, a_tool_call, a_tool_result, build


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("Exit code 127\n/bin/bash: line 1: pyhton: command not found", "bash: line : pyhton: command not found"),
        (
            'Exit code 1\nTraceback (most recent call last):\n  File "/home/ann/app/x.py", line 3\n'
            "ModuleNotFoundError: No module named 'yaml'",
            "modulenotfounderror: no module named 'yaml'",
        ),
        ("Error: Cannot find module '/home/ann/app/dist/main.js'", "error: cannot find module 'main.js'"),
        ("all is well", ""),
    ],
)
def test_a_signature_is_what_went_wrong_without_what_varies(error: str, told: str) -> None:
    assert signature(error) == told


def ran(*calls: tuple[str, str | None]) -> list[Entry]:
    """Commands, each with its error or None."""
    found: list[Entry] = []
    for command, error in calls:
        result: Any = a_tool_result("done") if error is None else a_tool_result(error, is_error=True)
        found += [a_reply(a_tool_call("Bash", {"command": command})), result]
    return found


MISSING = "Exit code 1\nError: Cannot find module 'left-pad'"


@pytest.mark.parametrize(
    ("calls", "remedy"),
    [
        ([("npm test", MISSING), ("npm ci", None), ("npm test", None)], "npm ci"),
        ([("npm test", MISSING), ("npm test --legacy", None)], "npm test --legacy"),
        ([("npm test", MISSING), ("ls", None)], None),
        ([("npm test", MISSING), ("npm ci", None), ("ls", None), ("npm test", None)], None),
        ([("npm test", None)], None),
    ],
)
def test_the_remedy_is_what_made_the_command_work(calls: list[tuple[str, str | None]], remedy: str | None) -> None:
    found = list(recoveries(build(a_prompt("go"), *ran(*calls))))
    assert found == ([("error: cannot find module 'left-pad'", remedy)] if remedy is not None else [])
