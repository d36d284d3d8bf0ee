"""The archive for many requests at once: lends connections, and keeps answers and sessions while they are valid.

A connection serves one thread at a time. A session reads outputs of tools when they are first shown, so each session
that is kept has a connection of its own.
"""

from __future__ import annotations

import gc
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from reread import lazy
from reread.archive import Archive, Listed, StoredSession, listing
from reread.archive.listing import CleanupDays
from reread.errors import AmbiguousSession, UnknownSession
from reread.features.friction.detection import Moment
from reread.lazy import TYPE_CHECKING
from reread.live.rules import AllowRule
from reread.live.transport import Program
from reread.marks import NO_MARK
from reread.sessions import Session

if TYPE_CHECKING:
    from . import team_store
else:
    lazy.bind(globals())


class ServerSettings(NamedTuple):
    home: Path
    """The archive's folder."""
    sources: tuple[Path, ...] = ()
    prices: Path | None = None
    timezone: tzinfo | None = None
    """The time zone of days; None is the machine's own."""
    cleanup_days: CleanupDays = 30.0
    """The number of days after which Claude Code deletes a session."""
    claude: Program | None = None
    """The client to run; None is `claude` on PATH."""
    may_run: bool = True
    """Whether clients may be run from pages."""
    captures: Path | None = None
    """The folder of captures; None is `wire` in the archive's folder."""
    rules: tuple[AllowRule, ...] = ()
    """What the clients that are run from pages may do unasked."""

    store: str | None = None
    """The team's store whose sessions are shown; None is an archive's own."""

    @property
    def wire(self) -> Path:
        return self.captures or self.home / "wire"

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)


Answer = TypeVar("Answer")

MOST_IDLE = 4
MOST_ANSWERS = 64
MOST_POOLED = 6
MOST_POOLED_BYTES = 120_000_000
"""Limits for the sessions that are kept: their number, and the bytes of their source files. The session that was used
last is always kept."""
MOST_LET_GO = 5_000_000
"""Bytes of sessions that are no longer kept, after which they are taken out of memory: what made their pages refers to
them in circles, and a collection that comes by itself comes hours later. One takes 10 to 20 ms."""
_LONGEST_NUMBER = 19
"""A number with this many digits or more cannot be the number of a row."""
_USUAL = re.compile(r"[A-Za-z0-9_.@~-]{1,80}")


def link_name(stored: StoredSession) -> str:
    """A session's name in addresses: its id, or `~` and its row number if the id is not safe in an address."""
    name = stored.name
    return name if _USUAL.fullmatch(name) and not name.startswith((".", "@", "~")) else f"~{stored.id}"


class PooledArchive:
    """A session that was read and is kept for further requests; use it under its lock."""

    def __init__(self, archive: Archive) -> None:
        self.lock = threading.Lock()
        self.archive = archive
        self.name = ""
        """Its name in addresses."""
        self.mark = NO_MARK
        self.is_partial = False
        """Whether its cost is a lower bound."""
        self._stored: StoredSession | None = None
        self.stamp: Hashable = None
        self.bytes = 0
        self.made: Any = None
        """What pages computed from this state of the session."""
        self._session: Session | None = None

    @property
    def session(self) -> Session:
        assert self._session is not None  # noqa: S101  the holder of the lock has read it
        return self._session

    @property
    def stored(self) -> StoredSession:
        """The session's row in the archive."""
        assert self._stored is not None  # noqa: S101  the holder of the lock has read it
        return self._stored

    def moments(self) -> list[Moment]:
        """Its moments of friction, without those that a person has since marked as wrong."""
        return self.archive.friction.in_session(self.stored)

    def read(self, stored: StoredSession) -> int:
        """Reads it if it changed; gives the bytes of what was kept of it before."""
        stamp, let_go = stamp_of(stored), 0
        if self._session is None or self.stamp != stamp:
            self.made, let_go = None, self.bytes
            self._session = self.archive.session(stored)
            self.stamp, self.bytes = stamp, stored.row.bytes
            self.name, self.mark, self._stored = link_name(stored), stored.mark, stored
            self.is_partial = self.archive.inner.listed(stored).is_partial
        return let_go

    def close(self) -> int:
        """Gives the bytes of what was kept of it."""
        with self.lock:
            self._session, self.made = None, None
            self.archive.close()
            return self.bytes


def stamp_of(stored: StoredSession) -> Hashable:
    """A value that changes whenever the session changes."""
    return (stored.row.bytes, stored.row.ended, len(stored.files), stored.mtime_ns, stored.mark)


