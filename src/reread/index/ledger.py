"""The ledger: every API response as each file has it, which copy counts, which session owns it, and what it cost."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import astuple

from reread.billing import Prices
from reread.billing.response import ADVISOR, Response, nearness, settle, settle_advice, settle_all
from reread.rows.model import RequestContext

from . import meta
from .database import transaction
from .meta import as_path, sought_path
from .rows import FileBatch
from .usage_sums import NO_QUARTER, QUARTER_MS, is_fresh, mark_stale, refresh

_NAMES = RequestContext.__struct_fields__


class Contexts:
    """Numbers for the contexts that many requests share.

    There is one writer at a time, so a cache in memory is enough. It is filled project by project as their first
    requests come, because a sync of a few lines has only one project.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids: dict[tuple[object, ...], int] = {}
        self._projects: set[str | None] = set()
        self._met: dict[RequestContext, int] = {}
        """Those looked up in this sync: nearly all come again, and are found here without being converted to a row."""

    def id_of(self, context: RequestContext) -> int:
        found = self._met.get(context)
        if found is None:
            found = self._met[context] = self._looked_up(context)
        return found

    def _looked_up(self, context: RequestContext) -> int:
        values = tuple(map(_stored, astuple(context)))
        if context.project not in self._projects:
            self._projects.add(context.project)
            rows = self._connection.execute(_KNOWN_CONTEXTS, (context.project,))
            self._ids |= {tuple(row[1:]): row[0] for row in rows}
        if values not in self._ids:
            found = self._connection.execute(_NEW_CONTEXT, values).fetchone()
            self._ids[values] = int(found[0])
        return self._ids[values]


_KNOWN_CONTEXTS = f"SELECT id, {', '.join(_NAMES)} FROM context WHERE project IS ?"  # noqa: S608  our own
_NEW_CONTEXT = f"INSERT INTO context ({', '.join(_NAMES)}) VALUES ({', '.join('?' * len(_NAMES))}) RETURNING id"  # noqa: S608


def _stored(value: object) -> object:
    return msgspec.json.encode(value).decode() if isinstance(value, tuple) else value


_AFTER_CONTEXT = (
    *("time", "input", "output", "cache_read", "cache_write_5m", "cache_write_1h", "thinking", "web_searches"),
    *("web_fetches", "is_sidechain", "is_abandoned", "doubt", "rows", "nanodollars", "recorded", "saved", "rebuilt"),
    *("premium", "cause", "by_api", "thinking_estimate"),
)
_COLUMNS = ("file", "key", "request_id", "context", *_AFTER_CONTEXT)
_INSERT = f"INSERT INTO request ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM request WHERE file = ?"  # noqa: S608
_PASSED = """SELECT 1 FROM request AS one CROSS JOIN request AS other ON other.key = one.key
    CROSS JOIN file ON file.id = other.file WHERE one.file = ? AND one.is_shared AND other.file <> ?
    AND file.first_request = ? AND file.last_request BETWEEN ? AND ? LIMIT 1"""
_KEY, _TIME = _COLUMNS.index("key"), _COLUMNS.index("time")
_values = attrgetter(*_AFTER_CONTEXT)


