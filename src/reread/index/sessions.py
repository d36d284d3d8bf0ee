"""Sessions as the archive lists them, with their marks, moved folders and the parts they copied from others."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from reread import lazy
from reread.billing.money import in_dollars
from reread.lazy import TYPE_CHECKING
from reread.marks import NO_MARK, Mark
from reread.rows.session_row import SessionRow
from reread.times import moment

from .meta import as_path, sought_path, stored_path

if TYPE_CHECKING:
    import json
    from decimal import Decimal
    from typing import Any
else:
    lazy.bind(globals())


_COLUMNS = "session, starred, tags, note, title, hidden, typed"
_FEW_MARKS = 200
"""Up to this many sessions are queried by name; for more, it is faster to read all marks."""

MarkRow = tuple["Any", ...]
"""The columns of a mark, the session first."""


def marks(connection: sqlite3.Connection, sessions: Sequence[str | bytes] | None = None) -> dict[str, Mark]:
    """Marks by session: all of them, or at least those of `sessions`."""
    is_few = sessions is not None and len(sessions) <= _FEW_MARKS
    rows = _rows_of(connection, sessions) if is_few and sessions else all_rows(connection)
    return {
        as_path(session): Mark(
            bool(starred), tuple(json.loads(tags)), note, title, bool(hidden), None if typed is None else bool(typed)
        )
        for session, starred, tags, note, title, hidden, typed in rows
    }


def _rows_of(connection: sqlite3.Connection, sessions: Sequence[str | bytes]) -> list[MarkRow]:
    named = ", ".join("?" * len(sessions))
    return connection.execute(f"SELECT {_COLUMNS} FROM mark WHERE session IN ({named})", sessions).fetchall()  # noqa: S608


def all_rows(connection: sqlite3.Connection) -> list[MarkRow]:
    return connection.execute(f"SELECT {_COLUMNS} FROM mark").fetchall()  # noqa: S608  our own names


def keep_rows(connection: sqlite3.Connection, rows: Iterable[MarkRow]) -> None:
    """Call it inside a transaction."""
    connection.executemany(f"INSERT OR REPLACE INTO mark ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)  # noqa: S608


def columns_of(session: str, mark: Mark) -> MarkRow:
    tags = json.dumps(mark.tags, ensure_ascii=False)
    return (stored_path(session), mark.starred, tags, mark.note, mark.title, mark.hidden, mark.typed)


class OtherPlace(NamedTuple):
    """Another file with the content of a session's file, or with its beginning."""

    machine: str
    """The machine's label, or its id if it has none."""
    path: str
    present: bool


class StoredSession(NamedTuple):
    """A session as the archive lists it."""

    id: int
    row: SessionRow
    files: list[str]
    present: bool
    """Whether its transcript still exists in the source; always true for a session that has only captures."""
    mtime_ns: int | None
    """Modification time of its transcript as last seen, which decides when the client cleans it up."""
    mark: Mark = NO_MARK
    """What a person noted on it; `row.title` already is the title in it, if there is one."""
    sign: str = ""
    """A short digest of its machine and folder, see `sign_of`."""
    has_copies: bool = False
    """Whether another folder or machine has a session of this id."""
    places: tuple[OtherPlace, ...] = ()
    """Where else its files are. They belong to this same session."""

    def __repr__(self) -> str:
        return f"<StoredSession {self.name} {self.row.title[:80]!r}>"

    @property
    def name(self) -> str:
        """Its id, followed by the sign of its place if the id alone could mean a copy."""
        return f"{self.row.uuid}~{self.sign}" if self.has_copies else self.row.uuid

    @property
    def started(self) -> datetime | None:
        return moment(self.row.started)

    @property
    def ended(self) -> datetime | None:
        return moment(self.row.ended)

    @property
    def cost(self) -> Decimal | None:
        """Dollars, subagents included; None when nothing has a price."""
        return in_dollars(self.row.nanodollars)


_PRESENT = """(
    EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'transcript' AND file.present)
    OR EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'capture')
       AND NOT EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'transcript')
)"""
_LAST_FIRST = f"ended DESC, {_PRESENT} DESC, uuid, id"
_SESSION = ", ".join(f"session.{name}" for name in SessionRow._fields)


