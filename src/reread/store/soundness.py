"""Whether the rows of the index can be what reread wrote.

SQLite proves how its pages hang together, not what stands in them: of a damaged one it may give any value of any type.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

_TYPES = {
    "INTEGER": ("integer", "null"),
    "REAL": ("real", "integer", "null"),
    "TEXT": ("text", "null"),
    "BLOB": ("blob", "null"),
}
_NAMES = {
    *(("file", "source"), ("file", "path"), ("session", "uuid"), ("session", "folder"), ("client_said", "session")),
    *(("label", "session"), ("mark", "session"), ("moved", "earlier"), ("moved", "today")),
}
"""Names from the file system: those that are no UTF-8 are bytes."""
_JSON = {
    ("session", "versions"): "array",
    ("session", "models"): "array",
    ("session", "git_branches"): "array",
    ("circumstance", "tools"): "array",
    ("client_said", "models"): "object",
    ("friction", "details"): "object",
    ("mark", "tags"): "array",
}
_PACKED = {
    ("outcome", "prompted"): "length(prompted) % 12 = 0",
    ("piece", "sha256"): "length(sha256) = 32",
    ("seen", "states"): "length(states) % 16 = 0",
}
_TABLES = (
    *("file", "piece", "session", "tool_call", "circumstance", "request", "copied", "usage_cell", "note", "seen"),
    *("client_said", "forgotten", "friction", "outcome", "instruction_change", "label", "block", "mark", "moved"),
)


def damage_of(connection: sqlite3.Connection) -> list[str]:
    """What SQLite says about its pages, and which tables have rows that nobody wrote."""
    try:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        return found or [f"the table {table} has rows that are damaged" for table in _TABLES if _bad(connection, table)]
    except sqlite3.DatabaseError as error:
        return [str(error)]


def drop_unsound(connection: sqlite3.Connection, tables: Iterable[str]) -> None:
    """Removes the rows of these tables that nobody wrote; inside the caller's transaction."""
    for table in tables:
        connection.execute(f"DELETE FROM {table} WHERE NOT ({_soundness(connection, table)})")  # noqa: S608  our own names


def _bad(connection: sqlite3.Connection, table: str) -> bool:
    asked = f"SELECT 1 FROM {table} WHERE NOT ({_soundness(connection, table)}) LIMIT 1"  # noqa: S608  our own names
    return connection.execute(asked).fetchone() is not None


def _soundness(connection: sqlite3.Connection, table: str) -> str:
    """What holds of every row."""
    columns = [(name, kind) for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")]
    held = [
        f"typeof({name}) IN {(*_TYPES[kind], *(['blob'] if (table, name) in _NAMES else []))}" for name, kind in columns
    ]
    for (owner, name), kind in _JSON.items():
        if owner == table:  # CASE, because what is no JSON has no type, but an error
            held.append(f"({name} IS NULL OR CASE json_valid({name}) WHEN 1 THEN json_type({name}) END IS '{kind}')")
    return " AND ".join(held + [check for (owner, _), check in _PACKED.items() if owner == table])
