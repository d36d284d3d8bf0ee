"""What a sync looks at: every file of the sources, or, where files only grew, only those of their sessions.

Both give the same kind of answer, and a sync that looked only at what grew ends as one that walked: anything but a
known session with a longer file is left to the whole walk.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from reread import sources
from reread.errors import SourceError
from reread.home import changed_at, identity_of
from reread.index import read
from reread.index.rows import OWN, FileKeys, FileRow
from reread.index.source_state import changed_states
from reread.keys import file_key
from reread.loading import has_own_name
from reread.sources import FileKind, SessionFiles, SourceFile, place
from reread.sources.find import FOLDER, SourcePlace, config_folders

_AMONG_OTHERS = frozenset({FileKind.CAPTURE, FileKind.SETTINGS, FileKind.BACKUP})
"""Kinds of files whose meaning depends on more than their own session."""


class Walk(Struct, kw_only=True):
    """The files there are, with the source of each, and the rows that the archive has of them."""

    files: list[SourceFile] = []
    source_of: dict[str, Path] = {}
    """By location of a file."""
    known: dict[str, FileRow]
    """Rows by key: of every file, or of those of the sessions that grew."""
    keys: FileKeys
    waiting: list[SourceFile] = []
    """Captures that reread made, which are removed once they are kept."""
    folders: dict[Path, int] = {}
    """The folders walked, with their times. After growth: all unchanged and without those of backups; empty unless
    backups changed."""
    missing: set[Path] = set()
    """Sources that are not there."""
    problems: list[SourceError] = []
    unchanged: int = 0
    """Files that were not looked at, because only others grew."""
    is_whole: bool = True
    """False where only sessions that grew were looked at."""
    has_backups: bool = True
    """Whether something may have changed where the client keeps backups of files."""

    def has_walked(self, row: FileRow) -> bool:
        """Whether a known file is below a folder that was walked, or a source that is gone."""
        return any(parent in self.folders or parent in self.missing for parent in row.path.parents)

    def look_up_again(self, connection: sqlite3.Connection, machine: str) -> None:
        """After rows were changed; never needed where sessions only grew."""
        self.known = read.known_files(connection, machine)
        self.keys = FileKeys(machine, self.known.values())

    def release(self) -> None:
        """Frees what is known of every file: it is not needed once the jobs are made."""
        self.files, self.source_of = [], {}
        if self.is_whole:
            self.known, self.keys = {}, FileKeys("", ())


def walk_sources(
    connection: sqlite3.Connection, machine: str, places: Sequence[Path], captures: Path | None = None
) -> Walk:
    """The files of sessions that grew, if nothing else can have changed; otherwise all files."""
    grown = walk_grown(connection, machine, places) if captures is None else None
    return grown if grown is not None else whole_walk(connection, machine, places, captures)


def whole_walk(
    connection: sqlite3.Connection, machine: str, places: Sequence[Path], captures: Path | None = None
) -> Walk:
    """All files of the sources, and the captures that wait in a folder of our own."""
    known = read.known_files(connection, machine)
    walk = Walk(known=known, keys=FileKeys(machine, known.values()))
    if captures is not None:  # their folders are not remembered: they are removed with the captures
        found = sources.find(captures, problems=walk.problems)
        walk.waiting = [file for file in found if file.kind is FileKind.CAPTURE]
        walk.source_of |= {file.location: Path(OWN) for file in walk.waiting}
    for source in places:
        # Sources may lie inside each other.
        new = [file for file in _files_in(source, walk) if file.location not in walk.source_of]
        walk.source_of |= {file.location: source for file in new}
        walk.files += new
    _use_known_names(walk)
    return walk


def _files_in(source: Path, walk: Walk) -> list[SourceFile]:
    """A missing source must not keep the others from being read."""
    try:
        return list(sources.find(source, problems=walk.problems, folders=walk.folders))
    except SourceError as problem:
        walk.problems.append(problem)
        if not os.path.lexists(source):
            walk.missing.add(source.absolute())
        return []


def _use_known_names(walk: Walk) -> None:
    """Gives each file the name that the archive has for it: a walk meets a file once, and where a link to it comes
    first, the file itself would look like one of which this walk saw only an equal copy."""
    new = [file for file in walk.files if walk.keys.row(file.location) is None]
    unmet = _unmet(walk) if new else {}
    if not unmet:
        return
    named = {file.location: row for file in new if (row := unmet.get(identity_of(file.path))) is not None}
    walk.source_of |= {row.location: walk.source_of[location] for location, row in named.items()}
    walk.files = [_renamed(file, named[file.location]) if file.location in named else file for file in walk.files]


def _unmet(walk: Walk) -> dict[tuple[int, int] | None, FileRow]:
    """Known files that exist and that the walk met under no known name, by their identity."""
    met = {os.path.normcase(file.location) for file in walk.files}
    rows = (row for row in walk.known.values() if row.present and os.path.normcase(row.location) not in met)
    found = {identity_of(row.path): row for row in rows if walk.has_walked(row)}
    return {each: row for each, row in found.items() if each is not None}


def _renamed(file: SourceFile, row: FileRow) -> SourceFile:
    where = sources.place(row.location) or SourcePlace(FileKind.TRANSCRIPT, row.path.stem)
    return SourceFile(row.location, *where, file.size, file.mtime_ns)


def walk_grown(connection: sqlite3.Connection, machine: str, places: Sequence[Path]) -> Walk | None:
    """None where something other than a change of known files happened or may have happened."""
    seen = changed_states(connection, machine, places)
    if seen is None or read.forgotten(connection):
        return None
    kept_aside = _BackupFolders((*seen.folders, *seen.other_folders), places)
    if not all(map(kept_aside.has, seen.folders)):
        return None
    rows = [_row(connection, machine, path) for path in seen.files]
    grown = [row for row in rows if row is None or row.kind != FileKind.BACKUP]
    known = _with_their_sessions(connection, grown)
    if known is None:
        return None
    files = _files(known, {str(each): each for each in places})
    if files is None:
        return None
    has_backups = len(grown) < len(seen.files) or bool(seen.folders)
    folders = seen.other_folders.items() if has_backups else ()
    rows_by_key = {row.key: row for row in known}
    return Walk(
        files=list(files),
        source_of={file.location: source for file, source in files.items()},
        known=rows_by_key,
        keys=FileKeys(machine, rows_by_key.values()),
        folders={Path(path): time for path, time in folders if not kept_aside.has(path)},
        unchanged=seen.other_files - (len(files) - len(grown)),
        is_whole=False,
        has_backups=has_backups,
    )


def _with_their_sessions(connection: sqlite3.Connection, rows: Iterable[FileRow | None]) -> list[FileRow] | None:
    """All files of the sessions of some files, in the order of a walk; None where only a walk can tell."""
    found: dict[int, FileRow] = {}
    for row in rows:
        if row is None:  # gone, a copy, or a file whose key was not made from its present path
            return None
        session = [row] if row.session is None else read.files_of(connection, row.session)
        if row.session is not None and not _is_plain(session):
            return None
        found |= {each.id: each for each in session}
    return sorted(found.values(), key=lambda row: row.path)


class _BackupFolders:
    """Folders where the client keeps backups of files: not part of a walk, but surveyed separately."""

    def __init__(self, folders: Iterable[str], places: Sequence[Path]) -> None:
        tops = {config / FOLDER for config in config_folders(folders)}
        self._tops = {str(top) for top in tops if not any(each.is_relative_to(top) for each in places)}

    def has(self, folder: str) -> bool:
        return folder in self._tops or os.path.dirname(folder) in self._tops  # noqa: PTH120  without a path for each


def _row(connection: sqlite3.Connection, machine: str, path: str) -> FileRow | None:
    row = read.file_by_key(connection, file_key(machine, path))
    return row if row is not None and row.present and str(row.path) == path else None


def _is_plain(rows: Sequence[FileRow]) -> bool:
    """Whether a session depends on its own files alone: one transcript named after its id, and agents below it."""
    trunks = [row.path for row in rows if row.kind == FileKind.TRANSCRIPT and row.present]
    if len(trunks) != 1 or trunks[0].suffix != ".jsonl" or not has_own_name(SessionFiles(trunks[0].stem)):
        return False
    return all(row.kind not in _AMONG_OTHERS and _is_below(row, trunks[0]) for row in rows)


def _is_below(row: FileRow, trunk: Path) -> bool:
    return row.path == trunk or trunk.with_suffix("") in row.path.parents


def _files(rows: Iterable[FileRow], sources: dict[str, Path]) -> dict[SourceFile, Path] | None:
    """The files that exist, as a walk would find them; None where only a walk can tell."""
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
        found[SourceFile(str(row.path), *where, status.st_size, changed_at(status))] = sources[row.source]
    return found
