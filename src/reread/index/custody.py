"""Looks after the safe with the help of the index: recovery after a crash, status, restore, forget, repair."""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from reread.billing import Prices
from reread.errors import BadInput, SafeDamaged, SafeError, StoreError, printable
from reread.foreign_files import names_below, path_below, read_regular, write_below
from reread.keys import session_mark
from reread.safe.safe import Damage, PieceHeader, PiecePlace, Rewrite, Safe
from reread.sources import place

from . import meta, read
from .backup_files import give_away
from .client_totals import forget_client_totals
from .conversation_rows import CopyMarker
from .database import FILE_NAME, transaction
from .findings import forget_friction
from .ledger import Ledger
from .meta import as_path, stored_path
from .moved_folders import forget_moves
from .places import drop_lines, keys_of_places
from .rows import FileRow
from .safe_reader import LOST, filled
from .session_files import SessionFileReader
from .sessions import StoredSession
from .user_data import content_mark, forget_mark, keep_forgotten, take_over_copy, write_copy
from .verify import damage_line, damaged_index, find_again


class ArchiveStatus(Struct, frozen=True, kw_only=True):
    """Figures of the archive."""

    home: Path
    sessions: int
    files: int
    vanished: int
    bytes: int
    """Size of the source files, before compression."""
    backups: int
    """How many of the files are backups of files that the client changed."""
    backup_bytes: int
    stored_bytes: int
    index_bytes: int
    set_aside_bytes: int
    """Size of the indexes that rebuilds set aside, which are for their owner to delete."""
    left_out: list[tuple[str, int]] = []
    """Forgotten sessions that the sources still have, with the time they were forgotten in milliseconds since 1970."""
    results_waiting: int = 0
    """Sessions with tool results that are not indexed yet: the next plain sync, or a search for them, indexes them."""
    friction_waiting: int = 0
    """Sessions whose friction is not found yet: the next plain sync, or a retrospective, finds it."""
    rewritten: int = 0
    """Files that were rewritten; the index has their present content."""
    earlier_bytes: int = 0
    """Bytes of the earlier generations of those files, which are kept: `restore` gives them with `generation`."""


class Restored(Struct, frozen=True, kw_only=True):
    files: list[Path]
    bytes: int
    damaged: list[str]
    """A sentence for each loss in the restored files."""


class Forgotten(Struct, frozen=True, kw_only=True):
    files: int
    bytes: int
    hidden_texts: int
    """Texts whose words could not be removed from the index, because the texts are damaged in the safe."""


