"""Files to records and sessions, without an archive: sources -> records -> sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from reread import lazy, sources
from reread.billing import Prices
from reread.errors import AmbiguousSession, RereadError, SafeDamaged, SourceError, UnknownSession
from reread.home import path_name
from reread.lazy import TYPE_CHECKING
from reread.marks import NO_MARK, Mark
from reread.records import (
    AgentMeta,
    CustomTitleFile,
    Record,
    SessionsIndex,
    Unknown,
    decode,
    decode_all,
    decode_side_file,
)
from reread.records.state import IndexEntry
from reread.sessions import Branch, Captured, FindOutput, Session, SessionBuilder
from reread.sessions.rewritten import with_earlier
from reread.sources import FileKind, Line, SessionFiles, SourceFile
from reread.sources.find import backup_reader

if TYPE_CHECKING:
    import threading
    from os import PathLike

    from reread.features import summaries, tool_use
    from reread.features.edits import net, shell
    from reread.features.edits.history import ReadBackup
    from reread.features.edits.net import FileDiff, SessionEdits
    from reread.features.summaries import SessionSummary
    from reread.features.tool_use import Decision
    from reread.live import capture_fold
else:
    lazy.bind(globals())

_UUID = lazy.pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
INDEX = "sessions-index.json"
_PEEK = 20
"""How many records are read to learn which session a file belongs to: the first ones may name none."""
_TAIL = 64 * 1024
"""How many bytes at a file's end are read to learn when it ended."""
_END = 256 * 1024
"""How many bytes at its end are read to learn what it is doing: a line with a result may be long."""


def read(path: str | PathLike[str]) -> Iterator[Record]:
    """The records of one file, lazily, in file order, with `.line` and `.offset`.

    Raises SourceError if the file cannot be read, not before the first record is asked for.
    """
    for line in sources.read(Path(path_name(path))):
        yield from records_of(line)


def follow(
    path: str | PathLike[str], *, interval: float = 0.1, stop: threading.Event | None = None
) -> Iterator[Record | sources.Reset]:
    """The records of one file from its beginning, and then as it grows; a `Reset` where the file starts over.

    Waits for a file that does not exist yet, and ends only when `stop` is set.
    Raises SourceError when the file exists but cannot be read.
    """
    for event in sources.follow(Path(path_name(path)), interval=interval, stop=stop):
        if isinstance(event, sources.Reset):
            yield event
        else:
            yield from records_of(event)


def records_of(line: Line) -> list[Record]:
    """The records on a line: nearly always one, more where the lines of two writers ran together."""
    raw, number, offset, has_ended = line
    records = decode_all(raw, number, offset)
    last = records[-1]
    if not has_ended and isinstance(last, Unknown) and last.malformed:
        records[-1] = replace(last, reason=f"unfinished last line, {last.reason}")
    return records


def last_of(path: Path, size: int = _END) -> Session:
    """A session made of the last lines of a transcript alone, so that its length does not matter."""
    start = max(0, path.stat().st_size - size)
    lines = sources.read_lines(path, start=start)
    builder = SessionBuilder(path.stem)
    for line in islice(lines, 1 if start else 0, None):  # the first one is cut
        for record in records_of(line):
            builder.add(record)
    return builder.session()


def load(path: str | Path, prices: Prices | None = None) -> LoadedSession:
    """The session in a file or a session folder, with its subagents and side files."""
    place = Path(path)
    problems: list[SourceError] = []
    files = _files_of(place, problems)
    if files and not place.is_dir() and files[0].kind is not FileKind.TRANSCRIPT:
        return _load_alone(files[0], prices)
    wanted = _only_session(place, files)
    session = load_session(wanted, OrphanAgentFiles(files).of(wanted), prices=prices)
    session.problems += tuple(map(str, problems))
    return session


def trunk_of(folder: Path) -> Path:
    """The first file of the only session in a folder. Raises SourceError if the folder has none or several."""
    return _only_session(folder, _files_of(folder, [])).all[0].path