class Ledger:
    """Writes requests and settles which copies count, inside the caller's transactions."""

    def __init__(self, connection: sqlite3.Connection, prices: Prices) -> None:
        self._connection = connection
        self._prices = prices
        self._contexts = Contexts(connection)
        self._files: set[int] = set()
        self._keys: set[str] = set()
        self._quarters: set[int] = set()
        """Quarters of an hour whose sums may have changed since the ledger was opened."""
        self._were_fresh = is_fresh(connection)

    def replace(self, file: int, batch: FileBatch, *, is_new: bool = False) -> None:
        """Replaces the requests of a file by those it has now; rows that did not change stay untouched."""
        numbers = [self._contexts.id_of(each) for each in batch.rows.contexts]
        rows = [(file, row.key, row.request_id, numbers[row.context], *_values(row)) for row in batch.rows.responses]
        before = {} if is_new else self._rows_before(file, rows if batch.since else None)
        new = self._write_changes(file, before, rows)
        is_elsewhere = self._move(file, self._new_span(file, batch))
        if is_elsewhere or (len(new) == len(rows) and not batch.since):
            self._files.add(file)
        else:
            self._keys.update(row[_KEY] for row in new if self._is_elsewhere(asker(row[_KEY]), file))

    def _write_changes(
        self, file: int, before: dict[str, tuple[Any, ...]], rows: Sequence[tuple[Any, ...]]
    ) -> list[tuple[Any, ...]]:
        """Gives the rows that are not there yet."""
        now = {row[_KEY]: row for row in rows}
        new = [row for row in rows if before.get(row[_KEY]) != row]
        self._drop_rows(file, {key for key, row in before.items() if now.get(key) != row})
        self._connection.executemany(_INSERT, new)
        self._quarters.update(quarter(row[_TIME]) for row in new)
        return new

    def _new_span(self, file: int, batch: FileBatch) -> tuple[int | None, int | None]:
        times = [row.time for row in batch.rows.responses if row.time is not None]
        if batch.since:
            times += [time for time in self._span(file) if time is not None]
        return min(times, default=None), max(times, default=None)

    def _rows_before(self, file: int, rows: Sequence[tuple[Any, ...]] | None) -> dict[str, tuple[Any, ...]]:
        """The stored rows of a file by key: of these responses, or of all if `rows` is None."""
        if rows is None:
            return {row[_KEY]: row for row in self._connection.execute(_SELECT, (file,))}
        found = (self._connection.execute(f"{_SELECT} AND key = ?", (file, row[_KEY])).fetchone() for row in rows)
        return {row[_KEY]: row for row in found if row is not None}

    def _span(self, file: int) -> tuple[int | None, int | None]:
        found = self._connection.execute("SELECT first_request, last_request FROM file WHERE id = ?", (file,))
        began, ended = found.fetchone()
        return began, ended

    def _move(self, file: int, span: tuple[int | None, int | None]) -> bool:
        """Stores when a file began and ended; whether that may change the owner of responses it shares with others."""
        began, ended = self._span(file)
        if span == (began, ended):
            return False
        self._connection.execute("UPDATE file SET first_request = ?, last_request = ? WHERE id = ?", (*span, file))
        if span[0] != began or ended is None or span[1] is None:
            return True
        # Of conversations that began at the same time the one that ended first is the owner, so the order changes only
        # if the end of another lies between the old and the new end of this one.
        passed = self._connection.execute(_PASSED, (file, file, began, min(ended, span[1]), max(ended, span[1])))
        return passed.fetchone() is not None

    def is_rewritten_from_start(self, file: int) -> None:
        """Notes that the beginning of a file changed, which may change the owner of responses it shares with others."""
        self._files.add(file)

    def _is_elsewhere(self, key: str, file: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM request WHERE key = ? AND file <> ? LIMIT 1", (key, file))
        return found.fetchone() is not None

    def _drop_rows(self, file: int, keys: Collection[str]) -> None:
        for key in keys:
            [(time, is_shared)] = self._connection.execute(
                "DELETE FROM request WHERE file = ? AND key = ? RETURNING time, is_shared", (file, key)
            ).fetchall()
            self._quarters.add(quarter(time))
            if is_shared:
                self._keys.add(key)

    def drop(self, file: int) -> None:
        rows = self._connection.execute("SELECT key, time, is_shared FROM request WHERE file = ?", (file,)).fetchall()
        if rows:
            self._quarters.update(quarter(time) for _, time, _ in rows)
            self._keys.update(key for key, _, is_shared in rows if is_shared)
            self._connection.execute("DELETE FROM request WHERE file = ?", (file,))

    def settle(self) -> None:
        """Settles again every response that a changed file shares, or shared, with another."""
        keys = self._keys.union(_in_several_files(self._connection, self._files))
        for key in {asker(key) for key in keys}:
            self._settle(key)
        self._files.clear()
        self._keys.clear()
        mark_stale(self._connection)

    def settle_again(self) -> None:
        """Settles again every response that several files share."""
        shared = self._connection.execute("SELECT DISTINCT key FROM request WHERE is_shared").fetchall()
        self._keys.update(key for (key,) in shared)
        self.settle()

    def close(self) -> None:
        """Brings the sums up to date, in a transaction of its own."""
        refresh(self._connection, self._quarters if self._were_fresh else None)

    def _settle(self, key: str) -> None:
        before = self._connection.execute("SELECT time FROM copied WHERE key = ?", (key,)).fetchall()
        copies = copies_of(self._connection, key)
        self._quarters.update(quarter(time) for (time,) in before)
        self._quarters.update(quarter(copy.time) for copy in copies)
        inside = _inside(key)
        self._connection.execute(_SHARE, (len(copies) > 1, key, *inside))
        self._connection.execute(_UNSETTLE, (key, *inside))
        self._connection.executemany(
            "INSERT INTO copied VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            settled_rows(self._connection, key, copies, self._prices),
        )


def copies_of(connection: sqlite3.Connection, key: str) -> list[Response]:
    """The copies of a response, one for each file that has it."""
    return [Response(*row) for row in connection.execute(f"{REPORTED} WHERE request.key = ?", (key,))]


def settled_rows(
    connection: sqlite3.Connection, key: str, copies: Sequence[Response], prices: Prices
) -> list[tuple[object, ...]]:
    """Rows of `copied` for a response in several files and each advisor it asked; none if only one file has it."""
    if len(copies) < 2:
        return []
    settled = settle(copies)
    owner, counted = (_file_number(connection, name) for name in (settled.owner, settled.file))
    advice = connection.execute(
        f"{REPORTED} WHERE request.file = ? AND request.key > ? AND request.key < ?", (counted, *_inside(key))
    )
    parts = [settled, *(settle_advice(Response(*row), settled) for row in advice)]
    return [_copied(prices.priced(part), owner, counted) for part in parts]


def _file_number(connection: sqlite3.Connection, key: str) -> int:
    return int(connection.execute("SELECT id FROM file WHERE key = ?", (key,)).fetchone()[0])


def _inside(key: str) -> tuple[str, str]:
    """The bounds between which the keys of a response's advisors sort."""
    return f"{key}{ADVISOR}", f"{key}{_AFTER_ADVISOR}"


def _copied(part: Response, owner: int, counted: int) -> tuple[object, ...]:
    counts = part.time, part.web_searches, part.doubt, part.rows, part.files
    return part.key, owner, counted, *counts, part.nanodollars, part.saved


_AFTER_ADVISOR = "#advisor;"
_SHARE = "UPDATE request SET is_shared = ? WHERE key = ? OR (key > ? AND key < ?)"
_UNSETTLE = "DELETE FROM copied WHERE key = ? OR (key > ? AND key < ?)"
_OF_FILE = {
    "file": "file.key",
    "head": "lower(hex(file.head))",
    "began": "file.first_request",
    "ended": "file.last_request",
}
_OF_CONTEXT = ("model", "speed", "geo", "tier")


def columns(names: Iterable[str]) -> str:
    """Fields of `Response` as SQL over `request`, `context` and `file`."""
    of_context = {name: f"context.{name}" for name in _OF_CONTEXT}
    return ", ".join((_OF_FILE | of_context).get(name, f"request.{name}") for name in names)


_FIELDS = Response.__struct_fields__
_REPORTED_COLUMNS = columns(_FIELDS[: _FIELDS.index("nanodollars") + 1])
REPORTED_FROM = """FROM request JOIN context ON context.id = request.context
    JOIN file ON file.id = request.file"""
REPORTED = f"SELECT {_REPORTED_COLUMNS} {REPORTED_FROM}"
"""Selects everything that settling depends on, in the order of the fields of `Response`."""


def asker(key: str) -> str:
    """The key of the response that asked an advisor; any other key is returned as it is."""
    return key.partition(ADVISOR)[0]


def quarter(time: int | None) -> int:
    """The quarter of an hour that a time is in."""
    return NO_QUARTER if time is None or time < 0 else time // QUARTER_MS


_NOT_KEPT = {"owner_context": "request.context", "owner": "''", "files": "1"}
_ALL_REPORTED = ", ".join(_NOT_KEPT.get(name) or columns([name]) for name in _FIELDS)


def responses_in_session(connection: sqlite3.Connection, session: int) -> list[Response]:
    """The responses in the files of a session, as each file has them, with the numbers of their contexts."""
    rows = connection.execute(
        f"SELECT {_ALL_REPORTED} {REPORTED_FROM} WHERE file.session = ? ORDER BY file.key, request.key", (session,)
    )
    return [Response(*row) for row in rows]


def responses_elsewhere(connection: sqlite3.Connection, keys: Collection[str]) -> list[Response]:
    """The responses in all files except those with these keys."""
    known = connection.execute("SELECT key, id FROM file")
    without = ", ".join(str(number) for key, number in known if key in keys)
    rows = connection.execute(f"{REPORTED} WHERE request.file NOT IN ({without})")  # integers
    return [Response(*row) for row in rows]


def _in_several_files(connection: sqlite3.Connection, files: Collection[int]) -> list[str]:
    numbers = ", ".join(map(str, files))
    rows = connection.execute(
        f"""SELECT DISTINCT one.key FROM request AS one CROSS JOIN request AS other ON other.key = one.key
            WHERE one.file IN ({numbers}) AND other.file <> one.file"""  # noqa: S608  integers
    )
    return [key for (key,) in rows]


def reprice(connection: sqlite3.Connection, prices: Prices, stamp: str) -> None:
    """Prices everything again, unless the prices are those that were used before: then only their stamp is stored."""
    with transaction(connection):
        if meta.read_note(connection, meta.PRICES) != prices.digest:
            before = dict(connection.execute("SELECT id, nanodollars FROM session").fetchall())
            _requests(connection, prices)
            Ledger(connection, prices).settle_again()
            _sessions(connection, prices)
            _moments(connection, before)
            meta.write_note(connection, meta.PRICES, prices.digest)
        meta.write_note(connection, meta.PRICE_FILES, stamp)
    refresh(connection, None)


def money_of(response: Response, rebuilt: int | None, prices: Prices) -> tuple[int | None, int | None, int | None]:
    """What a response cost, what the cache saved, and what it cost more because a cache was rebuilt."""
    about = response.model, response.time
    premium = None if rebuilt is None else prices.premium(response, rebuilt, *about)
    return prices.cost(response, *about), prices.savings(response, *about), premium


def _requests(connection: sqlite3.Connection, prices: Prices) -> None:
    names = "saved, rebuilt, premium"
    rows = connection.execute(f"SELECT request.file, {names}, {REPORTED.removeprefix('SELECT ')}").fetchall()
    changed = []
    for file, saved, rebuilt, premium, *values in rows:
        response = Response(*values)
        money = money_of(response, rebuilt, prices)
        if money != (response.nanodollars, saved, premium):
            changed.append((*money, file, response.key))
    connection.executemany(
        "UPDATE request SET nanodollars = ?, saved = ?, premium = ? WHERE file = ? AND key = ?", changed
    )


def _moments(connection: sqlite3.Connection, before: dict[int, int | None]) -> None:
    if connection.execute("SELECT 1 FROM friction LIMIT 1").fetchone() is not None:
        from .findings import reprice_moments  # imports all of friction, which a status line does not need

        reprice_moments(connection, before)


def _sessions(connection: sqlite3.Connection, prices: Prices) -> None:
    connection.executemany(
        "UPDATE session SET nanodollars = ?, unpriced_tokens = ? WHERE id = ?",
        [(each.nanodollars, each.unpriced_tokens, each.session) for each in list(session_sums(connection, prices))],
    )


class SessionSums(NamedTuple):
    """A session's own figures: every response in its files, whether or not another session has it as well."""

    session: int
    requests: int
    output_tokens: int
    nanodollars: int | None
    unpriced_tokens: int


def session_sums(connection: sqlite3.Connection, prices: Prices) -> Iterator[SessionSums]:
    """The sums of every session that has responses."""
    rows = connection.execute(
        f"SELECT file.session, {REPORTED.removeprefix('SELECT ')} WHERE file.session IS NOT NULL ORDER BY file.session"
    )
    for session, inside in groupby(rows, key=lambda row: row[0]):
        settled = list(settle_all((Response(*row[1:]) for row in inside), prices.priced))
        priced = [each.nanodollars for each in settled if each.nanodollars is not None]
        unpriced = sum(each.total for each in settled if each.nanodollars is None)
        output = sum(each.output for each in settled)
        yield SessionSums(session, len(settled), output, sum(priced) if priced else None, unpriced)


_BEHIND_ALL = "\U0010ffff"
_GATEWAYS = "instr(key, ' ') > 0 AND"
_WHOLE = f"instr(key, '{ADVISOR}') = 0"


class ReportingFile(NamedTuple):
    """A file that has lines of a response."""

    file: int
    copy: Response
    path: str
    kind: str
    agent: str | None
    session: str | None


_OF_FILES = {
    "file": "counts.key",
    "head": "lower(hex(owner.head))",
    "owner": "owner.key",
    "began": "owner.first_request",
    "ended": "owner.last_request",
}
_SETTLED = _OF_FILES | {name: f"how.{name}" for name in _OF_CONTEXT} | {"request_id": "NULL"}
_RESPONSE_COLUMNS = ", ".join(_SETTLED.get(name, f"response.{name}") for name in Response.__struct_fields__)
_COUNTED = f"""SELECT {_RESPONSE_COLUMNS} FROM response
    JOIN context AS how ON how.id = response.context
    JOIN file AS counts ON counts.id = response.counted JOIN file AS owner ON owner.id = response.owner"""  # noqa: S608


def parts_of(connection: sqlite3.Connection, key: str) -> list[Response]:
    """A response and the advisors it asked, in the order of their numbers."""
    first, behind = key + ADVISOR, key + ADVISOR + _BEHIND_ALL
    own = connection.execute(f"{_COUNTED} WHERE response.key = ?", (key,))
    found = [Response(*row) for row in own]
    asked = connection.execute(f"{_COUNTED} WHERE response.key > ? AND response.key < ?", (first, behind))
    return found + sorted((Response(*row) for row in asked), key=lambda each: int(each.key.rpartition(":")[2]))


def reporting_files(connection: sqlite3.Connection, key: str) -> list[ReportingFile]:
    """The files that have a response, in the order that decides ownership: the owner comes first."""
    about = "file.id, file.path, file.kind, file.agent, session.uuid"
    rows = connection.execute(
        f"""SELECT {about}, {REPORTED.removeprefix("SELECT ")} LEFT JOIN session ON session.id = file.session
            WHERE request.key = ?""",
        (key,),
    )
    found = [
        ReportingFile(file, Response(*copy), as_path(path), kind, agent, None if session is None else as_path(session))
        for file, path, kind, agent, session, *copy in rows
    ]
    return sorted(found, key=lambda each: nearness(each.copy))


def counted_in(connection: sqlite3.Connection, files: Collection[int]) -> list[Response]:
    """The responses that some files own, in the order of time."""
    rows = connection.execute(f"{_COUNTED} WHERE owner IN ({_integers(files)}) ORDER BY response.time, response.key")
    return [Response(*row) for row in rows]


def counted_elsewhere(connection: sqlite3.Connection, files: Collection[int]) -> list[Response]:
    """The responses that some files contain and others own, in the order of time."""
    numbers = _integers(files)
    rows = connection.execute(
        f"""{_COUNTED} WHERE owner NOT IN ({numbers})
            AND response.key IN (SELECT key FROM request WHERE file IN ({numbers}) AND is_shared)
            ORDER BY response.time, response.key"""  # noqa: S608  integers
    )
    return [Response(*row) for row in rows]


def _integers(values: Collection[int]) -> str:
    return ", ".join(str(int(value)) for value in values)


def called(connection: sqlite3.Connection, name: str) -> list[str]:
    """Keys of the responses with exactly this name: a key, a request id, the id of a line, an id a gateway repeats."""
    for condition in (
        "key = ?",
        f"request_id = ? AND {_WHOLE}",
        f"{_GATEWAYS} substr(key, 1, instr(key, ' ') - 1) = ?",
    ):
        found = _keys(connection, condition, (name,))
        if found:
            return found
    return _keys(connection, "key = 'uuid ' || ?", (name,))


def reused_and_copied(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many ids stand for several responses, and how many responses several files tell of."""
    named = f"SELECT DISTINCT key FROM request WHERE {_GATEWAYS} {_WHOLE} AND key NOT GLOB 'uuid *'"  # noqa: S608  our own text
    reused = f"SELECT 1 FROM ({named}) GROUP BY substr(key, 1, instr(key, ' ')) HAVING count(*) > 1"  # noqa: S608  our own text
    both = f"SELECT (SELECT count(*) FROM ({reused})), (SELECT count(*) FROM copied)"  # noqa: S608  our own text
    row: tuple[int, int] = connection.execute(both).fetchone()
    return row


def beginning_with(connection: sqlite3.Connection, start: str) -> list[str]:
    """Keys of the responses whose own id begins with this text, or else of those whose request id does."""
    bounds = (start, start + _BEHIND_ALL)
    found = _keys(connection, f"key >= ? AND key < ? AND {_WHOLE}", bounds)
    return found or _keys(connection, f"request_id >= ? AND request_id < ? AND {_WHOLE}", bounds)


def _keys(connection: sqlite3.Connection, condition: str, values: tuple[str, ...]) -> list[str]:
    asked = tuple(map(sought_path, values))  # what a person typed may not be UTF-8
    rows = connection.execute(f"SELECT key, min(time) FROM request WHERE {condition} GROUP BY key ORDER BY 2", asked)  # noqa: S608  our own text
    return [key for key, _ in rows]


def session_of_file(connection: sqlite3.Connection, path: str) -> int | None:
    """The session a file belongs to; None if it belongs to none or is not kept."""
    row = connection.execute("SELECT session FROM file WHERE path = ?", (sought_path(path),)).fetchone()
    return None if row is None else row[0]


def sessions_of_files(connection: sqlite3.Connection) -> dict[str, str]:
    """The id of the session each file belongs to, by the file's key."""
    rows = connection.execute("SELECT file.key, session.uuid FROM file JOIN session ON session.id = file.session")
    return {key: as_path(uuid) for key, uuid in rows}
