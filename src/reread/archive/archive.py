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
from reread.index.database import FILE_NAME, connect, version
from reread.ingest import SyncResult

from .base import LOCK_SECONDS, ArchiveBase

TYPE_CHECKING = False
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
    from reread.features.secrets import Redactor
    from reread.features.tool_use import Decision, ToolCount
    from reread.index import plain_database, read, read_only, schema, sql_views, verify
    from reread.index import sessions as session_rows
    from reread.index.sessions import StoredSession
    from reread.ingest import Report, second_phase
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
    verify = lazy.module("reread.index.verify")
    billing = lazy.module("reread.archive.billing")
    file_history = lazy.module("reread.archive.file_history")
    friction = lazy.module("reread.archive.friction")
    user_marks = lazy.module("reread.archive.user_marks")
    safe = lazy.module("reread.archive.safe")
    secret_scan = lazy.module("reread.archive.secret_scan")
    text_search = lazy.module("reread.archive.text_search")
    answers = lazy.module("reread.archive.answers")
    capture = lazy.module("reread.live.capture")
    workers = lazy.module("reread.workers")
    tail = lazy.module("reread.sources.tail")
    read = lazy.module("reread.index.read")
    filtering = lazy.module("reread.archive.filters")
    listing = lazy.module("reread.archive.listing")
    lost_sessions = lazy.module("reread.archive.lost_sessions")
    loading = lazy.module("reread.loading")
    schema = lazy.module("reread.index.schema")
    read_only = lazy.module("reread.index.read_only")
    plain_database = lazy.module("reread.index.plain_database")
    sql_views = lazy.module("reread.index.sql_views")
    session_rows = lazy.module("reread.index.sessions")
    second_phase = lazy.module("reread.ingest.second_phase")

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
_SETTLING = 2.0
"""Seconds after the end of a run in which the client may still write a last line."""
_WATCHING = 0.1
"""The share of one processor that a watch may use. Without a limit, a session of 24 MB that kept growing took 0.7."""
AHEAD = 8
"""How many jobs may be running in workers, or finished but not yet consumed."""
CLEANUP_DAYS = 30.0
"""After how many days Claude Code deletes a session, unless its settings say otherwise."""
_MOVED = {
    **dict.fromkeys(
        (
            "caching",
            "copied_into",
            "explain",
            "limits",
            "reconciliation",
            "unpriced_models",
            "usage_ahead",
            "usage_and_caching",
        ),
        "billing.",
    ),
    **dict.fromkeys(("applied", "apply", "mark_right", "mark_wrong", "planned", "retro"), "friction."),
    **dict.fromkeys(("move_project", "moves", "tags", "unmove_project"), "marks."),
    **dict.fromkeys(
        (
            "damaged",
            "forget",
            "forget_damaged",
            "last_folder",
            "pull",
            "push",
            "rebuild",
            "restore",
            "restore_targets",
            "status",
            "verify",
        ),
        "safe.",
    ),
    **dict.fromkeys(("count_hits", "hits_in"), "text."),
    "mark": "marks.set",
    "moments_of": "friction.in_session",
    "session_of": "session",
}
"""Names from the previous release, with the group that has each now (or the full new name)."""


