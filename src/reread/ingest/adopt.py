"""Makes rows for pieces of the safe that no row names: a power cut may undo the last commits, not what the safe kept.

The sources may be gone by then, so the sessions are read from the safe, together with their other files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from reread.billing import load_prices
from reread.errors import SafeDamaged
from reread.index import read
from reread.index.backup_files import KnownPieces, history_folders, resolved, shared_digest
from reread.index.database import transaction
from reread.index.gate import Sorted, safe_gate
from reread.index.places import MOVED, PLACE, Original, SessionMove, adopt_places, known_keys, move_session
from reread.index.rows import FileRow
from reread.index.safe_reader import LOST, Piece, newest_pieces, order_of
from reread.index.session_files import DiskAndSafe
from reread.index.source_state import look_again
from reread.index.verify import unnamed_pieces
from reread.index.write import StoreWriter
from reread.safe.safe import Damage, FoundPiece, PieceHeader, Safe
from reread.sources import FileKind, place
from reread.sources.find import folder_of, role_of

from . import Report
from .jobs import FileJob, SessionJob
from .rebuild import Held, Kept, backup_jobs, count_own_order, is_part, located, session_jobs

Name = tuple[str, int, int, str]
"""The identity of a piece, wherever it is stored: file, generation, start, digest."""


class _Gain(NamedTuple):
    """A file, and the pieces that it gains."""

    row: FileRow | None
    """The row of the file; None if the index does not know it."""
    before: list[Piece]
    """Its pieces that have rows, of all generations up to the newest after the gain."""
    pieces: list[Piece]
    last: PieceHeader

    @property
    def kept(self) -> Kept:
        return Kept(self.last, [*self.before, *self.pieces])

    def is_newest(self, piece: Piece) -> bool:
        return piece[0].generation == self.last.generation

    @property
    def is_shown(self) -> bool:
        """Whether it gains a piece of the newest generation, the one that is shown."""
        return any(map(self.is_newest, self.pieces))


def adopt_tail(
    connection: sqlite3.Connection, safe: Safe, prices: Path | None = None, report: Report | None = None
) -> int:
    """Adopts whole pieces behind the end of what was acknowledged; returns how many. The caller holds the lock."""
    behind = admitted(connection, safe.scan(*read.acknowledged_end(connection))).pieces
    count_own_order(connection, [header for header, _ in behind])
    adopted = adopt(connection, safe, list(unnamed_pieces(connection, safe, behind)), prices, report)
    _adopt_moves(connection, [header for header, _ in behind if MOVED in header.more])
    _adopt_places(connection, [header for header, _ in behind if PLACE in header.more])
    return len(adopted)


def admitted(connection: sqlite3.Connection, found: Iterable[FoundPiece | Damage]) -> Sorted:
    return safe_gate(connection).sort((each.header, each.place) for each in found if isinstance(each, FoundPiece))


def _adopt_moves(connection: sqlite3.Connection, headers: Iterable[PieceHeader]) -> None:
    """Moves files, with their sessions, to where the safe records that their machine found them later."""
    for header in sorted(headers, key=order_of):
        row = read.file_by_key(connection, header.file)
        if row is None or row.session is None or read.machine_of(connection, row.id) != header.machine:
            continue
        if any(other.path == Path(header.path) for other in read.known_files(connection, header.machine).values()):
            continue
        moved = Original(row.session, header.machine, "", {role_of(row.kind, row.path): row})
        to = {row.id: (header.source, Path(header.path))}
        move_session(connection, SessionMove(moved, folder_of(located(Kept(header, []))), to))


def _adopt_places(connection: sqlite3.Connection, headers: Sequence[PieceHeader]) -> None:
    """Adds places that the safe records and that have no row."""
    if headers:
        known = {key for key, _ in known_keys(connection)}
        new = [each for each in headers if each.more[PLACE] not in known and read.file_by_key(connection, each.file)]
        adopt_places(connection, new)


def adopt(
    connection: sqlite3.Connection,
    safe: Safe,
    pieces: Sequence[Piece],
    prices: Path | None = None,
    report: Report | None = None,
) -> set[Name]:
    """Gives rows to pieces that no row names, if they begin a file or continue where one ends; returns which.

    Forgotten files stay forgotten, copies stay copies, and pieces that contradict those with rows get none.
    """
    pieces = safe_gate(connection).sort(pieces).pieces if pieces else []
    passed = set(read.forgotten(connection)) | {key for key, _ in known_keys(connection)} if pieces else set()
    by_file: dict[str, list[Piece]] = {}
    for header, where in _whole(connection, safe, pieces):
        if header.file not in passed:
            by_file.setdefault(header.file, []).append((header, where))
    gains = {key: gain for key, found in by_file.items() if (gain := _gain(connection, safe, key, found)) is not None}
    for machine in sorted({gain.last.machine for gain in gains.values()}):
        own = {key: gain for key, gain in gains.items() if gain.last.machine == machine}
        _write(connection, safe, own, StoreWriter(connection, safe, machine, load_prices(prices)), prices, report)
    if gains:
        look_again(connection)
    return {name_of_piece(header) for gain in gains.values() for header, _ in gain.pieces}


def name_of_piece(header: PieceHeader) -> Name:
    return header.file, header.generation, header.start, shared_digest(header) or header.sha256


def _whole(connection: sqlite3.Connection, safe: Safe, pieces: Iterable[Piece]) -> list[Piece]:
    """The pieces that can be proved; those that refer to shared bytes are given with the place of those bytes."""
    proved: list[Piece] = []
    known = KnownPieces(connection) if any(shared_digest(header) for header, _ in pieces) else None
    donors: list[Piece] = []
    for header, where in pieces:
        shared = known.place(shared_digest(header) or "") if known is not None else None
        try:
            safe.read(where)
            if shared is not None:
                donors.append((safe.piece(shared)[0], shared))
        except SafeDamaged:
            continue
        if LOST not in header.more:
            proved.append((header, where))
    return resolved([*donors, *proved])[len(donors) :]


def _gain(connection: sqlite3.Connection, safe: Safe, key: str, found: list[Piece]) -> _Gain | None:
    chain = newest_pieces(found, partial(is_part, safe))
    row = read.file_by_key(connection, key)
    if row is None:
        last = max((header for header, _ in chain), key=lambda header: header.generation)
        return _Gain(None, [], chain, last)
    gained: list[Piece] = []
    ends: dict[int, int] = {}
    for header, where in chain:
        number = header.generation
        if number not in ends:
            rows = read.pieces_of(connection, row.id, number)
            ends[number] = rows[-1].start + rows[-1].length if rows else 0
        if header.start == ends[number]:
            gained.append((header, where))
            ends[number] = header.start + header.length
    if not gained:
        return None
    newest = max((header for header, _ in gained), key=lambda header: header.generation)
    last = _header(row, read.machine_of(connection, row.id))
    if newest.generation >= row.generation:
        last = replace(last, generation=newest.generation, mtime_ns=newest.mtime_ns)
    return _Gain(row, _pieces(connection, row, last), gained, last)


def _header(row: FileRow, machine: str) -> PieceHeader:
    """The header that a piece of a known file would get now: its name may have changed since it was imported."""
    return PieceHeader(
        file=row.key,
        machine=machine,
        source=row.source,
        path=str(row.path),
        kind=row.kind,
        generation=row.generation,
        start=0,
        mtime_ns=row.mtime_ns,
    )


def _pieces(connection: sqlite3.Connection, row: FileRow, last: PieceHeader) -> list[Piece]:
    return [
        (replace(last, generation=each, start=piece.start, length=piece.length, sha256=piece.sha256.hex()), piece.place)
        for each in range(1, last.generation + 1)
        for piece in read.pieces_of(connection, row.id, each)
    ]


def _write(
    connection: sqlite3.Connection,
    safe: Safe,
    gains: Mapping[str, _Gain],
    writer: StoreWriter,
    prices: Path | None,
    report: Report | None,
) -> None:
    """Writes the rows of pieces in one transaction with those of their sessions."""
    new = {key: gain.pieces for key, gain in gains.items()}
    shown = {key: gain for key, gain in gains.items() if gain.is_shown}
    machine = next(gain.last.machine for gain in gains.values())
    waiting = {row.key: _kept(connection, row, machine) for row in read.backups_of_none(connection, machine)}
    gained = {**waiting, **{key: gain.kept for key, gain in shown.items()}}
    kept = {**_beside(connection, shown.values()), **gained}
    held = Held(kept, safe.folder, prices)
    sessions = list(_gaining_sessions(safe, kept, gains))
    held.write(sessions, writer, report, phase="", kept=new)
    backups = backup_jobs(gained, history_folders(connection, machine))
    held.write(backups, writer, kept=new)
    written = {each.key for job in (*sessions, *backups) for each in job.changed}
    _write_alone(connection, [gain for key, gain in gains.items() if key not in written], writer)
    writer.count_waiting()
    writer.finish()


def _gaining_sessions(safe: Safe, kept: Mapping[str, Kept], gains: Mapping[str, _Gain]) -> Iterator[SessionJob]:
    disk = DiskAndSafe(safe.folder, {Path(entry.last.path): entry.stored for entry in kept.values()})
    for job in session_jobs(kept, disk):
        changed = tuple(_continued(each, gains) for each in job.changed if _is_made(each, gains))
        if any(each.key in gains for each in changed):
            yield replace(job, changed=changed)


def _write_alone(connection: sqlite3.Connection, gains: Sequence[_Gain], writer: StoreWriter) -> None:
    """Pieces that no session's rows depend on."""
    writer.adopt([(gain.last, gain.pieces) for gain in gains if gain.row is None])
    with transaction(connection):
        for gain in gains:
            if gain.row is not None:
                writer.name(gain.row.id, gain.pieces)


