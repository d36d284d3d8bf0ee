"""`Archive`, the one front door: what was taken in stays, and can be listed, read, searched, proved and given back.

Each method brings in what it needs itself: a list of sessions must not wait for the import of parsers, worker pools and
the search language, which together take longer than the list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from reread.accounts import Accounts
from reread.errors import RereadError, SourceError, UnknownSession
from reread.lazy import fetcher
from reread.marking import Marking
from reread.retrospects import Retrospects
from reread.safekeeping import LOCK_SECONDS, Safekeeping
from reread.searching import Searching
from reread.store.database import FILE_NAME, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from datetime import datetime
    from types import TracebackType

    from reread.analyses.tools import ToolCount
    from reread.ingest.results import Progress, Report, SyncResult
    from reread.queries.answers import FoundPrompts, Thinking
    from reread.queries.caching import CacheReport
    from reread.queries.explaining import Explained
    from reread.queries.filters import Filter
    from reread.queries.listing import Listed
    from reread.queries.project_list import Project
    from reread.queries.reconciling import Reconciled
    from reread.queries.retro import Retro
    from reread.queries.search import SearchAnswer
    from reread.queries.talk import TalkReader
    from reread.queries.unpriced import UnpricedModel
    from reread.queries.usage import UsageReport
    from reread.sessions import Session
    from reread.store.custody import Forgotten, Restored, Status
    from reread.store.machines import Machine
    from reread.store.mending import Damaged
    from reread.store.proof import Verified
    from reread.store.sessions import StoredSession

__all__ = [
    "Archive",
    "CacheReport",
    "Damaged",
    "Explained",
    "Forgotten",
    "Listed",
    "Machine",
    "Progress",
    "Project",
    "Reconciled",
    "Restored",
    "Retro",
    "SearchAnswer",
    "Status",
    "StoredSession",
    "SyncResult",
    "UnpricedModel",
    "UsageReport",
    "Verified",
    "load",
    "open_archive",
]

_REBUILD = "`reread archive rebuild` makes the index anew"
CLEANUP_DAYS = 30.0
"""When Claude Code deletes a session, unless its settings say otherwise."""


class Archive(Accounts, Marking, Retrospects, Safekeeping, Searching):
    """Everything reread has taken in, below one folder. Use it as a context, or close it."""

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        damage = self._damage_behind(error)
        self.close()
        if isinstance(error, sqlite3.Error):
            hint = f"; {_REBUILD}" if isinstance(error, sqlite3.DatabaseError) else ""
            raise StoreError(f"{self.home / FILE_NAME}: {error}{hint}") from error
        if damage:
            raise StoreError(f"{self.home / FILE_NAME}: {damage}; {_REBUILD}") from error

    def _damage_behind(self, error: BaseException | None) -> str | None:
        """A damaged index gives values that nobody wrote, and whoever works with them fails somewhere, somehow."""
        if not isinstance(error, Exception) or isinstance(error, (RereadError, OSError, sqlite3.Error)):
            return None
        if not self.is_open or not _is_ours(error):
            return None
        from reread.store.soundness import damage_of

        return next(iter(damage_of(self.connection)), None)

    def is_current(self, *, is_glance: bool = False) -> bool:
        """Whether a sync would find nothing to do; costs one stat per file and folder. A glance looks at ten thousand
        files at most, the newest first."""
        from reread.store import notes
        from reread.store.unchanged import has_captures, is_as_it_was, is_forgetting

        unchanged = is_as_it_was(self.connection, self.machine, self.sources, is_glance=is_glance)
        if notes.is_half_made(self.connection) or notes.is_outdated(self.connection):
            return False
        return unchanged and not has_captures(self.wire) and not is_forgetting(self.home / "safe")

    def _adopt_captures(self) -> None:
        """Runs that a kill left behind end here."""
        from reread.store.unchanged import has_unfinished_captures

        if has_unfinished_captures(self.wire):
            from reread.live.capture import adopt

            adopt(self.wire)

    def sync(
        self,
        report: Report | None = None,
        *,
        full: bool = False,
        patience: float = LOCK_SECONDS,
        with_backups: bool = True,
        is_glance: bool = False,
    ) -> SyncResult:
        """Takes in what changed in the sources. Two syncs never write at once: the second waits for so many seconds,
        then raises SafeBusy. `full` first makes the index anew from the safe. An archive that goes while its sources
        stay can do without the backups of files. With `is_glance` it looks for changes as `is_current` does.
        """
        from reread.ingest.results import SyncResult

        if self.is_read_only and self.connection:  # opened, so that one that cannot be read either says that
            from reread.store.looking import ReadOnlyArchive

            raise ReadOnlyArchive(self.home)
        self._reprice()
        self._adopt_captures()
        if full:
            self.rebuild()
        elif self.is_current(is_glance=is_glance):
            return SyncResult()
        from reread.ingest.sync import sync
        from reread.store import custody
        from reread.store.unchanged import has_captures

        with self._locked(patience):
            custody.note_first(self.connection, self.safe)
            if custody.is_lost(self.connection, self.safe):  # asked here: another may just have been making it anew
                self._make_anew()
            lost, _ = self._recover()
            self._fold_copies()
            captures = self.wire if has_captures(self.wire) else None
            result = sync(
                self.connection,
                self.safe,
                self.machine,
                self.sources,
                report,
                self.price_file,
                captures,
                with_backups=with_backups,
            )
            self._renew(report)
            if lost is not None:
                result.problems.append(SourceError(self.safe.folder, str(lost)))
            return result

    def watch(self, stop: threading.Event) -> Iterator[SyncResult]:
        """Follows the sources until `stop` is set; each result is a sync that took something in."""
        import time

        from reread.ingest.watch import changes
        from reread.store.unchanged import last_seen

        yield self.sync()
        while not stop.is_set():
            for _ in changes(last_seen(self.connection, self.machine), time.time_ns(), stop, self.wire):
                yield self.sync()

    def sessions(
        self, wanted: Filter | None = None, cleanup_days: float = CLEANUP_DAYS, *, project: str | None = None
    ) -> list[Listed]:
        """Sessions that pass a filter, the one that ended last first; `project` is short for the commonest one."""
        from reread.queries.filters import Filter
        from reread.queries.listing import listed

        return list(listed(self.connection, wanted or Filter(project=project), cleanup_days))

    def each_session(self, wanted: Filter | None = None, cleanup_days: float = CLEANUP_DAYS) -> Iterator[Listed]:
        """The same one at a time, for lists of any length."""
        from reread.queries.filters import Filter
        from reread.queries.listing import listed

        yield from listed(self.connection, wanted or Filter(), cleanup_days)

    def listed(self, stored: StoredSession, cleanup_days: float = CLEANUP_DAYS) -> Listed:
        """A session that was found before, as a list has it."""
        from reread.queries.listing import listed_by_id

        return next(listed_by_id(self.connection, [stored.id], cleanup_days))

    def count_sessions(self, wanted: Filter | None = None) -> int:
        """How many sessions pass a filter, whatever its limit."""
        from reread.queries.filters import Filter
        from reread.queries.listing import count_passing

        return count_passing(self.connection, wanted or Filter())

    def count_sessions_below(self, folder: str) -> int:
        """How many sessions ran in a folder or below it."""
        from reread.marks.moves import below
        from reread.store.sessions import SessionFilter, count_sessions

        inside = SessionFilter(project=lambda path: bool(path) and below(path or "", folder) is not None)
        return count_sessions(self.connection, inside)

    def count_expiring(self, until: datetime, cleanup_days: float = CLEANUP_DAYS) -> int:
        """How many sessions Claude Code deletes until then."""
        from reread.store.counting import sessions_written_before

        return sessions_written_before(self.connection, int((until.timestamp() - cleanup_days * 86_400) * 1e9))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was taken in yet."""
        from reread.store.sessions import has_sessions

        return not has_sessions(self.connection)

    def projects(self, wanted: Filter | None = None) -> list[Project]:
        """Projects of the sessions that pass a filter, the one worked in last first; a limit is one of projects.

        Worktrees are folded into the project they were made from, and folders that were moved into what they are today.
        """
        from reread.live.starting import is_folder
        from reread.queries.filters import Filter
        from reread.queries.project_list import projects
        from reread.store.database import snapshot

        self._reprice()
        chosen = wanted or Filter()
        with snapshot(self.connection):
            return projects(self.connection, chosen, is_folder)[: chosen.limit]

    def keeps(self, source: Path) -> bool:
        """Whether anything was ever taken from this folder or file."""
        from reread.store import counting

        names = {str(source), str(source.absolute())}
        return self.exists and bool(names & counting.known_sources(self.connection))

    def version(self) -> tuple[int, int]:
        """Changes when somebody else, in this process or another, changed the archive; its first part when the index
        was made anew, so that this one has the old index open and must be closed."""
        from reread.store.database import version

        return version(self.connection, self.home)

    def known_sources(self) -> set[str]:
        """Every folder or file something was taken from."""
        from reread.store import counting

        return counting.known_sources(self.connection)

    def kept_bytes(self) -> dict[str, int]:
        """The files of the archive by path, with how much of each is in the safe."""
        from reread.store import counting

        return counting.bytes_by_path(self.connection)

    def prompts_since(self, moments: Sequence[datetime]) -> list[int]:
        """How many prompts were typed since each of some moments."""
        from reread.store import counting

        return counting.prompts_since(self.connection, [int(moment.timestamp() * 1000) for moment in moments])

    def files_changed_since(self, moment: datetime) -> int:
        """How many files the tools of the client wrote since a moment."""
        from reread.store import counting

        return counting.files_changed_since(self.connection, int(moment.timestamp() * 1000))

    def session(self, wanted: str) -> Session:
        """A session read from the safe, whether its source still exists or not."""
        return self.session_of(self.find(wanted))

    def transcript(self, wanted: str) -> bytes:
        """The session's own file, byte for byte; empty where only files of its agents are left."""
        stored = self.find(wanted)
        trunk = self.files.session_files(stored.id, stored.row.uuid).trunk
        return b"" if trunk is None else self.files.whole(trunk)

    def read_all(self, wanted: Filter | None = None) -> Iterator[Session]:
        """Sessions read from the safe one at a time, the oldest first."""
        from reread.queries.filters import Filter
        from reread.queries.listing import passing_ids
        from reread.store.sessions import sessions

        for number in reversed(passing_ids(self.connection, wanted or Filter())):
            for stored in sessions(self.connection, ids=[number]):
                yield self.session_of(stored)

    def session_of(self, stored: StoredSession) -> Session:
        """The same for one that was found before."""
        from reread.loading import load_session

        files = self.files.session_files(stored.id, stored.row.uuid)
        return load_session(files, disk=self.files, prices=self.prices, mark=stored.mark)

    def prompts(self, wanted: Filter | None = None) -> FoundPrompts:
        """What people typed, newest first; a prompt that a fork repeats is told once."""
        from reread.queries.filters import Filter

        chosen = wanted or Filter()
        if self._has_talk():
            return self._talk_reader().prompts(chosen)
        from reread.queries.answers import prompts

        return prompts(self.read_all(window_of(chosen)), chosen._replace(moves=self.moves()))

    def thinking(self, wanted: Filter | None = None, min_length: int = 11) -> Thinking:
        """Thoughts of sessions and their agents, newest first, each once; and how many say nothing."""
        from reread.queries.filters import Filter

        chosen = wanted or Filter()
        if self._has_talk():
            return self._talk_reader().thinking(chosen, min_length)
        from reread.queries.answers import thinking

        return thinking(self.read_all(window_of(chosen)), chosen._replace(moves=self.moves()), min_length)

    def tools(self, wanted: Filter | None = None) -> list[ToolCount]:
        """How often each tool ran and failed, agents included and every call once; most used first."""
        from reread.queries.filters import Filter
        from reread.queries.tool_counts import tool_counts

        return tool_counts(self.connection, wanted or Filter())

    def _talk_reader(self) -> TalkReader:
        from reread.queries.talk import TalkReader
        from reread.store.bytes_kept import KeptBytes

        return TalkReader(self.connection, KeptBytes(self.connection, self.safe), self.session_of)

    def _has_talk(self) -> bool:
        """Whether prompts and thoughts are rows; of sessions that an earlier version took in they are made here."""
        from reread.store.talk import sessions_without_talk

        missing = sessions_without_talk(self.connection)
        if not missing or self.is_read_only:
            return not missing
        from reread.ingest.talk import add_talk
        from reread.store.safe import SafeBusy

        try:
            with self._locked(0.0):
                add_talk(self.connection, self.session_of, missing)
        except SafeBusy:  # a sync is writing: the sessions themselves can be read meanwhile
            return False
        return True

    def sql(self, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows of one statement that reads; raises BadInput for any other."""
        from reread.store import asking

        return asking.ask(self.home, query)

    @staticmethod
    def schema() -> str:
        """The tables, with a comment for every column that needs one."""
        from reread.store.schema import SCHEMA

        return SCHEMA


def window_of(wanted: Filter) -> Filter:
    """Only time and place narrow what is read: by the rest, a copy could be told in the stead of what it copies."""
    from reread.queries.filters import Filter

    return Filter(since=wanted.since, until=wanted.until, sources=wanted.sources)


def open_archive(home: str | Path | None = None, sources: Sequence[str | Path] | None = None) -> Archive:
    """The archive below `home`, over `sources`; without them the ones the environment names."""
    from reread.config import make_config

    config = make_config([str(source) for source in sources] if sources is not None else None, None)
    return Archive(Path(home) if home is not None else config.home, config.sources, price_file=config.prices)


def _is_ours(error: BaseException) -> bool:
    """Whether code of reread raised it, or called what did. What a caller's own code raises says nothing about the
    index, which takes a second for each GB of transcripts to prove."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").startswith("reread."):
            return True
        trace = trace.tb_next
    return False