class Archive(ArchiveBase):
    """Everything reread has imported, below one folder. Use it in a `with` statement, or close it."""

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
        if not self.is_open or not _is_ours(error):
            return None
        return next(iter(verify.damage_of(self.connection)), None)

    def __repr__(self) -> str:
        try:
            count = f"{len(self):,} sessions" if self.exists else "nothing imported yet"
        except (RereadError, sqlite3.Error) as problem:
            count = str(problem)
        return f"<Archive {self.home}, {count}>"

    def __len__(self) -> int:
        """How many sessions there are."""
        return self.count_sessions()

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

    if not TYPE_CHECKING:  # hidden from type checkers, so that they report the old names

        def __getattr__(self, name: str) -> object:
            if name not in _MOVED:
                raise AttributeError(f"an Archive has no {name!r}")
            import warnings

            place = _MOVED[name] + name * _MOVED[name].endswith(".")
            warnings.warn(f"archive.{name} is now archive.{place}", DeprecationWarning, stacklevel=2)
            found: object = self
            for part in place.split("."):
                found = getattr(found, part)
            return found

    @property
    def billing(self) -> billing.ArchiveBilling:
        """What was spent, what the cache saved, and how each cost is calculated."""
        return billing.ArchiveBilling(self)

    @property
    def files(self) -> file_history.ArchiveFiles:
        """Which files sessions touched, what each held at any moment, and who wrote which line."""
        return file_history.ArchiveFiles(self)

    @property
    def friction(self) -> friction.ArchiveFriction:
        """What went wrong, and what to change."""
        return friction.ArchiveFriction(self)

    @property
    def marks(self) -> user_marks.ArchiveMarks:
        """Stars, tags, notes, titles and moved folders."""
        return user_marks.ArchiveMarks(self)

    @property
    def safe(self) -> safe.ArchiveSafe:
        """What is kept: verify, restore and forget it, and exchange it with other machines."""
        return safe.ArchiveSafe(self)

    @property
    def secrets(self) -> secret_scan.SecretScan:
        """Which keys and passwords past sessions contain."""
        return secret_scan.SecretScan(self.connection, self.line_reader(), is_read_only=self.is_read_only)

    @property
    def text(self) -> text_search.ArchiveText:
        """The full-text index."""
        return text_search.ArchiveText(self)

    @property
    def _talk(self) -> answers.ArchiveTalk:
        return answers.ArchiveTalk(self)

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
        self.refuse_read_only()
        self.reprice()
        if source_state.has_unfinished_captures(self.wire):
            capture.adopt(self.wire)
        if full:
            self.safe.rebuild(report)
        elif self.is_current(is_glance=is_glance):
            if not is_quick:
                self.finish(report)
            return SyncResult()
        return self.safe.import_changes(report, patience, with_backups=with_backups, is_quick=is_quick)

    def finish(self, report: Report | None = None) -> None:
        """Does what quick syncs left for later: words of tool results, moments of friction. Does nothing if the
        archive cannot be written or another process is writing."""
        if meta.waiting_for_results(self.connection) or meta.waiting_for_friction(self.connection):
            self.if_free(lambda: second_phase.finish(self.connection, self.packs, self.price_file, report))

    def is_current(self, *, is_glance: bool = False) -> bool:
        """Whether a sync would find nothing to do; costs one stat per file and folder. With `is_glance` it looks at
        ten thousand files at most, the newest first."""
        unchanged = source_state.is_as_it_was(self.connection, self.machine, self.sources, is_glance=is_glance)
        if meta.is_half_made(self.connection) or meta.is_outdated(self.connection):
            return False
        return unchanged and not (
            source_state.has_captures(self.wire) or source_state.is_forgetting(self.home / "safe")
        )

    def watch(self, stop: threading.Event | None = None) -> Iterator[SyncResult]:
        """Follows the sources and syncs when they change; yields the result of each sync, until `stop` is set.
        Searches grown sessions for friction once nothing has changed for some seconds."""
        yield self.sync()
        seen = source_state.WatchedFiles(self.connection, self.machine)
        is_quiet = False
        for is_due in tail.pace(stop, share=_WATCHING):
            if seen.have_changed(with_old=is_due) or source_state.has_captures(self.wire):
                yield self.sync()
                seen = source_state.WatchedFiles(self.connection, self.machine)
                is_quiet = False
            elif is_due:
                if is_quiet:
                    self.finish()
                is_quiet = True

    def outdated(self) -> int:
        """How many sessions have rows made by an older version of reread; the next sync rebuilds them."""
        if not meta.is_outdated(self.connection):
            return 0
        return len(read.outdated_sessions(self.connection))

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
        return listing.listed(self.connection, filtering.make_filter(base, filters, timezone), cleanup_days)

    def listed(self, session: SessionName, cleanup_days: CleanupDays = CLEANUP_DAYS) -> Listed:
        """One session, as `sessions` gives it."""
        return next(listing.listed_by_id(self.connection, [self.find(session).id], cleanup_days))

    def count_sessions(self, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> int:
        """How many sessions pass the filters; a limit is ignored."""
        return listing.count_passing(self.connection, filtering.make_filter(base, filters))

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
        return self._talk.prompts(base, timezone, **filters)

    def thinking(
        self,
        base: Filter | None = None,
        min_length: int = 11,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> ThinkingAnswer:
        """Thinking of sessions and their agents, newest first, each once; and how many blocks are empty or redacted."""
        return self._talk.thinking(base, min_length, timezone, **filters)

    def tools(
        self, base: Filter | None = None, timezone: Zone | None = None, **filters: Unpack[FilterOptions]
    ) -> list[ToolCount]:
        """How often each tool ran and failed, agents included and every call once; most used first."""
        return self._talk.tools(base, timezone, **filters)

    def decisions(
        self,
        base: Filter | None = None,
        topic: str | None = None,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> list[Decision]:
        """Questions Claude asked and their answers, newest first; with a topic, those that contain all of its words."""
        return self._talk.decisions(base, topic, timezone, **filters)

    def projects(
        self, base: Filter | None = None, timezone: Zone | None = None, **filters: Unpack[FilterOptions]
    ) -> list[Project]:
        """Projects of the sessions that pass the filters, the most recently used first; a limit counts projects.

        Worktrees count as the project they were made from, and moved folders under their present path.
        """
        self.reprice()
        return user_marks.projects(self.connection, filtering.make_filter(base, filters, timezone))

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
        if not meta.has_files(self.connection, "index"):  # nearly always so; checking spares a list an import
            return []
        chosen = filtering.make_filter(base, filters)
        return lost_sessions.find_lost(
            self.connection, self.line_reader(), self.machine, chosen, query, fields, is_regex=is_regex
        )

    def read_all(self, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> Iterator[LoadedSession]:
        """Sessions read from the safe one at a time, the oldest first."""
        return self._talk.read_all(filtering.make_filter(base, filters))

    def transcript(self, session: SessionName) -> bytes:
        """The session's own file, byte for byte; empty if only files of its agents are left."""
        stored = self.find(session)
        trunk = self.reader.session_files(stored.id, stored.row.uuid).trunk
        return b"" if trunk is None else self.reader.whole(trunk)

    def on_all_processors(
        self, work: Callable[[Archive, _J], _R], jobs: Iterable[_J], size: int
    ) -> Iterator[tuple[_J, _R]]:
        """Each job with the result of `work(archive, job)`, in order, from worker processes that each open the archive
        themselves. `size` is how many bytes of sessions will be read; if they are few, this process does the work."""
        if workers.is_alone(size):
            return ((job, work(self, job)) for job in jobs)
        return workers.in_order(partial(_worked, self.home, self.price_file, work), jobs, AHEAD, size)

    def sql(self, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows of one read-only SQL statement; raises BadInput for any other."""
        if not isinstance(query, str):
            raise BadInput(f"{query!r} is not SQL")
        self._talk.has_rows()
        return read_only.ask(self.home, self.packs, self._project_today(), query)

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
        self._talk.has_rows()
        if sessions is None or isinstance(sessions, filtering.Filter):
            ids = listing.passing_ids(self.connection, filtering.make_filter(sessions, filters))
        else:
            ids = [self.find(sessions).id]
        with read_only.readable(self.home, self.packs, self._project_today()) as source:
            writer = plain_database.PlainWriter(
                source, ids, parts or plain_database.PlainParts(), redactor, only_looks=only_looks
            )
            return writer.write(Path(path_name(path)))

    def _project_today(self) -> Callable[[str | None], str]:
        moved = self.marks.moves()
        return lambda path: listing.project_of(path, moved)

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

    @staticmethod
    def schema() -> str:
        """The SQL of the views and tables, with a comment for every column that needs one."""
        return f"{sql_views.schema_of_views()}\n{schema.schema()}"

    @property
    def is_empty(self) -> bool:
        """Whether nothing was imported yet."""
        return not meta.has_sessions(self.connection)

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
        return {name for name in names if meta.session_mark(name) in known} if known else set()

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
        return user_marks.count_sessions_below(self.connection, folder)

    def count_expiring(self, until: datetime, cleanup_days: CleanupDays = CLEANUP_DAYS) -> int:
        """How many sessions Claude Code will have deleted by then."""
        return listing.count_expiring(self.connection, until, cleanup_days)

    def saw_end(self, stored: StoredSession) -> bool:
        """Whether the end of a session was captured: its last lines come from a run by reread that has ended."""
        ends = [row.mtime_ns / 1e9 for row in read.files_of(self.connection, stored.id) if row.kind == "capture"]
        return bool(ends) and stored.ended is not None and stored.ended.timestamp() <= max(ends) + _SETTLING


def _worked(home: Path, prices: Path | None, work: Callable[[Archive, _J], _R], job: _J) -> _R:
    return work(_opened(home, prices), job)


@cache
def _opened(home: Path, prices: Path | None) -> Archive:
    """One archive per worker process: it cannot share a database connection with its parent."""
    return Archive(home, price_file=prices)


def open_archive(
    home: str | PathLike[str] | None = None,
    sources: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
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
