"""Prompts, thoughts and tool calls as rows, written with their file and marked as copies if another file owns them.

A fork, a resume or an agent that goes on from its parent repeats lines. Their owner depends only on the sessions
themselves: the session that began first, then the one that ended first, then a trunk before an agent's file, then the
smaller file key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from reread.rows.model import REDACTED, SIGNED, WITH_TEXT, CallRow, PromptRow, ThoughtRow

from .meta import as_path
from .sessions import integers

TABLES = ("tool_call", "prompt", "thought")
_AT_ONCE = 400


def write_talk(
    connection: sqlite3.Connection,
    file: int,
    session: int | None,
    calls: Iterable[CallRow],
    prompts: Iterable[PromptRow],
    thoughts: Iterable[ThoughtRow],
    since: int = 0,
    *,
    is_new: bool = False,
) -> None:
    """Replaces the rows of a file from offset `since` on; rows that did not change stay untouched.

    `is_new` says that the file cannot have rows yet. Call it inside a transaction.
    """
    values: dict[str, list[_Values]] = {
        "tool_call": [
            (file, c.id, session, c.name, c.status, c.time, c.seconds, c.path, c.digest, 0, c.offset, c.length)
            for c in sorted(calls, key=lambda call: call.id)  # in the table's own order, so that its pages fill up
        ],
        "prompt": [(file, p.offset, p.part, p.length, p.time, p.digest, 0) for p in prompts],
        "thought": [(file, t.offset, t.part, t.length, t.time, t.state, t.characters, t.digest, 0) for t in thoughts],
    }
    for table, rows in values.items():
        _insert(connection, table, rows if is_new else _changed(connection, table, file, rows, since))


_Values = tuple[object, ...]
_KEYS = {"tool_call": ("file", "id"), "prompt": ("file", "offset", "part"), "thought": ("file", "offset", "part")}


def _changed(
    connection: sqlite3.Connection, table: str, file: int, rows: Sequence[_Values], since: int
) -> list[_Values]:
    """Deletes rows that the file no longer has; returns those that are new or changed."""
    names = _KEYS[table]
    size = len(names)
    told = connection.execute(f"SELECT * FROM {table} WHERE file = ? AND offset >= ?", (file, since))  # noqa: S608  our own names
    flag = [name for name, *_ in told.description].index("is_copy")
    before = {row[:size]: (*row[:flag], 0, *row[flag + 1 :]) for row in told}  # `is_copy` is settled later
    gone = before.keys() - {row[:size] for row in rows}
    connection.executemany(
        f"DELETE FROM {table} WHERE {' AND '.join(f'{name} = ?' for name in names)}",  # noqa: S608
        gone,
    )
    return [row for row in rows if before.get(row[:size]) != row]


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[_Values]) -> None:
    if rows:
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)  # noqa: S608  our own names


class CopyMarker:
    """Decides which of several equal rows counts, inside the caller's transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._files: set[int] = set()
        self._left: dict[str, set[int]] = {table: set() for table in TABLES}
        """By table: digests that rows about to be changed shared with other files."""

    def will_change(self, file: int) -> None:
        """Call it before rows of a file are deleted or replaced."""
        for table in TABLES:
            rows = self._connection.execute(
                _SHARED.format(table, "?"), (file,)
            )  # the same text each time, so that SQLite need not prepare it again
            self._left[table].update(digest for (digest,) in rows)

    def changed(self, file: int) -> None:
        self._files.add(file)

    def settle(self) -> None:
        """Marks again all rows that the changed files, and the others of their sessions, share with other files."""
        if self._files or any(self._left.values()):
            files = _of_same_sessions(self._connection, self._files)
            for table in TABLES:
                digests = self._left[table].union(_shared(self._connection, table, files))
                mark_copies(self._connection, table, sorted(digests))
                self._left[table].clear()
        self._files.clear()


def _of_same_sessions(connection: sqlite3.Connection, files: Collection[int]) -> list[int]:
    rows = connection.execute(
        f"""SELECT DISTINCT file.id FROM file AS ours JOIN file ON file.session = ours.session
            WHERE ours.id IN ({integers(files)})"""  # noqa: S608  integers
    )
    return [number for (number,) in rows]


_SHARED = """SELECT DISTINCT digest FROM {0} AS ours WHERE file IN ({1}) AND digest NOT NULL
    AND EXISTS (SELECT 1 FROM {0} AS other WHERE other.digest = ours.digest AND other.file <> ours.file)"""
"""The digests of rows of some files that other files have as well."""


def _shared(connection: sqlite3.Connection, table: str, files: Collection[int]) -> Iterator[int]:
    rows = connection.execute(_SHARED.format(table, integers(files)))
    return (digest for (digest,) in rows)


def mark_copies(connection: sqlite3.Connection, table: str, digests: Sequence[int]) -> None:
    """Marks the rows with each of these digests: those of the file that owns them count, the others are copies."""
    for first in range(0, len(digests), _AT_ONCE):
        some = digests[first : first + _AT_ONCE]
        owners: dict[int, tuple[Any, int]] = {}
        rows = connection.execute(
            f"""SELECT digest, file.id, session.started IS NULL, ifnull(session.started, 0),
                       session.ended IS NULL, ifnull(session.ended, 0), file.kind = 'subagent', file.key
                FROM {table} JOIN file ON file.id = {table}.file JOIN session ON session.id = file.session
                WHERE digest IN ({integers(some)})"""  # noqa: S608
        ).fetchall()
        for digest, file, *age in rows:
            if digest not in owners or age < owners[digest][0]:
                owners[digest] = age, file
        connection.executemany(
            f"UPDATE {table} SET is_copy = (file <> ?) WHERE digest = ? AND is_copy <> (file <> ?)",  # noqa: S608
            [(file, digest, file) for digest, (_, file) in owners.items()],
        )


