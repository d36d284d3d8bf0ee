"""All money of the archive counted again, when prices have changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import groupby

from reread.pricing import Prices

from . import notes
from .database import transaction
from .ledger import TOLD, Told, choose, moment, rated
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
    rows = [Told(*row) for row in connection.execute(f"{TOLD} WHERE is_shared ORDER BY key, file")]
    for key, copies in groupby(rows, key=lambda row: row.key):
        _, chosen = choose(list(copies), prices)
        connection.execute(
            "UPDATE copied SET nanodollars = ?, saved = ? WHERE key = ?", (chosen.nanodollars, chosen.saved, key)
        )


def _sessions(connection: sqlite3.Connection, prices: Prices) -> None:
    """A session's own figure counts every response in its files, whether or not another session has it too."""
    rows = connection.execute(
        f"SELECT file.session, told.* FROM ({TOLD}) AS told JOIN file ON file.id = told.file "  # noqa: S608
        "WHERE file.session IS NOT NULL ORDER BY file.session, told.key, file.kind <> 'transcript', told.file"
    ).fetchall()
    for session, inside in groupby(rows, key=lambda row: row[0]):
        told = [Told(*row[1:]) for row in inside]
        money = [(_once(copies, prices)) for copies in _by_key(told)]
        priced = [cost for _, cost in money if cost is not None]
        unpriced = sum(tokens for tokens, cost in money if cost is None)
        connection.execute(
            "UPDATE session SET nanodollars = ?, unpriced_tokens = ? WHERE id = ?",
            (sum(priced) if priced else None, unpriced, session),
        )


def _by_key(told: Sequence[Told]) -> Iterator[list[Told]]:
    for _, copies in groupby(told, key=lambda row: row.key):
        yield list(copies)


def _once(copies: Sequence[Told], prices: Prices) -> tuple[int, int | None]:
    """Tokens and money of a response, however many files of a session tell of it."""
    if len(copies) == 1:
        return copies[0].tokens, copies[0].nanodollars
    winner, chosen = choose(copies, prices)
    return winner.tokens, chosen.nanodollars
