"""Files that sessions touched, and questions they asked, for a terminal and as JSON documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reread.analyses.decisions import Decision
from reread.analyses.edits.shell import Action
from reread.queries.files import Operation, Touched, TouchedFile

from .numbers import count
from .text import harmless, ruler, shorten, shorten_path, table, wrap
from .values import Document, utc
from .view import View, when

_SHORT_ID = 8
_INDENT = "    "


def files_document(touched: Touched) -> Document:
    return {
        "schema": "reread.files/1",
        "total": touched.total,
        "shell": touched.has_shell,
        "files": [
            {
                "path": file.path,
                "sessions": file.sessions,
                "last": utc(file.last),
                "counts": {action.value: file.count(action) for action in Action},
                "operations": [_operation(operation) for operation in file.operations],
            }
            for file in touched.files
        ],
    }


def _operation(operation: Operation) -> Document:
    return {
        "session": operation.session.row.uuid,
        "uuid": operation.uuid,
        "tool": operation.tool,
        "action": operation.action.value,
        "timestamp": utc(operation.time),
        "status": operation.status,
        "confidence": operation.confidence,
        "program": operation.program,
        "project": operation.session.row.project,
    }


def files_lines(touched: Touched, view: View) -> Iterator[str]:
    if not touched.files:
        yield "no files"
        return
    rows = [("last", "done", "sessions", "file"), *(_row(file, view) for file in touched.files)]
    lines = table(rows, view.width, flexible=3, right=frozenset(), cut=shorten_path)
    yield view.style.paint(next(lines), "bold")
    yield from lines
    if len(touched.files) == 1:
        yield from _history(touched.files[0], view)
    yield ""
    shown, total = len(touched.files), touched.total
    sums = count(total, "file") if shown == total else f"{shown:,} of {count(total, 'file')}; --limit shows more"
    guessed = "~ guessed from shell commands" if touched.has_shell else "--shell adds those that commands name"
    legend = "r read, w written, e edited, s searched"
    yield from (view.style.paint(line, "dim") for line in wrap(f"{sums}: {legend}; {guessed}", view.width))


def _row(file: TouchedFile, view: View) -> tuple[str, str, str, str]:
    """`r3 w1 e12`: read three times, written once, edited twelve times."""
    counts = {action: file.count(action) for action in Action}
    done = " ".join(f"{action.value[0]}{number}" for action, number in counts.items() if number)
    is_guessed = all(operation.confidence == "low" for operation in file.operations)
    names = file.sessions
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    place = f"{'~' if is_guessed else ''}{file.path}"
    return (when(file.last, view.timezone), done, harmless(names[0])[:_SHORT_ID] + more, place)


def _history(file: TouchedFile, view: View) -> Iterator[str]:
    """All that was done to the one file asked for."""
    yield ""
    rows = [
        (
            when(operation.time, view.timezone),
            harmless(operation.session.row.uuid)[:_SHORT_ID],
            f"{'~' if operation.program else ''}{operation.program or operation.tool}",
            operation.action.value,
            "" if operation.status == "ok" else operation.status,
            operation.session.row.title or "",
        )
        for operation in file.operations
    ]
    yield from table(rows, view.width, flexible=5, right=frozenset())


def decisions_document(decisions: Sequence[Decision]) -> Document:
    return {"schema": "reread.decisions/1", "decisions": [decision_document(each) for each in decisions]}


def decision_document(decision: Decision) -> Document:
    return {
        "session": decision.session,
        "agent": decision.agent,
        "project": decision.project,
        "uuid": decision.uuid,
        "timestamp": utc(decision.time),
        "question": decision.question,
        "header": decision.header,
        "options": [option.label for option in decision.options],
        "descriptions": [option.description for option in decision.options],
        "multiple": decision.is_multiple,
        "answer": decision.answer,
        "chosen": decision.chosen,
        "free_text": decision.is_free,
        "note": decision.note,
        "status": decision.status,
    }


def decisions_lines(decisions: Sequence[Decision], view: View) -> Iterator[str]:
    for each in decisions:
        label = f"{when(each.time, view.timezone)} · {harmless(each.session)[:_SHORT_ID]}"
        label += f" · {shorten(each.header, 24)}" if each.header else ""
        yield view.style.paint(ruler(label.strip(" ·"), view.width), "dim")
        yield from wrap(each.question or "(no question)", view.width)
        for option in each.options:
            yield from _option(option.label, option.label in each.chosen, view)
        yield from _answer(each, view)
        yield ""
    yield view.style.paint(count(len(decisions), "decision") if decisions else "no decisions", "dim")


def _option(label: str, is_chosen: bool, view: View) -> Iterator[str]:
    mark = "●" if is_chosen else "○"
    line = f"  {mark} {shorten(label, max(8, view.width - 4))}"
    yield view.style.paint(line, "green") if is_chosen else line


def _answer(decision: Decision, view: View) -> Iterator[str]:
    labels = {option.label for option in decision.options}
    said = [part for part in decision.chosen if part not in labels]
    if decision.answer is None:
        said = [decision.status]
    if decision.note:
        said.append(decision.note)
    for part in said:
        look = "red" if decision.answer is None else "green"
        for number, line in enumerate(wrap(part, view.width - len(_INDENT))):
            yield view.style.paint(("  → " if number == 0 else _INDENT) + line, look)
