"""Takes the words of a file out of the full-text index.

A contentless index must be told, word for word, what it is to forget, and believes whatever it is told: the texts
are made again from the safe exactly as `ingest.extract` made them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from reread.errors import SafeDamaged

from . import read
from .meta import FIELDS
from .result_words import RESULT, drop_waiting, waiting_in
from .rows import FileRow
from .session_files import SessionFileReader
from .text_index import indexable, text_at

_DELETE_SEARCH = [f"INSERT INTO search(search, rowid, {name}) VALUES ('delete', ?, ?)" for name in FIELDS]  # noqa: S608


def unindex(
    connection: sqlite3.Connection, files: SessionFileReader, file: int, lines: Collection[int] | None = None
) -> int:
    """Removes a file's blocks and their words, inside the caller's transaction; of some lines only, by their offsets.

    Gives the number of texts that damage in the safe hides: their words stay in the index until it is rebuilt, but
    lead nowhere.
    """
    row = read.file_by_id(connection, file)
    blocks = connection.execute(
        """SELECT block.id, offset, length, part, field
           FROM file JOIN block ON block.id BETWEEN first_block AND last_block AND block.file = file.id
           WHERE file.id = ? ORDER BY offset""",
        (file,),
    ).fetchall()
    if lines is not None:
        blocks = [block for block in blocks if block[1] in lines]
    hidden = 0
    waiting = waiting_in(connection, file)
    for number, offset, length, part, field in blocks:
        if field == RESULT and any(first <= number <= last for first, last in waiting):
            continue  # the index was never told its words
        words = _words(files, row, offset, length, part, field)
        if words is None:
            hidden += 1
        else:
            connection.execute(_DELETE_SEARCH[field], (number, words))
    connection.executemany("DELETE FROM block WHERE id = ?", [block[:1] for block in blocks])
    if lines is None:
        drop_waiting(connection, file)
        connection.execute("UPDATE file SET first_block = NULL, last_block = NULL WHERE id = ?", (file,))
    return hidden


def _words(files: SessionFileReader, row: FileRow, offset: int, length: int, part: int, field: int) -> str | None:
    try:
        line = files.line(row.id, row.generation, offset, length)
    except SafeDamaged:
        return None
    if len(line) < length:
        return None
    found = text_at(row.kind, line, part)
    return indexable(found.text, with_parts=field != RESULT) if found is not None else None
