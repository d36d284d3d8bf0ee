"""What else tells the content of a file: reads and mentions of it as a whole, and the backups the client keeps.

Before it changes a file for the first time, and again with every prompt, the interactive client backs up the files
it has changed (2.0 and later). The transcript names the backups; the same name later means the same content, whether
the backup itself can be read or not. That is how a rewind that took the code back shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reread.records import Attachment, Record, parse_time
from reread.records.attachments import FileAttachment
from reread.records.state import FileBackup, FileHistoryDelta, FileHistorySnapshot
from reread.records.tolerant import parse_or_none
from reread.sessions import Session, Status, ToolCall

from .changes import twin_of
from .paths import absolute, key_of
from .places import Whereabouts, calls_of
from .texts import ABSENT, Content, told

_LINE = re.compile(r" *(\d+)(?:→|\t)(.*)")
_MOST_LINES = _LONGEST_LINE = 2000
"""Where the client cuts what it shows of a file."""
_BEGINNING = datetime.min.replace(tzinfo=UTC)


class Rewind(Struct, frozen=True):
    """The conversation went back and took another way."""

    session: str
    time: datetime | None
    path: frozenset[int]
    """The segments of the tree that the new way is made of."""

    @property
    def moment(self) -> datetime:
        return self.time or _BEGINNING


class Sighting(Struct, frozen=True, kw_only=True):
    """A file as it was at a moment."""

    path: str
    session: str
    time: datetime | None
    content: Content | None = None
    backup: str | None = None
    """The name of the backup that has the content."""
    number: int = -1
    """Its position among the calls of the session; backups are made before anything else of the same moment."""
    segment: int = -1
    """The stretch of the tree it stands in; -1 for what belongs to no branch."""

    @property
    def key(self) -> str:
        return key_of(self.path)

    @property
    def moment(self) -> datetime:
        return self.time or _BEGINNING


def sightings_of(session: Session) -> list[Sighting]:
    return [*_reads(session), *_mentions(session), *_backups(session)]


def rewinds_of(session: Session) -> list[Rewind]:
    """Where a person went back: forks that something else explains are none."""
    tree, line = session.tree, session.line
    if len(tree.segments) < 2:
        return []
    found = []
    for number, segment in enumerate(tree.segments):
        if number and segment.certain:
            times = (record.time for record in line[segment.start :])
            time = next((time for time in times if time is not None), None)
            found.append(Rewind(session.id, time, frozenset(tree.path(number))))
    return found


def _reads(session: Session) -> Iterator[Sighting]:
    where = Whereabouts(session)
    for done in calls_of(session):
        if done.call.name == "Read" and done.call.status is Status.OK:
            file = twin_of(done.call).get("file") or _numbered(done.call)
            for seen in _seen(file, session, done.call.record, done.time):
                yield replace(seen, number=done.number, segment=where.segment_of(done))


def _numbered(call: ToolCall) -> dict[str, Any] | None:
    """The file a result shows with numbered lines: files of agents often have no twin.

    A file that ends with a newline has a last number without text. What is long may have been cut.
    """
    given = call.input if isinstance(call.input, dict) else {}
    if call.output is None or {"offset", "limit", "pages"} & given.keys():
        return None
    lines = []
    for number, line in enumerate(call.output.text.split("\n"), 1):
        found = _LINE.fullmatch(line)
        if found is None or int(found[1]) != number:
            break
        lines.append(found[2])
    if not lines or len(lines) >= _MOST_LINES or max(map(len, lines)) >= _LONGEST_LINE:
        return None
    told_lines = {"startLine": 1, "numLines": len(lines), "totalLines": len(lines)}
    return {"filePath": given.get("file_path"), "content": "\n".join(lines), **told_lines}


def _mentions(session: Session) -> Iterator[Sighting]:
    """Files that a person put beside a prompt (`@src/a.py`)."""
    for record in session.beside.get(Attachment, ()):
        body = record.attachment if isinstance(record, Attachment) else None
        if isinstance(body, FileAttachment):
            content = parse_or_none(body.content)
            file = content.get("file") if isinstance(content, dict) else None
            yield from _seen(file, session, record, record.time)


def _seen(file: Any, session: Session, record: Record, time: datetime | None) -> Iterator[Sighting]:
    text = _whole_text(file)
    path = file.get("filePath") if isinstance(file, dict) else None
    if text is not None and isinstance(path, str):
        content = told(text, has_mark=False)
        yield Sighting(path=absolute(path, record.cwd), session=session.id, time=time, content=content)


def _whole_text(file: Any) -> str | None:
    """The text, unless it is a part of the file or no text at all."""
    if not isinstance(file, dict) or not isinstance(file.get("content"), str):
        return None
    first, shown, total = (file.get(name) for name in ("startLine", "numLines", "totalLines"))
    is_whole = first in (0, 1) and isinstance(shown, int) and isinstance(total, int) and shown >= total
    return file["content"] if is_whole else None


def _backups(session: Session) -> Iterator[Sighting]:
    seen: set[tuple[str, str | None, int | None]] = set()
    for record in session.records:
        for path, backup, time, is_new_look in _entries(record):
            mark = (path, backup.backup_file_name, backup.version)
            if mark in seen and not is_new_look:
                continue
            seen.add(mark)
            name = backup.backup_file_name
            yield Sighting(
                path=absolute(path, session.project),
                session=session.id,
                time=parse_time(time),
                content=ABSENT if name is None else None,
                backup=name,
            )


def _entries(record: Record) -> Iterator[tuple[str, FileBackup, Any, bool]]:
    """Path, backup, time, and whether the client looked at the file anew to tell."""
    if isinstance(record, FileHistoryDelta) and record.tracking_path and record.backup is not None:
        yield record.tracking_path, record.backup, record.backup.backup_time, True
    elif isinstance(record, FileHistorySnapshot) and record.snapshot is not None:
        is_new_look = not record.is_snapshot_update
        for path, backup in (record.snapshot.tracked_file_backups or {}).items():
            if backup is not None:
                time = record.snapshot.timestamp if is_new_look else backup.backup_time
                yield path, backup, time, is_new_look
