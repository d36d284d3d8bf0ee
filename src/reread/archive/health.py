"""What `doctor` reports: can everything be read, what is new in the format, what will be deleted soon?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from itertools import chain
from pathlib import Path

from msgspec import Struct, field

from reread.billing import packaged_prices
from reread.errors import SourceError
from reread.loading import SourceTree, read
from reread.records import Drift, Record, Unknown
from reread.sessions.lost_words import LostWords
from reread.sources import FileKind, SessionFiles, SourceFile
from reread.sources.beside import Beside, find_beside
from reread.workers import in_order, in_shares

from .listing import DEFAULT_CLEANUP_DAYS, SOON, cleanup_periods

Progress = Callable[[int, int], None]
"""Called with how many bytes have been read, and of how many."""
SHARE = 4_000_000
"""Bytes of files that are read together."""
AHEAD = 8
"""How many shares may be with workers, or finished but not yet added."""


class Malformed(Struct, frozen=True):
    file: Path
    line: int
    reason: str


class LeftOut(Struct, frozen=True, kw_only=True):
    """Sessions of the sources that are missing from the archive's answers, wholly or in part."""

    unread: tuple[str, ...] = ()
    """Not imported, or only in part; the next sync imports them."""
    forgotten: tuple[str, ...] = ()
    """A person had them forgotten; no sync imports them again."""
    damaged: tuple[str, ...] = ()
    """Have lines or files that cannot be read."""


class ReadLines(Struct, kw_only=True):
    """What some files contain."""

    files: int = 0
    lines: int = 0
    """Lines that are not blank."""
    records: int = 0
    malformed: list[Malformed] = []
    drift: Drift = field(default_factory=Drift)
    types: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    orphan_parents: int = 0
    unreadable: list[SourceError] = []
    unsaid_sessions: int = 0

    def join(self, more: ReadLines) -> None:
        """Adds what other files contain."""
        self.drift.join(more.drift)
        for name in ReadLines.__struct_fields__:
            if name != "drift":
                found = getattr(self, name)
                found += getattr(more, name)  # lists are added to in place
                setattr(self, name, found)


class Health(ReadLines, kw_only=True):
    cross_file_duplicates: int = 0
    unsaid: int = 0
    """Words of Claude that the client did not store; copies in several files count once."""
    sessions: int = 0
    cleanup_period_days: float = DEFAULT_CLEANUP_DAYS
    """The shortest one, where several config folders have their own."""
    expiring_sessions: int = 0
    unkept_sessions: int | None = None
    """How many of the expiring ones the archive does not have in full; None if there was no archive to ask."""
    price_table_date: str = ""
    left_out: LeftOut = LeftOut()
    beside: list[Beside] = []
    """Transcripts in the config folders that are not read."""
    results_waiting: int = 0
    """Sessions of the archive whose tool results are not indexed yet."""

    @property
    def is_damaged(self) -> bool:
        """Whether something could not be read. New record types are not damage."""
        return bool(self.malformed or self.unreadable)


def examine(
    tree: SourceTree,
    now: datetime,
    progress: Progress | None = None,
    kept: Mapping[str, int] | None = None,
    forgotten: Collection[str] = (),
) -> Health:
    """Reads every line of every file once, on all processors; holds hashes of the tree's uuids and one line at a time.

    `kept` has the files of the archive by path, with how many bytes it has of each; `forgotten` has the sessions that
    it must not import.
    """
    periods = cleanup_periods(file.path for file in _of_kind(tree, FileKind.SETTINGS))
    kept_for = [periods.of(*(str(file.path) for file in files.all)) for files in tree.sessions]
    pairs = zip(tree.sessions, kept_for, strict=True)
    expiring = [files for files, days in pairs if _expires_soon(files, days, now)]
    health = Health(
        unreadable=tree.problems,
        sessions=len(tree.sessions),
        cleanup_period_days=min(kept_for or [days for _, days in periods.by_folder] or [periods.days]),
        expiring_sessions=len(expiring),
        unkept_sessions=None if kept is None else sum(not _is_kept(files, kept) for files in expiring),
        price_table_date=packaged_prices().as_of.isoformat(),
        beside=find_beside(tree.places),
    )
    orphans = [file for file in _of_kind(tree, FileKind.SUBAGENT) if file.session is None]
    groups = [_conversation_files(files) for files in tree.sessions] + [[file] for file in orphans]
    _look_through_all(groups, health, progress)
    health.left_out = _left_out(tree, health, kept, forgotten)
    return health


