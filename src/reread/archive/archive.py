"""`Archive`, the one front door: what was imported stays, and can be listed, read, searched, verified and restored.

Each method imports what it needs itself: a list of sessions must not wait for parsers, worker pools and the search
language, which together take longer than the list.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path

from reread.errors import AmbiguousSession, RereadError, SourceError, UnknownSession
from reread.index.database import (
    FILE_NAME,
    NewerArchive,
    StoreError,
    connect,
    file_number,
    is_only_readable,
    set_aside,
    snapshot,
    transaction,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    import threading
    from collections.abc import Callable, Iterable
    from datetime import datetime, tzinfo
    from types import TracebackType

    from reread.billing import Prices
    from reread.client_settings import Applied
    from reread.exchange import Pulled, Pushed
    from reread.features.friction.refusals import Stated
    from reread.features.friction.scene import Moment
    from reread.features.friction.suggestions import Suggestion
    from reread.features.search_text import Field
    from reread.features.tool_use import ToolCount
    from reread.index.backup_files import KeptBackups
    from reread.index.custody import ArchiveStatus, Damaged, Forgotten, Restored
    from reread.index.machines import Machine
    from reread.index.session_files import SessionFileReader
    from reread.index.sessions import StoredSession
    from reread.index.verify import Verified
    from reread.ingest.results import Report, SyncResult
    from reread.marks import Mark, Moves
    from reread.safe.safe import Safe, SafeDamaged
    from reread.sessions import Session

    from .answers import FoundPrompts, TalkReader, ThinkingAnswer
    from .cache_report import CacheReport
    from .explain import Explained
    from .filters import Filter
    from .friction import Labelled, Retro
    from .listing import Listed
    from .lost_sessions import LostSession
    from .projects import Project
    from .reconcile import Reconciled
    from .secret_scan import SecretsAnswer, SecretScan
    from .text_search import Cells as CountedHits
    from .text_search import SearchAnswer, Searcher
    from .usage_report import UnpricedModel, UsageLimits, UsageReport


LOCK_SECONDS = 120.0
"""How long one that writes waits for another one."""


class ArchiveBase:
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
            from reread.index.read_only import look_into

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
        from reread.safe.safe import Safe

        return Safe(self.home / "safe")

    @cached_property
    def files(self) -> SessionFileReader:
        from reread.index.session_files import SessionFileReader

        return SessionFileReader(self.connection, self.safe)

    @cached_property
    def machine(self) -> str:
        """The id that rows and pieces of this machine carry."""
        from reread.index.client_totals import own_machine

        if self.is_read_only or (self.home / "machine.json").exists():
            return own_machine(self.connection)  # by itself: a sync that finds nothing new loads no JSON
        return self.own_machine().id

    @contextmanager
    def _locked(self, patience: float = LOCK_SECONDS) -> Iterator[None]:
        """Nobody else writes meanwhile. A database that was set aside while one waited is let go of: what is written
        there is found nowhere."""
        from reread.safe.safe import lock

        with lock(self.home / "safe", timeout=patience):
            if self.is_open and self._file != file_number(self.home):
                self.close()
            yield

    def own_machine(self) -> Machine:
        """Its id, and what it is called."""
        from reread.index.machines import own_machine

        return own_machine(self.connection, self.home, may_write=not self.is_read_only)

    def label_machine(self, label: str) -> Machine:
        """Calls this machine something else; nothing that is kept changes. Raises BadInput."""
        from reread.index.machines import set_label
        from reread.index.read_only import ReadOnlyArchive

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
        from reread.index import meta

        now = stamp(self.price_file)
        if self.is_read_only or meta.read_note(self.connection, meta.PRICE_FILES) == now:
            return
        from reread.index.ledger import reprice

        reprice(self.connection, self.prices, now)

    def find(self, wanted: str) -> StoredSession:
        """A session by id, by a unique beginning of it, `@last`, or `@2` for the second newest.

        Of copies of one session in several folders the newest; `StoredSession.name` has what names the others.
        """
        from reread.index.sessions import count_sessions, session_ids, sessions

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
        from reread.index.sessions import ids_called, sessions

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


QUICK_SYNC = 50_000_000
"""Source bytes that a sync takes in within about two seconds."""


class UsageQuestions(ArchiveBase):
    """Questions to the ledger."""

    def usage(
        self,
        by: str = "day",
        wanted: Filter | None = None,
        timezone: tzinfo | None = None,
        *,
        is_recorded: bool = False,
        folds_worktrees: bool = False,
    ) -> UsageReport:
        """Tokens and money by day, week, month, session, model, project, branch, tool, block, agent or skill.

        Every API response counts once over all files. Days are those of the machine unless a zone is given. A project
        is a working directory, unless worktrees are folded into the project they were made from.
        """
        from .filters import Filter
        from .usage_report import UsageQuestion, report

        self._reprice()
        ask = UsageQuestion(
            by=by,
            wanted=wanted or Filter(),
            zone=timezone,
            is_recorded=is_recorded,
            folds_worktrees=folds_worktrees,
        )
        with snapshot(self.connection):
            return report(self.connection, ask, self.prices)

    def reconciliation(self) -> dict[str, Reconciled]:
        """By session: what the client itself counted, beside what all responses in the session's files add up to.

        Only sessions that the client said something about are here.
        """
        from .reconcile import reconciliation

        self._reprice()
        with snapshot(self.connection):
            return reconciliation(self.connection)

    def usage_ahead(
        self, by: str = "day", wanted: Filter | None = None, timezone: tzinfo | None = None
    ) -> UsageReport | None:
        """The same straight from the sources, while too much of them is not in the archive yet; nothing is taken in.

        None when a sync is quick, or the question needs one.
        """
        from reread.index.source_state import has_captures

        from .filters import Filter
        from .usage_report import UsageQuestion, ahead, can_be_ahead

        ask = UsageQuestion(by=by, wanted=wanted or Filter(), zone=timezone)
        if not can_be_ahead(ask) or has_captures(self.wire):
            return None
        from reread.ingest.cold_usage import behind, count

        files = behind(self.connection, self.machine, self.sources)
        if sum(file.size for file in files) < QUICK_SYNC:
            return None
        counted = count(files, self.connection, self.prices)
        return ahead(self.connection, ask, self.prices, counted.cells, counted.lines)

    def caching(self, by: str = "day", wanted: Filter | None = None, timezone: tzinfo | None = None) -> CacheReport:
        """What the cache saved and what its rebuilds cost by day, week, month, model, project or session."""
        from .cache_report import report
        from .filters import Filter
        from .usage_report import UsageQuestion

        self._reprice()
        with snapshot(self.connection):
            return report(self.connection, UsageQuestion(by=by, wanted=wanted or Filter(), zone=timezone), self.prices)

    def usage_and_caching(
        self, by: str, wanted: Filter | None = None, timezone: tzinfo | None = None, *, folds_worktrees: bool = False
    ) -> tuple[UsageReport, CacheReport]:
        """`usage` and `caching` of the same responses, in the time of one of them."""
        from .cache_report import with_usage
        from .filters import Filter
        from .usage_report import UsageQuestion

        self._reprice()
        ask = UsageQuestion(by=by, wanted=wanted or Filter(), zone=timezone, folds_worktrees=folds_worktrees)
        with snapshot(self.connection):
            return with_usage(self.connection, ask, self.prices)

    def limits(self, now: datetime) -> UsageLimits:
        """How much of the five-hour and the seven-day limit is used, as far as a status line told."""
        from .usage_report import limits

        return limits(self.connection, now)

    def copied_into(self, wanted: str) -> frozenset[str]:
        """Keys of the responses in a session's files that were made in another session."""
        from reread.index import usage_sums

        return usage_sums.made_elsewhere(self.connection, self.find(wanted).id)

    def explain(self, wanted: str | Path) -> Explained:
        """How a cost comes about: of a response by message or request id, or of a session by id, `@last` or a file.

        A response tells every line that shows it and each step of its price; raises BadInput where nothing answers.
        """
        from .explain import Explainer

        self._reprice()
        with snapshot(self.connection):
            return Explainer(self.connection, self.files, self.prices, self.find).explain(wanted)

    def unpriced_models(self) -> list[UnpricedModel]:
        """Models with requests that have no price, each API response once; the one with most tokens first."""
        from .usage_report import unpriced_models

        return unpriced_models(self.connection)


