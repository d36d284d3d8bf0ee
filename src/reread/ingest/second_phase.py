"""Does from the safe what a quick sync left for later, newest sessions first: words of tool results, and friction.

A session for which both wait is read once for both. The caller holds the lock. It may be stopped at any time: what was
written no longer waits, the rest still does.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from reread.errors import SafeDamaged
from reread.index import findings, meta, read
from reread.index.database import transaction
from reread.index.read import StoredPiece
from reread.index.rows import FrictionBatch
from reread.index.safe_reader import SafeLines
from reread.index.session_files import DiskAndSafe, KeptSession, kept_session
from reread.index.text_index import indexable_bytes, text_at, text_in
from reread.index.words import (
    TextPlace,
    WaitingResults,
    pieces_with,
    places_of,
    waiting_bytes,
    waiting_results,
    write_words,
)
from reread.records import Record
from reread.rows.groups import grouped
from reread.safe.safe import Safe
from reread.sources import SourceFile
from reread.workers import in_order, in_shares, is_alone

from . import Progress, Report
from .extract import friction_of, prepare_friction

SHARE = 2_000_000
"""Bytes that a worker reads at a time."""
AHEAD = 12
"""Shares that may be with the workers, or done and not yet written: enough to keep workers busy during a commit."""
COMMIT_AFTER = 16_000_000
"""Bytes of words per transaction, as many as in a sync: each transaction makes a separate segment of the index."""
READ_AT_MOST = 64_000_000
"""The most bytes read for a transaction, however few words they give: a second's work, which a kill would lose."""

Words = list[tuple[int, bytes | None]]
"""The words to index for each block; None for a text that cannot be read because of damage."""


class _FileTexts(NamedTuple):
    waiting: WaitingResults
    pieces: list[StoredPiece]
    places: list[TextPlace]

    @property
    def size(self) -> int:
        return sum(place.length for place in self.places)


class _Left(NamedTuple):
    """The work that waits for a session with friction to find, or for a file: all that a worker needs to know."""

    texts: list[_FileTexts]
    session: KeptSession | None
    """None if no friction is to be found."""
    number: int
    safe: Path

    @property
    def size(self) -> int:
        return self.session.size if self.session is not None else sum(each.size for each in self.texts)


class _Found(NamedTuple):
    words: Words
    friction: FrictionBatch | None


def finish(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Path | None = None,
    report: Report | None = None,
    *,
    with_grown: bool = True,
) -> None:
    """Does everything that waits; `with_grown=False` leaves out friction of sessions that were searched before."""
    sessions = meta.waiting_for_friction(connection, with_grown=with_grown)
    _work_off(connection, safe, prices, waiting_results(connection), sessions, report)


def index_results(
    connection: sqlite3.Connection, safe: Safe, report: Report | None = None, sessions: Collection[int] | None = None
) -> None:
    """Indexes the tool results that a sync left for later, of some sessions or of all."""
    _work_off(connection, safe, None, waiting_results(connection, sessions), [], report)


def find_friction(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Path | None = None,
    report: Report | None = None,
    session: int | None = None,
) -> None:
    """Finds the friction that a sync left for later, of one session or of all."""
    waiting = [each for each in meta.waiting_for_friction(connection) if session in (None, each[0])]
    _work_off(connection, safe, prices, [], waiting, report)


def _work_off(
    connection: sqlite3.Connection,
    safe: Safe,
    prices: Path | None,
    results: Iterable[WaitingResults],
    sessions: Iterable[tuple[int, str]],
    report: Report | None,
) -> None:
    waits = _Waits(connection, safe, prices, results, dict(sessions))
    total = waits.size
    if waits.names and not is_alone(total):
        prepare_friction()
    done: list[tuple[_Left, _Found]] = []
    weight = unwritten = read_bytes = known = 0
    for share, found in in_order(_find, in_shares(waits.left(), attrgetter("size"), SHARE), AHEAD, total):
        done += zip(share, found, strict=True)
        weight += sum(len(said) for each in found for _, said in each.words if said is not None)
        size = sum(each.size for each in share)
        unwritten += size
        read_bytes += size
        known += sum(each.session is not None for each in share)
        if weight >= COMMIT_AFTER or unwritten >= READ_AT_MOST:
            _write(connection, done)
            done, weight, unwritten = [], 0, 0
        if report is not None:
            report(Progress(read_bytes, total, known, len(waits.names), phase=waits.phase))
    if done:
        _write(connection, done)


