"""Reads files as lines that know their number and byte offset, JSON arrays included."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from reread import lazy
from reread.errors import SourceError

HEAD = 1024
"""How many bytes at the beginning are examined to tell what a file is."""

_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes({*range(1, 32), 127} - set(b"\t\n\v\f\r\x1b"))

_REASONS: tuple[tuple[type[OSError], str], ...] = (
    (FileNotFoundError, "no such file or folder"),
    (NotADirectoryError, "no such file or folder"),
    (IsADirectoryError, "is a folder, not a file"),
    (PermissionError, "permission denied"),
)


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Opens a regular file for reading; whatever fails while it is open becomes a SourceError."""
    try:
        with open_regular(path) as file:
            yield file
    except (OSError, ValueError) as error:
        raise source_error(path, error) from error


def open_regular(path: Path) -> BinaryIO:
    """Like `open_file`, but raises the system's own errors; unbuffered, and the caller closes it."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError  # Windows would call it a permission problem
    if not stat.S_ISREG(mode):
        raise SourceError(path, "is not a regular file")
    return cast(BinaryIO, path.open("rb", buffering=0))


def source_error(path: Path, error: OSError | ValueError) -> SourceError:
    """The failure as a SourceError, in words a person understands."""
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return SourceError(path, reason)
    # A ValueError comes from a name that no system call accepts, such as one with a NUL in it.
    return SourceError(path, f"cannot be read ({getattr(error, 'strerror', None) or error})")


def read_head(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read(HEAD)


def looks_binary(head: bytes) -> bool:
    """Whether these first bytes of a file belong to something that was never text.

    A NUL alone proves nothing: PowerShell redirects in UTF-16, and a power cut leaves runs of NULs in a
    text file. Binary formats mix NULs with other control bytes, which JSON must escape and UTF-16 text
    in a Latin script does not produce. A byte-order mark settles it.
    """
    if b"\0" not in head or head.startswith(_BOMS):
        return False
    return len(head.translate(None, _CONTROLS)) < len(head)


_BOM = b"\xef\xbb\xbf"
_ARRAY = rb"(?:\xef\xbb\xbf)?\s*\["
_OPENING = lazy.pattern(_ARRAY)
_OPENING_OF_RECORDS = lazy.pattern(_ARRAY + rb"\s*(?:[{\]]|\Z)")
_GAP = lazy.pattern(rb"[\s,]*+")
# Possessive, so that a string of 100 MB costs no backtracking memory; a lone quote is a string cut short.
_TOKEN = lazy.pattern(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)
_DECODER = msgspec.json.Decoder(list[msgspec.Raw])


class ElementSpan(NamedTuple):
    begin: int
    end: int
    ended: bool
    """Whether a comma or the closing bracket followed."""


def opens_array(head: bytes) -> bool:
    """Whether a file with this beginning is a JSON array of records.

    A bracket alone is not enough: captured output may begin with a line like `[info] ready`.
    """
    return _OPENING_OF_RECORDS.match(head) is not None


def elements(data: bytes) -> Iterator[ElementSpan]:
    """The spans of an array's elements; the rest of a damaged array is one more span, not ended."""
    opening = _OPENING.match(data)
    position = opening.end() if opening else 0
    try:
        found = _DECODER.decode(memoryview(data)[len(_BOM) if data.startswith(_BOM) else 0 :])
    except (msgspec.DecodeError, RecursionError):
        return _scan(data, position)
    return _measure(data, position, found)


def _measure(data: bytes, position: int, found: list[msgspec.Raw]) -> Iterator[ElementSpan]:
    """msgspec gives the bytes of each element but not their place: they follow each other in order, with gaps."""
    for element in found:
        gap = _GAP.match(data, position)
        begin = gap.end() if gap else position
        position = begin + memoryview(element).nbytes
        yield ElementSpan(begin, position, ended=True)


def _scan(data: bytes, position: int) -> Iterator[ElementSpan]:
    """For text that msgspec refuses: NaN, lone surrogates, control bytes, a file cut short."""
    depth = 0
    for token in _TOKEN.finditer(data, position):
        mark = data[token.start() : token.start() + 1]
        if mark == b'"':
            if token.end() - token.start() == 1:
                break
        elif mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if depth < 0 or (depth == 0 and mark == b","):
            yield from _trimmed(data, position, token.start(), ended=True)
            position = token.end()
        if depth < 0:
            break
    yield from _trimmed(data, position, len(data), ended=False)


def _trimmed(data: bytes, begin: int, end: int, *, ended: bool) -> Iterator[ElementSpan]:
    text = data[begin:end].lstrip()
    if text:
        yield ElementSpan(end - len(text), end - len(text) + len(text.rstrip()), ended)


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
    """Lines from byte `start`, where line `number` begins, to the end that the file has by then.

    Holds one window and the longest line. May raise SourceError half-way.
    """
    with open_file(path) as file:
        file.seek(start)
        yield from split_lines(windows(file, window), offset=start, number=number)


def windows(file: BinaryIO, size: int = WINDOW) -> Iterator[bytes]:
    while data := file.read(size):
        yield data


def split_lines(chunks: Iterable[bytes], *, offset: int = 0, number: int = 1) -> Iterator[Line]:
    """Lines from chunks that are cut anywhere; blank lines are counted but not returned."""
    begun = BytesIO()  # unlike a list of parts, it gives its content away without a copy, which may be of any size
    for data in chunks:
        start = 0
        if begun.tell() or b"\n" not in data:
            start = data.find(b"\n") + 1
            begun.write(data[: start - 1] if start else data)
            if not start:
                continue
            raw, begun = begun.getvalue(), BytesIO()
            if raw and not raw.isspace():
                yield Line(raw, number, offset, ended=True)
            offset += len(raw) + 1 - start
            raw = b""
            number += 1
        while (end := data.find(b"\n", start)) >= 0:
            if (raw := data[start:end]).strip():
                # The hot path of every command: calling Line() here costs a sixth of the speed.
                yield tuple.__new__(Line, (raw, number, offset + start, True))
            start = end + 1
            number += 1
        offset += start
        begun.write(data[start:])
    raw, begun = begun.getvalue(), BytesIO()
    if raw and not raw.isspace():
        yield Line(raw, number, offset, ended=False)


def read_array(path: Path) -> Iterator[Line]:
    """One Line per element, numbered by the line it begins on; holds the whole file.

    What follows the last complete element of a damaged array is one more Line, which has not ended.
    """
    with open_file(path) as file:
        data = file.read()
    yield from split_array(data)


def split(data: bytes) -> Iterator[Line]:
    """The lines of a transcript in memory, whether it is stored as lines or as an array."""
    return split_array(data) if opens_array(data[:HEAD]) else split_lines([data])


def split_array(data: bytes) -> Iterator[Line]:
    number, counted = 1, 0
    for begin, end, ended in elements(data):
        number += data.count(b"\n", counted, begin)
        counted = begin
        yield Line(data[begin:end], number, begin, ended)
