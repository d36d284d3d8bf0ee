"""Maintains a lake: updates derived tables, verifies, forgets, and frees space.

A change affects only the responses in its files. Only those are settled, as they were before and as they are now, and
the difference is applied to the tables; whole numbers can be subtracted exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from reread import billing, errors
from reread.keys import session_mark
from reread.times import milliseconds

from .delta import DeltaLake, people_of, prefixes_of, put_people
from .plan import AGE, PLACE, SESSION_MARK, marks_above, place_mark
from .query import DAY_SUMS, LakeAnswers
from .storage import content_of, read_parquet
from .tables import (
    CALL,
    FILE,
    FORGOTTEN,
    FRICTION_DAY,
    REQUEST,
    RESPONSE,
    SESSION,
    SHARED,
    TABLES,
    USAGE_DAY,
    WORDS,
    arrow_table,
)

RETENTION_HOURS = 168
"""How long files that the latest version no longer needs are kept for readers of older versions: Delta's own week."""
_LONGEST_HOURS = 24 * 366 * 1000
"""Delta panics if it cannot count that far back; more hours than this mean everything."""


class LakeProof(Struct, frozen=True, kw_only=True):
    """How much of a lake was verified, and what is wrong with it."""

    rows: dict[str, int]
    files: int
    """How many files of the tables were read."""
    sources: int
    """How many source files still have the bytes that were read."""
    damaged: list[str]

    @property
    def ok(self) -> bool:
        return not self.damaged


def verify(lake: DeltaLake, prices: billing.Prices, *, with_sources: bool = False) -> LakeProof:
    """Reads every file of every table, compares the tables with each other, and counts usage again."""
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


def _contradictions(lake: DeltaLake, prices: billing.Prices) -> Iterator[str]:
    with LakeAnswers.of(lake, prices) as answers:
        for about, statement in _CHECKS.items():
            number = answers.sql(statement)[1][0][0]
            if number:
                yield f"{number:,} {about}"
        if lake.last.get("prices") == prices.digest:
            yield from differing(lake, answers)


def _changed_sources(lake: DeltaLake) -> Iterator[str | None]:
    """For each source file that still exists: None if it has the bytes that were read, else a sentence."""
    rows = lake.rows(FILE.name, ["uri", "size", "sha256"]).to_pylist()
    for row in rows:
        try:
            content = content_of(row["uri"]) if row["sha256"] is not None else None
        except errors.SourceError:
            continue
        if content is not None:
            is_same = sha256(content[: row["size"]]).hexdigest() == row["sha256"]
            yield None if is_same else f"{row['uri']}: is not what was read any more; build again"


def vacuum(lake: DeltaLake, *, hours: int = RETENTION_HOURS, compacts: bool = True) -> int:
    """Joins small files, and removes those that no version of the last `hours` needs; gives how many were removed."""
    lake.begin()
    if compacts:
        before = dict(lake.versions)
        for table in (*SHARED, RESPONSE):
            lake.compact(table.name)
        if lake.versions != before:
            lake.commit({"action": "vacuum"})
    removed = 0
    for name in TABLES:
        kept = min(hours, _LONGEST_HOURS)
        removed += len(lake.head(name).vacuum(kept, dry_run=False, enforce_retention_duration=False, full=True))
    return removed


class Chosen(Struct, frozen=True, kw_only=True):
    """What is to be forgotten."""

    ids: Sequence[str]
    """Ids of sessions, in any place."""
    person: str | None = None
    places: Sequence[str] = ()
    """Folders or addresses below which nothing is imported again."""
    before: datetime | None = None
    """Sessions that ended before this are not imported again."""


class LakeForgotten(Struct, frozen=True, kw_only=True):
    """How much was removed."""

    sessions: int
    files: int
    """Source files whose rows were removed."""
    rows: int
    files_removed: int
    """Files of the tables that were removed from the disk."""


def by_session(lake: DeltaLake, wanted: str) -> Chosen:
    """The session whose id begins with a text. Raises UnknownSession or AmbiguousSession."""
    ids: list[str] = sorted(set(lake.rows(SESSION.name, ["id"])["id"].to_pylist()))
    found = [name for name in ids if name == wanted] or [name for name in ids if wanted and name.startswith(wanted)]
    if len(found) > 1:
        raise errors.AmbiguousSession(wanted, found)
    if not found:
        raise errors.UnknownSession(wanted, (Path(lake.uri),))
    return Chosen(ids=found)


