"""What a rebuilt index takes over from the old one, because no file in the safe has it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reread.errors import NewerArchive, RereadError, StoreError

from . import meta
from .client_totals import keep_limit_values, keep_status_lines, limit_values, status_lines
from .database import FILE_NAME, connect, is_earlier_index, last_set_aside, remove, set_aside, transaction
from .machines import keep_file, keep_machines, other_machines
from .moved_folders import keep_moves, move_rows
from .sessions import all_rows, keep_rows
from .user_data import change_rows, forgotten_rows, keep_changes, keep_copied, keep_forgotten, keep_labels, labels
from .verify import drop_unsound


def _secrets_key(connection: sqlite3.Connection) -> list[Any]:
    return [said for said in [meta.read_note(connection, meta.SECRETS)] if said]


def _keep_secrets_key(connection: sqlite3.Connection, rows: list[str]) -> None:
    meta.write_note(connection, meta.SECRETS, rows[0])


class _Carried(NamedTuple):
    """Rows that only the database has, so that a new index must take them over from the old one."""

    table: str
    read: Callable[[sqlite3.Connection], list[Any]]
    keep: Callable[[sqlite3.Connection, list[Any]], None]


_CARRIED = (
    _Carried("forgotten", forgotten_rows, keep_forgotten),
    _Carried("client_total", status_lines, keep_status_lines),
    _Carried("limit_value", limit_values, keep_limit_values),
    _Carried("mark", all_rows, keep_rows),
    _Carried("moment_verdict", labels, keep_labels),
    _Carried("moved_folder", move_rows, keep_moves),
    _Carried("mark_change", change_rows, keep_changes),
    _Carried("machine", other_machines, keep_machines),
    _Carried("note", _secrets_key, _keep_secrets_key),
)


def begin_new_index(home: Path) -> None:
    """Puts the index aside and makes an empty one that has what no file in the safe says. The caller holds the lock.

    Killed at any moment, this has lost nothing: what was put aside is still there, and is read by the next try.
    """
    _refuse_newer(home)
    keep_file(home)
    name = _last_filled(home)
    can_go = name == FILE_NAME and is_earlier_index(home)
    known = _unsafe_in(home, name)  # last: anything noted after this would not be taken over
    if name != FILE_NAME and _answer(home, FILE_NAME, _is_untouched):
        remove(home)  # the beginning of a new index that was stopped: only its predecessor has something to keep
        aside = None
    else:
        aside = set_aside(home)
    connection = connect(home)
    try:
        _keep_unsafe(connection, known, home, superseded=aside if can_go and None not in known else None)
    finally:
        connection.close()


def _refuse_newer(home: Path) -> None:
    """Raises NewerArchive for the index of a newer version: what only that version stores would be lost."""
    try:
        connect(home, read_only=True).close()
    except NewerArchive:
        raise
    except StoreError:
        pass


def _last_filled(home: Path) -> str:
    """The index to take over from: the present one, unless a new one was begun and stopped before it took over."""
    is_filled = _answer(home, FILE_NAME, _first_file) or _answer(home, FILE_NAME, _rebuild_note)
    return FILE_NAME if is_filled else last_set_aside(home) or FILE_NAME


def _unsafe_in(home: Path, name: str) -> list[list[Any] | None]:
    """The rows of each carried table; None for those that a damaged index cannot give."""
    return [_answer(home, name, each.read) for each in _CARRIED]


def _first_file(connection: sqlite3.Connection) -> list[Any]:
    return connection.execute("SELECT 1 FROM file LIMIT 1").fetchall()


def _rebuild_note(connection: sqlite3.Connection) -> list[Any]:
    return [said for said in [meta.read_note(connection, meta.REBUILD)] if said]


def _is_untouched(connection: sqlite3.Connection) -> list[Any]:
    asked = (_first_file, _rebuild_note, status_lines, all_rows, labels, move_rows)
    return [] if any(ask(connection) for ask in asked) else [True]


def _answer(home: Path, name: str, ask: Callable[[sqlite3.Connection], list[Any]]) -> list[Any] | None:
    """None if the database cannot answer."""
    try:
        connection = connect(home, read_only=True, name=name, any_version=True)
        try:
            return ask(connection)
        finally:
            connection.close()
    except (RereadError, sqlite3.Error):
        return None


def _keep_unsafe(
    connection: sqlite3.Connection, known: Sequence[list[Any] | None], home: Path, superseded: str | None
) -> None:
    """Writes what was taken over, except rows of a damaged database that cannot be valid. Marks that it lacks come from
    their copy in the archive's folder. `superseded` is the name of an index that can go once the new one is filled."""
    with transaction(connection):
        for each, rows in zip(_CARRIED, known, strict=True):
            for row in rows or ():
                with suppress(sqlite3.IntegrityError):
                    each.keep(connection, [row])
        meta.write_note(connection, meta.REBUILD, meta.BEGUN)
        if superseded is not None:
            meta.write_note(connection, meta.SUPERSEDED, superseded)
        drop_unsound(connection, [each.table for each in _CARRIED if each.table != "note"])
        keep_copied(connection, home)


def end_new_index(connection: sqlite3.Connection, home: Path) -> None:
    """Notes that the index has all that is in the safe. What it superseded is gone before: had a crash come in between,
    nobody would know any more that it may go."""
    superseded = meta.read_note(connection, meta.SUPERSEDED)
    if superseded is not None:
        with transaction(connection, durable=True):
            pass
        remove(home, superseded)
    with transaction(connection):
        meta.write_note(connection, meta.REBUILD, meta.DONE)
        meta.drop_note(connection, meta.SUPERSEDED)
