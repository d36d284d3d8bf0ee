"""Small facts about the archive, and how times, paths and keys are stored."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

FIELDS = ("prompt", "text", "thinking", "tool", "result", "title")
"""Columns of the full-text index, in order; `block.field` counts from 0."""
TOOL, RESULT = FIELDS.index("tool"), FIELDS.index("result")
PRICES = "prices"
"""Digest of the prices with which all money was counted."""
PRICE_FILES = "price_files"
"""The state of the price files at that time."""
REBUILD = "rebuild"
"""Whether a rebuild of this index has begun or is done; absent if it was never rebuilt."""
SUPERSEDED = "superseded"
"""The name of the index of an earlier version that can be removed once this one is whole."""
FOLDED = "folded"
"""Whether copies that were imported as sessions of their own have to be looked for (`begun`)."""
LEFT_OUT = "left_out"
"""Sessions that the last walk left out because they are forgotten: a JSON object of id and the time of forgetting."""
SECRETS = "secrets"
"""The key of the digests by which this archive recognises a secret that it has seen before."""
BEGUN, DONE = "begun", "done"
FIRST = "first"
"""Noted if the safe was empty when this index took its first pieces: then this index took every piece in it."""
ORDER = "order"
"""The number of the last sync that wrote pieces. In the header of a piece: the number of the sync that wrote it, see
`safe_reader`."""


def read_note(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def write_note(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))


def drop_note(connection: sqlite3.Connection, name: str) -> None:
    connection.execute("DELETE FROM note WHERE name = ?", (name,))


def left_out(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Forgotten sessions that the last walk found in the sources, and when they were forgotten."""
    import json

    return [(session, at) for session, at in json.loads(read_note(connection, LEFT_OUT) or "{}").items()]


def keep_left_out(connection: sqlite3.Connection, sessions: dict[str, int]) -> None:
    text = "{}"
    if sessions:
        import json

        text = json.dumps(sessions)
    if (read_note(connection, LEFT_OUT) or "{}") != text:
        write_note(connection, LEFT_OUT, text)


def waiting_for_friction(connection: sqlite3.Connection, *, with_grown: bool = True) -> list[tuple[int, str]]:
    """Number and id of the sessions whose friction is still to be found, the newest first.

    `with_grown=False` leaves out those that were searched before and have grown since.
    """
    among = "" if with_grown else "WHERE NOT EXISTS (SELECT 1 FROM session_end WHERE session_end.session = session.id)"
    # The CROSS JOIN starts from the sessions that wait: SQLite would otherwise read all sessions in order.
    rows = connection.execute(
        f"""SELECT session.id, uuid FROM friction_waits CROSS JOIN session ON session.id = friction_waits.session
            {among} ORDER BY ended DESC, session.id"""  # noqa: S608  our own words
    )
    return [(number, as_path(uuid)) for number, uuid in rows]


def keep_waiting_for_friction(connection: sqlite3.Connection, session: int) -> None:
    """Notes that the friction of a session is to be found later; moments found before stay until then.

    Call it inside a transaction.
    """
    connection.execute("INSERT OR IGNORE INTO friction_waits VALUES (?)", (session,))


def waiting_for_results(connection: sqlite3.Connection) -> list[int]:
    """Numbers of the sessions with tool results whose words are still to be indexed; 0 for files of no session."""
    rows = connection.execute(
        "SELECT DISTINCT ifnull(session, 0) FROM result_waits JOIN file ON file.id = result_waits.file"
    )
    return [number for (number,) in rows]


def is_half_made(connection: sqlite3.Connection) -> bool:
    """Whether a rebuild was begun and not finished."""
    return read_note(connection, REBUILD) == BEGUN


def sessions_left(connection: sqlite3.Connection) -> int:
    """How many transcripts a rebuild has found in the safe and not read yet."""
    row = connection.execute("SELECT count(*) FROM file WHERE kind = 'transcript' AND size < 0").fetchone()
    return int(row[0]) if is_half_made(connection) else 0


