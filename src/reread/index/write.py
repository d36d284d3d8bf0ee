"""Turns batches into rows: the only writer of the archive.

The order makes a crash harmless: pieces are on disk before the transaction that names them, and a transaction holds
whole sessions, so what was committed is complete and the rest is simply read again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from reread import lazy
from reread.billing import Prices
from reread.errors import SafeDamaged
from reread.home import changed_at, fitting_time, identity
from reread.keys import file_key
from reread.lazy import TYPE_CHECKING
from reread.rows.session_row import SessionRow
from reread.safe.safe import PieceHeader, PiecePlace, Safe
from reread.sources import SourceFile

from . import meta
from .client_totals import replace_client_totals, replace_limit_values
from .conversation_rows import CopyMarker, write_talk
from .database import transaction
from .ledger import Ledger
from .meta import RESULT, as_path, stored_path
from .rows import OWN, FileBatch, PieceRow, SessionBatch
from .source_state import UNREAD, look_again, remember, remember_grown
from .text_index import INSERT_WORDS, LACKING, NOTE_LACKING

if TYPE_CHECKING:
    from . import backup_files, findings, places, session_files, words
    from .backup_files import KnownPieces
    from .places import PlaceRow
    from .safe_reader import Piece
else:  # not needed for a session that only grew
    lazy.bind(globals())

MIDDLE = 1 << 27
"""Ids of blocks count up from here for newer sessions and down for older ones: an id then reflects the age of a block
well enough to look at the newest matches first. Smaller ids take fewer bytes; this value leaves room for 400 GB."""

_BACKUP, _TRANSCRIPT = "backup", "transcript"
_WHOLE = frozenset({"tool_result", "capture"})
"""Kinds of files of which every row is made again whenever one is."""
KEPT_ALONE = 2
"""`present` of captures that reread made itself: they have no source that could vanish."""

_JSON_COLUMNS = {"versions", "models", "git_branches"}
_WIDEN = """UPDATE file SET first_block = min(ifnull(first_block, :first), :first),
                            last_block = max(ifnull(last_block, :last), :last) WHERE id = :file"""


class StoreWriter:
    """Writes batches; the caller holds the safe's lock."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe, machine: str, prices: Prices) -> None:
        self._connection = connection
        self._ledger = Ledger(connection, prices)
        self._copies = CopyMarker(connection)
        self._safe = safe
        self._machine = machine
        self._began = time.time_ns()
        self._order = meta.last_order(connection) + 1
        """Distinguishes the pieces of this sync from those of a sync that was killed before it could commit."""
        self._lowest, self._highest = self._id_range()
        self._must_walk = False
        """Whether the next sync must walk: places are to be looked at again."""

    @cached_property
    def _backups(self) -> KnownPieces:
        return backup_files.KnownPieces(self._connection)

    def _id_range(self) -> tuple[int, int]:
        # Ids in `result_waits` count as well: they may be those of blocks that were deleted. Each end of the blocks is
        # a query of its own: SQLite reads the whole table for both at once.
        ends_found = self._connection.execute(
            """SELECT (SELECT min(id) FROM block), (SELECT max(id) FROM block), min(first), max(last)
               FROM result_waits"""
        ).fetchone()
        ends = (MIDDLE, *(each for each in ends_found if each is not None))
        return min(ends), max(ends)

    def apply(
        self, batches: Sequence[SessionBatch], *, is_older: bool, kept: Mapping[str, Sequence[Piece]] | None = None
    ) -> None:
        """Imports sessions.

        `is_older` says that they are older than all imported before; `kept` has, by file key, pieces that are in the
        safe already and get their rows here.
        """
        stored = {id(file): self._keep(file) for batch in batches for file in batch.files}
        self._safe.flush()
        with transaction(self._connection):
            blocks: list[tuple[int, FileBatch]] = []
            for batch in batches:
                session = self._session(batch.session, batch.files) if batch.session is not None else None
                for file in batch.files:
                    row, is_new = self._file(file, session, batch.backup_of)
                    self._pieces(row, file, stored[id(file)])
                    self.name(row, (kept or {}).get(file.key, ()))
                    self._content(row, session, file, batch, is_new=is_new)
                    blocks.append((row, file))
                if session is not None:
                    self._keep_part(session, batch.part)
                if session is not None and batch.friction is not None:
                    findings.replace_friction(self._connection, session, batch.friction)
                elif session is not None:
                    meta.keep_waiting_for_friction(self._connection, session)
            self._ledger.settle()
            self._copies.settle()
            self._index(blocks, is_older=is_older)
            meta.count_order(self._connection, self._order)

    def _content(self, row: int, session: int | None, file: FileBatch, batch: SessionBatch, *, is_new: bool) -> None:
        """Writes what is told by the lines of a file."""
        if file.withdrawn:
            reader = session_files.SessionFileReader(self._connection, self._safe)
            words.unindex(self._connection, reader, row, file.withdrawn)
        self._facts(row, session, file, is_new=is_new)
        replace_limit_values(self._connection, row, self._machine, file.rows.limits, file.since)
        if not file.since:
            name = stored_path(batch.session.uuid) if batch.session is not None else ""
            of = stored_path(file.rows.client_totals_of) or name
            replace_client_totals(self._connection, row, of, self._machine, file.rows.client_totals)

    def _keep(self, file: FileBatch) -> list[PiecePlace]:
        keep = self._keep_once if file.kind == _BACKUP else self._safe.append_compressed
        return [keep(self._header(file, piece), piece.frame) for piece in file.pieces]

    def _keep_once(self, header: PieceHeader, frame: bytes) -> PiecePlace:
        """Keeps bytes that several backups share only once; the safe records this file in any case."""
        place = self._backups.place(header.sha256)
        if place is None or not self._is_whole(place):
            place = self._safe.append_compressed(header, frame)
            self._backups.learn(header.sha256, place)
        else:
            self._safe.append_compressed(*backup_files.standing_for(header))
        return place

    def _is_whole(self, place: PiecePlace) -> bool:
        """Whether a shared piece is undamaged; if not, the bytes of this source are kept instead."""
        try:
            return bool(self._safe.piece(place))
        except SafeDamaged:
            return False

    def _header(self, file: FileBatch, piece: PieceRow) -> PieceHeader:
        return PieceHeader(
            file=file.key,
            machine=self._machine,
            source=file.source,
            path=file.path,
            kind=file.kind,
            generation=file.generation,
            start=piece.start,
            length=piece.length,
            sha256=piece.sha256.hex(),
            mtime_ns=file.mtime_ns,
            more={"taken": self._began, meta.ORDER: self._order},
        )

    def _session(self, row: SessionRow, files: Iterable[FileBatch]) -> int:
        """Writes the row of a session and returns its number.

        A transcript that is not named after its id may contain another id than before: its session is renamed, and
        keeps everything that belongs to it.
        """
        for file in files:
            if file.kind == _TRANSCRIPT:
                self._connection.execute(
                    """UPDATE OR IGNORE session SET uuid = ? WHERE uuid <> ? AND folder = ?
                       AND id = (SELECT session FROM file WHERE key = ?)""",
                    (*[stored_path(row.uuid)] * 2, stored_path(row.folder), file.key),
                )
        values = (self._machine, *map(_stored, SessionRow._fields, row))
        put = _put("session", ("machine", *SessionRow._fields), ("machine", "folder", "uuid"))
        return int(self._connection.execute(put, values).fetchone()[0])

    def _file(self, file: FileBatch, session: int | None, backup_of: int | None) -> tuple[int, bool]:
        """The number of a file, and whether it is read for the first time: then no row is of its lines yet."""
        known = self._connection.execute(
            "SELECT id, session, head, size FROM file WHERE key = ?", (file.key,)
        ).fetchone()
        if known is not None and (file.is_rewritten or file.kind in _WHOLE):
            words.unindex(self._connection, session_files.SessionFileReader(self._connection, self._safe), known[0])
        if known is not None and file.is_rewritten and places.look_at_again(self._connection, known[0]):
            self._must_walk = True
        values = {
            **{name: getattr(file, name) for name in _FILE_COLUMNS},
            "lines": file.rows.lines,
            "malformed": file.rows.malformed,
            "mtime_ns": fitting_time(file.mtime_ns),  # a foreign safe may hold another
            "path": stored_path(file.path),
            "source": stored_path(file.source),
            "machine": self._machine,
            "session": session,
            "backup_of": backup_of,
        }
        if not file.is_kept:
            values |= {"present": KEPT_ALONE if file.source == OWN else 1, "vanished": None}
        put = _put("file", tuple(values), ("key",))
        found = self._connection.execute(put, tuple(values.values())).fetchone()
        if known is not None and known[1] not in (None, session):
            self._drop_if_empty(known[1])
        if known is not None and known[2] != file.head:
            self._ledger.is_rewritten_from_start(known[0])
        return int(found[0]), known is None or known[3] < 0

    def _drop_if_empty(self, session: int) -> None:
        """Deletes a session without files: a capture is a session of its own until its transcript is imported."""
        if self._connection.execute("SELECT 1 FROM file WHERE session = ? LIMIT 1", (session,)).fetchone() is None:
            findings.drop_friction(self._connection, session)
            self._connection.execute("DELETE FROM session WHERE id = ?", (session,))

    def _pieces(self, row: int, file: FileBatch, stored: Sequence[PiecePlace]) -> None:
        self._connection.executemany(
            "INSERT OR REPLACE INTO piece VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (row, file.generation, p.start, p.length, p.sha256, at.pack, at.offset, at.stored)
                for p, at in zip(file.pieces, stored, strict=True)
            ],
        )

    def _keep_part(self, session: int, part: bytes) -> None:
        """Replaces the closed part of a session: it is valid only until something else of the session is written."""
        self._connection.execute(
            "DELETE FROM closed_part WHERE file IN (SELECT id FROM file WHERE session = ?)", (session,)
        )
        if part:
            self._connection.execute(
                "INSERT INTO closed_part SELECT id, ? FROM file WHERE session = ? AND kind = 'transcript'",
                (part, session),
            )

    def _facts(self, row: int, session: int | None, file: FileBatch, *, is_new: bool) -> None:
        if not is_new:
            self._copies.will_change(row)
        talk = file.rows.calls, file.rows.prompts, file.rows.thoughts
        write_talk(self._connection, row, session, *talk, since=file.since, is_new=is_new)
        self._copies.changed(row)
        self._ledger.replace(row, file, is_new=is_new)

    def _index(self, files: Sequence[tuple[int, FileBatch]], *, is_older: bool) -> None:
        """Inserts in the order of ids: FTS5 starts a new segment whenever an id is smaller than the one before."""
        count = sum(len(file.blocks) for _, file in files)
        first = self._lowest - count if is_older else self._highest + 1
        self._lowest, self._highest = min(self._lowest, first), max(self._highest, first + count - 1)
        for row, file in files:
            last = first + len(file.blocks) - 1
            if file.blocks:
                self._connection.execute(_WIDEN, {"file": row, "first": first, "last": last})
            self._connection.executemany(
                "INSERT INTO block VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(i, row, b.offset, b.length, b.part, b.field, b.time) for i, b in enumerate(file.blocks, first)],
            )
            numbered = list(enumerate(file.blocks, first))
            if file.results_wait and any(block.field == RESULT for block in file.blocks):
                words.keep_waiting_results(self._connection, row, first, last)
                numbered = [each for each in numbered if each[1].field != RESULT]
            for i, block in numbered:
                self._connection.execute(INSERT_WORDS[block.field], (i, block.text))
            self._connection.executemany(NOTE_LACKING, [(i,) for i, block in numbered if block.text.endswith(LACKING)])
            first = last + 1

    def finish(self) -> None:
        """Brings the sums of the ledger up to date with what was written."""
        self._ledger.close()

    def adopt(self, files: Iterable[tuple[PieceHeader, Sequence[Piece]]]) -> None:
        """Makes rows for files that are in the safe already; each is given as its newest piece and all its pieces."""
        with transaction(self._connection):
            for last, pieces in files:
                found = self._connection.execute(
                    "INSERT INTO file (key, machine, source, path, kind, generation, size, mtime_ns, device, inode, head, tail)"  # noqa: E501
                    " VALUES (?, ?, ?, ?, ?, ?, -1, ?, 0, 0, x'', x'') RETURNING id",
                    (
                        last.file,
                        last.machine,
                        stored_path(last.source),
                        stored_path(last.path),
                        last.kind,
                        last.generation,
                        fitting_time(last.mtime_ns),
                    ),
                ).fetchone()
                self.name(found[0], pieces)

    def count_waiting(self) -> None:
        """Counts the bytes of backups that came before their session, or without it."""
        with transaction(self._connection):
            self._connection.execute(
                """UPDATE file SET taken = ifnull((SELECT max(start + length) FROM piece
                       WHERE piece.file = file.id AND piece.generation = file.generation), 0)
                   WHERE machine = ? AND kind = 'backup' AND backup_of IS NULL AND taken = 0""",
                (self._machine,),
            )

    def name(self, file: int, pieces: Iterable[Piece]) -> None:
        """Writes the rows of pieces of a file that are in the safe; call it inside a transaction."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO piece VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (file, h.generation, h.start, h.length, bytes.fromhex(h.sha256), p.pack, p.offset, p.stored)
                for h, p in pieces
            ],
        )

    def keep_states(self, same: Iterable[tuple[int, int, int, int, str]]) -> None:
        """Stores the new size, time, device and inode of files with unchanged content; the key of each comes last."""
        with transaction(self._connection):
            self._connection.executemany(
                "UPDATE file SET size = ?, mtime_ns = ?, device = ?, inode = ? WHERE key = ?", same
            )

    def remember_folders(self, folders: Mapping[Path, int], unread: Iterable[Path]) -> None:
        """Stores what this walk found, so that the next sync can tell at a glance that nothing changed.

        What could not be read is remembered as such, so that every sync tries it again.
        """
        found = {**folders, **dict.fromkeys(unread, UNREAD)}
        with transaction(self._connection):
            remember(self._connection, self._machine, {str(path): mtime_ns for path, mtime_ns in found.items()})
            self._look_again()

    def remember_grown(self, keys: Iterable[str]) -> None:
        """The same where only some known files changed."""
        with transaction(self._connection):
            remember_grown(self._connection, self._machine, keys)
            self._look_again()

    def _look_again(self) -> None:
        if self._must_walk:
            look_again(self._connection)

    def keep_places(self, found: Sequence[tuple[SourceFile, str, Path, str]]) -> None:
        """Stores places: other files with the content of a kept one, which is given by its path and machine."""
        known = places.known_keys(self._connection) if found else set()
        rows: list[PlaceRow] = []
        for file, source, original, machine in found:
            kept = self._connection.execute(
                "SELECT id, key, generation FROM file WHERE machine = ? AND path = ? ORDER BY id DESC",
                (machine, stored_path(str(original))),
            ).fetchone()
            try:
                status = file.path.stat()
            except OSError:  # gone meanwhile: the next sync sees that
                continue
            if kept is None:  # the original could not be read: the next sync finds both again
                continue
            seen = (identity(status.st_dev), identity(status.st_ino), status.st_size, changed_at(status))
            key = file_key(self._machine, str(file.path))
            row = places.PlaceRow(key, kept[0], self._machine, source, str(file.path), *seen)
            if (key, kept[0]) not in known:
                self._safe.append_compressed(*places.place_piece(row, kept[1], file.kind, kept[2], self._began))
            rows.append(row)
        if rows:
            self._safe.flush()
            with transaction(self._connection):
                places.keep_places(self._connection, rows)

    def keep_moves(self, files: Iterable[int]) -> None:
        """Records in the safe where moved files are now: one that never grows there has no other piece that says so."""
        rows = [self._place_today(file) for file in files]
        for row, key, kind, generation in rows:
            header, frame = places.place_piece(row, key, kind, generation, self._began)
            moved = {**header.more, places.MOVED: True, meta.ORDER: self._order}
            self._safe.append_compressed(replace(header, more=moved), frame)
        if rows:
            self._safe.flush()
            with transaction(self._connection):
                meta.count_order(self._connection, self._order)

    def _place_today(self, file: int) -> tuple[PlaceRow, str, str, int]:
        """Where a file is, with its key, kind and generation."""
        source, path, *seen, key, kind, generation = self._connection.execute(
            "SELECT source, path, device, inode, size, mtime_ns, key, kind, generation FROM file WHERE id = ?", (file,)
        ).fetchone()
        name = as_path(path)
        row = places.PlaceRow(file_key(self._machine, name), file, self._machine, as_path(source), name, *seen)
        return row, key, kind, generation

    def change_places(self, *, gone: Sequence[Path], diverged: Sequence[Path]) -> None:
        """Marks places that no longer exist, and drops those that are files of their own now."""
        if gone or diverged:
            with transaction(self._connection):
                places.mark_places_vanished(self._connection, self._machine, gone, int(time.time() * 1000))
                places.drop_places(self._connection, self._machine, diverged)

    def mark_vanished(self, keys: Iterable[str]) -> None:
        """Marks files whose source is gone; what was taken of them stays."""
        now = int(time.time() * 1000)
        with transaction(self._connection):
            self._connection.executemany(
                "UPDATE file SET present = 0, vanished = ? WHERE key = ? AND present = 1", [(now, key) for key in keys]
            )


@cache
def _put(table: str, columns: tuple[str, ...], unique: tuple[str, ...]) -> str:
    """SQL that inserts a row, or updates the one with the same values in the `unique` columns, and returns its id."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in unique)
    return f"""INSERT INTO {table} ({", ".join(columns)}) VALUES ({", ".join("?" * len(columns))})
        ON CONFLICT ({", ".join(unique)}) DO UPDATE SET {changes} RETURNING id"""  # noqa: S608  our own names


def _stored(name: str, value: object) -> object:
    """A session's column as SQLite takes it: lists as JSON, names from the file system as text or bytes."""
    if name in _JSON_COLUMNS:
        return msgspec.json.encode(value).decode()
    return stored_path(value) if isinstance(value, str) else value


_FILE_COLUMNS = (
    *("key", "source", "path", "kind", "agent", "workflow", "device", "inode", "size", "mtime_ns"),
    *("generation", "taken", "indexed", "head", "tail"),
)
