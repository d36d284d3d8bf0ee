"""What Claude Code itself reported about its cost, in files and on status lines, and figures for a status line."""

from __future__ import annotations

import os
import sqlite3

from reread.keys import file_key, session_mark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from reread.records.client_input import StatusLine
    from reread.rows.model import ClientTotalRow, LimitRow


_FILE_NAME = "reread.db"


def glance(home: str) -> sqlite3.Connection:
    """Opens the archive for a moment, without waiting. Raises sqlite3.Error if there is none, or if it is busy."""
    path = os.path.join(home, _FILE_NAME)  # noqa: PTH118  pathlib takes longer than a status line may
    if not os.path.exists(path):  # noqa: PTH110
        raise sqlite3.OperationalError("there is no archive")
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(
        "PRAGMA wal_autocheckpoint = 0"
    )  # a sync may have left 60 MB to copy, which must not happen here
    return connection


def own_machine(connection: sqlite3.Connection) -> str:
    """The id of this machine; raises sqlite3.Error if the archive has none yet."""
    found = connection.execute("SELECT id FROM machine WHERE is_own").fetchone()
    if found is None:
        raise sqlite3.OperationalError("the archive names no machine")
    return str(found[0])


def spent_since(connection: sqlite3.Connection, quarter: int) -> int | None:
    """Nano-dollars since the beginning of a quarter of an hour; None if nothing was ever counted."""
    spent, is_empty = connection.execute(
        "SELECT ifnull(sum(nanodollars), 0), NOT EXISTS (SELECT 1 FROM usage_cell) FROM usage_cell WHERE quarter >= ?",
        (quarter,),
    ).fetchone()
    return None if is_empty else int(spent)


def quarters_back(connection: sqlite3.Connection) -> Iterator[tuple[int, int | None, int, int]]:
    """Quarters of an hour with requests, the newest first: number, nano-dollars, first and last time."""
    yield from connection.execute(
        """SELECT quarter, sum(nanodollars), min(first), max(last) FROM usage_cell WHERE quarter >= 0
           GROUP BY quarter ORDER BY quarter DESC"""
    )


def not_imported_yet(connection: sqlite3.Connection, since: int) -> int:
    """Nano-dollars beyond what the archive has that status lines reported, of clients that started since then."""
    found = connection.execute(
        """SELECT sum(max(0, said - ifnull((SELECT max(nanodollars) FROM session WHERE uuid = name), 0)))
           FROM (SELECT session AS name, max(nanodollars) AS said FROM client_total
                 WHERE file IS NULL AND began >= ? GROUP BY session)""",
        (since,),
    ).fetchone()
    return found[0] or 0


STATUS_LINE = "statusline"
SAME_COUNT_MS = 5_000
"""How far two calculated starts of one count may differ: a status line gives only how long the client has counted, and
takes some time to arrive."""
_COLUMNS = "session, machine, file, source, began, time, first, nanodollars, models, context_tokens, context_size"
_INSERT = f"INSERT INTO client_total ({_COLUMNS}) VALUES ({', '.join('?' * 11)})"  # noqa: S608  our own names
_UPDATE = """UPDATE client_total SET time = ?,
    first = ifnull(first, ?), nanodollars = max(ifnull(?, nanodollars), ifnull(nanodollars, 0)),
    context_tokens = ifnull(?, context_tokens), context_size = ifnull(?, context_size) WHERE rowid = ?"""


def replace_client_totals(
    connection: sqlite3.Connection, file: int, session: str | bytes, machine: str, rows: Iterable[ClientTotalRow]
) -> None:
    """Replaces the totals of a file by those it has now; call it inside a transaction."""
    connection.execute("DELETE FROM client_total WHERE file = ?", (file,))
    for row in rows:
        models = None if row.models is None else _encoded(row.models)
        values = (row.source, row.began, row.time, row.first, row.nanodollars, models)
        connection.execute(_INSERT, (session, machine, file, *values, None, None))


def _encoded(models: dict[str, dict[str, int]]) -> str:
    import msgspec

    return msgspec.json.encode(models).decode()


def keep(connection: sqlite3.Connection, line: StatusLine, machine: str, now: int) -> bool:
    """Stores the figures of a status line; returns whether anything in it was new.

    With a connection that does not wait, it raises sqlite3.Error while another process writes.
    """
    if line.session is None or not (any(line.kept_values) or line.kept_limits):
        return False
    if not _is_news(connection, line, machine):
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        number, _ = _row_of(connection, line)  # again: another process may have been faster
        if number is None:
            known = (line.session, machine, None, STATUS_LINE, line.began, now)
            connection.execute(_INSERT, (*known, line.nanodollars, line.nanodollars, None, *line.kept_values[1:]))
        else:
            connection.execute(_UPDATE, (now, line.nanodollars, *line.kept_values, number))
        said = _new_limits(connection, line)
        keep_limit_values(connection, [(line.session, machine, None, 0, name, now, *each, 0) for name, each in said])
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return True


