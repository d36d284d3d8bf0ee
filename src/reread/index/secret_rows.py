"""Where keys and passwords lie in the files of the archive: kept, read, and gone with the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from secrets import token_hex
from typing import NamedTuple

from . import meta
from .sessions import integers

_READ = "('transcript', 'subagent', 'tool_result', 'capture')"
"""Kinds of files that tell what was said; what else is kept beside them is the client's own."""


class SecretRow(NamedTuple):
    """One line with one secret."""

    offset: int
    kind: str
    digest: bytes
    uuid: str | None
    field: str
    time: int | None


class Unread(NamedTuple):
    """What of a file was not looked through."""

    file: int
    session: int
    kind: str
    generation: int
    start: int
    """Where to go on; 0 for a file that is new, or was looked through by another version."""
    end: int


class KeptSecret(NamedTuple):
    session: int
    file: int
    row: SecretRow


def digest_key(connection: sqlite3.Connection) -> bytes | None:
    """The archive's own; None where there is none yet."""
    found = meta.read_note(connection, meta.SECRETS)
    return bytes.fromhex(found) if found is not None else None


def make_digest_key(connection: sqlite3.Connection) -> bytes:
    """Inside the caller's transaction."""
    found = digest_key(connection)
    if found is None:
        found = bytes.fromhex(token_hex(32))
        meta.write_note(connection, meta.SECRETS, found.hex())
    return found


def unread(connection: sqlite3.Connection, version: int, sessions: Collection[int]) -> list[Unread]:
    """What of the files of some sessions was not looked through by this version, the newest first."""
    rows = connection.execute(
        f"""SELECT file.id, session, kind, file.generation,
                   CASE WHEN secret_scan.version = ? AND secret_scan.generation = file.generation THEN done ELSE 0 END,
                   CASE kind WHEN 'tool_result' THEN taken WHEN 'capture' THEN taken ELSE indexed END
            FROM file LEFT JOIN secret_scan ON secret_scan.file = file.id
            WHERE session IN ({integers(sessions)}) AND kind IN {_READ} ORDER BY mtime_ns DESC""",  # noqa: S608
        (version,),
    )
    return [each for row in rows if (each := Unread(*row)).start < each.end]


def keep_secrets(connection: sqlite3.Connection, part: Unread, version: int, rows: Iterable[SecretRow]) -> None:
    """What was found in the rest of a file; inside the caller's transaction."""
    if part.start == 0:
        connection.execute("DELETE FROM secret WHERE file = ?", (part.file,))
    connection.executemany("INSERT INTO secret VALUES (?, ?, ?, ?, ?, ?, ?)", [(part.file, *row) for row in rows])
    connection.execute(
        "INSERT OR REPLACE INTO secret_scan VALUES (?, ?, ?, ?)", (part.file, part.generation, part.end, version)
    )


def kept_secrets(connection: sqlite3.Connection, sessions: Collection[int]) -> list[KeptSecret]:
    """Everything that is known of some sessions."""
    rows = connection.execute(
        f"""SELECT session, secret.file, offset, secret.kind, digest, uuid, field, time
            FROM secret JOIN file ON file.id = secret.file WHERE session IN ({integers(sessions)})"""  # noqa: S608
    )
    return [KeptSecret(row[0], row[1], SecretRow(*row[2:])) for row in rows]
