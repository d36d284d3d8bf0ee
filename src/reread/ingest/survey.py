"""Compares the sources with the archive: what is new, grown or gone, and which captures belong to which session."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy, sources
from reread.errors import SourceError
from reread.home import changed_at, identity, identity_of, is_same_file
from reread.index import read
from reread.index.database import is_durable
from reread.index.meta import edges, session_mark
from reread.index.read import StoredPiece
from reread.index.rows import OWN, FileKeys, FileRow
from reread.index.sessions import names_by_id
from reread.loading import DISK, FileReader, OrphanAgentFiles, has_own_name, ids_of
from reread.safe.safe import Safe
from reread.sessions import Session
from reread.sources import FileKind, SessionFiles, SourceFile
from reread.sources.find import SourcePlace, folder_of

from .growth import Growth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.index import places as other_places
    from reread.index import session_files, user_data
    from reread.index.places import KnownPlace, Original, Role
else:  # not needed for a session that only grew
    other_places = lazy.module("reread.index.places")
    session_files = lazy.module("reread.index.session_files")
    user_data = lazy.module("reread.index.user_data")


class FileJob(Struct, frozen=True, kw_only=True, gc=False):
    """One file to read on from where the archive stopped."""

    file: SourceFile
    key: str
    source: str
    device: int
    inode: int
    generation: int = 1
    taken: int = 0
    indexed: int = 0
    is_rewritten: bool = False
    is_same: bool = False
    """All its bytes are kept already; only its place or its modification time changed."""
    is_kept: bool = False
    """The file has nothing new: only its rows are made again, and its bytes may exist only in the safe."""
    head: bytes = b""
    tail: bytes = b""
    """Digests of the first and last bytes of what is kept."""
    claimed: frozenset[str] = frozenset()
    """For a trunk: agents whose own files are new, so the trunk's progress lines no longer represent them."""
    results_wait: bool = False
    """Whether the words of tool results are indexed later: they are most of the text."""
    agents: frozenset[str | None] = frozenset()
    """For an unchanged agent file: the agent names that its stored responses carry."""


class GoneFile(Struct, frozen=True, kw_only=True):
    """A file of a session whose source is gone: it is read from the safe."""

    file: SourceFile
    pieces: tuple[StoredPiece, ...]


class SessionJob(Struct, frozen=True, kw_only=True, gc=False):
    """A session of which some files changed. Its totals need all of its files."""

    files: SessionFiles | None
    gone: dict[Path, tuple[StoredPiece, ...]] = {}
    """Pieces of the files that are read from the safe because their sources are gone, by path."""
    safe: Path | None = None
    """The folder of the safe; needed only if `gone` has files."""
    strays: tuple[SourceFile, ...] = ()
    of_others: frozenset[str] = frozenset()
    """Ids that may occur in its lines but belong to other sessions of its folder."""
    prices: Path | None = None
    """The user's own price file."""
    changed: tuple[FileJob, ...]
    known_agents: tuple[FileJob, ...] = ()
    """Unchanged files of agents: the name of such an agent may come from a file that did change."""
    backup_of: int | None = None
    """The session that all changed files are backups of; nothing else of it is read then."""
    with_friction: bool = True
    """Whether moments of friction are found as well: a fifth of the cost of reading a session."""
    part: bytes | None = None
    """For a transcript that only grew: its stored closed part, empty if there is none yet."""

    @property
    def size(self) -> int:
        return sum(job.file.size - job.taken for job in self.changed)


def file_job(
    keys: FileKeys,
    source: Path,
    file: SourceFile,
    still_holds: Callable[[FileRow], bool],
) -> FileJob | None:
    """None when the file is unchanged; that costs one stat."""
    key = keys.of(file.location)
    try:
        status = os.stat(file.location)  # noqa: PTH116  without a path for each of very many files
    except OSError as error:
        raise SourceError(file.path, f"cannot be read ({error.strerror or error})") from error
    row = keys.row(file.location)
    fresh = FileJob(
        file=file, key=key, source=str(source), device=identity(status.st_dev), inode=identity(status.st_ino)
    )
    if row is None:
        return fresh
    if row.size < 0 and row.taken == 0:  # adopted from the safe without being read: what that holds stays as it is
        return replace(fresh, generation=row.generation + 1, is_rewritten=True)
    if row.present and _looks_unchanged(row, status):
        return None
    if _only_grew(file.path, status, row) and ((has_more := status.st_size > row.taken) or still_holds(row)):
        is_same = row.present and not has_more
        kept = replace(fresh, generation=row.generation, taken=row.taken, head=row.head, tail=row.tail)
        return replace(kept, indexed=row.indexed, is_same=is_same)
    return replace(fresh, generation=row.generation + 1, is_rewritten=True)


