"""A file over many sessions: what it held at any moment, and who wrote what of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from reread.analyses.edits.changes import changes_of
from reread.analyses.edits.histories import Event, Gap, History, ReadBackup, history_of, is_called
from reread.analyses.edits.net import SessionEdits
from reread.analyses.edits.paths import key_of
from reread.analyses.edits.sightings import Rewind, rewinds_of, sightings_of
from reread.errors import BadInput, printable
from reread.sessions import Conversation, Copies, Session
from reread.sources.backups import backup_reader
from reread.store.errors import SafeDamaged


class Traced(Struct, frozen=True, kw_only=True):
    """A file's history up to the moment asked for."""

    history: History
    sessions: dict[str, str]
    """The sessions that tell of it: titles by id."""
    gap: Gap | None = None
    """The gap the moment falls into: then what the file held is only what it was last known to hold."""


ParseTime = Callable[[str], datetime]


def trace(
    sessions: Iterable[Session], path: str, at: str | None, parse_time: ParseTime, kept: ReadBackup | None = None
) -> Traced:
    """A file's history from the sessions that touched it, which come oldest first. `at` is a line, or a moment.

    `kept` reads backups whose source is gone. Raises BadInput where it is neither.
    """
    gathered = _Gathered(key_of(path), at, kept)
    for session in sessions:
        gathered.add(session)
    if not gathered.events:
        raise BadInput(f"no transcript tells what {printable(path)} held")
    history = history_of(gathered.events, gathered.rewinds, gathered.read_backup)
    if at is None:
        return Traced(history=history, sessions=gathered.titles)
    after = history.after(at)
    if after is not None:
        return Traced(history=after, sessions=gathered.titles)
    moment = gathered.line_time if gathered.line_time is not None else _moment(at, parse_time)
    return Traced(history=history.until(moment), sessions=gathered.titles, gap=history.gap_at(moment))


def _moment(at: str, parse_time: ParseTime) -> datetime:
    try:
        return parse_time(at)
    except BadInput as error:
        raise BadInput(f"--at {printable(at)!r} is no time, and no line of a session that touched the file") from error


class _Gathered:
    """What sessions tell of one file, and when the line asked for was written."""

    def __init__(self, key: str, line: str | None, kept: ReadBackup | None) -> None:
        self._kept = kept
        self._key = key
        self._line = line
        self._copies = Copies()
        self._trunks: dict[str, Path] = {}
        self.events: list[Event] = []
        self.rewinds: list[Rewind] = []
        self.titles: dict[str, str] = {}
        self.line_time: datetime | None = None

    @property
    def read_backup(self) -> ReadBackup:
        return _reader(self._trunks, self._kept)

    def add(self, session: Session) -> None:
        parts: list[Conversation] = [session, *(a for a in session.subagents if not a.is_recorded_inline)]
        copied = frozenset(id(record) for part in parts for record in part.records[: self._copies.take(part)])
        told: list[Event] = [*sightings_of(session), *changes_of(session, copied)]
        found = [event for event in told if event.key == self._key]
        if found:
            self.events += found
            self.rewinds += rewinds_of(session)
            self.titles[session.id] = session.title
        self._trunks |= trunks_of(session)
        if self._line and self.line_time is None:
            self.line_time = _time_of(parts, self._line)


def _time_of(parts: Iterable[Conversation], line: str) -> datetime | None:
    found = (record for part in parts for record in part.records if is_called(record.uuid, line))
    return next((record.time for record in found if record.time is not None), None)


def trunks_of(session: Session) -> dict[str, Path]:
    """Where the session's own transcript lies, or lay: its backups are found from there."""
    own = [Path(file) for file in session.files]
    return {path.stem: path for path in own if path.suffix == ".jsonl" and path.stem == session.id}


def edits_of(session: Session, kept: ReadBackup | None = None) -> SessionEdits:
    """The changes of a session, with the backups that can still be read, or were kept."""
    return SessionEdits(session, _reader(trunks_of(session), kept))


def _reader(trunks: Mapping[str, Path], kept: ReadBackup | None) -> ReadBackup:
    """A backup that damage took counts as gone: without it a history knows less, and is still one."""

    def unharmed(session: str, name: str) -> bytes | None:
        try:
            return kept(session, name) if kept is not None else None
        except SafeDamaged:
            return None

    return backup_reader(trunks, unharmed)
