"""Which sessions of a walk the archive has already: copies, and sessions that are in another folder now.

Nothing is written here: the survey applies the moves that were found and compares again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from reread import lazy
from reread.changes import is_as_it_was
from reread.home import is_same_file
from reread.index import read
from reread.index.rows import FileRow
from reread.lazy import TYPE_CHECKING
from reread.loading import has_own_name
from reread.safe.safe import Safe
from reread.sources import SessionFiles, SourceFile

from .copies import IdOwners, Owned, by_role, own_files, without_copies

if TYPE_CHECKING:
    from reread.index import places as other_places
    from reread.index.places import KnownPlace, Original, SessionMove
    from reread.sources.find import Role
else:  # not needed for a session that only grew
    lazy.bind(globals())

_HEAD = 1 << 12


class Overlap(Enum):
    """How a session of the walk and one of the archive overlap."""

    NONE = "none"
    CONTAINED = "contained"
    """The archive's contains all of it."""
    CONTAINS = "contains"
    """It contains all of the archive's and more; or it equals the archive's, whose files are gone."""


class CopyPath(NamedTuple):
    """A file with the content of another."""

    file: SourceFile
    original: Path
    machine: str


class CopyChanges(Struct):
    """What the archive must record of copies."""

    found: list[CopyPath] = []
    """Other files with the content of files that are kept, or that are imported now."""
    diverged: list[Path] = []
    """Files that are no copies any more: their content differs by now, or they are read themselves."""
    gone: list[Path] = []
    """Copies whose files no longer exist."""
    has_more: bool = False
    """Whether a session here has more than what another machine had of it."""


class KnownCopies:
    """Compares the sessions of one walk with those of the archive and with each other."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        machine: str,
        safe: Path | None,
        known: Iterable[FileRow],
        source_of: Mapping[str, Path],
    ) -> None:
        self._connection = connection
        self._machine = machine
        self._safe = Safe(safe) if safe is not None else None
        self._source_of = source_of
        self._paths = {os.path.normcase(row.location) for row in known}
        self._places = other_places.places_on(connection, machine) if read.has_places(connection) else {}
        self._head = cache(_head_of)
        self._is_empty = connection.execute("SELECT 1 FROM session LIMIT 1").fetchone() is None
        self.changes = CopyChanges()
        self.unchanged = 0
        self.moves: dict[int, SessionMove] = {}
        """By session: where its files are now, other than the archive has recorded."""

    def sessions_to_read(self, owned: Sequence[Owned], owners: IdOwners) -> list[Owned]:
        """The sessions that are no copies."""
        kept, pairs = without_copies(owned, owners, self._begins_with, is_settled=self._is_known, is_kept=self._is_kept)
        self.changes.found += [CopyPath(file, original.path, self._machine) for file, original in pairs]
        if self._places:
            files = (file for each in kept if not self._is_known(each) for file in own_files(*each))
            self.changes.diverged += [file.path for file in files if file.path in self._places]
        self.changes.gone = self._gone()
        return kept

    def _gone(self) -> list[Path]:
        return [
            path
            for path, place in self._places.items()
            if place.present and str(path) not in self._source_of and not os.path.lexists(path)
        ]

    def _begins_with(self, full: SourceFile, other: SourceFile) -> bool:
        """Files of one name are all compared with each other, and most differ in their first line."""
        if other.size > full.size or not self._head(full.location).startswith(self._head(other.location)):
            return False
        found = other_places.compared(other.path, full.path)
        return found is not None and found <= 0

    def _is_known(self, each: Owned) -> bool:
        files = own_files(*each)
        return not files or any(os.path.normcase(file.location) in self._paths for file in files)

    def _is_kept(self, each: Owned, names: set[str]) -> bool:
        """Whether the archive has the session already.

        False for a copy that has more than the original, or whose original is gone: the copy takes the original's place
        and is read. Not the place of another machine's original, which may go on there: such a copy is a file of its
        own, into which the original is folded.
        """
        files = own_files(*each)
        if self._places and all(self._is_unchanged_copy(file, self._places.get(file.path)) for file in files):
            self.unchanged += len(files)
            return True
        if self._is_empty:
            return False
        here = by_role(files)
        found = ((name, each) for name in sorted(names) for each in other_places.originals(self._connection, name))
        for name, original in found:
            overlap = self._overlap(here, original)
            if overlap is Overlap.CONTAINED:
                self.changes.found += [
                    CopyPath(file, original.files[role].path, original.machine) for role, file in here.items()
                ]
                return True
            if overlap is Overlap.CONTAINS and original.machine != self._machine:
                self.changes.has_more = True
            elif overlap is Overlap.CONTAINS and self._has_moved(each[0], here, original, names <= {name, each[0].id}):
                return False
        return False

    def _is_unchanged_copy(self, file: SourceFile, place: KnownPlace | None) -> bool:
        if place is None or not place.present or (place.machine == self._machine and not place.original.exists()):
            return False
        return is_as_it_was(file.location, place.size, place.mtime_ns, place.inode)

    def _has_moved(
        self, session: SessionFiles, here: Mapping[Role, SourceFile], original: Original, is_same: bool
    ) -> bool:
        """Whether the archive's session is in these files now; not where another file name makes it another session.

        A renamed transcript stays the same session only if its lines contain one id alone, its own name is not an id,
        and the old file is gone.
        """
        if session.trunk is None or original.session in self.moves:
            return False
        shared = [(here[role], row) for role, row in original.files.items() if role in here]
        is_renamed = any(file.path.name != row.path.name for file, row in shared)
        if is_renamed and (not is_same or has_own_name(session) or any(row.path.exists() for _, row in shared)):
            return False
        folder = str(session.trunk.folder)
        if not other_places.can_move(self._connection, original, folder):
            return False
        files = {row.id: (str(self._source_of[file.location]), file.path) for file, row in shared}
        self.moves[original.session] = other_places.SessionMove(original, folder, files)
        return True

    def _overlap(self, here: Mapping[Role, SourceFile], original: Original) -> Overlap:
        shared = here.keys() & original.files.keys()
        if not shared:
            return Overlap.NONE
        is_here = original.machine == self._machine
        left = {role for role in original.files if is_here and _is_left(role, here, original)}
        more, less = bool(here.keys() - shared), bool(left - shared)
        for role in shared:
            file, row = here[role], original.files[role]
            found = self._compared(file.path, row, is_left=role in left)
            if found is None:
                return Overlap.NONE
            more, less = more or found > 0, less or found < 0
        if not more and (less or left or not is_here):
            return Overlap.CONTAINED
        return Overlap.NONE if less else Overlap.CONTAINS

    def _compared(self, path: Path, row: FileRow, *, is_left: bool) -> int | None:
        if is_left:
            return other_places.compared(path, row.path)
        if self._safe is None:
            return None
        pieces = read.pieces_of(self._connection, row.id, row.generation)
        return other_places.compared_with_kept(path, pieces, self._safe)


def _head_of(location: str) -> bytes:
    try:
        with open(location, "rb") as file:  # noqa: PTH123  without a path of its own for every file
            return file.read(_HEAD)
    except OSError:  # reading it for its lines will report it
        return b""


def _is_left(role: Role, here: Mapping[Role, SourceFile], original: Original) -> bool:
    """Whether a file of the original is still where it was, and is not the one found here."""
    place = original.files[role].path
    return place.exists() and not (role in here and is_same_file(here[role].path, place))
