"""SQL of the person's own, on a connection that can only read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reread.errors import BadInput
from reread.safe.safe import Safe

from .database import connect, is_only_readable
from .read_only import look_into
from .sql_views import add_views

_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "data_version"})
"""`data_version` is FTS5's own question."""


@contextmanager
def readable(home: Path, safe: Safe, project_today: Callable[[str | None], str | None]) -> Iterator[sqlite3.Connection]:
    """A connection with the readable views, which the caller may only read from."""
    connection = look_into(home) if is_only_readable(home) else connect(home, read_only=True)
    try:
        connection.execute("PRAGMA query_only = OFF")  # for views of its own; the file was opened to be read
        add_views(connection, safe, project_today)
        yield connection
    finally:
        connection.close()


def ask(
    home: Path, safe: Safe, project_today: Callable[[str | None], str | None], query: str
) -> tuple[list[str], list[tuple[object, ...]]]:
    """`mode=ro` alone would still let `VACUUM INTO` and `ATTACH` make other files."""
    try:
        with readable(home, safe, project_today) as connection:
            _wake(connection)
            connection.set_authorizer(_judge)
            cursor = connection.execute(query)
            if cursor.description is None:
                raise BadInput("that statement has no result; `reread sql` only reads, try a SELECT")
            return [column[0] for column in cursor.description], cursor.fetchall()
    except UnicodeEncodeError as error:
        raise BadInput("the query cannot be answered: it holds bytes that are not UTF-8") from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise BadInput(_sentence(str(error))) from error


def _wake(connection: sqlite3.Connection) -> None:
    """A virtual table declares its columns with a CREATE when first used, which the judge would refuse."""
    for table in ("search", "vocabulary"):
        connection.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608  our own names


def _judge(action: int, first: str | None, _second: str | None, _database: str | None, _inner: str | None) -> int:
    is_fine = action in _READING or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS)
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


def _sentence(said: str) -> str:
    if "authoriz" in said or "readonly" in said or "prohibited" in said:
        return "`reread sql` only reads; the archive is changed by `reread sync` and `reread archive forget` alone"
    return f"the query cannot be answered: {said}"
