"""The lines that single events of a stream amount to, each fitting the width they are given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from reread.blocks.diffs import changed, is_edit, patched
from reread.live import events
from reread.sessions.calls import is_rejection

from .calls import point_of, tool_label, without_error_tags
from .numbers import count
from .outcome import outcome_of
from .terminal import diff_lines
from .text import cells, clip, harmless, shorten, wrap
from .view import View

RESULT = "    └─ "
_MOST_ERROR_LINES = 8
_SHOWN_OF_WITHDRAWN = 200
_TAG = re.compile(r"</?local-command-[a-z]+>")


def call_line(name: str, point: str, end: str, view: View, mark: tuple[str, str] = ("●", "green")) -> str:
    """Mark, name and the point of a call, as `show` has them; the point gives way first."""
    paint = view.style.paint
    label = shorten(tool_label(name), max(8, view.width // 2))
    what = shorten(point, max(0, view.width - 4 - cells(label) - 2 - (cells(end) + 2 if end else 0)))
    return "  ".join(part for part in (paint(f"  {mark[0]} ", mark[1]) + paint(label, "bold"), what, end) if part)


def todos(event: events.ToolCall, view: View) -> Iterator[str]:
    """The list a call of TodoWrite sets."""
    items = event.input.get("todos") if event.name == "TodoWrite" and isinstance(event.input, dict) else None
    marks = {"completed": ("✓", "dim"), "in_progress": ("▸", "bold")}
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict):
            mark, look = marks.get(str(item.get("status")), ("○", ""))
            text = f"      {mark} {shorten(str(item.get('content') or ''), view.width - 8)}"
            yield view.style.paint(text, look) if look else text


def result(
    event: events.ToolResult, name: str, label: str, view: View, *, has_seen_diff: bool = False
) -> Iterator[str]:
    """What a tool gave back, in a line; an edit with its diff, a failure with its text."""
    paint = view.style.paint
    said = f"{shorten(label, view.width // 3)}: " if label else ""
    if event.is_error and is_rejection(event.text):
        yield paint(f"    ⊘ {said}rejected, not applied", "red")
        return
    if event.is_error:
        yield from failed(said + without_error_tags(event.text), view, "    ✗ ")
        return
    diff = patched(event.result) if is_edit(name) else []
    if diff:
        yield paint(RESULT + clip(f"{said}{changed(diff)}", view.width - cells(RESULT)), "dim")
        if not has_seen_diff:
            inner = view._replace(width=view.width - cells(RESULT))
            yield from (" " * cells(RESULT) + line for line in diff_lines(diff, inner))
        return
    answers = event.result.get("answers") if isinstance(event.result, dict) else None
    if name == "AskUserQuestion" and isinstance(answers, dict):
        chosen = ", ".join(str(answer) for answer in answers.values())
        yield paint("    → " + shorten(said + chosen, view.width - 6), "cyan")
        return
    yield paint(RESULT + _gist(said, event, view.width - cells(RESULT)), "dim")


def _gist(said: str, event: events.ToolResult, width: int) -> str:
    """The first line of a result, and how many more there are."""
    found = [line for line in harmless(event.text).split("\n") if line.strip()]
    pictures = [count(event.images, "image")] if event.images else []
    more = [f"… {count(len(found) - 1, 'more line')}"] if len(found) > 1 else []
    end = "  ".join([*pictures, *more])
    first = found[0] if found else "" if pictures else "(nothing)"
    return "  ".join(part for part in (shorten(said + first, width - cells(end) - 2), end) if part)


def failed(text: str, view: View, lead: str = "  ✗ ") -> Iterator[str]:
    """Why something did not work, in red."""
    indent = " " * cells(lead)
    found = list(wrap(text.strip() or "failed", view.width - cells(lead)))
    for number, line in enumerate(found[:_MOST_ERROR_LINES]):
        yield view.style.paint((lead if number == 0 else indent) + line, "red")
    if len(found) > _MOST_ERROR_LINES:
        yield view.style.paint(f"{indent}… {count(len(found) - _MOST_ERROR_LINES, 'more line')}", "red")


def withdrawn(event: events.Withdrawn, view: View) -> Iterator[str]:
    """What was shown and does not count: nothing of it is in any transcript."""
    kind = {"thinking": "thinking", "text": "talking", "tool": f"calling {event.name or 'a tool'}"}.get(event.kind)
    if event.reason == "interrupted":
        yield view.style.paint(f"  ■ {shorten(f'interrupted while {kind or event.kind}', view.width - 4)}", "yellow")
        return
    why = "the stream ended" if event.reason == "cut" else "the client asks again"
    gist = " ".join(event.text[:_SHOWN_OF_WITHDRAWN].split())
    yield view.style.paint(f"  ⟲ {shorten(f'taken back, {why}: {gist}', view.width - 4)}", "magenta")


def started(event: events.SessionStarted, before: events.SessionStarted | None, view: View) -> Iterator[str]:
    """Where and with what a session runs; later only what has changed."""
    if before is not None and before.session == event.session:
        facts = [
            f"model {event.model}" if event.model != before.model else None,
            f"permission mode {event.permission_mode}" if event.permission_mode != before.permission_mode else None,
            event.cwd if event.cwd != before.cwd else None,
        ]
    else:
        mode = event.permission_mode if event.permission_mode != "default" else None
        client = f"Claude Code {event.version}" if event.version else None
        facts = [f"session {event.session or '?'}", event.model, client, mode, event.cwd]
    found = " · ".join(fact for fact in facts if fact)
    lead = "  · " if before is not None and before.session == event.session else ""
    for number, line in enumerate(wrap(found, view.width - cells(lead)) if found else ()):
        yield view.style.paint((lead if number == 0 else " " * cells(lead)) + line, "dim")


def aside(text: str, view: View) -> str:
    """What was said to the model in the person's name, or to an agent."""
    return view.style.paint(f"  ▸ {shorten(_TAG.sub('', text), view.width - 4)}", "dim")