class MarkQuestions(ArchiveBase):
    """Stars, tags, notes and titles, kept by a session's id, so that all copies of it share them; moved folders."""

    def mark(
        self,
        *sessions: str | StoredSession,
        starred: bool | None = None,
        hidden: bool | None = None,
        tags: Sequence[str] = (),
        untags: Sequence[str] = (),
        note: str | None = None,
        title: str | None = None,
    ) -> int:
        """Notes the same on some sessions and gives how many that changed. None leaves as it is; an empty note or
        title takes it away. Raises BadInput for what is no tag, and notes nothing then.
        """
        from reread.index.user_data import change
        from reread.marks import MarkChange

        wanted = MarkChange(starred, hidden, tuple(tags), tuple(untags), note, title).checked()
        stored = (self.find(each) if isinstance(each, str) else each for each in sessions)
        names = list(dict.fromkeys(each.row.uuid for each in stored))
        with transaction(self.connection, durable=True):
            return change(self.connection, self.home, names, wanted)

    def marks(self) -> dict[str, Mark]:
        """What is noted, by session id."""
        from reread.index.sessions import marks

        return marks(self.connection)

    def tags(self) -> list[tuple[str, int]]:
        """Every tag with how many sessions have it, the most used first; spellings that differ in case are one."""
        from reread.marks import counted

        marks: Iterable[Mark] = self.marks().values()
        return counted(marks)

    def moves(self) -> Moves:
        """Folders that are others today, as a person said."""
        from reread.index.sessions import moves

        return moves(self.connection)

    def move_project(self, old: str, new: str) -> None:
        """Keeps that what happened in a folder, and in all below it, belongs to another. Filters and groups go by it;
        what sessions say of their working directory stays. Raises BadInput where it would lead back to `old`."""
        from reread.index.sessions import put_move
        from reread.index.user_data import take_over_copy, write_copy

        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            self.moves().check(old, new)
            put_move(self.connection, old, new)
            write_copy(self.connection, self.home)

    def unmove_project(self, old: str) -> None:
        """Takes that back; raises BadInput where nothing was said about this folder."""
        from reread.errors import BadInput, printable
        from reread.index.sessions import take_move
        from reread.index.user_data import take_over_copy, write_copy

        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            if not take_move(self.connection, old):
                known = ", ".join(printable(earlier) for earlier, _ in self.moves().pairs) or "nothing"
                raise BadInput(f"{printable(old)} was not moved; what was: {known}")
            write_copy(self.connection, self.home)


