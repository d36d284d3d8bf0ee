"""Rows of the archive as values: what ingest hands over and queries get back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from reread.keys import file_key
from reread.rows.model import FileRows, MomentRow
from reread.rows.session_row import SessionRow

OWN = "wire"
"""The `source` of captures that reread made itself, wherever the archive's folder is."""


class FileRow(Struct, frozen=True, kw_only=True, gc=False):
    """A source file as the archive knows it."""

    id: int
    key: str
    source: str
    location: str
    """Its path, as text."""
    kind: str
    session: int | None
    agent: str | None
    workflow: str | None
    device: int
    inode: int
    size: int
    mtime_ns: int
    generation: int
    taken: int
    indexed: int
    head: bytes
    tail: bytes
    present: bool

    @property
    def path(self) -> Path:
        return Path(self.location)


class PieceRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A stretch of a file, compressed, before it has a place in the safe."""

    start: int
    length: int
    sha256: bytes
    frame: bytes


class BlockRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    """A text to index: the place of its line, and the text as the index takes it, in UTF-8."""

    offset: int
    length: int
    part: int
    field: int
    time: int | None
    text: bytes


class FrictionBatch(Struct, frozen=True, kw_only=True):
    """Everything stored about a session for the retrospective."""

    moments: list[MomentRow]
    outcome: tuple[str | int | None, ...]
    """The fields of `features.friction.SessionOutcome`, in their order."""
    prompted: bytes
    material: bytes
    changes: list[tuple[str, str | None, int | None]]
    """Path, uuid of the line and time of each change of an instruction file."""


class FileBatch(Struct, frozen=True, kw_only=True):
    """What one file gained since it was last read."""

    key: str
    source: str
    path: str
    kind: str
    agent: str | None
    workflow: str | None
    device: int
    inode: int
    size: int
    mtime_ns: int
    generation: int
    is_rewritten: bool
    """Its earlier rows describe an older generation and are deleted; the older bytes stay in the safe."""
    taken: int
    indexed: int
    head: bytes
    tail: bytes
    pieces: list[PieceRow]
    rows: FileRows
    """Without texts, which are blocks here."""
    blocks: list[BlockRow]
    withdrawn: Sequence[int]
    """Offsets of indexed lines whose text a later line repeats, such as a prompt that was waiting in the queue."""
    results_wait: bool = False
    """Whether the blocks of tool results have no words yet."""
    since: int = 0
    """Rows of prompts, thoughts, calls and responses come from the lines from this offset on; rows of earlier lines
    stay."""
    is_kept: bool = False
    """Nothing was gained, only rows are made again; whether its source still exists was not checked."""


class SessionBatch(Struct, frozen=True, kw_only=True):
    """The row of a session, and what its files gained."""

    session: SessionRow | None
    """None for files that belong to no session, such as the prompt history."""
    files: list[FileBatch]
    friction: FrictionBatch | None = None
    """None if it will be found later."""
    backup_of: int | None = None
    """The session that the files are backups of; the index has it already."""
    unread: list[tuple[str, str]] = []
    """Path and reason of files that could not be read and that the others do not need."""
    part: bytes = b""
    """The closed part of its transcript, from which the next sync goes on; empty if there is none."""


class FileKeys:
    """The keys of a machine's files, by path.

    A file keeps the key it was first given, wherever it was then: pieces in the safe carry that key. Only the key of a
    new file is made from the machine and its path.
    """

    def __init__(self, machine: str, rows: Iterable[FileRow]) -> None:
        self._machine = machine
        self._rows: dict[str, FileRow] = {}
        self._taken: set[str] = set()
        for row in sorted(rows, key=lambda row: row.id):
            self.learn(row)

    def learn(self, row: FileRow) -> None:
        self._rows[os.path.normcase(row.location)] = row
        self._taken.add(row.key)

    def row(self, path: str) -> FileRow | None:
        """The row of the file at this path."""
        return self._rows.get(os.path.normcase(path))

    def of(self, path: str) -> str:
        row = self.row(path)
        if row is not None:
            return row.key
        key = file_key(self._machine, path)
        while key in self._taken:  # by a file that has moved since
            key = file_key(key, path)
        return key

    def ever_of(self, path: str) -> set[str]:
        """Its key, and the one that the first file at this path had or would have had."""
        return {self.of(path), file_key(self._machine, path)}
