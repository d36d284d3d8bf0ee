"""`archive.safe`: what is kept, whether it is intact, and restoring, forgetting and exchanging it.

Every writer holds the lock of the safe and first repairs what a crash left behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
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
from reread.index.database import remove_set_aside, transaction
from reread.ingest import Progress
from reread.ingest.captures import remove_waiting
from reread.ingest.sync import sync

from .inner import LOCK_SECONDS

if TYPE_CHECKING:
    from typing import Unpack

    from reread import exchange
    from reread.exchange import Agree, Pulled, Pushed
    from reread.index import carry_over, custody, machines, places
    from reread.index import verify as proof
    from reread.index.custody import ArchiveStatus, Damaged, Forgotten, Generation, Restored
    from reread.index.machine_file import Machine
    from reread.index.verify import Verified
    from reread.ingest import Report, SyncResult, second_phase
    from reread.ingest import adopt as adopting
    from reread.ingest import rebuild as rebuilding

    from . import filters as filtering
    from . import listing, model_answers
    from .filters import Filter, FilterOptions
    from .inner import InnerArchive
    from .listing import SessionName
else:  # not needed by a sync, which nearly every command runs
    lazy.bind(globals())


class ArchiveSafe:
    """The safe, and the index over it."""

    def __init__(self, archive: InnerArchive) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<safe of {self._archive!r}>"

    def status(self) -> ArchiveStatus:
        """How many bytes, sessions and files are kept."""
        return custody.status(self._archive.connection, self._archive.home, self._archive.packs)

    def import_changes(
        self,
        report: Report | None = None,
        patience: float = LOCK_SECONDS,
        *,
        with_backups: bool = True,
        is_quick: bool = False,
    ) -> SyncResult:
        """Imports what changed in the sources; `Archive.sync` first checks whether anything did."""
        archive = self._archive
        with archive.locked(patience):
            self._note_first()
            rebuilt = self._complete(report, is_quick=is_quick)
            lost, _ = self._recover()
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
            self._fold_copies()
            result.rebuilt = rebuilt
            if not is_quick:
                self._finish(report)
            if lost is not None:
                result.problems.append(SourceError(archive.packs.folder, str(lost)))
            return result

    def _finish(self, report: Report | None) -> None:
        """Does what this sync or an earlier quick one left for later, except for moments of sessions that grew."""
        archive, connection = self._archive, self._archive.connection
        if meta.waiting_for_results(connection) or meta.waiting_for_friction(connection, with_grown=False):
            second_phase.finish(connection, archive.packs, archive.price_file, report, with_grown=False)

    def verify(self, *, deep: bool = False, report: Report | None = None) -> Verified:
        """Verifies every byte of the safe, that each has a row and each row its bytes, the pages of the index and its
        sums; a database that cannot be opened is damage too. Responses are counted again from the safe: those of all
        sessions if `deep`, else those of a random sample. If possible, what a crash left is repaired first."""
        archive = self._archive
        may_write = not archive.is_read_only
        with archive.locked() if may_write else nullcontext():
            try:
                connection = archive.connection
            except (NewerArchive, ReadOnlyArchive):  # no sign of damage
                raise
            except StoreError as problem:
                return proof.verify_without_database(archive.packs, problem)
            if _unless_damaged(lambda: meta.is_half_made(connection)):
                if not may_write:
                    unfinished = StoreError("a rebuild of the index was not finished")
                    return proof.verify_without_database(archive.packs, unfinished)
                self._complete(report)
                connection = archive.connection
            return self._proved(connection, report, may_write=may_write, deep=deep)

    def _proved(
        self, connection: sqlite3.Connection, report: Report | None, *, may_write: bool, deep: bool
    ) -> Verified:
        archive = self._archive
        adopted = 0
        with suppress(SafeError, SafeDamaged):  # `verify` below reports what is lost or cannot be cut
            if may_write and self._can_recover(connection):
                _, adopted = self._recover()
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
        """Whether there is something to repair and the index is sound: a damaged one must not guide a repair. The index
        is checked last because that takes long."""
        return _unless_damaged(lambda: self._is_unfinished() and not proof.damaged_index(connection))

    def _is_unfinished(self) -> bool:
        """Whether a crash left something to repair, which is rare."""
        packs = self._archive.packs
        return packs.unfinished() is not None or not packs.ends_at(*read.acknowledged_end(self._archive.connection))

    def _recover(self) -> tuple[SafeDamaged | None, int]:
        """Repairs what a crash left; the caller holds the lock. Gives what is lost of the last pack, and how many
        pieces without rows have been given rows."""
        archive = self._archive
        prices = archive.prices  # first, so that an invalid price file stops this before anything is changed
        if not self._is_unfinished():
            return None, 0
        lost = custody.recover(archive.connection, archive.packs, prices)
        return lost, adopting.adopt_tail(archive.connection, archive.packs, archive.price_file)

    @contextmanager
    def _repaired(self, report: Report | None = None) -> Iterator[None]:
        """Holds the lock over an index that is whole, and a safe that has nothing left of a crash."""
        with self._archive.locked():
            self._complete(report)
            self._recover()
            yield

    def _note_first(self) -> None:
        """Notes that a first import began, before anything is kept: otherwise a first sync that a power cut ended
        would look like a lost index."""
        connection = self._archive.connection
        if meta.read_note(connection, meta.FIRST) is None and not self._archive.packs.packs():
            with transaction(connection, durable=True):
                meta.write_note(connection, meta.FIRST, meta.BEGUN)

    def restore(self, session: SessionName, to: str | Path, generation: int | None = None) -> Restored:
        """Writes every file of a session below `to`, byte for byte as last imported, or as it was in an earlier
        `generation`."""
        archive = self._archive
        found = archive.find(session)
        if generation is not None:
            generation = filtering.whole_number(generation, "generation")
        return custody.restore(archive.connection, archive.reader, found, _folder(to), generation=generation)

    def generations(self, session: SessionName) -> list[Generation]:
        """What `restore` can write for a session: its files, and their content before they were rewritten."""
        return custody.generations(self._archive.connection, self._archive.find(session))

    def restore_targets(self, session: SessionName, to: str | Path) -> list[Path]:
        """Where `restore` would write."""
        stored = self._archive.find(session)
        return custody.restore_targets(self._archive.connection, stored, _folder(to))

    def rebuild(self, report: Report | None = None) -> int:
        """Makes a new index from the safe alone and keeps the old database next to it. Gives the number of sessions."""
        with self._archive.locked():
            self._begin_again()
            return self._fill(report)

    def _complete(self, report: Report | None = None, *, is_quick: bool = False) -> int:
        """Makes whole an index that lacks what the safe has, and gives the number of sessions; 0 if it lacks nothing.
        One that a rebuild has begun is gone on with. The caller holds the lock: another process may just have done it.
        """
        archive = self._archive
        if not archive.has_lost_index:
            return 0
        if not (archive.exists and meta.is_half_made(archive.connection)):
            self._begin_again()
        return self._fill(report, is_quick=is_quick)

    def _begin_again(self) -> None:
        archive = self._archive
        load_prices(archive.price_file)  # first, so that an invalid price file stops this before anything is changed
        archive.close()
        carry_over.begin_new_index(archive.home)
        archive.packs.set_aside_record()

    def _fill(self, report: Report | None = None, *, is_quick: bool = False) -> int:
        archive = self._archive
        archive.reprice()
        custody.finish_forget(archive.connection, archive.packs, archive.prices)  # its new packs may have no name yet
        rebuilding.rebuild(archive.connection, archive.packs, archive.price_file, report, is_quick=is_quick)
        places.fold_copies(archive.connection, archive.packs, archive.prices)
        carry_over.end_new_index(archive.connection, archive.home)
        return meta.count_sessions(archive.connection)

    def _fold_copies(self) -> None:
        """Folds what was imported several times into one, if that may have happened."""
        archive = self._archive
        if meta.read_note(archive.connection, meta.FOLDED) == meta.BEGUN:
            places.fold_copies(archive.connection, archive.packs, archive.prices)
            meta.drop_note(archive.connection, meta.FOLDED)

    def forget(self, session: SessionName) -> Forgotten:
        """Removes a session for good: from the index, from the safe, and from databases that were set aside.

        Its captures are removed too, including those that are not imported yet.
        """
        archive = self._archive
        with self._repaired():
            found = archive.find_one(session)
            remove_waiting(archive.wire, found.row.uuid)  # first: if a kill left them, they would be imported again
            forgotten = custody.forget(archive.connection, archive.packs, archive.reader, found, archive.prices)
            remove_set_aside(archive.home)
            model_answers.forget(archive.home, found.row.uuid)
            return forgotten

    def sessions_of(self, machine: str) -> tuple[Machine, int, int]:
        """Another machine by its name, and the number and bytes of its sessions. Raises BadInput for this one."""
        connection = self._archive.connection
        known = machines.machines(connection)
        found = [each for each in known if each.id in machines.ids_called(known, machine)]
        if len(found) > 1:
            raise BadInput(f"{len(found)} machines are called {printable(machine)}; name one by its id")
        if found[0].id == self._archive.own_machine().id:
            raise BadInput(f"{printable(machine)} is this machine: its sessions are forgotten one by one")
        return (found[0], *read.sessions_of_machine(connection, found[0].id))

    def forget_machine(self, machine: str, report: Report | None = None) -> Machine:
        """Throws out all that came from another machine, and makes the index anew from what is left; a pull no longer
        takes what that machine pushes. Copies of its sessions that are of other machines stay, and so do marks."""
        archive = self._archive
        with self._repaired(report):
            found, *_ = self.sessions_of(machine)
            places.keep_copies(archive.connection, archive.packs, archive.reader, found.id)
            exchange.throw_out(archive.packs, archive.home, found)
            self._begin_again()  # from here on a crash ends in an index that is made anew from what the safe has
            archive.packs.rewrite_without(set(), machine=found.id)
            self._fill(report)
            machines.drop_machine(archive.connection, found.id)
            remove_set_aside(archive.home)
            return found

    def damaged(self) -> Damaged:
        """What `forget_damaged` would remove; verifies every byte."""
        with self._archive.locked():
            self._complete()
            return custody.find_damaged(self._archive.connection, self._archive.packs)

    def forget_damaged(self) -> Damaged:
        """Removes from the safe what fails verification, and returns what that was. A line takes the place of lost
        bytes; a file whose source still exists is imported again by the next sync."""
        archive = self._archive
        with self._repaired():
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
        """Sends what this machine keeps and a shared folder lacks to that folder, from which other machines pull: all
        sessions, or those that pass the filters. `full` verifies what is already there and sends damaged parts again.
        Raises BadInput if there is no such folder."""
        archive, place = self._archive, _folder(to)
        exchange.check_folder(place)
        chosen = filtering.make_filter(base, filters) if base is not None or filters else None
        with self._repaired():
            ids = None if chosen is None else set(listing.passing_ids(archive.connection, chosen))
            own = archive.own_machine()
            pushed = exchange.push(archive.connection, archive.packs, own, place, ids, is_dry=is_dry, is_full=full)
            if not is_dry:
                exchange.remember_folder(archive.home, place)
            return pushed

    def pull(
        self, folder: str | Path, report: Report | None = None, *, agree: Agree | None = None, trust: str | None = None
    ) -> Pulled:
        """Imports what other machines have pushed to a folder. `agree` is asked about the sessions that one of them
        forgot: True forgets them here too, False keeps them from then on, None leaves it for the next time; without
        `agree` nothing is forgotten. The machine called `trust` is believed again, whatever key it has. Raises BadInput
        if there is no such folder."""
        archive, source = self._archive, _folder(folder)
        exchange.check_folder(source)
        archive.reprice()
        with archive.locked():
            self._note_first()
            self._complete(report)
            self._recover()
            own = archive.own_machine()
            pulled = exchange.pull(
                archive.connection,
                archive.packs,
                own,
                source,
                archive.prices,
                archive.price_file,
                report,
                forget_answers=lambda session: model_answers.forget(archive.home, session),
                agree=agree,
                trust=trust,
            )
            exchange.remember_folder(archive.home, source, is_pull=True)
            return pulled

    def bring_back(self, report: Report | None = None) -> list[str]:
        """Brings back the sessions that were forgotten here in the last thirty days because another machine had
        forgotten them; gives their ids."""
        archive = self._archive
        archive.reprice()
        with self._repaired(report):
            sessions = exchange.bring_back(archive.connection, archive.packs, archive.home)
            adopting.adopt_tail(archive.connection, archive.packs, archive.price_file, report)
            self._fold_copies()
            return sessions

    def last_folder(self) -> Path | None:
        """The folder that was last pushed to or pulled from."""
        return exchange.last_folder(self._archive.home)

    def pushed_files(self) -> dict[int, int]:
        """How far each file lies in that folder, by its number."""
        folder, connection = self.last_folder(), self._archive.connection
        pushed = exchange.pushed_files(folder) if folder is not None else {}
        return {row.id: pushed[key] for key in pushed if (row := read.file_by_key(connection, key)) is not None}


def _folder(named: str | Path) -> Path:
    if not isinstance(named, str | Path) or not str(named):
        raise BadInput(f"{printable(repr(named))} is not a folder")
    return Path(named)


def _unless_damaged(ask: Callable[[], bool]) -> bool:
    """The answer, or False if the index cannot be read; `verify` will report why."""
    try:
        return ask()
    except sqlite3.DatabaseError:
        return False
