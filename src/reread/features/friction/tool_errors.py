"""Tool calls that failed: the class of each error, and how the agent recovered from it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from reread import lazy
from reread.features.word_tables import entries, table
from reread.sessions import CallStatus

from .command_lines import lines_in, prefix_of
from .detection import (
    EDITS,
    SHELLS,
    Cause,
    ConversationUnderTest,
    DetectedCall,
    Detector,
    FrictionKind,
    Moment,
    file_name,
    quote,
    verdict_in,
)
from .refusals import refused_by

_HEAD, _TAIL = 800, 800
"""Characters of an output that are examined: the cause is at its beginning or at its end."""
_LONGEST_OUTPUT = 20_000
"""Letters of an output that are searched for the line to quote."""
_SUBJECT = 60
"""Letters of a command or a path in a quote."""
_REACH = 25
"""The number of calls after a failure that are searched for a recovery."""


class ErrorClass(StrEnum):
    """Why a tool failed."""

    NOT_FOUND = "not_found"
    EDIT_MISMATCH = "edit_mismatch"
    NOT_READ = "not_read"
    PERMISSION = "permission"
    TIMEOUT = "timeout"
    TEST_FAILURE = "test_failure"
    """A test runner reported it."""
    COMPILE_ERROR = "compile_error"
    """From a compiler or a build."""
    LINT = "lint"
    """From a linter, a formatter or a type checker."""
    BAD_ARGUMENTS = "bad_arguments"
    """A tool or a program was called with arguments it does not accept."""
    CONFLICT = "conflict"
    """Between versions of a file, between branches, or with another process's lock."""
    DEPENDENCY = "dependency"
    """A package, or a version of it, was not available."""
    RUNTIME_ERROR = "runtime_error"
    """A program ended with an exception."""
    NO_MATCH = "no_match"
    """A search or a comparison whose answer is an exit code: grep, diff, which."""
    NETWORK = "network"
    MCP = "mcp"
    OTHER = "other"


_NOT_RUN = ("Sibling tool call errored", "Cancelled: parallel tool call")
_OF_ENVIRONMENT = frozenset(
    {ErrorClass.PERMISSION, ErrorClass.TIMEOUT, ErrorClass.DEPENDENCY, ErrorClass.NETWORK, ErrorClass.MCP}
)
"""The cause of all other classes is the agent."""

_RUNNERS = r"(?:npm|pnpm|yarn|bun|mise|just|task|rake|mix|make|deno|uv|poetry)(?: run)? \w*[:-]?"
_TESTER = lazy.pattern(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|phpunit|ctest|gotestsum|go test"
    r"|cargo \w*test|dotnet test|swift test|gradlew? \w*test|mvn \w*test|\w*test\w*\.(?:sh|py|js)"
    rf"|{_RUNNERS}test\w*)\b"
)
_LINTER = lazy.pattern(
    r"\b(?:golangci-lint|ruff|flake8|pylint|mypy|pyright|eslint|biome|stylelint|prettier|clippy|pre-commit|go vet"
    rf"|shellcheck|black|isort|knip|(?:flutter|dart) analyze|{_RUNNERS}(?:lint|check|typecheck|fmt|format)\w*)\b"
)
_COMPILER = lazy.pattern(
    r"\b(?:tsc|javac|rustc|gcc|g\+\+|clang|cmake|ninja|xcodebuild|webpack|vite build|rollup|make|gradlew?|mvn|go build"
    r"|go run|cargo (?:build|check|run)|dotnet build|swift build|docker build"
    rf"|{_RUNNERS}(?:build|compile)\w*)\b"
)
_TEST_REPORT = lazy.pattern(
    r"\b[1-9]\d* (?:failed|failing|failures?)\b|^(?:failed |fail\t|fail |fail:|not ok )|--- fail|\.\.\. ?failed"
    r"|result: failed|assertionerror|^\s*[✕●✗] ",
    re.MULTILINE,
)
_COUNTED = lazy.pattern(r"\b[1-9]\d* (?:errors?|problems?|warnings?|issues?)\b|✖ \d+ problem|would reformat")
_UNCOMPILED = table("friction/words", "pieces")["uncompiled"].pieces
_REFORMATS = lazy.pattern(
    r"^diff in \S+:\d+:|\berror md\d{3}/|^would reformat |would have printed the following", re.MULTILINE
)
"""What a formatter or a linter prints, in a hook of a commit too, and what no other program does."""
_LINTED = table("friction/words", "pieces")["linted"].pieces
_LOOKERS = frozenset(
    ["grep", "rg", "diff", "which", "test", "cmp", "pgrep", "git diff", "git grep", "git config", "gh pr", "find", "ls"]
)
_SIGNS, _LATER_SIGNS = (
    [(ErrorClass(entry.name), entry.pieces) for entry in entries("friction/words", section)]
    for section in ("errors_of_client", "errors_of_programs")
)
"""Messages in lower case; those of programs are tried after the signs of a failed check, whose output may quote any of
them."""
_WEB = frozenset({"WebFetch", "WebSearch"})
_UNREACHED = lazy.pattern(r"Exit code (?:5|6|7|28|35|52|56)\b")
"""Of `curl`: no host, no connection, no answer in time."""


