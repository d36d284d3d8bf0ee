"""Rebuilds the index from the safe alone, when it is lost, damaged or of an earlier version.

It also counts responses again and compares them with the index's rows, which an edit or a flipped bit may have changed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.billing import load_prices
from reread.changes import EARLIER
from reread.errors import SafeDamaged, printable
from reread.index import meta, read
from reread.index.backup_files import history_folders, resolved
from reread.index.gate import safe_gate
from reread.index.machines import kept_machine
from reread.index.places import MOVED, PLACE, adopt_places
from reread.index.read import StoredPiece
from reread.index.rows import OWN, SessionBatch
from reread.index.safe_reader import Piece, newest_pieces, order_of
from reread.index.session_files import KeptSession, SessionFileReader, kept_session
from reread.index.write import StoreWriter
from reread.loading import INDEX, FileReader
from reread.rows.groups import grouped
from reread.rows.model import FileRows
from reread.rows.of_session import file_rows
from reread.safe.safe import PieceHeader, Safe
from reread.sources import FileKind, SourceFile, place
from reread.workers import in_order_by_shares

from . import Progress, Report
from .copies import owned_sessions
from .extract import take
from .jobs import FileJob, SessionJob
from .sync import COMMIT_AFTER, SHARE, SMALLEST, Packed, packed, quickly, unpacked, weight_of

if TYPE_CHECKING:
    import random
else:
    lazy.bind(globals())

AHEAD = 8
"""Shares that may be with the workers, or read and not yet written: some are large."""
_ASIDE = frozenset({FileKind.HISTORY, FileKind.INDEX, FileKind.SETTINGS, FileKind.META})


class Kept(Struct):
    """What the packs have of one file."""

    last: PieceHeader
    """A piece of its newest generation."""
    pieces: list[Piece]

    @property
    def stored(self) -> tuple[StoredPiece, ...]:
        """Its pieces with their places, as `read.every_piece` gives them."""
        newest = self.last.generation
        return tuple(
            StoredPiece(
                start=header.start + (0 if header.generation == newest else header.generation * EARLIER),
                length=header.length,
                sha256=bytes.fromhex(header.sha256),
                place=where,
            )
            for header, where in sorted(self.pieces, key=lambda piece: piece[0].generation != newest)
            if header.generation <= newest
        )

    @property
    def has_hole(self) -> bool:
        """Whether bytes are lost between the pieces of its newest generation."""
        end = 0
        for header, _ in self.pieces:
            if header.generation == self.last.generation:
                if header.start > end:
                    return True
                end = header.start + header.length
        return False


def rebuild(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Path | None = None,
    report: Report | None = None,
    *,
    is_quick: bool = False,
) -> None:
    """Fills a database from the packs, this machine's newest sessions first, and goes on where it was stopped.

    Every piece is proved first: damaged pieces are left out, and do not keep the others out. A quick one leaves to
    `second_phase` what a quick sync leaves to it.
    """
    pieces = [(found.header, found.place) for found in safe.verify() if found.header is not None]
    pieces = safe_gate(connection).sort(pieces).pieces
    kept, places = _kept(safe, pieces)
    _gather(kept.values())
    count_own_order(connection, [header for header, _ in pieces])
    files = SessionFileReader(connection, safe)
    known, own_machine = read.written_files(connection), kept_machine(connection)
    own_id = own_machine.id if own_machine is not None else ""
    machine_names = {entry.last.machine for entry in kept.values()}
    for machine_name in sorted(machine_names, key=lambda name: (name != own_id, name)):
        writer = StoreWriter(connection, safe, machine_name, load_prices(prices))
        own = {key: entry for key, entry in kept.items() if entry.last.machine == machine_name}
        writer.adopt([(entry.last, entry.pieces) for key, entry in own.items() if key not in known])
        files.know(machine_name)
        held = Held(own, safe.folder, prices)
        jobs = _left(session_jobs(own, files)[::-1], known)
        held.write(list(quickly(jobs)) if is_quick else jobs, writer, report, is_older=True)
        held.write(_left(backup_jobs(own, history_folders(connection, machine_name)), known), writer, is_older=True)
        if not is_quick:
            writer.count_waiting()
        writer.finish()
    adopt_places(connection, places)


def _left(jobs: Iterable[SessionJob], known: Mapping[str, bool]) -> list[SessionJob]:
    """The jobs that are not done yet: a transaction holds whole ones."""
    return [job for job in jobs if not all(known.get(each.key) for each in job.changed)]


def count_own_order(connection: sqlite3.Connection, headers: Sequence[PieceHeader]) -> None:
    """Stores the number of the last sync of this machine; what another machine says of its own is nothing to it."""
    own = kept_machine(connection)
    if own is not None:
        meta.count_order(connection, max((order_of(each) for each in headers if each.machine == own.id), default=0))


def _work_of(size: int) -> int:
    """The work for a session, in bytes: one of a few lines takes as long as one of `SMALLEST` bytes."""
    return max(SMALLEST, size)


class _KeptJob(NamedTuple):
    """All that a worker needs to read a session from the safe."""

    job: SessionJob
    torn: Set[str]
    """Keys of its files that have a hole."""


class Held:
    """What the safe has of a machine, for workers to read."""

    def __init__(self, kept: Mapping[str, Kept], safe: Path, prices: Path | None) -> None:
        self._kept = kept
        self._safe = safe
        self._prices = prices
        self._torn = {key for key, entry in kept.items() if entry.has_hole}
        self._by_path = {Path(entry.last.path): entry for entry in kept.values()}

    def write(
        self,
        jobs: Sequence[SessionJob],
        writer: StoreWriter,
        report: Report | None = None,
        phase: str = "rebuilding",
        kept: Mapping[str, Sequence[Piece]] | None = None,
        *,
        is_older: bool = False,
    ) -> None:
        """Reads and writes sessions, using all processors; a transaction holds whole ones. For `kept` and `is_older`,
        with which the newest come first, see `StoreWriter.apply`."""
        total = sum(job.size for job in jobs)
        pending: list[SessionBatch] = []
        weight = done = 0
        taken = in_order_by_shares(
            _read_packed, map(self._job, jobs), lambda each: _work_of(each.job.size), SHARE, AHEAD, total
        )
        for position, (each, batch) in enumerate(taken, 1):
            pending.append(unpacked(batch))
            weight += weight_of(pending[-1])
            done += each.job.size
            if weight >= COMMIT_AFTER:
                writer.apply(pending[::-1] if is_older else pending, is_older=is_older, kept=kept)
                pending, weight = [], 0
            if report is not None:
                report(Progress(done, total, position, len(jobs), phase=phase))
        if pending:
            writer.apply(pending[::-1] if is_older else pending, is_older=is_older, kept=kept)

    def _job(self, job: SessionJob) -> _KeptJob:
        files = (*job.files.all, *job.orphans) if job.files is not None else ()
        pieces = {file.path: self._by_path[file.path].stored for file in files}
        pieces |= {each.file.path: self._kept[each.key].stored for each in job.changed}
        if job.files is not None and job.files.trunk is not None:
            index = job.files.trunk.path.parent / INDEX
            # If the safe has no index file, the one on disk is not read either.
            pieces[index] = self._by_path[index].stored if index in self._by_path else ()
        mine = replace(job, gone=pieces, safe=self._safe, prices=self._prices)
        return _KeptJob(mine, {each.key for each in job.changed} & self._torn)


def _read_packed(kept: _KeptJob) -> Packed:
    """Runs in a worker or in this process. A file with a hole is stored without the digest of its beginning, so that a
    sync imports its source again if that still exists."""
    batch = take(kept.job, is_kept=True)
    files = [replace(file, head=b"") if file.key in kept.torn else file for file in batch.files]
    return packed(replace(batch, files=files), kept.job.size)


def _kept(safe: Safe, pieces: Sequence[Piece]) -> tuple[dict[str, Kept], list[PieceHeader]]:
    """Files by key, and the headers of their other places."""
    kept: dict[str, Kept] = {}
    for header, place_ in resolved([piece for piece in pieces if PLACE not in piece[0].more]):
        kept.setdefault(header.file, Kept(header, [])).pieces.append((header, place_))
    for entry in kept.values():
        entry.pieces = newest_pieces(entry.pieces, partial(is_part, safe))
        entry.last = max((header for header, _ in entry.pieces), key=lambda header: (header.generation, header.start))
    places = [header for header, _ in pieces if PLACE in header.more and header.file in kept]
    _follow_moves(kept, sorted((each for each in places if MOVED in each.more), key=order_of))
    return kept, [header for header in places if MOVED not in header.more]


def _follow_moves(kept: Mapping[str, Kept], moved: Iterable[PieceHeader]) -> None:
    for header in moved:
        entry = kept[header.file]
        if order_of(header) >= max(order_of(each) for each, _ in entry.pieces):
            entry.last = replace(entry.last, machine=header.machine, source=header.source, path=header.path)


_Home = tuple[str, str]
"""A machine, and a folder on it."""


def _gather(kept: Collection[Kept]) -> None:
    """Gives all files of a session that was moved its last place.

    Files that did not grow after the move have only the earlier place in their headers, and would become a session of
    their own there. A transcript that was renamed leaves its folder behind.
    """
    moved = _moved(kept)
    lying = [
        (entry, home, homes)
        for entry in kept
        if (home := _home_of(entry.last)) is not None and (homes := moved.get((entry.last.machine, home))) is not None
    ]
    newest: dict[frozenset[_Home], PieceHeader] = {}
    for entry, _, homes in lying:
        last = (newest.get(homes, entry.last), entry.last)
        newest[homes] = max(last, key=lambda each: (order_of(each), each.mtime_ns))
    occupied = {(entry.last.machine, entry.last.path) for entry in kept} if lying else set()
    for entry, home, homes in lying:
        there = newest[homes]
        path = f"{_home_of(there)}{entry.last.path.removeprefix(home)}"
        if (entry.last.machine, path) not in occupied:
            occupied.add((entry.last.machine, path))
            entry.last = replace(entry.last, path=path, source=there.source)


def _moved(kept: Iterable[Kept]) -> dict[_Home, frozenset[_Home]]:
    """By each place of a session that was in several places: all of its places."""
    found: dict[_Home, frozenset[_Home]] = {}
    for entry in kept:
        homes = frozenset(
            (entry.last.machine, home) for header, _ in entry.pieces if (home := _home_of(header)) is not None
        )
        if len(homes) > 1 and len({Path(home).name for _, home in homes}) == 1:
            homes = homes.union(*(found.get(home, ()) for home in homes))
            found.update(dict.fromkeys(homes, homes))
    return found


def _home_of(header: PieceHeader) -> str | None:
    """The folder for a session's files, next to its transcript; None for a file whose path does not show it."""
    path = Path(header.path)
    if header.kind == FileKind.TRANSCRIPT:
        return str(path.with_suffix(""))
    where = place(path)
    session = where.session if where is not None else None
    return next((str(folder) for folder in path.parents if folder.name == session), None)


