"""What a call came to: whether it worked, and which tests it ran and how they ended.

An exit code is that of the last program of a pipe alone, so where one hides the other the output is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from reread import lazy
from reread.features.word_tables import table
from reread.sessions import CallStatus, ToolCall

from .command_lines import commands_in, hides_its_end

_ENDS = 1200
"""Letters at the beginning and at the end of an output that are read."""
_DID_NOT_START = lazy.pattern(
    r"^(?:error: |Error: )?(?:unrecognized (?:sub)?command|unknown (?:sub)?command|no such (?:sub)?command)\b"
    r"|: command not found\s*$|^\S+: command not found: \S+\s*$|\bis not recognized as (?:an internal|the name of)"
    r"|^error: (?:Script not found|unexpected argument|unrecognized option|invalid option|unknown option)"
    r"|^npm (?:ERR!|error) Missing script|^\S+: (?:unrecognized|invalid|unknown) option\b|^\S+: not found\s*$"
    r"|^error: unrecognized arguments|: error: unrecognized arguments",
    re.MULTILINE,
)
"""Lines of a shell or of a program that it did not run what it was asked for."""
_BROKE_OFF = lazy.pattern(
    r"^(?:fatal: |npm (?:ERR!|error) |error: could not compile|error\[E\d+\]|error: process didn't exit successfully"
    r"|make(?:\[\d+\])?: \*\*\* |error: script \"[^\"]+\" exited with code [1-9]|Traceback \(most recent call last\):)",
    re.MULTILINE,
)
"""Lines of a program that it gave up."""
_SEEDS = table("friction/words", "pieces")["failed_unseen"].pieces
"""One of these is in every match of the two."""
_SHOWS_TEXT = lazy.pattern(
    r"\s*(?:cat|head|tail|sed|awk|grep|rg|less|more|bat|echo|printf|jq|nl|find|ls|strings|zcat|journalctl|cd \S+ *$"
    r"|(?:git|jj|gh|glab|docker|kubectl|rtk)\s[^|]*\b(?:log|logs|show|diff|blame|grep|view|checks|api|read|cat)\b)"
)
"""Programs whose output quotes other programs."""


def worked(command: str, call: ToolCall) -> bool:
    """Whether a call did what it was asked: it was not refused or stopped and did not fail, behind a pipe neither."""
    return call.status is CallStatus.OK and not (command and _failed_unseen(command, _output(call)))


def _failed_unseen(command: str, output: str) -> bool:
    if not hides_its_end(command):
        return False
    parts, ends = commands_in(command), _ends(output)
    if not parts or _SHOWS_TEXT.match(parts[0]):
        return False
    if any(map(ends.__contains__, _SEEDS)) and (_DID_NOT_START.search(ends) or _BROKE_OFF.search(ends)):
        return True
    return _tests_in(parts) is not None and _reports_failure(ends)


def _output(call: ToolCall) -> str:
    return call.output.text if call.output is not None else ""


def _ends(output: str) -> str:
    return output if len(output) <= 2 * _ENDS else f"{output[:_ENDS]}\n{output[-_ENDS:]}"


_TEST = lazy.pattern(
    r"\b(?:(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|phpunit|ctest|gotestsum)\b"
    r"|(?<![\w.-])(?:go|cargo|dotnet|swift|flutter|dart|mix|rake|make|just|mise|npm|pnpm|yarn|bun|deno|gradlew?|mvn"
    r"|bazel)\s(?:.*\s)?[\w:-]*\btest)"
)
_TEST_WORDS = ("test", "jest", "mocha", "tox", "nox", "cypress", "rspec", "playwright")
_NO_TEST = lazy.pattern(
    r"\s*(?:echo|printf|cat|ls|cd|mkdir|rm|mv|cp|touch|head|tail|sed|awk|grep|rg|find|which|type|git|gh|jj|export)\b"
    r"|[\w -]*\b(?:install|add|remove|uninstall)\b"
)
"""Commands that only name a test runner: they read, move or install it."""
_REPORTED = lazy.pattern(
    r"\b\d+ (?:passed|failed|passing|failing|tests?|failures?|errors?)\b|^(?:ok|FAIL|PASS|---|not ok)\b|^Tests:"
    r"|assert|test result",
    re.MULTILINE | re.IGNORECASE,
)
"""What a test runner prints, in an output of several commands."""
_RUNNERS_END = lazy.pattern(
    r"^=+ .*\b\d+ (?:passed|failed)\b.* in [\d.]+ ?s|^\d+ passed\b.* in [\d.]+s$|^test result: (?:ok|FAILED)\."
    r"|^\s*Tests:? +\d+ (?:passed|failed)|^Ran \d+ tests? |^(?:ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\))$"
    r"|All tests passed!$|Some tests failed\.$|^\s*\d+ (?:pass|passing)\b",
    re.MULTILINE,
)
"""Lines that only a test runner prints, whatever it was started by."""
_RUNNERS_WORDS = table("friction/words", "pieces")["test_report"].pieces
_NONE_RUN = lazy.pattern(
    r"\bno tests? (?:found|ran|to run|collected|matched|files? found)|\bcollected 0 items|\bRan 0 tests"
    r"|\[no test files\]|\bNo packages contain test targets",
    re.IGNORECASE,
)
_COUNTS = lazy.pattern(r"\b(\d+) (?:passed|failed|passing|failing|pass|fail|tests?)\b")
_FAILED = lazy.pattern(r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAIL\b|test result: FAILED", re.MULTILINE)


def tests_of(command: str, call: ToolCall) -> str | None:
    """Whether the tests a command ran have `passed` or `failed`; None if it ran none, or came to an end before them.

    A pipe hides the exit code, so the output is also examined; a runner behind another name is known by its report.
    """
    output = _output(call)
    is_named = any(map(command.__contains__, _TEST_WORDS))
    if not is_named and not any(map(output[-_ENDS:].__contains__, _RUNNERS_WORDS)):
        return None
    parts, ends = commands_in(command), _ends(output)
    place = _tests_in(parts) if is_named else None
    if not _has_run(parts, place, ends):
        return None
    if call.status is CallStatus.OK:
        return "failed" if _reports_failure(ends) else "passed"
    return "failed" if place == 0 or _REPORTED.search(output) is not None else None


def _has_run(parts: Sequence[str], place: int | None, ends: str) -> bool:
    """Whether tests were run, by the name of the command at `place` or by what was printed."""
    counts = [int(number) for number in _COUNTS.findall(ends)]
    if not any(counts) and (counts or (_NONE_RUN.search(ends) and not _RUNNERS_END.search(ends))):
        return False
    if place is not None and not _DID_NOT_START.search(ends):
        return True
    is_shown = place is None and (not parts or _SHOWS_TEXT.match(parts[0]) is not None)
    return not is_shown and _RUNNERS_END.search(ends) is not None


def _tests_in(parts: Sequence[str]) -> int | None:
    """Which of the commands runs tests by its name."""
    return next((n for n, part in enumerate(parts) if _TEST.search(part) and not _NO_TEST.match(part)), None)


def _reports_failure(output: str) -> bool:
    has_word = "fail" in output or "error" in output or "FAIL" in output  # most have none, and the pattern is slow
    return has_word and _FAILED.search(output) is not None
