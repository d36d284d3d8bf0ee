"""Reads the files of a session from the safe, whether or not their sources still exist."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from reread.billing import load_prices
from reread.changes import EARLIER
from reread.loading import INDEX, FileReader, LoadedSession, load_session, records_of
from reread.records import Record
from reread.safe.safe import Safe
from reread.sessions import completed
from reread.sources import FileKind, SessionFiles, SourceFile, split

from . import read
from .read import StoredPiece
from .rows import FileRow
from .safe_reader import SafeReader, remains


class SessionFileReader(SafeReader, FileReader):
    """Reads what the archive has imported, never the sources."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        super().__init__(connection, safe)
        self._rows: dict[Path, FileRow] = {}
        self._lost: dict[Path, list[str]] = {}

    def session_files(self, session: int, uuid: str) -> SessionFiles:
        """The files of a session, which this reader can read from then on."""
        rows = read.files_of(self._connection, session)
        self._rows.update({row.path: row for row in rows})
        return SessionFiles.of(uuid, [source_file(row, uuid) for row in rows])

    def know(self, machine: str) -> None:
        """Makes every file of a machine readable by its path."""
        self._rows.update({row.path: row for row in read.known_files(self._connection, machine).values()})

    def records(self, file: SourceFile) -> Iterator[Record]:
        return self.records_of_row(self._rows[file.path])

    def records_of_row(self, row: FileRow) -> Iterator[Record]:
        if row.kind == FileKind.CAPTURE:
            from reread.live.capture_fold import fold  # imports the whole protocol, and few files are captures

            folded = fold(self._left(row), str(row.path))
            yield from completed(folded.records, folded.finals)
            return
        for line in split(self._left(row)):
            yield from records_of(line)

    def earlier(self, file: SourceFile) -> Sequence[Sequence[Record]]:
        return self.earlier_of(self._rows[file.path])

    def earlier_of(self, row: FileRow) -> Sequence[Sequence[Record]]:
        return _generations(self._safe, read.earlier_pieces(self._connection, row.id, row.generation))

    def content(self, file: SourceFile) -> bytes:
        return self._left(self._rows[file.path])

    def whole(self, file: SourceFile) -> bytes:
        """Every byte of a file; raises SafeDamaged."""
        return self.bytes_of(self._rows[file.path])

    def index_beside(self, trunk: SourceFile) -> bytes | None:
        row = read.own_index(self._connection, trunk.path.parent / INDEX)
        return self._left(row) if row is not None else None

    def losses(self, file: SourceFile) -> Sequence[str]:
        return self._lost.get(file.path, ())

    def _left(self, row: FileRow) -> bytes:
        # Checked by CRC only: hashing takes a third of the time until a large session is read.
        content, lost = self.left_of(row, hashed=False)
        self._lost[row.path] = [str(damage) for damage in lost]
        return content

    def spilled(self, outputs: tuple[SourceFile, ...], name: str) -> str | None:  # type: ignore[override]
        found = next((file for file in outputs if file.path.name == name), None)
        return None if found is None else self.content(found).decode("utf-8", "replace")


def source_file(row: FileRow, uuid: str) -> SourceFile:
    return SourceFile(
        location=row.location,
        kind=FileKind(row.kind),
        session=uuid,
        agent=row.agent,
        workflow=row.workflow,
        size=row.size,
        mtime_ns=row.mtime_ns,
    )


class DiskAndSafe(FileReader):
    """Reads the given files from the safe, because their sources are gone, and all others from disk."""

    def __init__(self, safe: Path, pieces: Mapping[Path, Sequence[StoredPiece]], *, hashed: bool = True) -> None:
        self._safe = Safe(safe)
        self._pieces = pieces
        self._hashed = hashed
        self.has_losses = False
        """Whether bytes of the files read so far are lost."""

    def records(self, file: SourceFile) -> Iterator[Record]:
        if self._whole(file.path) is None:
            yield from super().records(file)
            return
        for line in split(self.content(file)):
            yield from records_of(line)

    def earlier(self, file: SourceFile) -> Sequence[Sequence[Record]]:
        return _generations(self._safe, [piece for piece in self._pieces.get(file.path, ()) if piece.start >= EARLIER])

    def content(self, file: SourceFile) -> bytes:
        pieces = self._whole(file.path)
        return super().content(file) if pieces is None else self._content_of(pieces)

    def _whole(self, path: Path) -> Sequence[StoredPiece] | None:
        """The pieces of a file; None for one on disk, of which the safe may have earlier generations."""
        pieces = self._pieces.get(path)
        own = [piece for piece in pieces or () if piece.start < EARLIER]
        return None if pieces is None or (pieces and not own) else own

    def index_beside(self, trunk: SourceFile) -> bytes | None:
        pieces = self._pieces.get(trunk.path.parent / INDEX)
        return super().index_beside(trunk) if pieces is None else self._content_of(pieces)

    def _content_of(self, pieces: Sequence[StoredPiece]) -> bytes:
        found = remains(self._safe, pieces, hashed=self._hashed)
        self.has_losses = self.has_losses or bool(found.lost)
        return found.content


def _generations(safe: Safe, pieces: Sequence[StoredPiece]) -> list[list[Record]]:
    """The lines in pieces of earlier generations, the newest first; damaged ones have none."""
    found = []
    for number in sorted({piece.start // EARLIER for piece in pieces}, reverse=True):
        first = number * EARLIER
        own = [replace(piece, start=piece.start - first) for piece in pieces if piece.start // EARLIER == number]
        lines = split(remains(safe, own).content)
        found.append([record for line in lines for record in records_of(line._replace(offset=line.offset + first))])
    return found


class KeptSession(NamedTuple):
    """A session as the safe has it: all that a worker needs to read it."""

    files: SessionFiles
    pieces: dict[Path, tuple[StoredPiece, ...]]
    safe: Path
    prices: Path | None
    size: int

    def load(self, disk: DiskAndSafe | None = None) -> LoadedSession:
        """The session. Pass a reader to find out afterwards from it whether bytes were lost."""
        return load_session(self.files, (), disk or self.disk(), load_prices(self.prices))

    def disk(self) -> DiskAndSafe:
        return DiskAndSafe(self.safe, self.pieces)


def kept_session(
    connection: sqlite3.Connection, safe: Safe, prices: Path | None, number: int, uuid: str
) -> KeptSession:
    rows = read.files_of(connection, number)
    pieces = {row.path: _pieces(connection, row) for row in rows}
    files = SessionFileReader(connection, safe).session_files(number, uuid)
    if files.trunk is not None:
        place = files.trunk.path.parent / INDEX
        index = read.own_index(connection, place)
        # If the safe has no index file, the one on disk is not read either.
        pieces[place] = _pieces(connection, index) if index is not None else ()
    return KeptSession(files=files, pieces=pieces, safe=safe.folder, prices=prices, size=sum(row.taken for row in rows))


def _pieces(connection: sqlite3.Connection, row: FileRow) -> tuple[StoredPiece, ...]:
    return tuple(read.every_piece(connection, row.id, row.generation))
