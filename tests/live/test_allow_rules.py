"""What a rule of `reread run --allow` lets through, and what it must not."""

from __future__ import annotations

from typing import Any

import pytest

from reread import BadInput
from reread.live.events import Permission
from reread.live.rules import AllowRule, allowing

FOLDER = "/home/ann/lantern"


def lets(rule: str, tool: str, **given: Any) -> bool:
    return AllowRule.parse(rule).allows(Permission(request_id="r1", tool=tool, input=given), FOLDER)


@pytest.mark.parametrize("command", ["git log", "git log --oneline", " git log -3 ", "git log *.py"])
def test_a_beginning_lets_through_what_begins_so(command: str) -> None:
    assert lets("Bash(git log:*)", "Bash", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "git logout",
        "git status",
        "git log; rm -rf /",
        "git log && rm a",
        "git log | sh",
        "git log > /etc/passwd",
        "git log $(rm a)",
        "git log `rm a`",
        "git log\nrm a",
        "git log &",
        "rm a; git log",
        "",
    ],
)
def test_a_beginning_lets_no_second_command_through(command: str) -> None:
    assert not lets("Bash(git log:*)", "Bash", command=command)


def test_a_command_alone_is_that_command_alone() -> None:
    assert lets("Bash(npm test)", "Bash", command="npm test")
    assert lets("Bash(make a && make b)", "Bash", command="make a && make b"), "as it was written"
    assert not lets("Bash(npm test)", "Bash", command="npm test -- --watch")
    assert not lets("Bash(npm test)", "Bash", command="npm test", dangerouslyDisableSandbox=True)
    assert not lets("Bash(npm test)", "Bash", command=["npm test"])


@pytest.mark.parametrize(
    ("rule", "path", "is_let"),
    [
        ("Edit(src/**)", "src/a/b.py", True),
        ("Edit(src/**)", f"{FOLDER}/src/a.py", True),
        ("Edit(src/**)", f"{FOLDER}/src/../.git/config", False),
        ("Edit(src/**)", "/home/ann/other/src/a.py", False),
        ("Edit(src/**)", "srcs/a.py", False),
        ("Edit(src/*.py)", "src/a.py", True),
        ("Edit(src/*.py)", "src/deep/a.py", False),
        ("Edit(./README.md)", "README.md", True),
        ("Edit(/tmp/**)", "/tmp/x", True),
        ("Edit(/tmp/**)", "/tmp/../etc/passwd", False),
    ],
)
def test_a_path_is_resolved_before_it_is_compared(rule: str, path: str, is_let: bool) -> None:
    assert lets(rule, "Edit", file_path=path) is is_let
    assert lets(rule, "Write", file_path=path) is is_let, "a rule about edits is about all that write"
    assert not lets(rule, "Read", file_path=path)


def test_other_tools() -> None:
    assert lets("Read", "Grep", path="/") and lets("Read", "Read", file_path="/etc/hosts")
    assert lets("mcp__github__*", "mcp__github__search") and not lets("mcp__github__*", "mcp__gitlab__search")
    assert lets("WebFetch(domain:example.com)", "WebFetch", url="https://docs.example.com/x")
    assert not lets("WebFetch(domain:example.com)", "WebFetch", url="https://example.com.evil.org/")
    assert not lets("WebFetch(domain:example.com)", "WebFetch", url="https://[bad")


@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_questions_and_plans_are_always_a_persons(tool: str) -> None:
    assert not lets(tool, tool)


@pytest.mark.parametrize("text", ["", "Bash(", "Bash()", "rm -rf /", "Task(x)", "(a)", "*"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        AllowRule.parse(text)


def test_the_first_rule_that_matches_is_named() -> None:
    rules = tuple(map(AllowRule.parse, ("Read", "Bash(ls:*)", "Bash")))
    asked = Permission(request_id="r1", tool="Bash", input={"command": "ls -l"})
    assert (found := allowing(rules, asked, FOLDER)) is not None and found.text == "Bash(ls:*)"