def is_part(safe: Safe, piece: Piece, longer: Piece) -> bool:
    """Whether the bytes of a piece are among those of a piece that is at least as long."""
    if piece[0].length == longer[0].length:
        return piece[0].sha256 == longer[0].sha256
    start = piece[0].start - longer[0].start
    try:
        return sha256(safe.slice(longer[1], start, piece[0].length)).hexdigest() == piece[0].sha256
    except SafeDamaged:
        return False


def session_jobs(kept: Mapping[str, Kept], disk: FileReader) -> list[SessionJob]:
    """Sessions in the order in which they were last written to, so that newer ones get larger ids."""
    files = {located(entry): entry for entry in kept.values() if entry.last.kind != FileKind.BACKUP}
    taken = [file for file, entry in files.items() if entry.last.source != OWN]
    captured = [file for file, entry in files.items() if entry.last.source == OWN]
    owned, owners = owned_sessions(taken, disk, captured)
    jobs = [
        SessionJob(
            files=session,
            orphans=own,
            foreign=owners.foreign(session),
            changed=tuple(_job(file, files[file]) for file in (*session.all, *own)),
        )
        for session, own in sorted(owned, key=lambda each: each[0].mtime_ns)
    ]
    aside = [file for file in files if file.session is None and file.kind in _ASIDE]
    return [SessionJob(files=None, changed=(_job(file, files[file]),)) for file in aside] + jobs


