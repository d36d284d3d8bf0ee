"""Bytes out of the safe: whole files, what damage left of them, or the one line of a match."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from reread.errors import SafeDamaged
from reread.safe.safe import Safe

from . import read
from .read import StoredPiece
from .rows import FileRow

LOST = "lost"
"""In the header of a piece that stands for bytes that nobody has any more."""


class Remains(NamedTuple):
    """A file in its whole length; where bytes are lost a line says so, so that the others stand where they stood."""

    content: bytes
    lost: list[SafeDamaged]


def remains(safe: Safe, pieces: Sequence[StoredPiece]) -> Remains:
    """Pieces put together, and what there is instead of those that cannot be proved or are not there at all."""
    parts: list[bytes] = []
    lost: list[SafeDamaged] = []
    end = 0
    for piece in pieces:
        if piece.start > end:
            parts.append(filled(piece.start - end))
            lost.append(SafeDamaged(piece.place.pack, piece.place.offset, "the bytes before it are lost"))
        try:
            header, raw = safe.piece(piece.place)
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


class SafeLines:
    """Single lines out of the safe, by the pieces of their files: no index is needed, so any process can have one."""

    def __init__(self, safe: Safe) -> None:
        # Proved by its CRC: for a line that is shown, hashing the half megabyte around it would be too much.
        self._piece = lru_cache(maxsize=32)(safe.slice)

    def line(self, pieces: Sequence[StoredPiece], offset: int, length: int) -> bytes:
        """From the few pieces it lies in; raises SafeDamaged."""
        end = offset + length
        holding = [piece for piece in pieces if piece.start + piece.length > offset and piece.start < end]
        end = offset
        for piece in holding:
            if piece.start > end:
                raise SafeDamaged(piece.place.pack, piece.place.offset, "the bytes before it are lost")
            end = piece.start + piece.length
        data = b"".join(self._piece(piece.place, 0, piece.length) for piece in holding)
        start = offset - holding[0].start if holding else 0
        return data[start : start + length]


class SafeReader:
    """Reads what the archive has taken, never the sources."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self._connection = connection
        self._safe = safe
        self._lines = SafeLines(safe)

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
