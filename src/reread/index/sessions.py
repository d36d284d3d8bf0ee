"""Sessions as the archive lists them, with their marks, moved folders and what they copied from others."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from zlib import crc32

from reread import lazy
from reread.billing.money import in_dollars
from reread.lazy import NamedTuple
from reread.marks import NO_MARK, Mark, Moves, below
from reread.times import moment

from .meta import as_path, sought_path, stored_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import json
    from decimal import Decimal
    from typing import Any
else:
    json = lazy.module("json")


_COLUMNS = "session, starred, tags, note, title, hidden"
_FEW_MARKS = 200
"""So many sessions are asked for by name; of more, everything is read, which is quicker than so many names."""

MarkRow = tuple["Any", ...]
"""The columns of a mark, its session first."""


def marks(connection: sqlite3.Connection, sessions: Sequence[str | bytes] | None = None) -> dict[str, Mark]:
    """What is noted, by session: everything, or at least what is noted on these."""
    is_few = sessions is not None and len(sessions) <= _FEW_MARKS
    rows = _rows_of(connection, sessions) if is_few and sessions else all_rows(connection)
    return {
        as_path(session): Mark(bool(starred), tuple(json.loads(tags)), note, title, bool(hidden))
        for session, starred, tags, note, title, hidden in rows
    }


def _rows_of(connection: sqlite3.Connection, sessions: Sequence[str | bytes]) -> list[MarkRow]:
    named = ", ".join("?" * len(sessions))
    return connection.execute(f"SELECT {_COLUMNS} FROM mark WHERE session IN ({named})", sessions).fetchall()  # noqa: S608


def all_rows(connection: sqlite3.Connection) -> list[MarkRow]:
    return connection.execute(f"SELECT {_COLUMNS} FROM mark").fetchall()  # noqa: S608  our own names


def keep_rows(connection: sqlite3.Connection, rows: Iterable[MarkRow]) -> None:
    """Inside the caller's transaction."""
    connection.executemany(f"INSERT OR REPLACE INTO mark ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


def columns_of(session: str, mark: Mark) -> MarkRow:
    tags = json.dumps(mark.tags, ensure_ascii=False)
    return (stored_path(session), mark.starred, tags, mark.note, mark.title, mark.hidden)


class SessionRow(NamedTuple):
    uuid: str
    folder: str
    project: str | None
    title: str
    started: int | None
    ended: int | None
    versions: list[str]
    models: list[str]
    git_branches: list[str]
    prompts: int
    turns: int
    requests: int
    tool_calls: int
    tool_errors: int
    thoughts: int
    output_tokens: int
    nanodollars: int | None
    unpriced_tokens: int
    subagents: int
    branches: int
    compactions: int
    bytes: int


class OtherPlace(NamedTuple):
    """Another file that holds what a file of a session holds, or its beginning."""

    machine: str
    """What it is called."""
    path: str
    present: bool


class StoredSession(NamedTuple):
    """A session as the archive lists it."""

    id: int
    row: SessionRow
    files: list[str]
    present: bool
    """Whether the source of its own lines still exists; a session that was only captured needs none."""
    mtime_ns: int | None
    """Of that source, as last seen: the client's clean-up goes by it."""
    mark: Mark = NO_MARK
    """What a person noted on it; a title of theirs is already that of the row."""
    sign: str = ""
    """Of the place it lies in."""
    has_copies: bool = False
    """Whether other places have a session of this id: a folder that was copied, or two machines."""
    places: tuple[OtherPlace, ...] = ()
    """Where else its files lie: it is one session, wherever it is met."""

    @property
    def name(self) -> str:
        """Its id; with the sign of its place where the id alone could mean a copy."""
        return f"{self.row.uuid}~{self.sign}" if self.has_copies else self.row.uuid

    @property
    def started(self) -> datetime | None:
        return moment(self.row.started)

    @property
    def ended(self) -> datetime | None:
        return moment(self.row.ended)

    @property
    def cost(self) -> Decimal | None:
        """Dollars, with its subagents; None when nothing has a price."""
        return in_dollars(self.row.nanodollars)


_PRESENT = """(
    EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'transcript' AND file.present)
    OR EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'capture')
       AND NOT EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'transcript')
)"""
_LAST_FIRST = f"ended DESC, {_PRESENT} DESC, uuid, id"
_SESSION = ", ".join(f"session.{name}" for name in SessionRow._fields)


class SessionFilter(NamedTuple):
    """Which sessions are asked for, so that the database can leave the others out; what is None lets all pass.

    A session without a time passes no window. Each predicate is asked about a value as it is stored.
    """

    since: int | None = None
    """Milliseconds; of what ended before nothing is wanted."""
    until: int | None = None
    project: Callable[[str | None], bool] | None = None
    models: Callable[[list[str]], bool] | None = None
    git_branches: Callable[[list[str]], bool] | None = None
    uuid: Callable[[str], bool] | None = None
    file: Callable[[str | None], bool] | None = None
    """Of the paths of its files, in every place they lie in; None is none."""
    tool: Callable[[str], bool] | None = None
    """Of the names of the tools it called."""
    touched: Callable[[str], bool] | None = None
    """Of the paths that its calls name."""
    title: Callable[[str], bool] | None = None
    """As it is listed: a person's own before the session's."""
    written: int | None = None
    """Nanoseconds; whose transcript is there still and was last written until then."""
    ids: Sequence[int] | None = None

    def condition(self, connection: sqlite3.Connection) -> tuple[str, list[int]]:
        """As SQL over `session`, with its values; the predicates become functions of the connection."""
        asked = [name for name in _CONDITIONS if getattr(self, name) is not None]
        values = [getattr(self, name) for name in asked if name in _BOUNDS]
        for name in asked:
            if name not in _BOUNDS:
                given = _GIVEN.get(name, _as_it_is)
                keeps = lru_cache(maxsize=1 << 12)(getattr(self, name)) if given is _as_it_is else getattr(self, name)
                connection.create_function(f"keeps_{name}", 1, _converted(keeps, given))
        conditions = [_CONDITIONS[name] for name in asked]
        if self.ids is not None:
            conditions.insert(0, f"session.id IN ({integers(self.ids)})")
        return " AND ".join(conditions) or "1", values


_BOUNDS = ("since", "until", "written")
_WRITTEN = "(SELECT max(file.mtime_ns) FROM file WHERE file.session = session.id AND file.kind = 'transcript')"
_OF_CALLS = "session.id IN (SELECT file.session FROM tool_call JOIN file ON file.id = tool_call.file WHERE {})"
_CONDITIONS = {
    "since": "session.ended >= ?",
    "until": "session.started < ?",
    "uuid": "keeps_uuid(session.uuid)",
    "project": "keeps_project(session.project)",
    "models": "keeps_models(session.models)",
    "git_branches": "keeps_git_branches(session.git_branches)",
    "title": "keeps_title(ifnull((SELECT mark.title FROM mark WHERE mark.session = session.uuid), session.title))",
    "written": f"{_WRITTEN} <= ? AND {_PRESENT}",
    "file": """EXISTS (SELECT 1 FROM file LEFT JOIN place ON place.file = file.id
        WHERE file.session = session.id AND (keeps_file(file.path) OR keeps_file(place.path)))""",
    "tool": _OF_CALLS.format("keeps_tool(tool_call.name)"),
    "touched": _OF_CALLS.format("tool_call.path IS NOT NULL AND keeps_touched(tool_call.path)"),
}
"""The cheap ones first."""


def _converted(keeps: Callable[[Any], bool], given: Callable[[Any], Any]) -> Callable[[Any], bool]:
    return lambda value: keeps(given(value))


def _as_it_is(value: Any) -> Any:
    return as_path(value) if isinstance(value, bytes) else value


EVERY_SESSION = SessionFilter()


def sessions(
    connection: sqlite3.Connection, *, ids: Sequence[int] | None = None, limit: int | None = None
) -> list[StoredSession]:
    """Sessions, the one that ended last first: all, some by id, or only the newest."""
    if ids is None:
        ids = session_ids(connection, limit=limit)
    return list(sessions_by_id(connection, ids))


def session_ids(
    connection: sqlite3.Connection, filters: SessionFilter = EVERY_SESSION, limit: int | None = None, order: str = ""
) -> list[int]:
    """The sessions that pass, the one that ended last first; of those that ended together the one still there, and then
    by their ids: the order of import must not show."""
    return [number for number, _ in _chosen(connection, filters, limit, order)]


def ids_and_projects(
    connection: sqlite3.Connection, filters: SessionFilter, order: str = ""
) -> Iterator[tuple[int, str | None]]:
    """The same with the folder each began in."""
    for number, project in _chosen(connection, filters, None, order):
        yield number, None if project is None else as_path(project)


def _chosen(connection: sqlite3.Connection, filters: SessionFilter, limit: int | None, order: str) -> sqlite3.Cursor:
    condition, values = filters.condition(connection)
    first = f"{order}, " if order else ""
    return connection.execute(
        f"""SELECT id, project FROM session WHERE {condition}
            ORDER BY {first}{_LAST_FIRST} LIMIT ?""",  # noqa: S608  our own text
        (*values, limit if limit is not None else -1),
    )


_ORDERS = {
    "last": "ended",
    "started": "started",
    "cost": "nanodollars",
    "output": "output_tokens",
    "prompts": "prompts",
    "calls": "tool_calls",
    "failed": "tool_errors",
    "size": "bytes",
    "written": _WRITTEN,
}
ORDER_NAMES = tuple(name for name in _ORDERS if name != "written")
"""By which a person may sort a list."""


def order_by(name: str, *, is_up: bool = False) -> str:
    """For `session_ids`: most first, or least; what nothing is known of counts as 0."""
    return f"ifnull({_ORDERS[name]}, 0) {'ASC' if is_up else 'DESC'}"


def unfinished_since(connection: sqlite3.Connection, since: int) -> list[int]:
    """The sessions that went on after a moment, or at no known time, the one that ended last first."""
    rows = connection.execute(
        "SELECT id FROM session WHERE ended >= ? OR ended IS NULL ORDER BY ended DESC, uuid, id", (since,)
    )
    return [number for (number,) in rows]


def smallest_session(connection: sqlite3.Connection) -> int | None:
    row = connection.execute("SELECT id FROM session ORDER BY bytes, ended DESC, uuid, id LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def named_sessions(connection: sqlite3.Connection) -> Iterator[tuple[int, str, str, str | None]]:
    """Number, id, title and folder of every session, the one that ended last first, as they are asked for."""
    rows = connection.execute(
        f"SELECT id, uuid, title, project FROM session ORDER BY {_LAST_FIRST}"  # noqa: S608
    )
    for number, uuid, title, project in rows:
        yield number, as_path(uuid), title or "", None if project is None else as_path(project)


def count_sessions(connection: sqlite3.Connection, filters: SessionFilter = EVERY_SESSION) -> int:
    condition, values = filters.condition(connection)
    row = connection.execute(f"SELECT count(*) FROM session WHERE {condition}", values).fetchone()  # noqa: S608
    return int(row[0])


class ProjectRow(NamedTuple):
    """Sessions that began in the same folder, on the same branches."""

    project: str | None
    git_branches: list[str]
    sessions: int
    prompts: int
    last: int | None


def project_rows(connection: sqlite3.Connection, filters: SessionFilter = EVERY_SESSION) -> list[ProjectRow]:
    """Of the sessions that pass, those that went on last first."""
    condition, values = filters.condition(connection)
    rows = connection.execute(
        f"""SELECT project, git_branches, count(*), sum(prompts), max(ended) FROM session WHERE {condition}
            GROUP BY project, git_branches ORDER BY max(ended) DESC""",  # noqa: S608  our own text
        values,
    )
    return [
        ProjectRow(None if project is None else as_path(project), _strings(branches or "[]"), *counts)
        for project, branches, *counts in rows
    ]


def sessions_by_id(connection: sqlite3.Connection, ids: Sequence[int]) -> Iterator[StoredSession]:
    """Some sessions, the one that ended last first; read a few hundred at a time where the ids are in that order."""
    for first in range(0, len(ids), _AT_ONCE):
        yield from _some_sessions(connection, ids[first : first + _AT_ONCE])


_AT_ONCE = 500


class SessionOutline(NamedTuple):
    """The little of a session that is asked of all of them at once."""

    id: int
    uuid: str
    project: str | None
    started: int | None
    ended: int | None
    models: list[str]
    versions: list[str]


def session_outlines(
    connection: sqlite3.Connection, filters: SessionFilter = EVERY_SESSION
) -> Iterator[SessionOutline]:
    """Of the sessions that pass, in any order: a tenth of the time that whole rows take for very many."""
    condition, values = filters.condition(connection)
    rows = connection.execute(
        f"SELECT id, uuid, project, started, ended, models, versions FROM session WHERE {condition}",  # noqa: S608
        values,
    )
    shared: dict[str | bytes | None, str | None] = {}  # one object for all that have the same
    lists: dict[str | None, list[str]] = {}
    for number, uuid, project, started, ended, models, versions in rows:
        if project not in shared:
            shared[project] = None if project is None else as_path(project)
        for each in (models, versions):
            if each not in lists:
                lists[each] = _strings(each or "[]")
        name = uuid if isinstance(uuid, str) else as_path(uuid)
        yield SessionOutline(number, name, shared[project], started, ended, lists[models], lists[versions])


def projects_and_models(
    connection: sqlite3.Connection, ids: Sequence[int]
) -> Iterator[tuple[int, str | None, list[str]]]:
    """Of some sessions, in their order."""
    for first in range(0, len(ids), _AT_ONCE):
        some = integers(ids[first : first + _AT_ONCE])
        rows = connection.execute(f"SELECT id, project, models FROM session WHERE id IN ({some})")  # noqa: S608
        found = {number: (project, models) for number, project, models in rows}
        for number in ids[first : first + _AT_ONCE]:
            if number in found:
                project, models = found[number]
                yield number, None if project is None else as_path(project), _strings(models or "[]")


def _some_sessions(connection: sqlite3.Connection, ids: Sequence[int]) -> list[StoredSession]:
    rows = connection.execute(
        f"""SELECT session.id, {_SESSION}, session.present, session.machine,
                   max(CASE WHEN file.kind = 'transcript' THEN file.mtime_ns END),
                   group_concat(
                       CASE typeof(file.path) WHEN 'blob' THEN char(1) || hex(file.path) ELSE file.path END, char(0)
                   )
            FROM (SELECT *, {_PRESENT} AS present FROM session WHERE id IN ({integers(ids)})) AS session
                LEFT JOIN file ON file.session = session.id
            GROUP BY session.id
            ORDER BY session.ended DESC, session.present DESC, session.uuid, session.id"""  # noqa: S608  integers, own names
    ).fetchall()
    names = [row[1] for row in rows]
    noted, copied = marks(connection, names), _copied_names(connection, names)
    earlier, places = first_names(connection), _other_places(connection, ids)
    return [
        _session(row, noted, earlier, has_copies=row[1] in copied)._replace(places=places[row[0]])
        if row[0] in places
        else _session(row, noted, earlier, has_copies=row[1] in copied)
        for row in rows
    ]


def _other_places(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, tuple[OtherPlace, ...]]:
    """By session; few have any."""
    if connection.execute("SELECT 1 FROM place LIMIT 1").fetchone() is None:
        return {}
    rows = connection.execute(
        f"""SELECT file.session, ifnull(machine.label, place.machine), place.path, place.present
            FROM file JOIN place ON place.file = file.id LEFT JOIN machine ON machine.id = place.machine
            WHERE file.session IN ({integers(ids)}) ORDER BY place.path"""  # noqa: S608  integers
    )
    found: dict[int, list[OtherPlace]] = {}
    for session, machine, path, present in rows:
        found.setdefault(session, []).append(OtherPlace(machine, as_path(path), bool(present)))
    return {session: tuple(places) for session, places in found.items()}


def _copied_names(connection: sqlite3.Connection, names: Sequence[str | bytes]) -> set[str | bytes]:
    """Those that several places have."""
    named = ", ".join("?" * len(names))
    rows = connection.execute(
        f"SELECT uuid FROM session WHERE uuid IN ({named}) GROUP BY uuid HAVING count(*) > 1",  # noqa: S608
        names,
    )
    return {uuid for (uuid,) in rows}


def _session(row: Sequence[Any], noted: dict[str, Mark], names: dict[str, str], *, has_copies: bool) -> StoredSession:
    number, *columns, present, machine, mtime_ns, files = row
    values = dict(zip(SessionRow._fields, columns, strict=True))
    for name in ("versions", "models", "git_branches"):
        values[name] = _strings(values[name] or "[]")
    values["uuid"], values["folder"] = as_path(values["uuid"]), _shared(as_path(values["folder"]))
    values["project"] = _shared(values["project"])
    mark = noted.get(values["uuid"], NO_MARK)
    if mark.title is not None:
        values["title"] = mark.title
    return StoredSession(
        id=number,
        row=SessionRow(**values),
        files=sorted(map(_unhexed, files.split("\0"))) if files else [],
        present=bool(present),
        mtime_ns=mtime_ns,
        mark=mark,
        sign=sign_of(names.get(machine, machine), values["folder"]),
        has_copies=has_copies,
    )


def first_names(connection: sqlite3.Connection) -> dict[str, str]:
    """By id, the name that machines had before they had one: signs that were noted then still lead to their copy."""
    rows = connection.execute("SELECT id, names FROM machine WHERE names <> '[]'")
    return {number: _strings(names)[0] for number, names in rows}


@lru_cache(maxsize=1 << 12)
def _shared(folder: str | None) -> str | None:
    """The same object for the same folder: a list of very many sessions would hold each name thousands of times."""
    return folder


@lru_cache(maxsize=1 << 12)
def sign_of(machine: str, folder: str) -> str:
    """Short, and the same after every rebuild of the archive."""
    return f"{crc32(os.fsencode(f'{machine}:{folder}')) & 0xFFFFFF:06x}"


@lru_cache(maxsize=1 << 10)
def _strings(array: str) -> list[str]:
    """One list for all that have the same: thousands of sessions share a few versions, models and branches."""
    found: list[str] = list(json.loads(array))
    return found


_GIVEN: dict[str, Callable[[Any], Any]] = {
    "models": lambda array: _strings(array or "[]"),
    "git_branches": lambda array: _strings(array or "[]"),
}


def _unhexed(path: str) -> str:
    """Names that are no UTF-8 cannot be joined as text: they come as hexadecimal, behind what begins no full path."""
    return os.fsdecode(bytes.fromhex(path[1:])) if path.startswith("\1") else path


def names_by_id(connection: sqlite3.Connection) -> dict[int, str]:
    return {number: as_path(uuid) for number, uuid in connection.execute("SELECT id, uuid FROM session")}


def ids_called(connection: sqlite3.Connection, name: str) -> list[int]:
    """The sessions that have this id, or else those whose id begins so."""
    same = connection.execute("SELECT id FROM session WHERE uuid = ?", (sought_path(name),)).fetchall()
    if same or not name:
        return [number for (number,) in same]
    rows = connection.execute(
        "SELECT id, uuid FROM session WHERE uuid >= ? AND uuid < ? OR uuid >= x''",  # bytes sort behind all text
        (sought_path(name), f"{name}\U0010ffff" if isinstance(sought_path(name), str) else ""),
    )
    return [number for number, uuid in rows if as_path(uuid).startswith(name)]


def integers(values: Iterable[int]) -> str:
    return ", ".join(map(str, map(int, values)))


class CopiedFrom(NamedTuple):
    """The part of a session that was made in others."""

    sessions: tuple[str, ...] = ()
    """Where it was made; the session's own id for a folder that was copied."""
    nanodollars: int | None = 0
    """Of the session's own cost. None where nothing of it has a price."""


NOTHING_COPIED = CopiedFrom()
_FEW = 100
"""So many sessions are asked one by one; of more, all that was ever copied is looked at."""
_OF_ALL = "copied CROSS JOIN request ON request.key = copied.key CROSS JOIN file ON file.id = request.file"
_OF_SOME = """file CROSS JOIN request ON request.file = file.id AND request.is_shared
    CROSS JOIN copied ON copied.key = request.key"""


def copied_parts(connection: sqlite3.Connection, sessions: Sequence[int]) -> dict[int, CopiedFrom]:
    """By session; those that copied nothing are not here."""
    is_few = len(sessions) <= _FEW
    chosen = f"file.session IN ({integers(sessions)})" if is_few else "1"
    # A response that several files of a session tell of is in it once, with most output, as the session counts it.
    rows = connection.execute(
        f"""SELECT ours, session.uuid, sum(each.nanodollars) FROM (
                SELECT file.session AS ours, theirs.session AS home, request.nanodollars, max(request.output)
                FROM {_OF_SOME if is_few else _OF_ALL} CROSS JOIN file AS theirs ON theirs.id = copied.home
                WHERE file.session <> theirs.session AND {chosen} GROUP BY file.session, request.key
            ) AS each JOIN session ON session.id = home
            GROUP BY ours, home ORDER BY session.started, home"""  # noqa: S608  our own text, and integers
    )
    found: dict[int, CopiedFrom] = {}
    for number, uuid, money in rows:
        before = found.get(number, CopiedFrom(nanodollars=None))
        sessions_before = tuple(dict.fromkeys((*before.sessions, as_path(uuid))))
        known = [part for part in (before.nanodollars, money) if part is not None]
        found[number] = CopiedFrom(sessions_before, sum(known) if known else None)
    return found


MoveRow = tuple[str | bytes, str | bytes]
"""The earlier folder, and today's."""


def moves(connection: sqlite3.Connection) -> Moves:
    return Moves(tuple((as_path(old), as_path(new)) for old, new in move_rows(connection)))


def move_rows(connection: sqlite3.Connection) -> list[MoveRow]:
    return connection.execute("SELECT earlier, today FROM moved ORDER BY earlier").fetchall()


def keep_moves(connection: sqlite3.Connection, rows: Iterable[MoveRow]) -> None:
    """Inside the caller's transaction."""
    connection.executemany("INSERT OR REPLACE INTO moved (earlier, today) VALUES (?, ?)", rows)


def put_move(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Inside the caller's transaction."""
    keep_moves(connection, [(stored_path(old), stored_path(new))])


def take_move(connection: sqlite3.Connection, old: str) -> bool:
    """Whether there was one; inside the caller's transaction."""
    return connection.execute("DELETE FROM moved WHERE earlier = ?", (stored_path(old),)).rowcount > 0


def forget_moves(connection: sqlite3.Connection, project: str | None) -> None:
    """What was said about the folders a forgotten session ran in, where no other session is left in them; inside the
    transaction that forgets it."""
    concerned = [old for old, _ in moves(connection).pairs if project is not None and below(project, old) is not None]
    if concerned:
        left = [path for (path,) in connection.execute("SELECT DISTINCT project FROM session WHERE project NOT NULL")]
        for old in concerned:
            if all(below(path, old) is None for path in left):
                take_move(connection, old)


_VALUES = {
    "sessions": """SELECT uuid, title FROM session WHERE typeof(uuid) = 'text' AND uuid >= :from AND uuid < :to
        GROUP BY uuid ORDER BY max(ended) DESC""",
    "projects": "SELECT project, '' FROM session WHERE project NOT NULL GROUP BY project ORDER BY max(ended) DESC",
    "tags": "SELECT value, '' FROM mark, json_each(mark.tags) GROUP BY lower(value) ORDER BY count(*) DESC",
    "models": "SELECT value, '' FROM (SELECT DISTINCT models FROM session), json_each(models) GROUP BY value",
    "branches": "SELECT value, '' FROM (SELECT DISTINCT git_branches AS b FROM session), json_each(b) GROUP BY value",
    "tools": "SELECT name, '' FROM tool_call GROUP BY name ORDER BY count(*) DESC",
    "machines": "SELECT label, '' FROM machine ORDER BY is_own DESC, label",
}
"""What a person may name in an option, and the archive knows."""


def known_values(
    connection: sqlite3.Connection, kind: str, beginning: str = "", limit: int = 100
) -> list[tuple[str, str]]:
    """What may be typed, the likeliest first, with a word about it; projects by the last part of their folder."""
    rows = connection.execute(_VALUES[kind], {"from": beginning, "to": f"{beginning}\U0010ffff"})
    found: dict[str, str] = {}
    for value, about in rows:
        name = as_path(value)
        if kind == "projects":
            name, about = name.replace("\\", "/").rstrip("/").rpartition("/")[2], name
        if name.lower().startswith(beginning.lower()):
            found.setdefault(name, about or "")
        if len(found) == limit:
            break
    return list(found.items())
