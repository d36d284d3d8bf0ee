"""What was found in sessions: moments of friction, and the places of secrets. Stores, reads and deletes these rows."""

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
from reread.features import friction  # lazy: its names are imported on use, and writing rows needs none of them
from reread.rows.model import MomentRow, TypedPrompt
from reread.safe.pieces import decompress, decompress_if_whole
from reread.times import is_moment, moment

from . import meta
from .rows import FrictionBatch
from .sessions import SessionOutline, integers

PROMPTED = "<qI"
"""Time and CRC-32 of a prompt."""
_PROMPTS = struct.Struct(PROMPTED)
NO_TIME = -(1 << 62)
_COLUMNS = MomentRow.__struct_fields__
_NAMES = ", ".join(_COLUMNS)
_TABLES = ("friction", "session_end", "instruction_change", "friction_waits")
_INSERT = f"INSERT INTO friction (session, {_NAMES}) VALUES (?{', ?' * len(_COLUMNS)})"  # noqa: S608  our own names


def packed_prompts(prompts: Iterable[TypedPrompt]) -> bytes:
    return b"".join(_PROMPTS.pack(NO_TIME if each.time is None else each.time, each.mark) for each in prompts)


def replace_friction(connection: sqlite3.Connection, session: int, batch: FrictionBatch) -> None:
    """Replaces what was found in a session; call it inside a transaction."""
    drop_friction(connection, session)
    connection.executemany(_INSERT, [(session, *msgspec.structs.astuple(row)) for row in batch.moments])
    connection.execute(
        "INSERT INTO session_end VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (session, *batch.outcome, batch.prompted, batch.material),
    )
    connection.executemany(
        "INSERT INTO instruction_change VALUES (?, ?, ?, ?)", [(session, *change) for change in batch.changes]
    )


def drop_friction(connection: sqlite3.Connection, session: int) -> None:
    for table in _TABLES:
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (session,))  # noqa: S608  our own names


def forget_friction(connection: sqlite3.Connection, session: int) -> None:
    """Deletes a session's friction and a person's labels of it; call it inside the transaction that forgets it."""
    connection.execute("DELETE FROM moment_verdict WHERE session = (SELECT uuid FROM session WHERE id = ?)", (session,))
    drop_friction(connection, session)


def moments(connection: sqlite3.Connection, sessions: Mapping[int, str]) -> Iterator[tuple[int, friction.Moment]]:
    """The moments of some sessions, given as names by number; each moment with the number of its session."""
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
    """Updates what moments cost after responses were priced again; `before` is what each session cost until then.

    Responses of agents known only from progress lines are not stored: the cost of their moments changes in proportion
    to that of the session.
    """
    rows = connection.execute(
        """SELECT friction.rowid, friction.session, agent, spent_first, spent_last, tokens, friction.nanodollars,
                  session.nanodollars
           FROM friction JOIN session ON session.id = friction.session WHERE friction.tokens > 0"""
    ).fetchall()
    changed: list[tuple[int | None, int]] = []
    for row, session, agent, first, last, tokens, money, of_session in rows:
        spent = None if first is None else _spent(connection, session, agent, (first, last), tokens)
        old = before.get(session)
        new = spent.nanodollars if spent is not None else money
        if spent is None and money and old:
            new = round(money * (of_session or 0) / old)
        if new != money:
            changed.append((new, row))
    connection.executemany("UPDATE friction SET nanodollars = ? WHERE rowid = ?", changed)


class _Spent(NamedTuple):
    nanodollars: int | None
    """None if one of the responses has no price."""


