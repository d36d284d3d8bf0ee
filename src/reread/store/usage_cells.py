"""The ledger added up by quarter of an hour and model: what a report of days, months or blocks reads.

The sums are only ever a copy. While a sync has not brought them up to date, the ledger itself is asked.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from .database import transaction

QUARTER_MS = 900_000
NO_QUARTER = -1
"""Of responses without a time, or with one before 1970, which no client can mean."""
IN_QUARTER = "CASE WHEN time >= 0 THEN time / 900000 ELSE -1 END"
"""The quarter of a response; the same as `ledger.quarter`."""
_MANY = 500
"""From so many changed quarters on, adding everything up again is the shorter way: 0.2 s per 100,000 responses."""

PARTS = ("response_in_one_file", "response_in_several_files")
"""Together they are `response`; of their union SQLite would make a table before it adds anything up."""
SUMS = """count(*), sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),
    sum(response.web_searches), sum(nanodollars),
    sum(CASE WHEN nanodollars IS NULL
        THEN input + output + cache_read + cache_write_5m + cache_write_1h ELSE 0 END),
    sum(max(rows - 1, 0)), sum(doubt = 2), sum(doubt = 1), min(time), max(time)"""
"""The columns of a cell after its key, over rows of `response`."""

_SUMS_OF_CELLS = """sum(requests), sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h),
    sum(web_searches), sum(nanodollars), sum(unpriced), sum(duplicates), sum(suspect), sum(provisional),
    min(first), max(last)"""
_CELL = """cell(quarter, model, requests, input, output, cache_read, cache_write_5m, cache_write_1h,
    web_searches, nanodollars, unpriced, duplicates, suspect, provisional, first, last)"""


def _added_up(condition: str = "1") -> str:
    """The cells of responses that meet a condition, as SQL."""
    parts = (
        f"""SELECT {IN_QUARTER}, ifnull(model, ''), {SUMS}
            FROM {part} AS response JOIN circumstance ON circumstance.id = response.circumstance
            WHERE {condition} GROUP BY 1, 2"""  # noqa: S608  our own text
        for part in PARTS
    )
    return f"""WITH {_CELL} AS ({" UNION ALL ".join(parts)})
        SELECT quarter, model, {_SUMS_OF_CELLS} FROM cell GROUP BY 1, 2"""  # noqa: S608  our own text


def cells(connection: sqlite3.Connection) -> Iterable[tuple[Any, ...]]:
    """Quarter, model and the columns of `SUMS`, in the order of time."""
    if is_fresh(connection):
        return connection.execute("SELECT * FROM usage_cell ORDER BY quarter, model")
    return connection.execute(f"{_added_up()} ORDER BY 1, 2")


def wrong_cells(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Quarter and model of the sums that are not those of the ledger."""
    if not is_fresh(connection):  # then nobody reads them
        return []
    kept, added = "SELECT * FROM usage_cell", _added_up()
    return connection.execute(
        f"""SELECT DISTINCT quarter, model FROM (
                SELECT * FROM ({kept} EXCEPT SELECT * FROM ({added})) UNION ALL
                SELECT * FROM (SELECT * FROM ({added}) EXCEPT {kept})
            ) ORDER BY 1, 2"""  # noqa: S608  our own names
    ).fetchall()


Stretch = tuple[int, int, str | None]
"""Quarters from one to before another, and what they are called."""


def cells_by(connection: sqlite3.Connection, stretches: Sequence[Stretch], model: str) -> Iterable[tuple[Any, ...]]:
    """Cells added up by stretch and model; a model has `model` in its name."""
    source = "SELECT * FROM usage_cell" if is_fresh(connection) else _added_up()
    return connection.execute(
        f"""WITH stretch(begins, ends, name) AS (
                SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
                FROM json_each(?)
            ), {_CELL} AS ({source})
            SELECT name, model, {_SUMS_OF_CELLS} FROM stretch CROSS JOIN cell ON quarter >= begins AND quarter < ends
            WHERE instr(lower(model), ?) GROUP BY 1, 2""",  # noqa: S608  our own names
        (json.dumps(stretches), model),
    )


def quarters_used(connection: sqlite3.Connection) -> list[int]:
    """All of them, in the order of time."""
    source = "usage_cell" if is_fresh(connection) else f"({_added_up()})"
    return [number for (number,) in connection.execute(f"SELECT DISTINCT quarter FROM {source} ORDER BY 1")]  # noqa: S608


def days_used(connection: sqlite3.Connection) -> list[int]:
    """Days since 1970, in UTC, on which anything was used."""
    source = "usage_cell" if is_fresh(connection) else f"({_added_up()})"
    rows = connection.execute(f"SELECT DISTINCT quarter / 96 FROM {source} WHERE quarter >= 0 ORDER BY 1")  # noqa: S608
    return [day for (day,) in rows]


def is_fresh(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM note WHERE name = 'usage_cells'").fetchone() is not None


def mark_stale(connection: sqlite3.Connection) -> None:
    """Inside the transaction that changes the ledger."""
    connection.execute("DELETE FROM note WHERE name = 'usage_cells'")


def refresh(connection: sqlite3.Connection, changed: Collection[int] | None) -> None:
    """Adds up the changed quarters again; everything where nobody can tell which those are."""
    if is_fresh(connection):
        return
    with transaction(connection):
        if changed is None or len(changed) > _MANY:
            connection.execute("DELETE FROM usage_cell")
            connection.execute(f"INSERT INTO usage_cell {_added_up()}")
        else:
            _refresh_some(connection, changed)
        connection.execute("INSERT INTO note VALUES ('usage_cells', 'as of the last sync')")


_IN_ONE_QUARTER = """time >= :start AND time < :start + 900000 AND home IN (
    SELECT id FROM file WHERE last_request >= :start AND first_request < :start + 900000
)"""


def _refresh_some(connection: sqlite3.Connection, changed: Collection[int]) -> None:
    for quarter in changed:
        connection.execute("DELETE FROM usage_cell WHERE quarter = ?", (quarter,))
        inside = "(time IS NULL OR time < 0)" if quarter == NO_QUARTER else _IN_ONE_QUARTER
        connection.execute(
            f"INSERT INTO usage_cell {_added_up(inside)}",
            {"start": quarter * QUARTER_MS},
        )
