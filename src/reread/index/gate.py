"""The one gate for what a piece says of itself: pieces of other machines pass it when they come and when they are read.

Whoever can write into a shared folder chooses every field of a header. So no number is larger than a row can hold, no
path leads anywhere but to the file it names, and a machine writes only the keys of its own files: a key is a digest of
machine and path (`keys.file_key`), so a header proves by itself whose it is. A file that has moved since keeps its key;
then an earlier piece of the same machine has to prove it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath, PureWindowsPath
from typing import NamedTuple

from msgspec.structs import replace

from reread import lazy
from reread.errors import printable
from reread.keys import file_key
from reread.safe.pieces import PieceHeader
from reread.sources import FileKind, place
from reread.sources.find import FOLDER

from .backup_files import SAME, shared_digest
from .machines import kept_machine
from .meta import ORDER
from .places import MOVED, PLACE
from .rows import OWN
from .safe_reader import LOST, Piece

PIECE_LIMIT = 16 << 20
"""The most bytes in a piece of another machine. Pieces are written with half a megabyte."""
_FILE_LIMIT = 1 << 44
_LONGEST_PATH = 32_768
_COUNT, _TIME = 1 << 31, (1 << 63) - 1
_LONGEST_SHOWN = 200
_LINKS = 16
"""How many files, one after the other, may have had a path: each of them has its key from the key before."""
_KEY, _DIGEST = re.compile("[0-9a-f]{32}"), lazy.pattern("[0-9a-f]{64}")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\|//")
"""How absolute paths begin there: with a drive, or with a server, as those of WSL do."""
_KINDS = frozenset(map(str, FileKind))
_ANYWHERE = frozenset({FileKind.TRANSCRIPT, FileKind.SETTINGS, FileKind.BACKUP})
"""Kinds that a path alone does not show: a person may name any file as a transcript."""

_NO_NAMES = (".", "..")

KEY = "their key is not that of their machine and file"


class Sorted(NamedTuple):
    """The pieces of the safe as they pass the gate."""

    pieces: list[Piece]
    left_out: list[tuple[PieceHeader, str]]
    """The others, each with the reason."""


class Gate:
    """Admits headers; `whose` says of which machine a key is that no header has proved here."""

    def __init__(self, own: Iterable[str], whose: Callable[[str], str | None] = lambda _: None) -> None:
        self._own = frozenset(own)
        self._whose = whose
        self._proved: dict[str, str] = {}

    def admit(self, header: PieceHeader) -> PieceHeader | str:
        """The header, with its path as this system writes it, or the reason why it is not believed."""
        written = _as_here(header)
        fault = _path_fault(written) or _number_fault(written, is_own=header.machine in self._own)
        if fault is not None or header.machine in self._own:
            return fault or written
        return _reference_fault(written) or self._key_fault(written) or _place_fault(written) or written

    def sort(self, pieces: Iterable[Piece]) -> Sorted:
        """Those that are admitted and of a kind this version knows, apart from the others. They may come in any order:
        those that prove a key may follow those that need it."""
        left, found = list(pieces), Sorted([], [])
        while True:
            waiting: list[tuple[Piece, str]] = []
            for header, where in left:
                admitted = self.admit(header)
                if isinstance(admitted, str):
                    waiting.append(((header, where), admitted))
                elif (unknown := unknown_kind(admitted)) is not None:
                    found.left_out.append((header, unknown))
                else:
                    found.pieces.append((admitted, where))
            if not waiting or len(waiting) == len(left):
                found.left_out.extend((header, reason) for (header, _), reason in waiting)
                return found
            left = [piece for piece, _ in waiting]

    def _key_fault(self, header: PieceHeader) -> str | None:
        place_key = header.more.get(PLACE)
        if place_key is not None and place_key != file_key(header.machine, _spelled(header.path)):
            return "their place is not on their machine"
        if place_key is not None and MOVED not in header.more:
            return None  # a copy of the file of any machine
        if place_key is None and _is_key_of(header.file, header.machine, header.path):
            self._proved[header.file] = header.machine
            return None
        is_theirs = header.machine in (self._proved.get(header.file), self._whose(header.file))
        return None if is_theirs else KEY


def safe_gate(connection: sqlite3.Connection) -> Gate:
    """The gate for pieces of the safe, which knows the keys that have rows."""
    own = kept_machine(connection)

    def whose(key: str) -> str | None:
        rows = "SELECT machine FROM file WHERE key = ? UNION ALL SELECT machine FROM file_copy WHERE key = ?"
        found = connection.execute(rows, (key, key)).fetchone()
        return None if found is None else str(found[0])

    return Gate((own.id,) if own is not None else (), whose)


def sentences(left_out: Iterable[tuple[PieceHeader, str]], names: Mapping[str, str]) -> list[str]:
    """One for each machine and reason; `names` are what machines are called."""
    found: dict[tuple[str, str], list[str]] = {}
    for header, reason in left_out:
        name = printable(names.get(header.machine, header.machine)[:_LONGEST_SHOWN])
        found.setdefault((name, reason), []).append(printable(header.path[:_LONGEST_SHOWN]))
    return [
        f"{name}: {len(paths):,} piece{'s' if len(paths) > 1 else ''} left out: {reason}; the first is of {paths[0]}"
        for (name, reason), paths in found.items()
    ]


def unknown_kind(header: PieceHeader) -> str | None:
    """A sentence's end for a kind that this version does not know; None for others."""
    if header.kind in _KINDS:
        return None
    return f"this version does not know their kind, {printable(header.kind[:40])}"


