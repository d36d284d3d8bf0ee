"""What a build has to read: compares a listing of the sources with what the lake knows of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread import errors, loading, sources
from reread.ingest.copies import owned_sessions, without_copies
from reread.keys import file_key, session_mark

from .share import ShareJob
from .storage import LakeReader, find, is_remote, is_there, key_of, plain_place, uri_of

SHARE = 32_000_000
"""Source bytes of a share: enough for files of a good size, but few enough to repeat after a failure."""


class KnownFile(NamedTuple):
    """A file as the lake knows it; the fields are columns of `file`."""

    key: str
    session: str
    uri: str
    kind: str
    size: int
    mtime_ns: int
    names: Sequence[str]
    copy_of: str | None
    month: str

    @property
    def as_listed(self) -> sources.SourceFile:
        """The file as a listing gave it."""
        return sources.SourceFile.at(Path(self.uri), sources.FileKind(self.kind), self.size, self.mtime_ns)


class CopiedFile(NamedTuple):
    """A file whose content another file contains."""

    file: sources.SourceFile
    original: str
    """The key of the other file."""
    names: list[str]


SESSION_MARK, PLACE, AGE = "session", "place", "age"
"""What a row of `forgotten` is about."""


def place_mark(place: str) -> str:
    """The mark of a place in the table `forgotten`."""
    return file_key("place", plain_place(place))


@lru_cache(maxsize=100_000)
def _marks_from(folder: str) -> frozenset[str]:
    parts = folder.split("/")
    return frozenset(place_mark("/".join(parts[:depth])) for depth in range(1, len(parts) + 1))


def marks_above(uri: str) -> frozenset[str]:
    """The marks of every folder above a file."""
    return _marks_from(plain_place(uri).rpartition("/")[0])


class ForgottenMarks(Struct, frozen=True, kw_only=True):
    """What no build imports again, as digests."""

    sessions: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    aged: dict[str, int] = {}
    """Sessions that were too old, and when that was found, in milliseconds: one that was written to since then is read
    again."""
    before: int | None = None
    """Sessions that ended before this, in milliseconds, are too old."""

    def is_place(self, file: sources.SourceFile) -> bool:
        return bool(self.places) and not self.places.isdisjoint(marks_above(uri_of(file.path)))

    def is_session(self, names: Collection[str], files: Iterable[sources.SourceFile]) -> bool:
        marks = [session_mark(name) for name in names]
        if not self.sessions.isdisjoint(marks):
            return True
        if not self.aged or not all(mark in self.aged for mark in marks):
            return False
        return max((file.mtime_ns for file in files), default=0) <= max(self.aged[mark] for mark in marks) * 10**6


NOTHING_FORGOTTEN = ForgottenMarks()


class LakePlan(Struct, frozen=True, kw_only=True):
    """What a build will read and replace, and what stays as it is."""

    jobs: list[ShareJob]
    unchanged: int
    """How many sessions are in the lake and have not changed."""
    copies: list[CopiedFile]
    """Files that are newly found to be copies."""
    stale: list[KnownFile]
    """Files whose rows are replaced or removed."""
    stale_sessions: dict[str, str]
    """Keys of sessions whose rows are replaced or removed, with their months."""
    problems: list[str]
    bytes_read: int
    """Bytes read to find copies, and to find which sessions the files of older agents belong to."""

    @property
    def size(self) -> int:
        return sum(job.size for job in self.jobs)

    @property
    def is_empty(self) -> bool:
        return not self.jobs and not self.copies


class _Reader(LakeReader):
    """A reader that uses what the lake remembers instead of reading unchanged files."""

    def __init__(self, known: Mapping[str, KnownFile], elsewhere: Collection[str], *, read_again: bool) -> None:
        super().__init__()
        self._known = known
        self.elsewhere = elsewhere
        """Keys of files that are in the lake but not in this listing; their rows stay as they are."""
        self._read_again = read_again

    def is_unchanged(self, file: sources.SourceFile) -> bool:
        key = key_of(file.location)
        row = self._known.get(key)
        is_same = row is not None and (row.size, row.mtime_ns) == (file.size, file.mtime_ns)
        return is_same and (not self._read_again or key in self.elsewhere)

    def is_taken(self, file: sources.SourceFile) -> bool:
        return self.is_unchanged(file) and self._known[key_of(file.location)].copy_of is None

    def recorded_ids(self, file: sources.SourceFile) -> set[str]:
        if self.is_unchanged(file):
            return set(self._known[key_of(file.location)].names)
        if not is_remote(uri_of(file.path)):
            return loading.DISK.recorded_ids(file)  # reads only the first lines
        return super().recorded_ids(file)

    def begins_with(self, full: sources.SourceFile, other: sources.SourceFile) -> bool:
        if self.is_unchanged(full) and self.is_unchanged(other):
            original = self._known[key_of(other.location)].copy_of
            if original == key_of(full.location):
                return True
            if original is None and self.is_taken(full):  # an earlier build found that it is not a copy
                return False
        return super().begins_with(full, other)

    def has(self, job: ShareJob) -> bool:
        """Whether the lake has all of a session's files as they are, in this session and not as copies."""
        rows = (self._known[key_of(file.location)] for file in job.all if self.is_unchanged(file))
        return sum(row.session == job.key and row.copy_of is None for row in rows) == len(job.all)

    def has_copy(self, file: sources.SourceFile, original: sources.SourceFile) -> bool:
        return self.is_unchanged(file) and self._known[key_of(file.location)].copy_of == key_of(original.location)

    def copy_of(self, file: sources.SourceFile, original: sources.SourceFile) -> CopiedFile:
        return CopiedFile(
            file, key_of(original.location), sorted(self.recorded_ids(file)) if _is_conversation(file) else []
        )