class SessionFilter(NamedTuple):
    """Which sessions to select, as conditions of the database; a field that is None lets all sessions pass.

    A session without a time passes neither `since` nor `until`. Predicates are called with values as they are stored.
    """

    since: int | None = None
    """Milliseconds; sessions that ended before do not pass."""
    until: int | None = None
    project: Callable[[str | None], bool] | None = None
    models: Callable[[list[str]], bool] | None = None
    git_branches: Callable[[list[str]], bool] | None = None
    uuid: Callable[[str], bool] | None = None
    file: Callable[[str | None], bool] | None = None
    """Tested on the paths of its files in all their places; one must pass. It is called with None for a file without
    another place."""
    tool: Callable[[str], bool] | None = None
    """Tested on the names of the tools it called; one must pass."""
    touched: Callable[[str], bool] | None = None
    """Tested on the paths that its calls name; one must pass."""
    title: Callable[[str], bool] | None = None
    """Tested on the listed title: a person's own if there is one, else the session's."""
    written: Callable[[str | None], int] | None = None
    """Nanoseconds by path; a session passes if its transcript exists and was last written at or before this time."""
    ids: Sequence[int] | None = None
    without_programs: bool = False

    def condition(self, connection: sqlite3.Connection) -> tuple[str, list[int]]:
        """A condition in SQL over `session`, with its values; predicates become SQL functions of the connection."""
        asked = [name for name in _CONDITIONS if getattr(self, name) is not None]
        values = [getattr(self, name) for name in asked if name in _BOUNDS]
        for name in asked:
            if name not in _BOUNDS:
                given = _GIVEN.get(name, _as_it_is)
                keeps = lru_cache(maxsize=1 << 12)(getattr(self, name)) if given is _as_it_is else getattr(self, name)
                connection.create_function(f"keeps_{name}", 1, _converted(keeps, given))
        conditions = [_CONDITIONS[name] for name in asked]
        if self.without_programs:
            conditions.append("session.id NOT IN program_session")
        if self.ids is not None:
            conditions.insert(0, f"session.id IN ({integers(self.ids)})")
        return " AND ".join(conditions) or "1", values


_BOUNDS = ("since", "until")
_WRITTEN = "(SELECT max(file.mtime_ns) FROM file WHERE file.session = session.id AND file.kind = 'transcript')"
_PATH = "(SELECT file.path FROM file WHERE file.session = session.id AND file.kind = 'transcript' LIMIT 1)"
_OF_CALLS = "session.id IN (SELECT file.session FROM tool_call JOIN file ON file.id = tool_call.file WHERE {})"
_CONDITIONS = {
    "since": "session.ended >= ?",
    "until": "session.started < ?",
    "uuid": "keeps_uuid(session.uuid)",
    "project": "keeps_project(session.project)",
    "models": "keeps_models(session.models)",
    "git_branches": "keeps_git_branches(session.git_branches)",
    "title": "keeps_title(ifnull((SELECT mark.title FROM mark WHERE mark.session = session.uuid), session.title))",
    "written": f"{_WRITTEN} <= keeps_written({_PATH}) AND {_PRESENT}",
    "file": """EXISTS (SELECT 1 FROM file LEFT JOIN file_copy ON file_copy.file = file.id
        WHERE file.session = session.id AND (keeps_file(file.path) OR keeps_file(file_copy.path)))""",
    "tool": _OF_CALLS.format("keeps_tool(tool_call.name)"),
    "touched": _OF_CALLS.format("tool_call.path IS NOT NULL AND keeps_touched(tool_call.path)"),
}
"""SQL for each field, cheap conditions first."""


