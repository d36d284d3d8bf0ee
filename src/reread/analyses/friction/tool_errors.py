"""Tools that failed: of what class, and what it took to get over it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from reread.sessions import Status

from .calls import EDITS, SHELLS, Call, prefix_of
from .detector import Detector
from .events import Cause, Event, Kind
from .refusals import refused_by
from .scene import Scene

_HEAD, _TAIL = 800, 800
"""How much of an output is looked at: what failed stands at its beginning or at its end."""
_REACH = 25
"""Calls after a failure among which its recovery is looked for."""


class ErrorClass(StrEnum):
    """Why a tool failed."""

    NOT_FOUND = "not_found"
    EDIT_MISMATCH = "edit_mismatch"
    NOT_READ = "not_read"
    PERMISSION = "permission"
    TIMEOUT = "timeout"
    TEST_FAILURE = "test_failure"
    """Of a test, a compiler, a linter or a build."""
    NETWORK = "network"
    MCP = "mcp"
    OTHER = "other"


_NOT_RUN = ("Sibling tool call errored", "Cancelled: parallel tool call")
_CAUSES = {
    ErrorClass.NOT_FOUND: Cause.AGENT,
    ErrorClass.EDIT_MISMATCH: Cause.AGENT,
    ErrorClass.NOT_READ: Cause.AGENT,
    ErrorClass.TEST_FAILURE: Cause.AGENT,
    ErrorClass.OTHER: Cause.AGENT,
}
"""All others lie in the environment."""

_CHECKER = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|phpunit|ctest|gotestsum|golangci-lint|ruff|flake8|pylint"
    r"|mypy|pyright|eslint|tsc|biome|stylelint|clippy|javac|rustc|gcc|g\+\+|clang|cmake|ninja|xcodebuild|webpack|vite build|rollup"
    r"|make|gradlew?|mvn|go (?:test|build|vet|run)|cargo \w*(?:test|build|check|run)|dotnet (?:test|build)|swift (?:test|build)"
    r"|docker build|(?:npm|pnpm|yarn|bun|mise|just|task|rake|mix)(?: run)? \w*[:-]?(?:test|build|lint|check|typecheck|compile)\w*"
    r"|pre-commit|\w*test\w*\.(?:sh|py|js))\b"
)
_FAILED_CHECK = re.compile(
    r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAIL(?:ED)?\b|\bFAILED\b|--- FAIL|AssertionError|error TS\d+|error\[E\d+\]"
    r"|could not compile|SyntaxError|make(?:\[\d+\])?: \*\*\*|(?:BUILD|Build) (?:FAILED|failed)|Compilation failed|: error:|\berror: aborting"
    r"|✖ \d+ problems?|Found \d+ errors?|\bundefined\b(?:: | \()|imported and not used|declared and not used|failed to solve|test result: FAILED"
    r"|Tests?:? +\d+ failed|redeclared in this block|missing go\.sum entry|\.\.\.\.+Failed|\(ireturn\)",
    re.MULTILINE,
)
_SIGNS: tuple[tuple[ErrorClass, re.Pattern[str]], ...] = (
    (
        ErrorClass.NOT_READ,
        re.compile(
            r"File has not been read yet|has been modified since read|must read the file|Read it (?:first|again) before"
        ),
    ),
    (
        ErrorClass.EDIT_MISMATCH,
        re.compile(
            r"String to replace not found|Found \d+ matches of the string|No changes to make: old_string|old_string (?:not found|appears)"
        ),
    ),
    (
        ErrorClass.NOT_FOUND,
        re.compile(r"command not found|is not recognized as an internal|: not found$", re.MULTILINE),
    ),
    (
        ErrorClass.TIMEOUT,
        re.compile(r"[Cc]ommand timed out|timed out after|^Exit code 124\b|TimeoutError|deadline exceeded"),
    ),
)
_LATER_SIGNS: tuple[tuple[ErrorClass, re.Pattern[str]], ...] = (
    (
        ErrorClass.NETWORK,
        re.compile(
            r"ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|getaddrinfo|[Cc]ould not resolve host|[Cc]onnection (?:refused|reset|timed out)"
            r"|[Ff]ailed to connect|[Nn]etwork is unreachable|Temporary failure in name resolution|fetch failed|socket hang up"
            r"|status code (?:4\d\d|5\d\d)|HTTP(?:/[\d.]+)? (?:429|5\d\d)|SSL(?:Error|_ERROR)|Unable to connect"
        ),
    ),
    (
        ErrorClass.PERMISSION,
        re.compile(
            r"[Pp]ermission denied|EACCES|EPERM|[Oo]peration not permitted|requested permissions? to|haven't granted"
            r"|requires? (?:explicit )?approval|was blocked\. For security|authentication required|sudo: a (?:password|terminal)|[Aa]ccess (?:is )?denied"
            r"|[Rr]ead-only file system|Permission prompt"
        ),
    ),
    (
        ErrorClass.NOT_FOUND,
        re.compile(
            r"[Nn]o such file or directory|does not exist|ENOENT|ModuleNotFoundError|Cannot find (?:module|package)|No module named"
            r"|cannot find the (?:file|path)|Agent type '[^']*' not found|remote not found|file found in the working directory"
            r"|[Ff]ile not found|pathspec '[^']*' did not match"
        ),
    ),
)
_WEB = frozenset({"WebFetch", "WebSearch"})


def class_of(call: Call) -> ErrorClass:
    """Why a call failed, by the client's own wording first, then by what commands print."""
    text = call.text
    text = text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    if call.name.startswith("mcp__"):
        return ErrorClass.MCP
    found = next((name for name, sign in _SIGNS if sign.search(text)), None)
    if found is not None:
        return found
    is_shell = call.name in SHELLS
    has_failed = is_shell and bool(_FAILED_CHECK.search(text))
    if has_failed and _CHECKER.search(call.command):
        return ErrorClass.TEST_FAILURE
    found = next((name for name, sign in _LATER_SIGNS if sign.search(text)), None)
    if found is not None:
        return found
    if has_failed or (is_shell and _CHECKER.match(prefix_of(call.command))):
        return ErrorClass.TEST_FAILURE
    return ErrorClass.NETWORK if call.name in _WEB else ErrorClass.OTHER