def _spent(
    connection: sqlite3.Connection, session: int, agent: str | None, span: tuple[int, int], tokens: int
) -> _Spent | None:
    """The cost of the responses in a span, if they have exactly so many tokens.

    Tried in turn are the agent's own file, then in the session's other files only the lines of agents (for an agent) or
    only the others, then all of these lines. None if the tokens never match.
    """
    files = connection.execute("SELECT id, agent, kind FROM file WHERE session = ?", (session,)).fetchall()
    own = [number for number, name, kind in files if kind == "subagent" and name == agent and agent is not None]
    others = [number for number, _, kind in files if kind != "subagent"]
    for numbers, side in ((own, ""), (others, f"AND is_sidechain = {int(agent is not None)}"), (others, "")):
        counted, money, unpriced = connection.execute(
            f"""SELECT sum(input + output + cache_read + cache_write_5m + cache_write_1h), ifnull(sum(nanodollars), 0),
                    sum(nanodollars IS NULL AND input + output + cache_read + cache_write_5m + cache_write_1h > 0)
                FROM request WHERE file IN ({integers(numbers)}) AND time BETWEEN ? AND ? {side}""",  # noqa: S608
            span,
        ).fetchone()
        if counted == tokens:
            return _Spent(None if unpriced else money)
    return None


class SessionEnding(NamedTuple):
    """How a session ended."""

    last_test: str | None
    commits: int
    pull_requests: int
    ended: str


def prompts_of(connection: sqlite3.Connection, sessions: Collection[int]) -> dict[int, bytes]:
    """The packed prompts of some sessions, for `prompts_in`."""
    rows = connection.execute(f"SELECT session, prompted FROM session_end WHERE {_of(sessions)}")  # noqa: S608  integers
    return dict(rows.fetchall())


def prompts_in(packed: bytes) -> Iterator[tuple[Any, ...]]:
    """For every prompt its time in milliseconds, or `NO_TIME`, and the CRC-32 of its text."""
    return _PROMPTS.iter_unpack(packed)


def endings_of(connection: sqlite3.Connection, sessions: Collection[int]) -> Counter[SessionEnding]:
    """How some sessions ended, and how many in each way."""
    rows = connection.execute(
        "SELECT session, last_test, commits, pull_requests, ended FROM session_end"  # noqa: S608  integers
        f" WHERE {_of(sessions)}"
    )
    found = Counter(
        (test, commits, requests, how) for number, test, commits, requests, how in rows if number in sessions
    )
    return Counter({SessionEnding(*each): count for each, count in found.items()})


def _in_order(connection: sqlite3.Connection, columns: str, sessions: Iterable[int]) -> Iterator[tuple[Any, ...]]:
    """Number and columns of some sessions in the given order, a few hundred held at a time."""
    numbers = iter(sessions)
    while some := list(islice(numbers, _AT_ONCE)):
        rows = connection.execute(
            f"SELECT session, {columns} FROM session_end WHERE session IN ({integers(some)})"  # noqa: S608  our own names
        )
        found = {row[0]: row for row in rows}
        yield from filter(None, map(found.get, some))


_AT_ONCE = 500
_FEW = 5_000
"""Up to this many sessions are named in a query; for more, it is faster to read all rows."""


def _of(sessions: Collection[int]) -> str:
    return f"session IN ({integers(sessions)})" if len(sessions) <= _FEW else "1"


def materials(
    connection: sqlite3.Connection, sessions: Mapping[int, SessionOutline]
) -> Iterator[tuple[int, friction.Material]]:
    """The material that patterns are found from, by session and in their order."""
    decode = msgpack_decoder(friction.Material).decode
    for number, packed in _in_order(connection, "material", sessions):
        yield number, _named(decode(decompress(packed)), sessions[number])


def _named(material: friction.Material, session: SessionOutline) -> friction.Material:
    """Sets the session's present name and project, in place: the value was just made and nothing else refers to it."""
    force_setattr(material, "session", session.uuid)
    force_setattr(material, "project", session.project)
    return material


def is_material(packed: object) -> bool:
    """Whether the material in a row of a damaged index can still be read."""
    raw = decompress_if_whole(packed) if isinstance(packed, bytes) else None
    try:
        return raw is not None and isinstance(msgpack_decoder(friction.Material).decode(raw), friction.Material)
    except msgspec.MsgspecError:
        return False


