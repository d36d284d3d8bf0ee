"""Small facts about the archive itself."""

from __future__ import annotations

import sqlite3

PRICES = "prices"
"""Digest of the prices all money was counted with."""
PRICE_FILES = "price_files"
"""How their files looked then."""
REBUILD = "rebuild"
"""`begun` until an index that is made anew is whole, then `done`; none where it never was."""


def read(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
    return None if found is None else str(found[0])


def write(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))
