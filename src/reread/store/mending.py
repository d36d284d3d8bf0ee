"""Letting go of what damage took: pieces that cannot be proved leave the safe, and others tell in their place.

A piece that stands for lost bytes is as long as they were, so that all others stay where they are, and says so in its
header: the archive is whole again, and still knows what it lacks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from reread.billing import Prices

from .bytes_kept import LOST, filled
from .custody import recover, settle
from .database import StoreError, transaction
from .keeping import SafeFiles
from .paths import as_path
from .proof import damaged_index, find_again, told
from .safe import Damage, PieceHeader, Place, Safe, SafeError

_FILE = "key, machine, source, path, kind, mtime_ns"


class DamagedFile(Struct, frozen=True, kw_only=True):
    """A file some bytes of which cannot be read any more."""

    path: Path
    bytes: int
    """How many, in all that it ever was."""
    is_there: bool
    """Whether its source still exists, so that the next sync takes it anew."""


class Damaged(Struct, frozen=True, kw_only=True):
    """What cannot be proved."""

    pieces: list[str]
    """A sentence for each in the packs."""
    stored_bytes: int
    """What they take there."""
    files: list[DamagedFile]


class _Hole(NamedTuple):
    file: int
    generation: int
    start: int
    length: int
    taken: object
    """When the piece before it was taken, as its header has it: a rebuild puts pieces in the order of these."""


class _Found(NamedTuple):
    damages: list[Damage]
    holes: list[_Hole]


def find_damaged(connection: sqlite3.Connection, safe: Safe) -> Damaged:
    """Reads the whole safe. Raises StoreError where the index is damaged: what is missing is known from there."""
    return _summed(connection, _find(connection, safe))


def forget_damaged(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> Damaged:
    """Removes from the safe what cannot be proved. Stopped in between, it can be asked for again."""
    recover(connection, safe, prices)
    found = _find(connection, safe)
    _fill(connection, safe, found.holes)
    rewrite = safe.rewrite_without(set(), drop_unreadable=True)
    if rewrite.replaced:
        settle(connection, SafeFiles(connection, safe), rewrite, prices, safe.folder.parent)
        safe.finish_rewrite()
    return _summed(connection, found)


def _find(connection: sqlite3.Connection, safe: Safe) -> _Found:
    if damaged_index(connection):
        raise StoreError("the index is damaged, too; `reread archive rebuild` makes it anew, and comes first")
    find_again(connection, safe)
    damages: list[Damage] = []
    proved: dict[tuple[int, int], PieceHeader] = {}
    for found in safe.verify():
        if isinstance(found, Damage):
            if not found.stored:
                raise SafeError(safe.folder, told(found))
            damages.append(found)
        if found.header is not None:
            proved[found.place.pack, found.place.offset] = found.header
    return _Found(damages, list(_holes(connection, proved)))


def _holes(connection: sqlite3.Connection, proved: dict[tuple[int, int], PieceHeader]) -> Iterator[_Hole]:
    """What the rows name and the safe has not, and what lies between them."""
    ends: dict[tuple[int, int], tuple[int, object]] = {}
    for file, generation, start, length, digest, pack, offset in connection.execute(
        "SELECT file, generation, start, length, sha256, pack, offset FROM piece ORDER BY file, generation, start"
    ):
        end, taken = ends.get((file, generation), (0, None))
        if end < start:
            yield _Hole(file, generation, end, start - end, taken)
        header = proved.get((pack, offset))
        if header is None or header.sha256 != digest.hex():
            yield _Hole(file, generation, start, length, taken)
        else:
            taken = header.more.get("taken")
        ends[file, generation] = start + length, taken
    for file, generation, size in connection.execute("SELECT id, generation, taken FROM file"):
        end, taken = ends.get((file, generation), (0, None))
        if end < size:
            yield _Hole(file, generation, end, size - end, taken)


def _fill(connection: sqlite3.Connection, safe: Safe, holes: list[_Hole]) -> None:
    """Pieces are on disk before the rows that name them, as everywhere."""
    kept = [(hole, *safe.append(_header(connection, hole), filled(hole.length))) for hole in holes]
    safe.flush()
    with transaction(connection):
        for hole, header, place in kept:
            _name(connection, hole, header, place)
        if holes:
            connection.execute("DELETE FROM seen")  # the next sync looks at everything


def _header(connection: sqlite3.Connection, hole: _Hole) -> PieceHeader:
    row = connection.execute(f"SELECT {_FILE} FROM file WHERE id = ?", (hole.file,)).fetchone()  # noqa: S608  our own
    key, machine, source, path, kind, mtime_ns = row
    return PieceHeader(
        file=key,
        machine=machine,
        source=as_path(source),
        path=as_path(path),
        kind=kind,
        generation=hole.generation,
        start=hole.start,
        mtime_ns=mtime_ns,
        more={LOST: True} if hole.taken is None else {LOST: True, "taken": hole.taken},
    )


def _name(connection: sqlite3.Connection, hole: _Hole, header: PieceHeader, place: Place) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO piece VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(hole.file, hole.generation, hole.start, hole.length, bytes.fromhex(header.sha256)),
            *(place.pack, place.offset, place.stored),
        ),
    )
    is_last = (hole.file, hole.generation)
    # Words of lost lines stay in the index until it is rebuilt, but lead nowhere.
    connection.execute(
        """DELETE FROM block WHERE offset < ? AND offset + length > ? AND file = ? AND id BETWEEN
               (SELECT first_block FROM file WHERE id = ? AND generation = ?) AND
               (SELECT last_block FROM file WHERE id = ? AND generation = ?)""",
        (hole.start + hole.length, hole.start, hole.file, *is_last, *is_last),
    )
    # Nothing it begins with is known any more: where the source is there, it is taken as a new generation.
    connection.execute("UPDATE file SET head = x'', device = 0, inode = 0 WHERE id = ? AND generation = ?", is_last)


def _summed(connection: sqlite3.Connection, found: _Found) -> Damaged:
    lost: dict[int, int] = {}
    for hole in found.holes:
        lost[hole.file] = lost.get(hole.file, 0) + hole.length
    rows = {
        file: connection.execute("SELECT path, present FROM file WHERE id = ?", (file,)).fetchone() for file in lost
    }
    return Damaged(
        pieces=[told(damage) for damage in found.damages],
        stored_bytes=sum(damage.stored for damage in found.damages if damage.header is None),
        files=[
            DamagedFile(path=Path(as_path(path)), bytes=lost[file], is_there=present == 1)
            for file, (path, present) in rows.items()
        ],
    )
