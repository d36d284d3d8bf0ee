"""Tools that failed: of what class, and how they were got over."""

from __future__ import annotations

from typing import Any

import pytest

from reread.features.friction import ErrorClass, FrictionKind, Moment, find_events
from reread.sessions import Session
from reread.testing import ContentBlock, Entry, a_prompt, a_reply, a_tool_call, a_tool_result, a_usage, build

Part = Entry | ContentBlock


def errors(session: Session) -> list[Moment]:
    return [event for event in find_events(session) if event.kind is FrictionKind.TOOL_ERROR]


def tool(name: str, given: dict[str, Any], output: str = "ok", *, failed: bool = False) -> list[Part]:
    reply = a_reply(a_tool_call(name, given), usage=a_usage(100, 50))
    return [reply, a_tool_result(output, is_error=True if failed else None)]


def bash(command: str, output: str = "ok", *, failed: bool = False) -> list[Part]:
    return tool("Bash", {"command": command}, output, failed=failed)


@pytest.mark.parametrize(
    ("name", "given", "output", "expected"),
    [
        ("Read", {"file_path": "/a"}, "File does not exist.", ErrorClass.NOT_FOUND),
        ("Bash", {"command": "x y"}, "Exit code 127\nbash: x: command not found", ErrorClass.NOT_FOUND),
        (
            "Bash",
            {"command": "python a.py"},
            "Exit code 1\nModuleNotFoundError: No module named 'a'",
            ErrorClass.NOT_FOUND,
        ),
        ("Edit", {"file_path": "/a"}, "<tool_use_error>String to replace not found in file.", ErrorClass.EDIT_MISMATCH),
        ("Edit", {"file_path": "/a"}, "<tool_use_error>File has not been read yet.", ErrorClass.NOT_READ),
        ("Write", {"file_path": "/a"}, "File has been modified since read, by a linter.", ErrorClass.CONFLICT),
        ("Bash", {"command": "./run"}, "Exit code 126\nPermission denied", ErrorClass.PERMISSION),
        ("Write", {"file_path": "/a"}, "Claude requested permissions to write to /a", ErrorClass.PERMISSION),
        ("Bash", {"command": "npm run dev"}, "Command timed out after 2m 0.0s", ErrorClass.TIMEOUT),
        ("Bash", {"command": "pytest -q"}, "Exit code 1\n1 failed, 2 passed", ErrorClass.TEST_FAILURE),
        ("Bash", {"command": "cargo build"}, "Exit code 101\nerror[E0382]: borrow", ErrorClass.COMPILE_ERROR),
        ("Bash", {"command": "mypy src"}, "Exit code 1", ErrorClass.LINT),
        ("Bash", {"command": "curl x"}, "Exit code 6\nCould not resolve host: x", ErrorClass.NETWORK),
        ("WebFetch", {"url": "https://x.org"}, "maxRedirects reached", ErrorClass.NETWORK),
        ("mcp__a__b", {}, "no such file or directory", ErrorClass.MCP),
        ("Bash", {"command": "git merge x"}, "Exit code 1\nAutomatic merge failed; fix conflicts", ErrorClass.CONFLICT),
        ("Bash", {"command": "npm run lint"}, "Exit code 1\n✖ 3 problems (3 errors)", ErrorClass.LINT),
        ("Bash", {"command": "npx tsc"}, "Exit code 2\na.ts(1,2): error TS2322: Type", ErrorClass.COMPILE_ERROR),
        ("Bash", {"command": "jj show -x"}, "Exit code 2\nerror: unexpected argument '-x'", ErrorClass.BAD_ARGUMENTS),
        ("Task", {}, "InputValidationError: Task failed: `prompt` is missing", ErrorClass.BAD_ARGUMENTS),
        ("Bash", {"command": "pip install x==9"}, "ERROR: No matching distribution found", ErrorClass.DEPENDENCY),
        (
            "Bash",
            {"command": "python a.py"},
            "Traceback (most recent call last):\nKeyError: 1",
            ErrorClass.RUNTIME_ERROR,
        ),
        ("Bash", {"command": "grep -r x ."}, "Exit code 1", ErrorClass.NO_MATCH),
        ("Bash", {"command": "./deploy"}, "Exit code 9", ErrorClass.OTHER),
        (
            "Bash",
            {"command": "go build && X=1 y 3>"},
            "Exit code 1\n(eval):1: parse error near `y'",
            ErrorClass.BAD_ARGUMENTS,
        ),
        ("Bash", {"command": "sh x"}, "x: line 1: syntax error near unexpected token `('", ErrorClass.BAD_ARGUMENTS),
        ("Read", {"file_path": "/a"}, "EISDIR: illegal operation on a directory, read", ErrorClass.BAD_ARGUMENTS),
        ("Bash", {"command": "gh api x"}, "Exit code 1\ngh: Not Found (HTTP 404)", ErrorClass.NOT_FOUND),
        ("Bash", {"command": "x && tspec fmt --check"}, "Exit code 1\nok\nDiff in /a/b.rs:12:\n-a", ErrorClass.LINT),
        ("Bash", {"command": "wsl foo"}, "Exit code 127\nb\0a\0s\0h\0: foo: command not found\n", ErrorClass.NOT_FOUND),
        ("Bash", {"command": "flutter analyze"}, "Exit code 1\n3 issues found. (ran in 2.1s)", ErrorClass.LINT),
        ("Bash", {"command": "gh x --json y"}, 'Exit code 1\nUnknown JSON field: "y"', ErrorClass.BAD_ARGUMENTS),
        ("Bash", {"command": "curl -s http://x"}, "Exit code 7", ErrorClass.NETWORK),
        ("Bash", {"command": "x | jq ."}, "Exit code 5\njq: parse error: Invalid numeric", ErrorClass.BAD_ARGUMENTS),
        # What a test prints is not what went wrong with it.
        ("Bash", {"command": "pytest"}, "Exit code 1\nPermission denied\n1 failed", ErrorClass.TEST_FAILURE),
    ],
)
def test_errors_have_a_class(name: str, given: dict[str, Any], output: str, expected: ErrorClass) -> None:
    (event,) = errors(build(a_prompt("a"), *tool(name, given, output, failed=True)))
    assert event.about == expected


