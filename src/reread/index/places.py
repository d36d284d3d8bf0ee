"""Other places with the content of a file: another folder, user, mount or machine.

A session is its content. A file with the same bytes as a kept file, or with the beginning of them, is not a session of
its own but a place of that file, whose rows, words and bytes it shares. The safe records a place as a piece without
bytes, so that a new index knows it again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from reread.billing import Prices
from reread.errors import SafeDamaged
from reread.home import is_same_file
from reread.keys import file_key
from reread.safe.pieces import PieceHeader, seal
from reread.safe.safe import Safe
from reread.sources.find import Role, role_of

from . import read
from .conversation_rows import CopyMarker
from .database import transaction
from .findings import drop_friction
from .ledger import Ledger
from .meta import as_path, stored_path
from .rows import FileRow
from .safe_reader import SafeReader
from .session_files import SessionFileReader
from .sessions import integers
from .words import unindex

PLACE = "place"
"""In the header of a piece without bytes whose path is another place of the file."""
MOVED = "moved"
"""In the header of such a piece: the file was moved there. Who does not know it takes it for one more place."""
CAPTURE = "capture"
_CHUNK = 1 << 20


class PlaceRow(NamedTuple):
    """A place as it was last seen."""

    key: str
    """Made from machine and path; pieces in the safe may have it from when the place was a file of its own."""
    file: int
    machine: str
    source: str
    path: str
    device: int
    inode: int
    size: int
    mtime_ns: int


class KnownPlace(NamedTuple):
    size: int
    mtime_ns: int
    inode: int
    device: int
    original: Path
    """The path of the file."""
    machine: str
    """The machine of the file."""
    present: bool


def places_on(connection: sqlite3.Connection, machine: str) -> dict[Path, KnownPlace]:
    rows = connection.execute(
        """SELECT other.path, other.size, other.mtime_ns, other.inode, other.device,
                  file.path, file.machine, other.present
           FROM file_copy AS other JOIN file ON file.id = other.file
           WHERE other.machine = ? ORDER BY other.present""",
        (machine,),
    )
    return {
        Path(as_path(path)): KnownPlace(size, mtime_ns, inode, device, Path(as_path(original)), at, bool(present))
        for path, size, mtime_ns, inode, device, original, at, present in rows
    }


def keep_places(connection: sqlite3.Connection, places: Iterable[PlaceRow]) -> None:
    """Call it inside a transaction."""
    connection.executemany(
        """INSERT INTO file_copy (key, file, machine, source, path, device, inode, size, mtime_ns, present)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)
           ON CONFLICT (key) DO UPDATE SET file = excluded.file, device = excluded.device, inode = excluded.inode,
               size = excluded.size, mtime_ns = excluded.mtime_ns, present = 1, vanished = NULL""",
        [(*each[:3], stored_path(each.source), stored_path(each.path), *each[5:]) for each in places],
    )


def place_piece(place: PlaceRow, key: str, kind: str, generation: int, taken: int) -> tuple[PieceHeader, bytes]:
    """The piece by which the safe records a place."""
    header = PieceHeader(
        file=key,
        machine=place.machine,
        source=place.source,
        path=place.path,
        kind=kind,
        generation=generation,
        start=0,
        mtime_ns=place.mtime_ns,
        more={PLACE: place.key, "same": key, "taken": taken},
    )
    return seal(header, b"")


def known_keys(connection: sqlite3.Connection) -> set[tuple[str, int]]:
    """Key and file of every place."""
    return set(connection.execute("SELECT key, file FROM file_copy"))


def keys_of_places(connection: sqlite3.Connection, files: Iterable[int]) -> set[str]:
    """Other keys under which the safe may have the content of these files."""
    rows = connection.execute(f"SELECT key FROM file_copy WHERE file IN ({integers(files)})")  # noqa: S608  integers
    return {key for (key,) in rows}


def places_of(connection: sqlite3.Connection, sessions: Sequence[int]) -> dict[int, list[tuple[str, str, bool]]]:
    """Of sessions in several places: machine and path of the other places, and whether each still exists."""
    rows = connection.execute(
        f"""SELECT DISTINCT file.session, file_copy.machine, file_copy.path, file_copy.present
            FROM file_copy JOIN file ON file.id = file_copy.file
            WHERE file.session IN ({integers(sessions)})
                AND (file_copy.machine <> file.machine OR file_copy.path <> file.path) ORDER BY 1, 2, 3"""  # noqa: S608
    )
    found: dict[int, list[tuple[str, str, bool]]] = {}
    for session, machine, path, present in rows:
        found.setdefault(session, []).append((machine, as_path(path), bool(present)))
    return found


def diverge(connection: sqlite3.Connection, keys: Iterable[str]) -> set[str]:
    """Makes the copies of sessions with these place keys independent; returns the keys of all places they had."""
    found: set[str] = set()
    with transaction(connection):
        for key in keys:
            rows = connection.execute(
                """SELECT other.key FROM file_copy JOIN file ON file.id = file_copy.file
                       JOIN file AS beside ON beside.session = file.session
                       JOIN file_copy AS other ON other.file = beside.id AND other.machine = file_copy.machine
                   WHERE file_copy.key = ?""",
                (key,),
            ).fetchall()
            found |= {key, *(each for (each,) in rows)}
        connection.executemany("DELETE FROM file_copy WHERE key = ?", [(key,) for key in found])
    return found


_SLICE = 512 * 1024


def keep_copies(connection: sqlite3.Connection, safe: Safe, files: SafeReader, machine: str) -> None:
    """Call it before the files of a machine are removed: copies of them that others had get bytes of their own."""
    rows = connection.execute(
        """SELECT file.key, file.kind, other.key, other.machine, other.source, other.path, other.size, other.mtime_ns
           FROM file_copy AS other JOIN file ON file.id = other.file
           WHERE file.machine = ? AND other.machine <> ? AND other.size > 0""",
        (machine, machine),
    ).fetchall()
    for of, kind, key, owner, source, path, size, mtime_ns in rows:
        row = read.file_by_key(connection, of)
        content = files.left_of(row).content[:size] if row is not None else b""
        for start in range(0, len(content), _SLICE):
            header = PieceHeader(
                file=key,
                machine=owner,
                source=as_path(source),
                path=as_path(path),
                kind=kind,
                generation=1,
                start=start,
                mtime_ns=mtime_ns,
            )
            safe.append(header, content[start : start + _SLICE])


def drop_places(connection: sqlite3.Connection, machine: str, paths: Iterable[Path]) -> None:
    """Drops places that are files of their own now."""
    connection.executemany(
        "DELETE FROM file_copy WHERE machine = ? AND path = ?", [(machine, stored_path(str(path))) for path in paths]
    )


def look_at_again(connection: sqlite3.Connection, file: int) -> bool:
    """Has the next walk compare the places of a file that was rewritten: they may hold what it no longer does. False if
    it has none."""
    return connection.execute("UPDATE file_copy SET size = -1 WHERE file = ?", (file,)).rowcount > 0


def mark_places_vanished(connection: sqlite3.Connection, machine: str, paths: Iterable[Path], now: int) -> None:
    connection.executemany(
        "UPDATE file_copy SET present = 0, vanished = ? WHERE machine = ? AND path = ? AND present = 1",
        [(now, machine, stored_path(str(path))) for path in paths],
    )


def adopt_places(connection: sqlite3.Connection, headers: Iterable[PieceHeader]) -> None:
    """Adds places that the safe records; the next sync finds out whether they still exist."""
    rows = connection.execute("SELECT key, id, machine, path FROM file").fetchall()
    files = {key: number for key, number, *_ in rows}
    taken = {(machine, as_path(path)) for *_, machine, path in rows}
    with transaction(connection):
        for header in headers:
            file = files[header.file]
            if (header.machine, header.path) not in taken:
                seen = (0, 0, -1, header.mtime_ns)
                keep_places(
                    connection,
                    [PlaceRow(str(header.more[PLACE]), file, header.machine, header.source, header.path, *seen)],
                )


class Original(NamedTuple):
    """A session of which another may be a copy."""

    session: int
    machine: str
    folder: str
    files: dict[Role, FileRow]


def originals(connection: sqlite3.Connection, uuid: str) -> list[Original]:
    rows = connection.execute(
        "SELECT id, machine, folder FROM session WHERE uuid = ? ORDER BY id", (stored_path(uuid),)
    )
    return [
        Original(
            number,
            machine,
            as_path(folder),
            {role_of(row.kind, row.path): row for row in read.files_of(connection, number) if row.kind != CAPTURE},
        )
        for number, machine, folder in rows.fetchall()
    ]


class SessionMove(NamedTuple):
    """A session that is in another folder of its machine now."""

    original: Original
    folder: str
    files: dict[int, tuple[str, Path]]
    """The source and path of each of its files, by number."""


def can_move(connection: sqlite3.Connection, moved: Original, folder: str) -> bool:
    """Whether no other session of its id is in that folder of its machine."""
    there = connection.execute(
        """SELECT 1 FROM session AS other JOIN session ON session.uuid = other.uuid AND session.id <> other.id
           WHERE session.id = ? AND other.machine = session.machine AND other.folder = ?""",
        (moved.session, stored_path(folder)),
    )
    return there.fetchone() is None


def move_session(connection: sqlite3.Connection, move: SessionMove) -> bool:
    """Moves a session to another folder of its machine, and its files to these sources and paths; nothing else changes.

    False if another session is there already.
    """
    moved, folder, files = move
    with transaction(connection):
        changed = connection.execute(
            "UPDATE OR IGNORE session SET folder = ? WHERE id = ?", (stored_path(folder), moved.session)
        )
        if not changed.rowcount:
            return False
        before = [
            (file_key(moved.machine, str(row.path)), row.path.exists(), row.id)
            for row in moved.files.values()
            if row.id in files and not is_same_file(row.path, files[row.id][1])
        ]
        connection.executemany(
            """INSERT OR REPLACE INTO file_copy
               SELECT ?, id, machine, source, path, device, inode, size, mtime_ns, ?, vanished
               FROM file WHERE id = ?""",
            before,
        )
        connection.executemany(
            "UPDATE file SET source = ?, path = ?, device = 0, inode = 0, present = 1, vanished = NULL WHERE id = ?",
            [(stored_path(source), stored_path(str(path)), id_) for id_, (source, path) in files.items()],
        )
        connection.executemany(
            "DELETE FROM file_copy WHERE machine = ? AND path = ?",
            [(moved.machine, stored_path(str(path))) for _, path in files.values()],
        )
    return True


def compared(one: Path, other: Path) -> int | None:
    """1 if a file is longer than another, 0 if the same, -1 if shorter, where one begins with the other.

    Otherwise None, also if one cannot be read: that is reported when it is read for its lines.
    """
    try:
        if one.samefile(other):
            return 0
        with one.open("rb") as first, other.open("rb") as second:
            while True:
                ours, theirs = first.read(_CHUNK), second.read(_CHUNK)
                least = min(len(ours), len(theirs))
                if ours[:least] != theirs[:least]:
                    return None
                if len(ours) != len(theirs):
                    return 1 if len(ours) > len(theirs) else -1
                if not ours:
                    return 0
    except OSError:
        return None


def compared_with_kept(path: Path, pieces: Sequence[read.StoredPiece], safe: Safe) -> int | None:
    """Like `compared`, against what the safe has of a file."""
    end = 0
    try:
        with path.open("rb") as file:
            for piece in pieces:
                if piece.start != end:
                    return None
                end += piece.length
                ours = file.read(piece.length)
                if len(ours) < piece.length:
                    return -1 if safe.read(piece.place).startswith(ours) else None
                if sha256(ours).digest() != piece.sha256:
                    return None
            return 1 if file.read(1) else 0
    except (OSError, SafeDamaged):
        return None


def call_by_file(connection: sqlite3.Connection, trunk: FileRow) -> None:
    """Renames the session of a transcript after its file."""
    with transaction(connection):
        for name in (trunk.path.stem, trunk.path.name):
            values = (stored_path(name), trunk.session)
            if connection.execute("UPDATE OR IGNORE session SET uuid = ? WHERE id = ?", values).rowcount:
                return


def fold_copies(connection: sqlite3.Connection, safe: Safe, prices: Prices) -> int:
    """Joins sessions that were imported several times, from several places.

    Copies that have grown apart stay separate. Returns how many were folded into others.
    """
    uuids = connection.execute("SELECT uuid FROM session GROUP BY uuid HAVING count(*) > 1").fetchall()
    files = SessionFileReader(connection, safe)
    ledger = Ledger(connection, prices)
    folded = 0
    for (uuid,) in uuids:
        kept: list[Original] = []
        for each in sorted(originals(connection, as_path(uuid)), key=_fullest):
            home = next((other for other in kept if _holds(connection, files, other, each)), None)
            if home is None:
                kept.append(each)
            else:
                _fold(connection, files, ledger, home, each)
                folded += 1
    if folded:
        ledger.close()
    return folded


def _fullest(each: Original) -> tuple[int, int]:
    return -sum(row.taken for row in each.files.values()), each.session


def _holds(connection: sqlite3.Connection, files: SafeReader, full: Original, other: Original) -> bool:
    """Whether every file of `other` is, or is the beginning of, the same file of `full`."""
    if not other.files or other.files.keys() - full.files.keys():
        return False
    return all(_begins_with(connection, files, full.files[role], row) for role, row in other.files.items())


def _begins_with(connection: sqlite3.Connection, files: SafeReader, full: FileRow, other: FileRow) -> bool:
    if other.taken > full.taken:
        return False
    theirs = [(piece.start, piece.sha256) for piece in read.pieces_of(connection, other.id, other.generation)]
    ours = [(piece.start, piece.sha256) for piece in read.pieces_of(connection, full.id, full.generation)]
    if ours[: len(theirs)] == theirs:
        return True
    try:
        return files.bytes_of(full).startswith(files.bytes_of(other))
    except SafeDamaged:
        return False


def drop_lines(
    connection: sqlite3.Connection, files: SessionFileReader, file: int, ledger: Ledger, copies: CopyMarker
) -> int:
    """Removes all that the lines of a file tell; gives how many texts could not be read and were hidden."""
    hidden = unindex(connection, files, file)
    ledger.drop(file)
    copies.will_change(file)
    for table in ("tool_call", "prompt", "thought", "piece", "client_total", "limit_value"):
        connection.execute(f"DELETE FROM {table} WHERE file = ?", (file,))  # noqa: S608  our own names
    return hidden


def _fold(
    connection: sqlite3.Connection, files: SessionFileReader, ledger: Ledger, home: Original, other: Original
) -> None:
    copies = CopyMarker(connection)
    with transaction(connection):
        for role, row in other.files.items():
            target = home.files[role].id
            drop_lines(connection, files, row.id, ledger, copies)
            connection.execute(
                """INSERT OR REPLACE INTO file_copy
                   SELECT key, ?, machine, source, path, device, inode, size, mtime_ns, present, vanished
                   FROM file WHERE id = ?""",
                (target, row.id),
            )
            connection.execute("UPDATE file_copy SET file = ? WHERE file = ?", (target, row.id))
            connection.execute("DELETE FROM file WHERE id = ?", (row.id,))
        connection.execute("UPDATE file SET session = ? WHERE session = ?", (home.session, other.session))
        connection.execute("UPDATE file SET backup_of = ? WHERE backup_of = ?", (home.session, other.session))
        drop_friction(connection, other.session)
        connection.execute("DELETE FROM session WHERE id = ?", (other.session,))
        ledger.settle()
        copies.settle()
