"""What is to be read: one file from where the archive stopped, and a session of which some files changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from reread.changes import Change, change_of
from reread.errors import SourceError
from reread.home import identity
from reread.index.read import StoredPiece
from reread.index.rows import FileKeys, FileRow
from reread.sources import SessionFiles, SourceFile


class FileJob(Struct, frozen=True, kw_only=True, gc=False):
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
    is_same: bool = False
    """All its bytes are kept already; only its place or its modification time changed."""
    is_kept: bool = False
    """The file has nothing new: only its rows are made again, and its bytes may exist only in the safe."""
    head: bytes = b""
    tail: bytes = b""
    """Digests of the first and last bytes of what is kept."""
    claimed: frozenset[str] = frozenset()
    """For a trunk: agents whose own files are new, so the trunk's progress lines no longer represent them."""
    results_wait: bool = False
    """Whether the words of tool results are indexed later: they are most of the text."""
    agents: frozenset[str | None] = frozenset()
    """For an unchanged agent file: the agent names that its stored responses carry."""


class GoneFile(Struct, frozen=True, kw_only=True):
    """A file of a session whose source is gone: it is read from the safe."""

    file: SourceFile
    pieces: tuple[StoredPiece, ...]


class SessionJob(Struct, frozen=True, kw_only=True, gc=False):
    """A session of which some files changed. Its totals need all of its files."""

    files: SessionFiles | None
    gone: dict[Path, tuple[StoredPiece, ...]] = {}
    """Pieces of the files that are read from the safe because their sources are gone, by path."""
    safe: Path | None = None
    """The folder of the safe; needed only if `gone` has files."""
    orphans: tuple[SourceFile, ...] = ()
    foreign: frozenset[str] = frozenset()
    """Ids that may occur in its lines but belong to other sessions of its folder."""
    prices: Path | None = None
    """The user's own price file."""
    changed: tuple[FileJob, ...]
    known_agents: tuple[FileJob, ...] = ()
    """Unchanged files of agents: the name of such an agent may come from a file that did change."""
    backup_of: int | None = None
    """The session that all changed files are backups of; nothing else of it is read then."""
    with_friction: bool = True
    """Whether moments of friction are found as well: a fifth of the cost of reading a session."""
    part: bytes | None = None
    """For a transcript that only grew: its stored closed part, empty if there is none yet."""

    @property
    def size(self) -> int:
        return sum(job.file.size - job.taken for job in self.changed)


def file_job(keys: FileKeys, source: Path, file: SourceFile, still_holds: Callable[[FileRow], bool]) -> FileJob | None:
    """None when the file is unchanged; that costs one stat. `still_holds` says whether a file of the same size still
    contains everything that was taken of it."""
    row = keys.row(file.location)
    try:
        status = os.stat(file.location)  # noqa: PTH116  without a path for each of very many files
        change = _change_of(row, status) if row is not None else Change.REWRITTEN
    except OSError as error:
        raise SourceError(file.path, f"cannot be read ({error.strerror or error})") from error
    device, inode = identity(status.st_dev), identity(status.st_ino)
    fresh = FileJob(file=file, key=keys.of(file.location), source=str(source), device=device, inode=inode)
    if row is None:
        return fresh
    is_adopted = row.size < 0 and row.taken == 0  # from the safe, without being read: what that holds stays as it is
    if change is Change.NONE and not is_adopted:
        return None
    if is_adopted or change is Change.REWRITTEN or (change is Change.SAME_SIZE and not still_holds(row)):
        return replace(fresh, generation=row.generation + 1, is_rewritten=True)
    is_same = row.present and change is Change.SAME_SIZE
    kept = replace(fresh, generation=row.generation, taken=row.taken, head=row.head, tail=row.tail)
    return replace(kept, indexed=row.indexed, is_same=is_same)


def _change_of(row: FileRow, status: os.stat_result) -> Change:
    state = (row.size, row.mtime_ns, row.inode) if row.present else None
    return change_of(row.location, status, state, row.taken, (row.head, row.tail))


def reindex_jobs(files: Iterable[SourceFile], keys: FileKeys) -> list[FileJob]:
    """Jobs that make the rows of known files again, such as captures: what a capture adds depends on its transcript."""
    found = []
    for file in files:
        row = keys.row(file.location)
        if row is not None:
            found.append(from_safe(replace(file, size=row.size, mtime_ns=row.mtime_ns), row))
    return found


def from_safe(file: SourceFile, row: FileRow) -> FileJob:
    """A file whose bytes are all in the safe already."""
    return FileJob(
        file=file,
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
