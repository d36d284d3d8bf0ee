"""Questions to the ledger: responses added up by where they belong."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec

from .reading import as_path
from .rows import Circumstance
from .usage_cells import SUMS

Dimension = Literal["quarter", "home", "all"]
CACHE_SUMS = """sum(saved), count(rebuilt), ifnull(sum(rebuilt), 0), sum(premium), count(rebuilt) - count(premium),
    ifnull(sum(thinking), 0), ifnull(sum(thinking_estimate), 0),
    sum(CASE WHEN thinking IS NOT NULL OR thinking_estimate IS NOT NULL THEN output ELSE 0 END)"""
"""What the cache did, over rows of `response`."""
_DIMENSIONS: dict[Dimension, str] = {"quarter": "ifnull(time / 900000, -1)", "home": "home", "all": "0"}


def circumstances(connection: sqlite3.Connection) -> dict[int, Circumstance]:
    names = Circumstance.__struct_fields__
    rows = connection.execute(f"SELECT id, {', '.join(names)} FROM circumstance")  # noqa: S608  our own names
    return {number: _circumstance(dict(zip(names, values, strict=True))) for number, *values in rows}


def _circumstance(values: dict[str, Any]) -> Circumstance:
    values["tools"] = tuple(msgspec.json.decode(values["tools"] or "[]"))
    return Circumstance(**values)


def grouped(
    connection: sqlite3.Connection,
    dimension: Dimension,
    *,
    where: Collection[int] | None = None,
    how: Collection[int] | None = None,
    homes: Collection[int] | None = None,
    since: int | None = None,
    until: int | None = None,
    is_recorded: bool = False,
    has_caching: bool = False,
) -> Iterable[tuple[Any, ...]]:
    """Rows of dimension, circumstance, place, is_sidechain, is_abandoned and the columns of `SUMS`.

    With `has_caching` the cause of a rebuild and whether the API told it come before the sums, `CACHE_SUMS` after.

    `where` and `how` name the circumstances that may be a response's place and its own, `homes` the files it may
    belong to. Money is what the client wrote into the line instead of what prices make of it when `is_recorded`.
    """
    conditions = [
        None if where is None else f"place IN ({_integers(where)})",
        None if how is None else f"circumstance IN ({_integers(how)})",
        None if homes is None else f"home IN ({_integers(homes)})",
        None if since is None else f"time >= {since:d}",
        None if until is None else f"time < {until:d}",
    ]
    chosen = " AND ".join(condition for condition in conditions if condition) or "1"
    sums = SUMS.replace("nanodollars", "recorded") if is_recorded else SUMS
    names = [_DIMENSIONS[dimension], "circumstance", "place", "is_sidechain", "is_abandoned"]
    if has_caching:
        names += ["cause", "is_told"]
        sums += f", {CACHE_SUMS}"
    keys = ", ".join(str(i + 1) for i in range(len(names)))
    return connection.execute(
        f"""SELECT {", ".join(names)}, {sums}
            FROM response WHERE {chosen} GROUP BY {keys} ORDER BY min(time), 1"""  # noqa: S608  integers
    )


def _integers(values: Collection[int]) -> str:
    return ", ".join(str(int(value)) for value in values)


def homes(connection: sqlite3.Connection) -> dict[int, tuple[str, str | None, str | None, bool]]:
    """Of every transcript: its session's id, title and project, and whether it is an agent's."""
    rows = connection.execute(
        """SELECT file.id, session.uuid, session.title, session.project, file.kind = 'subagent'
           FROM file JOIN session ON session.id = file.session"""
    )
    return {file: (as_path(uuid), title, project, bool(is_agent)) for file, uuid, title, project, is_agent in rows}


def files_of_sessions(connection: sqlite3.Connection, sessions: Iterable[int]) -> list[int]:
    numbers = ", ".join(str(int(session)) for session in sessions)
    return [file for (file,) in connection.execute(f"SELECT id FROM file WHERE session IN ({numbers})")]  # noqa: S608


def keys_from_elsewhere(connection: sqlite3.Connection, session: int) -> frozenset[str]:
    """Responses in a session's files that were made in another session's."""
    rows = connection.execute(
        """SELECT request.key FROM file JOIN request ON request.file = file.id JOIN copied ON copied.key = request.key
           WHERE file.session = ?1 AND copied.home NOT IN (SELECT id FROM file WHERE session = ?1)""",
        (session,),
    )
    return frozenset(key for (key,) in rows)


def lines_read(connection: sqlite3.Connection) -> tuple[int, int]:
    """Lines of all transcripts, and how many of them are no JSON."""
    lines, malformed = connection.execute("SELECT sum(lines), sum(malformed) FROM file").fetchone()
    return lines or 0, malformed or 0