_APPLIED = "applied.jsonl"


def _client_home() -> Path:
    """Where Claude Code keeps what holds for all projects."""
    import os
    from pathlib import Path

    named = os.environ.get("CLAUDE_CONFIG_DIR", "").strip()
    return Path(named) if named else Path.home() / ".claude"


def _stated(project: str | None) -> Stated:
    from pathlib import Path

    from reread.client_settings import stated_in

    return stated_in(_client_home(), is_home=True) if project is None else stated_in(Path(project))


class FrictionQuestions(ArchiveBase):
    """Questions about what went wrong."""

    def retro(
        self,
        wanted: Filter | None = None,
        session: str | None = None,
        *,
        kinds: Iterable[str] | None = None,
        with_agents: bool = False,
        least_confidence: float | None = None,
        with_wrong: bool = False,
        by: str = "hurt",
        timezone: tzinfo | None = None,
        report: Report | None = None,
    ) -> Retro:
        """What hurt most over a period or in one session, against the person's own past; what repeats; what to change.

        Moments that a quick sync left for later are found first; where that cannot be, the answer says of how many
        sessions they are missing.

        Moments that a person said are none, that are unsure or that happened in subagents are left out unless asked
        for. Raises BadInput for a kind nobody knows.
        """
        from .filters import Filter
        from .friction import LEAST_CONFIDENCE, RetroQuestion, kind_called, retro

        ask = RetroQuestion(
            wanted=wanted or Filter(),
            session=self.find(session) if session is not None else None,
            kinds=frozenset(kind_called(name) for name in kinds) if kinds is not None else None,
            with_agents=with_agents,
            least_confidence=LEAST_CONFIDENCE if least_confidence is None else least_confidence,
            with_wrong=with_wrong,
            by=by,
            zone=timezone,
            stated=_stated,
            applied=self.applied(),
        )
        self.find_friction(report=report)
        with snapshot(self.connection):
            return retro(self.connection, ask)

    def find_friction(self, session: StoredSession | None = None, report: Report | None = None) -> None:
        """Finds the moments that a quick sync left for later, of one session or of all. Where the archive cannot be
        written, or a sync is writing, they go on waiting."""
        from reread.index.meta import waiting_for_friction

        numbers = {number for number, _ in waiting_for_friction(self.connection)}
        if self.is_read_only or not (numbers if session is None else numbers & {session.id}):
            return
        from reread.ingest.rebuild import find_friction
        from reread.safe.safe import SafeBusy

        with suppress(SafeBusy), self._locked(0.0):
            number = session.id if session is not None else None
            find_friction(self.connection, self.safe, self.price_file, report, number)

    def planned(self, each: Suggestion) -> Applied:
        """What putting a suggestion where it belongs would change; raises BadInput where it cannot be put there."""
        from pathlib import Path

        from reread.client_settings import applied

        return applied(each, Path(each.project) if each.project else None, _client_home())

    def apply(self, plan: Applied) -> None:
        """Writes what was planned, with the file as it was beside it, and remembers the day.

        The next retrospectives tell how often things went wrong before and after it. Raises BadInput where the file
        was changed in the meantime.
        """
        import json
        from datetime import UTC, datetime

        plan.file.write(plan.change)
        noted = {"path": str(plan.file.path), "at": datetime.now(UTC).isoformat()}
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.home / _APPLIED).open("a", encoding="utf-8") as notes:
            notes.write(json.dumps(noted) + "\n")

    def applied(self) -> tuple[tuple[str, datetime], ...]:
        """The files that suggestions were put into, and when; a line that cannot be read is passed over."""
        import json
        from datetime import datetime

        try:
            lines = (self.home / _APPLIED).read_text("utf-8", "replace").splitlines()
        except OSError:
            return ()
        found = []
        for line in lines:
            try:
                noted = json.loads(line)
                found.append((str(noted["path"]), datetime.fromisoformat(noted["at"])))
            except (ValueError, KeyError, TypeError):
                continue
        return tuple(found)

    def moments_of(self, session: StoredSession) -> list[Moment]:
        """What went wrong in one session, as `retro` would show it: one look at its rows, cheap enough for any page.

        What shows only over many sessions, such as an instruction that is repeated, is not among it.
        """
        from .friction import LEAST_CONFIDENCE, moments_of

        self.find_friction(session)
        return moments_of(self.connection, session, LEAST_CONFIDENCE)

    def mark_wrong(self, uuid: str, kind: str | None = None) -> Labelled:
        """Keeps that a moment is none, of one kind or of any that were found at this line; a beginning of the uuid
        will do. Raises BadInput where there is no such moment."""
        from reread.index.user_data import take_over_copy, write_copy

        from .friction import moment_called, put

        named = moment_called(self.connection, uuid, kind)
        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            put(self.connection, named)
            write_copy(self.connection, self.home)
        return named

    def mark_right(self, uuid: str, kind: str | None = None) -> Labelled:
        """Takes that back."""
        from reread.index.user_data import take_over_copy, write_copy

        from .friction import label_called, take

        named = label_called(self.connection, uuid, kind)
        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            take(self.connection, named)
            write_copy(self.connection, self.home)
        return named


