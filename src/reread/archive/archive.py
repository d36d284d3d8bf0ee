"""`Archive`, the one front door: lists, reads, searches, verifies and restores everything that was imported.

The most common questions are its own methods; the rest is in groups: `archive.billing`, `archive.files`,
`archive.friction`, `archive.marks`, `archive.safe`, `archive.secrets`, `archive.text`. A group is imported on first
use, because parsers, worker pools and the search language together take longer to import than a list of sessions takes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import cache, partial
from os import PathLike
from pathlib import Path

from reread import lazy
from reread.config import expanded, make_config
from reread.errors import BadInput, RereadError, StoreError, UnknownSession
from reread.home import path_name
from reread.index import meta, source_state
from reread.index.database import FILE_NAME, telling_full_disk
from reread.ingest import SyncResult
from reread.lazy import TYPE_CHECKING

from .inner import CLEANUP_DAYS, LOCK_SECONDS, InnerArchive

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable
    from datetime import datetime
    from types import TracebackType
    from typing import TypeVar, Unpack

    from reread import loading, workers
    from reread.archive import (
        answers,
        billing,
        file_history,
        friction,
        listing,
        lost_sessions,
        safe,
        secret_scan,
        text_search,
        user_marks,
    )
    from reread.archive import filters as filtering
    from reread.billing import Prices
    from reread.features.secrets import Redactor
    from reread.features.tool_use import Decision, ToolCount
    from reread.index import plain_database, read_only, schema, sql_views, verify
    from reread.index.sessions import StoredSession
    from reread.ingest import Report
    from reread.live import capture
    from reread.loading import LoadedSession
    from reread.sources import tail

    from .answers import FoundPrompts, ThinkingAnswer
    from .file_history import ArchivedFile
    from .filters import Filter, FilterOptions, ScopeOptions, Zone
    from .listing import CleanupDays, Listed, SessionName
    from .lost_sessions import LostSession
    from .text_search import FieldNames, SearchAnswer
    from .usage_report import UsageReport
    from .user_marks import Project

    _J = TypeVar("_J")
    _R = TypeVar("_R")
else:
    lazy.bind(globals())

_REBUILD = "run `reread archive rebuild` to rebuild the index"
_NO_DAMAGE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
}
"""SQLite errors that do not mean damage, so no rebuild is advised; on a full disk one would make it worse."""
_WATCHING = 0.1
"""The share of one processor that a watch may use. Without a limit, a session of 24 MB that kept growing took 0.7."""
AHEAD = 8
"""How many jobs may be running in workers, or finished but not yet consumed."""


class Archive:
    """Everything reread has imported, below one folder. Use it in a `with` statement, or close it."""

    def __init__(
        self,
        home: str | Path,
        sources: Sequence[str | Path] = (),
        machine: str | None = None,
        price_file: Path | None = None,
    ) -> None:
        self.inner = InnerArchive(home, sources, machine, price_file)
        """The open archive, for reread's own surfaces; may change with any release."""

    @property
    def home(self) -> Path:
        """The folder of the archive."""
        return self.inner.home

    @property
    def sources(self) -> tuple[Path, ...]:
        """The folders and files that a sync imports from."""
        return self.inner.sources

    @property
    def machine(self) -> str:
        """The id of this machine."""
        return self.inner.machine

    @property
    def exists(self) -> bool:
        """Whether anything was ever imported here; asking creates nothing."""
        return self.inner.exists

    @property
    def prices(self) -> Prices:
        """The price table, including the user's own prices. Raises BadInput for an invalid price file."""
        return self.inner.prices

    @property
    def is_empty(self) -> bool:
        """Whether nothing was imported yet; asking creates nothing."""
        return not self.exists or self.inner.is_empty

    def close(self) -> None:
        """Closes the database and the files of the safe; the next question opens them again."""
        self.inner.close()

    def find(self, session: SessionName) -> StoredSession:
        """A session by its id, a unique prefix of it, `@last`, or `@2` for the second newest.

        If several folders have a copy of it, the newest is returned; `StoredSession.name` tells the copies apart.
        Results of `sessions`, of a search and of this method are accepted too.
        """
        return self.inner.find(session)

    def copies(self, stored: StoredSession) -> list[StoredSession]:
        """The copies of a session in other places, the one that ended last first."""
        return self.inner.copies(stored)

    def session(self, session: SessionName) -> LoadedSession:
        """A session read from the safe, whether its source still exists or not."""
        return self.inner.session(session)

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        damage = self._damage_behind(error)
        self.close()
        if isinstance(error, sqlite3.Error):
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code; the higher bits refine it
            hint = f"; {_REBUILD}" if isinstance(error, sqlite3.DatabaseError) and code not in _NO_DAMAGE else ""
            raise StoreError(f"{self.home / FILE_NAME}: {error}{hint}") from error
        if damage:
            raise StoreError(f"{self.home / FILE_NAME}: {damage}; {_REBUILD}") from error

    def _damage_behind(self, error: BaseException | None) -> str | None:
        """What is wrong with the index, if damage may explain the error; None otherwise.

        A damaged index returns values that were never written, so any code that uses them may fail.
        """
        if not isinstance(error, Exception) or isinstance(error, (RereadError, OSError, sqlite3.Error)):
            return None
        if not self.inner.is_open or not _is_ours(error):
            return None
        return next(iter(verify.damage_of(self.inner.connection)), None)

    def __repr__(self) -> str:
        try:
            count = f"{len(self):,} sessions" if self.exists else "nothing imported yet"
        except (RereadError, sqlite3.Error) as problem:
            count = str(problem)
        return f"<Archive {self.home}, {count}>"

    def __len__(self) -> int:
        """How many sessions there are."""
        return self.count_sessions() if self.exists else 0

    def __bool__(self) -> bool:
        return True  # even when empty, where `len` is 0

    def __iter__(self) -> Iterator[LoadedSession]:
        """Every session, read from the safe one at a time, the one that ended last first."""
        for each in self.each_session():
            yield self.session(each)

    def __getitem__(self, session: SessionName) -> LoadedSession:
        return self.session(session)

    def __contains__(self, session: SessionName) -> bool:
        try:
            return bool(self.find(session))
        except UnknownSession:
            return False

    @property
    def billing(self) -> billing.ArchiveBilling:
        """What was spent, what the cache saved, and how each cost is calculated."""
        return billing.ArchiveBilling(self.inner)

    @property
    def files(self) -> file_history.ArchiveFiles:
        """Which files sessions touched, what each held at any moment, and who wrote which line."""
        return file_history.ArchiveFiles(self.inner)

    @property
    def friction(self) -> friction.ArchiveFriction:
        """What went wrong, and what to change."""
        return friction.ArchiveFriction(self.inner)

    @property
    def marks(self) -> user_marks.ArchiveMarks:
        """Stars, tags, notes, titles and moved folders."""
        return user_marks.ArchiveMarks(self.inner)

    @property
    def safe(self) -> safe.ArchiveSafe:
        """What is kept: verify, restore and forget it, and exchange it with other machines."""
        return safe.ArchiveSafe(self.inner)

    @property
    def secrets(self) -> secret_scan.SecretScan:
        """Which keys and passwords past sessions contain."""
        inner = self.inner
        return secret_scan.SecretScan(inner.connection, inner.line_reader(), is_read_only=inner.is_read_only)

    @property
    def text(self) -> text_search.ArchiveText:
        """The full-text index."""
        return text_search.ArchiveText(self.inner)

    def sync(
        self,
        report: Report | None = None,
        *,
        full: bool = False,
        patience: float = LOCK_SECONDS,
        with_backups: bool = True,
        is_glance: bool = False,
        is_quick: bool = False,
    ) -> SyncResult:
        """Imports what changed in the sources.

        Only one sync writes at a time: a second one waits for `patience` seconds, then raises SafeBusy.
        `full` first rebuilds the index from the safe. `with_backups=False` skips the client's backups of files, for a
        temporary archive. `is_glance` limits the check for changes, as in `is_current`. `is_quick` leaves work for
        later: friction (which every sync defers for sessions that only grew) and, if much is new, the words of tool
        results. That work is done by the first question that needs it, or by the next sync without `is_quick` that
        finds nothing else to do.
        """
        self.inner.refuse_read_only()
        self.inner.reprice()
        if source_state.has_unfinished_captures(self.inner.wire):
            capture.adopt(self.inner.wire)
        if full:
            self.safe.rebuild(report)
        elif self.is_current(is_glance=is_glance):
            if not is_quick:
                self.inner.finish(report)
            return SyncResult()
        with telling_full_disk(self.home):
            return self.safe.import_changes(report, patience, with_backups=with_backups, is_quick=is_quick)

    def is_current(self, *, is_glance: bool = False) -> bool:
        """Whether a sync would find nothing to do; costs one stat per file and folder. With `is_glance` it looks at
        ten thousand files at most, the newest first."""
        unchanged = source_state.is_as_it_was(self.inner.connection, self.machine, self.sources, is_glance=is_glance)
        if meta.is_half_made(self.inner.connection):
            return False
        return unchanged and not (
            source_state.has_captures(self.inner.wire) or source_state.is_forgetting(self.home / "safe")
        )

    def watch(self, stop: threading.Event | None = None) -> Iterator[SyncResult]:
        """Follows the sources and syncs when they change; yields the result of each sync, until `stop` is set.
        Searches grown sessions for friction once nothing has changed for some seconds."""
        yield self.sync()
        seen = source_state.WatchedFiles(self.inner.connection, self.machine)
        is_quiet = False
        for is_due in tail.pace(stop, share=_WATCHING):
            if seen.have_changed(with_old=is_due) or source_state.has_captures(self.inner.wire):
                yield self.sync()
                seen = source_state.WatchedFiles(self.inner.connection, self.machine)
                is_quiet = False
            elif is_due:
                if is_quiet:
                    self.inner.finish()
                is_quiet = True

    def sessions(
        self,
        base: Filter | None = None,
        cleanup_days: CleanupDays = CLEANUP_DAYS,
        *,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> list[Listed]:
        """Sessions that pass the filters, the one that ended last first: `archive.sessions(since="7d", tool="Edit")`.

        Filters accept what the command line accepts, as text or as values; `base` takes a ready-made `Filter`.
        """
        return list(self.each_session(base, cleanup_days, timezone=timezone, **filters))

    def each_session(
        self,
        base: Filter | None = None,
        cleanup_days: CleanupDays = CLEANUP_DAYS,
        *,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> Iterator[Listed]:
        """What `sessions` gives, one at a time."""
        return listing.listed(self.inner.connection, filtering.make_filter(base, filters, timezone), cleanup_days)

    def count_sessions(self, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> int:
        """How many sessions pass the filters; a limit is ignored."""
        return listing.count_passing(self.inner.connection, filtering.make_filter(base, filters))

    def usage(
        self,
        by: str = "day",
        base: Filter | None = None,
        timezone: Zone | None = None,
        *,
        is_recorded: bool = False,
        folds_worktrees: bool = False,
        **filters: Unpack[FilterOptions],
    ) -> UsageReport:
        """Tokens and money by day, week, month, session, model, project, branch, tool, block, agent or skill:
        `archive.usage("model", since="7d")`. Every API response counts once over all files; more in `archive.billing`.
        """
        return self.billing.usage(
            by, base, timezone, is_recorded=is_recorded, folds_worktrees=folds_worktrees, **filters
        )

    def search(
        self,
        query: str,
        fields: FieldNames | None = None,
        base: Filter | None = None,
        limit: int = 20,
        *,
        is_regex: bool = False,
        now: datetime | None = None,
        timezone: Zone | None = None,
        report: Report | None = None,
        **filters: Unpack[ScopeOptions],
    ) -> SearchAnswer:
        """The best of the newest matches, in the language of `reread search`: in all fields except tool results, or in
        those that `fields` names, such as `fields=["thinking"]`. With `is_regex` the query is a regular expression.
        If the search covers tool results that a quick sync left for later, they are indexed first; `report` receives
        the progress.
        """
        return self.text.search(
            query, fields, base, limit, is_regex=is_regex, now=now, timezone=timezone, report=report, **filters
        )

    def file(self, name: str | PathLike[str], here: str | PathLike[str] | None = None) -> ArchivedFile:
        """A file that sessions touched, by its path or the end of it, if that is unique; more in `archive.files`."""
        return self.files.find(name, here)

    def prompts(
        self, base: Filter | None = None, timezone: Zone | None = None, **filters: Unpack[FilterOptions]
    ) -> FoundPrompts:
        """What people typed, newest first; a prompt that a fork repeats is listed once."""
        return answers.TalkReader(self.inner).prompts(filtering.make_filter(base, filters, timezone))

    def thinking(
        self,
        base: Filter | None = None,
        min_length: int = 11,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> ThinkingAnswer:
        """Thinking of sessions and their agents, newest first, each once; and how many blocks are empty or redacted."""
        chosen, least = filtering.make_filter(base, filters, timezone), filtering.whole_number(min_length, "min_length")
        return answers.TalkReader(self.inner).thinking(chosen, least)

    def tools(
        self, base: Filter | None = None, timezone: Zone | None = None, **filters: Unpack[FilterOptions]
    ) -> list[ToolCount]:
        """How often each tool ran and failed, agents included and every call once; most used first."""
        return answers.tool_counts(self.inner.connection, filtering.make_filter(base, filters, timezone))

    def decisions(
        self,
        base: Filter | None = None,
        topic: str | None = None,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> list[Decision]:
        """Questions Claude asked and their answers, newest first; with a topic, those that contain all of its words."""
        chosen = filtering.make_filter(base, filters, timezone)
        about = None if topic is None else filtering.text_of(topic, "topic")
        return answers.TalkReader(self.inner).decisions(chosen, about)

    def projects(
        self, base: Filter | None = None, timezone: Zone | None = None, **filters: Unpack[FilterOptions]
    ) -> list[Project]:
        """Projects of the sessions that pass the filters, the most recently used first; a limit counts projects.

        Worktrees count as the project they were made from, and moved folders under their present path.
        """
        self.inner.reprice()
        return user_marks.projects(self.inner.connection, filtering.make_filter(base, filters, timezone))

    def lost(
        self,
        base: Filter | None = None,
        query: str | None = None,
        fields: FieldNames | None = None,
        *,
        is_regex: bool = False,
        **filters: Unpack[FilterOptions],
    ) -> list[LostSession]:
        """Sessions that were deleted before reread could import them, found in the client's own index; with a query,
        those that match."""
        if not meta.has_files(self.inner.connection, "index"):  # nearly always so; checking spares a list an import
            return []
        chosen = filtering.make_filter(base, filters)
        return lost_sessions.find_lost(
            self.inner.connection, self.inner.line_reader(), self.machine, chosen, query, fields, is_regex=is_regex
        )

    def read_all(self, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> Iterator[LoadedSession]:
        """Sessions read from the safe one at a time, the oldest first."""
        return answers.read_all(self.inner, filtering.make_filter(base, filters))

    def transcript(self, session: SessionName) -> bytes:
        """The session's own file, byte for byte; empty if only files of its agents are left."""
        stored = self.find(session)
        trunk = self.inner.reader.session_files(stored.id, stored.row.uuid).trunk
        return b"" if trunk is None else self.inner.reader.whole(trunk)

    def sql(self, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows of one read-only SQL statement; raises BadInput for any other."""
        if not isinstance(query, str):
            raise BadInput(f"{query!r} is not SQL")
        return read_only.ask(self.home, self.inner.packs, self._project_today(), query)

    def write_database(
        self,
        path: str | PathLike[str],
        sessions: Filter | SessionName | None = None,
        parts: plain_database.PlainParts | None = None,
        redactor: Redactor | None = None,
        *,
        only_looks: bool = False,
        **filters: Unpack[FilterOptions],
    ) -> plain_database.PlainDatabase:
        """Writes a SQLite database for other tools: the texts of one session or of those that pass the filters, with a
        full-text index, ISO times and dollars. Secrets that the redactor finds are left out. With `only_looks` nothing
        is written, and the result says what would be. The file must not exist yet."""
        if sessions is None or isinstance(sessions, filtering.Filter):
            ids = listing.passing_ids(self.inner.connection, filtering.make_filter(sessions, filters))
        else:
            ids = [self.find(sessions).id]
        with read_only.readable(self.home, self.inner.packs, self._project_today()) as source:
            writer = plain_database.PlainWriter(
                source, ids, parts or plain_database.PlainParts(), redactor, only_looks=only_looks
            )
            return writer.write(Path(path_name(path)))

    def _project_today(self) -> Callable[[str | None], str]:
        moved = self.marks.moves()
        return lambda path: listing.project_of(path, moved)

    @staticmethod
    def schema() -> str:
        """The SQL of the views and tables, with a comment for every column that needs one."""
        return f"{sql_views.schema_of_views()}\n{schema.schema()}"


def on_all_processors(
    archive: Archive, work: Callable[[Archive, _J], _R], jobs: Iterable[_J], size: int
) -> Iterator[tuple[_J, _R]]:
    """Each job with the result of `work(archive, job)`, in order, from worker processes that each open the archive
    themselves. `size` is how many bytes of sessions will be read; if they are few, this process does the work."""
    if workers.is_alone(size):
        return ((job, work(archive, job)) for job in jobs)
    return workers.in_order(partial(_worked, archive.home, archive.inner.price_file, work), jobs, AHEAD, size)


def _worked(home: Path, prices: Path | None, work: Callable[[Archive, _J], _R], job: _J) -> _R:
    return work(_opened(home, prices), job)


@cache
def _opened(home: Path, prices: Path | None) -> Archive:
    """One archive per worker process: it cannot share a database connection with its parent."""
    return Archive(home, price_file=prices)


def open_archive(
    home: str | PathLike[str] | None = None, sources: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None
) -> Archive:
    """The archive below `home`, which imports from the folders or files in `sources`. By default it is the archive that
    the commands use, with the sources that the environment names; an empty list means no sources."""
    config = make_config(None, None, None if home is None else _named(home))
    places = config.sources if sources is None else [expanded(_named(each)) for each in _each(sources)]
    return Archive(config.home, places, price_file=config.prices)


def _each(sources: str | PathLike[str] | Sequence[str | PathLike[str]]) -> Sequence[str | PathLike[str]]:
    return sources if isinstance(sources, Sequence) and not isinstance(sources, str | bytes) else [sources]


def _named(folder: str | PathLike[str]) -> str:
    path = path_name(folder)
    if not path or "\0" in path:  # an empty path would mean the working directory
        raise BadInput(f"{path!r} is not a folder; give a path")
    return path


def _is_ours(error: BaseException) -> bool:
    """Whether code of reread raised the error, or called what did. An error from a caller's own code says nothing about
    the index, and checking that takes a second per GB of transcripts."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("reread."):
            return True
        trace = trace.tb_next
    return False


def load(name: str | PathLike[str]) -> LoadedSession:
    """The session in a file or a session folder, with its subagents and side files; or else a session of the archive,
    named by its id, a unique prefix of it, `@last` or `@2`.

    Raises SourceError for a path that cannot be read or holds several sessions, and UnknownSession or AmbiguousSession
    for a name.
    """
    if not isinstance(name, str | PathLike):
        raise BadInput(f"{name!r} names no session; give a file, a folder, an id, the beginning of one, or @last")
    place = Path(path_name(name))
    with open_archive() as archive:
        if not isinstance(name, str) or place.name != name or place.suffix or _is_there(place):
            return loading.load(place, archive.prices)
        if not archive.exists:  # do not create an archive just to look for a session
            raise UnknownSession(name, [archive.home])
        return archive.session(name)


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # no file can have such a name
        return False
