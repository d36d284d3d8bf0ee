"""Files that sessions touched, and files over time, for a terminal and as JSON: blame, diffs, gaps, questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reread.archive.file_history import Operation, Touched, TouchedFile, Traced
from reread.features.edits.changes import FileChange
from reread.features.edits.history import BlamedLine, Gap, LineOrigin, LineSource, with_holes
from reread.features.edits.net import FileDiff, totals
from reread.features.edits.patches import Hunk, hunks_between
from reread.features.edits.shell import Action
from reread.features.tool_use import Decision
from reread.sessions import Session

from .calls import shown_path
from .numbers import count, limited, shown_of
from .text import Style, cells, hanging, harmless, one_line, ruler, shorten, shorten_path, table, wrap
from .values import Document, View, each_picked, picked, when

_LOOKS = {"+": "green", "-": "red", "\\": "dim"}
NO_FILE = "/dev/null"
HEADING = 2
"""The number of lines at the top of a diff that name the file."""


class HunkLine(NamedTuple):
    """A line of a diff, safe for a terminal, and its colour."""

    text: str
    look: str | None

    def painted(self, style: Style) -> str:
        return style.paint(self.text, self.look) if self.look is not None else self.text


def hunk_lines(hunks: Iterable[Hunk]) -> Iterator[HunkLine]:
    """Hunks as in a unified diff, each below its `@@` line."""
    for hunk in hunks:
        yield HunkLine(place(hunk), "cyan")
        for line in hunk.lines:
            yield HunkLine(harmless(line), _LOOKS.get(line[:1]))


def unified(before: str | None, after: str | None, name: str) -> list[str]:
    """A unified diff of two versions of a file, as plain lines; None is a file that does not exist."""
    if before == after:
        return []
    hunks = hunks_between(before or "", after or "")
    old, new = (NO_FILE if text is None else name for text in (before, after))
    return [f"--- {old}", f"+++ {new}", *(line for hunk in hunks for line in (place(hunk), *hunk.lines))]


def unified_lines(lines: Iterable[str], style: Style) -> Iterator[str]:
    """The lines of a unified diff for a terminal."""
    for number, line in enumerate(lines):
        look = "bold" if number < HEADING else {**_LOOKS, "@": "cyan"}.get(line[:1])
        yield HunkLine(harmless(line), look).painted(style)


def place(hunk: Hunk) -> str:
    """`@@ -1,4 +1,5 @@`."""
    return f"@@ -{_span(hunk.old_start, hunk.old_lines)} +{_span(hunk.new_start, hunk.new_lines)} @@"


def _span(start: int, lines: int) -> str:
    return str(start) if lines == 1 else f"{start},{lines}"


def bar(added: int, removed: int, width: int) -> list[HunkLine]:
    """`+++++--`: added and removed lines of a change, scaled to at most about `width`."""
    total = added + removed
    scale = min(1.0, width / total) if total else 0.0
    pluses = max(1, round(added * scale)) if added else 0
    minuses = max(1, round(removed * scale)) if removed else 0
    return [HunkLine("+" * pluses, "green"), HunkLine("-" * minuses, "red")]


_SHORT_ID = 8
_INDENT = "    "
_LEAST_NAME = 16


def files_document(touched: Touched) -> Document:
    return {
        "schema": "reread.files/1",
        **picked(touched, "total shell=has_shell"),
        "files": [
            {
                **picked(file, "path sessions last"),
                "counts": {action.value: file.count(action) for action in Action},
                "operations": [_operation(operation) for operation in file.operations],
            }
            for file in touched.files
        ],
    }


def _operation(operation: Operation) -> Document:
    names = "session=session.row.uuid uuid tool action timestamp=time status confidence program"
    return picked(operation, f"{names} project=session.row.project")


def files_lines(touched: Touched, view: View) -> Iterator[str]:
    if not touched.files:
        yield "no files"
        return
    rows = [("last", "done", "sessions", "file"), *(_row(file, view) for file in touched.files)]
    lines = table(rows, view.width, flexible=3, right=(), cut=shorten_path, dispensable=(2, 0), least=_LEAST_NAME)
    yield from view.headed(lines)
    if len(touched.files) == 1:
        yield from _history(touched.files[0], view)
    yield ""
    sums = limited(len(touched.files), touched.total, "file")
    guessed = "~ guessed from shell commands" if touched.has_shell else "--shell adds those that commands name"
    legend = "r read, w written, e edited, s searched"
    yield from view.wrapped(f"{sums}: {legend}; {guessed}", "dim")


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
    """Every operation on one file, if only one was asked for."""
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
    yield from table(rows, view.width, flexible=5, right=(), dispensable=(2, 4), least=_LEAST_NAME)


def decisions_document(decisions: Sequence[Decision], total: int) -> Document:
    """Some of `total` decisions."""
    rows = [decision_document(each) for each in decisions]
    return {"schema": "reread.decisions/1", "total": total, "decisions": rows}


def decision_document(decision: Decision) -> Document:
    return {
        **picked(decision, "session agent project uuid timestamp=time question header"),
        "options": [option.label for option in decision.options],
        "descriptions": [option.description for option in decision.options],
        **picked(decision, "multiple=is_multiple answer chosen free_text=is_free note status"),
    }


def decisions_lines(decisions: Sequence[Decision], total: int, view: View) -> Iterator[str]:
    for each in decisions:
        label = f"{when(each.time, view.timezone)} · {harmless(each.session)[:_SHORT_ID]}"
        label += f" · {shorten(each.header, 24)}" if each.header else ""
        yield view.style.paint(ruler(label.strip(" ·"), view.width), "dim")
        yield from wrap(each.question or "(no question)", view.width)
        for option in each.options:
            yield from _option(option.label, option.label in each.chosen, view)
        yield from _answer(each, view)
        yield ""
    yield view.style.paint(shown_of(len(decisions), total, "decision") if decisions else "no decisions", "dim")


def _option(label: str, is_chosen: bool, view: View) -> Iterator[str]:
    mark = "●" if is_chosen else "○"
    for line in hanging(one_line(label), view.width, f"  {mark} ", _INDENT):
        yield view.style.paint(line, "green") if is_chosen else line


def _answer(decision: Decision, view: View) -> Iterator[str]:
    labels = {option.label for option in decision.options}
    answers = [part for part in decision.chosen if part not in labels]
    if decision.answer is None:
        answers = [decision.status]
    if decision.note:
        answers.append(decision.note)
    for part in answers:
        look = "red" if decision.answer is None else "green"
        for line in hanging(part, view.width, "  → ", _INDENT):
            yield view.style.paint(line, look)


_ID_LENGTH = 8
_DIGITS = 4
_MOST_GAPS = 5


def gap_text(gap: Gap, view: View) -> str:
    """A gap in one sentence."""
    start, end = (when(time, view.timezone, "%Y-%m-%d %H:%M:%S") for time in (gap.start, gap.end))
    if gap.is_assumed:
        return f"the conversation was rewound at {end}; nothing tells whether the file went back, it is taken so"
    if gap.command is not None:
        return f"a command at {end} may have changed it ({gap.command}); nothing tells whether it did"
    did = "it went back to what it held before" if gap.is_return else "something outside these sessions changed it"
    return f"{did}, {f'between {start} and {end}' if start else f'before {end}'}"


def gap_texts(gaps: Sequence[Gap], view: View) -> Iterator[str]:
    """The newest gaps, after the number of earlier ones."""
    if len(gaps) > _MOST_GAPS:
        yield f"{count(len(gaps) - _MOST_GAPS, 'gap')} before these"
    yield from (gap_text(gap, view) for gap in gaps[-_MOST_GAPS:])


def gap_document(gap: Gap) -> Document:
    return picked(gap, "from=start to=end went_back=is_return assumed=is_assumed command")


def blame_document(traced: Traced, lines: Sequence[BlamedLine]) -> Document:
    history = traced.history
    return {
        "schema": "reread.blame/1",
        "path": history.path,
        "is_whole": history.last is not None,
        "lines": [{**picked(line, "number text source=origin.source"), **_origin(line.origin)} for line in lines],
        "sessions": [{"id": name, "title": title} for name, title in traced.sessions.items()],
        "gaps": [gap_document(gap) for gap in history.gaps],
    }


def _origin(origin: LineOrigin) -> Document:
    gap = {"gap": gap_document(origin.gap)} if origin.gap is not None else {}
    return {**change_document(origin.change), **gap}


def change_document(change: FileChange | None) -> Document:
    """The call that made a change, and its prompt; all null without a change."""
    if change is None:
        return dict.fromkeys(("session", "uuid", "timestamp", "tool", *_OF_PLACE.split()))
    origin = picked(change, "session=place.session uuid=place.uuid timestamp=place.time tool")
    return {**origin, **picked(change.place, _OF_PLACE)}


_OF_PLACE = "turn prompt prompt_uuid agent branch"


def blame_lines(traced: Traced, lines: Sequence[BlamedLine], view: View) -> Iterator[str]:
    """The lines of a file. The first line of each run of one origin names it; the prompts are listed below."""
    yield view.style.paint(shorten_path(traced.history.path, view.width), "bold")
    width = max([cells(_label(line.origin, view)) for line in lines], default=0)
    last: LineOrigin | None = None
    shown = lines if traced.history.last is not None else with_holes(lines)
    for line in shown:
        if isinstance(line, str):
            last = None
            yield view.style.paint(line, "yellow")
            continue
        label = _label(line.origin, view) if line.origin is not last else ""
        last = line.origin
        beside = view.style.paint(f"{label:<{width}}", _BLAME_STYLES[line.origin.source])
        yield f"{beside} {view.style.paint(f'{line.number:>{_DIGITS}}│', 'dim')} {harmless(line.text)}".rstrip()
    yield from _prompts(lines, view)
    yield from _gaps(traced.history.gaps, view)


_BLAME_STYLES = {LineSource.EDIT: "cyan", LineSource.BEFORE: "dim", LineSource.OUTSIDE: "yellow"}


def _label(origin: LineOrigin, view: View) -> str:
    """`3f2a1b7c #4 Edit 2026-11-15 14:02`, `before`, `outside`."""
    if origin.change is None:
        return origin.source.value
    place = origin.change.place
    time = when(place.time, view.timezone)
    return f"{harmless(place.session)[:_ID_LENGTH]} #{place.turn} {harmless(origin.change.tool)} {time}".rstrip()


def _prompts(lines: Sequence[BlamedLine], view: View) -> Iterator[str]:
    found = dict.fromkeys(
        (change.place.session, change.place.turn, change.place.prompt)
        for line in lines
        if (change := line.origin.change) is not None
    )
    if found:
        yield ""
    for session, turn, prompt in found:
        lead = f"{harmless(session)[:_ID_LENGTH]} #{turn}  "
        text = shorten(prompt or "(no prompt)", max(8, view.width - cells(lead)))
        yield view.style.paint(lead, "cyan") + text


def diff_document(session: Session, branch: str, diffs: Sequence[FileDiff]) -> Document:
    added, removed = totals(diffs)
    return {
        "schema": "reread.diff/1",
        "session": session.id,
        "branch": branch,
        "files": [_file_document(diff) for diff in diffs],
        "added": added,
        "removed": removed,
    }


def _file_document(diff: FileDiff) -> Document:
    added, removed = totals([diff])
    return {
        **picked(diff, "path status known=is_known"),
        "added": added,
        "removed": removed,
        "hunks": each_picked(diff.hunks, "old_start old_lines new_start new_lines lines"),
        "changes": [change_document(change) for change in diff.changes],
        "gaps": [gap_document(gap) for gap in diff.gaps],
    }


def diff_lines(session: Session, diffs: Sequence[FileDiff], view: View) -> Iterator[str]:
    """Unified diffs, one file after the other, with the gaps in what is known about each."""
    if not diffs:
        yield "no changes"
    for diff in diffs:
        yield from _file_lines(session, diff, view)


def _file_lines(session: Session, diff: FileDiff, view: View) -> Iterator[str]:
    name = harmless(shown_path(diff.path, session.project))
    yield view.style.paint(f"--- {'/dev/null' if diff.status == 'added' else name}", "bold")
    yield view.style.paint(f"+++ {'/dev/null' if diff.status == 'deleted' else name}", "bold")
    if not diff.is_known:
        yield from _noted("not known as a whole: these are the changes one by one", view)
    yield from (line.painted(view.style) for line in hunk_lines(diff.hunks))
    yield from _gaps(diff.gaps, view)


def stat_lines(session: Session, diffs: Sequence[FileDiff], view: View) -> Iterator[str]:
    """`src/retry.py | 7 +++++--` for each file, and the totals."""
    if not diffs:
        yield "no changes"
        return
    names = {diff.path: shown_path(diff.path, session.project) for diff in diffs}
    width = min(max(cells(harmless(name)) for name in names.values()), max(8, view.width - 24))
    for diff in diffs:
        added, removed = totals([diff])
        name = shorten_path(names[diff.path], width)
        drawn = "".join(part.painted(view.style) for part in bar(added, removed, max(4, view.width - width - 10)))
        yield f"{name}{' ' * (width - cells(name))} │ {added + removed:>4} {drawn}".rstrip()
    added, removed = totals(diffs)
    yield view.style.paint(f"{count(len(diffs), 'file')}, {added:,} added, {removed:,} removed", "dim")


def _gaps(gaps: Sequence[Gap], view: View) -> Iterator[str]:
    for text in gap_texts(gaps, view):
        yield from _noted(text, view)


def _noted(text: str, view: View) -> Iterator[str]:
    return view.wrapped(f"~ {text}", "yellow")
