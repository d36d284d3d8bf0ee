"""All money of the archive counted again, when prices have changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from reread.pricing import Prices

from . import notes
from .database import transaction
from .ledger import TOLD, Told, rated, settled
from .times import moment
from .usage_cells import mark_stale, refresh

_TOLD_AND_CACHING = f"""SELECT {", ".join(Told._fields)}, saved, rebuilt, premium
    FROM request JOIN circumstance ON circumstance.id = request.circumstance"""  # noqa: S608  our own names


def reprice(connection: sqlite3.Connection, prices: Prices, stamp: str) -> None:
    """Does nothing but remember the stamp where the prices are those all money was counted with."""
    with transaction(connection):
        if notes.read(connection, notes.PRICES) != prices.digest:
            _requests(connection, prices)
            _copies(connection, prices)
            _sessions(connection, prices)
            mark_stale(connection)
            notes.write(connection, notes.PRICES, prices.digest)
        notes.write(connection, notes.PRICE_FILES, stamp)
    refresh(connection, None)


def _requests(connection: sqlite3.Connection, prices: Prices) -> None:
    rows = connection.execute(_TOLD_AND_CACHING).fetchall()
    changed = []
    for *values, saved, rebuilt, premium in rows:
        told = Told(*values)
        used, time = rated(told), moment(told.time)
        money = (
            prices.cost(used, told.model, time),
            prices.savings(used, told.model, time),
            None if rebuilt is None else prices.premium(used, rebuilt, told.model, time),
        )
        if money != (told.nanodollars, saved, premium):
            changed.append((*money, told.file, told.key))
    connection.executemany(
        "UPDATE request SET nanodollars = ?, saved = ?, premium = ? WHERE file = ? AND key = ?", changed
    )


def _copies(connection: sqlite3.Connection, prices: Prices) -> None:
    rows = connection.execute(
        f"SELECT copied.time, copied.web_searches, told.* FROM copied JOIN ({TOLD}) AS told "  # noqa: S608
        "ON told.file = copied.winner AND told.key = copied.key"
    ).fetchall()
    for time, searches, *values in rows:
        told = Told(*values)._replace(web_searches=searches)
        used, at = rated(told), moment(time)
        money = prices.cost(used, told.model, at), prices.savings(used, told.model, at)
        connection.execute("UPDATE copied SET nanodollars = ?, saved = ? WHERE key = ?", (*money, told.key))


def _sessions(connection: sqlite3.Connection, prices: Prices) -> None:
    connection.executemany(
        "UPDATE session SET nanodollars = ?, unpriced_tokens = ? WHERE id = ?",
        [(each.nanodollars, each.unpriced_tokens, each.session) for each in list(session_sums(connection, prices))],
    )


class SessionSums(NamedTuple):
    """A session's own figures: every response in its files, whether or not another session has it too."""

    session: int
    requests: int
    output_tokens: int
    nanodollars: int | None
    unpriced_tokens: int


def session_sums(connection: sqlite3.Connection, prices: Prices) -> Iterator[SessionSums]:
    """Of the sessions that have responses."""
    rows = connection.execute(
        f"SELECT file.session, told.* FROM ({TOLD}) AS told JOIN file ON file.id = told.file "  # noqa: S608
        "WHERE file.session IS NOT NULL ORDER BY file.session, file.kind <> 'transcript', told.file"
    )
    for session, inside in groupby(rows, key=lambda row: row[0]):
        told = list(settled((Told(*row[1:]) for row in inside), prices))
        priced = [each.nanodollars for each in told if each.nanodollars is not None]
        unpriced = sum(each.tokens for each in told if each.nanodollars is None)
        output = sum(each.output for each in told)
        yield SessionSums(session, len(told), output, sum(priced) if priced else None, unpriced)