def _is_news(connection: sqlite3.Connection, line: StatusLine, machine: str) -> bool:
    number, before = _row_of(connection, line)
    if number is None:
        return not _is_forgotten(connection, line, machine)
    is_more = (line.nanodollars or 0) > (before[0] or 0)  # a count never falls: a smaller total only arrived late
    is_other = any(new not in (None, old) for new, old in zip(line.kept_values[1:], before[1:], strict=True))
    return is_more or is_other or bool(_new_limits(connection, line))


def _new_limits(connection: sqlite3.Connection, line: StatusLine) -> list[tuple[str, tuple[float | None, int | None]]]:
    """The limits of which this session's status line said something else before."""
    rows = connection.execute(
        "SELECT name, percent, resets, max(time) FROM limit_value WHERE session = ? AND file IS NULL GROUP BY name",
        (line.session,),
    )
    known = {name: values for name, *values, _ in rows}
    return [(name, values) for name, values in line.kept_limits.items() if known.get(name) != [*values]]


def _row_of(connection: sqlite3.Connection, line: StatusLine) -> tuple[int | None, Sequence[Any]]:
    """The number and figures of the row that this status line continues."""
    rows = connection.execute(
        """SELECT rowid, began, nanodollars, context_tokens, context_size FROM client_total
           WHERE session = ? AND file IS NULL ORDER BY time DESC""",
        (line.session,),
    )
    for number, began, *values in rows:
        if _is_same_count(line, began, values[0]):
            return number, values
    return None, ()


def _is_same_count(line: StatusLine, began: int | None, total: int | None) -> bool:
    if line.began is not None and began is not None:
        return abs(line.began - began) <= SAME_COUNT_MS
    return line.nanodollars is None or total is None or line.nanodollars >= total


def _is_forgotten(connection: sqlite3.Connection, line: StatusLine, machine: str) -> bool:
    """Whether the session was forgotten: it stays so even if a client that runs it still draws status lines."""
    if connection.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone() is None:
        return False
    keys = [session_mark(line.session or "")]
    if line.transcript is not None:
        keys.append(file_key(machine, line.transcript))
    marks = ", ".join("?" * len(keys))
    return connection.execute(f"SELECT 1 FROM forgotten WHERE key IN ({marks})", keys).fetchone() is not None  # noqa: S608


def forget_client_totals(connection: sqlite3.Connection, session: int) -> None:
    """Deletes what status lines reported of a session; call it inside the transaction that forgets it."""
    for table in ("client_total", "limit_value"):
        connection.execute(
            f"DELETE FROM {table} WHERE file IS NULL AND session = (SELECT uuid FROM session WHERE id = ?)",  # noqa: S608
            (session,),
        )


def windows(connection: sqlite3.Connection) -> list[int]:
    """The starts of the five-hour windows that the client reported, in seconds since 1970, in order."""
    rows = connection.execute(
        """SELECT DISTINCT resets / 1000 - 18000 FROM limit_value
           WHERE name = 'five_hour' AND resets IS NOT NULL ORDER BY 1"""
    )
    return [start for (start,) in rows]


_LIMIT_COLUMNS = "session, machine, file, offset, name, time, percent, resets, is_hit"


def replace_limit_values(
    connection: sqlite3.Connection, file: int, machine: str, rows: Iterable[LimitRow], since: int
) -> None:
    """Replaces what a file tells of limits from offset `since` on; call it inside a transaction."""
    connection.execute("DELETE FROM limit_value WHERE file = ? AND offset >= ?", (file, since))
    values = ((each.offset, each.name, each.time, each.percent, each.resets, each.is_hit) for each in rows)
    keep_limit_values(connection, ((None, machine, file, *row) for row in values))


def limit_series(connection: sqlite3.Connection, since: int, until: int) -> list[tuple[Any, ...]]:
    """Name, time, percentage, end of the window, and whether it was reached, of each value in the order of time."""
    return connection.execute(
        """SELECT name, time, percent, resets, max(is_hit) FROM limit_value WHERE time >= ? AND time < ?
           GROUP BY name, time, percent, resets ORDER BY time, resets""",
        (since, until),
    ).fetchall()


def counts(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Session, source, start, time, first and last total of every count; those of a session and source are in order."""
    return connection.execute(
        """SELECT session, source, began, time, first, nanodollars FROM client_total WHERE nanodollars IS NOT NULL
           ORDER BY session, source, time IS NOT NULL, time, rowid"""
    ).fetchall()


def status_lines(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Rows from status lines: they are in no file, so a rebuild could not make them again."""
    return connection.execute(f"SELECT {_COLUMNS} FROM client_total WHERE file IS NULL").fetchall()  # noqa: S608


def limit_values(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """What status lines said of limits."""
    return connection.execute(f"SELECT {_LIMIT_COLUMNS} FROM limit_value WHERE file IS NULL").fetchall()  # noqa: S608


def keep_limit_values(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Call it inside a transaction."""
    connection.executemany(f"INSERT INTO limit_value ({_LIMIT_COLUMNS}) VALUES ({', '.join('?' * 9)})", rows)  # noqa: S608


def keep_status_lines(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Call it inside a transaction."""
    connection.executemany(_INSERT, rows)
