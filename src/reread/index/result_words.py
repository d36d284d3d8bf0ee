"""Words of tool results that come later than the rows of their blocks: which wait, where they lie, how they come in.

Results are most of the text and are searched only where somebody asks for them, so a large first sync need not wait for
them. Blocks are numbered when they are written, with or without words: their ids tell ages either way.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from . import read
from .meta import FIELDS
from .read import StoredPiece

RESULT = FIELDS.index("result")
INSERT_WORDS = [f"INSERT INTO search(rowid, {name}) VALUES (?, ?)" for name in FIELDS]  # noqa: S608  our own names


class TextPlace(NamedTuple):
    """Where the text of a block lies in its file."""

    id: int
    offset: int
    length: int
    part: int


class WaitingResults(NamedTuple):
    """Blocks of one file that were written together; those of tool results have no words yet."""

    file: int
    first: int
    last: int
    kind: str
    generation: int


def keep_waiting_results(connection: sqlite3.Connection, file: int, first: int, last: int) -> None:
    """Notes that the results among these blocks have no words yet; inside the caller's transaction."""
    connection.execute("INSERT INTO result_waits VALUES (?, ?, ?)", (file, first, last))


def waiting_in(connection: sqlite3.Connection, file: int) -> list[tuple[int, int]]:
    """First and last block of what waits of a file."""
    return connection.execute("SELECT first, last FROM result_waits WHERE file = ?", (file,)).fetchall()


def drop_waiting(connection: sqlite3.Connection, file: int) -> None:
    connection.execute("DELETE FROM result_waits WHERE file = ?", (file,))


def waiting_results(connection: sqlite3.Connection, sessions: Collection[int] | None = None) -> list[WaitingResults]:
    """What waits, in some sessions or in all, the newest first."""
    rows = connection.execute(
        """SELECT file, first, last, kind, generation, session
           FROM result_waits JOIN file ON file.id = result_waits.file ORDER BY first DESC"""
    )
    return [WaitingResults(*row) for *row, session in rows if sessions is None or (session or 0) in sessions]


def waiting_bytes(connection: sqlite3.Connection, waiting: WaitingResults) -> int:
    """How long their lines are."""
    (length,) = connection.execute(
        "SELECT ifnull(sum(length), 0) FROM block WHERE id BETWEEN ? AND ? AND file = ? AND field = ?",
        (waiting.first, waiting.last, waiting.file, RESULT),
    ).fetchone()
    return int(length)


def places_of(connection: sqlite3.Connection, waiting: WaitingResults) -> list[TextPlace]:
    """The texts that wait; some may have been taken back since."""
    rows = connection.execute(
        "SELECT id, offset, length, part FROM block WHERE id BETWEEN ? AND ? AND file = ? AND field = ? ORDER BY id",
        (waiting.first, waiting.last, waiting.file, RESULT),
    )
    return [TextPlace(*row) for row in rows]


def pieces_with(connection: sqlite3.Connection, waiting: WaitingResults) -> list[StoredPiece]:
    """All pieces of their file."""
    return read.pieces_of(connection, waiting.file, waiting.generation)


def write_words(
    connection: sqlite3.Connection, done: Iterable[WaitingResults], words: Sequence[tuple[int, bytes | None]]
) -> None:
    """Words of blocks, which wait no longer; inside the caller's transaction.

    A text that damage in the safe hides has no words, now or later, and its block goes: nothing leads to it. In the
    order of ids, because FTS5 writes a segment of its own whenever one is smaller than the last.
    """
    insert = INSERT_WORDS[RESULT]
    for number, said in sorted(words):
        if said is None:
            connection.execute("DELETE FROM block WHERE id = ?", (number,))
        else:
            connection.execute(insert, (number, said))
    connection.executemany(
        "DELETE FROM result_waits WHERE file = ? AND first = ?", [(each.file, each.first) for each in done]
    )
