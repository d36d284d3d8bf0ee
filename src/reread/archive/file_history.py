"""Files across sessions: which were touched, what each held at any moment, and who wrote which line."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from fnmatch import fnmatch
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.errors import BadInput, SafeDamaged, printable
from reread.features.edits.changes import changes_of
from reread.features.edits.history import (
    BlamedLine,
    CodeRewind,
    Event,
    FileHistory,
    Gap,
    ReadBackup,
    Sighting,
    blame,
    history_of,
    is_called,
    known_parts,
    rewinds_of,
    sightings_of,
    text_of_parts,
)
from reread.features.edits.patches import Content, exact
from reread.features.edits.shell import Action, best_matches, files_in, fits, key_of
from reread.features.search_text import Field
from reread.home import path_name
from reread.index import read
from reread.index.meta import TOOL
from reread.index.read import StoredCall, TextLine, calls_with_files, lines_with, status_of_call
from reread.index.safe_reader import SafeReader
from reread.index.sessions import StoredSession, sessions
from reread.loading import read_unharmed, trunks_of
from reread.records import Record, Spoken, ToolUse, decode
from reread.records.json_parts import object_of
from reread.rows.groups import grouped
from reread.safe.safe import Safe
from reread.sessions import Conversation, Copies, Session
from reread.sessions.calls import call_identity, given_id
from reread.sessions.progress_lines import of_agent
from reread.times import moment

from .filters import Filter, FilterOptions, Moment, Zone, make_filter, moment_of, zone_of
from .listing import passing_ids
from .search_language import parse

if TYPE_CHECKING:
    from typing import Unpack

    from . import commits
    from .commits import CommitOrigin
    from .inner import InnerArchive
else:
    lazy.bind(globals())

_ACTIONS = {
    "Read": Action.READ,
    "Write": Action.WRITE,
    "Edit": Action.EDIT,
    "MultiEdit": Action.EDIT,
    "NotebookEdit": Action.EDIT,
    "Grep": Action.SEARCH,
    "Glob": Action.SEARCH,
    "LS": Action.SEARCH,
}
FILE_TOOLS = frozenset({"Read", "Write", "Edit", "MultiEdit", "NotebookEdit"})
_SHELL = "Bash"
_OUR_TOOLS = "mcp__reread__"
"""The tools of `reread mcp`: a question about a file does not touch it."""
_WINDOW = 500
_TELLING = 3
"""A word of a glob must be longer than this to search commands by; shorter ones are mostly file extensions."""
_MOST_CANDIDATES = 8
"""How many files an error names."""


class Operation(Struct, frozen=True, kw_only=True):
    """Something that a call did to a file, or tried to do."""

    session: StoredSession
    file: int
    call: str
    tool: str
    action: Action
    time: datetime | None
    status: str
    uuid: str | None = None
    """The line of the call; looked up only if asked for."""
    program: str | None = None
    """The program of the shell command that names the file. Such an operation is guessed, so its confidence is low."""

    @property
    def confidence(self) -> str:
        return "high" if self.program is None else "low"


class TouchedFile(Struct, frozen=True, kw_only=True):
    path: str
    operations: list[Operation]
    """The newest first."""

    @property
    def last(self) -> datetime | None:
        return self.operations[0].time

    @property
    def sessions(self) -> list[str]:
        """The newest first."""
        return list(dict.fromkeys(operation.session.row.uuid for operation in self.operations))

    def count(self, action: Action) -> int:
        return sum(operation.action is action for operation in self.operations)


class Touched(Struct, frozen=True, kw_only=True):
    files: list[TouchedFile]
    """The most recently touched first."""
    total: int
    has_shell: bool
    """Whether shell commands were searched as well."""
    hidden: int = 0
    """How many lines with calls could not be read because the safe is damaged."""


class _ChosenSessions:
    """The sessions that pass a filter; only those that touched a file are read."""

    def __init__(self, connection: sqlite3.Connection, ids: Iterable[int]) -> None:
        self._connection = connection
        self.ids = dict.fromkeys(ids)
        """The one that ended last first."""
        self._read: dict[int, StoredSession] = {}

    def __getitem__(self, number: int) -> StoredSession:
        return self._read[number]

    def load(self, numbers: Iterable[int]) -> None:
        new = {number for number in numbers if number in self.ids and number not in self._read}
        self._read |= {each.id: each for each in sessions(self._connection, ids=sorted(new))}

    def loaded(self, matches: Iterator[read.Match]) -> Iterator[read.Match]:
        """The same matches, after reading their sessions, some hundred at a time."""
        while some := list(islice(matches, _WINDOW)):
            self.load(match.session for match in some)
            yield from some


class FileIndex:
    """Finds in the archive's index which calls name which files."""

    def __init__(self, connection: sqlite3.Connection, safe: Safe) -> None:
        self._connection = connection
        self._kept = SafeReader(connection, safe)
        self._hidden = 0

    def paths(self) -> list[str]:
        """Every file a tool read or changed, as transcripts name them."""
        found = (call.path for call in calls_with_files(self._connection) if call.name in FILE_TOOLS)
        return list(dict.fromkeys(found))

    def paths_in_commands(self, name: str) -> list[str]:
        """Files named in shell commands whose last part equals that of `name`."""
        last = name.replace("\\", "/").rpartition("/")[2]
        return [file.path for file in self.touched(literal(last), Filter(), with_shell=True).files] if last else []

    def meant(self, name: str, here: str) -> str:
        """The path in transcripts of the file that a name means in the folder `here`; raises BadInput for none or
        several."""
        # Since 2.1.325 transcripts record what commands did to files that no tool ever touched.
        found = best_matches(name, here, self.paths()) or best_matches(name, here, self.paths_in_commands(name))
        if not found:
            raise BadInput(f"no session touched a file {printable(name)!r}")
        if len(found) > 1:
            more = ", ..." if len(found) > _MOST_CANDIDATES else ""
            names = ", ".join(map(printable, found[:_MOST_CANDIDATES])) + more
            raise BadInput(f"{printable(name)!r} could be any of {len(found)} files: {names}")
        return found[0]

    def sessions_with(self, path: str) -> list[str]:
        """The ids of the sessions that touched a file, the one that ended first first."""
        key = key_of(path)
        found = {call.session for call in calls_with_files(self._connection) if key_of(call.path) == key}
        if not found:
            named = self.touched(literal(path), Filter(), with_shell=True).files
            found = {operation.session.id for file in named for operation in file.operations}
        return list(dict.fromkeys(each.row.uuid for each in reversed(sessions(self._connection, ids=sorted(found)))))

    def touched(
        self, glob: str | None, filters: Filter, *, with_shell: bool | None = None, with_uuids: bool = False
    ) -> Touched:
        """The files that match a glob. Shell commands are searched if the glob has a word to find them by, or if
        `with_shell` says so."""
        unnamed = filters._replace(limit=None, file=None, tool=None)
        chosen = _ChosenSessions(self._connection, passing_ids(self._connection, unnamed))
        globs = [each for each in (glob, filters.file) if each is not None]
        words = _words(globs)
        has_shell = with_shell if with_shell is not None else any(len(word) > _TELLING for word in words)
        found = list(self._named(chosen, globs))
        if has_shell:
            found += [pair for pair in self._in_commands(words, chosen) if _fits_all(pair[0], globs)]
        files = _by_path(pair for pair in found if _is_wanted(pair[1], filters))
        shown = self._with_uuids(files[: filters.limit]) if with_uuids else files[: filters.limit]
        return Touched(files=shown, total=len(files), has_shell=has_shell, hidden=self._hidden)

    def _named(self, chosen: _ChosenSessions, globs: list[str]) -> Iterator[tuple[str, Operation]]:
        """Operations that the index itself has; a call that was copied into another session is given once."""
        every = calls_with_files(self._connection)
        calls = [
            call
            for call in every
            if call.session in chosen.ids and not call.name.startswith(_OUR_TOOLS) and _fits_all(call.path, globs)
        ]
        chosen.load(call.session for call in calls)
        copies: dict[tuple[object, ...], StoredCall] = {}
        for call in calls:
            name = call_identity(call.id, call.time) or (call.file, call.id)
            known = copies.setdefault(name, call)
            if _age(chosen[known.session]) > _age(chosen[call.session]):
                copies[name] = call
        for call in copies.values():
            yield call.path, _operation(call, chosen[call.session])

    def _in_commands(self, words: list[str], chosen: _ChosenSessions) -> Iterator[tuple[str, Operation]]:
        """Operations guessed from the words of shell commands; the search index finds the commands."""
        for match in chosen.loaded(self._matches(words, chosen)):
            record = self._record(match.file, match)
            for call in _calls_in(record):
                command = object_of(call.input).get("command")
                if call.name != _SHELL or not isinstance(command, str) or call.id is None:
                    continue
                status = status_of_call(self._connection, match.file, match.offset, call.id) or "missing"
                for named in files_in(command, record.cwd):
                    yield (
                        named.path,
                        Operation(
                            session=chosen[match.session],
                            file=match.file,
                            call=call.id,
                            tool=_SHELL,
                            action=named.action,
                            time=record.time,
                            status=status,
                            uuid=record.uuid,
                            program=named.program,
                        ),
                    )

    def _record(self, file: int, line: read.Match | TextLine) -> Record:
        try:
            return of_agent(decode(self._kept.line(file, line.generation, line.offset, line.length)))
        except SafeDamaged:
            self._hidden += 1
            return decode(b"")

    def _matches(self, words: list[str], chosen: _ChosenSessions) -> Iterator[read.Match]:
        if not words:
            for blocks in read.blocks(self._connection, [list(Field).index(Field.TOOL)], list(chosen.ids)):
                yield from map(blocks.match, blocks.rows)
            return
        expression = parse(" ".join(words), frozenset({Field.TOOL})).match
        below: int | None = None
        while window := read.matches(
            self._connection, expression, below=below, limit=_WINDOW, sessions=list(chosen.ids)
        ):
            yield from window
            below = window[-1].id

    def _with_uuids(self, files: list[TouchedFile]) -> list[TouchedFile]:
        """The same files with the line of every call, which has to be read from the transcripts."""
        times: dict[int, set[datetime | None]] = {}
        for file in files:
            for each in file.operations:
                if each.uuid is None:
                    times.setdefault(each.file, set()).add(each.time)
        uuids = {name: uuid for file, wanted in times.items() for name, uuid in self._uuids(file, wanted)}
        return [
            TouchedFile(
                path=file.path,
                operations=[
                    each
                    if each.uuid is not None
                    else replace(each, uuid=uuids.get((each.file, each.time, given_id(each.call))))
                    for each in file.operations
                ],
            )
            for file in files
        ]

    def _uuids(self, file: int, times: set[datetime | None]) -> Iterator[tuple[tuple[int, datetime | None, str], str]]:
        for line in lines_with(self._connection, file, TOOL):
            time = moment(line.time)
            if time in times:
                record = self._record(file, line)
                for call in _calls_in(record):
                    if call.id is not None and record.uuid is not None:
                        yield (file, time, given_id(call.id)), record.uuid


