"""The book of the format for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from reread.records import book

from .text import shorten, wrap
from .values import Document

if TYPE_CHECKING:
    from .values import View

_INDENT = "  "


def contents_lines(view: View) -> Iterator[str]:
    """Every kind with its sentence, by family."""
    yield from view.wrapped("`reread format NAME` says more of each, or of any field.", "dim")
    whole = book.read_book()
    for name, family in whole.families.items():
        yield ""
        yield from view.wrapped(f"{name}: {family.says}", "bold")
        for entry in whole.entries:
            if entry.family == name:
                yield f"{_INDENT}{entry.name:<27} {shorten(entry.meaning, max(8, view.width - 30))}"


def entry_lines(entry: book.BookEntry, view: View) -> Iterator[str]:
    yield view.style.paint(entry.key, "bold")
    yield from wrap(entry.meaning, view.width)
    yield from view.wrapped(seen_words(entry), "dim")
    family = book.read_book().families[entry.family]
    yield from ["", *wrap(f"Older and newer clients: {entry.changes or family.changes}", view.width)]
    yield from ["", *wrap(f"What goes wrong: {entry.trouble or family.trouble}", view.width), ""]
    for field in entry.fields:
        seen = field_seen(field) or "not in the sessions counted"
        yield f"{_INDENT}{view.style.paint(field.name, 'bold')}  {field.type}  {view.style.paint(seen, 'dim')}"
        yield from _indented(field.meaning, view)
    yield from ["", entry.line, ""]


def field_lines(name: str, found: Iterable[tuple[book.BookEntry, book.BookField]], view: View) -> Iterator[str]:
    """Where a field occurs, and what it means there."""
    yield view.style.paint(f"the field {name}", "bold")
    for entry, field in found:
        yield f"{_INDENT}{entry.key}  {field.type}  {view.style.paint(field_seen(field), 'dim')}".rstrip()
        yield from _indented(field.meaning, view)


def _indented(text: str, view: View) -> Iterator[str]:
    return (f"{_INDENT * 2}{line}" for line in wrap(text, view.width - 4))


def seen_words(entry: book.BookEntry) -> str:
    """How often an entry was seen, and from which clients."""
    total = book.read_book().lines
    numbers = f"{entry.seen['n']:,} in {total:,} lines counted" if entry.seen else "in none of the lines counted"
    wide = f", {entry.wide['n']:,} in a larger set of 222,674" if entry.wide.get("n") else ""
    clients = f"; clients {entry.versions}" if entry.versions else "; described from the client or from reports"
    where = "; in the stream only" if entry.is_stream else ""
    return f"{numbers}{wide}{clients}{where}"


def field_seen(field: book.BookField) -> str:
    """How often a field was seen, and from which clients; empty where it was not."""
    if not field.seen:
        return ""
    clients = book.between([field.seen[end] for end in ("first", "last") if end in field.seen])
    return f"{field.seen['n']:,}, {clients}" if clients else f"{field.seen['n']:,}"


def format_document(entries: Iterable[book.BookEntry]) -> Document:
    rows = [
        {
            "name": entry.key,
            **{name: getattr(entry, name) or None for name in ("meaning", "versions", "changes", "trouble", "line")},
            "stream_only": entry.is_stream,
            "seen": entry.seen.get("n", 0),
            "fields": [
                {"name": f.name, "type": f.type, "meaning": f.meaning, **_EMPTY, **f.seen} for f in entry.fields
            ],
        }
        for entry in entries
    ]
    return {"schema": "reread.format/1", "entries": rows}


_EMPTY = {"n": 0, "first": None, "last": None}
