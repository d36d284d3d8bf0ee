"""Imports everything that changed in the sources: parallel readers, one writer, newest sessions first."""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from reread import lazy
from reread.billing import load_prices
from reread.decoders import msgpack_decoder
from reread.errors import RefusedBackup, SourceError
from reread.index.meta import BEGUN, FOLDED, keep_left_out, write_note
from reread.index.read import closed_part_of
from reread.index.rows import SessionBatch
from reread.index.write import StoreWriter
from reread.lazy import TYPE_CHECKING
from reread.records.decoder import expect_many
from reread.safe.safe import Safe
from reread.workers import give_back_memory, in_shares, is_alone, worker_pool

from . import Progress, Report, SyncResult
from .captures import remove_kept_captures
from .closed_parts import can_go_on
from .extract import LARGE, prepare_friction, take
from .jobs import SessionJob
from .survey import Survey, survey
from .walk import Walk, walk_sources

if TYPE_CHECKING:
    import pickle
    import queue
    from concurrent.futures import Future

    from . import backup_survey
    from .backup_survey import BackupSurvey

    Answers = Future[list[bytes | SessionBatch | SourceError]]
else:  # a small sync has no workers, and mostly no backups
    lazy.bind(globals())

COMMIT_AFTER = 16_000_000
"""Bytes of text and pieces per transaction: large enough for the index, small enough for memory."""
EARLY, EARLY_COMMIT = 10, 1_000_000
"""A first sync commits after `EARLY_COMMIT` bytes until its newest `EARLY` sessions are written: someone may be waiting
for them."""
AHEAD = 48_000_000
"""Source bytes that workers may be given ahead of the writer: enough to keep them busy while it commits."""
LARGEST = AHEAD // 2
"""The most that one session counts against `AHEAD`: while one larger than `AHEAD` is read, the other workers go on."""
SMALLEST = 60_000
"""The least that one session counts against `AHEAD`: without it, 40,000 sessions of a kilobyte were ahead of the writer
at once, and their rows are many times as large."""
SHARE = 600_000
"""The least source bytes that a worker is given at once: handing something over takes as long as reading 5 kB."""
RESULTS_LATER = 8_000_000
"""From this many source bytes on, a quick sync leaves the words of tool results for later; with fewer they take no
noticeable time."""
ROWS = 4_000
"""Roughly the bytes that the rows of a session take in addition to its text while they wait to be written."""


def sync(
    connection: sqlite3.Connection,
    safe: Safe,
    machine: str,
    places: Sequence[Path],
    report: Report | None = None,
    prices: Path | None = None,
    captures: Path | None = None,
    *,
    with_backups: bool = True,
    is_quick: bool = False,
) -> SyncResult:
    """One pass over the sources, and over the captures that wait in a folder of our own.

    The caller holds the safe's lock; `prices` is the user's own price file. A quick sync leaves moments of friction
    and, where there is much to read, the words of tool results to `second_phase`. Friction of sessions that only grew
    is always left to it: otherwise it would be searched for again with every few lines.
    """
    began = time.monotonic()
    walk = walk_sources(connection, machine, places, captures)
    found = survey(connection, machine, walk, safe.folder, prices)
    result = SyncResult(problems=walk.problems, unchanged=found.unchanged, vanished=len(found.vanished))
    writer = StoreWriter(connection, safe, machine, load_prices(prices))
    if found.copies.has_more:
        write_note(connection, FOLDED, BEGUN)
    run(_jobs_of(connection, found, is_quick=is_quick), writer, result, report, is_first=found.is_first)
    if with_backups and walk.has_backups:
        _take_backups(backup_survey.BackupSurvey(connection, machine, places, found), found, writer, result, report)
    result.left_out = found.left_out
    keep_left_out(connection, found.left_out)
    _keep_changes(found, writer)
    writer.finish()
    _remember(walk, result, writer)
    remove_kept_captures(connection, machine, walk.waiting)
    result.seconds = time.monotonic() - began
    return result