def _spelled(path: str) -> str:
    """A path of Windows as its machine wrote it when it made the key."""
    return path.replace("/", "\\") if _WINDOWS.match(path) else path


def _is_key_of(key: str, machine: str, path: str) -> bool:
    for name in {path, _spelled(path)}:
        made = file_key(machine, name)
        for _ in range(_LINKS):
            if made == key:
                return True
            made = file_key(made, name)
    return False


def _as_here(header: PieceHeader) -> PieceHeader:
    """The header with a Windows path in forward slashes, unless this is Windows."""
    if not _WINDOWS.match(header.path) or isinstance(PurePath(), PureWindowsPath):
        return header
    return replace(header, path=header.path.replace("\\", "/"), source=header.source.replace("\\", "/"))


def _path_fault(header: PieceHeader) -> str | None:
    for text in (header.path, header.source, header.kind, header.machine):
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return "their names are no text"
        if "\0" in text or len(text) > _LONGEST_PATH:
            return "their names are none that a file can have"
    for text in (header.path, *([header.source] if header.source != OWN else [])):
        if not text.startswith("/") and not _WINDOWS.match(text):
            return "their path is not a whole one"
        if ".." in text.replace("\\", "/").split("/"):
            return "their path leads elsewhere"
    return None


def _number_fault(header: PieceHeader, *, is_own: bool) -> str | None:
    order = header.more.get(ORDER, 0)
    bounds = (
        (header.generation, 1, _COUNT),
        (header.start, 0, _FILE_LIMIT),
        (header.length, 0, _FILE_LIMIT if is_own else PIECE_LIMIT),
        (header.mtime_ns, -_TIME, _TIME),
        (order, 0, _COUNT),
    )
    if any(not isinstance(number, int) or not least <= number <= most for number, least, most in bounds):
        return "their numbers are beyond what is possible"
    if not _KEY.fullmatch(header.file) or not _DIGEST.fullmatch(header.sha256):
        return "their digests are none"
    return None


def _reference_fault(header: PieceHeader) -> str | None:
    """What a piece without bytes refers to."""
    named = PLACE in header.more, SAME in header.more
    if LOST in header.more or (MOVED in header.more and not named[0]) or (any(named) and header.length):
        return "what they refer to is unclear"
    if named[0]:
        return None if isinstance(header.more[PLACE], str) else "what they refer to is unclear"
    is_shared = header.kind == FileKind.BACKUP and shared_digest(header) is not None
    return "what they refer to is unclear" if named[1] and not is_shared else None


def _place_fault(header: PieceHeader) -> str | None:
    """Whether a file of this kind is found at such a path."""
    if header.kind == FileKind.BACKUP:
        is_right = header.path.split("/" if "/" in header.path else "\\")[-3:-2] == [FOLDER]
    elif header.kind in _KINDS:
        where = place(header.path)
        is_right = where.kind == header.kind if where is not None else header.kind in _ANYWHERE
        is_right |= header.kind == FileKind.SETTINGS
        is_right &= where is None or where.session not in _NO_NAMES  # such as of `...jsonl`
    else:
        is_right = True
    return None if is_right else "no file of their kind has such a path"