def _looks_unchanged(row: FileRow, status: os.stat_result) -> bool:
    """The device number is not compared: many systems assign a different one at every boot."""
    return (row.size, row.mtime_ns, row.inode) == (status.st_size, changed_at(status), identity(status.st_ino))


def _only_grew(path: Path, status: os.stat_result, row: FileRow) -> bool:
    """Whether the file still begins with what was taken, judged by the digests of both ends of that part."""
    if status.st_size < row.taken:
        return False
    try:
        with path.open("rb") as file:
            return edges(file, row.taken) == (row.head, row.tail)
    except OSError as error:
        raise SourceError(path, f"cannot be read ({error.strerror or error})") from error


_NONE: frozenset[str] = frozenset()
"""One shared object: Python makes a new empty frozenset every time."""


class Claims:
    """Which file of a folder an id belongs to: the file of that name, else the first by name whose lines contain it.

    Nearly every file contains the id it is named after and no other, so only the exceptions are remembered: the ids
    they contain, and which file owns each.
    """

    def __init__(self, sessions: Iterable[SessionFiles], disk: FileReader = DISK) -> None:
        self._told: dict[str, set[str]] = {}
        self._owners: dict[tuple[str, str], str] = {}
        trunks = _trunks(sessions)
        odd = [each for each in trunks if not _is_called_as_usual(*each)]
        for session, trunk in odd:
            self._told[trunk.location] = ids_of(session, disk)
        asked = {(folder_of(trunk), name) for _, trunk in odd for name in self._told[trunk.location]}
        usual = (each for each in trunks if asked and (folder_of(each[1]), each[0].id) in asked)
        for session, trunk in sorted(
            (*odd, *(each for each in usual if each[1].location not in self._told)), key=_precedence
        ):
            for name in self.names_of(session):
                self._owners.setdefault((folder_of(trunk), name), trunk.location)

    def names_of(self, session: SessionFiles) -> set[str]:
        """The ids that a session may have: those in its lines, or the one that its path gives it."""
        names = self._told.get(session.trunk.location) if session.trunk is not None and self._told else None
        return {session.id} if names is None else names

    def of_others(self, session: SessionFiles) -> frozenset[str]:
        """The ids in its lines that belong to another file of its folder."""
        trunk = session.trunk
        if trunk is None or trunk.location not in self._told:
            return _NONE
        folder = folder_of(trunk)
        return frozenset(name for name in self._told[trunk.location] if self._owners[folder, name] != trunk.location)


def _is_called_as_usual(session: SessionFiles, trunk: SourceFile) -> bool:
    """Whether the file is named `<id>.jsonl`, as the client names transcripts: no other file of its folder can be."""
    return has_own_name(session) and trunk.location.endswith(f"{session.id}.jsonl")


def _trunks(sessions: Iterable[SessionFiles]) -> list[tuple[SessionFiles, SourceFile]]:
    return [(session, session.trunk) for session in sessions if session.trunk is not None]


def _precedence(each: tuple[SessionFiles, SourceFile]) -> tuple[bool, bool, str]:
    session, trunk = each
    name = os.path.basename(trunk.location)  # noqa: PTH119  without a path for each of very many files
    return not has_own_name(session), not name.endswith(".jsonl"), name


def name_of(session: Session, files: SessionFiles, of_others: frozenset[str]) -> str:
    """The session's id; if that belongs to another session, the id its path gives it, or else its whole file name."""
    if files.trunk is None or session.id not in of_others:
        return session.id
    return files.id if files.id not in of_others else files.trunk.path.name


Home = Callable[[SessionFiles], bool]


def joined(
    sessions: Sequence[SessionFiles], captured: Iterable[SessionFiles], is_home: Home = lambda _: False
) -> list[SessionFiles]:
    """The sessions, each with the captures of its id; captures without a session become sessions of their own.

    Copies of a session may lie in several folders: captures go to the copy they belong to already, else to one with a
    transcript, else to the newest.
    """
    found = list(sessions)
    for each in captured:
        copies = [i for i, session in enumerate(found) if session.id == each.id]
        if not copies:
            found.append(each)
            continue
        home = max(copies, key=lambda i: (is_home(found[i]), found[i].trunk is not None, found[i].mtime_ns))
        found[home] = replace(found[home], captures=sources.in_order((*found[home].captures, *each.captures)))
    return found


