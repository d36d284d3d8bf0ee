"""An open archive: its folder, its database, its safe, its prices, how a session is found in it, and what only our own
surfaces ask.

`Archive` and each of its groups are built on this. Only what a list of sessions needs is imported at once; the rest is
imported on first use, because parsers, worker pools and the search language take longer to import than the list takes.
"""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path

from reread import keys, lazy
from reread.errors import BadInput, ReadOnlyArchive, SafeBusy
from reread.home import path_name, refuse_foreign
from reread.index import client_totals, meta
from reread.index.database import (
    FILE_NAME,
    EarlierIndex,
    connect,
    file_number,
    is_earlier_index,
    is_only_readable,
    transaction,
    version,
)
from reread.lazy import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from os import PathLike

    from reread import billing, loading
    from reread.archive import listing
    from reread.billing import Prices, money
    from reread.index import (
        backup_files,
        carry_over,
        ledger,
        machines,
        read,
        read_only,
        safe_reader,
        session_files,
        text_index,
    )
    from reread.index import sessions as session_rows
    from reread.index.machine_file import Machine
    from reread.index.sessions import StoredSession
    from reread.ingest import Report, second_phase
    from reread.loading import LoadedSession
    from reread.rows import SessionRow
    from reread.safe import safe

    from .listing import CleanupDays, Listed, SessionName
else:
    lazy.bind(globals())

LOCK_SECONDS = 120.0
"""How long a writer waits for another writer."""
CLEANUP_DAYS = 30.0
"""After how many days Claude Code deletes a session, unless its settings say otherwise."""
_SETTLING = 2.0
"""Seconds after the end of a run in which the client may still write a last line."""
_OF_THE_FOLDER = ("home", "sources", "machine", "price_file", "_file", "_is_named")
"""The attributes that identify an archive before anything in it is opened."""