def class_of(call: DetectedCall) -> ErrorClass:
    """Why a call failed: by the client's own wording first, then by what commands print."""
    if call.name.startswith("mcp__"):
        return ErrorClass.MCP
    text = call.text
    text = (text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}").lower() + "\n"
    if "\0" in text:  # a Windows program in WSL prints UTF-16
        text = text.replace("\0", "")
    found = _first(_SIGNS, text)
    if found is not None:
        return found
    if call.name in SHELLS and (found := _failed_check(call.command[:400], text)) is not None:
        return found
    last = text.rstrip().rpartition("\n")[2]  # a program's banner comes first, and its verdict last
    found = _first(_LATER_SIGNS, last) or _first(_LATER_SIGNS, text)
    return found or _by_program(call)


def _failed_check(command: str, text: str) -> ErrorClass | None:
    """The class of what a test runner, a linter or a compiler reported; None if it reported nothing."""
    if _TESTER.search(command) and _TEST_REPORT.search(text):
        return ErrorClass.TEST_FAILURE
    is_compiler = _COMPILER.search(command) is not None
    is_linter = not is_compiler and _LINTER.search(command) is not None
    if any(map(text.__contains__, _LINTED)) or _REFORMATS.search(text):
        return ErrorClass.LINT
    has_faults = any(map(text.__contains__, _UNCOMPILED))
    if has_faults or ((is_linter or is_compiler) and _COUNTED.search(text)):
        return ErrorClass.LINT if is_linter else ErrorClass.COMPILE_ERROR
    return ErrorClass.TEST_FAILURE if "assert" in text and _TEST_REPORT.search(text) else None


def _by_program(call: DetectedCall) -> ErrorClass:
    """The class if the output shows nothing: a checker fails by finding something, grep by finding nothing."""
    if call.name in _WEB:
        return ErrorClass.NETWORK
    program = prefix_of(call.command) if call.name in SHELLS else ""
    for pattern, name in (
        (_TESTER, ErrorClass.TEST_FAILURE),
        (_LINTER, ErrorClass.LINT),
        (_COMPILER, ErrorClass.COMPILE_ERROR),
    ):
        if pattern.match(program):
            return name
    if program == "curl" and _UNREACHED.match(call.text):
        return ErrorClass.NETWORK
    if program in _LOOKERS or program.partition(" ")[0] in _LOOKERS or "diff " in call.command[:400]:
        return ErrorClass.NO_MATCH
    return ErrorClass.OTHER


def _first(signs: Iterable[tuple[ErrorClass, tuple[str, ...]]], text: str) -> ErrorClass | None:
    return next((name for name, words in signs if any(map(text.__contains__, words))), None)


