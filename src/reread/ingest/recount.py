"""Responses read again from the safe and held against the index, whose rows a hand or a flipped bit may change."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import NamedTuple

from reread.errors import printable
from reread.index import read as reading
from reread.index.rows import FileBatch, FileRow
from reread.index.session_files import SessionFileReader
from reread.sources import SessionFiles

from .extract import take
from .survey import FileJob, SessionJob

SAMPLE = 8_000_000
"""Bytes of sessions that are read again unless all are wanted: a third of a second."""


class Recounted(NamedTuple):
    responses: int
    wrong: list[str]
    """A sentence for each file whose rows are not what its bytes say."""


def recount(connection: sqlite3.Connection, files: SessionFileReader, prices: Path | None, *, deep: bool) -> Recounted:
    """Every response of all sessions, or of some that chance chooses; what has lost bytes is passed by."""
    found = reading.session_sizes(connection)
    total, wrong = 0, []
    for number, uuid, _ in found if deep else _sample(found):
        rows = reading.files_of(connection, number)
        if any(files.left_of(row).lost for row in rows):
            continue
        told = files.session_files(number, uuid)
        for batch in take(_job(told, rows, prices), files, is_kept=True).files:
            kept, read = reading.responses_told(connection, batch.key), _read(batch)
            total += len(read)
            if kept != read:
                count = sum(kept.get(key) != read.get(key) for key in kept.keys() | read.keys())
                wrong.append(f"index: {count} responses of {printable(batch.path)} are not what its lines say")
    return Recounted(total, wrong)


_Sized = list[tuple[int, str, int]]


def _sample(found: _Sized) -> _Sized:
    chosen: _Sized = []
    size = 0
    for session in random.sample(found, len(found)):
        if size < SAMPLE:
            chosen.append(session)
            size += session[2]
    return chosen


def _job(told: SessionFiles, rows: list[FileRow], prices: Path | None) -> SessionJob:
    by_path = {file.path: file for file in told.all}
    jobs = [
        FileJob(file=by_path[row.path], key=row.key, source=row.source, device=0, inode=0, generation=row.generation)
        for row in rows
        if row.path in by_path
    ]
    return SessionJob(files=told, changed=tuple(jobs), prices=prices)


def _read(batch: FileBatch) -> dict[str, tuple[object, ...]]:
    return {
        row.key: (batch.circumstances[row.circumstance].model, *(getattr(row, name) for name in reading.COUNTED))
        for row in batch.responses
    }