def _only_session(place: Path, files: Sequence[SourceFile]) -> SessionFiles:
    sessions = sources.group(files)
    wanted = [found for found in sessions if found.trunk is not None and _is_meant(place, found)] or sessions
    if len(wanted) != 1:
        raise not_one_session(place, len(wanted))
    return wanted[0]


def not_one_session(place: Path, number: int) -> SourceError:
    return SourceError(place, f"holds {number or 'no'} sessions; name one of its files")


def _files_of(place: Path, problems: list[SourceError]) -> list[SourceFile]:
    """The files at a place; a trunk comes with the files of its folder and agent files of 2.0 clients next to it.

    Others than the trunk that cannot be read are added to `problems`.
    """
    there = sources.find(place, problems=problems)
    if place.is_dir():
        return list(there)
    named = next(there)
    if named.kind is not FileKind.TRANSCRIPT:
        return [named]
    found: list[SourceFile] = []
    for part in parts_of(place):
        try:
            found += sources.find(part, problems=problems)
        except SourceError as problem:  # an agent file of any session of this folder
            problems.append(problem)
    return [named, *(file for file in found if file.kind is not FileKind.TRANSCRIPT)]


def parts_of(trunk: Path) -> list[Path]:
    """The folder of a trunk's own files, and agent files of 2.0 clients next to the trunk, where they exist."""
    folder = trunk.with_suffix("")
    return [*([folder] if folder.is_dir() else []), *sorted(trunk.parent.glob("agent-*.jsonl"))]


def _is_meant(place: Path, session: SessionFiles) -> bool:
    if session.trunk is None:
        return False
    return session.trunk.path.absolute() == place.absolute() or session.id == place.name


def _load_alone(file: SourceFile, prices: Prices | None) -> LoadedSession:
    """A file read by itself: an agent's own, a history, a capture, anything a person names."""
    if file.kind is FileKind.CAPTURE:
        return load_session(SessionFiles(file.session or file.path.stem, captures=(file,)), prices=prices)
    builder = SessionBuilder(file.path.stem, prices=prices)
    builder.add_file(str(file.path), file.size)
    for record in read(file.path):
        builder.add(record)
    return builder.build(LoadedSession)


class FileReader:
    """Reads source files from disk. The archive has a reader of its own, which can also read files that are gone."""

    def records(self, file: SourceFile) -> Iterator[Record]:
        return read(file.path)

    def earlier(self, file: SourceFile) -> Sequence[Sequence[Record]]:  # noqa: ARG002  a disk has only the newest
        """The lines of earlier generations of a file, the newest first."""
        return ()

    def content(self, file: SourceFile) -> bytes:
        return file.path.read_bytes()

    def index_beside(self, trunk: SourceFile) -> bytes | None:
        """The index file that the client keeps in a transcript's folder; None if there is none."""
        try:
            return (trunk.path.parent / INDEX).read_bytes()
        except OSError:
            return None

    def recorded_ids(self, file: SourceFile) -> set[str]:
        """The session ids in the first records of a file."""
        try:
            return {record.session_id for record in islice(self.records(file), _PEEK) if record.session_id is not None}
        except SourceError:  # reported when the whole file is read
            return set()

    def losses(self, file: SourceFile) -> Sequence[str]:  # noqa: ARG002  files on disk are read or raise
        """What could not be read of a file that was asked for, in sentences."""
        return ()

    def spilled(self, outputs: Sequence[SourceFile], name: str) -> str | None:
        """A spilled tool output by name, from the session's own folder; a link that leads out of it is not followed."""
        for file in outputs:
            if file.path.name == name and file.path.resolve().parent == file.path.parent.resolve():
                try:
                    return self.content(file).decode("utf-8", "replace")
                except OSError:  # it vanished: the line still has the beginning of the output
                    return None
        return None


DISK = FileReader()


class ContentReader(FileReader):
    """Reads files whose content comes from elsewhere: a subclass says from where."""

    def records(self, file: SourceFile) -> Iterator[Record]:
        for line in sources.split(self.content(file)):
            yield from records_of(line)


