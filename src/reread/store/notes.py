"""Small facts about the archive itself."""

from __future__ import annotations

import sqlite3

PRICES = "prices"
"""Digest of the prices all money was counted with."""
PRICE_FILES = "price_files"
"""How their files looked then."""
REBUILD = "rebuild"
"""Whether an index that is made anew is whole; nothing where it never was."""
SECRETS = "secrets"
"""The key with which this archive tells the same secret again."""
BEGUN, DONE = "begun", "done"


def read(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def write(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))


def is_half_made(connection: sqlite3.Connection) -> bool:
    """Whether a rebuild did not come to its end."""
    return read(connection, REBUILD) == BEGUN
