"""What a person noted on sessions: rows by the session's uuid, and a copy of them outside the database.

A person's own words stand in no source. The safe gives back everything else, so these alone would be lost with a
database that is deleted or beyond reading: `marks.json` has them once more, with the folders they said were moved.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reread.errors import RereadError
from reread.marks import NO_MARK, Mark

from .database import StoreError
from .moves import MoveRow, keep_moves, moves
from .paths import as_path, stored_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.marks.changes import Change

COPY = "marks.json"
_PART = f"{COPY}.part"
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


def change(connection: sqlite3.Connection, home: Path, sessions: Iterable[str], wanted: "Change") -> int:
    """Notes the same on some sessions and gives how many that changed; inside the caller's transaction."""
    take_over_copy(connection, home)
    known = marks(connection)
    fresh = {session: wanted.of(known.get(session, NO_MARK)) for session in sessions}
    changed = {session: mark for session, mark in fresh.items() if mark != known.get(session, NO_MARK)}
    for session, mark in changed.items():
        if mark == NO_MARK:
            connection.execute("DELETE FROM mark WHERE session = ?", (stored_path(session),))
        else:
            keep_rows(connection, [_columns(session, mark)])
    if changed:
        write_copy(connection, home)
    return len(changed)


def take_over_copy(connection: sqlite3.Connection, home: Path) -> None:
    """Before it is written: in a database made anew without a rebuild nothing is noted, and the copy would be lost.
    Inside the caller's transaction."""
    if not all_rows(connection):
        keep_rows(connection, rows_of_copy(home))
    if not moves(connection).pairs:
        keep_moves(connection, moves_of_copy(home))


def forget_mark(connection: sqlite3.Connection, home: Path, session: str | bytes) -> None:
    """What was noted on a session of which no copy is left; inside the transaction that forgets it."""
    connection.execute(
        "DELETE FROM mark WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM session WHERE uuid = ?1)", (session,)
    )
    if any((home / name).exists() for name in (COPY, _PART)):  # a crash may have left more there than in the rows
        write_copy(connection, home)


def all_rows(connection: sqlite3.Connection) -> list[MarkRow]:
    return connection.execute(f"SELECT {_COLUMNS} FROM mark").fetchall()  # noqa: S608  our own names


def keep_rows(connection: sqlite3.Connection, rows: Iterable[MarkRow]) -> None:
    """Inside the caller's transaction."""
    connection.executemany(f"INSERT OR REPLACE INTO mark ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


def write_copy(connection: sqlite3.Connection, home: Path) -> None:
    """All rows once more, in a file that is whole at every moment. Before they are committed: the lock of the
    transaction keeps two writers apart, and a crash between the two leaves a change that only the file knows."""
    rows = [{"session": session, **mark._asdict()} for session, mark in marks(connection).items()]
    moved = [{"earlier": old, "today": new} for old, new in moves(connection).pairs]
    text = json.dumps({"marks": rows, "moved": moved}, indent=1)
    from reread.folders import sync_folder

    part = home / _PART
    try:
        with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(home / COPY)
        sync_folder(home)
    except OSError as error:
        raise StoreError(f"{home / COPY}: cannot be written ({error.strerror or error})") from error


def rows_of_copy(home: Path) -> list[MarkRow]:
    """The rows that the file has; none where there is no such file, or another's."""
    found = [_row(each) for each in _copied(home, "marks")]
    return [row for row in found if row is not None]


def moves_of_copy(home: Path) -> list[MoveRow]:
    """The same for folders that were moved."""
    found = [(each.get("earlier"), each.get("today")) for each in _copied(home, "moved") if isinstance(each, Mapping)]
    return [(stored_path(old), stored_path(new)) for old, new in found if isinstance(old, str) and isinstance(new, str)]


def _copied(home: Path, what: str) -> list[object]:
    try:
        document = json.loads((home / COPY).read_bytes())
    except (OSError, ValueError):
        return []
    rows = document.get(what) if isinstance(document, dict) else None
    return rows if isinstance(rows, list) else []


def _row(each: object) -> MarkRow | None:
    """A row as a person may have edited it: of the right types, or none."""
    from reread.marks.changes import Change

    if not isinstance(each, Mapping) or not isinstance(each.get("session"), str):
        return None
    try:
        mark = Change(
            starred=bool(each.get("starred")),
            hidden=bool(each.get("hidden")),
            tags=tuple(each.get("tags") or ()),
            note=each.get("note"),
            title=each.get("title"),
        ).checked()
    except (TypeError, AttributeError, RereadError):
        return None
    return _columns(each["session"], mark.of(NO_MARK))


def _columns(session: str, mark: Mark) -> MarkRow:
    tags = json.dumps(mark.tags, ensure_ascii=False)
    return (stored_path(session), mark.starred, tags, mark.note, mark.title, mark.hidden)
