"""Opens an archive that cannot be written: on a read-only medium, in a backup, among another person's files.

SQLite reads a database with a log only beside shared memory, which it would have to make. What is right then depends on
the log: without one the file is all there is, and does not change; with one it may be half of what was committed.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from reread.errors import StoreError

from .database import BUSY_MS, FILE_NAME, configure, refuse_newer
from .schema import MIGRATIONS


def look_into(home: Path) -> sqlite3.Connection:
    """A connection that can only read. Raises StoreError."""
    path = home / FILE_NAME
    try:
        connection = _opened(path)
        try:
            configure(connection, read_only=True)
            connection.execute("PRAGMA query_only = ON")
            _refuse_other_versions(connection, path)
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"{path}: cannot be read ({error})") from error
    return connection


def _opened(path: Path) -> sqlite3.Connection:
    try:
        return _connected(f"{path.absolute().as_uri()}?mode=ro")  # whoever writes to it has made the shared memory
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
    """The file and its log, put together in a database of SQLite's own, which is gone when it is closed."""
    with TemporaryDirectory(prefix="reread-") as folder:
        for each in (path, log):
            shutil.copyfile(each, Path(folder) / each.name)
        with closing(sqlite3.connect(Path(folder) / path.name)) as both:
            both.execute("PRAGMA journal_mode = DELETE")
            connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
            both.backup(connection)
    return connection


def _refuse_other_versions(connection: sqlite3.Connection, path: Path) -> None:
    applied = {name for (name,) in connection.execute("SELECT name FROM migration")}
    refuse_newer(applied)
    if MIGRATIONS.keys() - applied:
        raise StoreError(f"{path}: was written by an older reread and must be upgraded where it can be written")
