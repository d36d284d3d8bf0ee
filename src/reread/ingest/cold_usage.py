"""Usage straight from the sources, for the time before a first sync has taken them in: numbers answer at once.

Nothing is written. What the archive already holds of other files counts with it, and a response that stands in several
files counts once, by the same rules as in the ledger.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from reread import sources
from reread.billing import Prices, load_prices
from reread.billing.response import Response
from reread.billing.scan import scan
from reread.billing.settle import settle_all
from reread.errors import SourceError
from reread.index import read as reading
from reread.index.ledger import quarter, told_elsewhere
from reread.index.machines import names_of
from reread.index.rows import FileKeys
from reread.loading import read
from reread.sessions import Conversation, scope_of, told_in, with_final_counts
from reread.sources import FileKind, SourceFile, opens_array

from .extract import ALONE_BELOW, worker_pool
from .survey import EDGE, digest

_SHARE = 12_000_000
"""Source bytes a worker gets at a time: enough to make the pipe cheap, little enough to share the work evenly."""


class Behind(NamedTuple):
    """A transcript the archive does not know as it is now."""

    key: str
    path: Path
    size: int
    mtime_ns: int


def behind(connection: sqlite3.Connection, machine: str, places: Iterable[Path]) -> list[Behind]:
    """Transcripts that a sync would read. What cannot be found is left to the sync, which will say so."""
    rows = reading.known_files(connection, machine).values()
    keys = FileKeys(machine, names_of(connection, machine), rows)
    known = {row.key: (row.size, row.mtime_ns) for row in rows}
    forgotten = reading.forgotten(connection)
    found: dict[str, Behind] = {}
    problems: list[SourceError] = []
    for place in places:
        for file in _found(place, problems):
            key = keys.of(file.location)
            is_known = known.get(key) == (file.size, file.mtime_ns) or forgotten.keys() & keys.ever_of(file.location)
            if file.kind in (FileKind.TRANSCRIPT, FileKind.SUBAGENT) and not is_known:
                found[key] = Behind(key, file.path, file.size, file.mtime_ns)
    return list(found.values())


def _found(place: Path, problems: list[SourceError]) -> Iterator[SourceFile]:
    try:
        yield from sources.find(place, problems=problems)
    except SourceError as problem:
        problems.append(problem)


class CountedAhead(NamedTuple):
    cells: list[tuple[Any, ...]]
    """As `store.usage_cells` gives them."""
    lines: int
    """Those that tell of usage; the others are not looked at, nor whether they are broken."""


def count(files: Sequence[Behind], connection: sqlite3.Connection, prices: Prices) -> CountedAhead:
    """The usage of the archive as it will be once these files are in it."""
    known = told_elsewhere(connection, {file.key for file in files})
    # The newest files are mostly the largest: begun first, they do not keep one worker busy when the others are done.
    ordered = sorted(files, key=lambda file: -file.size)
    # Looked at as they come: while one worker reads the last share, the other's processor has nothing to do.
    responses = list(settle_all(chain(known, chain.from_iterable(_read(ordered, prices.user_file))), prices))
    return CountedAhead(_cells(responses), sum(each.rows for each in responses))


def _cells(responses: Iterable[Response]) -> list[tuple[Any, ...]]:
    sums: dict[tuple[int, str], list[Any]] = {}
    for each in responses:
        place = (quarter(each.time), each.model or "")
        found = sums.get(place)
        if found is None:
            found = sums[place] = [0, 0, 0, 0, 0, 0, 0, None, 0, 0, 0, 0, each.time, each.time]
        found[0] += 1
        found[1] += each.input
        found[2] += each.output
        found[3] += each.cache_read
        found[4] += each.cache_write_5m
        found[5] += each.cache_write_1h
        found[6] += each.web_searches
        if each.nanodollars is not None:
            found[7] = (found[7] or 0) + each.nanodollars
        else:
            found[8] += each.total
        if each.rows > 1:  # comparing by hand saves a quarter of this loop: it runs for every response
            found[9] += each.rows - 1
        if each.doubt:
            found[10] += each.doubt == 2
            found[11] += each.doubt == 1
        if each.time is not None:
            if found[12] is None or each.time < found[12]:
                found[12] = each.time
            if found[13] is None or each.time > found[13]:
                found[13] = each.time
    return [(*place, *found) for place, found in sorted(sums.items())]


def _read(files: Sequence[Behind], price_file: Path | None) -> Iterator[list[Response]]:
    if sum(job.size for job in files) < ALONE_BELOW or (os.cpu_count() or 1) == 1:
        yield _told(files, price_file)
        return
    with worker_pool() as pool:
        yield from map(_decode, pool.map(_told_encoded, _shares(files), repeat(price_file)))


def _shares(files: Iterable[Behind]) -> Iterator[list[Behind]]:
    share: list[Behind] = []
    size = 0
    for job in files:
        share.append(job)
        size += job.size
        if size >= _SHARE:
            yield share
            share, size = [], 0
    if share:
        yield share


def _told_encoded(files: list[Behind], price_file: Path | None) -> bytes:
    return msgspec.msgpack.encode(_told(files, price_file))


_decode = msgspec.msgpack.Decoder(list[Response]).decode


def _told(files: Iterable[Behind], price_file: Path | None) -> list[Response]:
    """What cannot be read is left to the sync, which will say so."""
    prices = load_prices(price_file)
    found: list[Response] = []
    for job in files:
        try:
            content = job.path.read_bytes()
            head = digest(content[:EDGE]).hex()
            responses = None if opens_array(content) else scan(content, job.key, head)
            records = tuple(read(job.path)) if responses is None else ()
        except (OSError, SourceError):
            continue
        if responses is None:
            requests = Conversation(with_final_counts(records), id="").requests
            responses = [response for _, response in told_in(job.key, requests, scope_of(records), head)]
        found += (replace(each, nanodollars=prices.cost(each, each.model, each.time)) for each in responses)
    return found
