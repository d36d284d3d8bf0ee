"""The book of the format: every record, attachment, block, frame and side file, with each of its fields.

`bench/format_book.py` makes `format/book.json` of the types, their sentences and the counts; this reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from msgspec import Struct

from .base import version_numbers


class BookField(Struct, frozen=True):
    """One field of an entry."""

    name: str
    type: str
    meaning: str
    seen: dict[str, Any]
    """`n`, `first` and `last` of the counts; empty where it was never seen."""


class BookEntry(Struct, frozen=True):
    """What is known of one kind of object."""

    family: str
    name: str
    meaning: str
    fields: tuple[BookField, ...]
    changes: str
    """What older and newer clients do instead."""
    trouble: str
    """What goes wrong."""
    line: str
    """The smallest whole line or object."""
    is_stream: bool
    """Whether only the stream has it."""
    seen: dict[str, Any]
    wide: dict[str, Any]
    """The same in the larger set that the format was first described from; empty where it was not counted there."""

    @property
    def key(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def versions(self) -> str:
        """The first and last client that it was seen from, of both counts; empty where it was never seen."""
        known = [each[end] for each in (self.seen, self.wide) for end in ("first", "last") if end in each]
        return between(known)


class Family(Struct, frozen=True):
    """What is true of all entries of a family."""

    says: str
    changes: str
    trouble: str


class Book(Struct, frozen=True):
    lines: int
    """Lines that were counted."""
    families: dict[str, Family]
    entries: list[BookEntry]
    unread: dict[str, list[str]]
    """By class, the fields that its objects have and that the class lacks, because nothing reads them."""


@cache
def read_book() -> Book:
    return msgspec.json.decode(_text("book.json"), type=Book)


@cache
def document_schemas() -> dict[str, Any]:
    """JSON Schemas of what `--json` prints: `sessions` for `reread.sessions/1`."""
    found: dict[str, Any] = json.loads(_text("documents.json"))
    return found


def schema_of(name: str) -> dict[str, Any] | None:
    """The JSON Schema of a whole line, of one kind, or of a document; None if there is none."""
    if name in ("transcript", "stream"):
        whole: dict[str, Any] = json.loads(_text(f"{name}.json"))
        return whole
    document: dict[str, Any] | None = document_schemas().get(name.removeprefix("reread.").partition("/")[0])
    found = next(iter(find_entries(name)), None)
    if document is not None or found is None:
        return document
    root = f"{found.family}.{found.name}"
    names = ("stream.json", "transcript.json") if found.is_stream else ("transcript.json", "stream.json")
    whole = next(each for each in map(json.loads, map(_text, names)) if root in each["$defs"])
    reached = {root: whole["$defs"][root]}
    waiting = [root]
    while waiting:
        named = set(re.findall(r'"#/\$defs/([^"]+)"', json.dumps(reached[waiting.pop()])))
        waiting += sorted(named - set(reached))
        reached |= {each: whole["$defs"][each] for each in named}
    return {"$schema": whole["$schema"], "title": found.key, "$ref": f"#/$defs/{root}", "$defs": reached}


def _text(name: str) -> str:
    return resources.files("reread.records").joinpath("format", name).read_text("utf-8")


def between(versions: Iterable[str]) -> str:
    """The first and last of some versions: `2.1.90 to 2.1.325`."""
    ordered = sorted(versions, key=lambda each: version_numbers(each) or ())
    return " to ".join(dict.fromkeys((ordered[0], ordered[-1]))) if ordered else ""


def find_entries(name: str) -> list[BookEntry]:
    """The entries of a name, `attachment/file` or `file`; names of several families give several."""
    return [each for each in read_book().entries if name in (each.key, each.name)]


def find_fields(name: str) -> list[tuple[BookEntry, BookField]]:
    """Every field of a name, with the entry that has it."""
    return [(each, one) for each in read_book().entries for one in each.fields if one.name == name]
