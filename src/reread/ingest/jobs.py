"""What there is to do: sources compared with what the archive has taken so far."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reread.errors import SourceError
from reread.sources import SessionFiles, SourceFile
from reread.store.keys import FileKeys
from reread.store.reading import StoredPiece
from reread.store.rows import FileRow

EDGE = 1024
"""How much of a file's beginning and end proves that it only grew."""


class FileJob(Struct, frozen=True, kw_only=True):
    """One file to read on from where the archive stopped."""

    file: SourceFile
    key: str
    source: str
    device: int
    inode: int
    generation: int = 1
    taken: int = 0
    indexed: int = 0
    is_rewritten: bool = False
    is_kept: bool = False
    """Nothing new: only its rows are to be made again, and its bytes may be in the safe alone."""
    head: bytes = b""
    tail: bytes = b""
    """Digests of the edges of what is kept."""


class GoneFile(Struct, frozen=True, kw_only=True):
    """A file of a session whose source is gone: it is read from the safe."""

    file: SourceFile
    pieces: tuple[StoredPiece, ...]


class SessionJob(Struct, frozen=True, kw_only=True):
    """A session some of whose files changed. All its files are needed to tell what it amounts to."""

    files: SessionFiles | None
    gone: tuple[GoneFile, ...] = ()
    safe: Path | None = None
    """Where the safe is, if some of its files are only there."""
    strays: tuple[SourceFile, ...] = ()
    of_others: frozenset[str] = frozenset()
    """Ids that its lines may tell and that belong to other sessions of its folder."""
    prices: Path | None = None
    """The user's own price file."""
    changed: tuple[FileJob, ...]
    backup_of: int | None = None
    """The session that all of them are backups of; nothing else of it is read then."""

    @property
    def size(self) -> int:
        return sum(job.file.size - job.taken for job in self.changed)


def file_job(
    keys: FileKeys,
    source: Path,
    file: SourceFile,
    known: Mapping[str, FileRow],
    still_holds: Callable[[FileRow], bool],
) -> FileJob | None:
    """None when the file is as it was: that costs one stat."""
    key = keys.of(file.path)
    try:
        status = file.path.stat()
    except OSError as error:
        raise SourceError(file.path, f"cannot be read ({error.strerror or error})") from error
    row = known.get(key)
    fresh = FileJob(file=file, key=key, source=str(source), device=status.st_dev, inode=status.st_ino)
    if row is None or (row.size < 0 and row.taken == 0):  # unknown, or only its usage was counted
        return fresh
    if row.present and _looks_unchanged(row, status):
        return None
    if _only_grew(file.path, status, row) and (status.st_size > row.taken or still_holds(row)):
        return replace(fresh, generation=row.generation, taken=row.taken, indexed=row.indexed)
    return replace(fresh, generation=row.generation + 1, is_rewritten=True)


def _looks_unchanged(row: FileRow, status: os.stat_result) -> bool:
    seen = (row.size, row.mtime_ns, row.inode, row.device)
    return seen == (status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)


def _only_grew(path: Path, status: os.stat_result, row: FileRow) -> bool:
    """Whether what was taken is still the beginning of the file, judged by its edges."""
    if status.st_size < row.taken:
        return False
    try:
        with path.open("rb") as file:
            head = file.read(min(EDGE, row.taken))
            file.seek(max(0, row.taken - EDGE))
            tail = file.read(min(EDGE, row.taken))
    except OSError as error:
        raise SourceError(path, f"cannot be read ({error.strerror or error})") from error
    return digest(head) == row.head and digest(tail) == row.tail


def digest(edge: bytes) -> bytes:
    return sha256(edge).digest()[:16]
