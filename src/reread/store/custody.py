"""Looking after what was taken: recovery after a crash, status, proof, restoring, forgetting."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from reread.errors import RereadError, printable
from reread.pricing import Prices

from . import notes, reading
from .backups import give_away
from .database import FILE_NAME, StoreError, transaction
from .folders import make_private
from .friction import forget_friction
from .keeping import SafeFiles
from .ledger import Ledger
from .moves import forget_moves
from .own_words import forget_mark, keep_forgotten, take_over_copy, write_copy
from .paths import as_path
from .rows import FileRow
from .safe import Damage, Place, Rewrite, Safe, SafeDamaged, SafeError
from .said import forget_said
from .sessions import StoredSession
from .soundness import damage_of
from .talk import CopyMarker
from .unindexing import unindex


class Status(Struct, frozen=True, kw_only=True):
    """What the archive holds."""

    home: Path
    sessions: int
    files: int
    vanished: int
    bytes: int
    """Of source files, before compression."""
    backups: int
    """Of those files, how many are backups of what the client changed."""
    backup_bytes: int
    stored_bytes: int
    index_bytes: int


class Verified(Struct, frozen=True, kw_only=True):
    files: int
    bytes: int
    stored_bytes: int
    damaged: list[str]

    @property
    def ok(self) -> bool:
        return not self.damaged


class Restored(Struct, frozen=True, kw_only=True):
    files: list[Path]
    bytes: int
    damaged: list[str]
    """What could not be restored of them, a sentence for each loss."""


class Forgotten(Struct, frozen=True, kw_only=True):
    files: int
    bytes: int
    hidden_texts: int
    """Texts whose words could not be taken from the index, because damage in the safe hides them."""


def recover(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> SafeDamaged | None:
    """After a crash: finishes a forget under way, and cuts a piece that was never acknowledged.

    Gives what is lost of the last pack: that must not keep new things out of the safe.
    """
    finish_forget(connection, safe, prices)
    try:
        _cut_tail(connection, safe)
    except SafeDamaged as lost:
        return lost
    return None


def _cut_tail(connection: sqlite3.Connection, safe: Safe) -> None:
    last = connection.execute(
        "SELECT pack, offset + stored FROM piece ORDER BY pack DESC, offset DESC LIMIT 1"
    ).fetchone()
    safe.recover_tail(*(last or (1, 0)))


def finish_forget(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> None:
    """What a crash left undone of a forget; harmless when there was none."""
    unfinished = safe.unfinished()
    if unfinished is not None:
        settle(connection, SafeFiles(connection, safe), unfinished, prices, safe.folder.parent)
        safe.finish_rewrite()
        _scrub(connection)


def status(connection: sqlite3.Connection, home: Path, safe: Safe) -> Status:
    files, vanished, size, backups, backup_size = connection.execute(
        """SELECT count(*), ifnull(sum(present = 0), 0), ifnull(sum(taken), 0),
                  count(backup_of), ifnull(sum(taken) FILTER (WHERE backup_of IS NOT NULL), 0) FROM file"""
    ).fetchone()
    sessions = connection.execute("SELECT count(*) FROM session").fetchone()[0]
    index = sum(path.stat().st_size for path in home.glob(f"{FILE_NAME}*"))
    return Status(
        home=home,
        sessions=sessions,
        files=files,
        vanished=vanished,
        bytes=size,
        backups=backups,
        backup_bytes=backup_size,
        stored_bytes=sum(safe.packs().values()),
        index_bytes=index,
    )


def verify(connection: sqlite3.Connection, safe: Safe, prices: Prices, *, may_write: bool = True) -> Verified:
    """Every piece is decompressed and hashed, every row must have its piece, and SQLite checks its own pages.

    What a crash left is put in order first, where that can be.
    """
    damaged = damaged_index(connection, may_write=may_write)
    is_damaged = bool(damaged)
    if not is_damaged and may_write:
        finish_forget(connection, safe, prices)
        with suppress(SafeError, SafeDamaged):  # what is lost, or cannot be cut, is told below
            _cut_tail(connection, safe)
    proved: dict[tuple[int, int], str] = {}
    size = 0
    for found in safe.verify():
        if isinstance(found, Damage):
            damaged.append(told(found))
        if found.header is not None:
            proved[found.place.pack, found.place.offset] = found.header.sha256
            size += found.header.length
    files = 0
    try:
        if not is_damaged:  # otherwise its rows prove nothing about the safe, and may be of any type
            damaged += _missing_bytes(connection, proved)
        files = connection.execute("SELECT count(*) FROM file").fetchone()[0]
    except sqlite3.DatabaseError as error:
        damaged.append(f"database: {error}")
    damaged = list(dict.fromkeys(damaged))
    return Verified(files=files, bytes=size, stored_bytes=sum(safe.packs().values()), damaged=damaged)


def damaged_index(connection: sqlite3.Connection, *, may_write: bool = True) -> list[str]:
    """What SQLite says about its pages, and FTS5 about its own, which it is asked by a statement that may write."""
    damaged = [f"database: {said}" for said in damage_of(connection)]
    if not may_write:
        return damaged
    try:
        connection.execute("INSERT INTO search(search) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        damaged.append(f"database: {error}")
    return damaged


def _missing_bytes(connection: sqlite3.Connection, proved: dict[tuple[int, int], str]) -> Iterator[str]:
    """Every piece the index names must be among the proved, and the pieces of a file lie end to end."""
    ends: dict[tuple[int, int], int] = {}
    for file, generation, start, length, digest, pack, offset, path in connection.execute(
        """SELECT file, piece.generation, start, length, sha256, pack, offset, path
           FROM piece JOIN file ON file.id = piece.file ORDER BY file, piece.generation, start"""
    ):
        name = printable(as_path(path))
        if proved.get((pack, offset)) != digest.hex():
            yield f"{name}: the piece at {offset} of pack {pack} is missing"
        if ends.get((file, generation), 0) != start:
            yield f"{name}: the bytes before {start} are not in the safe"
        ends[file, generation] = start + length
    for file, generation, taken, path in connection.execute("SELECT id, generation, taken, path FROM file"):
        if ends.get((file, generation), 0) != taken:
            yield f"{printable(as_path(path))}: the bytes before {taken} are not in the safe"


class Generation(Struct, frozen=True, kw_only=True):
    """A file as it was between two rewrites."""

    path: Path
    generation: int
    bytes: int
    is_last: bool


def generations(connection: sqlite3.Connection, session: StoredSession) -> list[Generation]:
    """What can be restored of a session: its files, and what they were before they were rewritten."""
    rows = connection.execute(
        """SELECT path, piece.generation, sum(length), piece.generation = file.generation
           FROM piece JOIN file ON file.id = piece.file WHERE file.session = ?
           GROUP BY file.id, piece.generation ORDER BY path, piece.generation""",
        (session.id,),
    )
    return [
        Generation(path=Path(as_path(path)), generation=number, bytes=size, is_last=bool(is_last))
        for path, number, size, is_last in rows
    ]


def restore(
    connection: sqlite3.Connection,
    files: SafeFiles,
    session: StoredSession,
    to: Path,
    generation: int | None = None,
) -> Restored:
    """Writes every file of a session below `to`, for the owner only; with a generation, as it was then.

    A file that was rewritten less often comes as it was last; where damage took something, a line in the file says so.
    Raises StoreError, before anything is written, when a file is there already with other bytes: what came after must
    not be lost to what came before.
    """
    rows = {to / below(row, session): row for row in kept_files(connection, session)}
    for target, row in rows.items():
        if _differs(target, files.left_of(row, _wanted(row, generation)).content):
            raise StoreError(f"{printable(str(target))}: is there already, and different; restore into another folder")
    size = 0
    damaged: list[str] = []
    for target, row in rows.items():
        content, lost = files.left_of(row, _wanted(row, generation))
        damaged += [f"{printable(str(target))}: {damage}" for damage in lost]
        try:
            make_private(target.parent)
            _write(target, content)
            os.utime(target, ns=(row.mtime_ns, row.mtime_ns))
        except OSError as error:
            raise StoreError(f"{printable(str(target))}: cannot be written ({error.strerror or error})") from error
        size += len(content)
    return Restored(files=list(rows), bytes=size, damaged=damaged)


def kept_files(connection: sqlite3.Connection, session: StoredSession) -> list[FileRow]:
    """All that is kept of a session: its own files, and backups of those it changed."""
    return reading.files_of(connection, session.id) + reading.backups_of(connection, session.id)


def _wanted(row: FileRow, generation: int | None) -> int:
    return min(generation or row.generation, row.generation)


def _differs(target: Path, content: bytes) -> bool:
    try:
        return target.read_bytes() != content
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"{printable(str(target))}: cannot be written ({error.strerror or error})") from error


def _write(target: Path, content: bytes) -> None:
    target.touch(mode=0o600)
    target.write_bytes(content)


def below(row: FileRow, session: StoredSession) -> Path:
    """A file's place below the folder its session lay in; a capture lies with the session's own files.

    Backups get a folder beside them, as they had one beside `projects`.
    """
    folder = Path(session.row.folder)
    if row.kind == "backup":
        return Path(*row.path.parts[-3:])
    if row.kind == "capture" and not row.path.is_relative_to(folder):
        return Path(row.path.parent.name) / row.path.name
    return row.path.relative_to(folder) if row.path.is_relative_to(folder) else Path(row.path.name)


def forget(
    connection: sqlite3.Connection, safe: Safe, files: SafeFiles, session: StoredSession, prices: Prices
) -> Forgotten:
    """Removes a session's bytes from the safe, its words and rows from the index, and the traces of both.

    The copies of the packs come first and count from then on; a crash afterwards is finished by `recover`.
    """
    recover(connection, safe, prices)
    give_away(connection, safe, session.id)
    rows = kept_files(connection, session)
    rewrite = safe.rewrite_without({row.key for row in rows})
    hidden = settle(connection, files, rewrite, prices, safe.folder.parent, session.id)
    safe.finish_rewrite()
    _scrub(connection)
    return Forgotten(files=len(rows), bytes=sum(row.taken for row in rows), hidden_texts=hidden)


def settle(
    connection: sqlite3.Connection,
    files: SafeFiles,
    rewrite: Rewrite,
    prices: Prices,
    home: Path,
    session: int | None = None,
) -> int:
    """The database's part of a forget, also after a crash: until the rewrite is finished the old places still read."""
    sessions = set() if session is None else {session}
    hidden = 0
    ledger, copies = Ledger(connection, prices), CopyMarker(connection)
    with transaction(connection):
        for key in rewrite.keys:
            row = connection.execute("SELECT id, session FROM file WHERE key = ?", (key,)).fetchone()
            if row is None:
                continue
            hidden += unindex(connection, files, row[0])
            ledger.drop(row[0])
            copies.will_change(row[0])
            for table in ("tool_call", "prompt", "thought", "piece", "client_said"):
                connection.execute(f"DELETE FROM {table} WHERE file = ?", row[:1])  # noqa: S608  our own names
            connection.execute("DELETE FROM file WHERE id = ?", row[:1])
            if row[1] is not None:
                sessions.add(row[1])
        ledger.settle()
        copies.settle()
        connection.execute("DELETE FROM circumstance WHERE id NOT IN (SELECT circumstance FROM request)")
        now = int(time.time() * 1000)
        take_over_copy(connection, home)
        keep_forgotten(connection, [(key, now) for key in rewrite.keys])
        connection.execute("DELETE FROM seen")  # names too; the next sync walks again
        for each in sessions:
            forget_said(connection, each)
            names = connection.execute("SELECT uuid, project FROM session WHERE id = ?", (each,)).fetchall()
            forget_friction(connection, each)
            connection.execute("DELETE FROM session WHERE id = ?", (each,))
            for name, project in names:
                forget_moves(connection, project)
                forget_mark(connection, name)
        write_copy(connection, home)
        _move(connection, rewrite.moved)
    ledger.close()
    return hidden


