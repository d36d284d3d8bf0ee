"""An archive that is open: its folder, its database, its safe, its prices, and how a session is found in it.

Every namespace of `Archive` is built over this. What a list of sessions needs is imported at the top; what it does not
is imported where it is first asked for: parsers, worker pools and the search language take longer than the list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from pathlib import Path

from reread import lazy
from reread.errors import BadInput, ReadOnlyArchive, SafeBusy
from reread.index import client_totals, meta
from reread.index.database import FILE_NAME, connect, file_number, is_only_readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread import billing, loading
    from reread.archive import listing
    from reread.billing import Prices, money
    from reread.index import backup_files, ledger, machines, read, read_only, safe_reader, session_files, text_index
    from reread.index.machine_file import Machine
    from reread.index.sessions import StoredSession
    from reread.loading import LoadedSession
    from reread.safe import safe

    from .listing import SessionName
else:
    read = lazy.module("reread.index.read")
    read_only = lazy.module("reread.index.read_only")
    safe = lazy.module("reread.safe.safe")
    session_files = lazy.module("reread.index.session_files")
    safe_reader = lazy.module("reread.index.safe_reader")
    backup_files = lazy.module("reread.index.backup_files")
    machines = lazy.module("reread.index.machines")
    billing = lazy.module("reread.billing")
    money = lazy.module("reread.billing.money")
    ledger = lazy.module("reread.index.ledger")
    listing = lazy.module("reread.archive.listing")
    text_index = lazy.module("reread.index.text_index")
    loading = lazy.module("reread.loading")

LOCK_SECONDS = 120.0
"""How long a writer waits for another one."""
_OF_THE_FOLDER = ("home", "sources", "machine", "price_file", "_file")
"""What an archive is before anything of it is opened."""


class ArchiveBase:
    """An archive's folder; each thing in it is opened when it is first asked for."""

    def __init__(
        self,
        home: str | Path,
        sources: Sequence[str | Path] = (),
        machine: str | None = None,
        price_file: Path | None = None,
    ) -> None:
        self.home = Path(home)
        self.sources = tuple(map(Path, sources))
        if machine is not None:
            self.machine = machine
        self.price_file = price_file
        """The user's own prices, over the packaged ones."""
        self._file = 0
        """Which file the database was when it was opened."""

    def __getstate__(self) -> dict[str, object]:
        """A copy, in another process as well, opens for itself what it needs: a database cannot be handed over."""
        return {name: value for name, value in vars(self).items() if name in _OF_THE_FOLDER}

    def close(self) -> None:
        """Closes the database and the files of the safe; what is asked next opens them again."""
        for name in ("reader", "held_texts", "connection", "packs"):
            opened = self.__dict__.pop(name, None)
            if name in ("connection", "packs") and opened is not None:
                opened.close()

    @property
    def exists(self) -> bool:
        """Whether anything was ever imported here; asking creates nothing."""
        try:
            return (self.home / FILE_NAME).exists()
        except OSError:  # below a folder that may not be entered
            return False

    @property
    def has_lost_index(self) -> bool:
        """Whether the safe holds bytes that no row of the database names: it was deleted, or is another's, or a
        rebuild of it did not finish."""
        if not self.exists:
            return bool(self.packs.packs())
        if meta.is_half_made(self.connection):
            return True
        is_begun = meta.has_sessions(self.connection) or meta.read_note(self.connection, meta.FIRST) is not None
        return not is_begun and not read.has_pieces(self.connection) and bool(self.packs.packs())

    @property
    def is_open(self) -> bool:
        """Whether its database could be opened, and was."""
        return "connection" in self.__dict__

    @cached_property
    def connection(self) -> sqlite3.Connection:
        """The index, opened when first asked for; without write access it is opened for reading."""
        if self.is_read_only:
            return read_only.look_into(self.home)
        made = connect(self.home)
        self._file = file_number(self.home)
        return made

    @cached_property
    def is_read_only(self) -> bool:
        """Whether the archive can be read but not written: questions work, and nothing changes."""
        return is_only_readable(self.home)

    def refuse_read_only(self) -> None:
        """Raises ReadOnlyArchive where the archive cannot be written, and StoreError where it cannot be read either."""
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

    def line_reader(self, held: int = 32, *, is_backwards: bool = False) -> safe_reader.SafeReader:
        """Reads single lines and files out of the safe. `held` pieces stay in memory for the next line; one of them
        where lines are asked for from the last to the first."""
        return safe_reader.SafeReader(self.connection, self.packs, held, is_backwards=is_backwards)

    @cached_property
    def held_texts(self) -> text_index.HeldTexts:
        """The texts that searches read last, kept for the next one."""
        return text_index.HeldTexts()

    def kept_backups(self) -> backup_files.KeptBackups:
        """Reads the client's backups of files out of the safe, by session and name of the backup; None where none was
        kept."""
        return backup_files.KeptBackups(self.connection, self.reader)

    @contextmanager
    def locked(self, patience: float = LOCK_SECONDS) -> Iterator[None]:
        """Holds the lock for writing. If the database was replaced while this waited for the lock, the old one is
        closed: what is written to it would be lost."""
        with safe.lock(self.home / "safe", timeout=patience):
            if self.is_open and self._file != file_number(self.home):
                self.close()
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
        """The price table, with the user's own prices. Raises BadInput for an invalid price file."""
        return billing.load_prices(self.price_file)

    def reprice(self) -> None:
        """Prices every response again if the price table changed since the last time; about a second per GB."""
        now = money.stamp(self.price_file)
        if self.is_read_only or meta.read_note(self.connection, meta.PRICE_FILES) == now:
            return
        ledger.reprice(self.connection, self.prices, now)

    def find(self, session: SessionName) -> StoredSession:
        """A session by id, by a unique beginning of it, `@last`, or `@2` for the second newest.

        Where several folders have a copy of it, the newest; `StoredSession.name` names each of them.
        It also takes what `sessions`, a search or this method gave.
        """
        return listing.find_session(self.connection, self.home, session)

    def copies(self, stored: StoredSession) -> list[StoredSession]:
        """The other places that have a session of this id, the one that ended last first."""
        return listing.copies_of(self.connection, stored)

    def find_one(self, session: SessionName) -> StoredSession:
        """Like `find`, for what cannot be undone: where there are copies it raises AmbiguousSession."""
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

    def _read_backup(self, session: str, name: str) -> bytes | None:
        """None where none was kept."""
        with self._while_it_exists() as kept:
            return kept.kept_backups()(session, name) if kept is not None else None

    def _read_output(self, session: int, uuid: str, name: str) -> str | None:
        """A tool output of a session that the client kept in a file of its own, by the name of that."""
        with self._while_it_exists() as kept:
            if kept is None:
                return None
            return kept.reader.spilled(kept.reader.session_files(session, uuid).tool_results, name)

    @contextmanager
    def _while_it_exists(self) -> Iterator[ArchiveBase | None]:
        """For sessions, which outlive the archive they came from, and may be handed to another process: once it is
        closed, another one is opened for as long as they ask. None where its folder is gone by then."""
        if self.is_open:
            yield self
        elif not self.exists:
            yield None
        else:
            again = ArchiveBase(self.home)
            try:
                yield again
            finally:
                again.close()