_NOTICES: Mapping[str, tuple[str, str, str]] = {
    "interrupted": ("■", "yellow", "interrupted"),
    "compacted": ("≡", "magenta", "compacted"),
    "retry": ("↻", "yellow", "trying again"),
    "task": ("◇", "blue", "task"),
    "title": ("≔", "dim", "title"),
    "permission_denied": ("⊘", "red", "not allowed"),
    "informational": ("·", "dim", ""),
    "api_error": ("✗", "red", ""),
    "queued": ("+", "yellow", "queued"),
    "command": ("$", "cyan", ""),
    "rewound": ("↩", "magenta", ""),
    "hook": ("⚓", "cyan", "hook"),
    "model_refusal_no_fallback": ("✗", "red", "refused"),
    "unknown": ("?", "dim", "unknown"),
}
"""Other notices are bookkeeping: they are in `--jsonl`."""
_SILENT_TASKS = frozenset({"task_started", "task_progress", "task_updated"})


def notice(event: events.Notice, view: View) -> Iterator[str]:
    look = _NOTICES.get(event.what)
    if look is None:
        return
    data = event.data
    if data.get("subtype") in _SILENT_TASKS or (event.what == "hook" and not _is_news(data)):
        return
    mark, colour, label = look
    text = "" if event.what == "interrupted" else event.text
    said = ": ".join(part for part in (label, text) if part)
    yield view.style.paint(f"  {mark} {shorten(said, view.width - 4)}", colour)


def _is_news(data: Mapping[str, Any]) -> bool:
    """A hook that just ran is no news; one that failed or stopped something is."""
    return data.get("subtype") not in ("hook_started", "hook_progress") and data.get("outcome") not in (None, "success")


def permission(event: events.Permission, project: str | None, view: View) -> Iterator[str]:
    yield view.style.paint("  ? ", "yellow") + shorten(
        f"asks to use {tool_label(event.tool)}  {point_of(event.tool, event.input, project)}", view.width - 4
    )


def _answered(event: events.PermissionAnswered, view: View) -> Iterator[str]:
    if event.decision == "allow":
        extra = [*(["with another input"] if event.is_edited else []), *(["from now on"] if event.remembered else [])]
        yield view.style.paint(f"    ✓ {', '.join(['allowed', *extra])}", "green")
    else:
        said = f"denied: {event.message}" if event.message else "denied"
        yield view.style.paint(f"    ⊘ {shorten(said, view.width - 6)}", "red")


def _void(event: events.PermissionVoid, view: View) -> Iterator[str]:  # noqa: ARG001  one shape for the table
    yield view.style.paint("    · the question is void", "dim")


def _other_block(event: events.OtherBlock, view: View) -> Iterator[str]:
    value = event.value if isinstance(event.value, dict) else {}
    name = value.get("name")
    if isinstance(name, str):
        yield call_line(name, point_of(name, value.get("input"), None), "", view)
    elif not event.type.endswith("_tool_result"):
        yield view.style.paint(f"  ? {shorten(f'a block of type {event.type}', view.width - 4)}", "dim")


def _control_answer(event: events.ControlAnswer, view: View) -> Iterator[str]:
    if not event.ok:
        yield view.style.paint(f"  ✗ {shorten(f'the client refused: {event.error}', view.width - 4)}", "red")


def _trouble(event: events.Trouble, view: View) -> Iterator[str]:
    yield view.style.paint(f"  ✗ {shorten(f'{event.what}: {event.text}', view.width - 4)}", "red")


def _unknown(event: events.UnknownFrame, view: View) -> Iterator[str]:
    raw = event.record.raw[:_SHOWN_OF_WITHDRAWN].decode("utf-8", "replace")
    yield view.style.paint(f"  ? {shorten(f'unknown, {event.reason}: {raw}', view.width - 4)}", "dim")


OTHERS: dict[type[events.Event], Callable[[Any, View], Iterable[str]]] = {
    events.PermissionAnswered: _answered,
    events.PermissionVoid: _void,
    events.OtherBlock: _other_block,
    events.ControlAnswer: _control_answer,
    events.Trouble: _trouble,
    events.UnknownFrame: _unknown,
}


def ending(event: events.TurnResult, view: View, *, has_told: bool = False) -> Iterator[str]:
    """How a turn ended: tokens, the client's own cost, time. `has_told` says that the failure stands above."""
    outcome = outcome_of(event)
    told = " · ".join(outcome.facts)
    if outcome.is_stopped or (event.is_error and has_told):
        told = " · ".join(part for part in ("stopped" if outcome.is_stopped else "failed", told) if part)
    elif event.is_error:
        yield from failed(f"failed: {outcome.failure}", view, "✗ ")
    mark = "■" if outcome.is_stopped else "✗" if event.is_error else "✓"
    yield from (view.style.paint(line, "dim") for line in wrap(f"{mark} {told}", view.width))