class _Contents(ContentReader):
    """Reads the files of a session from memory."""

    def __init__(self, contents: Mapping[Path, bytes]) -> None:
        self._contents = contents

    def content(self, file: SourceFile) -> bytes:
        return self._contents[file.path]

    def index_beside(self, trunk: SourceFile) -> bytes | None:  # noqa: ARG002  an index is of no session
        return None

    def spilled(self, outputs: Sequence[SourceFile], name: str) -> str | None:
        found = next((file for file in outputs if file.path.name == name), None)
        return None if found is None else self.content(found).decode("utf-8", "replace")


def session_of(id: str, contents: Iterable[tuple[str, str, str | None, str | None, bytes]]) -> LoadedSession:  # noqa: A002
    """A session from the contents of its files, each with its name, kind, agent and workflow."""
    bodies: dict[Path, bytes] = {}
    files: list[SourceFile] = []
    for name, kind, agent, workflow, body in contents:
        bodies[Path(name)] = body
        files.append(SourceFile(str(Path(name)), FileKind(kind), id, agent, workflow, len(body), 0))
    return load_session(SessionFiles.of(id, files), disk=_Contents(bodies))


class LoadedSession(Session):
    """A session with its files, which also gives its edits, its decisions and a summary."""

    read_backup: ReadBackup | None = None
    """Reads backups that the archive kept, for those that no longer exist on disk."""

    @cached_property
    def edits(self) -> SessionEdits:
        """The changes to files, with the backups that still exist or were kept."""
        return edits_of(self, self.read_backup)

    def diff(self, file: str | PathLike[str] | None = None, branch: Branch | None = None) -> list[FileDiff]:
        """The net change of each file, or of those that match a path, its end or a glob; along one branch if given."""
        glob = None if file is None else path_name(file)
        found = self.edits.on_disk() if branch is None else self.edits.on(branch)
        return [each for each in found if each.is_change and (glob is None or shell.fits(each.path, glob))]

    @cached_property
    def decisions(self) -> tuple[Decision, ...]:
        """Questions that Claude asked in this session and its agents, with the answers; the oldest first."""
        agents = (agent for agent in self.subagents if not agent.is_recorded_inline)
        found = [
            *tool_use.decisions_of(self, self.id),
            *(each for a in agents for each in tool_use.decisions_of(a, self.id, a.id)),
        ]
        return tuple(sorted(found, key=lambda each: each.time.timestamp() if each.time is not None else 0.0))

    def summary(self) -> SessionSummary:
        """What it was for, what was done, decided, refused and left open, and how it went; from its own lines."""
        return summaries.summary_of(self, self.edits)


def edits_of(session: Session, kept: ReadBackup | None = None) -> net.SessionEdits:
    """The changes to files in a session, with the backups that still exist or were kept."""
    return net.SessionEdits(session, read_unharmed(trunks_of(session), kept))


def trunks_of(session: Session) -> dict[str, Path]:
    """The path of the session's own transcript, by id, even if it is gone: its backups are found from there."""
    own = [Path(file) for file in session.files]
    return {path.stem: path for path in own if path.suffix == ".jsonl" and path.stem == session.id}


def read_unharmed(trunks: Mapping[str, Path], kept: ReadBackup | None) -> ReadBackup:
    """Reads backups. A damaged one counts as gone: without it, a history has less to go on but can still be made."""

    def unharmed(session: str, name: str) -> bytes | None:
        try:
            return kept(session, name) if kept is not None else None
        except SafeDamaged:
            return None

    return backup_reader(trunks, unharmed)


