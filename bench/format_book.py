"""Prints docs/format/ and docs/schema/ from the record types, their sentences and the counts.

python bench/format_book.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

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
    made = {f"format/{family}.md": "\n".join(_page(family)) for family in book.FAMILIES}
    schemas = {name: book.schema_of(name) for name in ("transcript", "stream")}
    schemas["documents"] = book.document_schemas()
    return made | {f"schema/{name}.json": json.dumps(each, indent=1) + "\n" for name, each in schemas.items()}


def _page(family: str) -> Iterator[str]:
    prose = book.prose(family)["family"]
    yield f"# {TITLES[family]}\n\n{prose['is']}\n"
    yield f"**Older and newer clients.** {prose['changes']}\n\n**What goes wrong.** {prose['trouble']}\n"
    yield "How to read this page, and how it is counted: [the book of the format](index.md).\n"
    for name in book.FAMILIES[family]:
        yield from _entry(book.entry(family, name))


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
        made.append(f"[{name or family}]({family}.md{anchor})" if family in book.FAMILIES else word)
    return " ".join(made)


def main() -> None:
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
