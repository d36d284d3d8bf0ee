"""Files to records and sessions, without an archive: sources -> records -> sessions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from reread import sources
from reread.errors import AmbiguousSession, SourceError, UnknownSession
from reread.records import AgentMeta, CustomTitleFile, Record, Unknown, decode_all, decode_side_file
from reread.sessions import Session, SessionBuilder
from reread.sources import Kind, Line, SessionFiles, SourceFile

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PEEK = 20
"""How many records are read to learn whose an agent file is: the first may belong to nobody."""


def read(path: str | Path) -> Iterator[Record]:
    """The records of one file, lazily, in file order, with `.line` and `.offset`."""
    for line in sources.read(Path(path)):
        yield from records_of(line)


def records_of(line: Line) -> list[Record]:
    """The records on a line: one nearly always, more where two writers met."""
    records = decode_all(line.raw, line.number, line.offset)
    last = records[-1]
    if not line.ended and isinstance(last, Unknown) and last.malformed:
        records[-1] = replace(last, reason=f"unfinished last line, {last.reason}")
    return records


def load(path: str | Path) -> Session:
    """The session in a file or a session folder, with its subagents and side files."""
    place = Path(path)
    files = _files_of(place)
    if files and not place.is_dir() and files[0].kind is not Kind.TRANSCRIPT:
        return _load_alone(files[0])
    sessions = sources.group(files)
    wanted = [found for found in sessions if found.trunk is not None and _is_meant(place, found)] or sessions
    if len(wanted) != 1:
        raise SourceError(place, f"holds {len(wanted) or 'no'} sessions; name one of its files")
    return load_session(wanted[0], _Strays(files).of(wanted[0]))


def _files_of(place: Path) -> list[SourceFile]:
    """A trunk brings the files of its folder, and agent files of 2.0 clients beside it, with it."""
    if place.is_dir():
        return list(sources.find(place))
    named = next(iter(sources.find(place)))
    if named.kind is not Kind.TRANSCRIPT:
        return [named]
    folder = place.with_suffix("")
    inside = [file for file in sources.find(folder) if file.kind is not Kind.TRANSCRIPT] if folder.is_dir() else []
    beside = [next(iter(sources.find(path))) for path in sorted(place.parent.glob("agent-*.jsonl"))]
    return [named, *inside, *beside]


def _is_meant(place: Path, session: SessionFiles) -> bool:
    if session.trunk is None:
        return False
    return session.trunk.path.absolute() == place.absolute() or session.id == place.name


def _load_alone(file: SourceFile) -> Session:
    """A file read for itself: an agent's own, a history, anything a person points at."""
    builder = SessionBuilder(file.path.stem)
    builder.add_file(str(file.path), file.size)
    for record in read(file.path):
        builder.add(record)
    return builder.session()


def load_session(files: SessionFiles, strays: Sequence[SourceFile] = ()) -> Session:
    """A session from its files, and from those agent files beside them that are its own."""
    outputs = {file.path.name: file.path for file in files.tool_results}
    builder = SessionBuilder(find_output=lambda name: _text(outputs.get(name)))
    if files.trunk is not None:
        for record in read(files.trunk.path):
            builder.add(record)
    builder.name(_session_id(files, builder))
    for agent in (*files.subagents, *strays):
        _add_agent(builder, agent)
    for file in (*files.all, *strays):
        builder.add_file(str(file.path), file.size)
    for file in files.metas:
        meta = decode_side_file(_bytes(file.path), AgentMeta)
        if meta is not None and file.agent is not None:
            builder.add_meta(file.agent, meta)
    for file in files.others:
        title = decode_side_file(_bytes(file.path), CustomTitleFile) if file.kind is Kind.TITLE else None
        if title is not None:
            builder.add_title(title.custom_title)
    return builder.session()


def _session_id(files: SessionFiles, builder: SessionBuilder) -> str:
    """The file's name, unless it was renamed to something that is no id and its records know better."""
    return files.id if _UUID.fullmatch(files.id) else builder.recorded_id or files.id


def _add_agent(builder: SessionBuilder, file: SourceFile) -> None:
    agent = file.agent or file.path.stem
    for record in read(file.path):
        builder.add(record, agent)
    if file.workflow is not None:
        builder.add_workflow(agent, file.workflow)


class _Strays:
    """Agent files of 2.0 clients, which lie beside the trunks: only their records tell whose they are."""

    def __init__(self, files: Iterable[SourceFile]) -> None:
        self._waiting = [file for file in files if file.kind is Kind.SUBAGENT and file.session is None]
        self._owned: dict[tuple[Path, str], list[SourceFile]] = {}

    def of(self, session: SessionFiles) -> list[SourceFile]:
        while self._waiting:
            file = self._waiting.pop()
            for owner in {record.session_id for record in islice(read(file.path), _PEEK)}:
                if owner is not None:
                    self._owned.setdefault((file.folder, owner), []).append(file)
        return self._owned.get((session.trunk.folder, session.id), []) if session.trunk is not None else []


def _text(path: Path | None) -> str | None:
    return None if path is None else _bytes(path).decode("utf-8", "replace")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(path, f"cannot be read ({error.strerror or error})") from error


class Shelf:
    """All sessions of some sources, newest first, read one at a time."""

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = tuple(places)
        self.problems: list[SourceError] = []
        self.files = [file for place in places for file in sources.find(place, problems=self.problems)]
        self.sessions = sorted(sources.group(self.files), key=lambda found: found.mtime_ns, reverse=True)
        self._strays = _Strays(self.files)

    def __iter__(self) -> Iterator[Session]:
        yield from self._read(self.sessions)

    def _read(self, sessions: Iterable[SessionFiles]) -> Iterator[Session]:
        """Every session; one that cannot be read any more goes to `problems`."""
        for files in sessions:
            try:
                yield self._load(files)
            except SourceError as problem:
                self.problems.append(problem)

    def oldest_first(self) -> Iterator[Session]:
        """The same from the other end: a copy then comes after what it copies."""
        yield from self._read(reversed(self.sessions))

    def session(self, wanted: str) -> Session:
        """By id, a unique beginning of it, `@last`, or `@2` for the second newest."""
        return self._load(self._pick(wanted))

    def _load(self, files: SessionFiles) -> Session:
        return load_session(files, self._strays.of(files))

    def trunk(self, wanted: str) -> Path:
        """The file of a session's own lines, to follow it."""
        files = self._pick(wanted)
        if files.trunk is None:
            raise SourceError(Path(files.id), "has no transcript left, only files of its agents")
        return files.trunk.path

    def _pick(self, wanted: str) -> SessionFiles:
        if wanted.startswith("@"):
            return self._by_age(wanted)
        found = [files for files in self.sessions if files.id == wanted]
        found = found or [files for files in self.sessions if files.id.startswith(wanted)]
        ids = list(dict.fromkeys(files.id for files in found))
        if len(ids) > 1:
            raise AmbiguousSession(wanted, ids)
        if not found or not wanted:
            raise UnknownSession(wanted, self.places)
        return found[0]

    def _by_age(self, wanted: str) -> SessionFiles:
        position = "1" if wanted == "@last" else wanted[1:]
        if not position.isdecimal() or not 1 <= int(position) <= len(self.sessions):
            raise UnknownSession(wanted, self.places)
        return self.sessions[int(position) - 1]