def _jobs_of(connection: sqlite3.Connection, found: Survey, *, is_quick: bool) -> deque[SessionJob]:
    """The jobs of a survey, which is released: from here on only they take memory."""
    jobs = deque(quickly(found.jobs) if is_quick else found.jobs)
    if not found.walk.is_whole:
        jobs = deque(replace(job, with_friction=False, part=_part_of(connection, job)) for job in jobs)
    found.jobs.clear()
    found.release()
    return jobs


def _remember(walk: Walk, result: SyncResult, writer: StoreWriter) -> None:
    """Stores what the walk found, for the next glance."""
    if walk.has_backups:
        unread = [problem.path for problem in result.problems if not isinstance(problem, RefusedBackup)]
        writer.remember_folders(walk.folders, unread)
    else:  # a file that could not be read still differs from what is remembered, so every sync tries it again
        writer.remember_grown(walk.known)


def _keep_changes(found: Survey, writer: StoreWriter) -> None:
    """Records what changed besides what was read: copies, moves, and files that are as they were or gone."""
    copies = found.copies
    writer.keep_places(
        [(each.file, str(found.source_of(each.file)), each.original, each.machine) for each in copies.found]
    )
    writer.keep_moves(found.moved)
    writer.change_places(gone=copies.gone, diverged=copies.diverged)
    if found.same:
        writer.keep_states((job.file.size, job.file.mtime_ns, job.device, job.inode, job.key) for job in found.same)
    if found.vanished:
        writer.mark_vanished(found.vanished)


def _part_of(connection: sqlite3.Connection, job: SessionJob) -> bytes | None:
    """The stored closed part of a transcript, empty if there is none; None if the transcript must be read in whole
    because more than this file of its session changed, or because it cannot have a closed part."""
    files, changed = job.files, job.changed
    if files is None or files.trunk is None or len(changed) != 1 or changed[0].file.path != files.trunk.path:
        return None
    is_plain = not (job.gone or job.orphans or job.foreign or changed[0].claimed or changed[0].is_rewritten)
    return closed_part_of(connection, changed[0].key) if is_plain and can_go_on(files) else None


def quickly(jobs: Sequence[SessionJob]) -> Iterator[SessionJob]:
    """The same jobs without what a quick sync leaves for later."""
    are_left = sum(job.size for job in jobs) >= RESULTS_LATER
    for job in jobs:
        changed = tuple(replace(each, results_wait=True) for each in job.changed) if are_left else job.changed
        yield replace(job, with_friction=False, changed=changed)


def _take_backups(
    backups: BackupSurvey, found: Survey, writer: StoreWriter, result: SyncResult, report: Report | None
) -> None:
    result.problems += backups.problems + backups.refused
    result.unchanged += backups.unchanged
    result.vanished += len(backups.vanished)
    run(deque(backups.jobs), writer, result, report, is_first=False)
    found.vanished += backups.vanished
    # The next sync must try again what could not be read, so its folder must not be remembered as known.
    failed = {problem.path.parent for problem in result.problems if not isinstance(problem, RefusedBackup)}
    found.walk.folders |= {folder: time for folder, time in backups.folders.items() if folder not in failed}


def run(
    jobs: deque[SessionJob], writer: StoreWriter, result: SyncResult, report: Report | None, *, is_first: bool
) -> None:
    """Reads and writes sessions. A transaction holds whole sessions, so a kill at any point loses nothing committed.

    The jobs are consumed: a hundred thousand of them take as much memory as everything else.
    """
    total, number_of_jobs = sum(job.size for job in jobs), len(jobs)
    pending: list[SessionBatch] = []
    read: set[int] = set()
    weight = done = newest = 0
    for position, (number, size, batch) in enumerate(_read(jobs, total), 1):
        done += size
        read.add(number)
        if isinstance(batch, SourceError):
            result.problems.append(batch)
        else:
            result.problems += [SourceError(Path(path), reason) for path, reason in batch.unread]
            pending.append(batch)
            weight += weight_of(batch)
            result.sessions += batch.session is not None
            result.files += len(batch.files)
            result.bytes += sum(piece.length for file in batch.files for piece in file.pieces)
        if weight >= (min(EARLY_COMMIT, COMMIT_AFTER) if is_first and newest < EARLY else COMMIT_AFTER):
            writer.apply(pending[::-1], is_older=is_first)
            pending, weight = [], 0
            while newest in read:
                read.remove(newest)
                newest += 1
        if report is not None:
            report(Progress(done, total, position, number_of_jobs, newest))
    if pending:
        writer.apply(pending[::-1], is_older=is_first)


