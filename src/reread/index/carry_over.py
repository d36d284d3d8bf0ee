"""What a rebuilt index takes over from the old one, because no file in the safe has it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reread.errors import RereadError

from . import meta
from .client_totals import keep_status_lines, status_lines
from .database import FILE_NAME, applied_to, connect, last_set_aside, refuse_newer, transaction
from .machines import keep_machines, other_machines
from .schema import MIGRATIONS
from .sessions import MarkRow, MoveRow, all_rows, keep_moves, keep_rows, move_rows
from .user_data import change_rows, forgotten_rows, keep_changes, keep_copied, keep_forgotten, keep_labels, labels
from .verify import drop_unsound


class Unsafe(NamedTuple):
    """Rows that only the database has, so that a new index must take them over from the old one."""

    forgotten: list[tuple[str, int]]
    """What a person had reread forget; it must stay forgotten."""
    said: list[tuple[object, ...]]
    """Figures of status lines."""
    marks: list[MarkRow]
    """What a person noted on sessions."""
    labels: list[tuple[object, ...]]
    """What a person said about moments of friction."""
    moved: list[MoveRow]
    """What a person said about moved folders."""
    changed: list[tuple[object, ...]]
    """When marks were changed."""
    machines: list[tuple[str, str]]
    """Labels of other machines."""


def unsafe_if_readable(home: Path) -> Unsafe:
    """The rows to take over; those that a damaged or older database cannot give are empty."""
    name = FILE_NAME
    if not any(_if_readable(home, name, ask) for ask in (_first_file, _rebuild_note)):
        name = last_set_aside(home) or name  # a rebuild was stopped before it had taken over anything
    return Unsafe(
        *(
            _if_readable(home, name, ask)
            for ask in (forgotten_rows, status_lines, all_rows, labels, move_rows, change_rows, other_machines)
        )
    )


def refuse_newer_index(home: Path) -> None:
    """Raises NewerArchive for the index of a newer version: what only that version stores would be lost.

    An index that lacks migrations of this version is damaged, and is not refused.
    """
    applied = set(_if_readable(home, FILE_NAME, lambda connection: [*applied_to(connection)]))
    if applied >= MIGRATIONS.keys():
        refuse_newer(applied)


def _first_file(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("SELECT 1 FROM file LIMIT 1").fetchall()


def _rebuild_note(connection: sqlite3.Connection) -> list[Any]:
    return [said for said in [meta.read_note(connection, meta.REBUILD)] if said]


def _if_readable(home: Path, name: str, ask: Callable[[sqlite3.Connection], list[Any]]) -> list[Any]:
    try:
        connection = connect(home, read_only=True, name=name)
        try:
            return ask(connection)
        finally:
            connection.close()
    except (RereadError, sqlite3.Error):
        return []


def keep_unsafe(connection: sqlite3.Connection, known: Unsafe, home: Path) -> None:
    """Writes what was taken over, except rows of a damaged database that cannot be valid. Marks that it lacks come from
    their copy in the archive's folder."""
    kept: list[tuple[Callable[[sqlite3.Connection, list[Any]], None], list[Any]]] = [
        (keep_forgotten, known.forgotten),
        (keep_status_lines, known.said),
        (keep_rows, known.marks),
        (keep_labels, known.labels),
        (keep_moves, known.moved),
        (keep_changes, known.changed),
        (keep_machines, known.machines),
    ]
    with transaction(connection):
        for keep, rows in kept:
            for row in rows:
                with suppress(sqlite3.IntegrityError):
                    keep(connection, [row])
        meta.write_note(connection, meta.REBUILD, meta.BEGUN)
        drop_unsound(
            connection,
            ("forgotten", "client_total", "mark", "moment_verdict", "moved_folder", "mark_change", "machine"),
        )
        keep_copied(connection, home)
