"""What sessions are called in the archive: files that were copied or renamed may tell the id of another one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reread.loading import DISK, Disk, has_own_name, ids_of
from reread.sessions import Session
from reread.sources import SessionFiles, SourceFile


class Claims:
    """Which file of a folder an id belongs to: the one that is called so, else the first by name that tells it."""

    def __init__(self, sessions: Iterable[SessionFiles], disk: Disk = DISK) -> None:
        self._owners: dict[tuple[Path, str], Path] = {}
        self._told: dict[Path, set[str]] = {}
        for session, trunk in sorted(_trunks(sessions), key=_precedence):
            self._told[trunk.path] = ids_of(session, disk)
            for name in self._told[trunk.path]:
                self._owners.setdefault((trunk.folder, name), trunk.path)

    def names_of(self, session: SessionFiles) -> set[str]:
        """The ids that a session may have: those that it tells, or that its place gives it."""
        return self._told[session.trunk.path] if session.trunk is not None else {session.id}

    def of_others(self, session: SessionFiles) -> frozenset[str]:
        """The ids it tells that belong to another file of its folder."""
        trunk = session.trunk
        if trunk is None:
            return frozenset()
        return frozenset(name for name in self._told[trunk.path] if self._owners[trunk.folder, name] != trunk.path)


def _trunks(sessions: Iterable[SessionFiles]) -> list[tuple[SessionFiles, SourceFile]]:
    return [(session, session.trunk) for session in sessions if session.trunk is not None]


def _precedence(each: tuple[SessionFiles, SourceFile]) -> tuple[bool, bool, str]:
    session, trunk = each
    return not has_own_name(session), trunk.path.suffix != ".jsonl", trunk.path.name


def name_of(session: Session, files: SessionFiles, of_others: frozenset[str]) -> str:
    """Its id; the name of its file, as it was given or whole, where that belongs to another."""
    if files.trunk is None or session.id not in of_others:
        return session.id
    return files.id if files.id not in of_others else files.trunk.path.name