def weight_of(batch: SessionBatch) -> int:
    return ROWS + sum(
        sum(len(piece.frame) for piece in file.pieces) + sum(len(block.text) for block in file.blocks)
        for file in batch.files
    )


ReadSession = tuple[int, int, SessionBatch | SourceError]
"""The number of the job, its size, and its result."""


def _read(jobs: deque[SessionJob], total: int) -> Iterator[ReadSession]:
    waiting = _used_up(jobs)
    if is_alone(total):
        for number, job in waiting:
            yield number, job.size, _take_or_error(job)
        return
    if any(job.with_friction and job.files is not None for job in jobs):
        prepare_friction()
    expect_many()
    yield from _read_by_workers(waiting)


def _used_up(jobs: deque[SessionJob]) -> Iterator[tuple[int, SessionJob]]:
    number = 0
    while jobs:
        yield number, jobs.popleft()
        number += 1


def _read_by_workers(waiting: Iterator[tuple[int, SessionJob]]) -> Iterator[ReadSession]:
    """Workers run ahead of the writer only by about `AHEAD` bytes, because a batch holds all text of a session."""
    running: dict[Answers, list[tuple[int, int]]] = {}
    # `futures.wait` would go through all running futures whenever one is done.
    done: queue.SimpleQueue[Answers] = queue.SimpleQueue()
    shares = in_shares(waiting, lambda each: _ahead(each[1].size), min(SHARE, AHEAD))
    ahead = 0
    with worker_pool() as pool:
        try:
            while True:
                while ahead < AHEAD and (share := next(shares, None)) is not None:
                    # Pickled here: the pool's own pickler looks up every type in a table written in Python.
                    future = pool.submit(take_packed, pickle.dumps([job for _, job in share]))
                    running[future] = [(number, job.size) for number, job in share]
                    future.add_done_callback(done.put)
                    ahead += sum(_ahead(size) for _, size in running[future])
                    del share
                if not running:
                    return
                future = done.get()
                about = running.pop(future)
                found = future.result()[::-1]
                del future
                for number, size in about:
                    answer = unpacked(found.pop())  # `pop` frees the encoded bytes, as large as the batch
                    ahead -= _ahead(size)
                    yield number, size, answer
                    del answer
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _ahead(size: int) -> int:
    return max(SMALLEST, min(size, LARGEST))


Answer = TypeVar("Answer", bound=SessionBatch | SourceError)
Packed = bytes | SessionBatch
"""A batch as it crosses the pipe: msgpack is several times faster than pickling structs."""


def unpacked(answer: bytes | Answer) -> SessionBatch | Answer:
    """The batch; an answer that was not packed as it is."""
    return _batch_decoder().decode(answer) if isinstance(answer, bytes) else answer


@cache
def _batch_decoder() -> msgspec.msgpack.Decoder[SessionBatch]:
    """Made only when there are workers: a session that grew by a few lines is read in this process."""
    return msgpack_decoder(SessionBatch)


def take_packed(jobs: bytes) -> list[Packed | SourceError]:
    """Runs in a worker."""
    taken = ((_take_or_error(job), job.size) for job in pickle.loads(jobs))  # noqa: S301  ours
    return [answer if isinstance(answer, SourceError) else packed(answer, size) for answer, size in taken]


def packed(batch: SessionBatch, size: int) -> Packed:
    try:
        encoded = msgspec.msgpack.encode(batch)
    except UnicodeEncodeError:  # a file name that is not UTF-8; pickle can carry it
        return batch
    if size >= LARGE:  # the pipe copies it: with the batch still held, this would be the worker's peak memory
        del batch
        give_back_memory()
    return encoded


def _take_or_error(job: SessionJob) -> SessionBatch | SourceError:
    try:
        return take(job)
    except SourceError as problem:
        return problem
