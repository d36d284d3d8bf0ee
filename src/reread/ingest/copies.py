"""Which session of a walk is a copy of which, and whose an id is: the same for a sync, a rebuild and a lake.

Sessions are compared by their files alone. Whether the archive has one already is asked in `known_copies`; a team's
store, which never sees the files, compares digests of their lines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from reread import sources
from reread.loading import DISK, FileReader, OrphanAgentFiles, has_own_name
from reread.loading import ids_of as recorded_ids
from reread.rows.groups import grouped
from reread.sessions import Session
from reread.sources import FileKind, SessionFiles, SourceFile
from reread.sources.find import Role, folder_of, role_of

Owned = tuple[SessionFiles, tuple[SourceFile, ...]]
"""A session, and the agent files beside it that only their records assign to it."""
Pair = tuple[SourceFile, SourceFile]
"""A file, and the file that contains all of it."""
_NONE: frozenset[str] = frozenset()
"""One shared object: Python makes a new empty frozenset every time."""


IsOwner = Callable[[SessionFiles], bool]


def owned_sessions(
    files: Sequence[SourceFile],
    disk: FileReader = DISK,
    captured: Iterable[SourceFile] = (),
    is_owner: IsOwner = lambda _: False,
) -> tuple[list[Owned], IdOwners]:
    """The sessions of these files, each with its agent files and captures, and whose their ids are."""
    sessions = with_captures(sources.group(files), sources.group(captured), is_owner)
    owned = OrphanAgentFiles(files, disk).assign_to(sessions)
    return owned, IdOwners((session for session, _ in owned), disk)


class IdOwners:
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
            self._told[trunk.location] = recorded_ids(session, disk)
        asked = {(folder_of(trunk), name) for _, trunk in odd for name in self._told[trunk.location]}
        usual = (each for each in trunks if asked and (folder_of(each[1]), each[0].id) in asked)
        for session, trunk in sorted(
            (*odd, *(each for each in usual if each[1].location not in self._told)), key=_precedence
        ):
            for name in self.ids_of(session):
                self._owners.setdefault((folder_of(trunk), name), trunk.location)

    def ids_of(self, session: SessionFiles) -> set[str]:
        """The ids that a session may have: those in its lines, or the one that its path gives it."""
        names = self._told.get(session.trunk.location) if session.trunk is not None and self._told else None
        return {session.id} if names is None else names

    def foreign(self, session: SessionFiles) -> frozenset[str]:
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


def session_name(session: Session, files: SessionFiles, foreign: frozenset[str]) -> str:
    """The session's id; if that belongs to another session, the id its path gives it, or else its whole file name."""
    if files.trunk is None or session.id not in foreign:
        return session.id
    return files.id if files.id not in foreign else files.trunk.path.name


def with_captures(
    sessions: Sequence[SessionFiles], captured: Iterable[SessionFiles], is_owner: IsOwner
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
        owner = max(copies, key=lambda i: (is_owner(found[i]), found[i].trunk is not None, found[i].mtime_ns))
        found[owner] = found[owner].with_files(each.captures)
    return found


def without_copies(
    owned: Iterable[Owned],
    owners: IdOwners,
    begins_with: Callable[[SourceFile, SourceFile], bool],
    *,
    is_settled: Callable[[Owned], bool] = lambda each: not own_files(*each),
    is_kept: Callable[[Owned, set[str]], bool] = lambda _each, _ids: False,
    is_preferred: Callable[[SourceFile], bool] = lambda _file: False,
) -> tuple[list[Owned], list[Pair]]:
    """The sessions to read, and the files of copies with the files that contain them.

    A session is a copy if each of its files is the beginning of another's, or if `is_kept` says so, which is asked with
    its ids. Those that are settled are not compared. Of equal ones, that with files that are preferred is the original.
    """
    groups = grouped(owned, is_settled)
    settled, compared = groups.get(True, []), groups.get(False, [])
    shared = _shared_names(owners.ids_of(session) for session, _ in compared)
    leaders: dict[str, list[dict[Role, SourceFile]]] = {}
    kept: list[Owned] = []
    copies: list[Owned] = []
    pairs: list[Pair] = []
    for each in sorted(compared, key=partial(_rank, is_preferred)):
        ids = owners.ids_of(each[0])
        if is_kept(each, ids):
            copies.append(each)
            continue
        here = by_role(own_files(*each)) if (names := shared.intersection(ids)) else {}
        if found := _original_beside(here, names, leaders, begins_with):
            copies.append(each)
            pairs += found
        else:
            kept.append(each)
            for name in names:
                leaders.setdefault(name, []).append(here)
    return _with_captures_of(copies, [*settled, *kept]), pairs


def _rank(is_preferred: Callable[[SourceFile], bool], each: Owned) -> tuple[int, bool, str]:
    """The larger first, since only a larger session can contain another."""
    files = own_files(*each)
    return (-sum(file.size for file in files), not all(map(is_preferred, files)), min(file.location for file in files))


def _original_beside(
    here: Mapping[Role, SourceFile],
    names: Iterable[str],
    leaders: Mapping[str, Sequence[Mapping[Role, SourceFile]]],
    begins_with: Callable[[SourceFile, SourceFile], bool],
) -> list[Pair]:
    """Each file of a session paired with the file of a larger session that contains it; empty if no session has all."""
    for there in (each for name in sorted(names) for each in leaders.get(name, ())):
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


def by_role(files: Iterable[SourceFile]) -> dict[Role, SourceFile]:
    return {role_of(file.kind, file.path): file for file in files}


def _with_captures_of(copies: Sequence[Owned], kept: list[Owned]) -> list[Owned]:
    """Captures of a copy go to its original; if this walk did not find the original, it is read from the safe."""
    for session, _ in copies:
        if session.captures:
            place = next((i for i, (each, _) in enumerate(kept) if each.id == session.id), None)
            if place is None:
                kept.append((SessionFiles(id=session.id, trunk=None, captures=session.captures), ()))
            else:
                owner, its_own = kept[place]
                kept[place] = (owner.with_files(session.captures), its_own)
    return kept
