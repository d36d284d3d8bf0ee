"""What the archive keeps: counted, proved, given back, made anew, removed; `Archive` is one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from reread.holding import Holding
from reread.store.database import NewerArchive, StoreError, file_number, set_aside

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from reread.ingest.results import Report
    from reread.store.backups import KeptBackups
    from reread.store.custody import Forgotten, Restored, Status
    from reread.store.mending import Damaged
    from reread.store.proof import Verified
    from reread.store.safe import SafeDamaged
    from reread.store.sessions import StoredSession

LOCK_SECONDS = 120.0
"""How long one that writes waits for another one."""


class Safekeeping(Holding):
    """The safe, and the index over it."""

    @contextmanager
    def _locked(self, patience: float = LOCK_SECONDS) -> Iterator[None]:
        """Nobody else writes meanwhile. A database that was set aside while one waited is let go of: what is written
        there is found nowhere."""
        from reread.store.safe import lock

        with lock(self.home / "safe", timeout=patience):
            if self.is_open and self._file != file_number(self.home):
                self.close()
            yield

    def status(self) -> Status:
        from reread.store import custody

        return custody.status(self.connection, self.home, self.safe)

    def verify(self, *, deep: bool = False) -> Verified:
        """Proves every byte of the safe, a row for each and each row's bytes, the pages of the index and its sums; a
        database beyond opening is damage too. Responses are read again from the safe, of all sessions if it is to go
        `deep`, else of some that chance chooses. What a crash left is put in order first, where that can be."""
        from reread.store import proof

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

        from reread.ingest.recount import recount
        from reread.store import proof
        from reread.store.safe import SafeDamaged, SafeError

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
        from reread.ingest.adopt import adopt_tail
        from reread.store import custody

        lost = custody.recover(self.connection, self.safe, self.prices)
        return lost, adopt_tail(self.connection, self.safe, self.price_file)

    def restore(self, wanted: str, to: Path, generation: int | None = None) -> Restored:
        """Writes every file of a session below `to`, byte for byte as it was last taken, or as it was before."""
        from reread.store import custody

        return custody.restore(self.connection, self.files, self.find(wanted), to, generation=generation)

    def restore_targets(self, stored: StoredSession, to: Path) -> list[Path]:
        """Where `restore` would write."""
        from reread.store import custody

        return [to / custody.below(row, stored) for row in custody.kept_files(self.connection, stored)]

    def rebuild(self) -> int:
        """A new index from the safe alone; the old database is kept beside it. Gives the number of sessions."""
        with self._locked():
            return self._make_anew()

    def _make_anew(self) -> int:
        """The same for one who holds the lock."""
        from reread.billing import load_prices
        from reread.ingest.rebuild import rebuild
        from reread.store import machines, notes, taking_over

        load_prices(self.price_file)  # before anything is done: one that cannot be read stops it
        self.close()
        machines.keep_file(self.home)
        known = taking_over.unsafe_if_readable(self.home)  # last: what is noted meanwhile would stay behind
        self.safe.set_aside_record()
        set_aside(self.home)
        taking_over.keep_unsafe(self.connection, known, self.home)
        self._reprice()
        sessions = rebuild(self.connection, self.safe, self.price_file)
        sessions -= self._fold_copies()
        notes.write(self.connection, notes.REBUILD, notes.DONE)
        return sessions

    def outdated(self) -> int:
        """How many sessions have rows that an older version made: what this one learned to find is not in them yet."""
        from reread.store import notes

        if not notes.is_outdated(self.connection):
            return 0
        from reread.store.reading import outdated_sessions

        return len(outdated_sessions(self.connection))

    def _renew(self, report: Report | None) -> None:
        """Makes such rows anew from the safe, the newest first."""
        from reread.store import notes

        if self.outdated():
            from reread.ingest.rebuild import renew

            renew(self.connection, self.safe, self.price_file, report)
        if notes.is_outdated(self.connection):
            notes.keep_renewed(self.connection)

    def _fold_copies(self) -> int:
        """What an earlier version kept several times; once."""
        from reread.store import notes

        if notes.read(self.connection, notes.FOLDED) == notes.DONE:
            return 0
        from reread.store.places import fold_copies

        folded = fold_copies(self.connection, self.safe, self.prices)
        notes.write(self.connection, notes.FOLDED, notes.DONE)
        return folded

    def forget(self, wanted: str) -> Forgotten:
        """Removes a session for good: from the index, from the safe, and from databases that were set aside.

        Captures of it go too, also those that were not taken in yet.
        """
        from reread.ingest.captures import remove_waiting
        from reread.store import custody
        from reread.store.database import remove_set_aside

        with self._locked():
            self._recover()
            found = self.find_one(wanted)
            remove_waiting(self.wire, found.row.uuid)  # first: what a kill left here would be taken in again
            forgotten = custody.forget(self.connection, self.safe, self.files, found, self.prices)
            remove_set_aside(self.home)
            return forgotten

    def damaged(self) -> Damaged:
        """What `forget_damaged` would let go of; proves every byte."""
        from reread.store.mending import find_damaged

        with self._locked():
            return find_damaged(self.connection, self.safe)

    def forget_damaged(self) -> Damaged:
        """Removes from the safe what cannot be proved, and gives what that was. A line stands in the place of lost
        bytes; a file whose source still exists is taken anew by the next sync."""
        from reread.store.mending import forget_damaged

        with self._locked():
            self._recover()
            return forget_damaged(self.connection, self.safe, self.prices)

    def kept_backups(self) -> KeptBackups:
        """Reads, out of the safe, what files held before Claude Code changed them: by session and name of the backup,
        None where none was kept."""
        from reread.store.backups import KeptBackups

        return KeptBackups(self.connection, self.files)