class InnerArchive:
    """An archive's folder; everything in it is opened on first use."""

    def __init__(
        self,
        home: str | Path,
        sources: Sequence[str | Path] = (),
        machine: str | None = None,
        price_file: Path | None = None,
    ) -> None:
        self.home = Path(home)
        self.sources = tuple(map(Path, sources))
        self._is_named = machine is not None
        if machine is not None:
            self.machine = machine
        self.price_file = price_file
        """The user's own prices, which override the packaged ones."""
        self._file = 0
        """The `file_number` of the database when it was opened; it changes when a rebuild replaces the file."""

    def __repr__(self) -> str:
        return f"<archive {self.home}>"

    def __getstate__(self) -> dict[str, object]:
        """A copy, also one in another process, opens what it needs itself: a database connection cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name in _OF_THE_FOLDER}

    def close(self) -> None:
        """Closes the database and the files of the safe; the next question opens them again."""
        for name in ("reader", "held_texts", "connection", "packs"):
            opened = self.__dict__.pop(name, None)
            if name in ("connection", "packs") and opened is not None:
                opened.close()

    @property
    def exists(self) -> bool:
        """Whether anything was ever imported here; asking creates nothing."""
        try:
            found = (self.home / FILE_NAME).stat()
        except OSError:  # not there, or in a folder we have no permission to enter
            return False
        return found.st_size > 0 or not stat.S_ISREG(found.st_mode)  # a disk that was full leaves an empty file

    @property
    def has_lost_index(self) -> bool:
        """Whether the safe holds bytes but the database has no rows for them: it was deleted, belongs to another
        archive, was made by an earlier version, or a rebuild of it did not finish."""
        if not self.exists:
            return bool(self.packs.packs())
        if meta.is_half_made(self.connection):
            return True
        notes = (meta.read_note(self.connection, name) for name in (meta.FIRST, meta.REBUILD))
        is_begun = meta.has_sessions(self.connection) or any(notes)
        return not is_begun and not read.has_pieces(self.connection) and bool(self.packs.packs())

    @property
    def sessions_left(self) -> int:
        """How many sessions of the safe a rebuild that has begun has not come to yet."""
        return meta.sessions_left(self.connection) if self.exists else 0

    @property
    def is_open(self) -> bool:
        """Whether the database is open."""
        return "connection" in self.__dict__

    @cached_property
    def connection(self) -> sqlite3.Connection:
        """The index, opened on first use; without write access it is opened read-only.

        In place of one of an earlier version there is a new one, which the next sync fills from the safe.
        """
        if self.is_read_only:
            return read_only.look_into(self.home)
        try:
            made = connect(self.home)
        except EarlierIndex:
            with self.locked():  # begins a new one
                made = connect(self.home)
        self._file = file_number(self.home)
        if self._is_named:
            machines.take_id(made, self.home, self.machine)
        return made

    @cached_property
    def is_read_only(self) -> bool:
        """Whether the archive can be read but not written: questions work, and nothing changes."""
        return is_only_readable(self.home)

    def refuse_read_only(self) -> None:
        """Raises ReadOnlyArchive if the archive cannot be written, and StoreError if it cannot be read either."""
        if self.is_read_only and self.connection:
            raise ReadOnlyArchive(self.home)

    @cached_property
    def packs(self) -> safe.Safe:
        """The bytes of all files that were imported."""
        return safe.Safe(self.home / "safe")

    @cached_property
    def reader(self) -> session_files.SessionFileReader:
        """Reads the files of sessions out of the safe."""
        return session_files.SessionFileReader(self.connection, self.packs)

    def line_reader(self, *, is_backwards: bool = False) -> safe_reader.SafeReader:
        """Reads single lines and files out of the safe. Some pieces stay in memory for the next line; only one with
        `is_backwards`, which is for reading lines from the last to the first."""
        return safe_reader.SafeReader(self.connection, self.packs, is_backwards=is_backwards)

    @cached_property
    def held_texts(self) -> text_index.HeldTexts:
        """The texts that searches read last, kept for the next one."""
        return text_index.HeldTexts()

    def kept_backups(self) -> backup_files.KeptBackups:
        """Reads the client's backups of files out of the safe, by session and name of the backup; None if there is no
        such backup."""
        return backup_files.KeptBackups(self.connection, self.reader)

    @contextmanager
    def locked(self, patience: float = LOCK_SECONDS) -> Iterator[None]:
        """Holds the lock for writing. If the database was replaced while waiting for the lock, the old one is closed:
        anything written to it would be lost. An index of an earlier version is replaced first."""
        refuse_foreign(self.home)
        with safe.lock(self.home / "safe", timeout=patience):
            if self.is_open and self._file != file_number(self.home):
                self.close()
            if not self.is_open and is_earlier_index(self.home):
                carry_over.begin_new_index(self.home)
            yield

    def if_free(self, work: Callable[[], object]) -> None:
        """Does work that can wait, unless the archive cannot be written or another process is writing."""
        if not self.is_read_only:
            with suppress(SafeBusy), self.locked(0.0):
                work()

    @cached_property
    def machine(self) -> str:
        """The id of this machine, which its rows and pieces carry."""
        if self.is_read_only or (self.home / "machine.json").exists():
            return client_totals.own_machine(self.connection)  # a sync that finds nothing new loads no JSON
        return self.own_machine().id

    def own_machine(self) -> Machine:
        """The id of this machine, and its name."""
        return machines.own_machine(self.connection, self.home, may_write=not self.is_read_only)

    def label_machine(self, label: str) -> Machine:
        """Gives this machine another name; nothing that is kept changes. Raises BadInput."""
        self.refuse_read_only()
        if not isinstance(label, str):
            raise BadInput(f"{label!r} is not a machine name")
        return machines.set_label(self.connection, self.home, label)

    @property
    def wire(self) -> Path:
        """Where captures of runs wait until they are imported."""
        return self.home / "wire"

    @cached_property
    def prices(self) -> Prices:
        """The price table, including the user's own prices. Raises BadInput for an invalid price file."""
        return billing.load_prices(self.price_file)

    def reprice(self) -> None:
        """Prices every response again if the price table has changed; takes about a second per GB."""
        now = money.stamp(self.price_file)
        if self.is_read_only or meta.read_note(self.connection, meta.PRICE_FILES) == now:
            return
        ledger.reprice(self.connection, self.prices, now)

    def find(self, session: SessionName) -> StoredSession:
        """A session by its id, a unique prefix of it, `@last`, or `@2` for the second newest.

        If several folders have a copy of it, the newest is returned; `StoredSession.name` tells the copies apart.
        Results of `sessions`, of a search and of this method are accepted too.
        """
        return listing.find_session(self.connection, self.home, session)

    def copies(self, stored: StoredSession) -> list[StoredSession]:
        """The copies of a session in other places, the one that ended last first."""
        return listing.copies_of(self.connection, stored)

    def find_one(self, session: SessionName) -> StoredSession:
        """Like `find`, for operations that cannot be undone: raises AmbiguousSession if there are several copies."""
        return listing.find_one(self.connection, self.home, session)

    def session(self, session: SessionName) -> LoadedSession:
        """A session read from the safe, whether its source still exists or not."""
        stored = self.find(session)
        files = self.reader.session_files(stored.id, stored.row.uuid)
        return loading.load_session(
            files,
            disk=self.reader,
            prices=self.prices,
            mark=stored.mark,
            find_output=partial(self._read_output, stored.id, stored.row.uuid),
            read_backup=self._read_backup,
            name=stored.row.uuid,
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing was imported yet."""
        return not meta.has_sessions(self.connection)

    def finish(self, report: Report | None = None) -> None:
        """Does what quick syncs left for later: words of tool results, moments of friction. Does nothing if the
        archive cannot be written or another process is writing."""
        if meta.waiting_for_results(self.connection) or meta.waiting_for_friction(self.connection):
            self.if_free(lambda: second_phase.finish(self.connection, self.packs, self.price_file, report))

    def listed(self, session: SessionName, cleanup_days: CleanupDays = CLEANUP_DAYS) -> Listed:
        """One session, as `sessions` gives it."""
        return next(listing.listed_by_id(self.connection, [self.find(session).id], cleanup_days))

    @property
    def holds_nothing(self) -> bool:
        """Whether the safe is empty as well as the index: an empty index may be one that was lost. Asking creates
        nothing."""
        return not self.has_lost_index and (not self.exists or self.is_empty)

    def keeps(self, source: str | PathLike[str]) -> bool:
        """Whether anything was ever imported from this folder or file."""
        place = Path(path_name(source))
        names = {str(place), str(place.absolute())}
        return self.exists and bool(names & meta.known_sources(self.connection))

    def known_sources(self) -> set[str]:
        """Every folder or file that something was imported from."""
        return meta.known_sources(self.connection)

    def kept_bytes(self) -> dict[str, int]:
        """The files of the archive by path, with how much of each is in the safe."""
        return meta.bytes_by_path(self.connection)

    def forgotten_among(self, names: Iterable[str]) -> set[str]:
        """The sessions among `names` that the user had reread forget; no sync imports them again."""
        known = read.forgotten(self.connection)
        return {name for name in names if keys.session_mark(name) in known} if known else set()

    def take_rows(self, known: Iterable[Machine], rows: Iterable[tuple[int, str, SessionRow]]) -> None:
        """Puts the rows of sessions that are kept elsewhere in place of all that are here, and adds their machines."""
        with transaction(self.connection):
            machines.keep_machines(self.connection, ((each.id, each.label) for each in known))
            session_rows.replace_sessions(self.connection, rows)

    def version(self) -> tuple[int, int]:
        """Two numbers that change when another connection, in this process or another, changes the archive. If the
        first one changed, the index was rebuilt: this archive still has the old one open, and must be closed."""
        return version(self.connection, self.home)

    def prompts_since(self, moments: Sequence[datetime]) -> list[int]:
        """How many prompts were typed since each of the moments."""
        return meta.prompts_since(self.connection, [int(moment.timestamp() * 1000) for moment in moments])

    def files_changed_since(self, moment: datetime) -> int:
        """How many files the tools of the client wrote since a moment."""
        return meta.files_changed_since(self.connection, int(moment.timestamp() * 1000))

    def count_sessions_below(self, folder: str) -> int:
        """How many sessions ran in a folder or below it."""
        return listing.count_sessions_below(self.connection, folder)

    def count_expiring(self, until: datetime, cleanup_days: CleanupDays = CLEANUP_DAYS) -> int:
        """How many sessions Claude Code will have deleted by then."""
        return listing.count_expiring(self.connection, until, cleanup_days)

    def saw_end(self, stored: StoredSession) -> bool:
        """Whether the end of a session was captured: its last lines come from a run by reread that has ended."""
        ends = [row.mtime_ns / 1e9 for row in read.files_of(self.connection, stored.id) if row.kind == "capture"]
        return bool(ends) and stored.ended is not None and stored.ended.timestamp() <= max(ends) + _SETTLING

    def known_values(self, kind: str, beginning: str = "", limit: int = 100) -> list[tuple[str, str]]:
        """Completions of a kind, such as `sessions`, `projects` or `tags`, each with a description; likeliest first.

        A shell waits for this after a key press, so nothing is synced and no archive is created.
        """
        if not self.exists:
            return []
        connection = connect(self.home, read_only=True)
        try:
            return session_rows.known_values(connection, kind, beginning, limit)
        finally:
            connection.close()

    def _read_backup(self, session: str, name: str) -> bytes | None:
        """None if there is no such backup."""
        with self._while_it_exists() as kept:
            return kept.kept_backups()(session, name) if kept is not None else None

    def _read_output(self, session: int, uuid: str, name: str) -> str | None:
        """A tool output that the client wrote to a file of its own, by the name of that file."""
        with self._while_it_exists() as kept:
            if kept is None:
                return None
            return kept.reader.spilled(kept.reader.session_files(session, uuid).tool_results, name)

    @contextmanager
    def _while_it_exists(self) -> Iterator[InnerArchive | None]:
        """This archive if it is open, else a new one for the time of the call; None if the folder is gone.

        Sessions need this because they outlive the archive they came from, and may be passed to another process.
        """
        if self.is_open:
            yield self
        elif not self.exists:
            yield None
        else:
            again = InnerArchive(self.home)
            try:
                yield again
            finally:
                again.close()
