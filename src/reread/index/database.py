"""Opens the archive's SQLite file: modes, pragmas, its version. The only module with settings of the driver."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import NoneType

from reread.errors import NewerArchive, StoreError
from reread.home import FIXES, make_home, write_durably

from .schema import VERSION, create

FILE_NAME = "reread.db"
BUSY_MS = 30_000
"""How long a writer waits for another before it gives up."""
_LEAST_ROOM = 1 << 17
_PARTS = ("-wal", "-shm", "")
"""The database last: its log must never be taken for that of another database."""


class EarlierIndex(StoreError):
    """The index is of an earlier version: it is made again from the safe."""


def is_only_readable(home: Path) -> bool:
    """Whether there is an archive that cannot be written to."""
    path = home / FILE_NAME
    try:
        return path.is_file() and not (os.access(home, os.W_OK) and os.access(path, os.W_OK))
    except OSError:  # a folder above it may not be entered
        return False


def connect(
    home: Path, *, read_only: bool = False, name: str = FILE_NAME, any_version: bool = False
) -> sqlite3.Connection:
    """A connection to the index below `home`, which is made if there is none and it is not read-only.

    Raises EarlierIndex or NewerArchive for the index of another version, unless `any_version` is accepted.
    """
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
            _make_tables(connection)
        if not any_version:
            refuse_other_version(connection)
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
    return f"there is no room for the archive ({error})" if _is_full(home) else str(error)


def _is_full(home: Path) -> bool:
    """Asked after an error: on a full disk SQLite cannot even map its shared memory, and reports an I/O error."""
    import shutil  # imports all its archivers: only after an error

    try:
        return shutil.disk_usage(home).free < _LEAST_ROOM
    except OSError:
        return False


@contextmanager
def telling_full_disk(home: Path) -> Iterator[None]:
    """Raises StoreError for a statement outside a transaction that a full disk refused: what is there can be read."""
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code; the higher bits refine it
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(home)):
            raise StoreError(f"the archive cannot be written ({error})") from error
        raise


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


def _make_tables(connection: sqlite3.Connection) -> None:
    if _version_of(connection) != VERSION:
        with transaction(connection):
            if _is_empty(connection):  # another process may have been faster
                create(connection)


def refuse_other_version(connection: sqlite3.Connection) -> None:
    """Raises EarlierIndex or NewerArchive unless this version made the index, or nobody has made any table yet."""
    version = _version_of(connection)
    if version == VERSION or _is_empty(connection):
        return
    if version > VERSION and _noted_version(connection) in (None, version):
        about = f"index {version}, this one reads {VERSION}"
        raise NewerArchive(f"the archive was written by a newer reread ({about}); please upgrade")
    raise EarlierIndex("the index was made by an older reread; `reread sync` makes it again")


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _noted_version(connection: sqlite3.Connection) -> int | None:
    """The version as a row has it once more: in a damaged header the number may be any. None if it cannot be read."""
    try:
        (noted,) = connection.execute("SELECT value FROM note WHERE name = 'version'").fetchone()
        return int(noted)
    except (sqlite3.Error, ValueError, TypeError):
        return None


def is_earlier_index(home: Path) -> bool:
    """Whether there is an index that has to be made again; one that cannot be read is not."""
    try:
        connect(home, read_only=True).close()
    except EarlierIndex:
        return True
    except StoreError:
        pass
    return False


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
                connection.execute(f"PRAGMA user_version = {VERSION}")
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


def set_aside(home: Path) -> str:
    """Moves a database out of the way without deleting it; returns its new name."""
    last = last_set_aside(home)
    # The larger number is the later one, even if the clock was set back in between.
    number = max(time.time_ns(), int(last.rpartition("-")[2]) + 1 if last else 0)
    aside = f"{FILE_NAME}.damaged-{number}"
    for ending in _PARTS:
        path = home / f"{FILE_NAME}{ending}"
        if os.path.lexists(path):
            try:
                path.rename(home / f"{aside}{ending}")
            except OSError as error:  # Windows cannot move a file that another process has open
                raise StoreError(f"{path}: cannot be set aside ({error.strerror or error})") from error
    return aside


def remove(home: Path, name: str = FILE_NAME) -> None:
    """Deletes a database."""
    for ending in _PARTS:
        path = home / f"{name}{ending}"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"{path}: cannot be removed ({error.strerror or error})") from error


def last_set_aside(home: Path) -> str | None:
    """The name of the database that was set aside last."""
    names = [path.name for path in home.glob(f"{FILE_NAME}.damaged-*") if path.suffix.rpartition("-")[2].isdecimal()]
    return max(names, key=lambda name: int(name.rpartition("-")[2]), default=None)


def remove_set_aside(home: Path) -> None:
    """Removes databases that were set aside: they still contain what was forgotten."""
    if (home / FIXES).exists():  # it may have commands of what is forgotten; the next session fills it again
        write_durably(home / FIXES, "{}")
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
