"""Finds out quickly that nothing has changed, as is the case for most syncs.

It is a module of its own because this check must run before anything larger is imported.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from reread import changes
from reread.home import JOURNAL, whole_path

UNREAD = -1
"""The modification time stored for what could not be read at the last walk."""

MOST_LOOKED_AT = 10_000
"""How many files a glance before an answer looks at: the newest, and a share of the others that changes every second. A
stat takes 3 microseconds; a hundred thousand of them would take longer than the answer."""
_NEWEST = 8_000
_LATEST = 20
_LATELY_NS = 24 * 3600 * 10**9
_GROWING_NS = 60 * 10**9
"""How long writing a backup may take; generous, because the file may be on a network drive."""


def remember(connection: sqlite3.Connection, machine: str, folders: Mapping[str, int]) -> None:
    """Packs into one row the folders of the walk with their times, then the states of a machine's files, newest first.

    A file marked present that no longer exists belongs to a source that was not part of this walk: it is left out, or
    it would count as a change for ever. Backups are written once: new ones change their folders, so only a backup that
    may still be growing is included itself.
    """
    rows = connection.execute(
        """SELECT path, size, mtime_ns FROM file
           WHERE machine = ? AND present = 1 AND (backup_of IS NULL OR mtime_ns > ?)
           UNION SELECT path, size, mtime_ns FROM file_copy WHERE machine = ? AND present = 1 ORDER BY mtime_ns DESC""",
        (machine, time.time_ns() - _GROWING_NS, machine),
    )
    states = {os.fsencode(path): _packed(changes.FOLDER, mtime_ns) for path, mtime_ns in folders.items()}
    for path, size, mtime_ns in rows:
        if os.path.lexists(path):
            states[os.fsencode(path)] = _packed(size, mtime_ns)
    sizes, times = (b"".join(state[part] for state in states.values()) for part in (slice(8), slice(8, None)))
    _keep(connection, machine, states, sizes + times)


def remember_grown(connection: sqlite3.Connection, machine: str, keys: Iterable[str]) -> None:
    """Stores the new states of some files, which become the newest; all others stay."""
    paths, *states = _recalled(connection, machine)
    sizes, times = map(list, states)
    first = _first_file(sizes)
    for key in keys:
        for path, size, mtime_ns in connection.execute("SELECT path, size, mtime_ns FROM file WHERE key = ?", (key,)):
            name = os.fsencode(path)
            if name in paths:
                place = paths.index(name)
                del paths[place], sizes[place], times[place]
            paths.insert(first, name)
            sizes.insert(first, size)
            times.insert(first, mtime_ns)
    _keep(connection, machine, paths, struct.pack(f"<{2 * len(paths)}q", *sizes, *times))


def _packed(size: int, mtime_ns: int) -> bytes:
    """The stored form. As Python integers, these numbers would be most of the memory of a sync of many files."""
    return struct.pack("<2q", size, mtime_ns)


def _keep(connection: sqlite3.Connection, machine: str, paths: Iterable[bytes], states: bytes) -> None:
    connection.execute("INSERT OR REPLACE INTO source_state VALUES (?, ?, ?)", (machine, b"\0".join(paths), states))


def look_again(connection: sqlite3.Connection) -> None:
    """Makes the next sync walk, whatever the last one found."""
    connection.execute("DELETE FROM source_state")


def _recalled(connection: sqlite3.Connection, machine: str) -> tuple[list[bytes], Sequence[int], Sequence[int]]:
    """Paths, sizes and times, in the same order; empty if no walk was finished."""
    row = connection.execute("SELECT paths, states FROM source_state WHERE machine = ?", (machine,)).fetchone()
    if row is None or not row[1]:
        return [], (), ()
    paths = row[0].split(b"\0")
    if len(row[1]) != 16 * len(paths):  # damaged: the next sync walks, and remembers again
        return [], (), ()
    states = struct.unpack(f"<{2 * len(paths)}q", row[1])
    return paths, states[: len(paths)], states[len(paths) :]


def seen(connection: sqlite3.Connection, machine: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of every file and folder at the last walk; a folder's size is -1."""
    paths, sizes, times = _recalled(connection, machine)
    return ((os.fsdecode(path), size, time) for path, size, time in zip(paths, sizes, times, strict=True))


