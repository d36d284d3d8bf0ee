"""Reads rows: files, pieces, matches of a search, and tool calls with the files they name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.changes import EARLIER

from .meta import FIELDS, RESULT, as_path, stored_path
from .rows import FileRow
from .sessions import integers

if TYPE_CHECKING:
    from reread.safe import safe
else:
    lazy.bind(globals())

_FILE = ", ".join({"location": "path"}.get(name, name) for name in FileRow.__struct_fields__)


class StoredPiece(Struct, frozen=True, kw_only=True):
    start: int
    length: int
    sha256: bytes
    place: safe.PiecePlace


class Match(Struct, frozen=True):
    """A block that the full-text index found."""

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
    occurrences: float = 0.0
    """How often the words occur, comparable only within one query: rare words count for more."""


BlockRow = tuple[int, int, int, int, int, int, int | None]
"""Its id, file, offset, length, part, field and time."""


class FileBlocks(NamedTuple):
    """Consecutive blocks of one file, as plain rows.

    A pass over all blocks of an archive needs most of them only for a moment, and making a `Match` of each would take
    as long as reading them.
    """

    session: int
    kind: str
    generation: int
    rows: list[BlockRow]

    def match(self, row: BlockRow) -> Match:
        number, file, offset, length, part, field, time = row
        return Match(number, self.session, file, offset, length, part, field, time, self.kind, self.generation)


_MATCH = """block.id, file.session, block.file, block.offset, block.length, block.part, block.field, block.time,
            file.kind, file.generation"""
_OCCURRENCES = f"abs(bm25(search, {', '.join(['1e-9'] * len(FIELDS))}))"
"""bm25 multiplies occurrences by the weight of their column and flattens out as they grow in number. With tiny weights
it stays linear, so that it counts occurrences."""


def known_files(connection: sqlite3.Connection, machine: str) -> dict[str, FileRow]:
    """Every file of a machine except backups, by key."""
    return {row.key: row for row in _files(connection, "machine = ? AND backup_of IS NULL", machine)}


def files_of(connection: sqlite3.Connection, session: int) -> list[FileRow]:
    return _files(connection, "session = ? ORDER BY path", session)


def agents_of_responses(connection: sqlite3.Connection, files: Iterable[int]) -> dict[int, frozenset[str | None]]:
    """By file: the agents that made its responses."""
    rows = connection.execute(
        f"""SELECT DISTINCT file, agent FROM request JOIN context ON context.id = request.context
            WHERE file IN ({integers(files)})"""  # noqa: S608
    )
    found: dict[int, set[str | None]] = {}
    for file, agent in rows:
        found.setdefault(file, set()).add(agent)
    return {file: frozenset(agents) for file, agents in found.items()}


def sizes_of(connection: sqlite3.Connection, sessions: Iterable[int]) -> dict[int, int]:
    """The number of bytes kept of each of these sessions, the newest session first."""
    rows = connection.execute(
        f"""SELECT session.id, ifnull(sum(taken), 0) FROM session LEFT JOIN file ON file.session = session.id
            WHERE session.id IN ({integers(sessions)}) GROUP BY session.id ORDER BY ended DESC, session.id"""  # noqa: S608
    )
    return dict(rows.fetchall())


class FileFigures(NamedTuple):
    """The figures of a file, and what shows that it changed."""

    id: int
    key: str
    machine: str
    path: str
    kind: str
    head: str
    began: int | None
    ended: int | None
    lines: int
    malformed: int
    taken: int
    generation: int
    indexed: int


def figures_by_session(connection: sqlite3.Connection) -> dict[int, list[FileFigures]]:
    """The figures of the files of all sessions, by session."""
    rows = connection.execute(
        """SELECT session, id, key, machine, path, kind, lower(hex(head)), first_request, last_request, lines,
                  malformed, taken, generation, indexed
           FROM file WHERE session IS NOT NULL ORDER BY session, key"""
    )
    found: dict[int, list[FileFigures]] = {}
    for session, number, key, machine, path, *figures in rows:
        found.setdefault(session, []).append(FileFigures(number, key, machine, as_path(path), *figures))
    return found


def files_of_kind(connection: sqlite3.Connection, kind: str) -> list[FileRow]:
    return _files(connection, "kind = ? ORDER BY path", kind)


def own_index(connection: sqlite3.Connection, path: Path) -> FileRow | None:
    """The index file that the client keeps in a folder; it belongs to no session."""
    return next(
        iter(_files(connection, "session IS NULL AND kind = 'index' AND path = ?", stored_path(str(path)))), None
    )


def backups_of(connection: sqlite3.Connection, session: int) -> list[FileRow]:
    return _files(connection, "backup_of = ? ORDER BY path", session)


def backups_of_none(connection: sqlite3.Connection, machine: str) -> list[FileRow]:
    """Backups of a machine whose session was not there yet when they got their rows."""
    return _files(connection, "machine = ? AND kind = 'backup' AND backup_of IS NULL", machine)


def session_called(connection: sqlite3.Connection, machine: str, uuid: str) -> int | None:
    """The number of a session with this id; of several copies, one with a transcript if any has one."""
    row = connection.execute(
        """SELECT id FROM session WHERE machine = ? AND uuid = ?
           ORDER BY EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND kind = 'transcript') DESC, id""",
        (machine, uuid),
    ).fetchone()
    return int(row[0]) if row is not None else None


def session_sizes(connection: sqlite3.Connection) -> list[tuple[int, str, int]]:
    """Number, id and bytes of every session."""
    rows = connection.execute("SELECT id, uuid, bytes FROM session ORDER BY id")
    return [(number, as_path(uuid), size) for number, uuid, size in rows]


COUNTED = ("time", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "web_searches", "rows")
"""The columns of `request` with the counts of a response."""


def responses_of_file(connection: sqlite3.Connection, file: str) -> dict[str, tuple[object, ...]]:
    """The responses in the file with this key: by the key of each, its model and the columns of `COUNTED`."""
    columns = ", ".join(f"request.{name}" for name in COUNTED)
    rows = connection.execute(
        f"""SELECT request.key, model, {columns} FROM file JOIN request ON request.file = file.id
            JOIN context ON context.id = request.context WHERE file.key = ?""",  # noqa: S608  our own
        (file,),
    )
    return {key: tuple(values) for key, *values in rows}


def sessions_beside(connection: sqlite3.Connection, machine: str, uuid: str | None, folder: Path) -> list[int]:
    """The sessions with an id, in any folder; without an id, all of this folder."""
    column, value = ("folder", str(folder)) if uuid is None else ("uuid", uuid)
    rows = connection.execute(
        f"SELECT id FROM session WHERE machine = ? AND {column} = ?",  # noqa: S608  our own names
        (machine, stored_path(value)),
    )
    return [number for (number,) in rows]


def written_files(connection: sqlite3.Connection) -> dict[str, bool]:
    """The files with rows, by key, and whether a rebuild has read them: it first makes a row for each."""
    return dict(connection.execute("SELECT key, size >= 0 FROM file"))


def sessions_by_key(connection: sqlite3.Connection) -> dict[str, int | None]:
    """The session of every file by key, backups and other places included; None for files of no session."""
    return dict(
        connection.execute(
            """SELECT key, ifnull(session, backup_of) FROM file UNION ALL
               SELECT file_copy.key, ifnull(session, backup_of) FROM file_copy JOIN file ON file.id = file_copy.file"""
        )
    )


def sessions_of_machine(connection: sqlite3.Connection, machine: str) -> tuple[int, int]:
    """How many sessions a machine has here, and their bytes."""
    number, size = connection.execute(
        "SELECT count(*), ifnull(sum(bytes), 0) FROM session WHERE machine = ?", (machine,)
    ).fetchone()
    return number, size


def ids_of_machine(connection: sqlite3.Connection, machine: str) -> set[str]:
    """The ids of its sessions."""
    return {as_path(uuid) for (uuid,) in connection.execute("SELECT uuid FROM session WHERE machine = ?", (machine,))}


def bytes_by_session(connection: sqlite3.Connection) -> dict[int, int]:
    """The number of bytes kept of every session, without backups."""
    return dict(connection.execute("SELECT session, sum(taken) FROM file WHERE session NOT NULL GROUP BY session"))


def uuids(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    return [(number, as_path(uuid)) for number, uuid in connection.execute("SELECT id, uuid FROM session")]


def file_by_id(connection: sqlite3.Connection, file: int) -> FileRow:
    return _files(connection, "id = ?", file)[0]


def machine_of(connection: sqlite3.Connection, file: int) -> str:
    return str(connection.execute("SELECT machine FROM file WHERE id = ?", (file,)).fetchone()[0])


def file_by_key(connection: sqlite3.Connection, key: str) -> FileRow | None:
    found = _files(connection, "key = ?", key)
    return found[0] if found else None


def _files(connection: sqlite3.Connection, condition: str, value: int | str | bytes) -> list[FileRow]:
    rows = connection.execute(f"SELECT {_FILE} FROM file WHERE {condition}", (value,))  # noqa: S608  our own conditions
    return [_file(row) for row in rows]


def _file(row: Sequence[Any]) -> FileRow:
    values = dict(zip(FileRow.__struct_fields__, row, strict=True))
    values["location"], values["source"] = as_path(values["location"]), _same(as_path(values["source"]))
    values["kind"], values["device"], values["present"] = _same(values["kind"]), _same(values["device"]), bool(row[-1])
    for name in ("taken", "indexed"):  # nearly always as large as the file: share the object
        values[name] = values["size"] if values[name] == values["size"] else values[name]
    return FileRow(**values)


_Value = TypeVar("_Value", str, int)


@lru_cache(maxsize=1 << 8)
def _same(value: _Value) -> _Value:
    """One shared object for equal values of thousands of files."""
    return value


def every_piece(connection: sqlite3.Connection, file: int, generation: int) -> list[StoredPiece]:
    """The pieces of a file and, behind them, those of its earlier generations, which begin where their offsets do."""
    return pieces_of(connection, file, generation) + earlier_pieces(connection, file, generation)


def earlier_pieces(connection: sqlite3.Connection, file: int, generation: int) -> list[StoredPiece]:
    return [
        replace(piece, start=piece.start + each * EARLIER)
        for each in range(1, generation)
        for piece in pieces_of(connection, file, each)
    ]


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
        StoredPiece(
            start=row[0], length=row[1], sha256=row[2], place=safe.PiecePlace(pack=row[3], offset=row[4], stored=row[5])
        )
        for row in rows
    ]


def matches(
    connection: sqlite3.Connection,
    expression: str,
    *,
    below: int | None,
    limit: int,
    sessions: Sequence[int] | None,
    counts: bool = False,
) -> list[Match]:
    """The newest blocks that match, going back from the id `below`; with their occurrences if `counts`."""
    chosen = "" if sessions is None else f"AND file.session IN ({integers(sessions)})"
    rows = connection.execute(
        f"""SELECT {_MATCH}{f", {_OCCURRENCES}" if counts else ""}
            FROM search CROSS JOIN block ON block.id = search.rowid CROSS JOIN file ON file.id = block.file
            WHERE search MATCH ? AND search.rowid < ? {chosen}
            ORDER BY search.rowid DESC LIMIT ?""",  # noqa: S608  integers only
        (expression, below if below is not None else 1 << 62, limit),
    )
    return [Match(*row) for row in rows]


def which_match(connection: sqlite3.Connection, expression: str, among: Sequence[int]) -> set[int]:
    """Those of these blocks, given by their ids, that match."""
    query = "SELECT rowid FROM search WHERE search MATCH ? AND rowid BETWEEN ? AND ?"
    found = {number for (number,) in connection.execute(query, (expression, min(among), max(among)))}
    return found.intersection(among)


class Possible(NamedTuple):
    """Which blocks may match, by the index."""

    expression: str
    """Blocks that match this full-text expression."""
    first: int | None = None
    last: int | None = None
    """Blocks before `first` or behind `last` may match as well: the expression was made without knowing their words."""


_POSSIBLE = f"""WITH possible(id) AS (
        SELECT rowid FROM search WHERE search MATCH ? UNION SELECT block FROM partly_indexed UNION
        SELECT block.id FROM result_waits JOIN block ON block.id BETWEEN first AND last
        WHERE block.file = result_waits.file AND field = {RESULT} UNION
        SELECT id FROM block WHERE id < ? UNION SELECT id FROM block WHERE id > ?)"""  # noqa: S608  our own numbers


def blocks(
    connection: sqlite3.Connection,
    fields: Sequence[int],
    sessions: Sequence[int] | None,
    possible: Possible | None = None,
) -> Iterator[FileBlocks]:
    """All blocks of some fields, in some sessions or in all, newest first.

    With `possible`, only blocks that may match: that includes all for which the index may lack words.
    """
    chosen = "" if sessions is None else f"WHERE session IN ({integers(sessions)})"
    told = connection.execute(f"SELECT id, session, kind, generation FROM file {chosen}")  # noqa: S608  integers only
    files = {number: about for number, *about in told}  # looked up here, because a join takes a quarter longer
    inside = "" if sessions is None else f"AND file IN ({integers(list(files))})"
    these, source = (_POSSIBLE, "possible CROSS JOIN block USING (id)") if possible is not None else ("", "block")
    rows = connection.execute(
        f"""{these} SELECT id, file, offset, length, part, field, time FROM {source}
            WHERE field IN ({integers(fields)}) {inside}
            ORDER BY id DESC""",  # noqa: S608  integers and our own names only
        possible or (),
    )
    for file, found in groupby(rows, itemgetter(1)):
        if file in files:
            session, kind, generation = files[file]
            yield FileBlocks(session, kind, generation, list(found))


def count_matches(
    connection: sqlite3.Connection,
    expression: str,
    sessions: Sequence[int] | None,
    times: tuple[int | None, int | None] = (None, None),
) -> int:
    """How many blocks match, in some sessions or in all; `times` are the bounds of a window, in milliseconds, which
    only count together with sessions."""
    if sessions is None:
        found = connection.execute("SELECT count(*) FROM search WHERE search MATCH ?", (expression,)).fetchone()
    else:
        since, until = times
        found = connection.execute(
            f"""SELECT count(*)
                FROM search CROSS JOIN block ON block.id = search.rowid CROSS JOIN file ON file.id = block.file
                WHERE search MATCH ? AND (? IS NULL OR block.time >= ?) AND (? IS NULL OR block.time < ?)
                AND file.session IN ({integers(sessions)})""",  # noqa: S608  integers only
            (expression, since, since, until, until),
        ).fetchone()
    return int(found[0])


def match_cells(
    connection: sqlite3.Connection,
    expression: str,
    sessions: Sequence[int] | None,
    times: tuple[int | None, int | None],
    most: int,
) -> list[tuple[int, int, int | None, int]]:
    """The counts for facets: the newest `most` matches, added up by session, field and hour since 1970.

    A match takes 2 microseconds; `times` are the bounds of a window, in milliseconds.
    """
    chosen = "" if sessions is None else f"AND file.session IN ({integers(sessions)})"
    since, until = times
    return connection.execute(
        f"""SELECT session, field, hour, count(*) FROM (
                SELECT file.session AS session, block.field AS field, block.time / 3600000 AS hour
                FROM search CROSS JOIN block ON block.id = search.rowid CROSS JOIN file ON file.id = block.file
                WHERE search MATCH ? AND (? IS NULL OR block.time >= ?) AND (? IS NULL OR block.time < ?) {chosen}
                ORDER BY search.rowid DESC LIMIT ?
            ) GROUP BY 1, 2, 3""",  # noqa: S608  integers only
        (expression, since, since, until, until, most),
    ).fetchall()


def lines_by_session(connection: sqlite3.Connection) -> dict[int, int]:
    """How many lines each session has, those of its agents included."""
    rows = connection.execute("SELECT session, sum(lines) FROM file WHERE session IS NOT NULL GROUP BY session")
    return dict(rows.fetchall())


_MOST_WITHIN = 2_000
"""Matches that are looked at in one session."""


def matches_within(
    connection: sqlite3.Connection, expression: str, session: int, times: tuple[int | None, int | None]
) -> list[Match]:
    """The blocks of one session that match; asks the index only for the ids that its files have."""
    since, until = times
    rows = connection.execute(
        f"""SELECT {_MATCH} FROM search CROSS JOIN block ON block.id = search.rowid
                CROSS JOIN file ON file.id = block.file
            WHERE search MATCH ? AND search.rowid >= (SELECT min(first_block) FROM file WHERE session = ?)
            AND search.rowid <= (SELECT max(last_block) FROM file WHERE session = ?)
            AND (? IS NULL OR block.time >= ?) AND (? IS NULL OR block.time < ?)
            AND file.session = ? LIMIT {_MOST_WITHIN}""",  # noqa: S608  our own numbers
        (expression, session, session, since, since, until, until, session),
    )
    return [Match(*row) for row in rows]


def vocabulary(connection: sqlite3.Connection, first: str, last: str) -> list[tuple[str, int]]:
    """Terms of the index from `first` to before `last`, each with the number of blocks that contain it."""
    return list(connection.execute("SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ?", (first, last)))


def acknowledged_end(connection: sqlite3.Connection) -> tuple[int, int]:
    """The pack and the offset behind the last piece that a row names."""
    last = connection.execute(
        "SELECT pack, offset + stored FROM piece ORDER BY pack DESC, offset DESC LIMIT 1"
    ).fetchone()
    return last or (1, 0)


def has_places(connection: sqlite3.Connection) -> bool:
    """Whether any kept file has another place."""
    return connection.execute("SELECT 1 FROM file_copy LIMIT 1").fetchone() is not None


def has_pieces(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM piece LIMIT 1").fetchone() is not None


def forgotten(connection: sqlite3.Connection) -> dict[str, int]:
    """Keys of forgotten files and the marks of forgotten sessions and contents, each with the time it was forgotten."""
    return dict(connection.execute("SELECT key, at FROM forgotten"))


class StoredCall(NamedTuple):
    file: int
    id: str
    session: int
    name: str
    status: str
    time: int | None
    path: str


class TextLine(NamedTuple):
    """Where a line is in the safe."""

    generation: int
    offset: int
    length: int
    time: int | None


def calls_with_files(connection: sqlite3.Connection) -> Iterator[StoredCall]:
    """All calls that name a file, including those of agents."""
    rows = connection.execute(
        """SELECT tool_call.file, tool_call.id, file.session, name, status, time, tool_call.path
           FROM tool_call JOIN file ON file.id = tool_call.file
           WHERE tool_call.path IS NOT NULL AND file.session IS NOT NULL"""
    )
    return (StoredCall(*row) for row in rows)


def status_of_call(connection: sqlite3.Connection, file: int, offset: int, given: str) -> str | None:
    """The status of the call that a line makes with an id; its row has the name that `ToolCall.id` gives it."""
    found = connection.execute(
        "SELECT status FROM tool_call WHERE file = ? AND id BETWEEN ? AND ? || '#~' AND offset = ?",
        (file, given, given, offset),
    ).fetchone()
    return None if found is None else str(found[0])


def place_of_call(connection: sqlite3.Connection, session: int, given: str) -> tuple[int, int] | None:
    """The file and the line that make a session's call, by the id that the line gives it."""
    found = connection.execute(
        """SELECT file, offset FROM tool_call WHERE file IN (SELECT id FROM file WHERE session = ?)
           AND id BETWEEN ? AND ? || '#~' ORDER BY file""",
        (session, given, given),
    ).fetchone()
    return None if found is None else (int(found[0]), int(found[1]))


def lines_with(connection: sqlite3.Connection, file: int, field: int) -> list[TextLine]:
    """The lines of a file that have texts of a field, in order; its blocks are close together, so this is quick."""
    rows = connection.execute(
        """SELECT file.generation, block.offset, block.length, block.time
           FROM file CROSS JOIN block ON block.id BETWEEN file.first_block AND file.last_block
           WHERE file.id = ? AND block.file = file.id AND block.field = ? ORDER BY block.offset""",
        (file, field),
    )
    return [TextLine(*row) for row in rows]


def closed_part_of(connection: sqlite3.Connection, key: str) -> bytes:
    """The stored closed part of a file; empty if there is none."""
    found = connection.execute(
        "SELECT state FROM closed_part JOIN file ON file.id = closed_part.file WHERE file.key = ?", (key,)
    ).fetchone()
    return b"" if found is None else bytes(found[0])