class ArchivePool:
    """The archive for all pages."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._idle: list[Archive] = []
        self._pooled: OrderedDict[int, PooledArchive] = OrderedDict()
        self._let_go = 0
        """Bytes of sessions let go since the last collection."""
        self._version_lock = threading.Lock()
        self._version_archive = self.open()
        self._version = (0, 0)
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()
        self._asking: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        """A lock for each question that is being answered: parts of a page that load together ask the same."""

    def open(self) -> Archive:
        if self.settings.store is not None:
            return team_store.StoreArchive(self.settings.store, self.settings.home)
        return Archive(self.settings.home, self.settings.sources, price_file=self.settings.prices)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
            pooled = list(self._pooled.values())
            self._pooled.clear()
        for archive in (*idle, self._version_archive):
            archive.close()
        for each in pooled:
            each.close()

    @contextmanager
    def archive(self) -> Iterator[Archive]:
        """Lends a connection for one question. It is closed after a failure, or if the index was rebuilt meanwhile."""
        with self._version_lock:
            self._current()
        with self._lock:
            lent = self._idle.pop() if self._idle else self.open()
            index = self._version[0]
        with ExitStack() as stack:
            stack.enter_context(lent)
            yield lent
            stack.pop_all()
        with self._lock:
            if len(self._idle) < MOST_IDLE and index == self._version[0]:
                self._idle.append(lent)
                return
        lent.close()

    def answer(self, key: Hashable, ask: Callable[[Archive], Answer]) -> Answer:
        """An answer that is kept until the archive changes. Concurrent requests with the same key wait for it."""
        with self._lock:
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:
            with self._version_lock:
                version = self._current()
                if key in self._answers:
                    self._answers.move_to_end(key)
                    found: Answer = self._answers[key]
                    return found
            with self.archive() as archive:
                made = ask(archive)
            with self._version_lock:
                if version == self._version:
                    self._answers[key] = made
                    while len(self._answers) > MOST_ANSWERS:
                        self._answers.popitem(last=False)
        return made

    def _current(self) -> tuple[int, int]:
        """The version of the archive; drops the kept answers of an older version."""
        with ExitStack() as stack:
            stack.callback(self._answers.clear)  # after a failure: versions of two connections are not comparable
            stack.enter_context(self._version_archive)
            version = self._version_archive.inner.version()
            if self._version[0] not in (0, version[0]):
                self._reopen()
                version = self._version_archive.inner.version()
            stack.pop_all()
        if version != self._version:
            self._answers.clear()
            self._version = version
        return version

    def _reopen(self) -> None:
        """Closes all connections: another process rebuilt the index, and they have the old one open."""
        with self._lock:
            idle, self._idle = self._idle, []
            self._pooled.clear()
        for archive in (*idle, self._version_archive):
            archive.close()

    def newest(self, number: int) -> list[Listed]:
        """The sessions that ended last, without hidden ones."""
        days = self.settings.cleanup_days
        return self.answer(("newest", number), lambda archive: listing.newest(archive.inner.connection, number, days))

    def count(self) -> int:
        """How many sessions there are."""
        return self.answer("count", lambda archive: archive.count_sessions())

    def by_id(self, ids: Sequence[int]) -> list[Listed]:
        """The sessions with these ids, in this order."""
        with self.archive() as archive:
            found = listing.listed_by_id(archive.inner.connection, list(ids), self.settings.cleanup_days)
            known = {each.stored.id: each for each in found}
        return [known[number] for number in ids if number in known]

    def projects(self) -> list[str]:
        """All projects, the most recently used first."""
        return self.answer("projects", lambda archive: listing.project_names(archive.inner.connection))

    def copies(self, stored: StoredSession) -> list[StoredSession]:
        """The other sessions with the same id, from other places."""
        if not stored.has_copies:
            return []
        with self.archive() as archive:
            return archive.copies(stored)

    def team(self, stored: StoredSession) -> list[StoredSession]:
        """The sessions of its team."""
        with self.archive() as archive:
            return listing.team_of(archive.inner.connection, stored)

    def stamps(self, names: Iterable[str]) -> dict[str, Hashable]:
        """The state of each of these sessions, by name in addresses; sessions not in the archive are left out."""
        found: dict[str, Hashable] = {}
        for name in names:
            try:
                found[name] = stamp_of(self.find(name))
            except (UnknownSession, AmbiguousSession):
                continue
        return found

    def find(self, name: str) -> StoredSession:
        """A session by its name in addresses, or by what a person would type."""
        with self.archive() as archive:
            number = name.removeprefix("~")
            if name.startswith("~") and number.isdecimal() and len(number) < _LONGEST_NUMBER:
                numbered = listing.session_numbered(archive.inner.connection, int(number))
                if numbered is not None and link_name(numbered) == name:
                    return numbered
            return archive.find(name)

    @contextmanager
    def session(self, name: str) -> Iterator[PooledArchive]:
        """A session; it is read from the safe unless it is kept and has not changed."""
        stored = self.find(name)
        with self._lock:
            pooled = self._pooled.get(stored.id) or PooledArchive(self.open())
            self._pooled[stored.id] = pooled
            self._pooled.move_to_end(stored.id)
            surplus = self._surplus()
        let_go = sum(each.close() for each in surplus)
        with pooled.lock:
            let_go += pooled.read(stored)
            self._collect(let_go)
            yield pooled

    def _collect(self, let_go: int) -> None:
        with self._lock:
            self._let_go += let_go
            is_time = self._let_go > MOST_LET_GO
            if is_time:
                self._let_go = 0
        if is_time:
            gc.collect()

    def _surplus(self) -> list[PooledArchive]:
        """Removes the least recently used sessions above the limits, for the caller to close."""
        found: list[PooledArchive] = []
        while len(self._pooled) > 1 and (
            len(self._pooled) > MOST_POOLED or sum(each.bytes for each in self._pooled.values()) > MOST_POOLED_BYTES
        ):
            found.append(self._pooled.popitem(last=False)[1])
        return found