def _beside(connection: sqlite3.Connection, gains: Iterable[_Gain]) -> dict[str, Kept]:
    """The other files of the sessions that gain something: the rows of a session depend on all its files."""
    found: dict[str, Kept] = {}
    for gain in gains:
        machine = gain.last.machine
        if gain.row is not None and gain.row.session is not None:
            numbers = [gain.row.session]
        elif gain.last.kind in (
            FileKind.TRANSCRIPT,
            FileKind.SUBAGENT,
            FileKind.META,
            FileKind.TOOL_RESULT,
            FileKind.CAPTURE,
        ):
            path = Path(gain.last.path)
            where = place(path)
            numbers = read.sessions_beside(connection, machine, where.session if where else None, path.parent)
        else:
            numbers = []
        for number in numbers:
            for row in read.files_of(connection, number):
                found[row.key] = _kept(connection, row, machine)
    return found


def _kept(connection: sqlite3.Connection, row: FileRow, machine: str) -> Kept:
    """A known file as it is before the gain."""
    last = _header(row, machine)
    return Kept(last, _pieces(connection, row, last))


def _is_made(job: FileJob, gains: Mapping[str, _Gain]) -> bool:
    """Whether rows of a file are made: also those of captures, because what one adds depends on its transcript."""
    return job.key in gains or job.file.kind is FileKind.CAPTURE


def _continued(job: FileJob, gains: Mapping[str, _Gain]) -> FileJob:
    """The job for a file, in which indexed lines keep their rows unless they are of an older generation."""
    row = gains[job.key].row if job.key in gains else None
    if row is None:
        return job
    if row.generation < job.generation:
        return replace(job, is_rewritten=True)
    return replace(job, indexed=row.indexed)
