"""What a sync before an answer leaves for later, done from the safe, the newest first: words of tool results, friction.

Whoever calls holds the lock. A stop at any point costs nothing: what was written waits no longer, the rest still does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from reread.errors import SafeDamaged
from reread.index import findings, meta
from reread.index.database import transaction
from reread.index.read import StoredPiece
from reread.index.safe_reader import SafeLines
from reread.index.session_files import kept_session
from reread.index.text_index import indexable_bytes, text_at
from reread.index.words import (
    TextPlace,
    WaitingResults,
    pieces_with,
    places_of,
    waiting_bytes,
    waiting_results,
    write_words,
)
from reread.safe.safe import Safe
from reread.workers import in_order, in_shares, is_alone

from . import Progress, Report
from .extract import friction_from_safe, prepare_friction

SHARE = 2_000_000
"""Bytes of lines that are read together."""
AHEAD = 12
"""Shares that may be in the workers' hands, or done and not written: enough to keep them busy during a commit."""
COMMIT_AFTER = 16_000_000
"""Bytes of words per transaction, as many as a sync writes at once."""


class _FileTexts(NamedTuple):
    waiting: WaitingResults
    pieces: list[StoredPiece]
    places: list[TextPlace]

    @property
    def size(self) -> int:
        return sum(place.length for place in self.places)


class _Share(NamedTuple):
    """Texts of some files: all that a worker needs to know."""

    files: list[_FileTexts]
    safe: Path


def index_results(
    connection: sqlite3.Connection, safe: Safe, report: Report | None = None, sessions: Collection[int] | None = None
) -> None:
    """Indexes the tool results that a sync left for later, of some sessions or of all."""
    waiting = waiting_results(connection, sessions)
    total = sum(waiting_bytes(connection, each) for each in waiting)
    done: list[WaitingResults] = []
    words: list[tuple[int, bytes | None]] = []
    weight = read_bytes = 0
    for share, found in in_order(_words_of, _shares(connection, safe, waiting), AHEAD, total):
        done += [each.waiting for each in share.files]
        words += found
        weight += sum(len(said) for _, said in found if said is not None)
        read_bytes += sum(each.size for each in share.files)
        if weight >= COMMIT_AFTER:
            _write(connection, done, words)
            done, words, weight = [], [], 0
        if report is not None:
            report(Progress(read_bytes, total, 0, 0, phase="tool results"))
    if done:
        _write(connection, done, words)


def _write(connection: sqlite3.Connection, done: list[WaitingResults], words: list[tuple[int, bytes | None]]) -> None:
    with transaction(connection):
        write_words(connection, done, words)


def _shares(connection: sqlite3.Connection, safe: Safe, waiting: Iterable[WaitingResults]) -> Iterator[_Share]:
    files = (_texts_of(connection, each) for each in waiting)
    return (_Share(share, safe.folder) for share in in_shares(files, attrgetter("size"), SHARE))


def _texts_of(connection: sqlite3.Connection, waiting: WaitingResults) -> _FileTexts:
    places = places_of(connection, waiting)
    return _FileTexts(waiting, pieces_with(connection, waiting) if places else [], places)


def _words_of(share: _Share) -> list[tuple[int, bytes | None]]:
    """In a worker or not: what the index is told of each text; None for one that damage hides."""
    lines = SafeLines(Safe(share.safe))
    return [(place.id, _words(lines, file, place)) for file in share.files for place in file.places]


def _words(lines: SafeLines, file: _FileTexts, place: TextPlace) -> bytes | None:
    try:
        line = lines.line(file.pieces, place.offset, place.length)
    except SafeDamaged:
        return None
    found = text_at(file.waiting.kind, line, place.part) if len(line) == place.length else None
    return indexable_bytes(found.text, with_parts=False) if found is not None else None


def find_friction(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Path | None = None,
    report: Report | None = None,
    session: int | None = None,
    *,
    with_grown: bool = True,
) -> None:
    """Finds the moments that a sync left for later, of one session or of all, or of those alone of which none are
    known yet."""
    waiting = meta.waiting_for_friction(connection, with_grown=with_grown)
    waiting = [each for each in waiting if session in (None, each[0])]
    jobs = [kept_session(connection, safe, prices, *each) for each in waiting]
    total = sum(job.size for job in jobs)
    if not is_alone(total):
        prepare_friction()
    done = 0
    for position, (job, found) in enumerate(in_order(friction_from_safe, jobs, AHEAD, total), 1):
        number = waiting[position - 1][0]
        with transaction(connection):
            findings.replace_friction(connection, number, found)
        done += job.size
        if report is not None:
            report(Progress(done, total, position, len(jobs), phase="friction"))