class KnownCaptures:
    """Captures imported earlier: reread removed their files once their bytes were kept."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[str, FileRow]) -> None:
        rows = [row for row in known.values() if row.kind == FileKind.CAPTURE and row.session is not None]
        names = names_by_id(connection) if rows else {}
        self._by_session: dict[str, list[FileRow]] = {}
        for row in rows:
            if not os.path.lexists(row.location):
                self._by_session.setdefault(names[row.session or 0], []).append(row)

    def of(self, session: str) -> list[FileRow]:
        return self._by_session.get(session, [])


def remade(files: Iterable[SourceFile], keys: FileKeys) -> list[FileJob]:
    """Jobs that make the rows of known files again, such as captures: what a capture adds depends on its transcript."""
    found = []
    for file in files:
        row = keys.row(file.location)
        if row is not None:
            found.append(kept_job(replace(file, size=row.size, mtime_ns=row.mtime_ns), row))
    return found


def kept_job(file: SourceFile, row: FileRow) -> FileJob:
    """A file whose bytes are all in the safe already."""
    return FileJob(
        file=file,
        key=row.key,
        source=row.source,
        device=row.device,
        inode=row.inode,
        generation=row.generation,
        taken=row.taken,
        is_kept=True,
        head=row.head,
        tail=row.tail,
    )


def remove_kept_captures(connection: sqlite3.Connection, machine: str, waiting: Sequence[SourceFile]) -> None:
    """Removes captures whose bytes are in the safe, once a crash of the machine cannot lose the rows that say so.

    It also removes those of forgotten sessions. What cannot be removed now is left for the next sync.
    """
    if not waiting or not is_durable(connection):
        return
    forgotten = read.forgotten(connection)
    keys = FileKeys(machine, read.known_files(connection, machine).values())
    for file in waiting:
        row = keys.row(file.location)
        is_forgotten = bool(forgotten.keys() & {session_mark(file.session or ""), *keys.ever_of(file.location)})
        if is_forgotten or (row is not None and row.source == OWN and row.taken == file.size):
            _remove(file.path)


def remove_waiting(wire: Path, session: str) -> None:
    """Removes the captures of a session that are not imported yet."""
    # Names are compared because the id of a session may come from a line and need not be a valid file name.
    folders = [folder for folder in wire.iterdir() if folder.name == session] if wire.is_dir() else []
    for capture in (path for folder in folders for path in folder.glob("*.wire")):
        _remove(capture)


def _remove(path: Path) -> None:
    """Removes a capture, and the folder of its session once that is empty."""
    try:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
    except OSError:  # the folder is not empty, or another program holds the file: the next sync tries again
        return


Owned = tuple[SessionFiles, tuple[SourceFile, ...]]


class Kinship(Enum):
    APART = "apart"
    COPY = "copy"
    """The other contains all of it."""
    FULLER = "fuller"
    """It contains all of the other and more; or it equals the other, whose files are gone."""


class FoundPlace(NamedTuple):
    """A file with the content of another."""

    file: SourceFile
    original: Path
    machine: str


class PlaceSurvey:
    """Finds the sessions of a walk that are kept already, or that another folder of the same walk contains."""

    def __init__(
        self, connection: sqlite3.Connection, machine: str, safe: Path | None, known: Iterable[FileRow]
    ) -> None:
        self._connection = connection
        self._machine = machine
        self._safe = Safe(safe) if safe is not None else None
        self._paths = {os.path.normcase(row.location) for row in known}
        self._places = other_places.places_on(connection, machine) if read.has_places(connection) else {}
        self._is_empty = connection.execute("SELECT 1 FROM session LIMIT 1").fetchone() is None
        self.found: list[FoundPlace] = []
        """New places that the archive must record."""
        self.own_ways: list[Path] = []
        """Places that are no copies any more: their content differs by now, or they are read themselves."""
        self.unchanged = 0
        self.moved: list[int] = []
        """Numbers of files that are now elsewhere than the archive had recorded."""
        self.outgrew_others = False
        """Whether a session here has more than what another machine had of it."""

    def without_copies(self, owned: Sequence[Owned], claims: Claims, source_of: Mapping[str, Path]) -> list[Owned]:
        """The sessions that must be read."""
        kept: list[Owned] = []
        new: list[Owned] = []
        for session, own in owned:
            files = own_files(session, own)
            is_known = not files or any(os.path.normcase(file.location) in self._paths for file in files)
            (kept if is_known else new).append((session, own))
        shared = _shared_names(claims.names_of(session) for session, _ in new)
        leaders: dict[str, list[Owned]] = {}
        copies: list[Owned] = []
        for session, own in sorted(new, key=largest_first):
            files = own_files(session, own)
            names = claims.names_of(session)
            if self._is_as_it_was(files):
                self.unchanged += len(files)
                copies.append((session, own))
            elif self._is_kept(session, files, names, source_of) or self._is_beside(files, names, leaders):
                copies.append((session, own))
            else:
                if self._places:
                    self.own_ways += [file.path for file in files if file.path in self._places]
                kept.append((session, own))
                for name in shared.intersection(names):
                    leaders.setdefault(name, []).append((session, own))
        return with_captures(kept, copies)

    def gone(self, seen: Container[str]) -> list[Path]:
        """Places whose files no longer exist."""
        return [
            path
            for path, place in self._places.items()
            if place.present and str(path) not in seen and not os.path.lexists(path)
        ]

    def _is_as_it_was(self, files: Sequence[SourceFile]) -> bool:
        return bool(self._places) and all(self._looks_unchanged(file, self._places.get(file.path)) for file in files)

    def _looks_unchanged(self, file: SourceFile, place: KnownPlace | None) -> bool:
        if place is None or not place.present or (place.machine == self._machine and not place.original.exists()):
            return False
        try:
            status = file.path.stat()
        except OSError:
            return False
        return place[:3] == (status.st_size, changed_at(status), identity(status.st_ino))

    def _is_kept(
        self, session: SessionFiles, files: Sequence[SourceFile], names: Iterable[str], source_of: Mapping[str, Path]
    ) -> bool:
        """Whether the archive has the session already.

        False for a copy that has more than the original, or whose original is gone: the copy takes the original's place
        and is read. Not the place of another machine's original, which may go on there: such a copy is a file of its
        own, into which the original is folded.
        """
        if self._is_empty:
            return False
        here = _by_role(files)
        found = ((name, each) for name in sorted(names) for each in other_places.originals(self._connection, name))
        for name, original in found:
            kinship = self._kinship(here, original)
            if kinship is Kinship.COPY:
                self.found += [
                    FoundPlace(file, original.files[role].path, original.machine) for role, file in here.items()
                ]
                return True
            if kinship is Kinship.FULLER and original.machine != self._machine:
                self.outgrew_others = True
            elif (
                kinship is Kinship.FULLER
                and session.trunk is not None
                and self._move(session, here, original, source_of, is_same=set(names) <= {name, session.id})
            ):
                return False
        return False

    def _move(
        self,
        session: SessionFiles,
        here: Mapping[Role, SourceFile],
        original: Original,
        source_of: Mapping[str, Path],
        *,
        is_same: bool,
    ) -> bool:
        """Moves the archive's session to these files; False where a different file name makes it another session.

        A renamed transcript stays the same session only if its lines contain one id alone, its own name is not an id,
        and the old file is gone.
        """
        shared = [(here[role], row) for role, row in original.files.items() if role in here]
        is_renamed = any(file.path.name != row.path.name for file, row in shared)
        if is_renamed and (not is_same or has_own_name(session) or any(row.path.exists() for _, row in shared)):
            return False
        files = {row.id: (str(source_of[file.location]), file.path) for file, row in shared}
        folder = str(next(iter(here.values())).folder if session.trunk is None else session.trunk.folder)
        is_moved = other_places.move_session(self._connection, original, folder, files)
        self.moved += files if is_moved else ()
        return is_moved

    def _kinship(self, here: Mapping[Role, SourceFile], original: Original) -> Kinship:
        shared = here.keys() & original.files.keys()
        is_here = original.machine == self._machine
        left = {
            role
            for role, row in original.files.items()
            if is_here and row.path.exists() and not (role in here and is_same_file(here[role].path, row.path))
        }
        more = bool(here.keys() - shared)
        less = bool(left - shared)
        if not shared:
            return Kinship.APART
        for role in shared:
            file, row = here[role], original.files[role]
            found = self._compared(file.path, row, is_left=role in left)
            if found is None:
                return Kinship.APART
            more, less = more or found > 0, less or found < 0
        if not more and (less or left or not is_here):
            return Kinship.COPY
        return Kinship.APART if less else Kinship.FULLER

    def _compared(self, path: Path, row: FileRow, *, is_left: bool) -> int | None:
        if is_left:
            return other_places.compared(path, row.path)
        if self._safe is None:
            return None
        pieces = read.pieces_of(self._connection, row.id, row.generation)
        return other_places.compared_with_kept(path, pieces, self._safe)

    def _is_beside(
        self, files: Sequence[SourceFile], names: Iterable[str], leaders: Mapping[str, Sequence[Owned]]
    ) -> bool:
        """Whether another folder of this walk contains all of it."""
        found = original_beside(files, names, leaders, _begins_with)
        self.found += [FoundPlace(file, original.path, self._machine) for file, original in found]
        return bool(found)


def original_beside(
    files: Sequence[SourceFile],
    names: Iterable[str],
    leaders: Mapping[str, Sequence[Owned]],
    begins_with: Callable[[SourceFile, SourceFile], bool],
) -> list[tuple[SourceFile, SourceFile]]:
    """Each file of a session paired with the file of a larger session that contains it; empty if no session has all."""
    if leaders.keys().isdisjoint(names):
        return []
    here = _by_role(files)
    for session, own in (each for name in sorted(names) for each in leaders.get(name, ())):
        there = _by_role(own_files(session, own))
        if here.keys() <= there.keys() and all(begins_with(there[role], file) for role, file in here.items()):
            return [(file, there[role]) for role, file in here.items()]
    return []


def _shared_names(names: Iterable[Iterable[str]]) -> set[str]:
    """Names that several sessions have: only those sessions can be copies of each other."""
    seen: set[str] = set()
    twice: set[str] = set()
    for name in (name for some in names for name in some):
        (twice if name in seen else seen).add(name)
    return twice


def own_files(session: SessionFiles, own: Sequence[SourceFile]) -> list[SourceFile]:
    return [file for file in (*session.all, *own) if file.kind is not FileKind.CAPTURE]


def _by_role(files: Iterable[SourceFile]) -> dict[Role, SourceFile]:
    return {other_places.role_of(file.kind, file.path): file for file in files}


def largest_first(each: Owned) -> tuple[int, str]:
    files = own_files(*each)
    return -sum(file.size for file in files), min(file.location for file in files)


def _begins_with(full: SourceFile, other: SourceFile) -> bool:
    found = other_places.compared(other.path, full.path) if other.size <= full.size else None
    return found is not None and found <= 0


def with_captures(kept: list[Owned], copies: Sequence[Owned]) -> list[Owned]:
    """Captures of a copy go to its original; if this walk did not find the original, it is read from the safe."""
    for session, _ in copies:
        if session.captures:
            place = next((i for i, (each, _) in enumerate(kept) if each.id == session.id), None)
            if place is None:
                kept.append((SessionFiles(id=session.id, trunk=None, captures=session.captures), ()))
            else:
                home, its_own = kept[place]
                joined = sources.in_order((*home.captures, *session.captures))
                kept[place] = (replace(home, captures=joined), its_own)
    return kept


_NAMES_AGENTS = frozenset({FileKind.TRANSCRIPT, FileKind.SUBAGENT, FileKind.META})
_KEPT_ASIDE = frozenset({FileKind.HISTORY, FileKind.INDEX, FileKind.SETTINGS, FileKind.META})


class Survey:
    """One walk over the sources, compared with what the archive knows of them."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        machine: str,
        places: Sequence[Path],
        safe: Path | None = None,
        prices: Path | None = None,
        captures: Path | None = None,
        grown: Growth | None = None,
    ) -> None:
        """With `grown`, everything that changed is known already: nothing is walked, and no other file is looked up."""
        self.problems: list[SourceError] = []
        self.folders: dict[Path, int] = {}
        self.unchanged = grown.unchanged if grown is not None else 0
        self._machine = machine
        self._connection = connection
        self._grown = grown
        self._safe = safe
        self._prices = prices
        self._source_of: dict[str, Path] = {}
        self.missing: set[Path] = set()
        self._look_up_files()
        self.forgotten = read.forgotten(connection)
        self.waiting = self._waiting(captures) if captures is not None else []
        """Captures that reread made, which are removed once they are kept."""
        files: list[SourceFile] = []
        if grown is not None:
            self._source_of.update({file.location: source for file, source in grown.files.items()})
            self.folders.update(grown.folders)
            files += grown.files
        for place in places if grown is None else ():
            # Sources may lie inside each other.
            new = [file for file in self._found(place) if file.location not in self._source_of]
            self._source_of.update({file.location: place for file in new})
            files += new
        files = self._under_known_names(files) if grown is None else files
        self._captures = KnownCaptures(connection, self.known)
        self.same: list[FileJob] = []
        """Files that were rewritten, moved or put back with the same content."""
        self.left_out: dict[str, int] = {}
        """Forgotten sessions that are still in the sources, each with the time it was forgotten."""
        self.placed: list[FoundPlace] = []
        """Other places of files that are kept, or that these jobs import."""
        self.moved: list[int] = []
        """Numbers of files that the archive has at another place since this walk."""
        self.places_gone: list[Path] = []
        self.own_ways: list[Path] = []
        """Places that are treated as files of their own from now on."""
        self.outgrew_others = False
        self.jobs = self._jobs(files)
        self.vanished = self._vanished(files)
        self.is_first = not any(row.taken for row in self.known.values())

    def release(self) -> None:
        """Frees what is known of every file: it is not needed once the jobs are made."""
        self.known: dict[str, FileRow] = {}
        self.keys = FileKeys(self._machine, ())
        self._source_of = {each.file.location: self.source_of(each.file) for each in self.placed}

    def _found(self, place: Path) -> list[SourceFile]:
        """A missing source must not keep the others from being read."""
        try:
            return list(sources.find(place, problems=self.problems, folders=self.folders))
        except SourceError as problem:
            self.problems.append(problem)
            if not os.path.lexists(place):
                self.missing.add(place.absolute())
            return []

    def _under_known_names(self, files: list[SourceFile]) -> list[SourceFile]:
        """The files, each under the name that the archive has for it: a walk meets a file once, and where a link to it
        comes first, the file itself would look like one of which this walk saw only an equal copy."""
        new = [file for file in files if self.keys.row(file.location) is None]
        unmet = self._unmet(files) if new else {}
        if not unmet:
            return files
        named = {file.location: row for file in new if (row := unmet.get(identity_of(file.path))) is not None}
        self._source_of.update({row.location: self._source_of[location] for location, row in named.items()})
        return [_renamed(file, named[file.location]) if file.location in named else file for file in files]

    def _unmet(self, files: Iterable[SourceFile]) -> dict[tuple[int, int] | None, FileRow]:
        """Known files that exist and that the walk met under no known name, by their identity."""
        met = {os.path.normcase(file.location) for file in files}
        rows = (row for row in self.known.values() if row.present and os.path.normcase(row.location) not in met)
        found = {identity_of(row.path): row for row in rows if self._was_walked(row)}
        return {each: row for each, row in found.items() if each is not None}

    def _waiting(self, captures: Path) -> list[SourceFile]:
        """The folders of captures are not remembered: they are removed with the captures."""
        found = [file for file in sources.find(captures, problems=self.problems) if file.kind is FileKind.CAPTURE]
        self._source_of.update({file.location: Path(OWN) for file in found})
        return found

    def _jobs(self, files: list[SourceFile]) -> list[SessionJob]:
        """Sessions with something new, newest first, then files that belong to no session."""
        strays = OrphanAgentFiles(files)
        jobs: list[SessionJob] = []
        sessions = joined(sources.group(files), sources.group(self.waiting), self._has_captures)
        owned = strays.shared_out(sessions)
        claims = Claims(session for session, _ in owned)
        owned = self._without_copies(self._without_forgotten(owned, claims), claims)
        homes = self._homes(session for session, _ in owned)
        self._give_back_names(session for session, _ in owned)
        for session, own in sorted(owned, key=lambda pair: pair[0].mtime_ns, reverse=True):
            changed = self._changed((*session.all, *own))
            if changed:
                gone = self._missing(
                    session, {file.location for file in (*session.all, *own)}, homes.get(session.id) is session
                )
                whole = _with_missing(session, gone) if gone else session
                taken = {job.file.path for job in changed}
                changed = self._claimed(whole, changed)
                kept = remade((file for file in whole.captures if file.path not in taken), self.keys)
                jobs.append(
                    SessionJob(
                        files=whole,
                        gone={each.file.path: each.pieces for each in gone},
                        safe=self._safe,
                        strays=own,
                        of_others=claims.of_others(session) | self._ids_of_missing(session, claims),
                        changed=(*changed, *kept),
                        known_agents=self._known_agents((*whole.all, *own), changed),
                        prices=self._prices,
                    )
                )
        aside = [file for file in files if file.kind in _KEPT_ASIDE and file.session is None]
        return jobs + [SessionJob(files=None, changed=(job,)) for job in self._changed(aside)]

    def _ids_of_missing(self, session: SessionFiles, claims: Claims) -> frozenset[str]:
        """The ids in its lines under which the archive has another transcript of its folder, even one that is gone: two
        transcripts are never one session."""
        if session.trunk is None or has_own_name(session):
            return _NONE
        trunk = session.trunk
        return frozenset(name for name in claims.names_of(session) if self._others_called(name, trunk))

    def _give_back_names(self, sessions: Iterable[SessionFiles]) -> None:
        """An id belongs to the transcript named after it; another that only contained it gets its file name instead."""
        for session in sessions:
            trunk = session.trunk
            if trunk is not None and has_own_name(session) and self.keys.row(trunk.location) is None:
                for row in self._others_called(session.id, trunk):
                    other_places.call_by_file(self._connection, row)

    def _others_called(self, name: str, trunk: SourceFile) -> list[FileRow]:
        """Other transcripts of its folder that the archive has under an id."""
        found = self._sessions_called(name, folder_of(trunk))
        rows = (row for number in found for row in read.files_of(self._connection, number))
        return [row for row in rows if row.kind == FileKind.TRANSCRIPT and row.location != trunk.location]

    def _without_forgotten(self, owned: list[Owned], claims: Claims) -> list[Owned]:
        """What a person had reread forget stays forgotten, wherever it is found and whatever its name is there."""
        if not self.forgotten:
            return owned
        marks = user_data.content_marks(self.forgotten)
        kept = []
        for session, own in owned:
            if any(self.keys.row(file.location) is not None for file in session.all):
                kept.append((session, own))
                continue
            keys = {session_mark(name) for name in claims.names_of(session)}
            if session.trunk is not None:
                trunk = session.trunk
                keys |= self.keys.ever_of(trunk.location)
                keys |= {mark.key for mark in marks if mark.size <= trunk.size and mark.is_met_by(trunk.path)}
            if met := self.forgotten.keys() & keys:
                self.left_out[session.id] = max(self.forgotten[key] for key in met)
            else:
                kept.append((session, own))
        return kept

    def _without_copies(self, owned: list[Owned], claims: Claims) -> list[Owned]:
        """Copies of a session in another place are not read. A copy that has more than the original takes its place,
        and the original becomes the copy."""
        while True:
            places = PlaceSurvey(self._connection, self._machine, self._safe, self.known.values())
            kept = places.without_copies(owned, claims, self._source_of)
            if not places.moved:
                break
            self.moved += places.moved
            self._look_up_files()
        self.unchanged += places.unchanged
        self.placed, self.own_ways = places.found, places.own_ways
        self.outgrew_others = places.outgrew_others
        self.places_gone = places.gone(self._source_of)
        return kept

    def _look_up_files(self) -> None:
        grown = self._grown
        self.known = read.known_files(self._connection, self._machine) if grown is None else grown.known
        self.keys = FileKeys(self._machine, self.known.values())

    def source_of(self, file: SourceFile) -> Path:
        """The source that a file of this walk was found in."""
        return self._source_of[file.location]

    def _claimed(self, session: SessionFiles, changed: tuple[FileJob, ...]) -> tuple[FileJob, ...]:
        """Adds the trunk where it was imported before: its progress lines may have represented agents whose files are
        new."""
        agents = frozenset(
            job.file.agent or job.file.path.stem
            for job in changed
            if job.file.kind is FileKind.SUBAGENT and not job.indexed
        )
        trunk = session.trunk
        row = self.keys.row(trunk.location) if trunk is not None else None
        if not agents or trunk is None or row is None or not row.taken:
            return changed
        if all(job.file.path != trunk.path for job in changed):
            changed = (*changed, *self._again([trunk]))
        return tuple(replace(job, claimed=agents) if job.file.path == trunk.path else job for job in changed)

    def _known_agents(self, files: Sequence[SourceFile], changed: Sequence[FileJob]) -> tuple[FileJob, ...]:
        """The unchanged agents, if a changed file may name them: one with the call that starts them, or a meta file."""
        taken = {job.file.path for job in changed}
        others = [file for file in files if file.kind is FileKind.SUBAGENT and file.path not in taken]
        if not others or all(job.file.kind not in _NAMES_AGENTS for job in changed):
            return ()
        rows = {row.key: row.id for file in others if (row := self.keys.row(file.location)) is not None}
        agents = read.agents_of_responses(self._connection, rows.values())
        return tuple(replace(job, agents=agents.get(rows[job.key], _NONE)) for job in self._again(others))

    def _again(self, files: Iterable[SourceFile]) -> Iterator[FileJob]:
        """Jobs that make the rows of unchanged files again; what is written to one meanwhile is imported too."""
        for job in remade(files, self.keys):
            yield replace(job, indexed=self.known[job.key].indexed, is_kept=job.file.location not in self._source_of)

    def _has_captures(self, session: SessionFiles) -> bool:
        """Whether captures belong to this copy of a session already."""
        numbers = {row.session for row in self._captures.of(session.id)}
        rows = (self.keys.row(file.location) for file in session.all)
        return any(row is not None and row.session in numbers for row in rows)

    def _homes(self, sessions: Iterable[SessionFiles]) -> dict[str, SessionFiles]:
        """For each session that has captures, the copy they belong to."""
        found: dict[str, SessionFiles] = {}
        for session in sessions:
            if self._captures.of(session.id):
                best = found.setdefault(session.id, session)
                found[session.id] = max(best, session, key=self._claim)
        return found

    def _claim(self, session: SessionFiles) -> tuple[bool, bool, bool, int]:
        is_joined = bool(session.captures)
        return self._has_captures(session), is_joined, session.trunk is not None, session.mtime_ns

    def _missing(self, session: SessionFiles, there: set[str], is_home: bool) -> tuple[GoneFile, ...]:
        """Files that the session had when it was last read and no longer has, including captures that came first."""
        if session.trunk is None and session.captures:
            # The transcript may be gone or outside the folders of this walk: it is read from the safe.
            number = read.session_called(self._connection, self._machine, session.id)
            rows = read.files_of(self._connection, number) if number is not None else []
        else:
            numbers = {row.session for row in map(self.keys.row, there) if row is not None}
            if not numbers and session.all:  # every file known of it is gone, and other files have come
                numbers |= self._sessions_called(session.id, folder_of(session.all[0]))
            before = (read.files_of(self._connection, number) for number in numbers if number is not None)
            rows = [row for files in before for row in files if not os.path.lexists(row.location)]
        if is_home:
            rows += self._captures.of(session.id)
        return tuple(
            GoneFile(file=session_files.source_file(row, session.id), pieces=self._pieces(row))
            for row in {row.id: row for row in rows}.values()
            if row.location not in there and row.taken
        )

    def _sessions_called(self, name: str, folder: str) -> set[int]:
        """The sessions with this id and folder, whether or not any of their files still exist."""
        found = other_places.originals(self._connection, name) if self.known else []
        return {each.session for each in found if each.machine == self._machine and each.folder == folder}

    def _pieces(self, row: FileRow) -> tuple[StoredPiece, ...]:
        return tuple(read.pieces_of(self._connection, row.id, row.generation))

    def _changed(self, files: Iterable[SourceFile]) -> tuple[FileJob, ...]:
        found: list[FileJob] = []
        for file in files:
            try:
                job = file_job(self.keys, self._source_of[file.location], file, self.still_holds)
            except SourceError as problem:
                self.problems.append(problem)
                continue
            if job is None:
                self.unchanged += 1
            elif job.is_same:
                self.unchanged += 1
                self.same.append(job)
            elif not (self.forgotten and self.forgotten.keys() & self.keys.ever_of(file.location)):
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

    def _vanished(self, files: list[SourceFile]) -> list[str]:
        """Files that no longer exist, below a folder that could be walked."""
        seen = {os.path.normcase(file.location) for file in files}
        return [
            row.key
            for row in self.known.values()
            if row.present
            and os.path.normcase(row.location) not in seen
            and self._was_walked(row)
            and not os.path.lexists(row.location)
        ]

    def _was_walked(self, row: FileRow) -> bool:
        return any(parent in self.folders or parent in self.missing for parent in row.path.parents)


def _renamed(file: SourceFile, row: FileRow) -> SourceFile:
    where = sources.place(row.location) or SourcePlace(FileKind.TRANSCRIPT, row.path.stem)
    return SourceFile(row.location, *where, file.size, file.mtime_ns)


def _with_missing(session: SessionFiles, gone: tuple[GoneFile, ...]) -> SessionFiles:
    files = [each.file for each in gone]

    def only(kind: FileKind) -> tuple[SourceFile, ...]:
        return tuple(file for file in files if file.kind is kind)

    return replace(
        session,
        trunk=session.trunk or next(iter(only(FileKind.TRANSCRIPT)), None),
        subagents=(*session.subagents, *only(FileKind.SUBAGENT)),
        metas=(*session.metas, *only(FileKind.META)),
        tool_results=(*session.tool_results, *only(FileKind.TOOL_RESULT)),
        others=(*session.others, *only(FileKind.TITLE)),
        captures=sources.in_order((*session.captures, *only(FileKind.CAPTURE))),
    )