def list_files(places: Iterable[str], problems: list[str]) -> list[sources.SourceFile]:
    """The files of all sources, each once. Raises SourceError if a source cannot be read at all."""
    found: dict[str, sources.SourceFile] = {}
    told: list[errors.SourceError] = []
    for source in places:
        for file in find(source, told):
            found.setdefault(uri_of(file.path), file)
    problems += map(str, told)
    return list(found.values())


def make_plan(
    files: Sequence[sources.SourceFile],
    known: Mapping[str, KnownFile],
    forgotten: ForgottenMarks = NOTHING_FORGOTTEN,
    *,
    read_again: bool = False,
) -> LakePlan:
    """Plans a build. Files that are in the lake but no longer listed are treated as if they were, so that a copy is
    recognised wherever its original came from. `read_again` reads everything listed, changed or not."""
    there = {key_of(file.location): file for file in files if not forgotten.is_place(file)}
    elsewhere = {key: row.as_listed for key, row in known.items() if key not in there}
    reader = _Reader(known, elsewhere, read_again=read_again)
    owned, owners = owned_sessions([*there.values(), *elsewhere.values()], reader)
    wanted = [each for each in owned if not forgotten.is_session(owners.ids_of(each[0]), (*each[0].all, *each[1]))]
    kept, pairs = without_copies(wanted, owners, reader.begins_with, is_preferred=reader.is_taken)
    listed = there.keys() | {key_of(original.location) for file, original in pairs if key_of(file.location) in there}
    jobs = [ShareJob(key=_key(each), files=each, orphans=own, foreign=owners.foreign(each)) for each, own in kept]
    copies = [reader.copy_of(*pair) for pair in pairs if not reader.has_copy(*pair)]
    done = [job for job in jobs if reader.has(job)]
    return _replacing(
        known,
        [_present(job, elsewhere) for job in jobs if not reader.has(job)],
        {job.key for job in done},
        copies,
        unchanged=sum(any(key_of(file.location) in listed for file in job.all) for job in done),
        bytes_read=reader.bytes_read,
    )


def _replacing(
    known: Mapping[str, KnownFile],
    jobs: list[ShareJob],
    done: Collection[str],
    copies: list[CopiedFile],
    *,
    unchanged: int,
    bytes_read: int,
) -> LakePlan:
    """The plan of these jobs, with the rows that they and new copies replace; those of sessions in `done` stay."""
    files = [*(file for job in jobs for file in job.all), *(each.file for each in copies)]
    stale = [known[key] for key in sorted({key_of(file.location) for file in files} & known.keys())]
    replaced = ({row.session for row in stale} - set(done)) | {job.key for job in jobs}
    return LakePlan(
        jobs=jobs,
        unchanged=unchanged,
        copies=copies,
        stale=stale,
        stale_sessions={row.session: row.month for row in known.values() if row.session in replaced},
        problems=[],
        bytes_read=bytes_read,
    )


def _present(job: ShareJob, elsewhere: Collection[str]) -> ShareJob:
    """The job without files that no longer exist; their rows stay in the lake."""
    gone = {file.path for file in job.all if key_of(file.location) in elsewhere and not is_there(file.path)}
    if not gone:
        return job
    files = job.files
    lists = ("subagents", "metas", "tool_results", "others", "captures")
    left = {name: tuple(file for file in getattr(files, name) if file.path not in gone) for name in lists}
    trunk = files.trunk if files.trunk is None or files.trunk.path not in gone else None
    orphans = tuple(file for file in job.orphans if file.path not in gone)
    return replace(job, files=replace(files, trunk=trunk, **left), orphans=orphans)


def _is_conversation(file: sources.SourceFile) -> bool:
    return file.kind in (sources.FileKind.TRANSCRIPT, sources.FileKind.SUBAGENT)


def _key(session: sources.SessionFiles) -> str:
    """The key of a session, made from the path of its transcript, or from the folder and id if that is missing."""
    if session.trunk is not None:
        return file_key("session", uri_of(session.trunk.path))
    return file_key("session", f"{uri_of(session.all[0].folder)}\0{session.id}")


def shares_of(jobs: Iterable[ShareJob], size: int = SHARE) -> list[list[ShareJob]]:
    """Divides jobs into shares of sessions from about the same time, so that a share touches few months."""
    shares: list[list[ShareJob]] = []
    held = size
    for job in sorted(jobs, key=lambda job: (job.files.mtime_ns, job.key)):
        if held >= size:
            shares.append([])
            held = 0
        shares[-1].append(job)
        held += job.size
    return shares


def share_name(jobs: Iterable[ShareJob], about: str) -> str:
    """A name made from what is read and how, so that doing a share twice gives the same file."""
    parts = [f"{uri_of(file.path)}\0{file.size}\0{file.mtime_ns}" for job in jobs for file in job.all]
    return sha256("\n".join([about, *parts]).encode("utf-8", "surrogateescape")).hexdigest()[:32]