def recover(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> SafeDamaged | None:
    """After a crash: finishes an unfinished forget, and cuts off a piece that was never acknowledged.

    Returns a loss in the last pack instead of raising it, because a loss must not keep new bytes out of the safe.
    """
    finish_forget(connection, safe, prices)
    lost = _cut_tail(connection, safe)
    if lost is not None and find_again(connection, safe):
        lost = _cut_tail(connection, safe)
    return lost


def _cut_tail(connection: sqlite3.Connection, safe: Safe) -> SafeDamaged | None:
    try:
        safe.recover_tail(*read.acknowledged_end(connection))
    except SafeDamaged as lost:
        return lost
    return None


def finish_forget(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> None:
    """Finishes a forget that a crash interrupted; harmless if there was none."""
    unfinished = safe.unfinished()
    if unfinished is not None:
        settle(connection, SessionFileReader(connection, safe), unfinished, prices, safe.folder.parent)
        safe.finish_rewrite()
        _scrub(connection)


def status(connection: sqlite3.Connection, home: Path, safe: Safe) -> ArchiveStatus:
    files, vanished, size, backups, backup_size = connection.execute(
        """SELECT count(*), ifnull(sum(present = 0), 0), ifnull(sum(taken), 0),
                  count(backup_of), ifnull(sum(taken) FILTER (WHERE backup_of IS NOT NULL), 0) FROM file"""
    ).fetchone()
    sessions = connection.execute("SELECT count(*) FROM session").fetchone()[0]
    rewritten, earlier_size = connection.execute(
        """SELECT count(DISTINCT file.id), ifnull(sum(length), 0)
           FROM piece JOIN file ON file.id = piece.file WHERE piece.generation < file.generation"""
    ).fetchone()
    set_aside = sum(path.stat().st_size for path in home.glob(f"{FILE_NAME}.damaged-*"))
    index = sum(path.stat().st_size for path in home.glob(f"{FILE_NAME}*")) - set_aside
    return ArchiveStatus(
        home=home,
        sessions=sessions,
        files=files,
        vanished=vanished,
        bytes=size,
        backups=backups,
        backup_bytes=backup_size,
        stored_bytes=sum(safe.packs().values()),
        index_bytes=index,
        set_aside_bytes=set_aside,
        left_out=meta.left_out(connection),
        results_waiting=len(meta.waiting_for_results(connection)),
        friction_waiting=len(meta.waiting_for_friction(connection)),
        rewritten=rewritten,
        earlier_bytes=earlier_size,
    )


class Generation(Struct, frozen=True, kw_only=True):
    """A file as it was between two rewrites."""

    path: Path
    generation: int
    bytes: int
    is_last: bool


def generations(connection: sqlite3.Connection, session: StoredSession) -> list[Generation]:
    """What can be restored of a session: its files, and their earlier generations."""
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
    files: SessionFileReader,
    session: StoredSession,
    to: Path,
    generation: int | None = None,
) -> Restored:
    """Writes every file of a session below `to`, readable by the owner only; with `generation`, as it was then.

    A file with fewer generations is written as it is now; where bytes are lost, a line in the file says so. Raises
    StoreError, before anything is written, if a file exists already with other bytes: an old state must not replace a
    newer one.
    """
    rows: dict[Path, tuple[Path, FileRow]] = {}
    damaged: list[str] = []
    for row in kept_files(connection, session):
        try:
            name = below(row, session)
            rows[path_below(to, name)] = name, row
        except BadInput as problem:
            damaged.append(f"{printable(row.location)}: {problem}")
    for target, (_, row) in rows.items():
        if _differs(target, files.left_of(row, _existing_generation(row, generation)).content):
            raise StoreError(f"{printable(str(target))}: is there already, and different; restore into another folder")
    size = 0
    for target, (name, row) in rows.items():
        content, lost = files.left_of(row, _existing_generation(row, generation))
        damaged += [f"{printable(str(target))}: {damage}" for damage in lost]
        try:
            write_below(to, name, content, mtime_ns=row.mtime_ns)
        except OSError as error:
            raise StoreError(f"{printable(str(target))}: cannot be written ({error.strerror or error})") from error
        size += len(content)
    return Restored(files=list(rows), bytes=size, damaged=damaged)


def restore_targets(connection: sqlite3.Connection, session: StoredSession, to: Path) -> list[Path]:
    """Where `restore` would write."""
    found: list[Path] = []
    for row in kept_files(connection, session):
        with suppress(BadInput):
            found.append(path_below(to, below(row, session)))
    return found


def kept_files(connection: sqlite3.Connection, session: StoredSession) -> list[FileRow]:
    """Everything kept of a session: its own files, and backups of files that it changed."""
    return read.files_of(connection, session.id) + read.backups_of(connection, session.id)


def _existing_generation(row: FileRow, generation: int | None) -> int:
    return min(generation or row.generation, row.generation)


def _differs(target: Path, content: bytes) -> bool:
    try:
        return read_regular(target, len(content)) != content
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno in (errno.EFBIG, errno.ELOOP):
            return True
        raise StoreError(f"{printable(str(target))}: cannot be written ({error.strerror or error})") from error


def below(row: FileRow, session: StoredSession) -> Path:
    """A file's path relative to the folder of its session; a capture is put with the session's own files.

    Backups are put in a folder next to these, as they were in one next to `projects`. A file that did not come along
    when the session moved is put where it was below the session's earlier folder. Raises BadInput for a path that leads
    elsewhere, as one of another machine may.
    """
    name = _below(row, session)
    names_below(name)
    return name


def _below(row: FileRow, session: StoredSession) -> Path:
    folder = Path(session.row.folder)
    if row.kind == "backup":
        return Path(*row.path.parts[-3:])
    if row.kind == "capture" and not row.path.is_relative_to(folder):
        return Path(row.path.parent.name) / row.path.name
    if not row.path.is_relative_to(folder):
        where = place(row.path)
        own = next((each for each in row.path.parents if where is not None and each.name == where.session), row.path)
        folder = own.parent
    return row.path.relative_to(folder)


def forget(
    connection: sqlite3.Connection, safe: Safe, files: SessionFileReader, session: StoredSession, prices: Prices
) -> Forgotten:
    """Removes a session's bytes from the safe, its words and rows from the index, and the traces of both.

    First the packs are copied without it, and the copies count from then on; after a crash `recover` does the rest.
    """
    recover(connection, safe, prices)
    give_away(connection, safe, session.id)
    rows = kept_files(connection, session)
    keys = {row.key for row in rows} | keys_of_places(connection, [row.id for row in rows])
    rewrite = safe.rewrite_without(keys | _marks_of(connection, files, session, rows))
    hidden = settle(connection, files, rewrite, prices, safe.folder.parent, session.id)
    safe.finish_rewrite()
    _scrub(connection)
    return Forgotten(files=len(rows), bytes=sum(row.taken for row in rows), hidden_texts=hidden)


def _marks_of(
    connection: sqlite3.Connection, files: SessionFileReader, session: StoredSession, rows: Sequence[FileRow]
) -> set[str]:
    """Keys by which a session is recognised wherever it is found again: of its content, and of its id unless another
    session with that id is kept. They are passed to the rewrite, whose record survives a crash."""
    others = connection.execute(
        "SELECT 1 FROM session WHERE uuid = ? AND id <> ?", (stored_path(session.row.uuid), session.id)
    ).fetchone()
    marks = set() if others else {session_mark(session.row.uuid)}
    contents = (files.left_of(row) for row in rows if row.kind == "transcript")
    return marks | {content_mark(found.content).key for found in contents if found.content and not found.lost}


def settle(
    connection: sqlite3.Connection,
    files: SessionFileReader,
    rewrite: Rewrite,
    prices: Prices,
    home: Path,
    session: int | None = None,
) -> int:
    """The database's part of a forget, also after a crash: the old places can be read until the rewrite is finished.

    It is durable when it returns: the old packs are removed next, and rows that a power cut brought back would refer to
    them.
    """
    ledger = Ledger(connection, prices)
    with transaction(connection, durable=True):
        sessions, hidden = _drop_files(connection, files, rewrite.keys, ledger)
        connection.execute("DELETE FROM context WHERE id NOT IN (SELECT context FROM request)")
        now = int(time.time() * 1000)
        take_over_copy(connection, home)
        keep_forgotten(connection, [(key, now) for key in rewrite.keys])
        connection.execute("DELETE FROM source_state")  # it has names, too; the next sync walks again
        for each in sessions if session is None else {session, *sessions}:
            _drop_session(connection, each)
        write_copy(connection, home)
        _move(connection, rewrite.moved)
    ledger.close()
    return hidden


def _drop_files(
    connection: sqlite3.Connection, files: SessionFileReader, keys: Sequence[str], ledger: Ledger
) -> tuple[set[int], int]:
    """Removes files with all that their lines tell; gives their sessions, and how many texts were hidden."""
    sessions: set[int] = set()
    hidden = 0
    copies = CopyMarker(connection)
    for key in keys:
        row = connection.execute("SELECT id, session FROM file WHERE key = ?", (key,)).fetchone()
        if row is None:
            continue
        file, session = row
        hidden += drop_lines(connection, files, file, ledger, copies)
        connection.execute("DELETE FROM file_copy WHERE file = ?", (file,))
        connection.execute("DELETE FROM file WHERE id = ?", (file,))
        if session is not None:
            sessions.add(session)
    ledger.settle()
    copies.settle()
    return sessions, hidden


def _drop_session(connection: sqlite3.Connection, session: int) -> None:
    """Removes a session with what a person said of it."""
    forget_client_totals(connection, session)
    names = connection.execute("SELECT uuid, project FROM session WHERE id = ?", (session,)).fetchall()
    forget_friction(connection, session)
    connection.execute("DELETE FROM session WHERE id = ?", (session,))
    for name, project in names:
        forget_moves(connection, project)
        forget_mark(connection, name)


def _move(connection: sqlite3.Connection, moved: Sequence[tuple[PiecePlace, PiecePlace]]) -> None:
    """Uses a table: there is no index from a place to its rows, and a scan for each piece would take minutes."""
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
    """Erases what was deleted: words stay in segments of the index until these are merged, rows in free pages."""
    with transaction(connection):
        connection.execute("INSERT INTO search(search) VALUES ('optimize')")
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


_FILE = "key, machine, source, path, kind, mtime_ns"


class DamagedFile(Struct, frozen=True, kw_only=True):
    """A file of which some bytes can no longer be read."""

    path: Path
    bytes: int
    """How many bytes, in all its generations."""
    is_there: bool
    """Whether its source still exists, so that the next sync imports it again."""


class Damaged(Struct, frozen=True, kw_only=True):
    """What cannot be proved."""

    pieces: list[str]
    """A sentence for each damage in the packs."""
    stored_bytes: int
    """The bytes in the packs that cannot be proved."""
    files: list[DamagedFile]


class _Hole(NamedTuple):
    file: int
    generation: int
    start: int
    length: int
    taken: object
    """When the piece before it was written, by its header; stored in the header of the filler."""


class _Found(NamedTuple):
    damages: list[Damage]
    holes: list[_Hole]


def find_damaged(connection: sqlite3.Connection, safe: Safe) -> Damaged:
    """Reads the whole safe. Raises StoreError if the index is damaged, because only the index shows what is missing."""
    return _summed(connection, _find(connection, safe))


def forget_damaged(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> Damaged:
    """Removes from the safe what cannot be proved. If it is stopped half-way, it can be run again."""
    recover(connection, safe, prices)
    found = _find(connection, safe)
    _fill(connection, safe, found.holes)
    rewrite = safe.rewrite_without(set(), drop_unreadable=True)
    if rewrite.replaced:
        settle(connection, SessionFileReader(connection, safe), rewrite, prices, safe.folder.parent)
        safe.finish_rewrite()
    return _summed(connection, found)


def _find(connection: sqlite3.Connection, safe: Safe) -> _Found:
    if damaged_index(connection):
        raise StoreError("the index is damaged as well; run `reread archive rebuild` first")
    find_again(connection, safe)
    damages: list[Damage] = []
    proved: dict[tuple[int, int], PieceHeader] = {}
    for found in safe.verify():
        if isinstance(found, Damage):
            if not found.stored:
                raise SafeError(safe.folder, damage_line(found))
            damages.append(found)
        if found.header is not None:
            proved[found.place.pack, found.place.offset] = found.header
    return _Found(damages, list(_holes(connection, proved)))


def _holes(connection: sqlite3.Connection, proved: dict[tuple[int, int], PieceHeader]) -> Iterator[_Hole]:
    """Ranges of files that rows name and the safe lacks, and the gaps between rows."""
    ends: dict[tuple[int, int], tuple[int, object]] = {}
    for file, generation, start, length, digest, pack, offset in connection.execute(
        "SELECT file, generation, start, length, sha256, pack, offset FROM piece ORDER BY file, generation, start"
    ):
        end, taken = ends.get((file, generation), (0, None))
        if end < start:
            yield _Hole(file, generation, end, start - end, taken)
        header = proved.get((pack, offset))
        if header is None or header.sha256 != digest.hex():
            yield _Hole(file, generation, start, length, taken)
        else:
            taken = header.more.get("taken")
        ends[file, generation] = start + length, taken
    for file, generation, size in connection.execute("SELECT id, generation, taken FROM file"):
        end, taken = ends.get((file, generation), (0, None))
        if end < size:
            yield _Hole(file, generation, end, size - end, taken)


def _fill(connection: sqlite3.Connection, safe: Safe, holes: list[_Hole]) -> None:
    """Fills holes with pieces that say so; as always, pieces are on disk before the rows that name them."""
    kept = [(hole, *safe.append(_header(connection, hole), filled(hole.length))) for hole in holes]
    safe.flush()
    with transaction(connection):
        for hole, header, place in kept:
            _name(connection, hole, header, place)
        if holes:
            connection.execute("DELETE FROM source_state")  # the next sync looks at everything


def _header(connection: sqlite3.Connection, hole: _Hole) -> PieceHeader:
    row = connection.execute(f"SELECT {_FILE} FROM file WHERE id = ?", (hole.file,)).fetchone()  # noqa: S608  our own
    key, machine, source, path, kind, mtime_ns = row
    return PieceHeader(
        file=key,
        machine=machine,
        source=as_path(source),
        path=as_path(path),
        kind=kind,
        generation=hole.generation,
        start=hole.start,
        mtime_ns=mtime_ns,
        more={LOST: True} if hole.taken is None else {LOST: True, "taken": hole.taken},
    )


def _name(connection: sqlite3.Connection, hole: _Hole, header: PieceHeader, place: PiecePlace) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO piece VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(hole.file, hole.generation, hole.start, hole.length, bytes.fromhex(header.sha256)),
            *(place.pack, place.offset, place.stored),
        ),
    )
    is_last = (hole.file, hole.generation)
    # Words of lost lines stay in the index until it is rebuilt, but without blocks they are never found.
    connection.execute(
        """DELETE FROM block WHERE offset < ? AND offset + length > ? AND file = ? AND id BETWEEN
               (SELECT first_block FROM file WHERE id = ? AND generation = ?) AND
               (SELECT last_block FROM file WHERE id = ? AND generation = ?)""",
        (hole.start + hole.length, hole.start, hole.file, *is_last, *is_last),
    )
    # Without the digest of its beginning, a source that still exists is imported as a new generation.
    connection.execute("UPDATE file SET head = x'', device = 0, inode = 0 WHERE id = ? AND generation = ?", is_last)


def _summed(connection: sqlite3.Connection, found: _Found) -> Damaged:
    lost: dict[int, int] = {}
    for hole in found.holes:
        lost[hole.file] = lost.get(hole.file, 0) + hole.length
    rows = {
        file: connection.execute("SELECT path, present FROM file WHERE id = ?", (file,)).fetchone() for file in lost
    }
    return Damaged(
        pieces=[damage_line(damage) for damage in found.damages],
        stored_bytes=sum(damage.stored for damage in found.damages if damage.header is None),
        files=[
            DamagedFile(path=Path(as_path(path)), bytes=lost[file], is_there=present == 1)
            for file, (path, present) in rows.items()
        ],
    )