def are_prompts(packed: object) -> bool:
    """Whether the packed prompts in a row of a damaged index can still be read."""
    if not isinstance(packed, bytes) or len(packed) % struct.calcsize(PROMPTED):
        return False
    return all(time == NO_TIME or is_moment(time) for time, _ in struct.iter_unpack(PROMPTED, packed))


class InstructionChange(NamedTuple):
    session: int
    path: str
    uuid: str | None
    time: int


def instruction_changes(connection: sqlite3.Connection, sessions: Collection[int]) -> list[InstructionChange]:
    """Changes of instruction files with a time, in order; one that a fork repeats comes once."""
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
    """Uuid of the line, kind and session of the moments whose uuid begins with this text."""
    return connection.execute(
        """SELECT DISTINCT friction.uuid, kind, session.uuid FROM friction JOIN session ON session.id = friction.session
           WHERE friction.uuid >= ? AND friction.uuid < ? ORDER BY 1, 2, session.started, session.id""",
        (uuid, f"{uuid}\U0010ffff"),
    ).fetchall()


_READ = "('transcript', 'subagent', 'tool_result', 'capture')"
"""Kinds of files with what was said in sessions; all other kinds hold data of the client's own."""


class SecretRow(NamedTuple):
    """One line with one secret."""

    offset: int
    kind: str
    digest: bytes
    uuid: str | None
    field: str
    time: int | None


class Unread(NamedTuple):
    """The part of a file that was not searched for secrets yet."""

    file: int
    session: int
    kind: str
    generation: int
    start: int
    """Where to go on; 0 for a file that is new, or was searched by another version."""
    end: int


class KeptSecret(NamedTuple):
    session: int
    file: int
    row: SecretRow


def digest_key(connection: sqlite3.Connection) -> bytes | None:
    """The archive's key for digests of secrets; None if it has none yet."""
    found = meta.read_note(connection, meta.SECRETS)
    return bytes.fromhex(found) if found is not None else None


def make_digest_key(connection: sqlite3.Connection) -> bytes:
    """The archive's key, made if it has none yet; call it inside a transaction."""
    found = digest_key(connection)
    if found is None:
        found = os.urandom(32)
        meta.write_note(connection, meta.SECRETS, found.hex())
    return found


def unread(connection: sqlite3.Connection, version: int, sessions: Collection[int]) -> list[Unread]:
    """The parts of some sessions' files that this version has not searched yet, the newest file first."""
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
    """Stores the secrets found in the rest of a file; call it inside a transaction."""
    if part.start == 0:
        connection.execute("DELETE FROM secret WHERE file = ?", (part.file,))
    connection.executemany("INSERT INTO secret VALUES (?, ?, ?, ?, ?, ?, ?)", [(part.file, *row) for row in rows])
    connection.execute(
        "INSERT OR REPLACE INTO secret_scan VALUES (?, ?, ?, ?)", (part.file, part.generation, part.end, version)
    )


def last_seen_secrets(connection: sqlite3.Connection) -> list[tuple[str, int | None]]:
    """Every secret found so far, by its digest in hexadecimal, and when it was last seen."""
    return connection.execute("SELECT lower(hex(digest)), max(time) FROM secret GROUP BY digest").fetchall()


def has_secret(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a secret with this digest, in hexadecimal, is known."""
    return connection.execute("SELECT 1 FROM secret WHERE lower(hex(digest)) = ?", (name,)).fetchone() is not None


def kept_secrets(connection: sqlite3.Connection, sessions: Collection[int]) -> list[KeptSecret]:
    """All secrets found in some sessions."""
    rows = connection.execute(
        f"""SELECT session, secret.file, offset, secret.kind, digest, uuid, field, time
            FROM secret JOIN file ON file.id = secret.file WHERE session IN ({integers(sessions)})"""  # noqa: S608
    )
    return [KeptSecret(row[0], row[1], SecretRow(*row[2:])) for row in rows]