def load_session(
    files: SessionFiles,
    orphans: Sequence[SourceFile] = (),
    disk: FileReader = DISK,
    prices: Prices | None = None,
    mark: Mark = NO_MARK,
    find_output: FindOutput | None = None,
    read_backup: ReadBackup | None = None,
    name: str | None = None,
) -> LoadedSession:
    """A session from its files, and from the stray agent files that belong to it.

    `name` is its id if that was decided already by comparing all files of its folder. Raises SourceError when the trunk
    cannot be read; other files that cannot be read are named in `session.problems`.
    """
    spilled = find_output or partial(disk.spilled, files.tool_results)
    builder = SessionBuilder(prices=prices, find_output=spilled, mark=mark)
    if files.trunk is not None:
        earlier = disk.earlier(files.trunk)
        records = disk.records(files.trunk)
        for record in with_earlier(records, earlier) if earlier else records:
            builder.add(record)
    for capture in files.captures:
        try:
            builder.add_capture(_captured(capture, disk))
        except (RereadError, OSError) as problem:
            builder.add_problem(str(problem))
    builder.name(name or _session_id(files, builder))
    _add_files(builder, (*files.all, *orphans), disk)
    session = builder.build(LoadedSession)
    hint = _hint(session, files.trunk, disk) if files.trunk is not None else None
    if hint is not None:
        builder.add_hint(hint)
        session = builder.build(LoadedSession)
    session.read_backup = read_backup
    return session


def _add_files(builder: SessionBuilder, files: Iterable[SourceFile], disk: FileReader) -> None:
    for file in files:
        builder.add_file(str(file.path), file.size)
        try:
            add_file(builder, file, disk)
        except (SourceError, OSError) as problem:
            builder.add_problem(str(problem))
        for loss in disk.losses(file):
            builder.add_problem(loss)


def _hint(session: Session, trunk: SourceFile, disk: FileReader) -> IndexEntry | None:
    """What the client's own index says of a session that lacks something. It is unreliable, so it is used last."""
    has_time = any(record.time is not None for record in session.records)  # the first nearly always has one
    if session.project and has_time and session.title != session.id:
        return None
    raw = disk.index_beside(trunk)
    index = decode_side_file(raw, SessionsIndex) if raw is not None else None
    entries = index.entries if index is not None else ()
    return next((entry for entry in entries if entry.session_id == session.id), None)


def _captured(file: SourceFile, disk: FileReader) -> Captured:
    return capture_fold.fold(disk.content(file), str(file.path))


def add_file(builder: SessionBuilder, file: SourceFile, disk: FileReader = DISK) -> None:
    """Adds what a file next to the trunk says; tool results are read only when they are needed."""
    if file.kind is FileKind.SUBAGENT:
        agent = file.agent or file.path.stem
        for record in disk.records(file):
            builder.add(record, agent)
        if file.workflow is not None:
            builder.add_workflow(agent, file.workflow)
    elif file.kind is FileKind.META and file.agent is not None:
        meta = decode_side_file(disk.content(file), AgentMeta)
        if meta is not None:
            builder.add_meta(file.agent, meta)
    elif file.kind is FileKind.TITLE:
        title = decode_side_file(disk.content(file), CustomTitleFile)
        if title is not None:
            builder.add_title(title.custom_title)


def _session_id(files: SessionFiles, builder: SessionBuilder) -> str:
    """The file's name, or the id in its records if the file was renamed to something that is not an id."""
    return files.id if has_own_name(files) else builder.recorded_id or files.id


def ids_of(files: SessionFiles, disk: FileReader = DISK) -> set[str]:
    """The ids of a session: its file's name, and also those in its records if that name is not an id."""
    if files.trunk is None or has_own_name(files):
        return {files.id}
    return {files.id, *disk.recorded_ids(files.trunk)}


def has_own_name(files: SessionFiles) -> bool:
    """Whether its file is named by an id, as the client names it."""
    return _UUID.fullmatch(files.id) is not None


def _ended(files: SessionFiles) -> float:
    """When the conversation ended, by its last lines: the modification time of a copied file says nothing."""
    times = [time for file in (files.trunk, *files.subagents) if file is not None and (time := _last_time(file))]
    return max(times, default=files.mtime_ns / 1e9)


def _last_time(file: SourceFile) -> float | None:
    try:
        tail = list(sources.read_lines(file.path, start=max(0, file.size - _TAIL)))
    except SourceError:
        return None
    times = (decode(line.raw).time for line in reversed(tail))
    return next((time.timestamp() for time in times if time is not None), None)


