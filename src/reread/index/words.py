"""Adds words to the full-text index later than the rows of their blocks, and removes words again.

Tool results are most of the text and are searched only on request, so a large first sync need not wait for them. Blocks
get their ids when they are written, with or without words, so ids reflect age either way.

To delete a text from an index without content, FTS5 must be given its exact words, and does not check them. So the
texts are made again from the safe exactly as `ingest.extract` made them.

A list of all words is kept for searches for letters inside words.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple
from zlib import crc32

from reread.errors import SafeDamaged
from reread.safe.pieces import compress, decompress

from . import read
from .database import transaction
from .meta import FIELDS, RESULT, as_path
from .read import StoredPiece
from .rows import FileRow
from .session_files import SessionFileReader
from .text_index import INSERT_WORDS, LACKING, NOTE_LACKING, indexable, text_at


class TextPlace(NamedTuple):
    """Where the text of a block is in its file."""

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
    location: str
    session: int
    """0 for a file of no session."""


def keep_waiting_results(connection: sqlite3.Connection, file: int, first: int, last: int) -> None:
    """Notes that the results among these blocks have no words yet; call it inside a transaction."""
    connection.execute("INSERT INTO result_waits VALUES (?, ?, ?)", (file, first, last))


def waiting_in(connection: sqlite3.Connection, file: int) -> list[tuple[int, int]]:
    """First and last block of each range of a file that waits."""
    return connection.execute("SELECT first, last FROM result_waits WHERE file = ?", (file,)).fetchall()


def drop_waiting(connection: sqlite3.Connection, file: int) -> None:
    connection.execute("DELETE FROM result_waits WHERE file = ?", (file,))


def waiting_results(connection: sqlite3.Connection, sessions: Collection[int] | None = None) -> list[WaitingResults]:
    """The results that wait, of some sessions or of all, the newest first."""
    rows = connection.execute(
        """SELECT file, first, last, kind, generation, path, ifnull(session, 0)
           FROM result_waits JOIN file ON file.id = result_waits.file ORDER BY first DESC"""
    )
    return [
        WaitingResults(file, first, last, kind, generation, as_path(path), session)
        for file, first, last, kind, generation, path, session in rows
        if sessions is None or session in sessions
    ]


def waiting_bytes(connection: sqlite3.Connection, waiting: WaitingResults) -> int:
    """The total length of their lines."""
    (length,) = connection.execute(
        "SELECT ifnull(sum(length), 0) FROM block WHERE id BETWEEN ? AND ? AND file = ? AND field = ?",
        (waiting.first, waiting.last, waiting.file, RESULT),
    ).fetchone()
    return int(length)


def places_of(connection: sqlite3.Connection, waiting: WaitingResults) -> list[TextPlace]:
    """The texts that wait; blocks that were removed meanwhile are not among them."""
    rows = connection.execute(
        "SELECT id, offset, length, part FROM block WHERE id BETWEEN ? AND ? AND file = ? AND field = ? ORDER BY id",
        (waiting.first, waiting.last, waiting.file, RESULT),
    )
    return [TextPlace(*row) for row in rows]


def pieces_with(connection: sqlite3.Connection, waiting: WaitingResults) -> list[StoredPiece]:
    """All pieces of the file of these results."""
    return read.every_piece(connection, waiting.file, waiting.generation)


def write_words(
    connection: sqlite3.Connection, done: Iterable[WaitingResults], words: Sequence[tuple[int, bytes | None]]
) -> None:
    """Writes the words of blocks, which then wait no longer; call it inside a transaction.

    The block of a text that is damaged in the safe is deleted, because it can never be found. Words are written in the
    order of ids, because FTS5 starts a new segment whenever an id is smaller than the one before.
    """
    insert = INSERT_WORDS[RESULT]
    for number, text in sorted(words):
        if text is None:
            connection.execute("DELETE FROM block WHERE id = ?", (number,))
        else:
            connection.execute(insert, (number, text))
    lacking = [(number,) for number, said in words if said is not None and said.endswith(LACKING)]
    connection.executemany(NOTE_LACKING, lacking)
    if words:
        connection.execute("DELETE FROM term_list")
    connection.executemany(
        "DELETE FROM result_waits WHERE file = ? AND first = ?", [(each.file, each.first) for each in done]
    )


FEW = 2_000
"""Up to this many texts, reading them is faster than listing all words."""


class TermList(NamedTuple):
    """The words of some blocks, in lower case and without accents."""

    first: int
    last: int
    terms: str
    """One per line, with a newline before the first and behind the last."""

    def having(self, letters: str, most: int) -> list[str] | None:
        """The words that contain these letters or digits; None if there are more than `most`."""
        found: list[str] = []
        end = 0
        while (place := self.terms.find(letters, end)) >= 0 and len(found) <= most:
            end = self.terms.index("\n", place)
            found.append(self.terms[self.terms.rindex("\n", 0, place) + 1 : end])
        return found if len(found) <= most else None


def has_terms(connection: sqlite3.Connection) -> bool:
    return _kept_terms(connection) is not None


def term_list(connection: sqlite3.Connection) -> TermList | None:
    """The list as it was last made; None if there is none, it is damaged, or it lacks the words of many blocks."""
    kept = _kept_terms(connection)
    return TermList(kept[0], kept[1], decompress(kept[2]).decode()) if kept is not None else None


def _kept_terms(connection: sqlite3.Connection) -> tuple[int, int, bytes] | None:
    row = connection.execute("SELECT first, last, terms, checksum FROM term_list").fetchone()
    if row is None or crc32(row[2]) != row[3]:
        return None
    first, last, packed, _ = row
    (more,) = connection.execute(
        "SELECT (SELECT count(*) FROM block WHERE id < ?) + (SELECT count(*) FROM block WHERE id > ?)", (first, last)
    ).fetchone()
    return (first, last, packed) if more <= FEW + (last - first) // 8 else None


def list_terms(connection: sqlite3.Connection) -> None:
    """Makes the list again if there are many texts, in a transaction of its own."""
    with transaction(connection):
        first, last = connection.execute("SELECT (SELECT min(id) FROM block), (SELECT max(id) FROM block)").fetchone()
        if first is None or last - first < FEW:
            return
        terms = "".join(f"{term}\n" for (term,) in connection.execute("SELECT term FROM vocabulary"))
        packed = compress(f"\n{terms}".encode())
        connection.execute("DELETE FROM term_list")
        connection.execute("INSERT INTO term_list VALUES (?, ?, ?, ?)", (first, last, packed, crc32(packed)))


_DELETE_SEARCH = [f"INSERT INTO search(search, rowid, {name}) VALUES ('delete', ?, ?)" for name in FIELDS]  # noqa: S608


def unindex(
    connection: sqlite3.Connection, files: SessionFileReader, file: int, lines: Collection[int] | None = None
) -> int:
    """Removes a file's blocks and their words, or only those of lines at some offsets; call it inside a transaction.

    Returns the number of texts that are damaged in the safe: their words stay in the index until it is rebuilt, but
    cannot be found.
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
            continue  # the index never got its words
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
