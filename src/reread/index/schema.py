"""The tables of the index as `schema.sql` has them, and the version of what is in them.

The index is a cache of the safe: an index of another version is not changed but made again. So `VERSION` is raised with
every change of a table, and of what an import writes into it; nothing else says what an index is made of.
"""

from __future__ import annotations

import re
from pathlib import Path
from sqlite3 import Connection, complete_statement, sqlite_version_info

VERSION = 11
"""Raise it when a table changes, or what is written into one for the same line, or when another kind of file becomes
known: each index is then made again."""

IS_STRICT = sqlite_version_info >= (3, 37)
"""Whether this SQLite has STRICT tables, which enforce the types of columns."""


def schema() -> str:
    """The SQL of all tables. Where SQLite has no STRICT tables, a name from the file system needs a type that leaves it
    as it is."""
    text = Path(__file__).with_name("schema.sql").read_text("utf-8")
    if IS_STRICT:
        return text
    return text.replace(", STRICT;", ";").replace(" STRICT;", ";").replace(" ANY ", " ANY BLOB ")


def statements() -> list[str]:
    found: list[str] = []
    text = ""
    for line in schema().splitlines(keepends=True):
        text += line
        if complete_statement(text):
            found.append(text.strip())
            text = ""
    return found


def sql_of(table: str) -> str:
    """The SQL that makes a table."""
    return next(each for each in statements() if f"TABLE {table} " in each)


def tables() -> list[str]:
    """The names of all tables, those of the full text aside."""
    return re.findall(r"^CREATE TABLE (\w+)", schema(), re.MULTILINE)


def create(connection: Connection) -> None:
    """Makes all tables in an empty database, inside the caller's transaction: `executescript` would commit it."""
    from .machine_file import add_own_machine

    for statement in statements():
        connection.execute(statement)
    add_own_machine(connection)
    connection.execute("INSERT INTO note VALUES ('version', ?)", (str(VERSION),))
    connection.execute(f"PRAGMA user_version = {VERSION}")