def is_as_it_was(
    connection: sqlite3.Connection, machine: str, places: Sequence[Path], *, is_glance: bool = False
) -> bool:
    """Whether nothing has changed since the last sync, at the cost of a stat per file and folder.

    A glance looks at every folder, and so finds every new file, but if there are very many files only at some: an old
    file that grows again today is found by the next sync, or by a later glance.
    """
    paths, sizes, times = _recalled(connection, machine)
    if UNREAD in times or not all(os.fsencode(whole_path(place)) in paths for place in places):
        return False
    parts = _looked_at(sizes, is_glance=is_glance)
    return all(all(map(changes.is_as_it_was, paths[part], sizes[part], times[part])) for part in parts)


class ChangedStates:
    """Files and folders that changed since the last walk, and those that did not."""

    def __init__(self, states: Iterable[tuple[bytes, int, int]]) -> None:
        self.folders: list[str] = []
        self.files: list[str] = []
        self.other_folders: dict[str, int] = {}
        self.other_files = 0
        for path, size, mtime_ns in states:
            if not changes.is_as_it_was(path, size, mtime_ns):
                (self.folders if size == changes.FOLDER else self.files).append(os.fsdecode(path))
            elif size == changes.FOLDER:
                self.other_folders[os.fsdecode(path)] = mtime_ns
            else:
                self.other_files += 1


def changed_states(connection: sqlite3.Connection, machine: str, places: Sequence[Path]) -> ChangedStates | None:
    """None where something could not be read or a place was not walked: then only a walk can tell."""
    paths, sizes, times = _recalled(connection, machine)
    if UNREAD in times or not all(os.fsencode(whole_path(place)) in paths for place in places):
        return None
    return ChangedStates(zip(paths, sizes, times, strict=True))


def _looked_at(sizes: Sequence[int], *, is_glance: bool) -> list[slice]:
    """The parts to look at, the likeliest to have changed first: the latest files, the folders, then everything else.

    A glance leaves out all but the newest files and a share of the others that changes with time.
    """
    first = _first_file(sizes)
    begun = [slice(first, first + _LATEST), slice(first)]
    newest = first + _NEWEST
    share = MOST_LOOKED_AT - _NEWEST
    if not is_glance or len(sizes) <= first + MOST_LOOKED_AT:
        return [*begun, slice(first + _LATEST, None)]
    shares = -(-(len(sizes) - newest) // share)
    others = newest + time.time_ns() // 10**9 % shares * share
    return [*begun, slice(first + _LATEST, newest), slice(others, others + share)]


def _first_file(sizes: Sequence[int]) -> int:
    """The index of the first file; folders come before it."""
    return next((place for place, size in enumerate(sizes) if size != changes.FOLDER), len(sizes))


class WatchedFiles:
    """All files and folders of the last walk, for repeated checks whether they changed.

    What was written in the last day, and the folders in which new sessions appear, are looked at each time, everything
    else only on request: with thousands of old sessions, a stat for each would show in a process list.
    """

    def __init__(self, connection: sqlite3.Connection, machine: str) -> None:
        now_ns = time.time_ns()
        recalled = zip(*_recalled(connection, machine), strict=True)
        readable = [state for state in recalled if state[2] != UNREAD]
        self._hot = [state for state in readable if _is_hot(*state, now_ns)]
        self._cold = [state for state in readable if not _is_hot(*state, now_ns)]

    def have_changed(self, *, with_old: bool) -> bool:
        return not all(changes.is_as_it_was(*state) for state in (*self._hot, *(self._cold if with_old else ())))


def _is_hot(path: bytes, size: int, mtime_ns: int, now_ns: int) -> bool:
    return now_ns - mtime_ns < _LATELY_NS or (size == changes.FOLDER and _is_project_folder(os.fsdecode(path)))


def _is_project_folder(path: str) -> bool:
    """Whether it is `projects` or a folder in it, where the files of new sessions appear."""
    return "projects" in Path(path).parts[-2:]


def has_captures(wire: Path) -> bool:
    """Whether captures of finished runs wait in this folder to be imported; it is empty otherwise."""
    return any(
        entry.name.endswith(".wire") for folder in _entries(wire) if folder.is_dir() for entry in _entries(folder)
    )


def has_unfinished_captures(wire: Path) -> bool:
    """Whether there are captures of runs that still last, or that a killed process left behind."""
    return any(entry.name.endswith(".part") for entry in _entries(wire))


def _entries(folder: Path | os.DirEntry[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:  # usually it does not exist
        return []


def is_forgetting(safe: Path) -> bool:
    """Whether a forget was begun in this safe and not finished."""
    return os.path.lexists(safe / JOURNAL)