class _Waits:
    """The work that waits, by session; `names` has the sessions whose friction is to be found."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        safe: Safe,
        prices: Path | None,
        results: Iterable[WaitingResults],
        names: dict[int, str],
    ) -> None:
        self._connection = connection
        self._safe = safe
        self._prices = prices
        self._results = grouped(results, lambda each: each.session)
        self._sizes = read.sizes_of(connection, {*names, *self._results})
        self.names = names

    @property
    def phase(self) -> str:
        """A name for the progress bar, kept short."""
        if not self.names:
            return "tool results"
        return "results and friction" if self._results else "friction"

    @property
    def size(self) -> int:
        """The bytes of the sessions that are read whole, and of the lines that are read of others."""
        lines = (each for number, waiting in self._results.items() if number not in self.names for each in waiting)
        return sum(self._sizes[number] for number in self.names) + sum(
            waiting_bytes(self._connection, each) for each in lines
        )

    def left(self) -> Iterator[_Left]:
        """The newest session first, files of no session last; file by file if the session is not read whole."""
        for number in dict.fromkeys((*self._sizes, *self._results)):
            texts = (_texts_of(self._connection, each) for each in self._results.get(number, ()))
            if number in self.names:
                session = kept_session(self._connection, self._safe, self._prices, number, self.names[number])
                yield _Left(list(texts), session, number, self._safe.folder)
            else:
                yield from (_Left([each], None, number, self._safe.folder) for each in texts)


def _texts_of(connection: sqlite3.Connection, waiting: WaitingResults) -> _FileTexts:
    places = places_of(connection, waiting)
    return _FileTexts(waiting, pieces_with(connection, waiting) if places else [], places)


def _write(connection: sqlite3.Connection, done: Sequence[tuple[_Left, _Found]]) -> None:
    with transaction(connection):
        waited = [each.waiting for left, _ in done for each in left.texts]
        write_words(connection, waited, [each for _, found in done for each in found.words])
        for left, found in done:
            if found.friction is not None:
                findings.replace_friction(connection, left.number, found.friction)


def _find(share: list[_Left]) -> list[_Found]:
    """Runs in a worker or in this process."""
    lines = SafeLines(Safe(share[0].safe))
    return [_found(left, lines) for left in share]


def _found(left: _Left, lines: SafeLines) -> _Found:
    if left.session is None:
        return _Found(_words_of(left, lines, {}), None)
    reader = _ListeningReader(left.session, left.texts)
    friction = friction_of(left.session.load(reader))
    return _Found(_words_of(left, lines, reader.told), friction)


class _ListeningReader(DiskAndSafe):
    """Collects the words of waiting texts while a session is read; proved by CRC only, like the lines of a match."""

    def __init__(self, session: KeptSession, texts: Iterable[_FileTexts]) -> None:
        super().__init__(session.safe, session.pieces, hashed=False)
        self.told: dict[int, bytes] = {}
        """Words by the id of their block."""
        self._places: dict[str, dict[int, list[TextPlace]]] = {}
        for file in texts:
            by_offset = self._places.setdefault(file.waiting.location, {})
            for place in file.places:
                by_offset.setdefault(place.offset, []).append(place)

    def records(self, file: SourceFile) -> Iterator[Record]:
        waiting = self._places.get(file.location, {})
        for record in super().records(file):
            for place in waiting.get(record.offset, ()):
                found = text_in(record, place.part) if len(record.raw) == place.length else None
                if found is not None:
                    self.told[place.id] = indexable_bytes(found.text, with_parts=False)
            yield record


def _words_of(left: _Left, lines: SafeLines, words: dict[int, bytes]) -> Words:
    """Texts that did not occur while the session was read are read separately: spilled outputs, captures."""
    return [
        (place.id, words[place.id] if place.id in words else _words(lines, file, place))
        for file in left.texts
        for place in file.places
    ]


def _words(lines: SafeLines, file: _FileTexts, place: TextPlace) -> bytes | None:
    try:
        line = lines.line(file.pieces, place.offset, place.length)
    except SafeDamaged:
        return None
    found = text_at(file.waiting.kind, line, place.part) if len(line) == place.length else None
    return indexable_bytes(found.text, with_parts=False) if found is not None else None
