"""Questions to the ledger about the prompt cache."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Literal

from .usage import Choice
from .usage_cells import IN_QUARTER, PARTS, SUMS

Dimension = Literal["quarter", "home", "project", "all"]
_DIMENSIONS: dict[Dimension, str] = {
    "quarter": IN_QUARTER,
    "home": "home",
    "project": "kept.project",
    "all": "0",
}
CACHE_SUMS = """sum(saved), count(rebuilt), ifnull(sum(rebuilt), 0), sum(premium), count(rebuilt) - count(premium),
    ifnull(sum(thinking), 0), ifnull(sum(thinking_estimate), 0),
    sum(CASE WHEN thinking IS NOT NULL OR thinking_estimate IS NOT NULL THEN output ELSE 0 END)"""

_CAUSE = """CASE WHEN cause <> 'unknown' THEN cause WHEN cause IS NOT NULL THEN ifnull((
        SELECT 'resumed_or_forked' FROM (
            SELECT before.key FROM request AS before
            WHERE before.file = response.home AND before.time < response.time
            ORDER BY before.time DESC LIMIT 1
        ) AS last
            JOIN copied ON copied.key = last.key
            JOIN file AS theirs ON theirs.id = copied.home
            JOIN file AS ours ON ours.id = response.home
        WHERE response.files = 1 AND theirs.session IS NOT ours.session
    ), cause) END"""
"""The first response after what was copied from another session is the first of a resume or a fork."""


def grouped(connection: sqlite3.Connection, dimension: Dimension, choice: Choice) -> Iterator[tuple[Any, ...]]:
    """Rows of dimension, model, cause of a rebuild, whether the API told it, the columns of `SUMS` and `CACHE_SUMS`."""
    for part in PARTS:
        yield from connection.execute(
            f"""SELECT {_DIMENSIONS[dimension]}, counted.model, {_CAUSE}, is_told, {SUMS}, {CACHE_SUMS}
                FROM {part} AS response
                    JOIN circumstance AS counted ON counted.id = response.circumstance
                    JOIN circumstance AS kept ON kept.id = response.place
                WHERE {choice.condition} GROUP BY 1, 2, 3, 4"""  # noqa: S608  our own names, integers
        )


def made_elsewhere(connection: sqlite3.Connection, session: int) -> frozenset[str]:
    """Keys of the responses in a session's files that were made in another session."""
    rows = connection.execute(
        """SELECT request.key FROM file JOIN request ON request.file = file.id JOIN copied ON copied.key = request.key
           WHERE file.session = ? AND copied.home NOT IN (SELECT id FROM file WHERE session = ?)""",
        (session, session),
    )
    return frozenset(key for (key,) in rows)
