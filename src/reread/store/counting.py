"""Small counts over the archive that a glance needs."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from .paths import as_path
from .schema import FIELDS

_PROMPT = FIELDS.index("prompt")
_WRITERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


def known_sources(connection: sqlite3.Connection) -> set[str]:
    """Every folder or file that sessions were taken from."""
    rows = connection.execute(  # from one to the next in the index, not over every file
        """WITH RECURSIVE known(source) AS (
               SELECT min(source) FROM file UNION ALL
               SELECT (SELECT min(source) FROM file WHERE file.source > known.source) FROM known WHERE source NOT NULL
           ) SELECT source FROM known WHERE source NOT NULL"""
    )
    return {as_path(source) for (source,) in rows}


def bytes_by_path(connection: sqlite3.Connection) -> dict[str, int]:
    """How much of every file there is in the safe."""
    rows = connection.execute(
        "SELECT place.path, taken FROM place JOIN file ON file.id = place.file UNION ALL SELECT path, taken FROM file"
    )
    return {as_path(path): taken for path, taken in rows}


def sessions_written_before(connection: sqlite3.Connection, mtime_ns: int) -> int:
    """Sessions whose transcript is still there and was written last by then."""
    row = connection.execute(
        """SELECT count(*) FROM (
               SELECT max(mtime_ns) AS last, max(present) AS present FROM file
               WHERE kind = 'transcript' AND session NOT NULL GROUP BY session
           ) WHERE present AND last <= ?""",
        (mtime_ns,),
    ).fetchone()
    return int(row[0])


def files_changed_since(connection: sqlite3.Connection, moment: int) -> int:
    """Files that calls of the client's own tools wrote since then; what a shell wrote is not known."""
    row = connection.execute(
        f"""SELECT count(DISTINCT path) FROM tool_call
            WHERE status = 'ok' AND time >= ? AND name IN ({", ".join("?" * len(_WRITERS))})""",  # noqa: S608
        (moment, *_WRITERS),
    ).fetchone()
    return int(row[0])


def prompts_since(connection: sqlite3.Connection, moments: Sequence[int]) -> list[int]:
    """What people typed since each of some moments; a line copied into a fork has the same time and counts once."""
    sums = ", ".join("count(DISTINCT CASE WHEN block.time >= ? THEN block.time END)" for _ in moments)
    counted = connection.execute(
        f"""SELECT {sums} FROM block JOIN file ON file.id = block.file
            WHERE block.field = ? AND file.kind = 'transcript' AND block.time >= ?""",  # noqa: S608  our own text
        (*moments, _PROMPT, min(moments)),
    ).fetchone()
    return [int(number) for number in counted]
