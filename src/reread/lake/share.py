"""Makes rows of the lake's tables from sessions. The rows depend only on their files, not on the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pyarrow as pa
from msgspec import Struct

from reread import billing, errors, loading, sources
from reread import rows as row_types
from reread.changes import head_of
from reread.features import secrets
from reread.ingest.copies import session_name
from reread.keys import session_mark
from reread.sessions import Session

from .storage import LakeReader, key_of, uri_of
from .tables import CALL, FILE, MOMENTS, MONTH, REQUEST, SESSION, SHARED, WORDS, arrow_table, month_of

Row = dict[str, Any]
_MOMENT_FIELDS = [field.name for field in MOMENTS.value_type]


class ShareJob(Struct, frozen=True, kw_only=True):
    """A session to read, and its key in the lake."""

    key: str
    files: sources.SessionFiles
    orphans: tuple[sources.SourceFile, ...] = ()
    foreign: frozenset[str] = frozenset()

    @property
    def all(self) -> tuple[sources.SourceFile, ...]:
        return (*self.files.all, *self.orphans)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.all)


class ShareOptions(Struct, frozen=True, kw_only=True):
    """Which parts of a session go into the lake."""

    what: str = "all"
    redact: str = "secrets"
    prices: Path | None = None
    """The user's own price file."""
    before: int | None = None
    """Sessions that ended before this, in milliseconds, are not imported."""


class Share(Struct, kw_only=True):
    """The rows of some sessions, and problems found in reading them."""

    tables: dict[str, pa.Table]
    problems: list[str]
    too_old: list[str]
    """Marks of sessions that were too old and not imported."""
    sessions: int
    bytes_read: int


def take_share(jobs: Sequence[ShareJob], options: ShareOptions) -> Share:
    """The rows of sessions, table by table. A session that cannot be read is listed in `problems` and left to the next
    build."""
    reader = LakeReader()
    rows: dict[str, list[Row]] = {table.name: [] for table in SHARED}
    problems: list[str] = []
    too_old: list[str] = []
    for job in jobs:
        try:
            taken = take_session(job, options, reader)
        except errors.SourceError as problem:
            problems.append(str(problem))
        else:
            if isinstance(taken, str):
                too_old.append(taken)
                taken = {FILE.name: []}
            torn = [row["uri"] for row in taken[FILE.name] if row["is_torn"]]
            problems += [f"{uri}: ends in half a line; the rest is taken when it is there" for uri in torn]
            for name, new in taken.items():
                rows[name] += new
        reader.forget()
    tables = {table.name: arrow_table(table, rows[table.name]) for table in SHARED}
    return Share(
        tables=tables,
        problems=problems,
        too_old=too_old,
        sessions=len(rows[SESSION.name]),
        bytes_read=reader.bytes_read,
    )


_PARTS = {
    "cost": {REQUEST.name},
    "ledger": {REQUEST.name, CALL.name},
    "text": {WORDS.name},
    "all": {REQUEST.name, CALL.name, WORDS.name},
}
"""The tables that a lake has rows in besides `session` and `file`, by what it is built with."""
_UNTOLD = {
    SESSION.name: dict.fromkeys(row_types.UNTOLD),
    FILE.name: {"malformed": None},
    REQUEST.name: {"is_abandoned": None},
}
"""What a lake of cost does not tell, whichever way a session was read."""


def take_session(job: ShareJob, options: ShareOptions, reader: LakeReader) -> dict[str, list[Row]] | str:
    """The rows of one session, or its mark if it is too old. Raises SourceError if a file cannot be read."""
    contents = {file.path: reader.content(file) for file in job.all}
    rows, session = _read(job, options, reader, contents)
    if options.before is not None and rows.session.ended is not None and rows.session.ended < options.before:
        return session_mark(rows.session.uuid)
    redactor, parts = _redactor(options), _PARTS[options.what]
    title: str | None = None
    texts: list[Row] = []
    if session is not None and WORDS.name in parts:
        title, texts = _title_and_texts(job, session, redactor, contents)
    about = {**rows.session._asdict(), "key": job.key, "id": rows.session.uuid, "title": title}
    found = list(zip(job.all, rows.files, (contents[file.path] for file in job.all), strict=True))
    made = {
        SESSION.name: [{**_named(about, options), **_friction(rows, options, redactor)}],
        FILE.name: [_file(*each, reader, options) for each in found],
    }
    if REQUEST.name in parts:
        made[REQUEST.name] = [row for each in found for row in _requests(*each, options)]
    if CALL.name in parts:
        made[CALL.name] = [_named(row, options) for each in rows.files for row in _calls(each)]
    return _with_session({**made, WORDS.name: texts}, job, rows, options)


def _with_session(
    made: dict[str, list[Row]], job: ShareJob, rows: row_types.Rows, options: ShareOptions
) -> dict[str, list[Row]]:
    """The rows with the session and the month that they belong to, and without what a lake of cost does not tell."""
    untold = _UNTOLD if options.what == "cost" else {}
    ours = {"session": job.key, MONTH: month_of(rows.session.started)}
    return {name: [row | untold.get(name, {}) | ours for row in new] for name, new in made.items()}


def _read(
    job: ShareJob, options: ShareOptions, reader: LakeReader, contents: dict[Path, bytes]
) -> tuple[row_types.Rows, Session | None]:
    """The rows of a session, and its conversation. For its cost alone the bytes may do."""
    if options.what == "cost" and not job.orphans and not job.foreign:
        name = job.files.id if loading.has_own_name(job.files) else None
        found = row_types.rows_of_bytes(job.files, contents, name)
        if found is not None:
            return found, None
    session = loading.load_session(job.files, job.orphans, reader, billing.load_prices(options.prices))
    called, has_moments = session_name(session, job.files, job.foreign), CALL.name in _PARTS[options.what]
    return row_types.rows_of(session, job.all, name=called, with_texts=False, with_moments=has_moments), session