def is_failure(call: DetectedCall) -> bool:
    """Whether the tool itself failed: not because a parallel call failed, and not because it was refused."""
    if call.worked or call.status not in (CallStatus.OK, CallStatus.ERROR) or call.output is None:
        return False
    text = call.text[:120]
    return not any(sign in text for sign in _NOT_RUN) and refused_by(call) is None


class ToolError(Detector):
    """A tool failed. Its loss is what went by until the next attempt at the same thing, so that attempts add up."""

    kind = FrictionKind.TOOL_ERROR
    exact = "is_error, <tool_use_error>, a twin that opens with `Error: `; the client's own wording for the class"
    heuristics = "the class of a failed command, from its program and what it printed"

    def find(self, subject: ConversationUnderTest) -> Iterator[Moment]:
        for context in subject.turns:
            for place, call in enumerate(context.calls):
                if is_failure(call):
                    yield self._event(subject, context.calls, place)

    def _event(self, subject: ConversationUnderTest, calls: Sequence[DetectedCall], place: int) -> Moment:
        call = calls[place]
        why = class_of(call)
        attempts, next_try, cure = _recovery(calls, place, why)
        tried = calls.index(next_try, place) if next_try is not None else place
        return subject.event(
            self.kind,
            call.proof,
            _evidence(call),
            Cause.ENVIRONMENT if why in _OF_ENVIRONMENT else Cause.AGENT,
            1.0,
            about=why.value,
            loss=subject.spent.between(calls[place : tried + 1]) if next_try is not None else None,
            tool=call.name,
            target=call.target,
            recovered=cure is not None,
            attempts=attempts,
            recovered_by=_label(cure) if cure is not None else None,
            **_missing(calls, place, why),
            **_known_cause(call),
            **_habit(calls, place),
        )


_NO_COMMAND = lazy.pattern(
    r"(?:^|[:\s])(?:command not found: (?P<after>[\w./+-]+)|(?P<before>[\w./+-]+): (?:command )?not found)\s*$"
    r"|'(?P<quoted>[^']+)' is not recognized as an internal|The term '(?P<term>[^']+)' is not recognized",
    re.MULTILINE,
)
"""A shell's message that a program was not found."""
_KNOWN_CAUSES = (
    ("unknown_skill", re.compile(r"Unknown skill: ([\w:.-]+)")),
    ("unmatched_pattern", re.compile(r"^(?:Exit code 1\n)?(?:\(eval\)|(zsh)):(?:\d+:)? no matches found: ")),
)
_SOON = 8
"""The number of calls after a failure that may do its work in another way."""


def _habit(calls: Sequence[DetectedCall], place: int) -> dict[str, str]:
    """The line that failed, if the command ran only one, and the line that then did the same work."""
    failed = calls[place]
    lines = [line for line in lines_in(failed.command) if prefix_of(line) not in _GETS_THERE] if failed.command else []
    if len(lines) != 1:
        return {}
    others = (line for command in _worked_after(calls, place, _SOON) for line in lines_in(command))
    cure = next((line for line in others if line != lines[0] and is_same_work(lines[0], line)), "")
    return {"line": quote(lines[0]), **({"cure": quote(cure)} if cure else {})}


def _worked_after(calls: Sequence[DetectedCall], place: int, most: int) -> Iterator[str]:
    """The commands that worked among the next calls."""
    return (call.command for call in calls[place + 1 : place + 1 + most] if call.command and call.worked)


_GETS_THERE = frozenset({"cd", "pushd", "echo", "export", "source", "sleep", ""})


def is_same_work(line: str, other: str) -> bool:
    """Whether two lines run the same thing, with or without a wrapper or with other options: `rtk bun test` and
    `bun test`, `fmt --check` and `fmt`."""
    one, two = ({word for word in each.split() if not word.startswith("-")} for each in (line, other))
    return bool(one & two) and (one <= two or two <= one)


_NAMED_ALIKE = {"python": ("python3", "py"), "pip": ("pip3",), "node": ("nodejs",), "docker-compose": ("docker",)}


