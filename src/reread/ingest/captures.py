"""Captures that reread made itself: the known ones whose files are gone, and the removal of those that are kept."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from reread.index import read
from reread.index.database import is_durable
from reread.index.rows import OWN, FileKeys, FileRow
from reread.index.sessions import names_by_id
from reread.keys import session_mark
from reread.rows.groups import grouped
from reread.sources import FileKind, SourceFile


class KnownCaptures:
    """Captures imported earlier: reread removed their files once their bytes were kept."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[str, FileRow]) -> None:
        rows = [row for row in known.values() if row.kind == FileKind.CAPTURE and row.session is not None]
        names = names_by_id(connection) if rows else {}
        gone = (row for row in rows if not os.path.lexists(row.location))
        self._by_session = grouped(gone, lambda row: names[row.session or 0])

    def of(self, session: str) -> list[FileRow]:
        return self._by_session.get(session, [])


def remove_kept_captures(connection: sqlite3.Connection, machine: str, waiting: Sequence[SourceFile]) -> None:
    """Removes captures whose bytes are in the safe, once a crash of the machine cannot lose the rows that say so.

    It also removes those of forgotten sessions. What cannot be removed now is left for the next sync.
    """
    if not waiting or not is_durable(connection):
        return
    forgotten = read.forgotten(connection)
    keys = FileKeys(machine, read.known_files(connection, machine).values())
    for file in waiting:
        row = keys.row(file.location)
        is_forgotten = bool(forgotten.keys() & {session_mark(file.session or ""), *keys.ever_of(file.location)})
        if is_forgotten or (row is not None and row.source == OWN and row.taken == file.size):
            _remove(file.path)


def remove_waiting(wire: Path, session: str) -> None:
    """Removes the captures of a session that are not imported yet."""
    # Names are compared because the id of a session may come from a line and need not be a valid file name.
    folders = [folder for folder in wire.iterdir() if folder.name == session] if wire.is_dir() else []
    for capture in (path for folder in folders for path in folder.glob("*.wire")):
        _remove(capture)


def _remove(path: Path) -> None:
    """Removes a capture, and the folder of its session once that is empty."""
    try:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
    except OSError:  # the folder is not empty, or another program holds the file: the next sync tries again
        return
