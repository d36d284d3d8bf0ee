"""Compares the sources with the archive: what is new, what has grown, what is gone."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec.structs import replace

from reread import sources
from reread.errors import SourceError
from reread.loading import Strays
from reread.sources import Kind, SessionFiles, SourceFile
from reread.store import reading
from reread.store.keeping import source_file
from reread.store.keys import FileKeys, session_mark
from reread.store.machines import names_of
from reread.store.own_words import content_marks
from reread.store.reading import StoredPiece
from reread.store.rows import OWN, FileRow

from .captures import KnownCaptures, joined, remade
from .jobs import FileJob, GoneFile, SessionJob, file_job
from .naming import Claims
from .places import FoundPlace, Owned, PlaceSurvey

_KEPT_ASIDE = frozenset({Kind.HISTORY, Kind.INDEX, Kind.SETTINGS, Kind.META})


class Survey:
    """One walk over the sources, held against what the archive knows of them."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        machine: str,
        places: Sequence[Path],
        safe: Path | None = None,
        prices: Path | None = None,
        captures: Path | None = None,
    ) -> None:
        self.problems: list[SourceError] = []
        self.folders: dict[Path, int] = {}
        self.unchanged = 0
        self._machine = machine
        self.names = names_of(connection, machine)
        self._connection = connection
        self._safe = safe
        self._prices = prices
        self._source_of: dict[Path, Path] = {}
        self.missing: set[Path] = set()
        self._look_up_files()
        self.forgotten = reading.forgotten(connection)
        self.waiting = self._waiting(captures) if captures is not None else []
        """Captures of our own, which are removed once they are kept."""
        files: list[SourceFile] = []
        for place in places:
            # Sources may lie inside each other.
            new = [file for file in self._found(place) if file.path not in self._source_of]
            self._source_of.update({file.path: place for file in new})
            files += new
        self._captures = KnownCaptures(connection, self.known)
        self.left_out: dict[str, int] = {}
        """Sessions that are there and were forgotten, and when."""
        self.placed: list[FoundPlace] = []
        """Other places of what is kept, or of what these jobs take in."""
        self.places_gone: list[Path] = []
        self.own_ways: list[Path] = []
        """Places that are files of their own from now on."""
        self.jobs = self._jobs(files)
        self.vanished = self._vanished(files)

    def _found(self, place: Path) -> list[SourceFile]:
        """A source that is not there must not keep the others out."""
        try:
            return list(sources.find(place, problems=self.problems, folders=self.folders))
        except SourceError as problem:
            self.problems.append(problem)
            if not os.path.lexists(place):
                self.missing.add(place.absolute())
            return []

    def _waiting(self, captures: Path) -> list[SourceFile]:
        """Their folders are not remembered: they go with the captures."""
        found = [file for file in sources.find(captures, problems=self.problems) if file.kind is Kind.CAPTURE]
        self._source_of.update({file.path: Path(OWN) for file in found})
        return found

    def _jobs(self, files: list[SourceFile]) -> list[SessionJob]:
        """Sessions with something new, newest first, then files that belong to none."""
        strays = Strays(files)
        jobs: list[SessionJob] = []
        sessions = joined(sources.group(files), sources.group(self.waiting), self._has_captures)
        owned = strays.shared_out(sessions)
        claims = Claims(session for session, _ in owned)
        owned = self._without_copies(self._without_forgotten(owned, claims), claims)
        homes = self._homes(session for session, _ in owned)
        for session, own in sorted(owned, key=lambda pair: pair[0].mtime_ns, reverse=True):
            changed = self._changed((*session.all, *own))
            if changed:
                gone = self._gone(
                    session, {file.path for file in (*session.all, *own)}, homes.get(session.id) is session
                )
                whole = _with_gone(session, gone)
                taken = {job.file.path for job in changed}
                kept = remade((file for file in whole.captures if file.path not in taken), self.known, self.keys)
                jobs.append(
                    SessionJob(
                        files=whole,
                        gone=gone,
                        safe=self._safe,
                        strays=own,
                        of_others=claims.of_others(session),
                        changed=(*changed, *kept),
                        prices=self._prices,
                    )
                )
        aside = [file for file in files if file.kind in _KEPT_ASIDE and file.session is None]
        return jobs + [SessionJob(files=None, changed=(job,)) for job in self._changed(aside)]

    def _without_forgotten(self, owned: list[Owned], claims: Claims) -> list[Owned]:
        """What a person had forgotten stays so, wherever it is met and whatever it is called there."""
        if not self.forgotten:
            return owned
        marks = content_marks(self.forgotten)
        kept = []
        for session, own in owned:
            if any(self.keys.knows(file.path) for file in session.all):
                kept.append((session, own))
                continue
            keys = {session_mark(name) for name in claims.names_of(session)}
            if session.trunk is not None:
                trunk = session.trunk
                keys |= self.keys.ever_of(trunk.path)
                keys |= {mark.key for mark in marks if mark.size <= trunk.size and mark.is_met_by(trunk.path)}
            if met := self.forgotten.keys() & keys:
                self.left_out[session.id] = max(self.forgotten[key] for key in met)
            else:
                kept.append((session, own))
        return kept

    def _without_copies(self, owned: list[Owned], claims: Claims) -> list[Owned]:
        """Sessions that are one with another in another place are not read; where they have more than it, they are what
        it was, and the other is the place."""
        while True:
            places = PlaceSurvey(self._connection, self._machine, self._safe, self.known.values())
            kept = places.without_copies(owned, claims, self._source_of)
            if not places.has_moved:
                break
            self._look_up_files()
        self.unchanged += places.unchanged
        self.placed, self.own_ways = places.found, places.own_ways
        self.places_gone = places.gone(self._source_of)
        return kept

    def _look_up_files(self) -> None:
        self.known = reading.known_files(self._connection, self._machine)
        self.keys = FileKeys(self._machine, self.names, self.known.values())

    def source_of(self, path: Path) -> Path:
        """The source that a file of this walk was found in."""
        return self._source_of[path]

    def _has_captures(self, session: SessionFiles) -> bool:
        """Whether captures belong to this copy of a session already."""
        numbers = {row.session for row in self._captures.of(session.id)}
        return any(
            key in self.known and self.known[key].session in numbers
            for key in (self._key(file.path) for file in session.all)
        )

    def _homes(self, sessions: Iterable[SessionFiles]) -> dict[str, SessionFiles]:
        """Of the copies of a session the one that has its captures."""
        found: dict[str, SessionFiles] = {}
        for session in sessions:
            if self._captures.of(session.id):
                best = found.setdefault(session.id, session)
                found[session.id] = max(best, session, key=self._claim)
        return found

    def _claim(self, session: SessionFiles) -> tuple[bool, bool, bool, int]:
        is_joined = bool(session.captures)
        return self._has_captures(session), is_joined, session.trunk is not None, session.mtime_ns

    def _gone(self, session: SessionFiles, there: set[Path], is_home: bool) -> tuple[GoneFile, ...]:
        """Files the session had when it was last read, and has no more; captures also while they were alone."""
        if session.trunk is None and session.captures:
            # The transcript may be gone, or lie outside the folders of this walk: the safe has it.
            number = reading.session_called(self._connection, self._machine, session.id)
            rows = reading.files_of(self._connection, number) if number is not None else []
        else:
            numbers = {self.known[key].session for key in map(self._key, there) if key in self.known}
            before = (reading.files_of(self._connection, number) for number in numbers if number is not None)
            rows = [row for files in before for row in files if not os.path.lexists(row.path)]
        if is_home:
            rows += self._captures.of(session.id)
        return tuple(
            GoneFile(file=source_file(row, session.id), pieces=self._pieces(row))
            for row in {row.id: row for row in rows}.values()
            if row.path not in there and row.taken
        )

    def _key(self, path: Path) -> str:
        return self.keys.of(path)

    def _pieces(self, row: FileRow) -> tuple[StoredPiece, ...]:
        return tuple(reading.pieces_of(self._connection, row.id, row.generation))

    def _changed(self, files: Iterable[SourceFile]) -> tuple[FileJob, ...]:
        found: list[FileJob] = []
        for file in files:
            try:
                job = file_job(self.keys, self._source_of[file.path], file, self.known, self.still_holds)
            except SourceError as problem:
                self.problems.append(problem)
                continue
            if job is None:
                self.unchanged += 1
            elif not self.forgotten.keys() & self.keys.ever_of(file.path):
                found.append(job)
        return tuple(found)

    def still_holds(self, row: FileRow) -> bool:
        """Whether a file of the same size as before holds all that was taken of it."""
        pieces = reading.pieces_of(self._connection, row.id, row.generation)
        try:
            with row.path.open("rb") as file:
                return all(sha256(file.read(piece.length)).digest() == piece.sha256 for piece in pieces)
        except OSError as error:
            raise SourceError(row.path, f"cannot be read ({error.strerror or error})") from error

    def _vanished(self, files: list[SourceFile]) -> list[str]:
        """Files below a folder that could be walked, and are not there any more."""
        seen = {file.path for file in files}
        return [
            row.key
            for row in self.known.values()
            if row.present and row.path not in seen and self._was_walked(row) and not os.path.lexists(row.path)
        ]

    def _was_walked(self, row: FileRow) -> bool:
        return any(parent in self.folders or parent in self.missing for parent in row.path.parents)


def _with_gone(session: SessionFiles, gone: tuple[GoneFile, ...]) -> SessionFiles:
    files = [each.file for each in gone]

    def only(kind: Kind) -> tuple[SourceFile, ...]:
        return tuple(file for file in files if file.kind is kind)

    return replace(
        session,
        trunk=session.trunk or next(iter(only(Kind.TRANSCRIPT)), None),
        subagents=(*session.subagents, *only(Kind.SUBAGENT)),
        metas=(*session.metas, *only(Kind.META)),
        tool_results=(*session.tool_results, *only(Kind.TOOL_RESULT)),
        others=(*session.others, *only(Kind.TITLE)),
        captures=sources.in_order((*session.captures, *only(Kind.CAPTURE))),
    )
