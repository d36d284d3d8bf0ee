"""Keeps the tables that are made of others: `response`, `usage_day` and `friction_day`.

A change touches the responses that its files tell. Those alone are settled, as they were and as they are now, and the
difference goes into the tables: whole numbers can be taken off again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from types import TracebackType

import duckdb
import pyarrow as pa

from reread.billing import Prices

from .delta import DeltaLake
from .query import DAY_SUMS, LakeAnswers
from .tables import FRICTION_DAY, RESPONSE, USAGE_DAY

_MOST_REPLACED = 50_000
"""Rows that are taken out one by one; more of them are made anew with all others."""
_NUMBERS = [name for name, (kind, _) in USAGE_DAY.columns.items() if kind == pa.int64()]
_ADDED = f"""
SELECT day, project, model, {", ".join(f"sum({name})::BIGINT AS {name}" for name in _NUMBERS)} FROM (
    SELECT * FROM held
    UNION ALL BY NAME SELECT * FROM now
    UNION ALL BY NAME SELECT * REPLACE ({", ".join(f"-{name} AS {name}" for name in _NUMBERS)}) FROM past
) GROUP BY ALL HAVING sum(requests) > 0 ORDER BY day, project, model
"""  # noqa: S608  our own names


class Recount:
    """Brings the tables up to date with a change. Opened before it, to know how things were."""

    def __init__(self, lake: DeltaLake, prices: Prices) -> None:
        self._lake, self._prices = lake, prices
        self._before = LakeAnswers.of(lake, prices)
        self._is_whole = lake.exists and lake.is_whole and lake.last.get("prices") == prices.digest

    def __enter__(self) -> Recount:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._before.__exit__(kind, error, at)

    def after(self, gone: Collection[str], new: Collection[str]) -> None:
        """After the rows of some source files went, and those of others came."""
        lake = self._lake
        with LakeAnswers.of(lake, self._prices) as answers:
            if not self._is_whole or not self._replace(answers, gone, new):
                lake.overwrite(RESPONSE.name, answers.responses())
                lake.overwrite(USAGE_DAY.name, usage_by_day(lake.table(RESPONSE.name).to_pyarrow_dataset()))
            lake.overwrite(FRICTION_DAY.name, answers.friction_by_day())

    def _replace(self, answers: LakeAnswers, gone: Collection[str], new: Collection[str]) -> bool:
        """Only what differs; False where that is so much that all may as well be made anew."""
        keys = pa.concat_tables([self._before.keys_told_by(gone), answers.keys_told_by(new)])
        with self._before.only(keys) as then, answers.only(keys) as now:
            old, fresh = _differences(_table(then), _table(now))
        if old.num_rows > _MOST_REPLACED:
            return False
        lake = self._lake
        if old.num_rows:
            self._take_out(old)
        if fresh.num_rows:
            lake.append(RESPONSE.name, fresh)
        if old.num_rows or fresh.num_rows:
            with duckdb.connect() as connection:
                held = lake.rows(USAGE_DAY.name).select(USAGE_DAY.schema.names)
                for name, rows in (("held", held), ("now", usage_by_day(fresh)), ("past", usage_by_day(old))):
                    connection.register(name, rows)
                lake.overwrite(USAGE_DAY.name, connection.sql(_ADDED).to_arrow_table().cast(USAGE_DAY.schema))
        return True

    def _take_out(self, old: pa.Table) -> None:
        """By the files that own them, and what else these own put back: Delta's log names what a row is removed by, and
        may keep the digest of a file, but not the id of a response that is to be forgotten."""
        lake = self._lake
        with duckdb.connect() as connection:
            connection.register("kept", lake.table(RESPONSE.name).to_pyarrow_dataset())
            connection.register("past", old)
            stays = connection.sql(
                f"""SELECT {", ".join(RESPONSE.columns)} FROM kept
                    WHERE file IN (SELECT file FROM past) AND key NOT IN (SELECT key FROM past)"""  # noqa: S608
            ).to_arrow_table()
        months = zip(old["file"].to_pylist(), old["month"].to_pylist(), strict=True)
        lake.remove(RESPONSE.name, "file", dict(months))
        if stays.num_rows:
            lake.append(RESPONSE.name, stays.cast(RESPONSE.schema))


def _table(answers: LakeAnswers) -> pa.Table:
    return answers.responses().read_all()


def _differences(then: pa.Table, now: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The rows that are no more, and those that are new."""
    with duckdb.connect() as connection:
        for name, rows in (("past", then), ("now", now)):
            connection.register(name, rows)
        columns = ", ".join(RESPONSE.columns)
        one, other = (
            connection.sql(f"SELECT {columns} FROM {a} EXCEPT SELECT {columns} FROM {b}").to_arrow_table()  # noqa: S608
            for a, b in (("past", "now"), ("now", "past"))
        )
    return one.cast(RESPONSE.schema), other.cast(RESPONSE.schema)


def usage_by_day(responses: object) -> pa.Table:
    """The rows of `usage_day` that some rows of `response` come to."""
    with duckdb.connect() as connection:
        connection.register("kept", responses)
        connection.execute("CREATE VIEW told AS SELECT * REPLACE (make_timestamp(epoch_us(time)) AS time) FROM kept")
        return connection.sql(DAY_SUMS.format("told")).to_arrow_table().cast(USAGE_DAY.schema)


def differing(lake: DeltaLake, answers: LakeAnswers) -> Iterator[str]:
    """Which of the tables are not what they are made of."""
    with duckdb.connect() as connection:
        connection.register("now", answers.responses().read_all())
        connection.register("kept", lake.table(RESPONSE.name).to_pyarrow_dataset())
        columns = ", ".join(RESPONSE.columns)
        for one, other in (("now", "kept"), ("kept", "now")):
            apart = f"SELECT {columns} FROM {one} EXCEPT ALL SELECT {columns} FROM {other} LIMIT 1"  # noqa: S608
            if connection.sql(apart).fetchall():
                yield "response is not what its requests come to"
                break
    for table, made, source in (
        (USAGE_DAY, answers.usage_by_day(), "requests"),
        (FRICTION_DAY, answers.friction_by_day(), "sessions"),
    ):
        held = lake.rows(table.name).select(table.schema.names)
        if sorted(map(repr, held.to_pylist())) != sorted(map(repr, made.to_pylist())):
            yield f"{table.name} is not what its {source} come to"
