"""Captures of runs and the sessions they belong to: by their id, whatever folder the transcript lies in."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from reread import sources
from reread.sources import Kind, SessionFiles, SourceFile
from reread.store import reading
from reread.store.database import is_durable
from reread.store.keys import FileKeys, session_mark
from reread.store.rows import OWN, FileRow
from reread.store.sessions import names_by_id

from .jobs import FileJob

Home = Callable[[SessionFiles], bool]


def joined(
    sessions: Sequence[SessionFiles], captured: Iterable[SessionFiles], is_home: Home = lambda _: False
) -> list[SessionFiles]:
    """The sessions, each with the captures of its id; captures that no session is there for are sessions themselves.

    Copies of a session may lie in several folders: the captures go to the one they belong to already, else to one with
    a transcript, else to the newest.
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
    """The captures that were taken before: their files are gone, on purpose."""

    def __init__(self, connection: sqlite3.Connection, known: Mapping[str, FileRow]) -> None:
        rows = [row for row in known.values() if row.kind == Kind.CAPTURE and row.session is not None]
        names = names_by_id(connection) if rows else {}
        self._by_session: dict[str, list[FileRow]] = {}
        for row in rows:
            if not os.path.lexists(row.path):
                self._by_session.setdefault(names[row.session or 0], []).append(row)

    def of(self, session: str) -> list[FileRow]:
        return self._by_session.get(session, [])


def remade(captures: Iterable[SourceFile], known: Mapping[str, FileRow], keys: FileKeys) -> list[FileJob]:
    """What a capture adds depends on its transcript, so that its rows are made again whenever a file of it changed."""
    found = []
    for file in captures:
        row = known.get(keys.of(file.path))
        if row is not None:
            found.append(
                FileJob(
                    file=replace(file, size=row.size, mtime_ns=row.mtime_ns),
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
            )
    return found


def put_away(connection: sqlite3.Connection, machine: str, waiting: Sequence[SourceFile], names: Sequence[str]) -> None:
    """Removes captures whose bytes are in the safe, once a crash of the machine could not lose the rows that say so.

    Also those that somebody had forgotten. What cannot be removed now is met by the next sync.
    """
    if not waiting or not is_durable(connection):
        return
    known = reading.known_files(connection, machine)
    forgotten = reading.forgotten(connection)
    keys = FileKeys(machine, names, known.values())
    for file in waiting:
        row = known.get(keys.of(file.path))
        is_forgotten = bool(forgotten.keys() & {session_mark(file.session or ""), *keys.ever_of(file.path)})
        if is_forgotten or (row is not None and row.source == OWN and row.taken == file.size):
            _remove(file.path)


def remove_waiting(wire: Path, session: str) -> None:
    """The captures of a session that were not taken in yet."""
    # By comparing names: the id of a session may come out of a line, and need be no name of a file.
    folders = [folder for folder in wire.iterdir() if folder.name == session] if wire.is_dir() else []
    for capture in (path for folder in folders for path in folder.glob("*.wire")):
        _remove(capture)


def _remove(path: Path) -> None:
    """A capture, and its session's folder with the last one."""
    try:
        path.unlink(missing_ok=True)
        path.parent.rmdir()
    except OSError:  # the folder has more in it, or another program holds the file: the next sync comes by again
        return