def _operation(call: StoredCall, session: StoredSession) -> Operation:
    return Operation(
        session=session,
        file=call.file,
        call=call.id,
        tool=call.name,
        action=_ACTIONS.get(call.name, Action.READ),
        time=moment(call.time),
        status=call.status,
    )


def _is_wanted(operation: Operation, filters: Filter) -> bool:
    is_tool = filters.tool is None or fnmatch(operation.tool.lower(), filters.tool.lower())
    return is_tool and filters.keeps_time(operation.time)


def _fits_all(path: str, globs: list[str]) -> bool:
    return all(fits(path, glob) for glob in globs)


def _by_path(found: Iterable[tuple[str, Operation]]) -> list[TouchedFile]:
    files = []
    for pairs in grouped(found, lambda pair: key_of(pair[0])).values():
        pairs.sort(key=lambda pair: _newest(pair[1].time))
        files.append(TouchedFile(path=pairs[0][0], operations=[operation for _, operation in pairs]))
    return sorted(files, key=lambda file: (_newest(file.last), file.path))


def _newest(time: datetime | None) -> float:
    return -time.timestamp() if time is not None else 0.0


def _age(session: StoredSession) -> int:
    return session.row.ended or 0


def _calls_in(record: Record) -> list[ToolUse]:
    return [block for block in record.blocks if type(block) is ToolUse] if isinstance(record, Spoken) else []