class SafeQuestions(ArchiveBase):
    """The safe, and the index over it."""

    def status(self) -> ArchiveStatus:
        from reread.index import custody

        return custody.status(self.connection, self.home, self.safe)

    def verify(self, *, deep: bool = False) -> Verified:
        """Proves every byte of the safe, a row for each and each row's bytes, the pages of the index and its sums; a
        database beyond opening is damage too. Responses are read again from the safe, of all sessions if it is to go
        `deep`, else of some that chance chooses. What a crash left is put in order first, where that can be."""
        from reread.index import verify as proof

        may_write = not self.is_read_only
        with self._locked() if may_write else nullcontext():
            try:
                connection = self.connection
            except NewerArchive:  # nothing is known to be damaged
                raise
            except StoreError as problem:
                return proof.verify_without_database(self.safe, problem)
            return self._proved(connection, may_write=may_write, deep=deep)

    def _proved(self, connection: sqlite3.Connection, *, may_write: bool, deep: bool) -> Verified:
        from msgspec.structs import replace

        from reread.index import verify as proof
        from reread.ingest.recount import recount
        from reread.safe.safe import SafeDamaged, SafeError

        adopted = 0
        if may_write and not proof.damaged_index(connection):
            with suppress(SafeError, SafeDamaged):  # what is lost, or cannot be cut, is told below
                _, adopted = self._recover()
        found = proof.verify(connection, self.safe, self.prices, may_write=may_write)
        if may_write and found.unnamed:
            from reread.ingest.adopt import adopt, name_of_piece

            named = adopt(connection, self.safe, found.unnamed, self.price_file)
            adopted += len(named)
            found = replace(found, unnamed=[each for each in found.unnamed if name_of_piece(each[0]) not in named])
        if not found.is_index_sound:
            return found
        recounted = recount(connection, self.files, self.price_file, deep=deep)
        return replace(
            found, adopted=adopted, recounted=recounted.responses, damaged=[*found.damaged, *recounted.wrong]
        )

    def _recover(self) -> tuple[SafeDamaged | None, int]:
        """After a crash, for one who holds the lock: what is lost of the last pack, and how many pieces that no row
        named have rows now."""
        from reread.index import custody
        from reread.ingest.adopt import adopt_tail

        lost = custody.recover(self.connection, self.safe, self.prices)
        return lost, adopt_tail(self.connection, self.safe, self.price_file)

    def restore(self, wanted: str, to: Path, generation: int | None = None) -> Restored:
        """Writes every file of a session below `to`, byte for byte as it was last taken, or as it was before."""
        from reread.index import custody

        return custody.restore(self.connection, self.files, self.find(wanted), to, generation=generation)

    def restore_targets(self, stored: StoredSession, to: Path) -> list[Path]:
        """Where `restore` would write."""
        from reread.index import custody

        return [to / custody.below(row, stored) for row in custody.kept_files(self.connection, stored)]

    def rebuild(self) -> int:
        """A new index from the safe alone; the old database is kept beside it. Gives the number of sessions."""
        with self._locked():
            return self._make_anew()

    def _make_anew(self) -> int:
        """The same for one who holds the lock."""
        from reread.billing import load_prices
        from reread.index import carry_over, machines, meta
        from reread.ingest.rebuild import rebuild

        load_prices(self.price_file)  # before anything is done: one that cannot be read stops it
        self.close()
        machines.keep_file(self.home)
        known = carry_over.unsafe_if_readable(self.home)  # last: what is noted meanwhile would stay behind
        self.safe.set_aside_record()
        set_aside(self.home)
        carry_over.keep_unsafe(self.connection, known, self.home)
        self._reprice()
        sessions = rebuild(self.connection, self.safe, self.price_file)
        sessions -= self._fold_copies()
        meta.write_note(self.connection, meta.REBUILD, meta.DONE)
        return sessions

    def outdated(self) -> int:
        """How many sessions have rows that an older version made: what this one learned to find is not in them yet."""
        from reread.index import meta

        if not meta.is_outdated(self.connection):
            return 0
        from reread.index.read import outdated_sessions

        return len(outdated_sessions(self.connection))

    def _renew(self, report: Report | None) -> None:
        """Makes such rows anew from the safe, the newest first."""
        from reread.index import meta

        if self.outdated():
            from reread.ingest.rebuild import renew

            renew(self.connection, self.safe, self.price_file, report)
        if meta.is_outdated(self.connection):
            meta.keep_renewed(self.connection)

    def _fold_copies(self) -> int:
        """What an earlier version kept several times; once."""
        from reread.index import meta

        if meta.read_note(self.connection, meta.FOLDED) == meta.DONE:
            return 0
        from reread.index.places import fold_copies

        folded = fold_copies(self.connection, self.safe, self.prices)
        meta.write_note(self.connection, meta.FOLDED, meta.DONE)
        return folded

    def forget(self, wanted: str) -> Forgotten:
        """Removes a session for good: from the index, from the safe, and from databases that were set aside.

        Captures of it go too, also those that were not taken in yet.
        """
        from reread.index import custody
        from reread.index.database import remove_set_aside
        from reread.ingest.survey import remove_waiting

        with self._locked():
            self._recover()
            found = self.find_one(wanted)
            remove_waiting(self.wire, found.row.uuid)  # first: what a kill left here would be taken in again
            forgotten = custody.forget(self.connection, self.safe, self.files, found, self.prices)
            remove_set_aside(self.home)
            return forgotten

    def push(self, folder: Path, wanted: Filter | None = None, *, is_dry: bool = False, full: bool = False) -> Pushed:
        """Sends what this machine keeps, and the folder has not yet, to a folder that other machines pull from. Of the
        sessions that pass a filter, or all. `full` proves what is there already, and sends again what is damaged.
        Raises BadInput where there is no such folder."""
        from reread.exchange import check_folder, push, remember_folder

        from .listing import passing_ids

        check_folder(folder)
        with self._locked():
            self._recover()
            ids = None if wanted is None else set(passing_ids(self.connection, wanted))
            pushed = push(self.connection, self.safe, self.own_machine(), folder, ids, is_dry=is_dry, is_full=full)
            if not is_dry:
                remember_folder(self.home, folder)
            return pushed

    def pull(self, folder: Path) -> Pulled:
        """Takes what other machines have pushed to a folder; what they forgot is forgotten here, too. Raises BadInput
        where there is no such folder."""
        from reread.exchange import check_folder, pull, remember_folder
        from reread.index import custody

        check_folder(folder)
        self._reprice()
        with self._locked():
            custody.note_first(self.connection, self.safe)
            if custody.is_lost(self.connection, self.safe):
                self._make_anew()
            self._recover()
            pulled = pull(self.connection, self.safe, self.own_machine(), folder, self.prices, self.price_file)
            remember_folder(self.home, folder)
            return pulled

    def last_folder(self) -> Path | None:
        """The folder that was pushed to or pulled from last."""
        from reread.exchange import last_folder

        return last_folder(self.home)

    def damaged(self) -> Damaged:
        """What `forget_damaged` would let go of; proves every byte."""
        from reread.index.custody import find_damaged

        with self._locked():
            return find_damaged(self.connection, self.safe)

    def forget_damaged(self) -> Damaged:
        """Removes from the safe what cannot be proved, and gives what that was. A line stands in the place of lost
        bytes; a file whose source still exists is taken anew by the next sync."""
        from reread.index.custody import forget_damaged

        with self._locked():
            self._recover()
            return forget_damaged(self.connection, self.safe, self.prices)

    def kept_backups(self) -> KeptBackups:
        """Reads, out of the safe, what files held before Claude Code changed them: by session and name of the backup,
        None where none was kept."""
        from reread.index.backup_files import KeptBackups

        return KeptBackups(self.connection, self.files)