def backup_jobs(kept: Mapping[str, Kept], folders: Mapping[Path, int]) -> list[SessionJob]:
    """Jobs for the backups of sessions in the index, one for each session."""
    backups = (entry for entry in kept.values() if entry.last.kind == FileKind.BACKUP)
    found = grouped(backups, lambda entry: folders.get(Path(entry.last.path).parent))
    return [
        SessionJob(files=None, changed=tuple(_job(located(each), each) for each in same), backup_of=session)
        for session, same in found.items()
        if session is not None
    ]


def located(entry: Kept) -> SourceFile:
    """The file as its path describes it, whether or not it exists."""
    path = Path(entry.last.path)
    where = place(path)
    size = sum(header.length for header, _ in entry.pieces if header.generation == entry.last.generation)
    return SourceFile(
        location=str(path),
        kind=FileKind(entry.last.kind),
        session=where.session if where is not None else _stem_of(path, entry.last.kind),
        agent=where.agent if where is not None else None,
        workflow=where.workflow if where is not None else None,
        size=size,
        mtime_ns=entry.last.mtime_ns,
    )


def _stem_of(path: Path, kind: str) -> str | None:
    """A transcript with an unusual name is a session of that name; settings and the like belong to no session."""
    return path.stem if kind == FileKind.TRANSCRIPT else None