def literal(path: str) -> str:
    """A glob that matches only this path."""
    return re.sub(r"([*?[])", r"[\1]", path)


_WORD = re.compile(r"(?<![\w*?\]])[A-Za-z0-9]+\*?(?![?\[])")


def _words(globs: Iterable[str]) -> list[str]:
    """Whole words and prefixes of words in the last part of a glob, as the search index has them."""
    return [
        word for glob in globs for word in _WORD.findall(glob.replace("\\", "/").rpartition("/")[2].replace("_", " "))
    ]


class Traced(Struct, frozen=True, kw_only=True):
    """A file's history up to a given moment."""

    history: FileHistory
    sessions: dict[str, str]
    """The titles by id of the sessions that show it."""
    is_end: bool = False
    """Whether no moment was given: the history then ends with the state in which the last session left it."""
    gap: Gap | None = None
    """The gap that the moment is in, if any: the content is then only what was last known."""

    @property
    def content(self) -> Content:
        """What the file held, with placeholders for unknown lines. Raises BadInput if it did not exist, or none of its
        lines can be placed."""
        path, content = printable(self.history.path), self.history.last
        when = "in the end" if self.is_end else "at that point"
        if content is None:
            parts = known_parts(self.history)
            if parts:
                return exact(text_of_parts(parts))
            raise BadInput(f"transcripts show only parts of {path} {when}")
        if content.text is None:
            raise BadInput(f"{path} was not there {when}")
        return content

    def blame(self) -> list[BlamedLine]:
        """Each line with the session, the prompt and the edit that wrote it; only the known lines if some are unknown.
        Raises BadInput if none is known."""
        whole = blame(self.history)
        lines = whole if whole is not None else known_parts(self.history)
        if whole is None and not lines:
            raise BadInput(
                f"transcripts show only parts of {printable(self.history.path)}, so no line can be attributed"
            )
        return lines


