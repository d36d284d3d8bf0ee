"""Bytes out of the safe: whole files, or the one line a search found."""

from __future__ import annotations

import sqlite3
from functools import lru_cache

from . import reading
from .rows import FileRow
from .safe import Safe


class KeptBytes:
    """Reads what the archive has taken, never the sources."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self._connection = connection
        self._safe = safe
        # Proved by its CRC: for a line that is shown, hashing the half megabyte around it would be too much.
        self._piece = lru_cache(maxsize=32)(safe.slice)

    def bytes_of(self, row: FileRow, generation: int | None = None) -> bytes:
        """Everything taken of a file, proved by its hashes."""
        pieces = reading.pieces_of(self._connection, row.id, generation or row.generation)
        return b"".join(self._safe.read(piece.place) for piece in pieces)

    def line(self, file: int, generation: int, offset: int, length: int) -> bytes:
        """One line, from the few pieces it lies in."""
        pieces = reading.pieces_of(self._connection, file, generation, offset, offset + length)
        data = b"".join(self._piece(piece.place, 0, piece.length) for piece in pieces)
        start = offset - pieces[0].start if pieces else 0
        return data[start : start + length]
