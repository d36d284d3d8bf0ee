"""Questions to the archive's tables, as functions. SQL stands in this room and nowhere else."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from .rows import FileRow, SessionRow
from .safe import Place

_FILE = ", ".join(FileRow.__struct_fields__)
_SESSION = ", ".join(f"session.{name}" for name in SessionRow.__struct_fields__)


class StoredSession(Struct, frozen=True, kw_only=True):
    """A session as the archive lists it."""

    id: int
    row: SessionRow
    files: list[str]
    present: bool
    """Whether the source of its own lines still exists."""
    mtime_ns: int | None
    """Of that source, as last seen: the client's clean-up goes by it."""


class StoredPiece(Struct, frozen=True, kw_only=True):
    start: int
    length: int
    sha256: bytes
    place: Place


class Match(Struct, frozen=True, kw_only=True):
    """A block the full-text index found."""

    id: int
    session: int
    file: int
    offset: int
    length: int
    part: int
    field: int
    time: int | None
    kind: str
    generation: int


_MATCH = """block.id, file.session, block.file, block.offset, block.length, block.part, block.field, block.time,
            file.kind, file.generation"""


def known_files(connection: sqlite3.Connection, machine: str) -> dict[str, FileRow]:
    """Every file of a machine, by key."""
    rows = connection.execute(f"SELECT {_FILE} FROM file WHERE machine = ?", (machine,))  # noqa: S608  our own names
    return {row[1]: _file(row) for row in rows}


def files_of(connection: sqlite3.Connection, session: int) -> list[FileRow]:
    rows = connection.execute(f"SELECT {_FILE} FROM file WHERE session = ? ORDER BY path", (session,))  # noqa: S608
    return [_file(row) for row in rows]


def file_by_id(connection: sqlite3.Connection, file: int) -> FileRow:
    return _file(connection.execute(f"SELECT {_FILE} FROM file WHERE id = ?", (file,)).fetchone())  # noqa: S608


def _file(row: Sequence[Any]) -> FileRow:
    values = dict(zip(FileRow.__struct_fields__, row, strict=True))
    values["path"] = Path(as_path(values["path"]))
    values["present"] = bool(values["present"])
    return FileRow(**values)


def as_path(stored: str | bytes) -> str:
    """Names that are no UTF-8 are stored as bytes."""
    return os.fsdecode(stored) if isinstance(stored, bytes) else stored


def pieces_of(
    connection: sqlite3.Connection, file: int, generation: int, start: int = 0, end: int | None = None
) -> list[StoredPiece]:
    """The pieces of a file that overlap a range, in order."""
    rows = connection.execute(
        """SELECT start, length, sha256, pack, offset, stored FROM piece
           WHERE file = ? AND generation = ? AND start + length > ? AND start < ? ORDER BY start""",
        (file, generation, start, end if end is not None else 1 << 62),
    )
    return [
        StoredPiece(start=row[0], length=row[1], sha256=row[2], place=Place(pack=row[3], offset=row[4], stored=row[5]))
        for row in rows
    ]


def sessions(
    connection: sqlite3.Connection, *, ids: Sequence[int] | None = None, limit: int | None = None
) -> list[StoredSession]:
    """Sessions, the one that ended last first: all, some by id, or only the newest."""
    chosen = "" if ids is None else f"WHERE id IN ({_integers(ids)})"
    rows = connection.execute(
        f"""SELECT session.id, {_SESSION},
                   max(CASE WHEN file.kind = 'transcript' THEN file.present ELSE 0 END),
                   max(CASE WHEN file.kind = 'transcript' THEN file.mtime_ns END),
                   json_group_array(
                       CASE typeof(file.path) WHEN 'blob' THEN char(0) || hex(file.path) ELSE file.path END
                   )
            FROM (SELECT * FROM session {chosen} ORDER BY ended DESC LIMIT ?) AS session
                LEFT JOIN file ON file.session = session.id
            GROUP BY session.id
            ORDER BY session.ended DESC, max(CASE WHEN file.kind = 'transcript' THEN file.present ELSE 0 END) DESC,
                session.id""",  # noqa: S608  integers and our own names
        (limit if limit is not None else -1,),
    )
    return [_session(row) for row in rows]


def _session(row: Sequence[Any]) -> StoredSession:
    names = SessionRow.__struct_fields__
    values = dict(zip(names, row[1 : 1 + len(names)], strict=True))
    for name in ("versions", "models", "git_branches"):
        values[name] = msgspec.json.decode(values[name] or "[]")
    for name in ("uuid", "folder"):
        values[name] = as_path(values[name])
    present, mtime_ns, files = row[1 + len(names) :]
    return StoredSession(
        id=row[0],
        row=SessionRow(**values),
        files=sorted(_unhexed(path) for path in msgspec.json.decode(files) if path),
        present=bool(present),
        mtime_ns=mtime_ns,
    )