def _job(file: SourceFile, entry: Kept) -> FileJob:
    return FileJob(
        file=file, key=entry.last.file, source=entry.last.source, device=0, inode=0, generation=entry.last.generation
    )


SAMPLE = 8_000_000
"""How many bytes of sessions are counted again unless all are to be: a third of a second."""


class Recounted(NamedTuple):
    responses: int
    wrong: list[str]
    """A sentence for each file whose rows differ from what its bytes say."""


def recount(
    connection: sqlite3.Connection, safe: Safe, prices: Path | None, *, deep: bool, report: Report | None = None
) -> Recounted:
    """Counts responses again, of all sessions if `deep`, else of a random sample; those with lost bytes are skipped."""
    found = read.session_sizes(connection)
    chosen = found if deep else _sample(found)
    size = sum(size for *_, size in chosen)
    jobs = (_recount_job(connection, safe, prices, number, uuid) for number, uuid, _ in chosen)
    total, wrong, done = 0, [], 0
    counted = in_order_by_shares(_responses, jobs, lambda job: _work_of(job.session.size), SHARE, AHEAD, size)
    for job, answers in counted:
        done += job.session.size
        if report is not None:
            report(Progress(done, size, phase="counting again"))
        for file, rows in zip(job.changed, answers, strict=False):
            kept = read.responses_of_file(connection, file.key)
            total += len(rows)
            if kept != rows:
                count = sum(kept.get(key) != rows.get(key) for key in kept.keys() | rows.keys())
                wrong.append(f"index: {count} responses of {printable(file.file.location)} are not what its lines say")
    return Recounted(total, wrong)


_Sized = list[tuple[int, str, int]]


def _sample(found: _Sized) -> _Sized:
    chosen: _Sized = []
    size = 0
    for session in random.sample(found, len(found)):
        if size < SAMPLE:
            chosen.append(session)
            size += _work_of(session[2])
    return chosen


class _RecountJob(NamedTuple):
    session: KeptSession
    changed: list[FileJob]
    """The jobs for its files."""


def _recount_job(
    connection: sqlite3.Connection, safe: Safe, prices: Path | None, number: int, uuid: str
) -> _RecountJob:
    session = kept_session(connection, safe, prices, number, uuid)
    by_path = {file.path: file for file in session.files.all}
    jobs = [
        FileJob(file=by_path[row.path], key=row.key, source=row.source, device=0, inode=0, generation=row.generation)
        for row in read.files_of(connection, number)
        if row.path in by_path
    ]
    return _RecountJob(session, jobs)


def _responses(job: _RecountJob) -> list[dict[str, tuple[object, ...]]]:
    """Runs in a worker or in this process: the responses in each file; empty if bytes of the session are lost."""
    disk = job.session.disk()
    session = job.session.load(disk)
    rows = [file_rows(session, each.file, each.key, with_texts=False) for each in job.changed]
    return [] if disk.has_losses else [_counts_by_key(each) for each in rows]


def _counts_by_key(rows: FileRows) -> dict[str, tuple[object, ...]]:
    return {
        row.key: (rows.contexts[row.context].model, *(getattr(row, name) for name in read.COUNTED))
        for row in rows.responses
    }