def _of_kind(tree: SourceTree, kind: FileKind) -> list[SourceFile]:
    return [file for file in tree.files if file.kind is kind]


def _look_through_all(groups: list[list[SourceFile]], health: Health, progress: Progress | None) -> None:
    ledger = _Ledger(health)
    done, total = 0, sum(map(_size, groups))
    for share, found in in_order(_look_through, in_shares(groups, _size, SHARE), AHEAD, total):
        ledger.add(found)
        done += sum(map(_size, share))
        if progress is not None:
            progress(done, total)


def _left_out(tree: SourceTree, health: Health, kept: Mapping[str, int] | None, forgotten: Collection[str]) -> LeftOut:
    troubled = {str(each.file) for each in health.malformed} | {str(each.path) for each in health.unreadable}
    damaged = [files.id for files in tree.sessions if any(str(file.path) in troubled for file in files.all)]
    unread = [
        files.id
        for files in tree.sessions
        if kept is not None and files.id not in forgotten and not _is_kept(files, kept)
    ]
    gone = [files.id for files in tree.sessions if files.id in forgotten]
    return LeftOut(unread=tuple(unread), forgotten=tuple(gone), damaged=tuple(damaged))


class _Found:
    """What one share of sessions contains; `_Ledger` adds up the shares."""

    def __init__(self) -> None:
        self.read = ReadLines()
        self.uuids: list[set[str]] = []
        """One set for each session."""
        self.unsaid: set[str | None] = set()
        """The signatures of words that the client did not store."""

    def add(self, files: list[SourceFile]) -> None:
        own: set[str] = set()
        parents: list[str] = []
        unsaid: set[str | None] = set()
        for file in files:
            self.read.files += 1
            try:
                self._read(file, own, parents, unsaid)
            except SourceError as problem:
                self.read.unreadable.append(problem)
        self.read.orphan_parents += sum(parent not in own for parent in parents)
        self.uuids.append(own)
        self.unsaid |= unsaid
        self.read.unsaid_sessions += bool(unsaid)

    def _read(self, file: SourceFile, own: set[str], parents: list[str], unsaid: set[str | None]) -> None:
        last_line = 0
        lost = LostWords()
        for record in read(file.path):
            self.read.lines += record.line != last_line
            last_line = record.line
            self._count(record, file)
            unsaid.update(block.signature for block in lost.in_line(record))
            if record.uuid is not None:
                own.add(record.uuid)
            if record.parent_uuid is not None:
                parents.append(record.parent_uuid)

    def _count(self, record: Record, file: SourceFile) -> None:
        if isinstance(record, Unknown) and record.malformed:
            self.read.malformed.append(Malformed(file.path, record.line, record.reason))
            return
        self.read.records += 1
        self.read.types[record.type or "(no type)"] += 1
        if record.version:
            self.read.versions[record.version] += 1
        self.read.drift.add(record)


def _look_through(share: list[list[SourceFile]]) -> _Found:
    """Runs in a worker, or in this process if there is little to read."""
    found = _Found()
    for group in share:
        found.add(group)
    return found


class _Ledger:
    """Adds up a `Health`."""

    def __init__(self, health: Health) -> None:
        self.health = health
        self._unsaid: set[str | None] = set()
        self._known: set[int] = set()
        """Hashes instead of the uuids, so that a tree of a million lines fits in memory."""

    def add(self, found: _Found) -> None:
        health = self.health
        health.join(found.read)
        self._unsaid |= found.unsaid
        health.unsaid = len(self._unsaid)
        for own in found.uuids:
            hashes = {hash(uuid) for uuid in own}
            health.cross_file_duplicates += len(hashes & self._known)
            self._known |= hashes


def _size(files: list[SourceFile]) -> int:
    return sum(file.size for file in files)


def _conversation_files(files: SessionFiles) -> list[SourceFile]:
    return [file for file in chain([files.trunk], files.subagents) if file is not None]


def _is_kept(files: SessionFiles, kept: Mapping[str, int]) -> bool:
    return all(kept.get(str(file.path), -1) >= file.size for file in files.all)


def _expires_soon(files: SessionFiles, days: float, now: datetime) -> bool:
    """The client deletes by the file's age at its next start."""
    expiry = files.mtime_ns / 1e9 + days * 86400
    return expiry < (now + SOON).timestamp()
