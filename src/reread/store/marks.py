"""What a person noted on sessions: rows by the session's uuid. `own_words` has what changes them."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from reread.marks import Mark

from .paths import as_path, stored_path

_COLUMNS = "session, starred, tags, note, title, hidden"
_FEW = 200
"""So many sessions are asked for by name; of more, everything is read, which is quicker than so many names."""

MarkRow = tuple[Any, ...]
"""The columns of a mark, its session first."""


def marks(connection: sqlite3.Connection, sessions: Sequence[str | bytes] | None = None) -> dict[str, Mark]:
    """What is noted, by session: everything, or at least what is noted on these."""
    is_few = sessions is not None and len(sessions) <= _FEW
    rows = _rows_of(connection, sessions) if is_few and sessions else all_rows(connection)
    return {
        as_path(session): Mark(bool(starred), tuple(json.loads(tags)), note, title, bool(hidden))
        for session, starred, tags, note, title, hidden in rows
    }


def _rows_of(connection: sqlite3.Connection, sessions: Sequence[str | bytes]) -> list[MarkRow]:
    named = ", ".join("?" * len(sessions))
    return connection.execute(f"SELECT {_COLUMNS} FROM mark WHERE session IN ({named})", sessions).fetchall()  # noqa: S608


def all_rows(connection: sqlite3.Connection) -> list[MarkRow]:
    return connection.execute(f"SELECT {_COLUMNS} FROM mark").fetchall()  # noqa: S608  our own names


def keep_rows(connection: sqlite3.Connection, rows: Iterable[MarkRow]) -> None:
    """Inside the caller's transaction."""
    connection.executemany(f"INSERT OR REPLACE INTO mark ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


def columns_of(session: str, mark: Mark) -> MarkRow:
    tags = json.dumps(mark.tags, ensure_ascii=False)
    return (stored_path(session), mark.starred, tags, mark.note, mark.title, mark.hidden)