def _move(connection: sqlite3.Connection, moved: Sequence[tuple[Place, Place]]) -> None:
    """By way of a table: no index leads from a place to its rows, and a scan for each piece would take minutes."""
    connection.execute(
        """CREATE TEMP TABLE moved (old_pack, old_offset, new_pack, new_offset, new_stored,
                                    PRIMARY KEY (old_pack, old_offset)) WITHOUT ROWID"""
    )
    connection.executemany(
        "INSERT INTO moved VALUES (?, ?, ?, ?, ?)",
        [(old.pack, old.offset, new.pack, new.offset, new.stored) for old, new in moved],
    )
    connection.execute(
        """UPDATE piece SET pack = new_pack, offset = new_offset, stored = new_stored
           FROM moved WHERE pack = old_pack AND offset = old_offset"""
    )
    connection.execute("DROP TABLE moved")


def _scrub(connection: sqlite3.Connection) -> None:
    """Deleted words stand in the segments of the index until these are merged, deleted rows in free pages."""
    with transaction(connection):
        connection.execute("INSERT INTO search(search) VALUES ('optimize')")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def is_lost(connection: sqlite3.Connection, safe: Safe) -> bool:
    """Whether the safe holds bytes that no row of the database names: it was deleted, or is another's, or was made anew
    by a rebuild that did not come to its end."""
    if notes.is_half_made(connection):
        return True
    return bool(safe.packs()) and connection.execute("SELECT 1 FROM piece LIMIT 1").fetchone() is None


def told(damage: Damage) -> str:
    name = printable(damage.path) if damage.path else "unknown file"
    return f"pack {damage.pack} at {damage.offset} ({name}): {damage.reason}"


def verify_without_database(safe: Safe, problem: RereadError) -> Verified:
    """What can be proved when the database cannot even be opened."""
    damaged = [f"database: {problem}"]
    size = files = 0
    for found in safe.verify():
        if isinstance(found, Damage):
            damaged.append(told(found))
        else:
            size += found.header.length
            files += found.header.start == 0
    return Verified(files=files, bytes=size, stored_bytes=sum(safe.packs().values()), damaged=damaged)
