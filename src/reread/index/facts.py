"""What stands out in an archive, by queries that cost an overview nothing: an index or a thousand rows each."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

_THOUGHTS = 1000
"""How many of the newest thoughts are looked at."""


class CostParts(NamedTuple):
    """Where a session's cost went; of all its lines, copies included, so good for shares only."""

    responses: int
    prompts: int
    """Tokens of all prompts, from the cache or not."""
    output: int
    nanodollars: float
    of_agents: float
    of_rebuilding: float
    """What writing the cache again cost above reading it."""


def oldest_transcript(connection: sqlite3.Connection) -> int | None:
    """The session of the transcript that was written longest ago and still exists."""
    query = "SELECT session FROM file WHERE kind = 'transcript' AND present = 1 AND session NOT NULL ORDER BY mtime_ns"
    return _first(connection.execute(f"{query} LIMIT 1"))


def dearest_session(connection: sqlite3.Connection, since: int) -> int | None:
    """The session that cost most of those that ended since a time in milliseconds; None if none has a price."""
    query = "SELECT id FROM session WHERE ended >= ? AND nanodollars > 0 ORDER BY nanodollars DESC LIMIT 1"
    return _first(connection.execute(query, (since,)))


def _first(found: sqlite3.Cursor) -> int | None:
    return next((row[0] for row in found), None)


def cost_parts(connection: sqlite3.Connection, session: int) -> CostParts:
    query = """
        SELECT count(*),
            ifnull(sum(request.input + request.cache_read + request.cache_write_5m + request.cache_write_1h), 0),
            ifnull(sum(request.output), 0), total(request.nanodollars),
            total(iif(file.kind = 'subagent', request.nanodollars, 0)), total(request.premium)
        FROM file JOIN request ON request.file = file.id WHERE file.session = ?"""
    return CostParts(*connection.execute(query, (session,)).fetchone())


def thoughts_without_text(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many of the newest thoughts the client stored without their text, and how many there are of these newest."""
    query = f"""
        SELECT ifnull(sum(state > 1), 0), count(*)
        FROM (SELECT state FROM thought WHERE is_copy = 0 ORDER BY time DESC LIMIT {_THOUGHTS})"""  # noqa: S608
    empty, total = connection.execute(query).fetchone()
    return empty, total
