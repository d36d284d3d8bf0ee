"""Follows a file that another process appends to, by looking at it now and then.

The file is never held open between two looks: on Windows that would keep its writer from replacing it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from .lines import HEAD, Line, open_regular, source_error, split_lines, windows

__all__ = ["Reset", "follow", "follow_looks"]

Reason = Literal["truncated", "replaced", "deleted"]


class Reset(NamedTuple):
    """The lines given so far are no longer the file's: it starts over at offset 0, line 1."""

    reason: Reason


def follow(
    path: Path,
    *,
    start: int = 0,
    number: int = 1,
    interval: float = 0.1,
    stop: threading.Event | None = None,
) -> Iterator[Line | Reset]:
    """Lines from byte `start`, where line `number` begins, each once its newline is written.

    Waits for a file that is not there yet, and ends only when `stop` is set. An idle look costs one stat.
    Raises SourceError when the file is there but cannot be read.
    """
    stop = stop or threading.Event()
    for events in follow_looks(path, start=start, number=number, interval=interval, stop=stop):
        for event in events:
            yield event
            if stop.is_set():
                return


def follow_looks(
    path: Path,
    *,
    start: int = 0,
    number: int = 1,
    interval: float = 0.1,
    stop: threading.Event | None = None,
) -> Iterator[Iterator[Line | Reset]]:
    """The same, a look at a time: what came together can be dealt with together. A look may bring nothing."""
    stop = stop or threading.Event()
    tail = _Tail(path, start, number)
    while not stop.is_set():
        yield tail.look()
        stop.wait(interval)


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


class _Tail:
    """How far a growing file has been read, and what it looked like then."""

    def __init__(self, path: Path, offset: int, number: int) -> None:
        self._path = path
        self._offset = offset
        self._number = number
        self._seen: _Seen | None = None
        self._head = b""

    def look(self) -> Iterator[Line | Reset]:
        try:
            now = _Seen.of(self._path.stat())
            if now != self._seen:
                with open_regular(self._path) as file:
                    yield from self._changes(file, now)
        except FileNotFoundError:
            if self._seen:
                yield self._start_over("deleted")
        except OSError as error:
            raise source_error(self._path, error) from error

    def _changes(self, file: BinaryIO, now: _Seen) -> Iterator[Line | Reset]:
        if reason := self._reason_to_reset(file, now):
            yield self._start_over(reason)
        self._seen = now
        file.seek(self._offset)
        # A partial line is read again at each look: the client writes lines whole, so it is rare and short.
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
