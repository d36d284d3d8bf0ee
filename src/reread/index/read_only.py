"""Opens an archive that cannot be written: on a read-only medium, in a backup, among another person's files.

SQLite can read a database with a log only if it can make a file for shared memory next to it. If it cannot, the right
way depends on the log: without one, the file is complete and does not change; with one, the file may lack much of what
was committed.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from reread.errors import BadInput, ReadOnlyArchive, StoreError
from reread.safe.safe import Safe

from .database import BUSY_MS, FILE_NAME, EarlierIndex, configure, connect, is_only_readable, refuse_other_version
from .sql_views import add_views


def look_into(home: Path) -> sqlite3.Connection:
    """A read-only connection to an archive that cannot be written. Raises StoreError."""
    path = home / FILE_NAME
    try:
        connection = _opened(path)
        try:
            configure(connection, read_only=True)
            connection.execute("PRAGMA query_only = ON")
            refuse_other_version(connection)
        except BaseException:
            connection.close()
            raise
    except EarlierIndex as error:
        reason = "was written by an older reread and can be made again only where it can be written: copy the folder"
        raise ReadOnlyArchive(path, reason) from error
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: cannot be read ({error})") from error
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return _connected(f"{path.absolute().as_uri()}?mode=ro")  # works if a writer has made the shared memory
    except sqlite3.OperationalError:
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
            return _copied(path, log)
        return _connected(f"{path.absolute().as_uri()}?mode=ro&immutable=1")


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_MS / 1000, check_same_thread=False)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _copied(path: Path, log: Path) -> sqlite3.Connection:
    """The file and its log, combined in a temporary database, which is gone when it is closed."""
    with TemporaryDirectory(prefix="reread-") as folder:
        for each in (path, log):
            shutil.copyfile(each, Path(folder) / each.name)
        with closing(sqlite3.connect(Path(folder) / path.name)) as both:
            both.execute("PRAGMA journal_mode = DELETE")
            connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            both.backup(connection)
    return connection


_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "data_version"})
"""`data_version` is queried by FTS5 itself."""


@contextmanager
def readable(home: Path, safe: Safe, project_today: Callable[[str | None], str | None]) -> Iterator[sqlite3.Connection]:
    """A connection with the readable views, which the caller may only read from."""
    connection = look_into(home) if is_only_readable(home) else connect(home, read_only=True)
    try:
        connection.execute("PRAGMA query_only = OFF")  # to create temporary views; the file itself is opened read-only
        add_views(connection, safe, project_today)
        yield connection
    finally:
        connection.close()


def ask(
    home: Path, safe: Safe, project_today: Callable[[str | None], str | None], query: str
) -> tuple[list[str], list[tuple[object, ...]]]:
    """The columns and rows of a query. An authorizer refuses all but reading: with `mode=ro` alone, `VACUUM INTO` and
    `ATTACH` could still create other files."""
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
    """Uses the virtual tables once: on first use they declare their columns with a CREATE, which `_judge` refuses."""
    for table in ("search", "vocabulary"):
        connection.execute(f"SELECT 1 FROM {table} LIMIT 0")  # noqa: S608  our own names


def _judge(action: int, first: str | None, _second: str | None, _database: str | None, _inner: str | None) -> int:
    is_fine = action in _READING or (action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS)
    return sqlite3.SQLITE_OK if is_fine else sqlite3.SQLITE_DENY


def _sentence(text: str) -> str:
    if "authoriz" in text or "readonly" in text or "prohibited" in text:
        return "`reread sql` only reads; the archive is changed by `reread sync` and `reread archive forget` alone"
    schema = (
        "; `reread sql --schema` describes what there is" if text.startswith("no such") or 'near "."' in text else ""
    )
    return f"the query cannot be answered: {text}{schema}"