ParseTime = Callable[[str], datetime]


def trace(
    sessions: Iterable[Session],
    path: str,
    at: str | datetime | None,
    parse_time: ParseTime,
    kept: ReadBackup | None = None,
) -> Traced:
    """A file's history from the sessions that touched it, which must come oldest first. `at` is a time, or the uuid of
    a line.

    `kept` reads backups whose source is gone. Raises BadInput if `at` is neither, or no content is known.
    """
    gathered = _Gathered(key_of(path), at if isinstance(at, str) else None, kept)
    for session in sessions:
        gathered.add(session)
    if all(isinstance(event, Sighting) and event.is_partial for event in gathered.events):
        raise BadInput(f"no transcript shows the content of {printable(path)}")
    history = history_of(gathered.events, gathered.rewinds, gathered.read_backup)
    if at is None:
        return Traced(history=history, sessions=gathered.titles, is_end=True)
    after = history.after(at) if isinstance(at, str) else None
    if after is not None:
        return Traced(history=after, sessions=gathered.titles)
    moment = gathered.line_time
    if moment is None:
        moment = _moment(at, parse_time) if isinstance(at, str) else at
    return Traced(history=history.until(moment), sessions=gathered.titles, gap=history.gap_at(moment))


def _moment(at: str, parse_time: ParseTime) -> datetime:
    try:
        return parse_time(at)
    except BadInput as error:
        raise BadInput(
            f"{printable(at)!r} is neither a time nor the uuid of a record in a session that touched the file"
        ) from error


