"""Sessions that a walk meets in several places: which of them is read, and what the others are."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from reread import sources
from reread.sources import Kind, SessionFiles, SourceFile
from reread.store import reading
from reread.store.places import KnownPlace, Original, Role, move_session, originals, places_on, role_of
from reread.store.reading import StoredPiece
from reread.store.rows import FileRow
from reread.store.safe import Safe, SafeDamaged

from .naming import Claims

_CHUNK = 1 << 20
Owned = tuple[SessionFiles, tuple[SourceFile, ...]]


class Kinship(Enum):
    APART = "apart"
    COPY = "copy"
    """All of it is in the other."""
    FULLER = "fuller"
    """All of the other is in it, and more; or the other is gone."""


class FoundPlace(NamedTuple):
    """A file that holds what another holds."""

    file: SourceFile
    original: Path
    machine: str


class PlaceSurvey:
    """Of a walk's sessions, those that are kept already or stand in another folder of the same walk."""

    def __init__(
        self, connection: sqlite3.Connection, machine: str, safe: Path | None, known: Iterable[FileRow]
    ) -> None:
        self._connection = connection
        self._machine = machine
        self._safe = Safe(safe) if safe is not None else None
        self._paths = {row.path for row in known}
        self._places = places_on(connection, machine)
        self._is_empty = connection.execute("SELECT 1 FROM session LIMIT 1").fetchone() is None
        self.found: list[FoundPlace] = []
        """What the archive has to learn."""
        self.own_ways: list[Path] = []
        """Places that hold something else by now, or are what is read."""
        self.unchanged = 0
        self.has_moved = False
        """Whether sessions lie elsewhere now than the archive had them."""

    def without_copies(self, owned: Sequence[Owned], claims: Claims, source_of: Mapping[Path, Path]) -> list[Owned]:
        """The sessions that are to be read."""
        kept: list[Owned] = []
        new: list[Owned] = []
        for session, own in owned:
            files = _own_files(session, own)
            is_known = not files or any(file.path in self._paths for file in files)
            (kept if is_known else new).append((session, own))
        leaders: dict[str, list[Owned]] = {}
        copies: list[Owned] = []
        for session, own in sorted(new, key=_largest_first):
            files = _own_files(session, own)
            names = claims.names_of(session)
            if self._is_as_it_was(files):
                self.unchanged += len(files)
                copies.append((session, own))
            elif self._is_kept(session, files, names, source_of) or self._is_beside(files, names, leaders):
                copies.append((session, own))
            else:
                self.own_ways += [file.path for file in files if file.path in self._places]
                kept.append((session, own))
                for name in names:
                    leaders.setdefault(name, []).append((session, own))
        return _with_captures(kept, copies)

    def gone(self, seen: Iterable[Path]) -> list[Path]:
        """Places that are there no more."""
        there = set(seen)
        return [
            path
            for path, place in self._places.items()
            if place.present and path not in there and not os.path.lexists(path)
        ]

    def _is_as_it_was(self, files: Sequence[SourceFile]) -> bool:
        return all(self._looks_unchanged(file, self._places.get(file.path)) for file in files)

    def _looks_unchanged(self, file: SourceFile, place: KnownPlace | None) -> bool:
        if place is None or not place.present or (place.machine == self._machine and not place.original.exists()):
            return False
        try:
            status = file.path.stat()
        except OSError:
            return False
        return place[:4] == (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)

    def _is_kept(
        self, session: SessionFiles, files: Sequence[SourceFile], names: Iterable[str], source_of: Mapping[Path, Path]
    ) -> bool:
        """Whether the archive has it already. One that has more, or is left alone, is read in the stead of what it is a
        copy of, and then it is not."""
        here = _by_role(files)
        for original in (
            () if self._is_empty else (each for name in sorted(names) for each in originals(self._connection, name))
        ):
            kinship = self._kinship(here, original)
            if kinship is Kinship.COPY:
                self.found += [
                    FoundPlace(file, original.files[role].path, original.machine) for role, file in here.items()
                ]
                return True
            if (
                kinship is Kinship.FULLER
                and session.trunk is not None
                and self._move(session, here, original, source_of)
            ):
                return False
        return False

    def _move(
        self, session: SessionFiles, here: Mapping[Role, SourceFile], original: Original, source_of: Mapping[Path, Path]
    ) -> bool:
        shared = [(here[role], row) for role, row in original.files.items() if role in here]
        if any(file.path.name != row.path.name for file, row in shared):
            return False
        files = {row.id: (str(source_of[file.path]), file.path) for file, row in shared}
        folder = str(next(iter(here.values())).folder if session.trunk is None else session.trunk.folder)
        is_moved = move_session(self._connection, original, self._machine, folder, files)
        self.has_moved = self.has_moved or is_moved
        return is_moved

    def _kinship(self, here: Mapping[Role, SourceFile], original: Original) -> Kinship:
        shared = here.keys() & original.files.keys()
        is_here = original.machine == self._machine
        left = {role for role, row in original.files.items() if is_here and row.path.exists()}
        more = bool(here.keys() - shared)
        less = bool(left - shared)
        if not shared:
            return Kinship.APART
        for role in shared:
            file, row = here[role], original.files[role]
            found = compared(file.path, row.path) if role in left else self._compared_with_kept(file.path, row)
            if found is None:
                return Kinship.APART
            more, less = more or found > 0, less or found < 0
        if not more and (less or left or not is_here):
            return Kinship.COPY
        return Kinship.APART if less else Kinship.FULLER

    def _compared_with_kept(self, path: Path, row: FileRow) -> int | None:
        if self._safe is None:
            return None
        pieces = reading.pieces_of(self._connection, row.id, row.generation)
        return compared_with_kept(path, pieces, self._safe)

    def _is_beside(
        self, files: Sequence[SourceFile], names: Iterable[str], leaders: Mapping[str, Sequence[Owned]]
    ) -> bool:
        """Whether another folder of this walk has all of it."""
        here = _by_role(files)
        for session, own in (each for name in sorted(names) for each in leaders.get(name, ())):
            there = _by_role(_own_files(session, own))
            if here.keys() <= there.keys() and all(_begins_with(there[role], file) for role, file in here.items()):
                self.found += [FoundPlace(file, there[role].path, self._machine) for role, file in here.items()]
                return True
        return False