class OrphanAgentFiles:
    """Agent files of 2.0 clients, which are next to the trunks: only their records say whose they are."""

    def __init__(self, files: Iterable[SourceFile], disk: FileReader = DISK) -> None:
        self._disk = disk
        self._all = [file for file in files if file.kind is FileKind.SUBAGENT and file.session is None]
        self._waiting = list(self._all)
        self._owned: dict[tuple[Path, str], list[SourceFile]] = {}

    def of(self, session: SessionFiles) -> list[SourceFile]:
        while self._waiting:
            file = self._waiting.pop()
            for owner in self._disk.recorded_ids(file):
                self._owned.setdefault((file.folder, owner), []).append(file)
        if session.trunk is None or not self._owned:
            return []
        return [
            file for name in ids_of(session, self._disk) for file in self._owned.get((session.trunk.folder, name), ())
        ]

    def assign_to(self, sessions: Iterable[SessionFiles]) -> list[tuple[SessionFiles, tuple[SourceFile, ...]]]:
        """Each session with its agent files; those whose session is gone become sessions without a trunk."""
        owned = [(session, tuple(self.of(session))) for session in sessions]
        return owned + [(session, ()) for session in self._orphans(own for _, own in owned)]

    def _orphans(self, owned: Iterable[Iterable[SourceFile]]) -> list[SessionFiles]:
        taken = {file.path for files in owned for file in files}
        left: dict[tuple[Path, str], list[SourceFile]] = {}
        for file in self._all:
            if file.path not in taken:
                owner = next(iter(sorted(self._disk.recorded_ids(file))), file.path.stem)
                left.setdefault((file.folder, owner), []).append(file)
        return [SessionFiles(id=owner, subagents=tuple(files)) for (_, owner), files in left.items()]


class SourceTree:
    """All sessions of some sources, newest first, read one at a time."""

    def __init__(self, places: Sequence[Path], prices: Prices | None = None) -> None:
        self.places = tuple(places)
        self._prices = prices
        self.problems: list[SourceError] = []
        self.files = [file for place in places for file in sources.find(place, problems=self.problems)]
        self.sessions = sorted(sources.group(self.files), key=_ended, reverse=True)
        self._orphan_files = OrphanAgentFiles(self.files)

    def __iter__(self) -> Iterator[Session]:
        yield from self._read(self.sessions)

    def _read(self, sessions: Iterable[SessionFiles]) -> Iterator[Session]:
        """Every session; one that can no longer be read goes to `problems`."""
        for files in sessions:
            try:
                yield self._load(files)
            except SourceError as problem:
                self.problems.append(problem)

    def oldest_first(self) -> Iterator[Session]:
        """All sessions in reverse order, so that a copy comes after its original."""
        yield from self._read(reversed(self.sessions))

    def session(self, name: str) -> LoadedSession:
        """By id, a unique beginning of it, `@last`, or `@2` for the second newest."""
        return self._load(self._pick(name))

    def _load(self, files: SessionFiles) -> LoadedSession:
        return load_session(files, self._orphan_files.of(files), prices=self._prices)

    def trunk(self, name: str) -> Path:
        """The transcript of a session, to follow it."""
        files = self._pick(name)
        if files.trunk is None:
            raise SourceError(Path(files.id), "has no transcript left, only files of its agents")
        return files.trunk.path

    def _pick(self, wanted: str) -> SessionFiles:
        if wanted.startswith("@"):
            return self._by_age(wanted)
        if not wanted:
            raise UnknownSession(wanted, self.places)
        found = [files for files in self.sessions if files.id == wanted]
        found = found or [files for files in self.sessions if files.id.startswith(wanted)]
        found = found or [files for files in self.sessions if any(name.startswith(wanted) for name in ids_of(files))]
        ids = list(dict.fromkeys(files.id for files in found))
        if len(ids) > 1:
            raise AmbiguousSession(wanted, ids)
        if not found:
            raise UnknownSession(wanted, self.places)
        return found[0]

    def _by_age(self, name: str) -> SessionFiles:
        position = "1" if name == "@last" else name[1:]
        if not position.isdecimal() or len(position) > 9 or not 1 <= int(position) <= len(self.sessions):
            raise UnknownSession(name, self.places)
        return self.sessions[int(position) - 1]
