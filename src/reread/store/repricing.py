"""All money of the archive counted again, when prices have changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from reread.billing import Prices
from reread.billing.response import Response
from reread.billing.settle import settle_all

from . import notes
from .database import transaction
from .ledger import TOLD, Ledger
from .usage_cells import refresh


def reprice(connection: sqlite3.Connection, prices: Prices, stamp: str) -> None:
    """Does nothing but remember the stamp where the prices are those all money was counted with."""
    with transaction(connection):
        if notes.read(connection, notes.PRICES) != prices.digest:
            _requests(connection, prices)
            Ledger(connection, prices).settle_again()
            _sessions(connection, prices)
            notes.write(connection, notes.PRICES, prices.digest)
        notes.write(connection, notes.PRICE_FILES, stamp)
    refresh(connection, None)


def _requests(connection: sqlite3.Connection, prices: Prices) -> None:
    names = "saved, rebuilt, premium"
    rows = connection.execute(f"SELECT request.file, {names}, {TOLD.removeprefix('SELECT ')}").fetchall()
    changed = []
    for file, saved, rebuilt, premium, *values in rows:
        told = Response(*values)
        about = told.model, told.time
        money = (
            prices.cost(told, *about),
            prices.savings(told, *about),
            None if rebuilt is None else prices.premium(told, rebuilt, *about),
        )
        if money != (told.nanodollars, saved, premium):
            changed.append((*money, file, told.key))
    connection.executemany(
        "UPDATE request SET nanodollars = ?, saved = ?, premium = ? WHERE file = ? AND key = ?", changed
    )


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
        f"SELECT file.session, {TOLD.removeprefix('SELECT ')} WHERE file.session IS NOT NULL ORDER BY file.session"
    )
    for session, inside in groupby(rows, key=lambda row: row[0]):
        told = list(settle_all((Response(*row[1:]) for row in inside), prices))
        priced = [each.nanodollars for each in told if each.nanodollars is not None]
        unpriced = sum(each.total for each in told if each.nanodollars is None)
        output = sum(each.output for each in told)
        yield SessionSums(session, len(told), output, sum(priced) if priced else None, unpriced)