def _own_files(session: SessionFiles, own: Sequence[SourceFile]) -> list[SourceFile]:
    return [file for file in (*session.all, *own) if file.kind is not Kind.CAPTURE]


def _by_role(files: Iterable[SourceFile]) -> dict[Role, SourceFile]:
    return {role_of(file.kind, file.path): file for file in files}


def _largest_first(each: Owned) -> tuple[int, str]:
    files = _own_files(*each)
    return -sum(file.size for file in files), min(str(file.path) for file in files)


def _begins_with(full: SourceFile, other: SourceFile) -> bool:
    found = compared(other.path, full.path) if other.size <= full.size else None
    return found is not None and found <= 0


def _with_captures(kept: list[Owned], copies: Sequence[Owned]) -> list[Owned]:
    """Captures of a copy go with what it is a copy of; where that is not met on this walk, the safe has it."""
    for session, _ in copies:
        if session.captures:
            place = next((i for i, (each, _) in enumerate(kept) if each.id == session.id), None)
            if place is None:
                kept.append((SessionFiles(id=session.id, trunk=None, captures=session.captures), ()))
            else:
                home, its_own = kept[place]
                joined = sources.in_order((*home.captures, *session.captures))
                kept[place] = (replace(home, captures=joined), its_own)
    return kept


def compared(one: Path, other: Path) -> int | None:
    """Whether a file is longer than another (1), the same (0) or shorter (-1), where one begins with the other; else
    None, also where one cannot be read: whoever reads it says so."""
    try:
        if one.samefile(other):
            return 0
        with one.open("rb") as first, other.open("rb") as second:
            while True:
                ours, theirs = first.read(_CHUNK), second.read(_CHUNK)
                least = min(len(ours), len(theirs))
                if ours[:least] != theirs[:least]:
                    return None
                if len(ours) != len(theirs):
                    return 1 if len(ours) > len(theirs) else -1
                if not ours:
                    return 0
    except OSError:
        return None


def compared_with_kept(path: Path, pieces: Sequence[StoredPiece], safe: Safe) -> int | None:
    """The same for what the safe has of a file."""
    end = 0
    try:
        with path.open("rb") as file:
            for piece in pieces:
                if piece.start != end:
                    return None
                end += piece.length
                ours = file.read(piece.length)
                if len(ours) < piece.length:
                    return -1 if safe.read(piece.place).startswith(ours) else None
                if sha256(ours).digest() != piece.sha256:
                    return None
            return 1 if file.read(1) else 0
    except (OSError, SafeDamaged):
        return None
