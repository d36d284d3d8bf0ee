"""Follows files that other processes append to, by looking at them repeatedly: the only follower in reread.

`follow` gives the lines of one file, `Tail` those of all growing sessions below some sources; both read through
`FileTail`. `pace` decides when to look, and is the only place that waits. Only whole lines are given; a file that was
cut short, replaced or removed starts over. No file is held open between two looks: on Windows its writer could then not
replace it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from msgspec.structs import replace

from reread.errors import SourceError
from reread.home import whole_path

from .find import FileKind, SourceFile, find
from .lines import HEAD, Line, open_regular, source_error, split_lines, windows

OFTEN = 0.1
SELDOM = 2.0
"""Seconds between looks: `OFTEN` for files that are being written, `SELDOM` for all others."""
BUSY = 0.02
"""The share of time that looks at the other files may take: with thousands of old sessions a look is expensive."""
LONGEST = 10.0
"""The most seconds between two looks, however long the first took."""
AWAKE = 600.0
"""A session that grew within this many seconds counts as being written."""

Reason = Literal["truncated", "replaced", "deleted"]


class Reset(NamedTuple):
    """The lines given so far are no longer those of the file: it starts over at offset 0, line 1."""

    reason: Reason


def follow(
    path: Path, *, start: int = 0, number: int = 1, interval: float = 0.1, stop: threading.Event | None = None
) -> Iterator[Line | Reset]:
    """Lines from byte `start`, where line `number` begins, each once its newline is written.

    Waits for a file that does not exist yet, and ends only when `stop` is set. An idle look costs one stat.
    Raises SourceError when the file exists but cannot be read.
    """
    if stop is not None and stop.is_set():
        return
    tail = FileTail(path, start, number)
    for _ in chain([False], pace(stop, often=interval)):
        for event in tail.look():
            yield event
            if stop is not None and stop.is_set():
                return


def pace(
    stop: threading.Event | None, *, often: float = OFTEN, seldom: float = SELDOM, share: float = 1.0
) -> Iterator[bool]:
    """Waits before each look, and ends when `stop` is set; yields whether the other files are due for a look as well.

    These looks become rarer the longer they take. `share` is the part of a processor that all looks may take, including
    what this thread does with their results.
    """
    due = time.monotonic() + seldom
    pause = often
    while not _is_over(stop, pause):
        began, used = time.monotonic(), time.thread_time()
        is_due = began >= due
        yield is_due
        if is_due:
            now = time.monotonic()
            due = now + max(seldom, (now - began) / BUSY)
        used = time.thread_time() - used
        pause = max(often, min(used / share - used, LONGEST))


def _is_over(stop: threading.Event | None, pause: float) -> bool:
    """Waits; whether `stop` was set. Without `stop` it sleeps: Ctrl-C while waiting for an event can come when the lock
    of the event is released, and then becomes an error of that lock (CPython 3.11)."""
    if stop is not None:
        return stop.wait(pause)
    time.sleep(pause)
    return False


class _Seen(NamedTuple):
    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> _Seen:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def is_same_file(self, other: _Seen) -> bool:
        return (self.device, self.inode) == (other.device, other.inode)


class FileTail:
    """How far a growing file has been read, and what it looked like then."""

    def __init__(self, path: Path, offset: int = 0, number: int = 1) -> None:
        self._path = path
        self._offset = offset
        self._number = number
        self._seen: _Seen | None = None
        self._head = b""

    def look(self) -> Iterator[Line | Reset]:
        """What was written since the last look; one stat if nothing was."""
        try:
            now = _Seen.of(self._path.stat())
            if now != self._seen:
                with open_regular(self._path) as file:
                    yield from self._changes(file, now)
        except FileNotFoundError:
            if self._seen:
                yield self._start_over("deleted")
        except (OSError, ValueError) as error:
            raise source_error(self._path, error) from error

    def _changes(self, file: BinaryIO, now: _Seen) -> Iterator[Line | Reset]:
        if reason := self._reason_to_reset(file, now):
            yield self._start_over(reason)
        self._seen = now
        file.seek(self._offset)
        # A partial line is read again at each look; the client writes whole lines, so it is rare and short.
        for line in split_lines(windows(file), offset=self._offset, number=self._number):
            if line.ended:
                self._offset = line.offset + len(line.raw) + 1
                self._number = line.number + 1
                yield line
        self._head = _first_bytes(file, min(self._offset, HEAD))

    def _reason_to_reset(self, file: BinaryIO, now: _Seen) -> Reason | None:
        if self._seen and not now.is_same_file(self._seen):
            return "replaced"
        if now.size < max(self._offset, self._seen.size if self._seen else 0):
            return "truncated"
        if _first_bytes(file, len(self._head)) != self._head:
            return "replaced"
        return None

    def _start_over(self, reason: Reason) -> Reset:
        self._offset, self._number, self._seen, self._head = 0, 1, None, b""
        return Reset(reason)


def _first_bytes(file: BinaryIO, size: int) -> bytes:
    file.seek(0)
    return file.read(size)


_SPOKEN = (FileKind.TRANSCRIPT, FileKind.SUBAGENT)


class AppendedLine(NamedTuple):
    """A whole line of a session's transcript, or of one of its agents."""

    file: SourceFile
    line: Line
    is_old: bool
    """Whether the line was there before the session was first looked at."""