def _converted(keeps: Callable[[Any], Any], given: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: keeps(given(value))


def _as_it_is(value: Any) -> Any:
    return as_path(value) if isinstance(value, bytes) else value


EVERY_SESSION = SessionFilter()


def sessions(
    connection: sqlite3.Connection, *, ids: Sequence[int] | None = None, limit: int | None = None
) -> list[StoredSession]:
    """Sessions, the one that ended last first: all, some by number, or only the newest."""
    if ids is None:
        ids = session_ids(connection, limit=limit)
    return list(sessions_by_id(connection, ids))


def session_ids(
    connection: sqlite3.Connection, filters: SessionFilter = EVERY_SESSION, limit: int | None = None, order: str = ""
) -> list[int]:
    """The numbers of the sessions that pass, the one that ended last first.

    Of those that ended at the same time, sessions whose source still exists come first, then they are ordered by id,
    so that the order of import has no effect.
    """
    return [number for number, _ in _chosen(connection, filters, limit, order)]


def ids_and_projects(
    connection: sqlite3.Connection, filters: SessionFilter, order: str = ""
) -> Iterator[tuple[int, str | None]]:
    """Like `session_ids`, with the folder in which each session began."""
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
"""The orders by which a person may sort a list."""


def order_by(name: str, *, is_up: bool = False) -> str:
    """An order for `session_ids`: the largest first, or the smallest if `is_up`; unknown values count as 0."""
    return f"ifnull({_ORDERS[name]}, 0) {'ASC' if is_up else 'DESC'}"


def unfinished_since(connection: sqlite3.Connection, since: int) -> list[int]:
    """The sessions that ended at or after this time, or at an unknown one; the one that ended last first."""
    rows = connection.execute(
        "SELECT id FROM session WHERE ended >= ? OR ended IS NULL ORDER BY ended DESC, uuid, id", (since,)
    )
    return [number for (number,) in rows]


def programs(connection: sqlite3.Connection) -> frozenset[int]:
    """The sessions that a program drove."""
    return frozenset(number for (number,) in connection.execute("SELECT id FROM program_session"))


def smallest_session(connection: sqlite3.Connection) -> int | None:
    row = connection.execute("SELECT id FROM session ORDER BY bytes, ended DESC, uuid, id LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def named_sessions(connection: sqlite3.Connection) -> Iterator[tuple[int, str, str, str | None]]:
    """Number, id, title and folder of every session, read lazily; the one that ended last first."""
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
    """Rows for the sessions that pass, the project that was used last first."""
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
    """Some sessions, read a few hundred at a time; the one that ended last comes first if `ids` are in that order."""
    for first in range(0, len(ids), _AT_ONCE):
        yield from _some_sessions(connection, ids[first : first + _AT_ONCE])


def replace_sessions(connection: sqlite3.Connection, rows: Iterable[tuple[int, str, SessionRow]]) -> None:
    """Puts sessions in place of all that are there: number, machine and row of each. Their transcripts are elsewhere.
    Call it inside a transaction."""
    marks = ", ".join("?" * (2 + len(SessionRow._fields)))
    connection.execute("DELETE FROM file")
    connection.execute("DELETE FROM session")
    connection.executemany(
        f"INSERT INTO session (id, machine, {', '.join(SessionRow._fields)}) VALUES ({marks})",  # noqa: S608  our own
        (
            (number, machine, *(json.dumps(value) if isinstance(value, list) else value for value in row))
            for number, machine, row in rows
        ),
    )
    connection.execute(
        """INSERT INTO file (key, machine, source, path, kind, session)
           SELECT id, machine, '', folder, 'transcript', id FROM session"""
    )


def session_folders(connection: sqlite3.Connection) -> Iterator[tuple[int, str | None]]:
    """By file, the folder its session began in; of several copies of a session, that of the newest."""
    rows = connection.execute(
        """SELECT file.id, newest.project FROM file JOIN session ON session.id = file.session
           JOIN (SELECT uuid, project, max(ended) FROM session GROUP BY uuid) AS newest ON newest.uuid = session.uuid"""
    )
    return ((file, None if project is None else as_path(project)) for file, project in rows)


_AT_ONCE = 500
MOST_ALIKE = 200
"""Of more sessions with one title, nobody looks for a single one by it."""


class SessionOutline(NamedTuple):
    """The few fields of a session that are needed of all sessions at once."""

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
    """Outlines of the sessions that pass, in any order; for very many this takes a tenth of the time of whole rows."""
    condition, values = filters.condition(connection)
    rows = connection.execute(
        f"SELECT id, uuid, project, started, ended, models, versions FROM session WHERE {condition}",  # noqa: S608
        values,
    )
    shared: dict[str | bytes | None, str | None] = {}  # one object for equal values
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
    """Number, project and models of some sessions, in the given order."""
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
    repeated = _repeated_titles(connection, ids)
    distinctions = _distinctions(connection, repeated) if repeated else {}
    places, driven = _other_places(connection, ids), programs(connection)
    return [
        _session(row, noted, repeated, distinctions, has_copies=row[1] in copied, is_driven=row[0] in driven)._replace(
            places=places.get(row[0], ())
        )
        for row in rows
    ]


def _other_places(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, tuple[OtherPlace, ...]]:
    """Other places by session; few sessions have any."""
    if connection.execute("SELECT 1 FROM file_copy LIMIT 1").fetchone() is None:
        return {}
    rows = connection.execute(
        f"""SELECT file.session, ifnull(machine.label, file_copy.machine), file_copy.path, file_copy.present
            FROM file JOIN file_copy ON file_copy.file = file.id LEFT JOIN machine ON machine.id = file_copy.machine
            WHERE file.session IN ({integers(ids)}) ORDER BY file_copy.path"""  # noqa: S608  integers
    )
    found: dict[int, list[OtherPlace]] = {}
    for session, machine, path, present in rows:
        found.setdefault(session, []).append(OtherPlace(machine, as_path(path), bool(present)))
    return {session: tuple(places) for session, places in found.items()}


def _copied_names(connection: sqlite3.Connection, names: Sequence[str | bytes]) -> set[str | bytes]:
    """The ids, of these, that several sessions have."""
    named = ", ".join("?" * len(names))
    rows = connection.execute(
        f"SELECT uuid FROM session WHERE uuid IN ({named}) GROUP BY uuid HAVING count(*) > 1",  # noqa: S608
        names,
    )
    return {uuid for (uuid,) in rows}


def _repeated_titles(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[str, int]:
    """The titles, of these sessions, that several sessions have, and how many do."""
    rows = connection.execute(
        f"""SELECT title, count(DISTINCT uuid) AS found FROM session
            WHERE title IN (SELECT title FROM session WHERE id IN ({integers(ids)}))
            GROUP BY title HAVING found > 1"""  # noqa: S608  integers
    )
    return dict(rows.fetchall())


def _distinctions(connection: sqlite3.Connection, repeated: dict[str, int]) -> dict[int, str]:
    """What tells sessions apart that have title and second prompt in common: branch, folder, start or id, whichever is
    the first that a session alone has."""
    titles = [title for title, found in repeated.items() if found <= MOST_ALIKE]
    rows = connection.execute(
        f"""SELECT title, second, id, uuid, git_branches, project, started FROM session
            WHERE title IN ({", ".join("?" * len(titles))})
                AND uuid NOT IN (SELECT session FROM mark WHERE title IS NOT NULL)""",  # noqa: S608
        titles,
    )
    groups: dict[tuple[str, str | None], dict[int, tuple[str, ...]]] = {}
    for title, second, number, *facts in rows:
        groups.setdefault((title, second), {})[number] = _facts_of(*facts)
    found: dict[int, str] = {}
    for group in groups.values():
        counts = [Counter(column) for column in zip(*group.values(), strict=True)]
        if len(counts[-1]) > 1:
            for number, own in group.items():
                alone = (each for each, count in zip(own, counts, strict=True) if each and count[each] == 1)
                found[number] = next(alone, own[-1])
    return found


def _facts_of(
    uuid: str | bytes, branches: str | None, project: str | bytes | None, started: int | None
) -> tuple[str, ...]:
    branch, began = _strings(branches or "[]"), moment(started)
    folder = as_path(project or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
    return (
        branch[0] if len(branch) == 1 else "",
        folder,
        f"{began:%Y-%m-%d %H:%M} UTC" if began else "",
        as_path(uuid)[:8],
    )


def _session(
    row: Sequence[Any],
    noted: dict[str, Mark],
    repeated: Container[str],
    distinctions: dict[int, str],
    *,
    has_copies: bool,
    is_driven: bool,
) -> StoredSession:
    number, *columns, present, machine, mtime_ns, files = row
    values = dict(zip(SessionRow._fields, columns, strict=True))
    for name in ("versions", "models", "git_branches"):
        values[name] = _strings(values[name] or "[]")
    values["uuid"], values["folder"] = as_path(values["uuid"]), _shared(as_path(values["folder"]))
    values["project"] = _shared(values["project"])
    mark = noted.get(values["uuid"], NO_MARK)
    if mark.title is not None:
        values["title"] = mark.title
    elif values["title"] in repeated:
        values["title"] = " · ".join(filter(None, (values["title"], values["second"], distinctions.get(number))))
    if is_driven:
        mark = mark._replace(typed=False)
    return StoredSession(
        id=number,
        row=SessionRow(**values),
        files=sorted(map(_unhexed, files.split("\0"))) if files else [],
        present=bool(present),
        mtime_ns=mtime_ns,
        mark=mark,
        sign=sign_of(machine, values["folder"]),
        has_copies=has_copies,
    )


@lru_cache(maxsize=1 << 12)
def _shared(folder: str | None) -> str | None:
    """One object for equal folders: a list of very many sessions would hold each name thousands of times."""
    return folder


@lru_cache(maxsize=1 << 12)
def sign_of(machine: str, folder: str) -> str:
    """A short sign for the place of a session, which stays the same after a rebuild."""
    return f"{crc32(os.fsencode(f'{machine}:{folder}')) & 0xFFFFFF:06x}"


@lru_cache(maxsize=1 << 10)
def _strings(array: str) -> list[str]:
    """One list for equal arrays: thousands of sessions share a few versions, models and branches."""
    found: list[str] = list(json.loads(array))
    return found


_GIVEN: dict[str, Callable[[Any], Any]] = {
    "models": lambda array: _strings(array or "[]"),
    "git_branches": lambda array: _strings(array or "[]"),
}


def _unhexed(path: str) -> str:
    """Paths that are not UTF-8 cannot be joined as text: they come as hexadecimal behind a byte 1, with which no full
    path begins."""
    return os.fsdecode(bytes.fromhex(path[1:])) if path.startswith("\1") else path


def names_by_id(connection: sqlite3.Connection) -> dict[int, str]:
    return {number: as_path(uuid) for number, uuid in connection.execute("SELECT id, uuid FROM session")}


def ids_called(connection: sqlite3.Connection, name: str) -> list[int]:
    """The sessions with this id, or else those whose id begins with it."""
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
    """The responses in a session's files that other sessions own."""

    sessions: tuple[str, ...] = ()
    """The ids of those sessions; for a copied folder this is the session's own id."""
    nanodollars: int | None = 0
    """The part of the session's own cost that they make up; None if none of them has a price."""


NOTHING_COPIED = CopiedFrom()
_FEW = 100
"""Up to this many sessions are queried by number; for more, all copied responses are read."""
_OF_ALL = "copied CROSS JOIN request ON request.key = copied.key CROSS JOIN file ON file.id = request.file"
_OF_SOME = """file CROSS JOIN request ON request.file = file.id AND request.is_shared
    CROSS JOIN copied ON copied.key = request.key"""


def copied_parts(connection: sqlite3.Connection, sessions: Sequence[int]) -> dict[int, CopiedFrom]:
    """Copied parts by session; sessions that copied nothing are left out."""
    is_few = len(sessions) <= _FEW
    chosen = f"file.session IN ({integers(sessions)})" if is_few else "1"
    # A response in several files of a session counts once, by the copy with the most output, as in the session's row.
    rows = connection.execute(
        f"""SELECT ours, session.uuid, sum(each.nanodollars) FROM (
                SELECT file.session AS ours, theirs.session AS owner, request.nanodollars, max(request.output)
                FROM {_OF_SOME if is_few else _OF_ALL} CROSS JOIN file AS theirs ON theirs.id = copied.owner
                WHERE file.session <> theirs.session AND {chosen} GROUP BY file.session, request.key
            ) AS each JOIN session ON session.id = owner
            GROUP BY ours, owner ORDER BY session.started, owner"""  # noqa: S608  our own text, and integers
    )
    found: dict[int, CopiedFrom] = {}
    for number, uuid, money in rows:
        before = found.get(number, CopiedFrom(nanodollars=None))
        sessions_before = tuple(dict.fromkeys((*before.sessions, as_path(uuid))))
        known = [part for part in (before.nanodollars, money) if part is not None]
        found[number] = CopiedFrom(sessions_before, sum(known) if known else None)
    return found


def ids_in_team(connection: sqlite3.Connection, team: str) -> list[int]:
    rows = connection.execute("SELECT id FROM session WHERE team = ? AND team <> '' ORDER BY started", (team,))
    return [number for (number,) in rows]


def with_suspect_output(connection: sqlite3.Connection, sessions: Sequence[int]) -> set[int]:
    """Those of some sessions that have responses with more output than was recorded."""
    rows = connection.execute(
        f"""SELECT id FROM session WHERE id IN ({integers(sessions)}) AND EXISTS (
            SELECT 1 FROM file CROSS JOIN request ON request.file = file.id
            WHERE file.session = session.id AND doubt = 2
        )"""  # noqa: S608  only integers
    )
    return {number for (number,) in rows}


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
"""The values known to the archive that a person may type in an option, by kind."""


def known_values(
    connection: sqlite3.Connection, kind: str, beginning: str = "", limit: int = 100
) -> list[tuple[str, str]]:
    """Values that complete `beginning`, the likeliest first, each with a description; projects by their folder's last
    part."""
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