def _known_cause(failed: DetectedCall) -> dict[str, str]:
    """What failed, where the message itself says so, whatever was to be run."""
    text = failed.text[:_HEAD].replace("<tool_use_error>", "")
    named = ((cause, pattern.match(text)) for cause, pattern in _KNOWN_CAUSES)
    return next(({"says": f"{cause} {found[1] or 'zsh'}"} for cause, found in named if found is not None), {})


def _missing(calls: Sequence[DetectedCall], place: int, why: ErrorClass) -> dict[str, str]:
    """The program a shell did not find, and how it was later started successfully."""
    failed = calls[place]
    found = _NO_COMMAND.search(failed.text[:_HEAD]) if why is ErrorClass.NOT_FOUND and failed.name in SHELLS else None
    if found is None:
        return {}
    program = next(name for name in found.groups() if name)
    if program not in failed.command.replace("/", " ").split():
        return {}
    ways = (launch(failed.command, command, program) for command in _worked_after(calls, place, _REACH))
    launched = next(filter(None, ways), None)
    return {"missing": program, **({} if launched is None else {"works_as": launched})}


def launch(failed: str, worked: str, program: str) -> str | None:
    """How a program was started in a later command that did the same work: `uv run pytest` for `pytest`. None if that
    command does not have all the arguments of the failed one."""
    wanted, given = failed.split(), worked.split()
    names = (program, *_NAMED_ALIKE.get(program, ()))
    at = next((number for number, word in enumerate(given) if word.rpartition("/")[2] in names), None)
    if at is None or program not in wanted or given[: at + 1] == [program]:
        return None
    arguments = wanted[wanted.index(program) + 1 :]
    if any(word not in given[at + 1 :] for word in arguments if not word.startswith(("-", "|", "2>", ">", "&"))):
        return None
    start = max((number + 1 for number, word in enumerate(given[:at]) if word in ("&&", ";", "|")), default=0)
    return " ".join(given[start : at + 1])


def _recovery(
    calls: Sequence[DetectedCall], place: int, why: ErrorClass
) -> tuple[int, DetectedCall | None, DetectedCall | None]:
    """The number of further attempts, the first of them, and the one that succeeded."""
    failed = calls[place]
    attempts, next_try = 0, None
    for call in calls[place + 1 : place + 1 + _REACH]:
        if call.message_id == failed.message_id or not _tries_again(call, failed, why):
            continue
        attempts += 1
        next_try = next_try or call
        if call.worked:
            return attempts, next_try, call
    return attempts, next_try, None


def _tries_again(call: DetectedCall, failed: DetectedCall, why: ErrorClass) -> bool:
    if failed.name in SHELLS:
        if call.name not in SHELLS:
            return False
        prefix = prefix_of(failed.command)
        if prefix_of(call.command) == prefix:
            return True
        program = prefix.partition(" ")[0]
        return why is ErrorClass.NOT_FOUND and len(program) > 1 and program in call.command.split()
    if failed.name in EDITS:
        return call.name in EDITS and call.path == failed.path
    if failed.name == "Read":
        return call.name == "Read" and _is_near(call.path, failed.path)
    return call.name == failed.name


def _is_near(path: str, missed: str) -> bool:
    """Whether a file may be the one that was looked for: of the same name, of the same folder, or below it."""
    return (
        file_name(path) == file_name(missed)
        or path.startswith(missed)
        or path.rpartition("/")[0] == missed.rpartition("/")[0]
    )


def _label(call: DetectedCall) -> str:
    return (call.command or call.path or call.name)[:200]


def _evidence(call: DetectedCall) -> str:
    text = verdict_in(call.text[:_LONGEST_OUTPUT])
    text = text.replace("<tool_use_error>", "").replace("</tool_use_error>", "").strip()
    path = call.path if len(call.path) <= _SUBJECT else f"…{call.path[1 - _SUBJECT :]}"
    target = call.command.partition("\n")[0][:_SUBJECT] or path
    return f"{call.name} {target}: {text}" if target else f"{call.name}: {text}"