def load(wanted: str | Path) -> Session:
    """The session in a file or a session folder, with its subagents and side files; else one that the archive keeps,
    by its id, a unique beginning of it, `@last` or `@2`.
    """
    from reread import loading

    place = Path(wanted)
    if isinstance(wanted, Path) or place.exists() or place.name != wanted or place.suffix:
        return loading.load(place)
    with open_archive() as archive:
        if not archive.exists:  # looking for a session makes no archive
            raise UnknownSession(wanted, [archive.home])
        stored = archive.find(wanted)
        archive.files.hold(archive.files.session_files(stored.id, stored.row.uuid).tool_results)
        return archive.session_of(stored)


_RESULTS = {
    "CacheReport": "reread.queries.caching",
    "Damaged": "reread.store.mending",
    "Explained": "reread.queries.explaining",
    "Forgotten": "reread.store.custody",
    "Listed": "reread.queries.listing",
    "Machine": "reread.store.machines",
    "Progress": "reread.ingest.results",
    "Project": "reread.queries.project_list",
    "Reconciled": "reread.queries.reconciling",
    "Restored": "reread.store.custody",
    "Retro": "reread.queries.retro",
    "SearchAnswer": "reread.queries.search",
    "Status": "reread.store.custody",
    "StoredSession": "reread.store.sessions",
    "SyncResult": "reread.ingest.results",
    "UnpricedModel": "reread.queries.unpriced",
    "UsageReport": "reread.queries.usage",
    "Verified": "reread.store.proof",
}
"""Where the values live that the methods give."""

__getattr__ = fetcher(__name__, _RESULTS)
