"""Bytes out of the safe: whole files, what damage left of them, or the one line of a match; and the order of pieces.

No clock is asked for that order: it may be set back. Every sync has a number that is one more than that of the sync
before it, and the pieces it takes say it in their headers, so that the order outlasts a `forget`, which moves pieces.
Older pieces have no such number: they came first, in the order of their places.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reread.errors import SafeDamaged
from reread.safe.pieces import PieceHeader, PiecePlace
from reread.safe.safe import Safe

from . import read
from .meta import ORDER
from .read import StoredPiece
from .rows import FileRow

LOST = "lost"
"""In the header of a piece that stands for bytes that nobody has any more."""


class Remains(NamedTuple):
    """A file in its whole length; where bytes are lost a line says so, so that the others stand where they stood."""

    content: bytes
    lost: list[SafeDamaged]


def remains(safe: Safe, pieces: Sequence[StoredPiece], *, hashed: bool = True) -> Remains:
    """Pieces put together, and what there is instead of those that cannot be proved or are not there at all."""
    parts: list[bytes] = []
    lost: list[SafeDamaged] = []
    end = 0
    for piece in pieces:
        if piece.start > end:
            parts.append(filled(piece.start - end))
            lost.append(SafeDamaged(piece.place.pack, piece.place.offset, "the bytes before it are lost"))
        try:
            header, raw = safe.piece(piece.place, hashed=hashed)
        except SafeDamaged as damage:
            raw, header = filled(piece.length), None
            lost.append(damage)
        parts.append(raw)
        if header is not None and LOST in header.more:
            lost.append(SafeDamaged(piece.place.pack, piece.place.offset, "its bytes were lost before", header.path))
        end = piece.start + piece.length
    return Remains(b"".join(parts), lost)


def filled(length: int) -> bytes:
    """A line by itself among blank ones: read as a transcript it is a record that nobody understands, and is shown."""
    told = b"\n%d bytes are lost here: reread archive verify names the damage" % length
    return told[: max(0, length - 1)].ljust(length, b"\n")


IN_ORDER = 2
"""Pieces to hold for who reads file by file: the system has to clear new memory for each piece that is held, which
for 30 of them takes a tenth of a search."""


def piece_with(pieces: Iterable[StoredPiece], offset: int, length: int) -> StoredPiece | None:
    """The piece that all of a line lies in, as nearly every line does; None for one that lies across pieces."""
    for piece in pieces:
        if piece.start <= offset and offset + length <= piece.start + piece.length:
            return piece
    return None


class SafeLines:
    """Single lines out of the safe, by the pieces of their files: no index is needed, so any process can have one."""

    def __init__(self, safe: Safe, held: int = 32, *, is_backwards: bool = False) -> None:
        # Proved by its CRC: for a line that is shown, hashing the half megabyte around it would be too much.
        self._slice = safe.slice
        self._piece = lru_cache(maxsize=held)(safe.slice)
        self._is_backwards = is_backwards
        """Whether the last line of a piece is asked for first: what lies behind it, a third of it on
        average, need not be unpacked, and what lies before it is there."""
        self._begun: tuple[PiecePlace | None, bytes] = None, b""

    def line(self, pieces: Sequence[StoredPiece], offset: int, length: int) -> bytes:
        """From the few pieces it lies in; raises SafeDamaged."""
        piece = piece_with(pieces, offset, length)
        if piece is None:
            return self._line_across(pieces, offset, length)
        start = offset - piece.start
        return self._up_to(piece, start + length)[start : start + length]

    def _up_to(self, piece: StoredPiece, end: int) -> bytes:
        """The bytes of a piece up to there, or more of them."""
        if not self._is_backwards:
            return self._piece(piece.place, 0, piece.length)
        if self._begun[0] != piece.place or len(self._begun[1]) < end:
            self._begun = piece.place, self._slice(piece.place, 0, end)
        return self._begun[1]

    def _line_across(self, pieces: Sequence[StoredPiece], offset: int, length: int) -> bytes:
        reached, end = offset, offset + length
        inside = [piece for piece in pieces if piece.start + piece.length > offset and piece.start < end]
        for piece in inside:
            if piece.start > reached:
                raise SafeDamaged(piece.place.pack, piece.place.offset, "the bytes before it are lost")
            reached = piece.start + piece.length
        parts: list[bytes] = []
        for piece in reversed(inside):
            last = min(end - piece.start, piece.length)
            parts.append(self._up_to(piece, last)[max(0, offset - piece.start) : last])
        return b"".join(reversed(parts))


class SafeReader:
    """Reads what the archive has taken, never the sources."""

    def __init__(
        self, connection: sqlite3.Connection, safe: Safe, held: int = 32, *, is_backwards: bool = False
    ) -> None:
        self._connection = connection
        self._safe = safe
        self._lines = SafeLines(safe, held, is_backwards=is_backwards)

    @property
    def folder(self) -> Path:
        """Of the safe."""
        return self._safe.folder

    def bytes_of(self, row: FileRow, generation: int | None = None) -> bytes:
        """Everything taken of a file, proved by its hashes; raises SafeDamaged."""
        found = self.left_of(row, generation)
        if found.lost:
            raise found.lost[0]
        return found.content

    def left_of(self, row: FileRow, generation: int | None = None) -> Remains:
        """What damage left of a file: the rest of a conversation is worth reading."""
        pieces = read.pieces_of(self._connection, row.id, generation or row.generation)
        found = remains(self._safe, pieces)
        if found.lost:  # beside a forget they may only have moved
            pieces = read.pieces_of(self._connection, row.id, generation or row.generation)
            found = remains(self._safe, pieces)
        return found

    def line(
        self, file: int, generation: int, offset: int, length: int, known: Sequence[StoredPiece] | None = None
    ) -> bytes:
        """One line; raises SafeDamaged. Who reads many lines of a file brings all its pieces along."""
        if known is None:
            known = read.pieces_of(self._connection, file, generation, offset, offset + length)
        return self._lines.line(known, offset, length)


Piece = tuple[PieceHeader, PiecePlace]


def order_of(header: PieceHeader) -> int:
    """0 for a piece that does not say."""
    order = header.more.get(ORDER)
    return order if isinstance(order, int) and order > 0 else 0


def newest_pieces(pieces: Iterable[Piece], is_part: Callable[[Piece, Piece], bool]) -> list[Piece]:
    """Of all pieces of one file those it is made of, in each generation by their beginning.

    A sync that was killed before it could commit leaves the same bytes twice, or others in their place: the later
    taking counts. A piece that goes on where another ends is never left out for one that was taken later.
    `is_part` says whether the bytes of a piece are among those of a longer one.
    """
    kept: list[Piece] = []
    ends: dict[int, int] = {}
    for piece in sorted(pieces, key=_turn):
        header = piece[0]
        if header.start < ends.get(header.generation, 0):  # nearly never: most files only ever grew
            if any(_lies_in(header, old[0]) and is_part(piece, old) for old in kept):
                continue
            kept = [old for old in kept if not _is_replaced(old[0], header, kept)]
        kept.append(piece)
        ends[header.generation] = max(ends.get(header.generation, 0), _end(header))
    return sorted(kept, key=lambda piece: (piece[0].generation, piece[0].start))


def _turn(piece: Piece) -> tuple[int, int, int, int, int]:
    """What stands for lost bytes comes first: whatever is found again takes its place."""
    header, place = piece
    order = order_of(header)
    if LOST in header.more:
        return header.generation, -1, header.start, place.pack, place.offset
    return header.generation, order, header.start if order else 0, place.pack, place.offset


def _end(header: PieceHeader) -> int:
    return header.start + header.length


def _lies_in(inner: PieceHeader, outer: PieceHeader) -> bool:
    is_inside = outer.start <= inner.start and _end(inner) <= _end(outer)
    return inner.generation == outer.generation and is_inside and LOST not in outer.more


def _is_replaced(old: PieceHeader, new: PieceHeader, kept: Iterable[Piece]) -> bool:
    if old.generation != new.generation or _end(old) <= new.start:
        return False
    if old.start < _end(new):
        return True
    # Behind the new piece: of an earlier taking, unless it goes on where the new one ends. Without numbers nobody can
    # tell it from one whose neighbour is damaged.
    has_numbers = order_of(old) and order_of(new) and LOST not in old.more
    return bool(has_numbers) and not _is_reached(old, _end(new), kept)


def _is_reached(header: PieceHeader, end: int, kept: Iterable[Piece]) -> bool:
    """Whether pieces lie end to end from here up to one."""
    ends = {each.start: _end(each) for each, _ in kept if each.generation == header.generation and each.length}
    while end < header.start and end in ends:
        end = ends[end]
    return end == header.start