class ToolSum(NamedTuple):
    name: str
    status: str
    calls: int
    seconds: float


class Window(NamedTuple):
    """Which rows to select: those of some sessions or all, between two times in milliseconds."""

    sessions: Collection[int] | None = None
    since: int | None = None
    until: int | None = None
    with_copies: bool = False
    without: Collection[int] = ()
    """Sessions to leave out."""

    def condition(self, table: str) -> str:
        parts = [
            None if self.with_copies else f"{table}.is_copy = 0",
            None if self.since is None else f"{table}.time >= {self.since:d}",
            None if self.until is None else f"{table}.time < {self.until:d}",
            None if self.sessions is None else f"file.session IN ({integers(self.sessions)})",
            f"file.session NOT IN ({integers(self.without)})" if self.without else None,
        ]
        return " AND ".join(part for part in parts if part) or "1"


def tool_sums(connection: sqlite3.Connection, window: Window) -> list[ToolSum]:
    """Numbers and durations of calls by tool and status."""
    joined = "" if window.sessions is None else "JOIN file ON file.id = tool_call.file"
    rows = connection.execute(
        f"""SELECT name, status, count(*), total(seconds) FROM tool_call {joined}
            WHERE {window.condition("tool_call")} GROUP BY name, status"""  # noqa: S608  our own names, and integers
    )
    return [ToolSum(*row) for row in rows]


class TalkRow(NamedTuple):
    """The place of a prompt, thought or call."""

    session: int
    file: int
    generation: int
    kind: str
    """Kind of the file."""
    agent: str | None
    """The agent, if the file is an agent's."""
    offset: int
    length: int
    part: int
    time: int | None


_TALK = """file.session, file.id, file.generation, file.kind, file.agent, file.path,
    {0}.offset, {0}.length, {1}, {0}.time"""
_BY_FILE = "file CROSS JOIN {0} ON file.id = {0}.file"
"""A join for counting: otherwise SQLite looks up the file for each row, which takes three times as long."""


def prompt_rows(connection: sqlite3.Connection, window: Window, limit: int | None) -> tuple[list[TalkRow], int]:
    """The newest prompts, and the number of all."""
    return _talk_rows(connection, "prompt", window.condition("prompt"), limit)


def thought_rows(
    connection: sqlite3.Connection, window: Window, min_length: int, limit: int | None
) -> tuple[list[TalkRow], int]:
    """The newest thoughts with a text of at least `min_length` characters, and the number of all."""
    condition = f"{window.condition('thought')} AND state = {WITH_TEXT} AND characters >= {int(min_length)}"
    return _talk_rows(connection, "thought", condition, limit)


def _talk_rows(
    connection: sqlite3.Connection, table: str, condition: str, limit: int | None
) -> tuple[list[TalkRow], int]:
    # NULL sorts below all times and so comes last. An index has this order, so reading stops at the limit.
    rows = connection.execute(
        f"""SELECT {_TALK.format(table, "part")} FROM {table} JOIN file ON file.id = {table}.file
            WHERE file.session NOT NULL AND {condition}
            ORDER BY {table}.time DESC, file.session DESC, file.id, offset LIMIT ?""",  # noqa: S608
        (-1 if limit is None else limit,),
    ).fetchall()
    found = [_talk_row(*row) for row in rows]
    if limit is None or len(found) < limit:
        return found, len(found)
    (total,) = connection.execute(
        f"SELECT count(*) FROM {_BY_FILE.format(table)} WHERE file.session NOT NULL AND {condition}"  # noqa: S608
    ).fetchone()
    return found, int(total)


def _talk_row(
    session: int, file: int, generation: int, kind: str, agent: str | None, path: str | bytes, *place: Any
) -> TalkRow:
    name = as_path(path).replace("\\", "/").rpartition("/")[2].rpartition(".")[0]
    return TalkRow(session, file, generation, kind, (agent or name) if kind == "subagent" else None, *place)


class FoundCall(NamedTuple):
    id: str
    has_result: bool
    place: TalkRow


def calls_of(connection: sqlite3.Connection, window: Window, name: str) -> list[FoundCall]:
    """The calls of a tool, newest first."""
    rows = connection.execute(
        f"""SELECT tool_call.id, status <> 'missing', {_TALK.format("tool_call", "0")}
            FROM tool_call JOIN file ON file.id = tool_call.file
            WHERE file.session NOT NULL AND name = ? AND {window.condition("tool_call")}
            ORDER BY tool_call.time DESC, file.session, file.id, offset""",  # noqa: S608  our own names, and integers
        (name,),
    )
    return [FoundCall(call, bool(has_result), _talk_row(*place)) for call, has_result, *place in rows]


def thought_counts(connection: sqlite3.Connection, window: Window, min_length: int) -> tuple[int, int, int]:
    """How many thoughts are too short, empty but signed, and redacted."""
    short, signed, redacted = connection.execute(
        f"""SELECT count(*) FILTER (WHERE state = {WITH_TEXT} AND characters < ?),
                   count(*) FILTER (WHERE state = {SIGNED}), count(*) FILTER (WHERE state = {REDACTED})
            FROM {_BY_FILE.format("thought")}
            WHERE file.session NOT NULL AND {window.condition("thought")}""",  # noqa: S608
        (min_length,),
    ).fetchone()
    return short, signed, redacted
