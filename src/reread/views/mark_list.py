"""What `reread mark` shows: sessions with what is noted on them, all tags, and the question before many are marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reread.marks import Mark, MarkChange

from .numbers import count
from .session_list import mark_fields, mark_lines
from .text import cut, one_line, shorten, table
from .values import Document, View

_SHORT_ID = 8
_INDENT = "    "


class MarkedSession(NamedTuple):
    """A session and what is noted on it."""

    id: str
    project: str | None
    title: str
    mark: Mark


def marks_document(sessions: Sequence[MarkedSession], changed: int | None) -> Document:
    rows = [
        {"id": each.id, "project": each.project, "title": each.title, **mark_fields(each.mark)}
        | {"given_title": each.mark.title}
        for each in sessions
    ]
    return {"schema": "reread.marks/1", "changed": changed or 0, "sessions": rows}


def marks_lines(sessions: Sequence[MarkedSession], changed: int | None, view: View, most: int | None) -> Iterator[str]:
    """What is noted on each; of more than `most` only the sum. `changed` is None where nothing was to be."""
    if most is None or len(sessions) <= most:
        for each in sessions:
            name = cut(one_line(each.id), _SHORT_ID)
            yield f"{name}  {view.style.paint(shorten(each.title or '', view.width - len(name) - 2), 'bold')}"
            yield from mark_lines(each.mark, view, _INDENT)
            if each.mark.title is not None or not any(each.mark):
                said = "the title is yours" if any(each.mark) else "nothing is noted"
                yield view.style.paint(_INDENT + said, "dim")
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


def change_told(change: MarkChange) -> str:
    """What will be noted, as the question says it."""
    told = [
        _WORDS[name, bool(value)]
        for name, value in change._asdict().items()
        if (name, bool(value)) in _WORDS and value is not None
    ]
    told += [f"tag {one_line(tag)!r}" for tag in change.tags]
    told += [f"untag {one_line(tag)!r}" for tag in change.untags]
    return "What will be done to them: " + ", ".join(told)


_WORDS = {
    ("starred", True): "star",
    ("starred", False): "unstar",
    ("hidden", True): "hide",
    ("hidden", False): "unhide",
    ("note", True): "one note for all",
    ("note", False): "no note",
    ("title", True): "one title for all",
    ("title", False): "no title of yours",
}
