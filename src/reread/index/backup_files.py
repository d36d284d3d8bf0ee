"""Backups of files in the archive: which session they belong to, and how equal contents share a piece."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence, Set
from pathlib import Path

from msgspec.structs import replace

from reread.errors import SafeDamaged
from reread.safe.pieces import PieceHeader, PiecePlace, seal
from reread.safe.safe import Safe
from reread.sources import FileKind
from reread.sources.find import history_of

from . import read
from .database import transaction
from .meta import as_path, stored_path
from .rows import FileRow
from .safe_reader import SafeReader

SAME = "same"
"""In the header of a piece without bytes: the hash of the piece that has them."""
_DIGEST = re.compile("[0-9a-f]{64}")


class KnownPieces:
    """The places of backups in the safe, by hash; read from the index when the first backup comes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._places = {
            sha256.hex(): PiecePlace(pack, offset, stored)
            for sha256, pack, offset, stored in connection.execute(
                """SELECT sha256, pack, offset, stored FROM file JOIN piece ON piece.file = file.id
                   WHERE backup_of IS NOT NULL"""
            )
        }

    def place(self, sha256: str) -> PiecePlace | None:
        return self._places.get(sha256)

    def learn(self, sha256: str, place: PiecePlace) -> None:
        self._places[sha256] = place


def standing_for(header: PieceHeader) -> tuple[PieceHeader, bytes]:
    """A piece without bytes that refers to kept bytes with the hash in this header."""
    return seal(replace(header, more={**header.more, SAME: header.sha256}), b"")


def full_piece(header: PieceHeader) -> PieceHeader:
    """The header for a piece with bytes of its own, made from that of a piece that referred to shared ones."""
    return replace(header, more={name: value for name, value in header.more.items() if name != SAME})


def shared_digest(header: PieceHeader) -> str | None:
    """The hash of the bytes that a piece refers to; None if it has its own."""
    same = header.more.get(SAME)
    return same if isinstance(same, str) and _DIGEST.fullmatch(same) else None


def resolved(pieces: Sequence[tuple[PieceHeader, PiecePlace]]) -> list[tuple[PieceHeader, PiecePlace]]:
    """Pieces from the packs, where those without bytes get the place of the bytes they refer to, or are left out."""
    backups = [(header, place) for header, place in pieces if header.kind == FileKind.BACKUP]
    full = {header.sha256: (header, place) for header, place in backups if SAME not in header.more}
    found = []
    for header, place in pieces:
        same = header.more.get(SAME)
        if same is None:
            found.append((header, place))
        elif same in full:
            shared, where = full[same]
            found.append((replace(header, length=shared.length, sha256=shared.sha256), where))
    return found


def history_folders(connection: sqlite3.Connection, machine: str) -> dict[Path, int]:
    """The folders in which backups of a machine's sessions may be, each with its session: of copies, the first one."""
    rows = connection.execute("SELECT id, uuid, folder FROM session WHERE machine = ? ORDER BY id DESC", (machine,))
    histories: dict[str, Path | None] = {}
    found = {}
    for number, uuid, stored in rows:
        folder = as_path(stored)
        if folder not in histories:  # thousands of sessions are in a few folders
            histories[folder] = history_of(Path(folder))
        history = histories[folder]
        if history is not None:
            found[history / as_path(uuid)] = number
    return found


def sessions_with_backups(connection: sqlite3.Connection) -> set[int]:
    """Sessions that had backups in their source when it was last looked at."""
    return {
        number
        for (number,) in connection.execute(
            "SELECT DISTINCT backup_of FROM file WHERE backup_of IS NOT NULL AND present = 1"
        )
    }


class KeptBackups:
    """Reads backups out of the safe, by the uuid of their session and their own name."""

    def __init__(self, connection: sqlite3.Connection, kept: SafeReader) -> None:
        self._connection = connection
        self._kept = kept
        self._rows: dict[str, dict[str, FileRow]] = {}

    def __call__(self, session: str, name: str) -> bytes | None:
        """None if no such backup was kept. Raises SafeDamaged."""
        rows = self._rows.get(session)
        if rows is None:
            rows = self._rows[session] = self._of(session)
        return self._kept.bytes_of(rows[name]) if name in rows else None

    def _of(self, session: str) -> dict[str, FileRow]:
        """The backups by name. If several copies of the session have one of that name, the first copy's counts."""
        copies = self._connection.execute(
            "SELECT id FROM session WHERE uuid = ? ORDER BY id DESC", (stored_path(session),)
        ).fetchall()
        return {row.path.name: row for (number,) in copies for row in read.backups_of(self._connection, number)}


