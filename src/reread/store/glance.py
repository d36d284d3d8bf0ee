"""The few figures of the archive that can be had in a millisecond: nothing is made, migrated or waited for."""

from __future__ import annotations

import os
import sqlite3

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FILE_NAME = "reread.db"


def glance(home: str) -> sqlite3.Connection:
    """The archive as it is, for a moment. Raises sqlite3.Error where there is none, or it is not free at once."""
    path = os.path.join(home, _FILE_NAME)  # noqa: PTH118  pathlib takes longer than a status line may
    if not os.path.exists(path):  # noqa: PTH110
        raise sqlite3.OperationalError("there is no archive")
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")  # not here: a sync may have left 60 MB to copy
    return connection


def own_machine(connection: sqlite3.Connection) -> str:
    """The id of this machine; raises sqlite3.Error where the archive has none yet."""
    found = connection.execute("SELECT id FROM machine WHERE is_own").fetchone()
    if found is None:
        raise sqlite3.OperationalError("the archive names no machine")
    return str(found[0])


def spent_since(connection: sqlite3.Connection, quarter: int) -> int | None:
    """Nano-dollars since a quarter of an hour; None where nothing was ever counted."""
    spent, is_empty = connection.execute(
        "SELECT ifnull(sum(nanodollars), 0), NOT EXISTS (SELECT 1 FROM usage_cell) FROM usage_cell WHERE quarter >= ?",
        (quarter,),
    ).fetchone()
    return None if is_empty else int(spent)


def quarters_back(connection: sqlite3.Connection) -> Iterator[tuple[int, int | None, int, int]]:
    """Quarters of an hour with requests, the newest first: number, nano-dollars, first and last moment."""
    yield from connection.execute(
        """SELECT quarter, sum(nanodollars), min(first), max(last) FROM usage_cell WHERE quarter >= 0
           GROUP BY quarter ORDER BY quarter DESC"""
    )


def not_taken_yet(connection: sqlite3.Connection, since: int) -> int:
    """Nano-dollars that clients which began since then spoke of on status lines beyond what the archive has."""
    found = connection.execute(
        """SELECT sum(max(0, said - ifnull((SELECT max(nanodollars) FROM session WHERE uuid = name), 0)))
           FROM (SELECT session AS name, max(nanodollars) AS said FROM client_said
                 WHERE file IS NULL AND began >= ? GROUP BY session)""",
        (since,),
    ).fetchone()
    return found[0] or 0
