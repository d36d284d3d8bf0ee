"""Whether a file is as it was, has only grown, or is another now: asked of its state and of both its ends.

The glance, the sync, the watch, backups and copies ask here. Usage counted ahead of a sync and a lake take no stat of a
file: they compare what a listing says with the size and time that are known.
"""

from __future__ import annotations

import os
from enum import Enum

from reread.home import changed_at, identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

FOLDER = -1
"""The size that is remembered of a folder."""
EDGE = 1024
"""How many bytes at a file's beginning and end are compared to prove that it only grew."""
EARLIER = 1 << 40
"""A line that only an earlier generation of its file has is at this times the generation, plus its offset there."""


class Change(Enum):
    """What became of a file that was known."""

    NONE = "none"
    SAME_SIZE = "same size"
    """Written, moved or put back, with as many bytes as were taken and the same ends: its content must be compared."""
    GROWN = "grown"
    REWRITTEN = "rewritten"


def is_as_it_was(path: bytes | str, size: int, mtime_ns: int, inode: int | None = None) -> bool:
    """Whether a file or folder still has the state that it had; False if it is gone. It costs one stat.

    A size of `FOLDER` says that it is a folder; with an inode it is always a file.
    """
    try:
        status = os.stat(path)  # noqa: PTH116  a Path costs more than the call
    except OSError:
        return False
    if inode is not None:
        return _has_state(status, size, mtime_ns, inode)
    return changed_at(status) == mtime_ns and size in (FOLDER, status.st_size)


def _has_state(status: os.stat_result, size: int, mtime_ns: int, inode: int) -> bool:
    """The device number is not compared: many systems assign a different one at every boot."""
    return (size, mtime_ns, inode) == (status.st_size, changed_at(status), identity(status.st_ino))


def change_of(
    path: str, status: os.stat_result, state: tuple[int, int, int] | None, kept: int, ends: tuple[bytes, bytes]
) -> Change:
    """What became of a known file that is there now. Raises OSError if it cannot be read.

    `state` is the size, time and inode that it had, None if it was gone; `ends` are the digests of both ends of the
    bytes that were kept of it.
    """
    if state is not None and _has_state(status, *state):
        return Change.NONE
    if status.st_size < kept:
        return Change.REWRITTEN
    with open(path, "rb") as file:  # noqa: PTH123  without a path for each of very many files
        if edges(file, kept) != ends:
            return Change.REWRITTEN
    return Change.GROWN if status.st_size > kept else Change.SAME_SIZE


def digest(edge: bytes) -> bytes:
    from hashlib import sha256  # takes 2 ms, which a sync with nothing new need not spend

    return sha256(edge).digest()[:16]


def edges(file: IO[bytes], length: int) -> tuple[bytes, bytes]:
    """The digests of both ends of the first bytes of a file."""
    file.seek(0)
    head = file.read(min(EDGE, length))
    file.seek(max(0, length - EDGE))
    return digest(head), digest(file.read(min(EDGE, length)))


def head_of(content: bytes) -> str:
    """The digest of how a file begins, as rows have it."""
    return digest(content[:EDGE]).hex()
