"""Rows of the archive as values: what ingest hands over and queries get back."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from reread.billing.response import Response

from .meta import file_key
from .sessions import SessionRow as SessionRow

OWN = "wire"
"""The source of captures that reread made itself, whatever folder the archive lies in."""


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
    """A text to index: its line's place, and the text as the index wants it, in UTF-8."""

    offset: int
    length: int
    part: int
    field: int
    time: int | None
    text: bytes


class CallRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    id: str
    name: str
    status: str
    time: int | None
    seconds: float | None
    path: str | None
    digest: int | None
    """What its copies in other files have in common."""
    offset: int
    length: int
    """Of its line."""


class PromptRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    offset: int
    part: int
    """Which of those at the same place, usually the first."""
    length: int
    time: int | None
    digest: int | None


class ThoughtRow(Struct, frozen=True, kw_only=True, array_like=True, gc=False):
    offset: int
    part: int
    """Which thinking block of the line."""
    length: int
    time: int | None
    state: int
    """As `store.talk` has it: whether there is a text."""
    characters: int
    digest: int | None


class RequestContext(Struct, frozen=True, kw_only=True):
    """What many requests share: how and where they were made."""

    model: str | None
    version: str | None
    project: str | None
    git_branch: str | None
    agent: str | None
    skill: str | None
    plugin: str | None
    mcp_server: str | None
    mcp_tool: str | None
    tools: tuple[str, ...]
    speed: str | None
    geo: str | None
    tier: str | None
    stop_reason: str | None


class ClientTotalRow(Struct, frozen=True, kw_only=True):
    """What the client said about its own cost, in a line of a file."""

    source: str
    began: int | None
    time: int | None
    first: int
    """The total that was said first in this count, in nano-dollars."""
    nanodollars: int
    models: dict[str, dict[str, int]] | None


class FrictionRow(Struct, frozen=True, kw_only=True):
    """A moment of friction."""

    uuid: str | None
    agent: str | None
    kind: str
    time: int | None
    evidence: str
    confidence: float
    cause: str
    about: str
    seconds: float | None
    tokens: int | None
    nanodollars: int | None
    details: str
    spent_first: int | None
    spent_last: int | None


class FrictionBatch(Struct, frozen=True, kw_only=True):
    """All that is kept of a session for the retrospective."""

    moments: list[FrictionRow]
    outcome: tuple[str | int | None, ...]
    """As `analyses.friction.Outcome` has it, field by field."""
    prompted: bytes
    material: bytes
    changes: list[tuple[str, str | None, int | None]]
    """Path, line and time of changes of instruction files."""


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
    """Its earlier rows describe an older generation and go; the older bytes stay in the safe."""
    taken: int
    indexed: int
    lines: int
    malformed: int
    head: bytes
    tail: bytes
    pieces: list[PieceRow]
    blocks: list[BlockRow]
    withdrawn: list[int]
    """Offsets of lines whose text a later line says: a prompt that waited in the queue when it was first seen."""
    calls: list[CallRow]
    circumstances: list[RequestContext]
    responses: list[Response]
    """`circumstance` is the place of each in the list before."""
    client_totals: list[ClientTotalRow]
    client_totals_of: str = ""
    """The session that was said of; empty for the one that the file belongs to."""
    prompts: list[PromptRow] = []
    thoughts: list[ThoughtRow] = []
    results_wait: bool = False
    """Whether the blocks of tool results have no words yet."""
    since: int = 0
    """Rows of prompts, thoughts, calls and responses are those of the lines from here on; the others stay."""
    is_kept: bool = False
    """Nothing was gained, only rows are made again: whether its source is there is not known any better."""


class SessionBatch(Struct, frozen=True, kw_only=True):
    """A session as it stands, and what its files gained."""

    session: SessionRow | None
    """None for files that belong to no session, such as the prompt history."""
    files: list[FileBatch]
    friction: FrictionBatch | None = None
    """None where it is to be found later."""
    backup_of: int | None = None
    """The session that the files are backups of; it is known already."""
    unread: list[tuple[str, str]] = []
    """Path and reason of files that could not be read, where the others do not need them."""
    part: bytes = b""
    """What the first lines of its transcript amount to, which the next sync goes on from; empty where it cannot."""


class FileKeys:
    """The keys of a machine's files, by path.

    A file keeps the key it was first given, whatever the machine was called then and wherever the file lay: pieces in
    the safe carry it. Only a new file is named after the machine and its path.
    """

    def __init__(self, machine: str, names: Sequence[str], rows: Iterable[FileRow]) -> None:
        self._machine = machine
        self._names = (machine, *names)
        self._rows: dict[str, FileRow] = {}
        self._taken: set[str] = set()
        for row in sorted(rows, key=lambda row: row.id):
            self.learn(row)

    def learn(self, row: FileRow) -> None:
        self._rows[os.path.normcase(row.location)] = row
        self._taken.add(row.key)

    def row(self, path: str) -> FileRow | None:
        """What is known of the file that lies there."""
        return self._rows.get(os.path.normcase(path))

    def of(self, path: str) -> str:
        row = self.row(path)
        if row is not None:
            return row.key
        key = file_key(self._machine, path)
        while key in self._taken:  # of a file that lies elsewhere by now
            key = file_key(key, path)
        return key

    def ever_of(self, path: str) -> set[str]:
        """Also those that it had, or would have had, under earlier names of the machine."""
        return {self.of(path), *(file_key(name, path) for name in self._names)}