def is_failure(call: Call) -> bool:
    """Whether the tool itself failed: not a neighbour of it, and nobody refused it."""
    if call.status is not Status.ERROR or call.output is None:
        return False
    text = call.text[:120]
    return not any(sign in text for sign in _NOT_RUN) and refused_by(call) is None


class ToolError(Detector):
    """A tool failed. Its loss is what went by until the next attempt at the same thing, so that attempts add up."""

    kind = Kind.TOOL_ERROR
    exact = "is_error, <tool_use_error>, a twin that opens with `Error: `; the client's own wording for the class"
    heuristics = "the class of a failed command, from its program and what it printed"

    def find(self, scene: Scene) -> Iterator[Event]:
        for stretch in scene.stretches:
            for place, call in enumerate(stretch.calls):
                if call.status is Status.ERROR and is_failure(call):
                    yield self._event(scene, stretch.calls, place)

    def _event(self, scene: Scene, calls: Sequence[Call], place: int) -> Event:
        call = calls[place]
        why = class_of(call)
        attempts, next_try, cure = _recovery(calls, place, why)
        return scene.event(
            self.kind,
            call.proof,
            _evidence(call),
            _CAUSES.get(why, Cause.ENVIRONMENT),
            1.0,
            about=why.value,
            loss=scene.spent.between(call, next_try) if next_try is not None else None,
            tool=call.name,
            target=call.target,
            recovered=cure is not None,
            attempts=attempts,
            recovered_by=_told(cure) if cure is not None else None,
        )


def _recovery(calls: Sequence[Call], place: int, why: ErrorClass) -> tuple[int, Call | None, Call | None]:
    """How many more attempts there were, the next of them, and the one that worked."""
    failed = calls[place]
    attempts, next_try = 0, None
    for call in calls[place + 1 : place + 1 + _REACH]:
        if call.message_id == failed.message_id or not _tries_again(call, failed, why):
            continue
        attempts += 1
        next_try = next_try or call
        if call.status is Status.OK:
            return attempts, next_try, call
    return attempts, next_try, None


def _tries_again(call: Call, failed: Call, why: ErrorClass) -> bool:
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
    return call.name == failed.name


def _told(call: Call) -> str:
    return (call.command or call.path or call.name)[:200]


def _evidence(call: Call) -> str:
    text = call.text[:600].replace("<tool_use_error>", "").replace("</tool_use_error>", "").strip()
    subject = call.command.partition("\n")[0][:60] or call.path[-60:]
    return f"{call.name} {subject}: {text}" if subject else f"{call.name}: {text}"
