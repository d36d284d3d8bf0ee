"""Prints records/format/book.json, docs/format/ and docs/schema/ from the record types, their sentences and the counts.

python bench/format_book.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from format_source import FORMAT, make_book
from reread.records import book
from reread.views.format_book import field_seen, seen_words

DOCS = Path(__file__).parents[1] / "docs"
TITLES = {
    "record": "Lines of a transcript",
    "system": "System subtypes",
    "attachment": "Attachments",
    "progress": "Progress",
    "block": "Content blocks",
    "part": "Objects inside of lines",
    "frame": "Frames of the stream",
    "event": "Streaming events",
    "control": "Control requests",
    "file": "Side files",
}


def pages() -> dict[str, str]:
    """Every generated file below docs/, with its text."""
    made = {f"format/{family}.md": "\n".join(_page(family)) for family in book.read_book().families}
    schemas = {name: book.schema_of(name) for name in ("transcript", "stream")}
    schemas["documents"] = book.document_schemas()
    return made | {f"schema/{name}.json": json.dumps(each, indent=1) + "\n" for name, each in schemas.items()}


def _page(family: str) -> Iterator[str]:
    whole = book.read_book()
    of = whole.families[family]
    yield f"# {TITLES[family]}\n\n{of.says}\n"
    yield f"**Older and newer clients.** {of.changes}\n\n**What goes wrong.** {of.trouble}\n"
    yield "How to read this page, and how it is counted: [the book of the format](index.md).\n"
    for each in whole.entries:
        if each.family == family:
            yield from _entry(each)


def _entry(entry: book.BookEntry) -> Iterator[str]:
    yield f"## `{entry.name}`\n\n{entry.meaning} *Seen {seen_words(entry)}.*\n"
    if entry.changes:
        yield f"**Older and newer clients.** {entry.changes}\n"
    if entry.trouble:
        yield f"**What goes wrong.** {entry.trouble}\n"
    if entry.fields:
        yield "| field | type | meaning | seen |\n|---|---|---|---|"
        for field in entry.fields:
            yield f"| `{field.name}` | {_linked(field.type)} | {field.meaning} | {field_seen(field) or '–'} |"
        yield ""
    if entry.line:
        yield f"```json\n{entry.line}\n```\n"


def _linked(words: str) -> str:
    """A type, with links to the pages of what it names."""
    made = []
    for word in words.split(" "):
        family, _, name = word.partition("/")
        anchor = f"#{name.lower()}" if name else ""
        made.append(f"[{name or family}]({family}.md{anchor})" if family in TITLES else word)
    return " ".join(made)


def book_json() -> str:
    """What the package keeps of the book; an entry a line."""
    return msgspec.json.format(msgspec.json.encode(make_book()), indent=0).decode() + "\n"


def main() -> None:
    (FORMAT / "book.json").write_text(book_json(), "utf-8")
    book.read_book.cache_clear()
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
