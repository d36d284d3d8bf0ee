"""Tools that failed: of what class, and what it took to get over it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from reread.sessions import Status

from .calls import EDITS, SHELLS, Call, prefix_of
from .detector import Detector
from .events import Cause, Event, Kind
from .refusals import refused_by
from .scene import Scene

_HEAD, _TAIL = 800, 800
"""How much of an output is looked at: what failed stands at its beginning or at its end."""
_SUBJECT = 60
"""Letters of a command or a path in a quote."""
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
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|phpunit|ctest|gotestsum"
    r"|golangci-lint|ruff"
    r"|flake8|pylint|mypy|pyright|eslint|tsc|biome|stylelint|clippy|javac|rustc|gcc|g\+\+|clang|cmake|ninja|xcodebuild"
    r"|webpack|vite build|rollup|make|gradlew?|mvn|go (?:test|build|vet|run)|cargo \w*(?:test|build|check|run)"
    r"|dotnet (?:test|build)|swift (?:test|build)|docker build|pre-commit|\w*test\w*\.(?:sh|py|js)"
    r"|(?:npm|pnpm|yarn|bun|mise|just|task|rake|mix)(?: run)? \w*[:-]?(?:test|build|lint|check|typecheck|compile)\w*)\b"
)
_COUNTED = re.compile(r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|✖ \d+ problem|error ts\d|error\[e\d")
_FAILED_CHECK = (
    "\nfailed ", "\nfail\t", "\nfail ", "\nfail:", "--- fail", "... failed", "....failed", "result: failed",
    "assertionerror", "could not compile", "syntaxerror", ": ***",
    "build failed", "compilation failed", ": error:", "error: aborting", "undefined: ", " undefined (",
    "imported and not used",
    "declared and not used", "failed to solve", "redeclared in this block", "missing go.sum entry", "(ireturn)",
)  # fmt: skip
_SIGNS = (
    (
        ErrorClass.NOT_READ,
        ("file has not been read yet", "has been modified since read", "must read the file", "read it first before"),
    ),
    (
        ErrorClass.EDIT_MISMATCH,
        ("string to replace not found", "matches of the string to replace", "no changes to make: old_string",
        "old_string not found"),
    ),
    (ErrorClass.NOT_FOUND, ("command not found", "is not recognized as an internal", ": not found\n")),
    (ErrorClass.TIMEOUT, ("command timed out", "timed out after", "exit code 124", "timeouterror",
    "deadline exceeded")),
)  # fmt: skip
"""What the client itself or a shell says, in small letters."""
_LATER_SIGNS = (
    (
        ErrorClass.NETWORK,
        (
            " enotfound", "econnrefused", "econnreset", "etimedout", "getaddrinfo", "could not resolve host",
            "connection refused",
            "connection reset", "connection timed out", "failed to connect", "network is unreachable",
            "name resolution",
            "fetch failed", "socket hang up", "status code 4", "status code 5", "http 429", "http 50", "sslerror",
            "unable to connect",
        ),
    ),
    (
        ErrorClass.PERMISSION,
        (
            "permission denied", "eacces", "eperm", "operation not permitted", "requested permission",
            "haven't granted",
            "requires approval", "require approval", "explicit approval", "was blocked. for security",
            "authentication required",
            "sudo: a password", "sudo: a terminal", "access denied", "access is denied", "read-only file system",
        ),
    ),
    (
        ErrorClass.NOT_FOUND,
        (
            "no such file or directory", "does not exist", "enoent", "modulenotfounderror", "cannot find module",
            "cannot find package", "no module named", "cannot find the file", "cannot find the path",
            "' not found. available",
            "remote not found", "file found in the working directory", "file not found", "did not match any file",
        ),
    ),
)  # fmt: skip
"""What programs print; looked for after the signs of a failed check, which may quote any of it."""
_WEB = frozenset({"WebFetch", "WebSearch"})


def class_of(call: Call) -> ErrorClass:
    """Why a call failed, by the client's own wording first, then by what commands print."""
    if call.name.startswith("mcp__"):
        return ErrorClass.MCP
    text = call.text
    text = (text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}").lower() + "\n"
    found = _first(_SIGNS, text)
    if found is not None:
        return found
    is_check = call.name in SHELLS and _CHECKER.search(call.command[:400]) is not None
    has_failed = call.name in SHELLS and _is_failed_check(text)
    if is_check and has_failed:
        return ErrorClass.TEST_FAILURE
    found = _first(_LATER_SIGNS, text)
    if found is not None:
        return found
    if has_failed or (is_check and _CHECKER.match(prefix_of(call.command))):
        return ErrorClass.TEST_FAILURE
    return ErrorClass.NETWORK if call.name in _WEB else ErrorClass.OTHER


def _first(signs: Iterable[tuple[ErrorClass, tuple[str, ...]]], text: str) -> ErrorClass | None:
    return next((name for name, words in signs if any(word in text for word in words)), None)


def _is_failed_check(text: str) -> bool:
    return any(word in text for word in _FAILED_CHECK) or _COUNTED.search(text) is not None


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
            failed = {id(call) for call in stretch.troubled if is_failure(call)}
            if failed:
                for place, call in enumerate(stretch.calls):
                    if id(call) in failed:
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
            **_missing(calls, place, why),
        )


_NO_COMMAND = re.compile(
    r"(?:^|[:\s])(?:command not found: (?P<after>[\w./+-]+)|(?P<before>[\w./+-]+): (?:command )?not found)\s*$"
    r"|'(?P<quoted>[^']+)' is not recognized as an internal|The term '(?P<term>[^']+)' is not recognized",
    re.MULTILINE,
)
"""The shell's own words for a program that is not there."""
_NAMED_ALIKE = {"python": ("python3", "py"), "pip": ("pip3",), "node": ("nodejs",), "docker-compose": ("docker",)}


def _missing(calls: Sequence[Call], place: int, why: ErrorClass) -> dict[str, str]:
    """The program a shell did not find, and how the same work was done after all."""
    failed = calls[place]
    found = _NO_COMMAND.search(failed.text[:_HEAD]) if why is ErrorClass.NOT_FOUND and failed.name in SHELLS else None
    if found is None:
        return {}
    program = next(name for name in found.groups() if name)
    if program not in failed.command.replace("/", " ").split():
        return {}
    for call in calls[place + 1 : place + 1 + _REACH]:
        if call.name in SHELLS and call.status is Status.OK:
            launched = launch(failed.command, call.command, program)
            if launched is not None:
                return {"missing": program, "works_as": launched}
    return {"missing": program}


def launch(failed: str, worked: str, program: str) -> str | None:
    """How a program was started in a command that did the same work: `uv run pytest` for `pytest`; None where it did
    not: what the failed one was given must be given again."""
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
    path = call.path if len(call.path) <= _SUBJECT else f"…{call.path[1 - _SUBJECT :]}"
    subject = call.command.partition("\n")[0][:_SUBJECT] or path
    return f"{call.name} {subject}: {text}" if subject else f"{call.name}: {text}"
