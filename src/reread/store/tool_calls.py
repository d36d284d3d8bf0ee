"""Tool calls as the index has them, with the files they name, and the lines they stand in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from .schema import FIELDS

_TOOL = FIELDS.index("tool")


class StoredCall(NamedTuple):
    file: int
    id: str
    session: int
    name: str
    status: str
    time: int | None
    path: str


class CallLine(NamedTuple):
    """Where a line with tool calls lies in the safe."""

    generation: int
    offset: int
    length: int
    time: int | None


def calls_with_files(connection: sqlite3.Connection) -> Iterator[StoredCall]:
    """All calls that name a file, its agents' included."""
    rows = connection.execute(
        """SELECT tool_call.file, tool_call.id, file.session, name, status, time, tool_call.path
           FROM tool_call JOIN file ON file.id = tool_call.file
           WHERE tool_call.path IS NOT NULL AND file.session IS NOT NULL"""
    )
    return (StoredCall(*row) for row in rows)


def status_of_call(connection: sqlite3.Connection, file: int, call: str) -> str | None:
    found = connection.execute("SELECT status FROM tool_call WHERE file = ? AND id = ?", (file, call)).fetchone()
    return None if found is None else str(found[0])


def lines_with_calls(connection: sqlite3.Connection, file: int) -> list[CallLine]:
    """The lines of a file that hold tool calls; the blocks of a file lie close together."""
    rows = connection.execute(
        """SELECT file.generation, block.offset, block.length, block.time
           FROM file CROSS JOIN block ON block.id BETWEEN file.first_block AND file.last_block
           WHERE file.id = ? AND block.file = file.id AND block.field = ?""",
        (file, _TOOL),
    )
    return [CallLine(*row) for row in rows]
