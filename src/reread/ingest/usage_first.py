"""Usage before everything else: on a first sync the numbers answer long before all text is indexed.

Only lines that hold usage are decoded. The full pass writes the same rows again, with everything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec

from reread import sources
from reread.errors import SourceError
from reread.pricing import packaged_prices
from reread.records import Assistant, decode_all
from reread.sessions import reply_groups, requests_of
from reread.sources import Kind
from reread.store.rows import RequestRow, UsageBatch

from .extract import request_rows
from .jobs import FileJob, SessionJob
from .workers import ALONE_BELOW, prepare_worker

_SHARE = 12_000_000
"""Source bytes a worker gets at a time: enough to make the pipe cheap, little enough to share the work evenly."""


def usage_batches(jobs: Sequence[SessionJob]) -> Iterator[list[UsageBatch]]:
    """The requests of every changed transcript, in shares of about equal size."""
    files = [job for each in jobs for job in each.changed if job.file.kind in (Kind.TRANSCRIPT, Kind.SUBAGENT)]
    if sum(job.file.size for job in files) < ALONE_BELOW or (os.cpu_count() or 1) == 1:
        yield _read_all(files)
        return
    with ProcessPoolExecutor(os.cpu_count() or 1, initializer=prepare_worker, initargs=(os.getpid(),)) as pool:
        for answer in pool.map(_read_encoded, _shares(files)):
            yield _decode(answer) if isinstance(answer, bytes) else answer


def _shares(files: Iterable[FileJob]) -> Iterator[list[FileJob]]:
    share: list[FileJob] = []
    size = 0
    for job in files:
        share.append(job)
        size += job.file.size
        if size >= _SHARE:
            yield share
            share, size = [], 0
    if share:
        yield share


def _read_encoded(files: list[FileJob]) -> bytes | list[UsageBatch]:
    found = _read_all(files)
    try:
        return msgspec.msgpack.encode(found)
    except UnicodeEncodeError:  # a file name that is no UTF-8; pickle takes it
        return found


_decode = msgspec.msgpack.Decoder(list[UsageBatch]).decode


def _read_all(files: list[FileJob]) -> list[UsageBatch]:
    """What cannot be read is left to the full pass, which will say so."""
    found = []
    for job in files:
        try:
            rows = _requests(job)
        except SourceError:
            continue
        file = job.file
        found.append(
            UsageBatch(
                is_rewritten=job.is_rewritten,
                key=job.key,
                source=job.source,
                path=str(file.path),
                kind=file.kind.value,
                requests=rows,
            )
        )
    return found


def _requests(job: FileJob) -> list[RequestRow]:
    lines = (line.raw for line in sources.read(job.file.path) if b'"usage"' in line.raw)
    replies = (record for line in lines for record in decode_all(line) if isinstance(record, Assistant))
    prices = packaged_prices()
    return [row for request in requests_of(reply_groups(replies)) for row in request_rows(request, prices)]
