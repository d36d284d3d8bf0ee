"""Reads a file as lines that know their place: number and byte offset.

Nothing is decoded, and nothing is left out but blank lines. Lines end at b"\\n" only: JSON text may hold
every other separator that `splitlines` knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from .arrays import elements, opens_array
from .files import HEAD, open_file, read_head

__all__ = ["WINDOW", "Line", "read", "read_array", "read_lines", "split", "split_array", "split_lines", "windows"]

WINDOW = 1 << 18
"""256 KiB stays in the processor's cache: 1 MiB windows were a quarter slower."""


class Line(NamedTuple):
    raw: bytes
    """Without the newline that ended it; an element of an array may hold newlines."""
    number: int
    offset: int
    ended: bool
    """False for a last line that may still be growing."""


def read(path: Path) -> Iterator[Line]:
    """The lines of a transcript, or the elements when it is stored as one JSON array."""
    return read_array(path) if opens_array(read_head(path)) else read_lines(path)


def read_lines(path: Path, *, start: int = 0, number: int = 1, window: int = WINDOW) -> Iterator[Line]:
    """Lines from byte `start`, where line `number` begins, to wherever the file ends by then.

    Holds one window and the longest line. Raises SourceError, also half-way.
    """
    with open_file(path) as file:
        file.seek(start)
        yield from split_lines(windows(file, window), offset=start, number=number)


def windows(file: BinaryIO, size: int = WINDOW) -> Iterator[bytes]:
    while data := file.read(size):
        yield data


def split_lines(chunks: Iterable[bytes], *, offset: int = 0, number: int = 1) -> Iterator[Line]:
    """Lines out of chunks cut anywhere; blank ones are counted but not given."""
    carried: list[bytes] = []
    for chunk in chunks:
        carried.append(chunk)
        if b"\n" not in chunk:
            continue  # Joining at newlines only keeps a line of a thousand chunks linear.
        data = b"".join(carried)
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if (raw := data[start:end]).strip():
                # The hot path of every command: calling Line() here costs a sixth of the speed.
                yield tuple.__new__(Line, (raw, number, offset + start, True))
            start = end + 1
            number += 1
        offset += start
        carried = [data[start:]] if start < len(data) else []
    if (raw := b"".join(carried)).strip():
        yield Line(raw, number, offset, ended=False)


def read_array(path: Path) -> Iterator[Line]:
    """One Line per element, numbered by the line it begins on; holds the whole file.

    What follows the last complete element of a damaged array comes as one Line that has not ended.
    """
    with open_file(path) as file:
        data = b"".join(windows(file))
    yield from split_array(data)


def split(data: bytes) -> Iterator[Line]:
    """The lines of a transcript that is already in memory, whichever way it is stored."""
    return split_array(data) if opens_array(data[:HEAD]) else split_lines([data])


def split_array(data: bytes) -> Iterator[Line]:
    number, counted = 1, 0
    for begin, end, ended in elements(data):
        number += data.count(b"\n", counted, begin)
        counted = begin
        yield Line(data[begin:end], number, begin, ended)
