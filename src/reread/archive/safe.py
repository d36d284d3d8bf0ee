"""`archive.safe`: what is kept, whether it is intact, and what is done with it: restoring, forgetting, exchanging.

Every writer holds the lock of the safe; what a crash left is repaired first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from reread import lazy
from reread.billing import load_prices
from reread.errors import (
    BadInput,
    NewerArchive,
    ReadOnlyArchive,
    SafeDamaged,
    SafeError,
    SourceError,
    StoreError,
    printable,
)
from reread.index import meta, read, source_state
from reread.index.database import remove_set_aside, set_aside, transaction
from reread.ingest import Progress
from reread.ingest.survey import remove_waiting
from reread.ingest.sync import sync

from .base import LOCK_SECONDS

if TYPE_CHECKING:
    from typing import Unpack

    from reread import exchange
    from reread.exchange import Pulled, Pushed
    from reread.index import carry_over, custody, machines, places
    from reread.index import verify as proof
    from reread.index.custody import ArchiveStatus, Damaged, Forgotten, Generation, Restored
    from reread.index.verify import Verified
    from reread.ingest import Report, SyncResult, second_phase
    from reread.ingest import adopt as adopting
    from reread.ingest import rebuild as rebuilding

    from . import filters as filtering
    from . import listing, model_answers
    from .base import ArchiveBase
    from .filters import Filter, FilterOptions
    from .listing import SessionName
else:  # a sync, which happens with nearly every command, has no use for these
    exchange = lazy.module("reread.exchange")
    carry_over = lazy.module("reread.index.carry_over")
    custody = lazy.module("reread.index.custody")
    machines = lazy.module("reread.index.machines")
    places = lazy.module("reread.index.places")
    proof = lazy.module("reread.index.verify")
    second_phase = lazy.module("reread.ingest.second_phase")
    adopting = lazy.module("reread.ingest.adopt")
    rebuilding = lazy.module("reread.ingest.rebuild")
    filtering = lazy.module("reread.archive.filters")
    listing = lazy.module("reread.archive.listing")
    model_answers = lazy.module("reread.archive.model_answers")


class ArchiveSafe:
    """The safe, and the index over it."""

    def __init__(self, archive: ArchiveBase) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<safe of {self._archive!r}>"

    def status(self) -> ArchiveStatus:
        """How much is kept, of how many sessions and files."""
        return custody.status(self._archive.connection, self._archive.home, self._archive.packs)

    def import_changes(
        self,
        report: Report | None = None,
        patience: float = LOCK_SECONDS,
        *,
        with_backups: bool = True,
        is_quick: bool = False,
    ) -> SyncResult:
        """Imports what changed in the sources; `Archive.sync` looks first whether anything did."""
        archive = self._archive
        with archive.locked(patience):
            self._note_first()
            # Asked here: another process may just have rebuilt it.
            rebuilt = self._rebuild_locked(report) if archive.has_lost_index else 0
            lost, _ = self._recover()
            self._upgrade(report)  # first: of what grew, only the words of its new lines are added
            result = sync(
                archive.connection,
                archive.packs,
                archive.machine,
                archive.sources,
                report,
                archive.price_file,
                archive.wire if source_state.has_captures(archive.wire) else None,
                with_backups=with_backups,
                is_quick=is_quick,
            )
            result.rebuilt = rebuilt
            if not is_quick:
                self._finish(report)
            if lost is not None:
                result.problems.append(SourceError(archive.packs.folder, str(lost)))
            return result

    def _finish(self, report: Report | None) -> None:
        """What this sync, or a quick one before it, left for later; moments of sessions that grew go on waiting."""
        archive, connection = self._archive, self._archive.connection
        if meta.waiting_for_results(connection) or meta.waiting_for_friction(connection, with_grown=False):
            second_phase.finish(connection, archive.packs, archive.price_file, report, with_grown=False)

    def verify(self, *, deep: bool = False, report: Report | None = None) -> Verified:
        """Proves every byte of the safe, a row for each and each row's bytes, the pages of the index and its sums; a
        database beyond opening is damage too. Responses are read again from the safe, of all sessions if it is to go
        `deep`, else of some that chance chooses. What a crash left is put in order first, where that can be."""
        archive = self._archive
        may_write = not archive.is_read_only
        with archive.locked() if may_write else nullcontext():
            try:
                connection = archive.connection
            except (NewerArchive, ReadOnlyArchive):  # nothing is known to be damaged
                raise
            except StoreError as problem:
                return proof.verify_without_database(archive.packs, problem)
            if _unless_damaged(lambda: meta.is_half_made(connection)):
                if not may_write:
                    unfinished = StoreError("a rebuild of the index was not finished")
                    return proof.verify_without_database(archive.packs, unfinished)
                self._rebuild_locked(report)
                connection = archive.connection
            return self._proved(connection, report, may_write=may_write, deep=deep)

    def _proved(
        self, connection: sqlite3.Connection, report: Report | None, *, may_write: bool, deep: bool
    ) -> Verified:
        archive = self._archive
        adopted = 0
        with suppress(SafeError, SafeDamaged):  # what is lost, or cannot be cut, is told below
            if may_write and self._can_recover(connection):
                _, adopted = self._recover()
            if may_write and self._can_upgrade(connection):
                archive.reprice()
                self._upgrade(report)
        tell = None if report is None else Progress.in_phase(report, "proving")
        found = proof.verify(connection, archive.packs, archive.prices, may_write=may_write, tell=tell)
        if may_write and found.unnamed:
            named = adopting.adopt(connection, archive.packs, found.unnamed, archive.price_file)
            adopted += len(named)
            found = replace(
                found, unnamed=[each for each in found.unnamed if adopting.name_of_piece(each[0]) not in named]
            )
        if not found.is_index_sound:
            return found
        recounted = rebuilding.recount(connection, archive.packs, archive.price_file, deep=deep, report=report)
        return replace(
            found,
            adopted=adopted,
            recounted=recounted.responses,
            damaged=[*found.damaged, *recounted.wrong],
            results_waiting=len(meta.waiting_for_results(connection)),
        )

    def _can_recover(self, connection: sqlite3.Connection) -> bool:
        """Nothing is put in order by an index that is damaged. It takes long to prove, and so waits until it must."""
        return _unless_damaged(lambda: self._is_unfinished() and not proof.damaged_index(connection))

    def _can_upgrade(self, connection: sqlite3.Connection) -> bool:
        """Whether an older version counted by rules of its own, which is no damage; nor is what is damaged counted
        again."""
        return _unless_damaged(lambda: _is_older(connection) and not proof.damaged_index(connection))

    def _is_unfinished(self) -> bool:
        """Whether a crash left something to put in order, as it hardly ever did."""
        packs = self._archive.packs
        return packs.unfinished() is not None or not packs.ends_at(*read.acknowledged_end(self._archive.connection))

    def _recover(self) -> tuple[SafeDamaged | None, int]:
        """After a crash, for one who holds the lock: what is lost of the last pack, and how many pieces that no row
        named have rows now."""
        archive = self._archive
        prices = archive.prices  # before anything is done: a file that cannot be read stops it
        if not self._is_unfinished():
            return None, 0
        lost = custody.recover(archive.connection, archive.packs, prices)
        return lost, adopting.adopt_tail(archive.connection, archive.packs, archive.price_file)

    def _note_first(self) -> None:
        """Before anything is kept: so that a first sync that a power cut ended is not taken for an index that was
        lost."""
        connection = self._archive.connection
        if meta.read_note(connection, meta.FIRST) is None and not self._archive.packs.packs():
            with transaction(connection, durable=True):
                meta.write_note(connection, meta.FIRST, meta.BEGUN)

    def restore(self, session: SessionName, to: str | Path, generation: int | None = None) -> Restored:
        """Writes every file of a session below `to`, byte for byte as it was last taken, or as it was before."""
        archive = self._archive
        found = archive.find(session)
        if generation is not None:
            generation = filtering.whole_number(generation, "generation")
        return custody.restore(archive.connection, archive.reader, found, _folder(to), generation=generation)

    def generations(self, session: SessionName) -> list[Generation]:
        """What `restore` can give of a session: its files, and what they held before they were rewritten."""
        return custody.generations(self._archive.connection, self._archive.find(session))

    def restore_targets(self, session: SessionName, to: str | Path) -> list[Path]:
        """Where `restore` would write."""
        stored = self._archive.find(session)
        rows = custody.kept_files(self._archive.connection, stored)
        return [_folder(to) / custody.below(row, stored) for row in rows]

    def rebuild(self, report: Report | None = None) -> int:
        """A new index from the safe alone; the old database is kept beside it. Gives the number of sessions."""
        with self._archive.locked():
            return self._rebuild_locked(report)

    def _rebuild_locked(self, report: Report | None = None) -> int:
        """The same for one who holds the lock."""
        archive = self._archive
        load_prices(archive.price_file)  # before anything is done: one that cannot be read stops it
        carry_over.refuse_newer_index(archive.home)
        archive.close()
        machines.keep_file(archive.home)
        known = carry_over.unsafe_if_readable(archive.home)  # last: what is noted meanwhile would stay behind
        archive.packs.set_aside_record()
        set_aside(archive.home)
        carry_over.keep_unsafe(archive.connection, known, archive.home)
        archive.reprice()
        sessions = rebuilding.rebuild(archive.connection, archive.packs, archive.price_file, report)
        sessions -= self._fold_copies()
        meta.write_note(archive.connection, meta.REBUILD, meta.DONE)
        return sessions

    def _upgrade(self, report: Report | None) -> None:
        """Brings what an older version made to what this one makes of the same bytes."""
        self._fold_copies()
        self._renew(report)

    def _renew(self, report: Report | None) -> None:
        """Rebuilds rows that an older version made, from the safe, newest first."""
        archive = self._archive
        if not meta.is_outdated(archive.connection):
            return
        if read.outdated_sessions(archive.connection):
            rebuilding.renew(archive.connection, archive.packs, archive.price_file, report)
        if meta.is_outdated(archive.connection):
            meta.keep_renewed(archive.connection)

    def _fold_copies(self) -> int:
        """What an earlier version kept several times; once."""
        archive = self._archive
        if meta.read_note(archive.connection, meta.FOLDED) == meta.DONE:
            return 0
        folded = places.fold_copies(archive.connection, archive.packs, archive.prices)
        meta.write_note(archive.connection, meta.FOLDED, meta.DONE)
        return folded

    def forget(self, session: SessionName) -> Forgotten:
        """Removes a session for good: from the index, from the safe, and from databases that were set aside.

        Captures of it go too, also those that are not imported yet.
        """
        archive = self._archive
        with archive.locked():
            self._recover()
            found = archive.find_one(session)
            remove_waiting(archive.wire, found.row.uuid)  # first: what a kill left here would be imported again
            forgotten = custody.forget(archive.connection, archive.packs, archive.reader, found, archive.prices)
            remove_set_aside(archive.home)
            model_answers.forget(archive.home, found.row.uuid)
            return forgotten

    def damaged(self) -> Damaged:
        """What `forget_damaged` would let go of; proves every byte."""
        with self._archive.locked():
            return custody.find_damaged(self._archive.connection, self._archive.packs)

    def forget_damaged(self) -> Damaged:
        """Removes from the safe what cannot be proved, and gives what that was. A line stands in the place of lost
        bytes; a file whose source still exists is imported again by the next sync."""
        archive = self._archive
        with archive.locked():
            self._recover()
            return custody.forget_damaged(archive.connection, archive.packs, archive.prices)

    def push(
        self,
        to: str | Path,
        base: Filter | None = None,
        *,
        is_dry: bool = False,
        full: bool = False,
        **filters: Unpack[FilterOptions],
    ) -> Pushed:
        """Sends what this machine keeps, and the folder has not yet, to a folder that other machines pull from. Of the
        sessions that pass a filter, or all. `full` proves what is there already, and sends again what is damaged.
        Raises BadInput where there is no such folder."""
        archive, place = self._archive, _folder(to)
        exchange.check_folder(place)
        chosen = filtering.make_filter(base, filters) if base is not None or filters else None
        with archive.locked():
            self._recover()
            ids = None if chosen is None else set(listing.passing_ids(archive.connection, chosen))
            own = archive.own_machine()
            pushed = exchange.push(archive.connection, archive.packs, own, place, ids, is_dry=is_dry, is_full=full)
            if not is_dry:
                exchange.remember_folder(archive.home, place)
            return pushed

    def pull(self, folder: str | Path, report: Report | None = None) -> Pulled:
        """Takes what other machines have pushed to a folder; what they forgot is forgotten here, too. Raises BadInput
        where there is no such folder."""
        archive, source = self._archive, _folder(folder)
        exchange.check_folder(source)
        archive.reprice()
        with archive.locked():
            self._note_first()
            if archive.has_lost_index:
                self._rebuild_locked(report)
            self._recover()
            own = archive.own_machine()
            pulled = exchange.pull(
                archive.connection, archive.packs, own, source, archive.prices, archive.price_file, report
            )
            exchange.remember_folder(archive.home, source, is_pull=True)
            return pulled

    def last_folder(self) -> Path | None:
        """The folder that was pushed to or pulled from last."""
        return exchange.last_folder(self._archive.home)


def _folder(named: str | Path) -> Path:
    if not isinstance(named, str | Path) or not str(named):
        raise BadInput(f"{printable(repr(named))} is not a folder")
    return Path(named)


def _is_older(connection: sqlite3.Connection) -> bool:
    return meta.read_note(connection, meta.PRICES) is None or bool(read.outdated_sessions(connection))


def _unless_damaged(ask: Callable[[], bool]) -> bool:
    """False where the index cannot be asked: what proves it will say so."""
    try:
        return ask()
    except sqlite3.DatabaseError:
        return False
