"""Transcripts that grow, and all that the tables of an archive say."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from reread.archive import Archive

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
IDS = [f"{number}a1b2c3d-1111-4222-8333-444455556666" for number in range(3)]
NOT_COMPARED = {"sqlite_sequence", "migration", "meta", "note", "machine", "source_state"}
"""What differs between any two archives; `source_state` is compared by itself."""
MOMENTS = {"vanished", "first_seen"}


def an_archive(folder: Path, home: str) -> Archive:
    return Archive(folder / home, [folder / "claude"], machine="desk")


def trunk(folder: Path, number: int) -> Path:
    return folder / "claude" / "projects" / "-home-ann-shop" / f"{IDS[number]}.jsonl"


def rows(archive: Archive) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that the tables say."""
    connection = archive.inner.connection
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: _told(connection, name) for name in names if name not in NOT_COMPARED and "search_" not in name}


def _told(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    try:
        found = connection.execute(f"SELECT * FROM {table}")  # noqa: S608  our own names
    except sqlite3.OperationalError:  # of the full-text index, which has no content to read
        return []
    named = [column[0] for column in found.description]
    kept = [place for place, name in enumerate(named) if name not in MOMENTS]
    return sorted((tuple(row[place] for place in kept) for row in found), key=repr)
