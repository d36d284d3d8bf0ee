"""Words of a person's own about sessions, found as titles are.

They stand in no source and change at any time, so the index does not have them. They are few: an index of them that
lasts for one question is made in a moment.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from .marks import marks
from .paths import as_path
from .schema import WORDS
from .tokens import indexable


class Noted(NamedTuple):
    """Title, note and tags of one session."""

    text: str
    sessions: tuple[int, ...]
    """Its copies share them."""


def noted_words(connection: sqlite3.Connection) -> list[Noted]:
    texts = {session: mark.words for session, mark in marks(connection).items() if mark.words}
    if not texts:
        return []
    copies: dict[str, list[int]] = {}
    for number, uuid in connection.execute("SELECT id, uuid FROM session WHERE uuid IN (SELECT session FROM mark)"):
        copies.setdefault(as_path(uuid), []).append(number)
    return [Noted(text, tuple(copies[session])) for session, text in texts.items() if session in copies]


def matching(noted: Sequence[Noted], expression: str) -> list[Noted]:
    """Those that an expression for the index finds."""
    if not noted:
        return []
    with closing(sqlite3.connect(":memory:")) as index:
        index.execute(WORDS)
        rows = [(number, indexable(each.text)) for number, each in enumerate(noted)]
        index.executemany("INSERT INTO search(rowid, title) VALUES (?, ?)", rows)
        found = index.execute("SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid", (expression,))
        return [noted[number] for (number,) in found]