MOST_HITS = 3_000
"""Of one session: each is read from the safe."""


class SearchQuestions(ArchiveBase):
    """Questions to the full-text index."""

    def search(
        self,
        query: str,
        fields: frozenset[Field] | None = None,
        wanted: Filter | None = None,
        limit: int = 20,
        *,
        is_regex: bool = False,
        now: datetime | None = None,
    ) -> SearchAnswer:
        """The best of the newest matches in all fields but tool results, unless others are named.

        With `is_regex` every text is held against a pattern.
        """
        from .filters import Filter
        from .search_language import DEFAULT_FIELDS

        searcher = self._searcher(now)
        ask = searcher.scan if is_regex else searcher.search
        with snapshot(self.connection):
            return ask(query, fields if fields is not None else DEFAULT_FIELDS, wanted or Filter(), limit)

    def count_hits(
        self, query: str, fields: frozenset[Field] | None = None, wanted: Filter | None = None
    ) -> CountedHits:
        """How many hits a search has in which session, field and hour; for `reread.archive.text_search`."""
        from .filters import Filter
        from .search_language import DEFAULT_FIELDS

        with snapshot(self.connection):
            return self._searcher().cells(query, fields if fields is not None else DEFAULT_FIELDS, wanted or Filter())

    def hits_in(self, stored: StoredSession, query: str, fields: frozenset[Field] | None = None) -> set[str]:
        """The uuids of the lines of one session that a search finds, a few thousand at most."""
        from .search_language import DEFAULT_FIELDS

        wanted = fields if fields is not None else DEFAULT_FIELDS
        with snapshot(self.connection):
            return self._searcher().lines_in(query, wanted, stored.id, MOST_HITS)

    def secrets(self, wanted: Filter | None = None, tell: Callable[[int, int], None] | None = None) -> SecretsAnswer:
        """Which keys and passwords lie in past sessions, and where; never their values.

        What is new since the last question is looked through first; `tell` hears how many bytes of how many are done.
        """
        from .filters import Filter

        return self.secret_scan().secrets(wanted or Filter(), tell)

    def secret_scan(self) -> SecretScan:
        from reread.index.safe_reader import SafeReader

        from .secret_scan import SecretScan

        files = SafeReader(self.connection, self.safe)
        return SecretScan(self.connection, files, is_read_only=self.is_read_only)

    def _searcher(self, now: datetime | None = None) -> Searcher:
        from datetime import UTC, datetime

        from reread.index.safe_reader import SafeReader

        from .text_search import Searcher

        return Searcher(self.connection, SafeReader(self.connection, self.safe), now or datetime.now(UTC))


