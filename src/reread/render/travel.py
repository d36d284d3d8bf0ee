"""Files over time, for a terminal and as JSON documents: blame, net changes, gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reread.analyses.edits.blame import BlamedLine, Origin, Source
from reread.analyses.edits.changes import Change
from reread.analyses.edits.histories import Gap
from reread.analyses.edits.net import FileDiff, totals
from reread.queries.travel import Traced
from reread.sessions import Session

from .calls import relative
from .diffs import bar, hunk_lines
from .numbers import count
from .text import cells, harmless, shorten, shorten_path, wrap
from .values import Document, utc
from .view import View, when

_SHORT_ID = 8
_DIGITS = 4
_MOST_GAPS = 5


def gap_text(gap: Gap, view: View) -> str:
    """A gap in one sentence."""
    start, end = (when(time, view.timezone, "%Y-%m-%d %H:%M:%S") for time in (gap.start, gap.end))
    if gap.is_assumed:
        return f"the conversation was rewound at {end}; nothing tells whether the file went back, it is taken so"
    did = "it went back to what it held before" if gap.is_return else "something no transcript tells of changed it"
    return f"{did}, {f'between {start} and {end}' if start else f'before {end}'}"


def gap_texts(gaps: Sequence[Gap], view: View) -> Iterator[str]:
    """The newest gaps, and how many more there are."""
    if len(gaps) > _MOST_GAPS:
        yield f"{count(len(gaps) - _MOST_GAPS, 'gap')} before these"
    yield from (gap_text(gap, view) for gap in gaps[-_MOST_GAPS:])


def gap_document(gap: Gap) -> Document:
    return {
        "from": utc(gap.start),
        "to": utc(gap.end),
        "went_back": gap.is_return,
        "assumed": gap.is_assumed,
    }


def blame_document(traced: Traced, lines: Sequence[BlamedLine]) -> Document:
    history = traced.history
    return {
        "schema": "reread.blame/1",
        "path": history.path,
        "lines": [
            {"number": line.number, "text": line.text, "source": line.origin.source.value, **_origin(line.origin)}
            for line in lines
        ],
        "sessions": [{"id": name, "title": title} for name, title in traced.sessions.items()],
        "gaps": [gap_document(gap) for gap in history.gaps],
    }


def _origin(origin: Origin) -> Document:
    gap = {"gap": gap_document(origin.gap)} if origin.gap is not None else {}
    return {**change_document(origin.change), **gap}


def change_document(change: Change | None) -> Document:
    """Which call made a change, and the prompt it was made for; all null where nothing did."""
    place = change.place if change is not None else None
    return {
        "session": place.session if place is not None else None,
        "uuid": place.uuid if place is not None else None,
        "timestamp": utc(place.time) if place is not None else None,
        "tool": change.tool if change is not None else None,
        "turn": place.turn if place is not None else None,
        "prompt": place.prompt if place is not None else None,
        "prompt_uuid": place.prompt_uuid if place is not None else None,
        "agent": place.agent if place is not None else None,
        "branch": place.branch if place is not None else None,
    }


def blame_lines(traced: Traced, lines: Sequence[BlamedLine], view: View) -> Iterator[str]:
    """Each run of lines with its origin beside its first one; the prompts are told below."""
    yield view.style.paint(shorten_path(traced.history.path, view.width), "bold")
    width = max([cells(_label(line.origin, view)) for line in lines], default=0)
    last: Origin | None = None
    for line in lines:
        label = _label(line.origin, view) if line.origin is not last else ""
        last = line.origin
        beside = view.style.paint(f"{label:<{width}}", _LOOKS[line.origin.source])
        yield f"{beside} {view.style.paint(f'{line.number:>{_DIGITS}}│', 'dim')} {harmless(line.text)}".rstrip()
    yield from _prompts(lines, view)
    yield from _gaps(traced.history.gaps, view)


_LOOKS = {Source.EDIT: "cyan", Source.BEFORE: "dim", Source.OUTSIDE: "yellow"}


def _label(origin: Origin, view: View) -> str:
    """`3f2a1b7c #4 Edit 2026-11-15 14:02`, `before`, `outside`."""
    if origin.change is None:
        return origin.source.value
    place = origin.change.place
    time = when(place.time, view.timezone)
    return f"{harmless(place.session)[:_SHORT_ID]} #{place.turn} {harmless(origin.change.tool)} {time}".rstrip()


def _prompts(lines: Sequence[BlamedLine], view: View) -> Iterator[str]:
    found = dict.fromkeys(
        (change.place.session, change.place.turn, change.place.prompt)
        for line in lines
        if (change := line.origin.change) is not None
    )
    if found:
        yield ""
    for session, turn, prompt in found:
        lead = f"{harmless(session)[:_SHORT_ID]} #{turn}  "
        said = shorten(prompt or "(no prompt)", max(8, view.width - cells(lead)))
        yield view.style.paint(lead, "cyan") + said


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
        "path": diff.path,
        "status": diff.status,
        "known": diff.is_known,
        "added": added,
        "removed": removed,
        "hunks": [
            {
                "old_start": hunk.old_start,
                "old_lines": hunk.old_lines,
                "new_start": hunk.new_start,
                "new_lines": hunk.new_lines,
                "lines": list(hunk.lines),
            }
            for hunk in diff.hunks
        ],
        "changes": [change_document(change) for change in diff.changes],
        "gaps": [gap_document(gap) for gap in diff.gaps],
    }


def diff_lines(session: Session, diffs: Sequence[FileDiff], view: View) -> Iterator[str]:
    """Unified diffs, one file after the other, and what is not known about them."""
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
    """`src/retry.py | 7 +++++--`, and the sums."""
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


def shown_path(path: str, project: str | None) -> str:
    """Below the project without the project's own part."""
    return relative(path, project) if project and path.startswith(project) else path


def _gaps(gaps: Sequence[Gap], view: View) -> Iterator[str]:
    for text in gap_texts(gaps, view):
        yield from _noted(text, view)


def _noted(text: str, view: View) -> Iterator[str]:
    return (view.style.paint(line, "yellow") for line in wrap(f"~ {text}", view.width))