def test_a_call_that_was_not_run_did_not_fail() -> None:
    session = build(a_prompt("a"), *bash("ls", "Sibling tool call errored", failed=True))
    assert not errors(session)


def test_the_loss_goes_up_to_the_next_attempt_so_that_attempts_add_up() -> None:
    session = build(
        a_prompt("a"),
        *bash("pytest -q", "Exit code 1\n1 failed", failed=True),
        *tool("Read", {"file_path": "/a.py"}),
        *bash("cd app && pytest -q", "Exit code 1\n1 failed", failed=True),
        *bash("pytest -q tests"),
        a_reply("done"),
    )
    first, second = errors(session)
    assert (first.details["attempts"], first.details["recovered"]) == (2, True)
    assert (first.loss.tokens, second.loss.tokens) == (300, 150)
    assert (first.loss.seconds, second.loss.seconds) == (4.0, 2.0)
    assert first.loss.nanodollars is not None
    assert second.loss.nanodollars is not None
    assert first.loss.nanodollars == 2 * second.loss.nanodollars


def test_an_error_nobody_came_back_to_is_not_recovered() -> None:
    (event,) = errors(build(a_prompt("a"), *bash("make", "Exit code 2", failed=True), a_reply("never mind")))
    assert (event.details["recovered"], event.details["attempts"], event.loss.seconds) == (False, 0, None)