def _unhexed(path: str) -> str:
    """JSON holds no bytes: names that are no UTF-8 come as hexadecimal behind a NUL, which no name begins with."""
    return os.fsdecode(bytes.fromhex(path[1:])) if path.startswith("\0") else path


def matches(
    connection: sqlite3.Connection, expression: str, *, below: int | None, limit: int, sessions: Sequence[int] | None
) -> list[Match]:
    """The newest blocks that match, going back from the id `below`."""
    chosen = "" if sessions is None else f"AND file.session IN ({_integers(sessions)})"
    rows = connection.execute(
        f"""SELECT {_MATCH}
            FROM search CROSS JOIN block ON block.id = search.rowid CROSS JOIN file ON file.id = block.file
            WHERE search MATCH ? AND search.rowid < ? {chosen}
            ORDER BY search.rowid DESC LIMIT ?""",  # noqa: S608  integers only
        (expression, below if below is not None else 1 << 62, limit),
    )
    return [_match(row) for row in rows]


def blocks(connection: sqlite3.Connection, fields: Sequence[int], sessions: Sequence[int] | None) -> Iterator[Match]:
    """All blocks of some fields, in some sessions or in all, newest first."""
    chosen = "" if sessions is None else f"AND file.session IN ({_integers(sessions)})"
    rows = connection.execute(
        f"""SELECT {_MATCH} FROM block CROSS JOIN file ON file.id = block.file
            WHERE block.field IN ({_integers(fields)}) {chosen}
            ORDER BY block.id DESC"""  # noqa: S608  integers only
    )
    for row in rows:
        yield _match(row)


def _match(row: Sequence[Any]) -> Match:
    return Match(**dict(zip(Match.__struct_fields__, row, strict=True)))


def _integers(values: Sequence[int]) -> str:
    return ", ".join(str(int(value)) for value in values)


def count_matches(connection: sqlite3.Connection, expression: str, sessions: Sequence[int] | None) -> int:
    """How many blocks match, in some sessions or in all."""
    if sessions is None:
        found = connection.execute("SELECT count(*) FROM search WHERE search MATCH ?", (expression,)).fetchone()
    else:
        found = connection.execute(
            f"""SELECT count(*)
                FROM search CROSS JOIN block ON block.id = search.rowid CROSS JOIN file ON file.id = block.file
                WHERE search MATCH ? AND file.session IN ({_integers(sessions)})""",  # noqa: S608  integers only
            (expression,),
        ).fetchone()
    return int(found[0])


def vocabulary(connection: sqlite3.Connection, first: str, last: str) -> list[tuple[str, int]]:
    """Terms of the index between two, with the number of blocks that hold them."""
    return list(connection.execute("SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ?", (first, last)))


def calls_of(connection: sqlite3.Connection, session: int) -> list[tuple[str, str | None]]:
    """Name and file of every call of a session, its agents included."""
    return list(
        connection.execute(
            """SELECT name, tool_call.path FROM file JOIN tool_call ON tool_call.file = file.id
               WHERE file.session = ?""",
            (session,),
        )
    )


def usage_by_day_and_model(connection: sqlite3.Connection, zone_offset_minutes: int) -> list[tuple[Any, ...]]:
    """One row per day and model. Of the copies of a response the row with most output counts, on a tie the home
    copy's; the day is the home copy's: a main session before a sidechain, then the earliest, then the first seen."""
    return list(
        connection.execute(
            """
            WITH ranked AS (
                SELECT *,
                    row_number() OVER
                        (PARTITION BY key ORDER BY output DESC, is_sidechain, time IS NULL, time, file) AS place,
                    first_value(time) OVER
                        (PARTITION BY key ORDER BY is_sidechain, time IS NULL, time, file) AS home_time,
                    max(web_searches) OVER (PARTITION BY key) AS searches
                FROM request
            )
            SELECT date(home_time / 1000 + ? * 60, 'unixepoch') AS day, model, count(*),
                sum(input), sum(output), sum(cache_read), sum(cache_write_5m), sum(cache_write_1h), sum(searches),
                sum(nanodollars),
                sum(CASE WHEN nanodollars IS NULL
                    THEN input + output + cache_read + cache_write_5m + cache_write_1h ELSE 0 END)
            FROM ranked WHERE place = 1 GROUP BY day, model ORDER BY day, model
            """,
            (zone_offset_minutes,),
        )
    )


def forgotten(connection: sqlite3.Connection) -> set[str]:
    """Keys of files that a person had forgotten."""
    return {key for (key,) in connection.execute("SELECT key FROM forgotten")}