class SessionTail:
    """The files of one session, read once from the beginning, and then as they grow."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.grew = time.time()
        self._files: dict[Path, tuple[SourceFile, int]] = {}
        self._tails: dict[Path, FileTail] = {}

    @property
    def side_files(self) -> list[SourceFile]:
        """The files of the session that are not part of the conversation."""
        return [file for file, _ in self._files.values() if file.kind not in _SPOKEN]

    def look_around(self, trunk: Path) -> None:
        """Adds the trunk, whatever its name and place, and the files of its session that exist by now."""
        for file in _files_at(trunk):
            is_trunk = file.path == whole_path(trunk)
            self.add(replace(file, kind=FileKind.TRANSCRIPT, agent=None) if is_trunk else file, 0)

    def add(self, file: SourceFile, old: int) -> None:
        """Adds a file of the session; its first `old` bytes were there before the session was first looked at."""
        if file.path not in self._files:
            self._files[file.path] = (file, old)
            if file.kind in _SPOKEN:
                self._tails[file.path] = FileTail(file.path)

    def look(self) -> list[AppendedLine] | Reset:
        """What was written since the last look. After a Reset, everything in the files comes again, as new."""
        found: list[AppendedLine] = []
        for path, tail in self._tails.items():
            file, old = self._files[path]
            for item in tail.look():
                if isinstance(item, Reset):
                    self._restart()
                    return item
                found.append(AppendedLine(file, item, item.offset + len(item.raw) < old))
        if any(not each.is_old for each in found):
            self.grew = time.time()
        return found

    def _restart(self) -> None:
        files, self._files, self._tails = self._files, {}, {}
        for path, (file, _) in files.items():
            if path.exists():
                self.add(file, 0)


def _files_at(place: Path) -> Iterator[SourceFile]:
    """The files of a folder, or those of a trunk and of its session's folder."""
    for part in [place] if place.is_dir() else [place, place.with_suffix("")]:
        if part.exists():
            yield from find(part, problems=[])


class Tail:
    """All sessions of some sources; only those that grow are read. What cannot be read is added to `problems`."""

    def __init__(self, places: Sequence[Path], problems: list[SourceError]) -> None:
        self._places = places
        self._problems = problems
        self._sizes: dict[Path, int] = {}
        self._sessions: dict[tuple[Path, str], SessionTail] = {}
        found = list(self._found())
        self._sizes = {file.path: file.size for file in found}
        awake = time.time() - AWAKE
        self._open([file for file in found if file.mtime_ns / 1e9 > awake], found)

    @property
    def sessions(self) -> list[SessionTail]:
        """The sessions that grew lately."""
        return list(self._sessions.values())

    def look(self, *, is_due: bool) -> Iterator[tuple[SessionTail, list[AppendedLine] | Reset]]:
        """What was written to each session that grew lately; if `is_due`, new and old files are looked for first."""
        if is_due:
            self._look_around()
        for key, session in list(self._sessions.items()):
            try:
                yield session, session.look()
            except SourceError as problem:
                self._problems.append(problem)
                del self._sessions[key]

    def _look_around(self) -> None:
        """Finds new files, and old ones that grow again."""
        found = list(self._found())
        self._open([file for file in found if file.size != self._sizes.get(file.path)], found)
        self._sizes.update((file.path, file.size) for file in found)
        asleep = time.time() - AWAKE
        self._sessions = {key: each for key, each in self._sessions.items() if each.grew > asleep}

    def _found(self) -> Iterator[SourceFile]:
        for place in self._places:
            yield from (file for file in _files_at(place) if file.session is not None)

    def _open(self, grown: Sequence[SourceFile], found: Sequence[SourceFile]) -> None:
        """From now on reads the sessions of the `grown` files, with all their files."""
        keys = {(file.folder, file.session or "") for file in grown if file.kind in _SPOKEN}
        for file in found:
            key = (file.folder, file.session or "")
            if key in keys:
                session = self._sessions.setdefault(key, SessionTail(key[1]))
                session.add(file, self._sizes.get(file.path, 0))