def by_person(lake: DeltaLake, name: str, prices: billing.Prices) -> Chosen:
    """Every session that has a file of a person. Raises `BadInput` for an unknown person."""
    places = prefixes_of(people_of(lake), name)
    with LakeAnswers.of(lake, prices) as answers:
        return Chosen(ids=answers.sessions_of(name), person=name, places=places)


def by_age(lake: DeltaLake, before: datetime) -> Chosen:
    """Every session that ended before a time."""
    rows = lake.rows(SESSION.name, ["id", "ended"]).filter(pc.field("ended") < before)
    return Chosen(ids=sorted(set(rows["id"].to_pylist())), before=before)


def forget(lake: DeltaLake, chosen: Chosen, prices: billing.Prices) -> LakeForgotten:
    """Removes what was chosen from every table and from the disk; no build imports it again."""
    ids = set(chosen.ids)
    of_session = lake.rows(SESSION.name, ["key", "id", "month"]).to_pylist()
    keys = {row["key"]: row["month"] for row in of_session if row["id"] in ids}
    files, copies = _files_of(lake, keys.keys(), chosen.places)
    before = sum(lake.count(table.name) for table in SHARED)
    lake.begin()
    with Recount(lake, prices) as recount:
        for table in (REQUEST, CALL, WORDS):
            lake.remove(table.name, "file", files)
        lake.remove(FILE.name, "key", files | copies)
        lake.remove(SESSION.name, "key", keys)
        recount.after(files.keys(), ())
    lake.append(FORGOTTEN.name, arrow_table(FORGOTTEN, list(_remembered(chosen))))
    if chosen.person is not None:
        put_people(lake, [each for each in people_of(lake) if each.person != chosen.person])
    lake.commit({"action": "forget", "sessions": len(keys), "prices": prices.digest})
    rows = before - sum(lake.count(table.name) for table in SHARED)
    removed = vacuum(lake, hours=0, compacts=False)
    return LakeForgotten(sessions=len(keys), files=len(files | copies), rows=rows, files_removed=removed)


