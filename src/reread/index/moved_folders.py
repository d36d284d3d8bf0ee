"""Folders that a person said were moved."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from reread.marks import Moves, below

from .meta import as_path, stored_path

MoveRow = tuple[str | bytes, str | bytes]
"""The earlier folder, and today's."""


def moves(connection: sqlite3.Connection) -> Moves:
    return Moves(tuple((as_path(old), as_path(new)) for old, new in move_rows(connection)))


def move_rows(connection: sqlite3.Connection) -> list[MoveRow]:
    return connection.execute("SELECT earlier, today FROM moved_folder ORDER BY earlier").fetchall()


def keep_moves(connection: sqlite3.Connection, rows: Iterable[MoveRow]) -> None:
    """Call it inside a transaction."""
    connection.executemany("INSERT OR REPLACE INTO moved_folder (earlier, today) VALUES (?, ?)", rows)


def put_move(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Call it inside a transaction."""
    keep_moves(connection, [(stored_path(old), stored_path(new))])


def take_move(connection: sqlite3.Connection, old: str) -> bool:
    """Removes a move and returns whether there was one; call it inside a transaction."""
    return connection.execute("DELETE FROM moved_folder WHERE earlier = ?", (stored_path(old),)).rowcount > 0


def forget_moves(connection: sqlite3.Connection, project: str | None) -> None:
    """Removes moves of the folders of a forgotten session if no other session is left in them.

    Call it inside the transaction that forgets the session.
    """
    concerned = [old for old, _ in moves(connection).pairs if project is not None and below(project, old) is not None]
    if concerned:
        left = [path for (path,) in connection.execute("SELECT DISTINCT project FROM session WHERE project NOT NULL")]
        for old in concerned:
            if all(below(path, old) is None for path in left):
                take_move(connection, old)
