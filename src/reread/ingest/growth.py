"""What a sync reads where files only grew: their sessions alone, however many others there are.

Nothing is concluded here that a walk would not conclude: whatever is not plainly a known session with a longer file
is left to the walk.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from reread.index import read
from reread.index.meta import file_key
from reread.index.rows import FileRow
from reread.index.source_state import changed_states
from reread.loading import has_own_name
from reread.sources import FileKind, SessionFiles, SourceFile, place
from reread.sources.find import FOLDER, config_folders

_AMONG_OTHERS = frozenset({FileKind.CAPTURE, FileKind.SETTINGS, FileKind.BACKUP})
"""Kinds whose meaning depends on more than the session they lie with."""


class Growth(Struct, frozen=True):
    """The sessions some of whose files changed, all their files, and their rows by key."""

    files: dict[SourceFile, Path]
    """Each with its source."""
    known: dict[str, FileRow]
    unchanged: int
    """Files of all other sessions."""
    folders: dict[Path, int]
    """Those of the last walk, all of which are as they were."""
    has_backups: bool
    """Whether something changed where the client keeps backups of files."""


def growth(connection: sqlite3.Connection, machine: str, places: Sequence[Path]) -> Growth | None:
    """None where something else happened than that known files changed, or may have."""
    seen = changed_states(connection, machine, places)
    if seen is None or read.forgotten(connection):
        return None
    kept_aside = _BackupFolders([*seen.folders, *seen.other_folders], places)
    if not all(map(kept_aside.has, seen.folders)):
        return None
    rows = [_row(connection, machine, path) for path in seen.files]
    grown = [row for row in rows if row is None or row.kind != FileKind.BACKUP]
    known: dict[int, FileRow] = {}
    for row in grown:
        if row is None:  # gone, a copy, or what has another key than its path gives it
            return None
        session = [row] if row.session is None else read.files_of(connection, row.session)
        if row.session is not None and not _is_plain(session):
            return None
        known |= {each.id: each for each in session}
    in_order = sorted(known.values(), key=lambda row: row.path)  # as a walk meets them
    files = _files(in_order, {str(each): each for each in places})
    if files is None:
        return None
    return Growth(
        files=files,
        known={row.key: row for row in known.values()},
        unchanged=seen.other_files - (len(files) - len(grown)),
        folders={Path(path): time for path, time in seen.other_folders.items() if not kept_aside.has(path)},
        has_backups=len(grown) < len(seen.files) or bool(seen.folders),
    )


class _BackupFolders:
    """Where the client keeps backups of files: no part of a walk, and looked at by themselves."""

    def __init__(self, folders: Iterable[str], places: Sequence[Path]) -> None:
        tops = {config / FOLDER for config in config_folders(map(Path, folders))}
        self._tops = {top for top in tops if not any(each.is_relative_to(top) for each in places)}

    def has(self, folder: str) -> bool:
        return not self._tops.isdisjoint((Path(folder), Path(folder).parent))


def _row(connection: sqlite3.Connection, machine: str, path: str) -> FileRow | None:
    row = read.file_by_key(connection, file_key(machine, path))
    return row if row is not None and row.present and str(row.path) == path else None


def _is_plain(rows: Sequence[FileRow]) -> bool:
    """Whether nothing but its own files says what a session is: one transcript, called by its id, agents below it."""
    trunks = [row.path for row in rows if row.kind == FileKind.TRANSCRIPT and row.present]
    if len(trunks) != 1 or trunks[0].suffix != ".jsonl" or not has_own_name(SessionFiles(trunks[0].stem)):
        return False
    return all(row.kind not in _AMONG_OTHERS and _is_below(row, trunks[0]) for row in rows)


def _is_below(row: FileRow, trunk: Path) -> bool:
    return row.path == trunk or trunk.with_suffix("") in row.path.parents


def _files(rows: Iterable[FileRow], sources: dict[str, Path]) -> dict[SourceFile, Path] | None:
    """Those that are there, as a walk would find them."""
    found: dict[SourceFile, Path] = {}
    for row in rows:
        if not row.present:
            if os.path.lexists(row.path):  # it is back
                return None
            continue
        where = place(row.path)
        if where is None or where.kind != row.kind or row.source not in sources:
            return None
        try:
            status = row.path.stat()
        except OSError:
            return None
        found[SourceFile(str(row.path), *where, status.st_size, status.st_mtime_ns)] = sources[row.source]
    return found
