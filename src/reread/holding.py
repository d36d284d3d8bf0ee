"""What every part of the archive stands on: its folder, database, safe and prices, and what names a session."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from reread.errors import AmbiguousSession, UnknownSession
from reread.store.database import FILE_NAME, connect, file_number, is_only_readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.billing import Prices
    from reread.store.keeping import SafeFiles
    from reread.store.machines import Machine
    from reread.store.safe import Safe
    from reread.store.sessions import StoredSession


class Holding:
    """An archive's folder; each thing in it is opened when it is first asked for."""

    def __init__(
        self, home: Path, sources: Sequence[Path] = (), machine: str | None = None, price_file: Path | None = None
    ) -> None:
        self.home = home
        self.sources = tuple(sources)
        if machine is not None:
            self.machine = machine
        self.price_file = price_file
        """The user's own prices, over the packaged ones."""
        self._file = 0
        """Which file the database was when it was opened."""

    def close(self) -> None:
        for name in ("files", "connection", "safe"):
            opened = self.__dict__.pop(name, None)
            if name != "files" and opened is not None:
                opened.close()

    @property
    def exists(self) -> bool:
        """Whether anything was ever taken in here; asking makes nothing."""
        try:
            return (self.home / FILE_NAME).exists()
        except OSError:  # below a folder that may not be entered
            return False

    @property
    def is_open(self) -> bool:
        """Whether its database could be opened, and was."""
        return "connection" in self.__dict__

    @cached_property
    def connection(self) -> sqlite3.Connection:
        if self.is_read_only:
            from reread.store.looking import look_into

            return look_into(self.home)
        made = connect(self.home)
        self._file = file_number(self.home)
        return made

    @cached_property
    def is_read_only(self) -> bool:
        """Whether it lies where it can be read and not written: then it answers, and nothing changes."""
        return is_only_readable(self.home)

    @cached_property
    def safe(self) -> Safe:
        from reread.store.safe import Safe

        return Safe(self.home / "safe")

    @cached_property
    def files(self) -> SafeFiles:
        from reread.store.keeping import SafeFiles

        return SafeFiles(self.connection, self.safe)

    @cached_property
    def machine(self) -> str:
        """The id that rows and pieces of this machine carry."""
        from reread.store.glance import own_machine

        if self.is_read_only or (self.home / "machine.json").exists():
            return own_machine(self.connection)  # by itself: a sync that finds nothing new loads no JSON
        return self.own_machine().id

    def own_machine(self) -> Machine:
        """Its id, and what it is called."""
        from reread.store.machines import own_machine

        return own_machine(self.connection, self.home, may_write=not self.is_read_only)

    def label_machine(self, label: str) -> Machine:
        """Calls this machine something else; nothing that is kept changes. Raises BadInput."""
        from reread.store.looking import ReadOnlyArchive
        from reread.store.machines import set_label

        if self.is_read_only:
            raise ReadOnlyArchive(self.home)
        return set_label(self.connection, self.home, label)

    @property
    def wire(self) -> Path:
        """Where captures of runs wait until they are taken in."""
        return self.home / "wire"

    @cached_property
    def prices(self) -> Prices:
        """Raises BadInput for a price file that is none."""
        from reread.billing import load_prices

        return load_prices(self.price_file)

    def _reprice(self) -> None:
        """Money is kept as it was counted; when prices change it is counted again, which takes a second per GB."""
        from reread.billing.money import stamp
        from reread.store import notes

        now = stamp(self.price_file)
        if self.is_read_only or notes.read(self.connection, notes.PRICE_FILES) == now:
            return
        from reread.store.repricing import reprice

        reprice(self.connection, self.prices, now)

    def find(self, wanted: str) -> StoredSession:
        """A session by id, by a unique beginning of it, `@last`, or `@2` for the second newest.

        Of copies of one session in several folders the newest; `StoredSession.name` has what names the others.
        """
        from reread.store.sessions import count_sessions, session_ids, sessions

        if wanted.startswith("@"):
            position = "1" if wanted == "@last" else wanted[1:]
            if position.isdecimal() and 1 <= int(position) <= count_sessions(self.connection):
                return sessions(self.connection, ids=session_ids(self.connection, limit=int(position))[-1:])[0]
            raise UnknownSession(wanted, [self.home])
        found = self._called(wanted)
        if not found:
            name, _, sign = wanted.rpartition("~")
            found = [each for each in self._called(name) if each.sign == sign]
        names = list(dict.fromkeys(each.row.uuid for each in found))
        if len(names) > 1:
            raise AmbiguousSession(wanted, names)
        if not found:
            raise UnknownSession(wanted, [self.home])
        return found[0]

    def _called(self, wanted: str) -> list[StoredSession]:
        """All that have this id, or else those whose id begins so."""
        from reread.store.sessions import ids_called, sessions

        return sessions(self.connection, ids=ids_called(self.connection, wanted))

    def copies(self, stored: StoredSession) -> list[StoredSession]:
        """The other places that have a session of this id, the one that ended last first."""
        if not stored.has_copies:
            return []
        return [each for each in self._called(stored.row.uuid) if each.id != stored.id]

    def find_one(self, wanted: str) -> StoredSession:
        """The same as `find`, for what cannot be undone: copies are not chosen from, but raise AmbiguousSession."""
        found = self.find(wanted)
        copies = self.copies(found)
        if copies and not wanted.startswith("@") and not wanted.endswith(f"~{found.sign}"):
            raise AmbiguousSession(wanted, [each.name for each in (found, *copies)])
        return found
