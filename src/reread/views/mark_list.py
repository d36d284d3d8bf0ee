"""What `reread mark` and `reread projects` show: sessions with their marks, all tags, and projects with their worktrees
and the folders they were moved from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from reread.marks import Mark, MarkChange

from .numbers import count, money, shown_of
from .session_list import last_part, mark_fields, mark_lines
from .text import cut, one_line, shorten, shorten_path, table
from .usage_table import least_key
from .values import Document, View, picked, when

if TYPE_CHECKING:
    from reread.archive.user_marks import Folder, Project
    from reread.marks import Moves

NOWHERE = "no project"
MOST_NAMES = 4
MOST_GUESSES = 3
_HEADER = ("project", "sessions", "prompts", "last", "cost", "")
_DISPENSABLE = (2, 1, 3, 5)
"""Columns that are dropped if there is no room, in this order: prompts, sessions, last, whether it is here."""
_DATE = "%Y-%m-%d"


def projects_document(projects: Iterable[Project], moves: Moves, total: int) -> Document:
    return {
        "schema": "reread.projects/1",
        "total": total,
        "projects": [_row_document(each) for each in projects],
        "moves": [{"earlier": old, "today": new} for old, new in moves.pairs],
    }


def _row_document(each: Project) -> Document:
    return {
        "project": each.folder or None,
        **picked(each, "exists sessions prompts last cost_usd=tokens.cost unpriced_tokens=tokens.unpriced_tokens"),
        "worktrees": _folders_document(each.worktrees),
        "earlier": _folders_document(each.earlier),
        "perhaps": each.perhaps,
    }


def _folders_document(folders: Iterable[Folder]) -> list[Document]:
    return [{"folder": each.path, "sessions": each.sessions} for each in folders]


def projects_lines(projects: Sequence[Project], view: View, total: int) -> Iterator[str]:
    """A table of some of `total` projects."""
    if not projects:
        yield "no projects"
        return
    rows = [_HEADER, *(_row(each, view) for each in projects)]
    least = least_key("project")
    right = range(1, len(_HEADER))
    lines = table(rows, view.width, flexible=0, right=right, cut=shorten_path, dispensable=_DISPENSABLE, least=least)
    yield view.style.paint(next(lines), "bold")
    for each, line in zip(projects, lines, strict=True):
        yield line
        yield from (view.style.paint(f"  └ {shorten(beneath, view.width - 4)}", "dim") for beneath in _beneath(each))
    yield ""
    gone = sum(bool(each.folder) and not each.exists for each in projects)
    sums = shown_of(len(projects), total, "project") + (f", {gone:,} not on this machine" if gone else "")
    yield from view.wrapped(sums, "dim")
    guesses = [(each.folder, each.perhaps) for each in projects if each.perhaps is not None][:MOST_GUESSES]
    if guesses:
        yield view.style.paint("perhaps moved, judging by the name:", "dim")
    for folders in guesses:  # not cut at the width: these commands are meant to be copied
        yield view.style.paint("  reread projects move " + one_line(" ".join(map(quote, folders))), "dim")


def _row(each: Project, view: View) -> tuple[str, ...]:
    return (
        each.folder or NOWHERE,
        f"{each.sessions:,}",
        f"{each.prompts:,}",
        when(each.last, view.timezone, _DATE),
        money(each.tokens.cost, is_partial=each.is_partial),
        "" if each.exists or not each.folder else "not here",
    )


def _beneath(each: Project) -> Iterator[str]:
    for folder in each.earlier:
        yield f"earlier {folder.path} ({count(folder.sessions, 'session')})"
    if each.worktrees:
        names = [last_part(folder.path) for folder in each.worktrees]
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        yield f"{count(len(names), 'worktree')}: {', '.join(names[:MOST_NAMES])}{more}"


def moved_line(old: str, new: str, sessions: int) -> str:
    """The sentence for a new move."""
    number = count(sessions, "session") if sessions else "no session yet"
    return f"{one_line(old)} belongs to {one_line(new)} from now on: {number}"


def unmoved_line(old: str, sessions: int) -> str:
    """The sentence for a move that is taken back."""
    return f"{one_line(old)} stands by itself again: {count(sessions, 'session')}"


_SHORT_ID = 8
_INDENT = "    "


class MarkedSession(NamedTuple):
    """A session and its mark."""

    id: str
    project: str | None
    title: str
    mark: Mark


def marks_document(sessions: Sequence[MarkedSession], changed: int | None) -> Document:
    rows = [
        {**picked(each, "id project title"), **mark_fields(each.mark), "given_title": each.mark.title}
        for each in sessions
    ]
    return {"schema": "reread.marks/1", "changed": changed or 0, "sessions": rows}


def marks_lines(sessions: Sequence[MarkedSession], changed: int | None, view: View, most: int | None) -> Iterator[str]:
    """The mark of each session; for more than `most` sessions only the number. `changed` is None if the command was
    only to show marks."""
    if most is None or len(sessions) <= most:
        for each in sessions:
            name = cut(one_line(each.id), _SHORT_ID)
            yield f"{name}  {view.style.paint(shorten(each.title or '', view.width - len(name) - 2), 'bold')}"
            yield from mark_lines(each.mark, view, _INDENT)
            if each.mark.title is not None or not any(each.mark):
                sentence = "the title is yours" if any(each.mark) else "nothing is noted"
                yield view.style.paint(_INDENT + sentence, "dim")
    yield view.style.paint(_sum(len(sessions), changed), "dim")


def _sum(number: int, changed: int | None) -> str:
    if changed is None or not number:
        return count(number, "session")
    return f"{count(changed, 'session')} marked" + (f", {number - changed:,} as before" if changed < number else "")


def tags_document(tags: Sequence[tuple[str, int]]) -> Document:
    return {"schema": "reread.marks/1", "tags": [{"name": name, "sessions": number} for name, number in tags]}


def tags_lines(tags: Sequence[tuple[str, int]], view: View) -> Iterator[str]:
    if not tags:
        yield "no tags"
    yield from table([(name, f"{number:,}") for name, number in tags], view.width, flexible=0, right=frozenset({1}))


def change_sentence(change: MarkChange) -> str:
    """A change of marks in words, for the question that confirms it."""
    changes = [
        _WORDS[name, bool(value)]
        for name, value in change._asdict().items()
        if (name, bool(value)) in _WORDS and value is not None
    ]
    changes += [f"tag {one_line(tag)!r}" for tag in change.tags]
    changes += [f"untag {one_line(tag)!r}" for tag in change.untags]
    return "What will be done to them: " + ", ".join(changes)


_WORDS = {
    ("starred", True): "star",
    ("starred", False): "unstar",
    ("hidden", True): "hide",
    ("hidden", False): "unhide",
    ("typed", True): "typed by a person",
    ("typed", False): "driven by a program",
    ("note", True): "one note for all",
    ("note", False): "no note",
    ("title", True): "one title for all",
    ("title", False): "no title of yours",
}