def last_order(connection: sqlite3.Connection) -> int:
    noted = read_note(connection, ORDER)
    return int(noted) if noted is not None and noted.isdecimal() else 0


def count_order(connection: sqlite3.Connection, number: int) -> None:
    """Stores the number of a sync, so that it is never given to the pieces of a later one."""
    if number > last_order(connection):
        write_note(connection, ORDER, str(number))


def stored_path(path: str) -> str | bytes:
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def sought_path(path: str) -> str | bytes:
    """Like `stored_path`, for text that a person typed: it may have a lone surrogate, which no file name contains."""
    try:
        return stored_path(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def as_path(stored: str | bytes) -> str:
    return os.fsdecode(stored) if isinstance(stored, bytes) else stored


_WRITERS = ("Edit", "Write", "MultiEdit", "NotebookEdit")


def known_sources(connection: sqlite3.Connection) -> set[str]:
    """Every folder or file that sessions were imported from."""
    rows = connection.execute(  # steps from source to source in the index instead of reading every file
        """WITH RECURSIVE known(source) AS (
               SELECT min(source) FROM file UNION ALL
               SELECT (SELECT min(source) FROM file WHERE file.source > known.source) FROM known WHERE source NOT NULL
           ) SELECT source FROM known WHERE source NOT NULL"""
    )
    return {as_path(source) for (source,) in rows}


def bytes_by_path(connection: sqlite3.Connection) -> dict[str, int]:
    """The number of bytes in the safe for every file, other places included."""
    rows = connection.execute(
        """SELECT file_copy.path, taken FROM file_copy JOIN file ON file.id = file_copy.file
           UNION ALL SELECT path, taken FROM file"""
    )
    return {as_path(path): taken for path, taken in rows}


def has_sessions(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM session LIMIT 1").fetchone() is not None


def count_sessions(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM session").fetchone()[0])


def has_files(connection: sqlite3.Connection, kind: str) -> bool:
    return connection.execute("SELECT 1 FROM file WHERE kind = ? LIMIT 1", (kind,)).fetchone() is not None


def sessions_written_before(connection: sqlite3.Connection, written: Callable[[str | None], int], latest: int) -> int:
    """The number of sessions whose transcript still exists and was last written at or before the time that `written`
    gives for its path, which is never after `latest`."""
    connection.create_function("written_before", 1, lambda path: written(as_path(path)))
    row = connection.execute(
        """SELECT count(*) FROM (
               SELECT max(mtime_ns) AS last, path, max(present) AS present FROM file
               WHERE kind = 'transcript' AND session NOT NULL GROUP BY session
           ) WHERE present AND last <= ? AND last <= written_before(path)""",
        (latest,),
    ).fetchone()
    return int(row[0])


def files_changed_since(connection: sqlite3.Connection, moment: int) -> int:
    """The number of files that the client's own tools wrote since then; what a shell wrote is not known."""
    row = connection.execute(
        f"""SELECT count(DISTINCT path) FROM tool_call
            WHERE status = 'ok' AND time >= ? AND name IN ({", ".join("?" * len(_WRITERS))})""",  # noqa: S608
        (moment, *_WRITERS),
    ).fetchone()
    return int(row[0])


def prompts_since(connection: sqlite3.Connection, moments: Sequence[int]) -> list[int]:
    """The number of prompts since each of these times, without copies in forks and what programs wrote."""
    sums = ", ".join("count(CASE WHEN time >= ? THEN 1 END)" for _ in moments)
    counted = connection.execute(
        f"""SELECT {sums} FROM prompt WHERE is_copy = 0 AND time >= ?
            AND file NOT IN (SELECT file.id FROM program_session JOIN file ON file.session = program_session.id)""",  # noqa: S608
        (*moments, min(moments)),
    ).fetchone()
    return [int(number) for number in counted]