class _Gathered:
    """What sessions show of one file, and when the given line was written."""

    def __init__(self, key: str, line: str | None, kept: ReadBackup | None) -> None:
        self._kept = kept
        self._key = key
        self._line = line
        self._copies = Copies()
        self._trunks: dict[str, Path] = {}
        self.events: list[Event] = []
        self.rewinds: list[CodeRewind] = []
        self.titles: dict[str, str] = {}
        self.line_time: datetime | None = None

    @property
    def read_backup(self) -> ReadBackup:
        return read_unharmed(self._trunks, self._kept)

    def add(self, session: Session) -> None:
        parts: list[Conversation] = [session, *(a for a in session.subagents if not a.is_recorded_inline)]
        copied = frozenset[int]().union(*(part.identities(part.records[: self._copies.take(part)]) for part in parts))
        events: list[Event] = [*sightings_of(session), *changes_of(session, copied)]
        found = [event for event in events if event.key == self._key]
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


class ArchivedFile:
    """A file that sessions touched, by its path in transcripts."""

    def __init__(self, archive: InnerArchive, path: str) -> None:
        self._archive = archive
        self.path = path

    def __repr__(self) -> str:
        return f"<ArchivedFile {self.path}, touched by {len(self.sessions)} sessions>"

    @property
    def sessions(self) -> list[str]:
        """The ids of the sessions that touched it, the one that ended first first."""
        return FileIndex(self._archive.connection, self._archive.packs).sessions_with(self.path)

    def history(self, at: Moment | None = None, timezone: Zone | None = None) -> Traced:
        """All that is known about its content up to a time, or up to just after a line, given by its uuid."""
        zone = zone_of(timezone)
        when = at if at is None or isinstance(at, str) else moment_of(at, zone, "at")
        return trace(
            (self._archive.session(name) for name in self.sessions),
            self.path,
            when,
            lambda text: moment_of(text, zone, "at"),
            self._archive.kept_backups(),
        )

    def at(self, when: Moment, timezone: Zone | None = None) -> str:
        """What it held at a time, or just after a line, given by its uuid. Raises BadInput if that is not known."""
        return self.history(when, timezone).content.plain

    @property
    def content(self) -> str:
        """Its content as the last session left it."""
        return self.history().content.plain

    def blame(self, at: Moment | None = None, timezone: Zone | None = None) -> list[BlamedLine]:
        """Each line with the session, the prompt and the edit that wrote it."""
        return self.history(at, timezone).blame()


class ArchiveFiles:
    """Which files sessions touched, and what they held."""

    def __init__(self, archive: InnerArchive) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<files of {self._archive!r}>"

    @property
    def index(self) -> FileIndex:
        return FileIndex(self._archive.connection, self._archive.packs)

    def touched(
        self,
        glob: str | PathLike[str] | None = None,
        base: Filter | None = None,
        *,
        with_shell: bool | None = None,
        with_uuids: bool = False,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> Touched:
        """The files that match a glob. Shell commands are searched if the glob has a word to find them by, or if
        `with_shell` says so."""
        chosen = make_filter(base, filters, timezone)
        name = None if glob is None else path_name(glob)
        return self.index.touched(name, chosen, with_shell=with_shell, with_uuids=with_uuids)

    def commit(self, revision: str = "HEAD", folder: Path | None = None) -> CommitOrigin:
        """Who wrote a commit, or a range such as `main..HEAD`, of the repository in a folder, by default this one."""
        return commits.commit_origin(self._archive, revision, folder or Path.cwd())

    def find(self, name: str | PathLike[str], here: str | PathLike[str] | None = None) -> ArchivedFile:
        """The file that a path, or the end of one, means in the folder `here`, by default the working directory.

        Raises BadInput if it means none or several.
        """
        if not isinstance(name, str | PathLike):
            raise BadInput(f"{printable(repr(name))} names no file; give a path, or enough of its end")
        path = str(Path(name).expanduser()) if fspath(name).startswith("~") else fspath(name)
        folder = fspath(here) if here is not None else str(Path.cwd())
        return ArchivedFile(self._archive, self.index.meant(path, folder))