def test_the_way_around_a_missing_command_is_told() -> None:
    session = build(
        a_prompt("a"),
        *bash("go build", "Exit code 127\nzsh: command not found: go", failed=True),
        *bash("nix develop --command go build"),
    )
    assert errors(session)[0].details["recovered_by"] == "nix develop --command go build"


def test_an_edit_is_recovered_by_an_edit_of_the_same_file() -> None:
    mismatch = "<tool_use_error>String to replace not found in file."
    session = build(
        a_prompt("a"),
        *tool("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, mismatch, failed=True),
        *tool("Edit", {"file_path": "/b", "old_string": "x", "new_string": "y"}),
        *tool("Edit", {"file_path": "/a", "old_string": "z", "new_string": "y"}),
    )
    (event,) = errors(session)
    assert (event.details["attempts"], event.loss.tokens) == (1, 300)


@pytest.mark.parametrize(
    ("path", "recovered"), [("/app/src/notes.md", True), ("/app/docs/todo.md", True), ("/app/src/other.py", False)]
)
def test_a_file_that_is_not_there_is_recovered_by_one_of_its_name_or_folder(path: str, recovered: bool) -> None:
    session = build(
        a_prompt("a"),
        *tool("Read", {"file_path": "/app/docs/notes.md"}, "File does not exist.", failed=True),
        *tool("Read", {"file_path": path}),
    )
    assert errors(session)[0].details["recovered"] == recovered


def test_the_evidence_is_the_line_that_says_what_went_wrong() -> None:
    passing = "".join(f"ok  \tapp/part{number}\t0.2s\n" for number in range(20))
    output = f"Exit code 1\n{passing}--- FAIL: TestKeepsCommas (0.00s)\n    words_test.go:59: got 1, want 2\nFAIL\n"
    (event,) = errors(build(a_prompt("a"), *bash("go test ./...", output, failed=True)))
    assert event.evidence.startswith(
        "Bash go test ./...: Exit code 1 … --- FAIL: TestKeepsCommas (0.00s) words_test.go:59:"
    )
    output = f"Exit code 1\n{passing}Error: no such branch\n"
    (event,) = errors(build(a_prompt("a"), *bash("./release", output, failed=True)))
    assert event.evidence == "Bash ./release: Exit code 1 … Error: no such branch"


def test_arguments_of_unexpected_types_are_no_reason_to_fail() -> None:
    session = build(
        a_prompt("a"),
        *tool("Bash", {"command": ["ls"], "file_path": 3}, "Exit code 1", failed=True),
        *tool("Edit", {"file_path": None, "edits": "none"}, "no", failed=True),
    )
    assert [event.about for event in errors(session)] == ["other", "other"]


def test_time_lost_has_no_wait_for_a_person_in_it() -> None:
    """The edit stood open for over an hour until a person allowed it, and a look at a file for a minute and a half; the
    rest took one second, five minutes, a minute and ten seconds. What the next attempt takes is not lost."""
    session = build(
        a_prompt("a", timestamp="2026-02-01T09:00:00Z"),
        a_reply(a_tool_call("Bash", {"command": "make"}), timestamp="2026-02-01T09:00:01Z"),
        a_tool_result("Exit code 2\nbroken", is_error=True, timestamp="2026-02-01T09:00:02Z"),
        a_reply(a_tool_call("Edit", {"file_path": "/a"}), timestamp="2026-02-01T09:05:02Z"),
        a_tool_result("ok", timestamp="2026-02-01T10:15:02Z"),
        a_reply(a_tool_call("Bash", {"command": "sed -n 7p /a | xxd"}), timestamp="2026-02-01T10:16:02Z"),
        a_tool_result("ok", timestamp="2026-02-01T10:17:32Z"),
        a_reply(a_tool_call("Bash", {"command": "make"}), timestamp="2026-02-01T10:17:42Z"),
        a_tool_result("ok", timestamp="2026-02-01T10:18:42Z"),
    )
    (event,) = errors(session)
    assert event.loss.seconds == 1 + 300 + 60 + 10
