"""What a person said about moments of friction: that they are none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Any


def put_label(connection: sqlite3.Connection, uuid: str, kind: str, session: str | bytes, now: int) -> None:
    connection.execute("INSERT OR REPLACE INTO label VALUES (?, ?, ?, ?)", (uuid, kind, session, now))


def take_label(connection: sqlite3.Connection, uuid: str, kind: str) -> None:
    """Takes back what was said about a line; with a kind, only what was said about that kind or all."""
    connection.execute("DELETE FROM label WHERE uuid = ? AND (? = '' OR kind IN (?, ''))", (uuid, kind, kind))


def labels(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT uuid, kind, session, at FROM label").fetchall()


def keep_labels(connection: sqlite3.Connection, rows: Iterable[tuple[Any, ...]]) -> None:
    """Inside the caller's transaction."""
    connection.executemany("INSERT OR REPLACE INTO label VALUES (?, ?, ?, ?)", rows)