_REBUILD = "`reread archive rebuild` makes the index anew"
_SETTLING = 2.0
"""Seconds in which a client may write a last line after its run has ended."""
CLEANUP_DAYS = 30.0
"""When Claude Code deletes a session, unless its settings say otherwise."""


class Archive(UsageQuestions, MarkQuestions, FrictionQuestions, SafeQuestions, SearchQuestions):
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
        from reread.index.integrity import damage_of

        return next(iter(damage_of(self.connection)), None)

    def is_current(self, *, is_glance: bool = False) -> bool:
        """Whether a sync would find nothing to do; costs one stat per file and folder. A glance looks at ten thousand
        files at most, the newest first."""
        from reread.index import meta
        from reread.index.source_state import has_captures, is_as_it_was, is_forgetting

        unchanged = is_as_it_was(self.connection, self.machine, self.sources, is_glance=is_glance)
        if meta.is_half_made(self.connection) or meta.is_outdated(self.connection):
            return False
        return unchanged and not has_captures(self.wire) and not is_forgetting(self.home / "safe")

    def _adopt_captures(self) -> None:
        """Runs that a kill left behind end here."""
        from reread.index.source_state import has_unfinished_captures

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
        is_quick: bool = False,
    ) -> SyncResult:
        """Takes in what changed in the sources. Two syncs never write at once: the second waits for so many seconds,
        then raises SafeBusy. `full` first makes the index anew from the safe. An archive that goes while its sources
        stay can do without the backups of files. With `is_glance` it looks for changes as `is_current` does. One that
        `is_quick` leaves the moments of friction for whoever asks for them, or for the next that is not.
        """
        from reread.ingest.results import SyncResult

        if self.is_read_only and self.connection:  # opened, so that one that cannot be read either says that
            from reread.index.read_only import ReadOnlyArchive

            raise ReadOnlyArchive(self.home)
        self._reprice()
        self._adopt_captures()
        if full:
            self.rebuild()
        elif self.is_current(is_glance=is_glance):
            if not is_quick:
                self.find_friction(report=report)
            return SyncResult()
        from reread.index import custody
        from reread.index.source_state import has_captures
        from reread.ingest.rebuild import find_friction
        from reread.ingest.sync import sync

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
                with_friction=not is_quick,
            )
            self._renew(report)
            if not is_quick:
                find_friction(self.connection, self.safe, self.price_file, report)
            if lost is not None:
                result.problems.append(SourceError(self.safe.folder, str(lost)))
            return result

    def watch(self, stop: threading.Event) -> Iterator[SyncResult]:
        """Follows the sources until `stop` is set; each result is a sync that took something in."""
        import time

        from reread.index.source_state import last_seen
        from reread.ingest.watch import changes

        yield self.sync()
        while not stop.is_set():
            for _ in changes(last_seen(self.connection, self.machine), time.time_ns(), stop, self.wire):
                yield self.sync()

    def sessions(
        self, wanted: Filter | None = None, cleanup_days: float = CLEANUP_DAYS, *, project: str | None = None
    ) -> list[Listed]:
        """Sessions that pass a filter, the one that ended last first; `project` is short for the commonest one."""
        from .filters import Filter
        from .listing import listed

        return list(listed(self.connection, wanted or Filter(project=project), cleanup_days))

    def each_session(self, wanted: Filter | None = None, cleanup_days: float = CLEANUP_DAYS) -> Iterator[Listed]:
        """The same one at a time, for lists of any length."""
        from .filters import Filter
        from .listing import listed

        yield from listed(self.connection, wanted or Filter(), cleanup_days)

    def listed(self, stored: StoredSession, cleanup_days: float = CLEANUP_DAYS) -> Listed:
        """A session that was found before, as a list has it."""
        from .listing import listed_by_id

        return next(listed_by_id(self.connection, [stored.id], cleanup_days))

    def count_sessions(self, wanted: Filter | None = None) -> int:
        """How many sessions pass a filter, whatever its limit."""
        from .filters import Filter
        from .listing import count_passing

        return count_passing(self.connection, wanted or Filter())

    def count_sessions_below(self, folder: str) -> int:
        """How many sessions ran in a folder or below it."""
        from reread.index.sessions import SessionFilter, count_sessions
        from reread.marks import below

        inside = SessionFilter(project=lambda path: bool(path) and below(path or "", folder) is not None)
        return count_sessions(self.connection, inside)

    def count_expiring(self, until: datetime, cleanup_days: float = CLEANUP_DAYS) -> int:
        """How many sessions Claude Code deletes until then."""
        from reread.index.meta import sessions_written_before

        return sessions_written_before(self.connection, int((until.timestamp() - cleanup_days * 86_400) * 1e9))

    @property
    def is_empty(self) -> bool:
        """Whether nothing was taken in yet."""
        from reread.index.sessions import has_sessions

        return not has_sessions(self.connection)

    def lost(
        self,
        wanted: Filter | None = None,
        query: str | None = None,
        fields: frozenset[Field] | None = None,
        *,
        is_regex: bool = False,
    ) -> list[LostSession]:
        """Sessions that were deleted before reread came, as the client's own index tells of them; with a query those
        that a search finds."""
        from reread.index.sessions import has_files

        if not has_files(self.connection, "index"):  # which is nearly always so, and costs a list no import
            return []
        from reread.index.safe_reader import SafeReader

        from .filters import Filter
        from .lost_sessions import lost_sessions, search_lost

        chosen = (wanted or Filter())._replace(moves=self.moves())
        found = lost_sessions(self.connection, SafeReader(self.connection, self.safe), self.machine, chosen)
        if query is None:
            return found
        from .search_language import DEFAULT_FIELDS

        return search_lost(found, query, fields if fields is not None else DEFAULT_FIELDS, is_regex=is_regex)

    def saw_end(self, stored: StoredSession) -> bool:
        """Whether the last that is known of a session is a run that reread captured, and which has ended."""
        from reread.index.read import files_of

        ends = [row.mtime_ns / 1e9 for row in files_of(self.connection, stored.id) if row.kind == "capture"]
        return bool(ends) and stored.ended is not None and stored.ended.timestamp() <= max(ends) + _SETTLING

    def projects(self, wanted: Filter | None = None) -> list[Project]:
        """Projects of the sessions that pass a filter, the one worked in last first; a limit is one of projects.

        Worktrees are folded into the project they were made from, and folders that were moved into what they are today.
        """
        from reread.index.database import snapshot
        from reread.live.transport import is_folder

        from .filters import Filter
        from .projects import projects

        self._reprice()
        chosen = wanted or Filter()
        with snapshot(self.connection):
            return projects(self.connection, chosen, is_folder)[: chosen.limit]

    def keeps(self, source: Path) -> bool:
        """Whether anything was ever taken from this folder or file."""
        from reread.index import meta

        names = {str(source), str(source.absolute())}
        return self.exists and bool(names & meta.known_sources(self.connection))

    def version(self) -> tuple[int, int]:
        """Changes when somebody else, in this process or another, changed the archive; its first part when the index
        was made anew, so that this one has the old index open and must be closed."""
        from reread.index.database import version

        return version(self.connection, self.home)

    def known_sources(self) -> set[str]:
        """Every folder or file something was taken from."""
        from reread.index import meta

        return meta.known_sources(self.connection)

    def kept_bytes(self) -> dict[str, int]:
        """The files of the archive by path, with how much of each is in the safe."""
        from reread.index import meta

        return meta.bytes_by_path(self.connection)

    def prompts_since(self, moments: Sequence[datetime]) -> list[int]:
        """How many prompts were typed since each of some moments."""
        from reread.index import meta

        return meta.prompts_since(self.connection, [int(moment.timestamp() * 1000) for moment in moments])

    def files_changed_since(self, moment: datetime) -> int:
        """How many files the tools of the client wrote since a moment."""
        from reread.index import meta

        return meta.files_changed_since(self.connection, int(moment.timestamp() * 1000))

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
        from reread.index.sessions import sessions

        from .filters import Filter
        from .listing import passing_ids

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
        from .filters import Filter

        chosen = wanted or Filter()
        if self._has_talk():
            return self._talk_reader().prompts(chosen)
        from .answers import prompts

        return prompts(self.read_all(window_of(chosen)), chosen._replace(moves=self.moves()))

    def thinking(self, wanted: Filter | None = None, min_length: int = 11) -> ThinkingAnswer:
        """Thoughts of sessions and their agents, newest first, each once; and how many say nothing."""
        from .filters import Filter

        chosen = wanted or Filter()
        if self._has_talk():
            return self._talk_reader().thinking(chosen, min_length)
        from .answers import thinking

        return thinking(self.read_all(window_of(chosen)), chosen._replace(moves=self.moves()), min_length)

    def tools(self, wanted: Filter | None = None) -> list[ToolCount]:
        """How often each tool ran and failed, agents included and every call once; most used first."""
        from .answers import tool_counts
        from .filters import Filter

        return tool_counts(self.connection, wanted or Filter())

    def _talk_reader(self) -> TalkReader:
        from reread.index.safe_reader import SafeReader

        from .answers import TalkReader

        return TalkReader(self.connection, SafeReader(self.connection, self.safe), self.session_of)

    def _has_talk(self) -> bool:
        """Whether prompts and thoughts are rows; of sessions that an earlier version took in they are made here."""
        from reread.index.conversation_rows import sessions_without_talk

        missing = sessions_without_talk(self.connection)
        if not missing or self.is_read_only:
            return not missing
        from reread.ingest.extract import add_talk
        from reread.safe.safe import SafeBusy

        try:
            with self._locked(0.0):
                add_talk(self.connection, self.session_of, missing)
        except SafeBusy:  # a sync is writing: the sessions themselves can be read meanwhile
            return False
        return True

    def sql(self, query: str) -> tuple[list[str], list[tuple[object, ...]]]:
        """Columns and rows of one statement that reads; raises BadInput for any other."""
        from reread.index import user_sql

        return user_sql.ask(self.home, query)

    @staticmethod
    def schema() -> str:
        """The tables, with a comment for every column that needs one."""
        from reread.index.schema import SCHEMA

        return SCHEMA


def window_of(wanted: Filter) -> Filter:
    """Only time and place narrow what is read: by the rest, a copy could be told in the stead of what it copies."""
    from .filters import Filter

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
