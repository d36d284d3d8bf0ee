"""Whether the rows of the index can be what reread wrote.

SQLite proves how its pages hang together, not what stands in them: of a damaged one it may give any value of any type.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable

from reread import sources
from reread.features import friction
from reread.times import EARLIEST, LATEST

from .friction_rows import are_prompts, is_material
from .schema import CHECKS, NAMES

_OF_VALUES = re.compile(r"CHECK constraint failed in |non-\w+ value in |NULL value in ")
"""What SQLite says of rows in a STRICT table; these are found, and reported, as in any other table."""
_TYPES = {
    "INTEGER": ("integer", "null"),
    "REAL": ("real", "integer", "null"),
    "TEXT": ("text", "null"),
    "BLOB": ("blob", "null"),
    "ANY": ("text", "null"),
}
_TIMES = ("time", "started", "ended", "began", "at", "vanished", "five_hour_resets", "seven_day_resets")
_AGES = f"BETWEEN {EARLIEST} AND {LATEST}"
_LISTS = (
    *(("session", "versions"), ("session", "models"), ("session", "git_branches"), ("circumstance", "tools")),
    *(("mark", "tags"), ("machine", "names")),
)
_LIST = "json_type({0}) = 'array' AND NOT EXISTS (SELECT 1 FROM json_each({0}) WHERE type <> 'text')"
_OBJECTS = (("client_said", "models"), ("friction", "details"))
_PACKED = {("seen", "states"): "length(states) % 16 = 0"}
_ONE_OF: dict[tuple[str, str], tuple[object, ...]] = {
    ("file", "kind"): tuple(map(str, sources.FileKind)),
}
_TABLES = (
    *(
        "file",
        "piece",
        "session",
        "tool_call",
        "prompt",
        "thought",
        "circumstance",
        "request",
        "copied",
        "usage_cell",
        "note",
        "seen",
    ),
    *("client_said", "forgotten", "friction", "outcome", "instruction_change", "label", "block", "mark", "moved"),
    *("machine", "place", "secret", "secret_scan", "result_waits"),
)


def damage_of(connection: sqlite3.Connection) -> list[str]:
    """What SQLite says about its pages, and which tables have rows that nobody wrote."""
    try:
        said = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        found = [each for each in said if each != "ok" and not _OF_VALUES.match(each)]
        return found or [f"the table {table} has rows that are damaged" for table in _unsound(connection)]
    except sqlite3.DatabaseError as error:
        return [str(error)]


def _unsound(connection: sqlite3.Connection) -> dict[str, None]:
    bad = [table for table in _TABLES if _bad(connection, table)]
    bad += [row[0] for row in connection.execute("PRAGMA foreign_key_check")]
    outcomes = connection.execute("SELECT prompted, material FROM outcome")
    bad += ["outcome" for prompted, material in outcomes if not (are_prompts(prompted) and is_material(material))]
    return dict.fromkeys(bad)


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
    held = []
    for name, kind in columns:
        types = (*_TYPES[kind], "blob") if name in NAMES.get(table, ()) else _TYPES[kind]
        held.append(f"typeof({name}) IN {types}")
        if name in _TIMES and kind == "INTEGER":
            held.append(f"({name} IS NULL OR {name} {_AGES})")
        if (table, name) in (*_LISTS, *_OBJECTS):  # behind a CASE: what is no JSON is an error to the functions
            form = _LIST if (table, name) in _LISTS else "json_type({0}) = 'object'"
            held.append(f"({name} IS NULL OR CASE json_valid({name}) WHEN 1 THEN {form.format(name)} END IS 1)")
        if (table, name) in _ONE_OF:
            held.append(f"{name} IN {_ONE_OF[table, name]}")
        if (table, name) == ("friction", "kind"):
            held.append(f"kind IN {tuple(map(str, friction.FrictionKind))}")
        if (table, name) in _PACKED:
            held.append(_PACKED[table, name])
    return " AND ".join([*held, CHECKS.get(table, "1")])
