"""What a session was about and what came of it, from its own records: nothing is guessed by a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from reread.features.edits.net import FileDiff, SessionEdits
from reread.records.state import PrLink
from reread.sessions import CallStatus, Said, Session, ToolCall, Turn

from .decisions import Decision, decisions_of
from .tool_use import ToolCount, count_tools

_COMMIT = re.compile(r"\bgit\b[^\n;&|]*\bcommit\b")
_TESTS = re.compile(
    r"\b(pytest|unittest|tox|jest|vitest|mocha|go test|cargo (?:test|nextest)|ctest|rspec|phpunit|mvn test|gradle test"
    r"|(?:npm|pnpm|yarn|bun|make)(?: run)? (?:test|check))\b"
)
_MOST_EXCHANGES = 6
_CHANGING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})


class SummaryStep(Struct, frozen=True, kw_only=True):
    """One turn of the journey."""

    turn: int
    uuid: str | None
    time: datetime | None
    prompt: str
    answer: str
    """The last thing the model said in it."""
    calls: int
    errors: int
    files: tuple[str, ...]
    """What it changed."""


class Failure(Struct, frozen=True, kw_only=True):
    turn: int
    uuid: str | None
    tool: str
    status: str
    text: str


class SessionSummary(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    project: str | None
    started: datetime | None
    ended: datetime | None
    git_branches: tuple[str, ...]
    models: tuple[str, ...]
    cost: Decimal | None
    output_tokens: int
    goal: str
    journey: tuple[SummaryStep, ...]
    exchanges: tuple[SummaryStep, ...]
    """The turns in which most was said and done."""
    files: tuple[FileDiff, ...]
    files_read: tuple[str, ...]
    """Those that were only read."""
    tools: tuple[ToolCount, ...]
    errors: tuple[Failure, ...]
    decisions: tuple[Decision, ...]
    subagents: int
    abandoned: int
    """Branches that were left behind."""
    compactions: int
    outcome: str
    commits: int
    tests: str | None
    """How the last run of tests went; None where there was none."""
    pull_requests: tuple[str, ...]
    todos_done: int
    todos: int
    is_interrupted: bool
    """Whether it ends with an interrupt."""


def summary_of(session: Session, edits: SessionEdits | None = None) -> SessionSummary:
    """Goal, journey, files, tools, failures and outcome of a session's active branch, its agents included."""
    changed = (edits if edits is not None else SessionEdits(session)).on_disk()
    steps = tuple(_step(turn) for turn in session.turns if turn.prompt is not None)
    calls = list(session.every_call)
    todos = _todos(session)
    return SessionSummary(
        id=session.id,
        title=session.title,
        project=session.project,
        started=session.started,
        ended=session.ended,
        git_branches=tuple(dict.fromkeys(record.git_branch for record in session.records if record.git_branch)),
        models=tuple(dict.fromkeys(request.model for request in session.requests if request.model)),
        cost=session.total_usage.cost,
        output_tokens=session.total_usage.output_tokens,
        goal=steps[0].prompt if steps else "",
        journey=steps,
        exchanges=tuple(sorted(sorted(steps, key=_weight, reverse=True)[:_MOST_EXCHANGES], key=_turn)),
        files=tuple(diff for diff in changed if diff.is_change),
        files_read=tuple(_only_read(calls, changed)),
        tools=tuple(count_tools(calls)),
        errors=tuple(failure for turn in session.turns for failure in _failures(turn)),
        decisions=tuple(decisions_of(session, session.id)),
        subagents=len(session.working_agents),
        abandoned=len(session.branches) - 1,
        compactions=len(session.compactions),
        outcome=next((step.answer for step in reversed(steps) if step.answer), ""),
        commits=sum(_runs(call, _COMMIT) and call.status is CallStatus.OK for call in calls),
        tests=_last_tests(session.tool_calls),
        pull_requests=tuple(dict.fromkeys(_pull_requests(session))),
        todos_done=sum(todo.get("status") == "completed" for todo in todos),
        todos=len(todos),
        is_interrupted=_is_interrupted(session.turns),
    )


def _step(turn: Turn) -> SummaryStep:
    calls = [step for step in turn.steps if isinstance(step, ToolCall)]
    said = [step.text.strip() for step in turn.steps if isinstance(step, Said) and step.text.strip()]
    changed = (_path(call) for call in calls if call.name in _CHANGING and call.status is CallStatus.OK)
    prompt = turn.prompt
    return SummaryStep(
        turn=turn.index,
        uuid=prompt.uuid if prompt is not None else None,
        time=prompt.time if prompt is not None else None,
        prompt=prompt.text if prompt is not None else "",
        answer=said[-1] if said else "",
        calls=len(calls),
        errors=sum(call.status is CallStatus.ERROR for call in calls),
        files=tuple(dict.fromkeys(path for path in changed if path)),
    )


def _weight(step: SummaryStep) -> int:
    """How much happened in a turn: changes weigh most, then what was said."""
    return 400 * len(step.files) + len(step.prompt) + len(step.answer) + 20 * step.calls


def _turn(step: SummaryStep) -> int:
    return step.turn


def _path(call: ToolCall) -> str | None:
    given = call.input if isinstance(call.input, dict) else {}
    return next((given[key] for key in ("file_path", "notebook_path") if isinstance(given.get(key), str)), None)


def _only_read(calls: list[ToolCall], changed: list[FileDiff]) -> Iterator[str]:
    known = {diff.path for diff in changed}
    read = (_path(call) for call in calls if call.name == "Read" and call.status is CallStatus.OK)
    return (path for path in dict.fromkeys(read) if path is not None and path not in known)


def _failures(turn: Turn) -> Iterator[Failure]:
    for step in turn.steps:
        if isinstance(step, ToolCall) and step.status in (
            CallStatus.ERROR,
            CallStatus.REJECTED,
            CallStatus.INTERRUPTED,
        ):
            text = step.output.text if step.output is not None else ""
            text = re.sub(r"</?tool_use_error>", "", text).strip()
            yield Failure(turn=turn.index, uuid=step.uuid, tool=step.name, status=step.status.value, text=text)


def _runs(call: ToolCall, pattern: re.Pattern[str]) -> bool:
    command = call.input.get("command") if call.name == "Bash" and isinstance(call.input, dict) else None
    return isinstance(command, str) and pattern.search(command) is not None


def _last_tests(calls: tuple[ToolCall, ...]) -> str | None:
    last = next((call for call in reversed(calls) if _runs(call, _TESTS)), None)
    if last is None:
        return None
    return {CallStatus.OK: "passed", CallStatus.ERROR: "failed"}.get(last.status, last.status.value)


def _pull_requests(session: Session) -> Iterator[str]:
    for record in session.beside.get(PrLink, ()):
        if isinstance(record, PrLink) and record.pr_url:
            yield record.pr_url


def _todos(session: Session) -> list[dict[str, Any]]:
    """The list as it was last written."""
    for call in reversed(session.tool_calls):
        given = call.input.get("todos") if call.name == "TodoWrite" and isinstance(call.input, dict) else None
        if isinstance(given, list):
            return [todo for todo in given if isinstance(todo, dict)]
    return []


def _is_interrupted(turns: tuple[Turn, ...]) -> bool:
    last = turns[-1].steps[-1] if turns and turns[-1].steps else None
    return getattr(last, "what", None) == "interrupted"
