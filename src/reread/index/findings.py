"""What was found in sessions: moments of friction, and where keys and passwords lie. Kept, read, gone with the file."""

from __future__ import annotations

import os
import sqlite3
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import force_setattr

from reread.decoders import msgpack_decoder
from reread.features import friction  # its names are fetched when used: a writer of rows needs none of them
from reread.safe.pieces import decompress, decompress_if_whole
from reread.times import is_moment, moment

from . import meta
from .rows import FrictionBatch, FrictionRow
from .sessions import integers

PROMPTED = "<qI"
"""Time and CRC-32 of a prompt."""
_PROMPTS = struct.Struct(PROMPTED)
NO_TIME = -(1 << 62)
_COLUMNS = FrictionRow.__struct_fields__
_NAMES = ", ".join(_COLUMNS)
_TABLES = ("friction", "outcome", "instruction_change", "friction_waits")
_INSERT = f"INSERT INTO friction (session, {_NAMES}) VALUES (?{', ?' * len(_COLUMNS)})"  # noqa: S608  our own names


def replace_friction(connection: sqlite3.Connection, session: int, batch: FrictionBatch) -> None:
    """What a session shows now, in place of what it showed before; inside the caller's transaction."""
    drop_friction(connection, session)
    connection.executemany(_INSERT, [(session, *msgspec.structs.astuple(row)) for row in batch.moments])
    connection.execute(
        "INSERT INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (session, *batch.outcome, batch.prompted, batch.material),
    )
    connection.executemany(
        "INSERT INTO instruction_change VALUES (?, ?, ?, ?)", [(session, *change) for change in batch.changes]
    )


def drop_friction(connection: sqlite3.Connection, session: int) -> None:
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))  # noqa: S608  our own names


def forget_friction(connection: sqlite3.Connection, session: int) -> None:
    """All of it, and what a person said about it; inside the transaction that forgets the session."""
    connection.execute("DELETE FROM label WHERE session = (SELECT uuid FROM session WHERE id = ?)", (session,))
    drop_friction(connection, session)


def moments(connection: sqlite3.Connection, sessions: Mapping[int, str]) -> Iterator[tuple[int, friction.Moment]]:
    """The moments of some sessions, given by their numbers and names; each with the number of its session."""
    details_of = msgspec.json.Decoder(dict[str, Any]).decode
    rows = connection.execute(
        f"SELECT session, {_NAMES} FROM friction WHERE {_of(sessions)} ORDER BY rowid"  # noqa: S608
    )
    for session, uuid, agent, kind, time, evidence, confidence, cause, about, *loss, details, first, last in rows:
        if session not in sessions:
            continue
        event = friction.Moment(
            kind=friction.FrictionKind(kind),
            session=sessions[session],
            uuid=uuid,
            time=moment(time),
            evidence=evidence,
            confidence=confidence,
            cause=friction.Cause(cause),
            about=about,
            loss=friction.Loss(
                seconds=loss[0], tokens=loss[1], nanodollars=loss[2], span=None if first is None else (first, last)
            ),
            agent=agent,
            details=details_of(details),
        )
        yield session, event


def reprice_moments(connection: sqlite3.Connection, before: Mapping[int, int | None]) -> None:
    """What moments cost, after responses were priced again; `before` is what each session had cost by then.

    A moment that an earlier version found does not tell which responses it is about, and those of an agent that only
    progress lines tell of are not kept: such a cost changes as that of its session did.
    """
    rows = connection.execute(
        """SELECT friction.rowid, friction.session, agent, spent_first, spent_last, tokens, friction.nanodollars,
                  session.nanodollars
           FROM friction JOIN session ON session.id = friction.session WHERE friction.tokens > 0"""
    ).fetchall()
    changed: list[tuple[int, int]] = []
    for row, session, agent, first, last, tokens, money, of_session in rows:
        new = None if first is None else _spent(connection, session, agent, (first, last), tokens)
        old = before.get(session)
        if new is None and money and old:
            new = round(money * (of_session or 0) / old)
        if new is not None and new != money:
            changed.append((new, row))
    connection.executemany("UPDATE friction SET nanodollars = ? WHERE rowid = ?", changed)


def _spent(
    connection: sqlite3.Connection, session: int, agent: str | None, span: tuple[int, int], tokens: int
) -> int | None:
    """By the responses between two moments that have so many tokens: those of an agent's file, or of the conversation's
    with or without agents whose lines stand there, too; None where none of these are they."""
    files = connection.execute("SELECT id, agent, kind FROM file WHERE session = ?", (session,)).fetchall()
    own = [number for number, name, kind in files if kind == "subagent" and name == agent and agent is not None]
    others = [number for number, _, kind in files if kind != "subagent"]
    for numbers, side in ((own, ""), (others, f"AND is_sidechain = {int(agent is not None)}"), (others, "")):
        counted, money = connection.execute(
            f"""SELECT sum(input + output + cache_read + cache_write_5m + cache_write_1h), ifnull(sum(nanodollars), 0)
                FROM request WHERE file IN ({integers(numbers)}) AND time BETWEEN ? AND ? {side}""",  # noqa: S608
            span,
        ).fetchone()
        if counted == tokens:
            return int(money)
    return None


