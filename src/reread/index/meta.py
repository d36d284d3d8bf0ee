"""Small facts about the archive, and how times, paths and keys are stored."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence

FIELDS = ("prompt", "text", "thinking", "tool", "result", "title")
"""Columns of the full-text index, in order; `block.field` counts from 0."""
TOOL, RESULT = FIELDS.index("tool"), FIELDS.index("result")
PRICES = "prices"
"""Digest of the prices all money was counted with."""
PRICE_FILES = "price_files"
"""How their files looked then."""
REBUILD = "rebuild"
"""Whether an index that is being rebuilt is whole; absent where none was rebuilt."""
FOLDED = "folded"
"""Whether copies that an earlier version kept as sessions of their own were looked for."""
EXTRACTOR = 5
"""Version of what makes rows and words out of lines; a file with those of an older one is read again from the safe. 2:
rows without any id are named by the first line of their file. 3: words of agents that only progress lines tell of. 4:
what hooks do, tools that were stopped while they ran, whose request a fork copied. 5: words of
unknown system lines and attachments, advisors at their own price."""
_MADE_BY = "extractor"
"""The version that made all rows."""
LEFT_OUT = "left_out"
"""Sessions that the last walk left out, because somebody had forgotten them: a JSON object, with when that was."""
SECRETS = "secrets"
"""The key with which this archive tells the same secret again."""
BEGUN, DONE = "begun", "done"
FIRST = "first"
"""That the safe was empty when this index took its first pieces: whatever is in it, this index has taken."""
ORDER = "order"
"""The number of the last sync that took pieces, and in the header of a piece of the one that took it; see
`safe_reader`."""


def read_note(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def write_note(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))


def left_out(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Sessions that were forgotten and met again by the last walk, and when they were forgotten."""
    import json

    return [(session, at) for session, at in json.loads(read_note(connection, LEFT_OUT) or "{}").items()]


def keep_left_out(connection: sqlite3.Connection, sessions: dict[str, int]) -> None:
    text = "{}"
    if sessions:
        import json

        text = json.dumps(sessions)
    if (read_note(connection, LEFT_OUT) or "{}") != text:
        write_note(connection, LEFT_OUT, text)


def is_outdated(connection: sqlite3.Connection) -> bool:
    """Whether an older version may have made some of the rows."""
    return read_note(connection, _MADE_BY) != str(EXTRACTOR)


def waiting_for_friction(connection: sqlite3.Connection, *, with_grown: bool = True) -> list[tuple[int, str]]:
    """Number and id of the sessions whose moments are to be found yet, the newest first; those that have some, and
    grew since, can be left out."""
    among = "" if with_grown else "WHERE NOT EXISTS (SELECT 1 FROM outcome WHERE outcome.session = session.id)"
    # A CROSS JOIN goes from those that wait to their sessions: SQLite would read all sessions in their order.
    rows = connection.execute(
        f"""SELECT session.id, uuid FROM friction_waits CROSS JOIN session ON session.id = friction_waits.session
            {among} ORDER BY ended DESC, session.id"""  # noqa: S608  our own words
    )
    return [(number, as_path(uuid)) for number, uuid in rows]


def keep_waiting_for_friction(connection: sqlite3.Connection, session: int) -> None:
    """What a session shows now is to be found later; what it showed before stays so long. Inside the caller's
    transaction."""
    connection.execute("INSERT OR IGNORE INTO friction_waits VALUES (?)", (session,))


def waiting_for_results(connection: sqlite3.Connection) -> list[int]:
    """Numbers of the sessions with tool results whose words are to be indexed yet; 0 for those of no session."""
    rows = connection.execute(
        "SELECT DISTINCT ifnull(session, 0) FROM result_waits JOIN file ON file.id = result_waits.file"
    )
    return [number for (number,) in rows]


def keep_renewed(connection: sqlite3.Connection) -> None:
    """Notes that this version made all rows."""
    write_note(connection, _MADE_BY, str(EXTRACTOR))


def is_half_made(connection: sqlite3.Connection) -> bool:
    """Whether a rebuild did not come to its end."""
    return read_note(connection, REBUILD) == BEGUN


def last_order(connection: sqlite3.Connection) -> int:
    said = read_note(connection, ORDER)
    return int(said) if said is not None and said.isdecimal() else 0


def count_order(connection: sqlite3.Connection, number: int) -> None:
    """What was given to pieces is never given to later ones."""
    if number > last_order(connection):
        write_note(connection, ORDER, str(number))


def stored_path(path: str) -> str | bytes:
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def sought_path(path: str) -> str | bytes:
    """The same for what somebody asks for: half an emoji, which no file is called by, is found nowhere."""
    try:
        return stored_path(path)
    except UnicodeEncodeError:
        return path.encode("utf-8", "surrogatepass")


def as_path(stored: str | bytes) -> str:
    return os.fsdecode(stored) if isinstance(stored, bytes) else stored


def file_key(machine: str, path: str) -> str:
    """The same on every machine that ever holds the row."""
    from hashlib import sha256  # costs 2 ms, which a status line has no use for

    return sha256(f"{machine}\0{path}".encode("utf-8", "surrogateescape")).hexdigest()[:32]


EDGE = 1024
"""How much of a file's beginning and end proves that it only grew."""


def digest(edge: bytes) -> bytes:
    from hashlib import sha256

    return sha256(edge).digest()[:16]


def session_mark(uuid: str) -> str:
    """What stands for a session among the keys of what was forgotten: wherever it is met, it is known by its id."""
    return file_key("session", uuid)


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


def has_sessions(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM session LIMIT 1").fetchone() is not None


def has_files(connection: sqlite3.Connection, kind: str) -> bool:
    return connection.execute("SELECT 1 FROM file WHERE kind = ? LIMIT 1", (kind,)).fetchone() is not None


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
    """What people typed since each of some moments, as a session counts it: no commands, copies in forks once."""
    sums = ", ".join("count(CASE WHEN time >= ? THEN 1 END)" for _ in moments)
    counted = connection.execute(
        f"SELECT {sums} FROM prompt WHERE is_copy = 0 AND time >= ?",  # noqa: S608  our own text
        (*moments, min(moments)),
    ).fetchone()
    return [int(number) for number in counted]


def machine_names(connection: sqlite3.Connection, machine: str) -> tuple[str, ...]:
    """What else rows and pieces of a machine were called."""
    row = connection.execute("SELECT names FROM machine WHERE id = ?", (machine,)).fetchone()
    if row is None or row[0] == "[]":
        return ()
    import json  # not before it is needed: nearly every machine has kept its name

    return tuple(json.loads(row[0]))
