"""Compares what a walk found with the archive: which sessions are to be read, and what else changed.

Read it from `survey`, which has the steps in order. Two of them write: sessions whose files are in another folder now
are moved there, and a session that was called by an id that belongs to another gets another name.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from reread import lazy
from reread.errors import SourceError
from reread.index import read
from reread.index.read import StoredPiece
from reread.index.rows import FileRow
from reread.keys import session_mark
from reread.lazy import TYPE_CHECKING
from reread.loading import has_own_name
from reread.sources import FileKind, SessionFiles, SourceFile
from reread.sources.find import folder_of

from .captures import KnownCaptures
from .copies import IdOwners, Owned, owned_sessions
from .jobs import FileJob, GoneFile, SessionJob, file_job, reindex_jobs
from .known_copies import CopyChanges, KnownCopies
from .walk import Walk

if TYPE_CHECKING:
    from reread.index import places as other_places
    from reread.index import session_files, user_data
else:  # not needed for a session that only grew
    lazy.bind(globals())

_NAMES_AGENTS = frozenset({FileKind.TRANSCRIPT, FileKind.SUBAGENT, FileKind.META})
_KEPT_ASIDE = frozenset({FileKind.HISTORY, FileKind.INDEX, FileKind.SETTINGS, FileKind.META})
_NONE: frozenset[str] = frozenset()
"""One shared object: Python makes a new empty frozenset every time."""


def survey(
    connection: sqlite3.Connection, machine: str, walk: Walk, safe: Path | None = None, prices: Path | None = None
) -> Survey:
    """What there is to do after a walk."""
    found = Survey(connection, machine, walk, safe, prices)
    owned, owners = owned_sessions(walk.files, captured=walk.waiting, is_owner=found.has_captures)
    owned = found.without_forgotten(owned, owners)
    owned = found.follow_moves(owned, owners)
    found.give_back_names(owned)
    found.make_jobs(owned, owners)
    found.look_for_vanished()
    return found


class Survey:
    """What there is to do after a walk, filled step by step by `survey`."""

    def __init__(
        self, connection: sqlite3.Connection, machine: str, walk: Walk, safe: Path | None, prices: Path | None
    ) -> None:
        self._connection = connection
        self._machine = machine
        self._safe = safe
        self._prices = prices
        self.walk = walk
        self.forgotten = read.forgotten(connection)
        self._captures = KnownCaptures(connection, walk.known)
        self.is_first = not any(row.taken for row in walk.known.values())
        self.unchanged = walk.unchanged
        self.jobs: list[SessionJob] = []
        self.same: list[FileJob] = []
        """Files that were rewritten, moved or put back with the same content."""
        self.left_out: dict[str, int] = {}
        """Forgotten sessions that are still in the sources, each with the time it was forgotten."""
        self.copies = CopyChanges()
        self.moved: list[int] = []
        """Numbers of files that the archive has at another place since this walk."""
        self.vanished: list[str] = []
        """Keys of files that no longer exist, below a folder that could be walked."""

    def make_jobs(self, owned: Iterable[Owned], owners: IdOwners) -> None:
        """Jobs for sessions with something new, newest first, then for files that belong to no session."""
        owned = list(owned)
        of_captures = self._owners_of_captures(session for session, _ in owned)
        for session, own in sorted(owned, key=lambda pair: pair[0].mtime_ns, reverse=True):
            changed = self._changed((*session.all, *own))
            if changed:
                is_owner = of_captures.get(session.id) is session
                foreign = owners.foreign(session) | self._ids_of_missing(session, owners)
                self.jobs.append(self._job(session, own, changed, foreign, has_known_captures=is_owner))
        aside = [file for file in self.walk.files if file.kind in _KEPT_ASIDE and file.session is None]
        self.jobs += [SessionJob(files=None, changed=(job,)) for job in self._changed(aside)]

    def _job(
        self,
        session: SessionFiles,
        own: tuple[SourceFile, ...],
        changed: tuple[FileJob, ...],
        foreign: frozenset[str],
        *,
        has_known_captures: bool,
    ) -> SessionJob:
        """The job for a session of which these files changed: its totals need all of its files, those that are gone
        included."""
        gone = self._missing(session, {file.location for file in (*session.all, *own)}, has_known_captures)
        whole = session.with_files(each.file for each in gone) if gone else session
        taken = {job.file.path for job in changed}
        changed = self._claimed(whole, changed)
        kept = reindex_jobs((file for file in whole.captures if file.path not in taken), self.walk.keys)
        return SessionJob(
            files=whole,
            gone=self._before(session.trunk, changed) | {each.file.path: each.pieces for each in gone},
            safe=self._safe,
            orphans=own,
            foreign=foreign,
            changed=(*changed, *kept),
            known_agents=self._known_agents((*whole.all, *own), changed),
            prices=self._prices,
        )

    def _ids_of_missing(self, session: SessionFiles, owners: IdOwners) -> frozenset[str]:
        """The ids in its lines under which the archive has another transcript of its folder, even one that is gone: two
        transcripts are never one session."""
        if session.trunk is None or has_own_name(session):
            return _NONE
        trunk = session.trunk
        return frozenset(name for name in owners.ids_of(session) if self._others_called(name, trunk))

    def give_back_names(self, owned: Iterable[Owned]) -> None:
        """An id belongs to the transcript named after it; another that only contained it gets its file name instead."""
        for session, _ in owned:
            trunk = session.trunk
            if trunk is not None and has_own_name(session) and self.walk.keys.row(trunk.location) is None:
                for row in self._others_called(session.id, trunk):
                    other_places.call_by_file(self._connection, row)

    def _others_called(self, name: str, trunk: SourceFile) -> list[FileRow]:
        """Other transcripts of its folder that the archive has under an id."""
        found = self._sessions_called(name, folder_of(trunk))
        rows = (row for number in found for row in read.files_of(self._connection, number))
        return [row for row in rows if row.kind == FileKind.TRANSCRIPT and row.location != trunk.location]

    def without_forgotten(self, owned: list[Owned], owners: IdOwners) -> list[Owned]:
        """What a person had reread forget stays forgotten, wherever it is found and whatever its name is there."""
        if not self.forgotten:
            return owned
        marks = user_data.content_marks(self.forgotten)
        kept = []
        for session, own in owned:
            if any(self.walk.keys.row(file.location) is not None for file in session.all):
                kept.append((session, own))
                continue
            keys = {session_mark(name) for name in owners.ids_of(session)}
            if session.trunk is not None:
                trunk = session.trunk
                keys |= self.walk.keys.ever_of(trunk.location)
                keys |= {mark.key for mark in marks if mark.size <= trunk.size and mark.is_met_by(trunk.path)}
            if met := self.forgotten.keys() & keys:
                self.left_out[session.id] = max(self.forgotten[key] for key in met)
            else:
                kept.append((session, own))
        return kept

    def follow_moves(self, owned: list[Owned], owners: IdOwners) -> list[Owned]:
        """The sessions that are no copies. A copy that has more than the original takes its place: the archive's
        session is moved to its files, everything is compared again, and the original is the copy."""
        while True:
            walk = self.walk
            known = KnownCopies(self._connection, self._machine, self._safe, walk.known.values(), walk.source_of)
            kept = known.sessions_to_read(owned, owners)
            moved = [move for move in known.moves.values() if other_places.move_session(self._connection, move)]
            if not moved:
                break
            self.moved += [number for move in moved for number in move.files]
            walk.look_up_again(self._connection, self._machine)
        self.unchanged += known.unchanged
        self.copies = known.changes
        return kept

    def source_of(self, file: SourceFile) -> Path:
        """The source that a file of this walk was found in."""
        return self.walk.source_of[file.location]

    def _claimed(self, session: SessionFiles, changed: tuple[FileJob, ...]) -> tuple[FileJob, ...]:
        """Adds the trunk where it was imported before: its progress lines may have represented agents whose files are
        new."""
        agents = frozenset(
            job.file.agent or job.file.path.stem
            for job in changed
            if job.file.kind is FileKind.SUBAGENT and not job.indexed
        )
        trunk = session.trunk
        row = self.walk.keys.row(trunk.location) if trunk is not None and agents else None
        if trunk is None or row is None or not row.taken:
            return changed
        if all(job.file.path != trunk.path for job in changed):
            changed = (*changed, *self._reread_jobs([trunk]))
        return tuple(replace(job, claimed=agents) if job.file.path == trunk.path else job for job in changed)

    def _known_agents(self, files: Sequence[SourceFile], changed: Sequence[FileJob]) -> tuple[FileJob, ...]:
        """The unchanged agents, if a changed file may name them: one with the call that starts them, or a meta file."""
        taken = {job.file.path for job in changed}
        others = [file for file in files if file.kind is FileKind.SUBAGENT and file.path not in taken]
        if not others or all(job.file.kind not in _NAMES_AGENTS for job in changed):
            return ()
        rows = {row.key: row.id for file in others if (row := self.walk.keys.row(file.location)) is not None}
        agents = read.agents_of_responses(self._connection, rows.values())
        return tuple(replace(job, agents=agents.get(rows[job.key], _NONE)) for job in self._reread_jobs(others))

    def _reread_jobs(self, files: Iterable[SourceFile]) -> Iterator[FileJob]:
        """Jobs that make the rows of unchanged files again; what is written to one meanwhile is imported too."""
        for job in reindex_jobs(files, self.walk.keys):
            yield replace(
                job, indexed=self.walk.known[job.key].indexed, is_kept=job.file.location not in self.walk.source_of
            )

    def has_captures(self, session: SessionFiles) -> bool:
        """Whether captures belong to this copy of a session already."""
        numbers = {row.session for row in self._captures.of(session.id)}
        rows = (self.walk.keys.row(file.location) for file in session.all)
        return any(row is not None and row.session in numbers for row in rows)

    def _owners_of_captures(self, sessions: Iterable[SessionFiles]) -> dict[str, SessionFiles]:
        """For each session that has captures, the copy they belong to."""
        found: dict[str, SessionFiles] = {}
        for session in sessions:
            if self._captures.of(session.id):
                best = found.setdefault(session.id, session)
                found[session.id] = max(best, session, key=self._claim)
        return found

    def _claim(self, session: SessionFiles) -> tuple[bool, bool, bool, int]:
        is_joined = bool(session.captures)
        return self.has_captures(session), is_joined, session.trunk is not None, session.mtime_ns

    def _missing(self, session: SessionFiles, there: set[str], has_known_captures: bool) -> tuple[GoneFile, ...]:
        """Files that the session had when it was last read and no longer has, including captures that came first."""
        rows = [*self._rows_before(session, there), *(self._captures.of(session.id) if has_known_captures else ())]
        return tuple(
            GoneFile(file=session_files.source_file(row, session.id), pieces=self._pieces(row))
            for row in {row.id: row for row in rows}.values()
            if row.location not in there and row.taken
        )

    def _rows_before(self, session: SessionFiles, there: set[str]) -> Sequence[FileRow]:
        if session.trunk is None and session.captures:
            # The transcript may be gone or outside the folders of this walk: it is read from the safe.
            number = read.session_called(self._connection, self._machine, session.id)
            return read.files_of(self._connection, number) if number is not None else []
        numbers = {row.session for row in map(self.walk.keys.row, there) if row is not None}
        if not numbers and session.all:  # every file known of it is gone, and other files have come
            numbers |= self._sessions_called(session.id, folder_of(session.all[0]))
        before = (read.files_of(self._connection, number) for number in numbers if number is not None)
        return [row for files in before for row in files if not os.path.lexists(row.location)]

    def _sessions_called(self, name: str, folder: str) -> set[int]:
        """The sessions with this id and folder, whether or not any of their files still exist."""
        found = other_places.originals(self._connection, name) if self.walk.known else []
        return {each.session for each in found if each.machine == self._machine and each.folder == folder}

    def _pieces(self, row: FileRow) -> tuple[StoredPiece, ...]:
        return tuple(read.every_piece(self._connection, row.id, row.generation))

    def _before(self, trunk: SourceFile | None, changed: Sequence[FileJob]) -> dict[Path, tuple[StoredPiece, ...]]:
        """What the safe has of a transcript from before it was rewritten."""
        row = self.walk.keys.row(trunk.location) if trunk is not None else None
        if trunk is None or row is None:
            return {}
        generation = max([row.generation, *(job.generation for job in changed if job.file.path == trunk.path)])
        pieces = tuple(read.earlier_pieces(self._connection, row.id, generation)) if generation > 1 else ()
        return {trunk.path: pieces} if pieces else {}

    def _changed(self, files: Iterable[SourceFile]) -> tuple[FileJob, ...]:
        found: list[FileJob] = []
        for file in files:
            try:
                job = file_job(self.walk.keys, self.walk.source_of[file.location], file, self.still_holds)
            except SourceError as problem:
                self.walk.problems.append(problem)
                continue
            if job is None:
                self.unchanged += 1
            elif job.is_same:
                self.unchanged += 1
                self.same.append(job)
            elif not (self.forgotten and self.forgotten.keys() & self.walk.keys.ever_of(file.location)):
                found.append(job)
        return tuple(found)

    def still_holds(self, row: FileRow) -> bool:
        """Whether a file of the same size as before still contains everything that was taken of it."""
        pieces = read.pieces_of(self._connection, row.id, row.generation)
        try:
            with row.path.open("rb") as file:
                return all(sha256(file.read(piece.length)).digest() == piece.sha256 for piece in pieces)
        except OSError as error:
            raise SourceError(row.path, f"cannot be read ({error.strerror or error})") from error

    def look_for_vanished(self) -> None:
        seen = {os.path.normcase(file.location) for file in self.walk.files}
        self.vanished = [
            row.key
            for row in self.walk.known.values()
            if row.present
            and os.path.normcase(row.location) not in seen
            and self.walk.has_walked(row)
            and not os.path.lexists(row.location)
        ]

    def release(self) -> None:
        """Frees what is known of every file: it is not needed once the jobs are made."""
        sources_of_copies = {each.file.location: self.source_of(each.file) for each in self.copies.found}
        self.walk.release()
        self.walk.source_of.update(sources_of_copies)