_NAMES = (
    *("folder", "project", "git_branch", "git_branches", "agent", "skill", "plugin", "mcp_server", "mcp_tool", "tools"),
    *("name", "path", "model", "models", "version", "versions", "speed", "geo", "tier", "stop_reason"),
)


def _named(row: Row, options: ShareOptions) -> Row:
    """The row with secrets taken out of its names, since a branch, for example, may be called after a token. Names in
    paths stay, so that a project can be asked for."""
    if options.redact == "none":
        return row
    kept = frozenset({secrets.USER, secrets.EMAIL} if options.redact == "secrets" else {secrets.USER})
    names = {name: row[name] for name in _NAMES if row.get(name)}
    return row | {
        name: secrets.redacted_name(each, kept)
        if isinstance(each, str)
        else [secrets.redacted_name(part, kept) for part in each]
        for name, each in names.items()
    }


_FEW_BITS = 0xFFFF
"""How much of a digest of words is kept: enough to distinguish two in one millisecond, too little to test guesses."""


def _friction(rows: row_types.Rows, options: ShareOptions, redactor: secrets.Redactor | None) -> Row:
    """Prompts and moments of a session, with times in microseconds, and without words if the lake has no text."""
    if CALL.name not in _PARTS[options.what]:
        return {"typed": [], "moments": []}
    found = []
    for each in rows.moments:
        row = {**msgspec.structs.asdict(each), "mark": crc32(each.evidence.encode()) & _FEW_BITS}
        row["time"] = _microseconds(each.time)
        for name in ("about", "evidence"):
            kept = None if options.what == "ledger" else row[name]
            row[name] = kept if redactor is None or kept is None else redactor.redact(kept)
        found.append({name: row[name] for name in _MOMENT_FIELDS})
    typed = [{"time": _microseconds(each.time), "mark": each.mark & _FEW_BITS} for each in rows.typed]
    return {"typed": typed, "moments": found}


def _microseconds(time: int | None) -> int | None:
    return None if time is None else time * 1000


def _file(
    file: sources.SourceFile, rows: row_types.FileRows, content: bytes, reader: LakeReader, options: ShareOptions
) -> Row:
    has_ids = file.kind in (sources.FileKind.TRANSCRIPT, sources.FileKind.SUBAGENT)
    return {
        "key": key_of(file.location),
        "uri": uri_of(file.path),
        "kind": file.kind.value,
        "agent": file.agent,
        "size": len(content),
        "mtime_ns": file.mtime_ns,
        "sha256": sha256(content).hexdigest() if options.what != "cost" else None,
        "lines": rows.lines,
        "malformed": rows.malformed,
        "is_torn": rows.is_torn,
        "names": sorted(reader.recorded_ids(file)) if has_ids else [],
    }


_COPIED = (
    *("key", "time", "is_sidechain", "is_abandoned", "input", "output", "cache_read", "cache_write_5m"),
    *("cache_write_1h", "web_searches", "thinking", "doubt", "rows", "recorded", "request_id"),
)


def _requests(
    file: sources.SourceFile, rows: row_types.FileRows, content: bytes, options: ShareOptions
) -> Iterator[Row]:
    times = [each.time for each in rows.responses if each.time is not None]
    contexts = [{**_named(msgspec.structs.asdict(each), options), "context": _digest(each)} for each in rows.contexts]
    ours = {
        "file": key_of(file.location),
        "head": head_of(content),
        "began": min(times, default=None),
        "ended": max(times, default=None),
        "is_agent_file": file.kind is sources.FileKind.SUBAGENT,
    }
    for each in rows.responses:
        yield ours | contexts[each.context] | {name: getattr(each, name) for name in _COPIED}


def _digest(context: row_types.RequestContext) -> str:
    values = tuple(repr(value) for value in msgspec.structs.astuple(context))
    return sha256("\0".join(values).encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _calls(rows: row_types.FileRows) -> Iterator[Row]:
    for each in rows.calls:
        yield {"file": key_of(rows.file), **msgspec.structs.asdict(each)}


def _redactor(options: ShareOptions) -> secrets.Redactor | None:
    if options.redact == "none":
        return None
    is_all = options.redact == "all"
    return secrets.Redactor(addresses=is_all, spared=frozenset(() if is_all else (secrets.EMAIL, secrets.USER)))


def _title_and_texts(
    job: ShareJob, session: Session, redactor: secrets.Redactor | None, contents: dict[Path, bytes]
) -> tuple[str, list[Row]]:
    """The title and the texts, file by file. Secrets are learned from the whole session first, because a key that one
    line identifies may occur without its name in another."""
    spilled = [file for file in job.all if file.kind is sources.FileKind.TOOL_RESULT]
    outputs = {file: contents[file.path].decode("utf-8", "replace") for file in spilled}
    if redactor is not None:
        redactor.learn_all(list(outputs.values()))
        session = secrets.redacted_session(session, redactor)
        outputs = {file: redactor.redact(text) for file, text in outputs.items()}
    rows = [
        {**msgspec.structs.asdict(text), "file": key_of(file.location), "position": text.offset}
        for file in job.all
        for text in row_types.file_texts(session, file, outputs.get(file))
    ]
    return session.title, rows