def give_away(connection: sqlite3.Connection, safe: Safe, session: int) -> None:
    """Call it before a session is forgotten. Its backups are given to another copy of the session if there is one;
    otherwise bytes that backups of other sessions share are given to one of those.

    New pieces are on disk before the rows that name them; a crash in between leaves pieces that no row names.
    """
    heir = _other_copy(connection, session)
    if heir is not None:
        with transaction(connection):
            connection.execute("UPDATE file SET backup_of = ? WHERE backup_of = ?", (heir, session))
        return
    own = {row.key for row in read.backups_of(connection, session)}
    moved: list[tuple[int, int, int, int, int, int]] = []
    for old, sharers in _shared(connection, session).items():
        new = _kept_for(sharers[0][0], safe, old, own)
        if new is not None:
            moved += [(new.pack, new.offset, new.stored, *name) for _, name in sharers]
    safe.flush()
    with transaction(connection):
        connection.executemany(
            "UPDATE piece SET pack = ?, offset = ?, stored = ? WHERE file = ? AND generation = ? AND start = ?", moved
        )


def _kept_for(heir: PieceHeader, safe: Safe, old: PiecePlace, own: Set[str]) -> PiecePlace | None:
    """The place of the heir's own new piece; None if it needs none, or if the bytes are damaged."""
    try:
        if safe.owner(old) not in own:
            return None
        return safe.append(heir, safe.read(old))[1]
    except SafeDamaged:  # lost to all of them, which verify reports before and after
        return None


def _other_copy(connection: sqlite3.Connection, session: int) -> int | None:
    """Another session with the same id whose backups are in the same folder."""
    machine, uuid, folder = connection.execute(
        "SELECT machine, uuid, folder FROM session WHERE id = ?", (session,)
    ).fetchone()
    wanted = history_of(Path(as_path(folder)))
    copies = connection.execute(
        "SELECT id, folder FROM session WHERE machine = ? AND uuid = ? AND id <> ? ORDER BY id",
        (machine, uuid, session),
    )
    found = (number for number, at in copies if history_of(Path(as_path(at))) == wanted)
    return next(found, None) if wanted is not None else None


_Sharers = list[tuple[PieceHeader, tuple[int, int, int]]]
"""For each file that shares a piece: the header its own piece would have, and the key of its row: file, generation,
start."""


def _shared(connection: sqlite3.Connection, session: int) -> dict[PiecePlace, _Sharers]:
    """Pieces of the session's backups that backups of other sessions share.

    The headers do not say when the pieces were written: in a rebuild the last ones written of a file count, and a few
    pieces must not take precedence over the complete ones.
    """
    rows = connection.execute(
        """SELECT ours.pack, ours.offset, ours.stored, file.id, theirs.generation, theirs.start,
                  key, machine, source, path, kind, mtime_ns
           FROM (SELECT DISTINCT pack, offset, stored FROM file JOIN piece ON piece.file = file.id
                 WHERE backup_of = ?) AS ours
                JOIN piece AS theirs ON theirs.pack = ours.pack AND theirs.offset = ours.offset
                JOIN file ON file.id = theirs.file
           WHERE backup_of <> ? ORDER BY file.id""",
        (session, session),
    )
    found: dict[PiecePlace, _Sharers] = {}
    for pack, offset, stored, file, generation, start, key, machine, source, path, kind, mtime_ns in rows:
        header = PieceHeader(
            file=key,
            machine=machine,
            source=as_path(source),
            path=as_path(path),
            kind=kind,
            generation=generation,
            start=start,
            mtime_ns=mtime_ns,
        )
        found.setdefault(PiecePlace(pack, offset, stored), []).append((header, (file, generation, start)))
    return found
