"""Counts usage straight from the sources before a first sync has imported them, so that figures come at once.

Nothing is written. Files that the archive already has are included, and a response in several files counts once, by the
same rules as in the ledger.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from io import FileIO
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import force_setattr

from reread import billing, records, sessions, sources
from reread.billing import Prices
from reread.billing.report import added_columns, columns_of
from reread.billing.response import Response, settle_all
from reread.billing.scan import scan
from reread.changes import EDGE, head_of
from reread.errors import SourceError
from reread.index import read as reading
from reread.index.ledger import quarter, responses_elsewhere
from reread.index.rows import FileKeys
from reread.rows.groups import grouped
from reread.sources import FileKind, SourceFile, opens_array
from reread.workers import in_shares, is_alone, is_safe_to_fork, share_out, worker_pool

_SHARE = 2_000_000
"""Source bytes that a worker takes at a time: few enough to share the work evenly."""


class Behind(NamedTuple):
    """A transcript that is new, or has changed since it was imported."""

    key: str
    location: str
    size: int
    mtime_ns: int


def behind(connection: sqlite3.Connection, machine: str, places: Iterable[Path]) -> list[Behind]:
    """Transcripts that a sync would read. Sources that cannot be read are left to the sync, which reports them."""
    keys = FileKeys(machine, reading.known_files(connection, machine).values())
    forgotten = reading.forgotten(connection)
    found: dict[str, Behind] = {}
    problems: list[SourceError] = []
    for place in places:
        for file in _found(place, problems):
            row = keys.row(file.location)
            is_known = row is not None and (row.size, row.mtime_ns) == (file.size, file.mtime_ns)
            is_known = is_known or bool(forgotten and forgotten.keys() & keys.ever_of(file.location))
            if file.kind in (FileKind.TRANSCRIPT, FileKind.SUBAGENT) and not is_known:
                key = keys.of(file.location)
                found[key] = Behind(key, file.location, file.size, file.mtime_ns)
    return list(found.values())


def _found(place: Path, problems: list[SourceError]) -> Iterator[SourceFile]:
    try:
        yield from sources.find(place, problems=problems)
    except SourceError as problem:
        problems.append(problem)


class CountedAhead(NamedTuple):
    cells: list[tuple[Any, ...]]
    """As `usage_sums.cells` returns them."""
    lines: int
    """The number of lines with usage; other lines are not looked at, even if they are broken."""


def count(files: Sequence[Behind], connection: sqlite3.Connection, prices: Prices) -> CountedAhead:
    """The usage of the archive as it will be once these files are imported."""
    known = responses_elsewhere(connection, {file.key for file in files})
    # Large files first, so that none keeps one worker busy when the others are done.
    ordered = sorted(files, key=lambda file: -file.size)
    responses = list(settle_all(chain(known, chain.from_iterable(_read(ordered, prices))), prices.priced))
    return CountedAhead(_cells(responses), sum(each.rows for each in responses))


def _cells(responses: Iterable[Response]) -> list[tuple[Any, ...]]:
    by_place = grouped(responses, lambda each: (quarter(each.time), each.model or ""))
    return [(*place, *added_columns(map(columns_of, by_place[place]))) for place in sorted(by_place)]


class _FileUsage(NamedTuple):
    responses: list[Response]
    doubtful: list[str]
    """Keys of files that a scan of their bytes cannot count. The code that reads them in full takes longer to import
    than most of them take to read, so one process reads them all unless they are many."""


def _read(files: Sequence[Behind], prices: Prices) -> Iterator[list[Response]]:
    doubtful: set[str] = set()
    for usage in _on_all_processors(_scanned, files, prices):
        yield usage.responses
        doubtful.update(usage.doubtful)
    if doubtful:
        left = [file for file in files if file.key in doubtful]
        yield from (told.responses for told in _on_all_processors(_read_in_full, left, prices))


_Reader = Callable[[Iterable[Behind], Prices], _FileUsage]


def _on_all_processors(reader: _Reader, files: Sequence[Behind], prices: Prices) -> list[_FileUsage]:
    if is_alone(sum(job.size for job in files)):
        return [reader(files, prices)]
    shares = list(in_shares(files, attrgetter("size"), _SHARE))
    if is_safe_to_fork():
        return share_out(
            len(shares),
            lambda numbers: reader(chain.from_iterable(shares[number] for number in numbers), prices),
            _encode,
            _decode,
        )
    with worker_pool() as pool:
        return list(map(_decode, pool.map(partial(_encoded, reader, price_file=prices.user_file), shares)))


def _encoded(reader: _Reader, files: list[Behind], price_file: Path | None) -> bytes:
    return _encode(reader(files, billing.load_prices(price_file)))


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_FileUsage).decode


def _scanned(files: Iterable[Behind], prices: Prices) -> _FileUsage:
    """The usage found by scanning bytes. Files that cannot be read are left to the sync, which reports them."""
    found = _FileUsage([], [])
    for job in files:
        try:
            with FileIO(job.location) as file:  # a fifth faster than through a path and a buffer
                content = file.read()
        except OSError:
            continue
        responses = None if opens_array(content) else scan(content, job.key, head_of(content))
        if responses is None:
            found.doubtful.append(job.key)
            continue
        _price(responses, prices)
        found.responses.extend(responses)
    return found


def _read_in_full(files: Iterable[Behind], prices: Prices) -> _FileUsage:
    found = _FileUsage([], [])
    for job in files:
        try:
            with Path(job.location).open("rb") as file:
                head = head_of(file.read(EDGE))
            lines = list(sources.read(Path(job.location)))
        except (OSError, SourceError):
            continue
        told_by = [record for line in lines for record in records.decode_all(line.raw, line.number, line.offset)]
        is_stream = any(record.type == "stream_event" for record in told_by)
        requests = sessions.requests_in(sessions.with_final_counts(told_by) if is_stream else told_by)
        told = sessions.responses_in(job.key, requests, sessions.scope_of(told_by), head)
        responses = [response for _, response in told]
        _price(responses, prices)
        found.responses.extend(responses)
    return found


def _price(responses: Iterable[Response], prices: Prices) -> None:
    for each in responses:  # changed in place: nothing else refers to them yet, and a copy would cost time
        force_setattr(each, "nanodollars", prices.cost(each, each.model, each.time))
