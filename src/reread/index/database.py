"""Opens the archive's SQLite file: modes, pragmas, migrations. The only module with settings of the driver."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import NoneType

from reread.errors import NewerArchive, StoreError
from reread.home import make_home

from .schema import IN_SCHEMA, MIGRATIONS, create

FILE_NAME = "reread.db"
BUSY_MS = 30_000
"""How long a writer waits for another before it gives up."""
_LEAST_ROOM = 1 << 17


def is_only_readable(home: Path) -> bool:
    """Whether there is an archive that cannot be written to."""
    path = home / FILE_NAME
    try:
        return path.is_file() and not (os.access(home, os.W_OK) and os.access(path, os.W_OK))
    except OSError:  # a folder above it may not be entered
        return False


def connect(home: Path, *, read_only: bool = False, name: str = FILE_NAME) -> sqlite3.Connection:
    """A connection to the archive below `home`, migrated unless it is read-only."""
    path = home / name
    if not read_only:
        _make_private(path)
    connection = None
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro" if read_only else path,  # a URI costs the import of urllib
            uri=read_only,
            isolation_level=None,
            timeout=BUSY_MS / 1000,
            check_same_thread=False,
        )
        configure(connection, read_only=read_only)
        if not read_only:
            migrate(connection)
    except (sqlite3.Error, StoreError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, StoreError):
            raise
        raise StoreError(f"{path}: {_reason(error, home)}") from error
    return connection


def _make_private(path: Path) -> None:
    """Creates the database with mode 600: SQLite would use the umask. Its log files take over this mode."""
    made = path.parent
    try:
        make_home(made)
        made = path
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"{made}: cannot be made ({error.strerror or error})") from error


def _reason(error: sqlite3.Error, home: Path) -> str:
    """On a full disk SQLite cannot even map its shared memory, and reports that as an I/O error."""
    import shutil  # imports all its archivers: only after an error

    try:
        is_full = shutil.disk_usage(home).free < _LEAST_ROOM
    except OSError:
        is_full = False
    return f"there is no room for the archive ({error})" if is_full else str(error)


def configure(connection: sqlite3.Connection, *, read_only: bool) -> None:
    if not read_only:
        _take_as_they_are(NoneType, bool, bytes)
        _use_log(connection)
        # A crash of the machine may lose the last transactions, never the file. The sources still have what they held.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA fullfsync = ON")  # as `home.sync_file` does; has an effect on macOS only
        # The default of 4 MB makes a cold sync copy the same pages from the log again and again.
        connection.execute("PRAGMA wal_autocheckpoint = 16000")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute("PRAGMA temp_store = MEMORY")


def _use_log(connection: sqlite3.Connection) -> None:
    """Tries again while another process does the same to a new archive: if two wait for each other, SQLite refuses one
    immediately, whatever its timeout."""
    until = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def _take_as_they_are(*kinds: type) -> None:
    """Registers adapters that return values of these types unchanged.

    Python (3.11) stores only numbers and text directly and looks for an adapter for each other value: a third of the
    time to insert a row with many empty columns.
    """
    for kind in kinds:
        if (kind, sqlite3.PrepareProtocol) not in sqlite3.adapters:  # an adapter that is set stays
            sqlite3.register_adapter(kind, lambda value: value)


def migrate(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE IF NOT EXISTS migration (name TEXT PRIMARY KEY, applied INTEGER NOT NULL)")
    applied = applied_to(connection)
    refuse_newer(applied)
    if not applied:
        applied = _make_new(connection)
    for name, apply in MIGRATIONS.items():
        if name not in applied:
            with transaction(connection):
                already = connection.execute("SELECT 1 FROM migration WHERE name = ?", (name,)).fetchone()
                if not already:  # another process may have been faster
                    apply(connection)
                    connection.execute("INSERT INTO migration VALUES (?, ?)", (name, int(time.time() * 1000)))


def _make_new(connection: sqlite3.Connection) -> set[str]:
    """Creates all tables in one transaction: with one for each migration, a new archive waits 0.1 s for the disk.

    Returns the migrations that were applied, even if another process was faster.
    """
    with transaction(connection):
        if connection.execute("SELECT 1 FROM migration").fetchone() is None:
            create(connection)
            now = int(time.time() * 1000)
            rows = [(name, now) for name in MIGRATIONS if name in IN_SCHEMA]
            connection.executemany("INSERT INTO migration VALUES (?, ?)", rows)
        return applied_to(connection)


def applied_to(connection: sqlite3.Connection) -> set[str]:
    """The names of the migrations applied to a database."""
    return {name for (name,) in connection.execute("SELECT name FROM migration")}


def refuse_newer(applied: set[str]) -> None:
    unknown = applied - MIGRATIONS.keys()
    if unknown:
        raise NewerArchive(f"the archive was written by a newer reread ({', '.join(sorted(unknown))}); please upgrade")


@contextmanager
def transaction(connection: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
    """All or nothing; waits for another writer. Raises StoreError when SQLite cannot write.

    A durable transaction and all before it survive a power cut once it is over: what it makes superfluous may then be
    removed.
    """
    try:
        if durable:
            connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            if durable:  # writes something, because SQLite otherwise does not wait for the disk
                connection.execute("PRAGMA user_version = 0")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a full disk ends the transaction already
                connection.execute("ROLLBACK")
            raise
        finally:
            if durable:
                connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error as error:
        raise StoreError(f"the archive cannot be written ({error})") from error


def version(connection: sqlite3.Connection, home: Path) -> tuple[int, int]:
    """The inode of the database file, and a number that changes whenever another connection commits something."""
    found: int = connection.execute("PRAGMA data_version").fetchone()[0]
    return file_number(home), found


def file_number(home: Path) -> int:
    """The inode of the database file, which changes with a rebuild; 0 if there is none."""
    try:
        return (home / FILE_NAME).stat().st_ino
    except OSError:  # being rebuilt
        return 0


def set_aside(home: Path) -> None:
    """Moves a database out of the way without deleting it."""
    last = last_set_aside(home)
    # The larger number is the later one, even if the clock was set back in between.
    number = max(time.time_ns(), int(last.rpartition("-")[2]) + 1 if last else 0)
    aside = f"{FILE_NAME}.damaged-{number}"
    for ending in ("-wal", "-shm", ""):  # the database last: its log must never be taken for that of another database
        path = home / f"{FILE_NAME}{ending}"
        if os.path.lexists(path):
            try:
                path.rename(home / f"{aside}{ending}")
            except OSError as error:  # Windows cannot move a file that another process has open
                raise StoreError(f"{path}: cannot be set aside ({error.strerror or error})") from error


def last_set_aside(home: Path) -> str | None:
    """The name of the database that was set aside last."""
    names = [path.name for path in home.glob(f"{FILE_NAME}.damaged-*") if path.suffix.rpartition("-")[2].isdecimal()]
    return max(names, key=lambda name: int(name.rpartition("-")[2]), default=None)


def remove_set_aside(home: Path) -> None:
    """Removes databases that were set aside: they still contain what was forgotten."""
    for path in home.glob(f"{FILE_NAME}*.damaged-*"):
        if not path.is_dir():  # a folder in the place of the database, which a rebuild set aside
            path.unlink()


def is_durable(connection: sqlite3.Connection) -> bool:
    """Moves everything committed into the database file, which waits for the disk; False if a reader of an older state
    prevents it."""
    is_busy, logged, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return not is_busy and logged == moved


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Lets several queries see one state of the archive, whatever a sync writes meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("COMMIT")