class SessionEnding(NamedTuple):
    """How a session ended."""

    last_test: str | None
    commits: int
    pull_requests: int
    ended: str


def prompts_of(connection: sqlite3.Connection, sessions: Collection[int]) -> dict[int, bytes]:
    """What `prompts_in` reads, of some sessions."""
    rows = connection.execute(f"SELECT session, prompted FROM outcome WHERE {_of(sessions)}")  # noqa: S608  integers
    return dict(rows.fetchall())


def prompts_in(packed: bytes) -> Iterator[tuple[Any, ...]]:
    """Of every prompt its time in milliseconds, or `NO_TIME`, and a number that tells it from others."""
    return _PROMPTS.iter_unpack(packed)


def endings_of(connection: sqlite3.Connection, sessions: Collection[int]) -> Counter[SessionEnding]:
    """How so many of some sessions ended."""
    rows = connection.execute(
        "SELECT session, last_test, commits, pull_requests, ended FROM outcome"  # noqa: S608  integers
        f" WHERE {_of(sessions)}"
    )
    found = Counter(
        (test, commits, requests, how) for number, test, commits, requests, how in rows if number in sessions
    )
    return Counter({SessionEnding(*each): count for each, count in found.items()})


def _in_order(connection: sqlite3.Connection, columns: str, sessions: Iterable[int]) -> Iterator[tuple[Any, ...]]:
    """Number and columns of some sessions, a few hundred held at a time."""
    numbers = iter(sessions)
    while some := list(islice(numbers, _AT_ONCE)):
        rows = connection.execute(
            f"SELECT session, {columns} FROM outcome WHERE session IN ({integers(some)})"  # noqa: S608  our own names
        )
        found = {row[0]: row for row in rows}
        yield from filter(None, map(found.get, some))


_AT_ONCE = 500
_FEW = 5_000
"""So many sessions are named to the database; of more, all rows are read, which is quicker than so many names."""


def _of(sessions: Collection[int]) -> str:
    return f"session IN ({integers(sessions)})" if len(sessions) <= _FEW else "1"


def materials(connection: sqlite3.Connection, sessions: Mapping[int, str]) -> Iterator[tuple[int, friction.Material]]:
    """What patterns are found from, by session and in their order."""
    decode = msgpack_decoder(friction.Material).decode
    for number, packed in _in_order(connection, "material", sessions):
        yield number, _named(decode(decompress(packed)), sessions[number])


def _named(material: friction.Material, session: str) -> friction.Material:
    """By what its session is called now; it was made a moment ago, and nobody else has it."""
    force_setattr(material, "session", session)
    return material


def is_material(packed: object) -> bool:
    """Whether a row of a damaged index can still be read as such."""
    raw = decompress_if_whole(packed) if isinstance(packed, bytes) else None
    try:
        return raw is not None and isinstance(msgpack_decoder(friction.Material).decode(raw), friction.Material)
    except msgspec.MsgspecError:
        return False


def are_prompts(packed: object) -> bool:
    """The same for the prompts of a row."""
    if not isinstance(packed, bytes) or len(packed) % struct.calcsize(PROMPTED):
        return False
    return all(time == NO_TIME or is_moment(time) for time, _ in struct.iter_unpack(PROMPTED, packed))


class InstructionChange(NamedTuple):
    session: int
    path: str
    uuid: str | None
    time: int


def instruction_changes(connection: sqlite3.Connection, sessions: Collection[int]) -> list[InstructionChange]:
    """Changes of instruction files with a time, in order; one that a fork repeats is told once."""
    rows = connection.execute(
        "SELECT session, path, uuid, time FROM instruction_change"  # noqa: S608  integers
        f" WHERE time IS NOT NULL AND {_of(sessions)} ORDER BY time, session"
    )
    return list(
        {
            (path, time): InstructionChange(session, path, uuid, time)
            for session, path, uuid, time in rows
            if session in sessions
        }.values()
    )


def homes_of(connection: sqlite3.Connection, uuid: str) -> list[tuple[str, str, str | bytes]]:
    """Line, kind and session of the moments whose line begins so."""
    return connection.execute(
        """SELECT DISTINCT friction.uuid, kind, session.uuid FROM friction JOIN session ON session.id = friction.session
           WHERE friction.uuid >= ? AND friction.uuid < ? ORDER BY 1, 2, session.started, session.id""",
        (uuid, f"{uuid}\U0010ffff"),
    ).fetchall()


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
        found = os.urandom(32)
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
