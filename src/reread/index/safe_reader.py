"""Reads bytes out of the safe: whole files, what damage left of them, or the one line of a match; and orders pieces.

That order does not depend on a clock, which may be set back. Every sync has a number one higher than the sync before
it, and its pieces have the number in their headers, so that the order survives a `forget`, which moves pieces. Older
pieces have no such number: they came first, in the order of their places.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from reread.changes import EARLIER
from reread.errors import SafeDamaged
from reread.safe.pieces import PieceHeader, PiecePlace
from reread.safe.safe import Safe

from . import read
from .meta import ORDER
from .read import StoredPiece
from .rows import FileRow

LOST = "lost"
"""In the header of a piece that replaces bytes that are lost for good."""


class Remains(NamedTuple):
    """A file in its full length. Lost bytes are replaced by a line that says so, and all others keep their offsets."""

    content: bytes
    lost: list[SafeDamaged]


def remains(safe: Safe, pieces: Sequence[StoredPiece], *, hashed: bool = True) -> Remains:
    """Joins pieces, with filler for those that cannot be proved or are missing."""
    content = BytesIO()  # gives its content away without a copy
    lost: list[SafeDamaged] = []
    end = 0
    for piece in pieces:
        if piece.start > end:
            content.write(filled(piece.start - end))
            lost.append(SafeDamaged(piece.place.pack, piece.place.offset, "the bytes before it are lost"))
        try:
            header, raw = safe.piece(piece.place, hashed=hashed)
        except SafeDamaged as damage:
            raw, header = filled(piece.length), None
            lost.append(damage)
        content.write(raw)
        if header is not None and LOST in header.more:
            lost.append(SafeDamaged(piece.place.pack, piece.place.offset, "its bytes were lost before", header.path))
        end = piece.start + piece.length
    return Remains(content.getvalue(), lost)


def filled(length: int) -> bytes:
    """Filler for lost bytes: one line of text among blank ones, which in a transcript is an `Unknown` and is shown."""
    note = b"\n%d bytes are lost here: reread archive verify names the damage" % length
    return note[: max(0, length - 1)].ljust(length, b"\n")


IN_ORDER = 2
"""How many pieces to hold where files are read one after the other: the system clears new memory for each piece held,
which for 30 of them takes a tenth of a search."""


def piece_with(pieces: Iterable[StoredPiece], offset: int, length: int) -> StoredPiece | None:
    """The piece that contains a whole line, as is so for nearly every line; None for a line that spans pieces."""
    for piece in pieces:
        if piece.start <= offset and offset + length <= piece.start + piece.length:
            return piece
    return None


class SafeLines:
    """Reads single lines out of the safe, given the pieces of their files: without an index, so in any process."""

    def __init__(self, safe: Safe, held: int = 32, *, is_backwards: bool = False) -> None:
        # Checked by CRC only: hashing the half megabyte around a line that is shown would take too long.
        self._slice = safe.slice
        self._piece = lru_cache(maxsize=held)(safe.slice)
        self._is_backwards = is_backwards
        """Whether the last line of a piece is read first: the rest behind it, a third of a piece on average, is never
        unpacked, and everything before it is at hand."""
        self._begun: tuple[PiecePlace | None, bytes] = None, b""
        self._last: tuple[Sequence[StoredPiece], int, bytes] = (), 0, b""
        """Of the last line: the pieces of its file, and where the bytes begin that were unpacked of its own piece."""

    def line(self, pieces: Sequence[StoredPiece], offset: int, length: int) -> bytes:
        """One line, from the few pieces that it is in; raises SafeDamaged."""
        known, start, content = self._last
        if known is pieces and start <= offset and offset + length <= start + len(content):
            return content[offset - start : offset - start + length]
        piece = piece_with(pieces, offset, length)
        if piece is None:
            return self._line_across(pieces, offset, length)
        start = offset - piece.start
        content = self._up_to(piece, start + length)
        self._last = pieces, piece.start, content
        return content[start : start + length]

    def _up_to(self, piece: StoredPiece, end: int) -> bytes:
        """The bytes of a piece up to `end`, or more of them."""
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
    """Reads what the archive has imported, never the sources."""

    def __init__(
        self, connection: sqlite3.Connection, safe: Safe, held: int = 32, *, is_backwards: bool = False
    ) -> None:
        self._connection = connection
        self._safe = safe
        self._lines = SafeLines(safe, held, is_backwards=is_backwards)

    @property
    def folder(self) -> Path:
        """The folder of the safe."""
        return self._safe.folder

    def bytes_of(self, row: FileRow, generation: int | None = None) -> bytes:
        """Everything taken of a file, proved by its hashes; raises SafeDamaged."""
        found = self.left_of(row, generation)
        if found.lost:
            raise found.lost[0]
        return found.content

    def left_of(self, row: FileRow, generation: int | None = None, *, hashed: bool = True) -> Remains:
        """What damage left of a file: the rest of a conversation is still worth reading."""
        pieces = read.pieces_of(self._connection, row.id, generation or row.generation)
        found = remains(self._safe, pieces, hashed=hashed)
        if found.lost:  # a concurrent forget may only have moved them
            pieces = read.pieces_of(self._connection, row.id, generation or row.generation)
            found = remains(self._safe, pieces, hashed=hashed)
        return found

    def line(
        self, file: int, generation: int, offset: int, length: int, known: Sequence[StoredPiece] | None = None
    ) -> bytes:
        """One line; raises SafeDamaged. To read many lines of a file, pass all its pieces as `known`."""
        if offset >= EARLIER:
            known = read.earlier_pieces(self._connection, file, generation)
        if known is None:
            known = read.pieces_of(self._connection, file, generation, offset, offset + length)
        return self._lines.line(known, offset, length)


Piece = tuple[PieceHeader, PiecePlace]


def order_of(header: PieceHeader) -> int:
    """The number of the sync that wrote a piece; 0 if the header has none."""
    order = header.more.get(ORDER)
    return order if isinstance(order, int) and order > 0 else 0


def newest_pieces(pieces: Iterable[Piece], is_part: Callable[[Piece, Piece], bool]) -> list[Piece]:
    """Of all pieces of one file, those that make it up, by generation and start.

    A sync that was killed before it could commit leaves the same bytes twice, or others in their place: the later ones
    count. A piece that continues where another ends is never left out in favour of one that was written later.
    `is_part` says whether the bytes of a piece are among those of a longer one.
    """
    kept: list[Piece] = []
    ends: dict[int, int] = {}
    for piece in sorted(pieces, key=_turn):
        header = piece[0]
        if header.start < ends.get(header.generation, 0):  # rare: most files only ever grow
            if any(_lies_in(header, old[0]) and is_part(piece, old) for old in kept):
                continue
            kept = [old for old in kept if not _is_replaced(old[0], header, kept)]
        kept.append(piece)
        ends[header.generation] = max(ends.get(header.generation, 0), _end(header))
    return sorted(kept, key=lambda piece: (piece[0].generation, piece[0].start))


def _turn(piece: Piece) -> tuple[int, int, int, int, int]:
    """The sort key. Replacements for lost bytes come first, so that any bytes found again take their place."""
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
    # The old piece is behind the new one: it is outdated unless it continues where the new one ends. Without numbers
    # it cannot be distinguished from a piece whose neighbour is damaged.
    has_numbers = order_of(old) and order_of(new) and LOST not in old.more
    return bool(has_numbers) and not _is_reached(old, _end(new), kept)


def _is_reached(header: PieceHeader, end: int, kept: Iterable[Piece]) -> bool:
    """Whether pieces follow each other without a gap from `end` to the beginning of this one."""
    ends = {each.start: _end(each) for each, _ in kept if each.generation == header.generation and each.length}
    while end < header.start and end in ends:
        end = ends[end]
    return end == header.start
