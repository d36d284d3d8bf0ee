"""Whether the sums of the index are those of its rows: cells of usage, money, copies and sessions, all added up again.

A flipped bit or a hand in the database changes a number that SQLite has no reason to doubt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from reread.billing import Prices
from reread.billing.response import Response
from reread.errors import printable
from reread.times import moment

from . import notes
from .ledger import TOLD, asker, copies_of, settled_rows
from .paths import as_path
from .repricing import SessionSums, session_sums
from .usage_cells import NO_QUARTER, QUARTER_MS, wrong_cells

_WITH_CACHING = f"SELECT saved, rebuilt, premium, {TOLD.removeprefix('SELECT ')} ORDER BY request.file, request.key"
_MONEY = 2
"""The last columns of `copied`: what a response cost, what the cache saved."""


def wrong_sums(connection: sqlite3.Connection, prices: Prices) -> Iterator[str]:
    """A sentence for everything that was not counted from what lies below it.

    Money is left out where it was counted with other prices: the next sync counts it anew.
    """
    is_priced = notes.read(connection, notes.PRICES) == prices.digest
    if is_priced:
        yield from _responses(connection, prices)
    yield from _copies(connection, prices, is_priced=is_priced)
    yield from _sessions(connection, prices, is_priced=is_priced)
    for quarter, model in wrong_cells(connection):
        at = None if quarter == NO_QUARTER else moment(quarter * QUARTER_MS)
        when = "without a time" if at is None else f"of {at:%Y-%m-%d %H:%M} UTC"
        yield f"index: the sums {when} for {printable(model) or 'no model'} are not those of their responses"


def _responses(connection: sqlite3.Connection, prices: Prices) -> Iterator[str]:
    for saved, rebuilt, premium, *values in connection.execute(_WITH_CACHING):
        told = Response(*values)
        about = told.model, told.time
        money = (
            prices.cost(told, *about),
            prices.savings(told, *about),
            None if rebuilt is None else prices.premium(told, rebuilt, *about),
        )
        if money != (told.nanodollars, saved, premium):
            yield f"index: the cost of response {printable(told.key)} is not that of its tokens"


def _copies(connection: sqlite3.Connection, prices: Prices, *, is_priced: bool) -> Iterator[str]:
    """What several files tell counts once, and its rows say so."""
    several = "SELECT key FROM request WHERE rows > 0 GROUP BY key HAVING count(*) > 1"
    keys = {key for (key,) in connection.execute(several)}
    compared = None if is_priced else -_MONEY
    counted = {row[0]: row[:compared] for row in connection.execute("SELECT * FROM copied")}
    right = {
        str(row[0]): row[:compared]
        for key in keys
        for row in settled_rows(connection, key, copies_of(connection, key), prices)
    }
    wrong = {name for name in right.keys() | counted.keys() if right.get(name) != counted.get(name)}
    wrong.update(
        key
        for key, is_shared in connection.execute("SELECT key, is_shared FROM request")
        if bool(is_shared) != (asker(key) in keys)
    )
    for name in sorted(wrong):
        yield f"index: response {printable(name)} is not counted as its files tell it"


def _sessions(connection: sqlite3.Connection, prices: Prices, *, is_priced: bool) -> Iterator[str]:
    """But for those with captures: what a session amounts to then was settled line by line, not by its rows."""
    counted = {each.session: each for each in session_sums(connection, prices)}
    figures = ", ".join(SessionSums._fields[1:])
    rows = connection.execute(
        f"""SELECT uuid, id, {figures} FROM session
            WHERE NOT EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND kind = 'capture')"""  # noqa: S608
    )
    for uuid, *said in rows:
        right = counted.get(said[0], SessionSums(said[0], 0, 0, None, 0))
        compared = len(right) if is_priced else 3
        if tuple(said[:compared]) != right[:compared]:
            yield f"index: the figures of session {printable(as_path(uuid))} are not those of its responses"
