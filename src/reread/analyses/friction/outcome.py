"""How a session ended, as far as its lines tell: the last test, commits, pull requests, what was left to do."""

from __future__ import annotations

import re

from msgspec import Struct

from reread.records.state import PrLink
from reread.sessions import MAIN, Status

from .calls import SHELLS, Call
from .scene import Scene

_TEST = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|phpunit|ctest|gotestsum)\b"
    r"|\b(?:go|cargo|dotnet|swift|mix|rake|make|just|mise|npm|pnpm|yarn|bun|deno|gradlew?|mvn|bazel)\b[^|;&\n]*\btest"
)
_TEST_WORDS = ("test", "jest", "mocha", "tox", "nox", "cypress", "rspec", "playwright")
_COMMIT = re.compile(r"\bgit\b[^|;&\n]*\bcommit\b|\bjj (?:commit|describe)\b")
_PUSH = re.compile(r"\bgit\b[^|;&\n]*\bpush\b")
_PULL_REQUEST = re.compile(r"\bgh pr create\b|\bglab mr create\b")
_FAILED = re.compile(r"\b[1-9]\d* (?:failed|failing|failures?|errors?)\b|^FAIL\b|test result: FAILED", re.MULTILINE)


class Outcome(Struct, frozen=True, kw_only=True):
    """Signals of success or failure; none of them is a verdict."""

    last_test: str | None = None
    """`passed` or `failed`; None where no test was run."""
    last_test_uuid: str | None = None
    commits: int = 0
    last_commit_uuid: str | None = None
    pushes: int = 0
    pull_requests: int = 0
    todos_done: int = 0
    todos_open: int = 0
    ended: str = "unanswered"
    """`answered`, `interrupted`, `failed` (the API gave up) or `unanswered`."""


def outcome_of(scene: Scene) -> Outcome:
    """The outcome of a conversation, on the branch it ended on."""
    commits: list[Call] = []
    pushes = asked = 0
    test: Call | None = None
    for call in scene.main_calls:
        if call.name not in SHELLS:
            continue
        command = call.command
        if any(word in command for word in _TEST_WORDS) and _TEST.search(command[:1000]):
            test = call
        if call.status is Status.OK and (
            "git " in command or "gh " in command or "jj " in command or "glab" in command
        ):
            commits += [call] if _COMMIT.search(command) else []
            pushes += _PUSH.search(command) is not None
            asked += _PULL_REQUEST.search(command) is not None
    done, left = _todos(scene)
    links = {record.pr_url for record in scene.conversation.beside.get(PrLink, ()) if isinstance(record, PrLink)}
    return Outcome(
        last_test=None if test is None else "failed" if _has_failed(test) else "passed",
        last_test_uuid=test.proof.uuid if test is not None else None,
        commits=len(commits),
        last_commit_uuid=commits[-1].proof.uuid if commits else None,
        pushes=pushes,
        pull_requests=max(asked, len(links)),
        todos_done=done,
        todos_open=left,
        ended=_ended(scene),
    )


def _has_failed(test: Call) -> bool:
    """A pipe hides the exit code: what the runner printed last is looked at too."""
    return test.status is not Status.OK or _FAILED.search(test.text[-1500:]) is not None


def _todos(scene: Scene) -> tuple[int, int]:
    """Done and open: in the last list that was written, or over tasks that were updated one by one."""
    tasks: dict[str, object] = {}
    created = 0
    for call in reversed(scene.main_calls):
        if call.name == "TodoWrite":
            todos = _argument(call, "todos")
            states = [todo.get("status") for todo in todos if isinstance(todo, dict)] if isinstance(todos, list) else []
            return states.count("completed"), len(states) - states.count("completed")
        if call.name == "TaskUpdate" and (state := _argument(call, "status")) is not None:
            tasks.setdefault(str(_argument(call, "taskId")), state)
        created += call.name == "TaskCreate"
    states = list(tasks.values())
    done = states.count("completed")
    return done, max(0, max(created, len(states)) - done - states.count("deleted"))


def _argument(call: Call, name: str) -> object:
    given = call.call.input
    return given.get(name) if isinstance(given, dict) else None


def _ended(scene: Scene) -> str:
    last = next((stretch for stretch in reversed(scene.stretches) if stretch.turn.branch == MAIN), None)
    if last is None or not (last.is_answered or last.notices):
        return "unanswered"
    marks = [notice.what for notice in last.notices if notice.what in ("interrupted", "api_error")]
    if marks and marks[-1] == "interrupted":
        return "interrupted"
    if last.said is None and marks:
        return "failed"
    return "answered" if last.said is not None else "unanswered"
