"""Keeps a lake in order: proves what is in it, and gives space back."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import pyarrow as pa
from deltalake import DeltaTable
from msgspec import Struct

from reread.billing import Prices
from reread.errors import SourceError

from .counts import differing
from .delta import DeltaLake
from .query import LakeAnswers
from .storage import content_of, read_parquet
from .tables import CALL, FILE, REQUEST, RESPONSE, SESSION, SHARED, TABLES, WORDS

RETENTION_HOURS = 168
"""How long files that no version needs any more stay for whoever still reads: Delta's own week."""


class LakeProof(Struct, frozen=True, kw_only=True):
    """What of a lake was proved, and what is wrong with it."""

    rows: dict[str, int]
    files: int
    """Of the tables."""
    sources: int
    """Source files whose bytes are still those that were read."""
    damaged: list[str]

    @property
    def ok(self) -> bool:
        return not self.damaged


def verify(lake: DeltaLake, prices: Prices, *, with_sources: bool = False) -> LakeProof:
    """Reads every file of every table, holds the tables against each other, and counts usage again."""
    damaged: list[str] = []
    rows: dict[str, int] = {}
    files = 0
    for name in sorted(lake.versions):
        actions = pa.table(lake.table(name).get_add_actions(flatten=True)).to_pylist()
        rows[name] = 0
        for action in actions:
            files += 1
            rows[name] += action["num_records"] or 0
            damaged += _damage_of(lake, name, action["path"], action["num_records"])
    if not damaged:
        damaged += _contradictions(lake, prices)
    sources = 0
    for problem in _changed_sources(lake) if with_sources else ():
        sources += problem is None
        damaged += [problem] if problem is not None else []
    return LakeProof(rows=rows, files=files, sources=sources, damaged=damaged)


def _damage_of(lake: DeltaLake, table: str, path: str, rows: int | None) -> Iterator[str]:
    try:
        held = read_parquet(f"{lake.uri}/{table}/{path}").num_rows
    except (OSError, pa.ArrowException) as error:
        yield f"{table}/{path}: cannot be read ({str(error).partition(chr(10))[0]})"
        return
    if rows is not None and held != rows:
        yield f"{table}/{path}: holds {held:,} rows, the log says {rows:,}"


_LONE = "SELECT count(*) FROM {0} WHERE {1} NOT IN (SELECT key FROM {2})"
_CHECKS = {
    **{
        f"rows of {table} without their {other}": _LONE.format(f'"{table}"', other, other)
        for table in (REQUEST.name, CALL.name, WORDS.name)
        for other in (FILE.name, SESSION.name)
    },
    "responses that a file tells twice": "SELECT count(*) - count(DISTINCT (file, key)) FROM request",
    "sessions that are there twice": "SELECT count(*) - count(DISTINCT key) FROM session",
    "files that are there twice": "SELECT count(*) - count(DISTINCT key) FROM file",
}


def _contradictions(lake: DeltaLake, prices: Prices) -> Iterator[str]:
    with LakeAnswers.of(lake, prices) as answers:
        for about, statement in _CHECKS.items():
            number = answers.sql(statement)[1][0][0]
            if number:
                yield f"{number:,} {about}"
        if lake.last.get("prices") == prices.digest:
            yield from differing(lake, answers)


def _changed_sources(lake: DeltaLake) -> Iterator[str | None]:
    """None for each source file that still has the bytes that were read; what is gone is not the lake's fault."""
    rows = lake.rows(FILE.name, ["uri", "size", "sha256", "copy_of"]).to_pylist()
    for row in rows:
        try:
            content = content_of(row["uri"]) if row["copy_of"] is None else None
        except SourceError:
            continue
        if content is not None:
            is_same = sha256(content[: row["size"]]).hexdigest() == row["sha256"]
            yield None if is_same else f"{row['uri']}: is not what was read any more; build again"


def vacuum(lake: DeltaLake, *, hours: int = RETENTION_HOURS, compacts: bool = True) -> int:
    """Joins small files, and removes those that no version of the last hours needs; gives how many went."""
    lake.begin()
    if compacts:
        before = dict(lake.versions)
        for table in (*SHARED, RESPONSE):
            lake.compact(table.name)
        if lake.versions != before:
            lake.commit({"action": "vacuum"})
    removed = 0
    for name in TABLES:
        held = DeltaTable(f"{lake.uri}/{name}")
        removed += len(held.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True))
    return removed