def _files_of(lake: DeltaLake, sessions: Set[str], places: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The months of the files of sessions by key, and those of copies: of these files, or in these places."""
    known = lake.rows(FILE.name, ["key", "session", "uri", "copy_of", "month"]).to_pylist()
    files = {row["key"]: row["month"] for row in known if row["session"] in sessions}
    marks = {place_mark(place) for place in places}
    copied = [row for row in known if row["copy_of"] is not None]
    copies = [row for row in copied if row["copy_of"] in files or not marks.isdisjoint(marks_above(row["uri"]))]
    return files, {row["key"]: row["month"] for row in copies}


def _remembered(chosen: Chosen) -> Iterable[dict[str, Any]]:
    """The rows for `forgotten`, which have only digests, so that nothing about what was removed can be read there."""
    now = milliseconds(datetime.now(UTC))
    what = SESSION_MARK if chosen.before is None else AGE
    yield from ({"mark": session_mark(name), "what": what, "time": now} for name in chosen.ids)
    yield from ({"mark": place_mark(place), "what": PLACE, "time": now} for place in chosen.places)
    if chosen.before is not None:
        yield {"what": AGE, "before": milliseconds(chosen.before), "time": now}


_MOST_REPLACED = 50_000
"""If more rows than this change, the whole table is written again."""
_NUMBERS = [name for name, (kind, _) in USAGE_DAY.columns.items() if kind == pa.int64()]
_ADDED = f"""
SELECT day, project, model, {", ".join(f"sum({name})::BIGINT AS {name}" for name in _NUMBERS)} FROM (
    SELECT * FROM held
    UNION ALL BY NAME SELECT * FROM now
    UNION ALL BY NAME SELECT * REPLACE ({", ".join(f"-{name} AS {name}" for name in _NUMBERS)}) FROM past
) GROUP BY ALL HAVING sum(requests) > 0 ORDER BY day, project, model
"""  # noqa: S608  our own names


class Recount:
    """Brings derived tables up to date with a change. Open it before the change, because it needs the earlier state."""

    def __init__(self, lake: DeltaLake, prices: billing.Prices) -> None:
        self._lake, self._prices = lake, prices
        self._before = LakeAnswers.of(lake, prices)
        self._is_whole = lake.exists and lake.is_whole and lake.last.get("prices") == prices.digest

    def __enter__(self) -> Recount:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._before.__exit__(kind, error, at)

    def after(self, gone: Collection[str], new: Collection[str]) -> None:
        """Updates the tables after the rows of some source files (`gone`) were removed and those of others (`new`)
        added."""
        lake = self._lake
        with LakeAnswers.of(lake, self._prices) as answers:
            if not self._is_whole or not self._replace(answers, gone, new):
                lake.overwrite(RESPONSE.name, answers.responses())
                lake.overwrite(USAGE_DAY.name, usage_by_day(lake.dataset(RESPONSE.name)))
            lake.overwrite(FRICTION_DAY.name, answers.friction_by_day())

    def _replace(self, answers: LakeAnswers, gone: Collection[str], new: Collection[str]) -> bool:
        """Applies only the differences; False if they are so many that it is better to write the table again."""
        keys = pa.concat_tables([self._before.keys_in_files(gone), answers.keys_in_files(new)])
        with self._before.restricted_to(keys) as then, answers.restricted_to(keys) as now:
            old, fresh = _differences(then.responses().read_all(), now.responses().read_all())
        if old.num_rows > _MOST_REPLACED:
            return False
        lake = self._lake
        if old.num_rows:
            self._take_out(old)
        if fresh.num_rows:
            lake.append(RESPONSE.name, fresh)
        if old.num_rows or fresh.num_rows:
            held = lake.rows(USAGE_DAY.name).select(USAGE_DAY.schema.names)
            sums = _selected(_ADDED, held=held, now=usage_by_day(fresh), past=usage_by_day(old))
            lake.overwrite(USAGE_DAY.name, sums.cast(USAGE_DAY.schema))
        return True

    def _take_out(self, old: pa.Table) -> None:
        """Removes rows by the files that own them, then adds the other rows of those files again. Delta's log records
        the values by which rows are removed: it may keep the digest of a file, but not the id of a response that is to
        be forgotten."""
        lake = self._lake
        stays = _selected(
            f"""SELECT {", ".join(RESPONSE.columns)} FROM kept
                WHERE file IN (SELECT file FROM past) AND key NOT IN (SELECT key FROM past)""",  # noqa: S608
            kept=lake.dataset(RESPONSE.name),
            past=old,
        )
        months = zip(old["file"].to_pylist(), old["month"].to_pylist(), strict=True)
        lake.remove(RESPONSE.name, "file", dict(months))
        if stays.num_rows:
            lake.append(RESPONSE.name, stays.cast(RESPONSE.schema))


def _selected(statement: str, **tables: object) -> pa.Table:
    """The rows that a SELECT gives of tables, by their names."""
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            connection.register(name, rows)
        return connection.sql(statement).to_arrow_table()


def _differences(then: pa.Table, now: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows that are gone, and those that are new."""
    columns = ", ".join(RESPONSE.columns)
    without = f"SELECT {columns} FROM one EXCEPT SELECT {columns} FROM other"  # noqa: S608  our own names
    one, other = _selected(without, one=then, other=now), _selected(without, one=now, other=then)
    return one.cast(RESPONSE.schema), other.cast(RESPONSE.schema)


def usage_by_day(responses: object) -> pa.Table:
    """The rows of `usage_day` for some rows of `response`."""
    told = "(SELECT * REPLACE (make_timestamp(epoch_us(time)) AS time) FROM kept)"
    return _selected(DAY_SUMS.format(told), kept=responses).cast(USAGE_DAY.schema)


def differing(lake: DeltaLake, answers: LakeAnswers) -> Iterator[str]:
    """Which derived tables do not match the tables they are made from."""
    columns = ", ".join(RESPONSE.columns)
    apart = f"SELECT {columns} FROM one EXCEPT ALL SELECT {columns} FROM other LIMIT 1"  # noqa: S608  our own names
    now, kept = answers.responses().read_all(), lake.dataset(RESPONSE.name)
    if _selected(apart, one=now, other=kept).num_rows or _selected(apart, one=kept, other=now).num_rows:
        yield "response is not what its requests come to"
    for table, made, source in (
        (USAGE_DAY, answers.usage_by_day(), "requests"),
        (FRICTION_DAY, answers.friction_by_day(), "sessions"),
    ):
        held = lake.rows(table.name).select(table.schema.names)
        if sorted(map(repr, held.to_pylist())) != sorted(map(repr, made.to_pylist())):
            yield f"{table.name} is not what its {source} come to"
