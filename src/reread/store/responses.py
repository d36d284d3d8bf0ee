"""Single responses out of the ledger: how each is counted, which files tell of it, and which answer to a name."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import NamedTuple

from reread.billing.response import ADVISOR, Response
from reread.billing.settle import nearness

from .ledger import TOLD
from .paths import as_path, stored_path

_BEHIND_ALL = "\U0010ffff"
_GATEWAYS = "key NOT GLOB 'msg_*' AND"
_WHOLE = f"instr(key, '{ADVISOR}') = 0"


class TellingFile(NamedTuple):
    """A file that tells of a response."""

    file: int
    copy: Response
    path: str
    kind: str
    agent: str | None
    session: str | None


_OF_FILES = {
    "file": "counts.key",
    "head": "lower(hex(owner.head))",
    "owner": "owner.key",
    "began": "owner.first_request",
    "ended": "owner.last_request",
}
_OF_CIRCUMSTANCE = {name: f"how.{name}" for name in ("model", "speed", "geo", "tier")}
_ELSEWHERE = _OF_FILES | _OF_CIRCUMSTANCE | {"request_id": "NULL"}
_COLUMNS = ", ".join(_ELSEWHERE.get(name, f"response.{name}") for name in Response.__struct_fields__)
_COUNTED = f"""SELECT {_COLUMNS} FROM response
    JOIN circumstance AS how ON how.id = response.circumstance
    JOIN file AS counts ON counts.id = response.winner JOIN file AS owner ON owner.id = response.home"""  # noqa: S608


def parts_of(connection: sqlite3.Connection, key: str) -> list[Response]:
    """A response and the advisors it asked, in the order of their numbers."""
    first, behind = key + ADVISOR, key + ADVISOR + _BEHIND_ALL
    own = connection.execute(f"{_COUNTED} WHERE response.key = ?", (key,))
    found = [Response(*row) for row in own]
    asked = connection.execute(f"{_COUNTED} WHERE response.key > ? AND response.key < ?", (first, behind))
    return found + sorted((Response(*row) for row in asked), key=lambda each: int(each.key.rpartition(":")[2]))


def telling_files(connection: sqlite3.Connection, key: str) -> list[TellingFile]:
    """The nearest first: the order in which a tie is decided, the owner before all others."""
    about = "file.id, file.path, file.kind, file.agent, session.uuid"
    rows = connection.execute(
        f"""SELECT {about}, {TOLD.removeprefix("SELECT ")} LEFT JOIN session ON session.id = file.session
            WHERE request.key = ?""",
        (key,),
    )
    found = [
        TellingFile(file, Response(*copy), as_path(path), kind, agent, None if session is None else as_path(session))
        for file, path, kind, agent, session, *copy in rows
    ]
    return sorted(found, key=lambda each: nearness(each.copy))


def counted_in(connection: sqlite3.Connection, files: Collection[int]) -> list[Response]:
    """What some files own, in the order of time."""
    rows = connection.execute(f"{_COUNTED} WHERE home IN ({_integers(files)}) ORDER BY response.time, response.key")
    return [Response(*row) for row in rows]


def counted_elsewhere(connection: sqlite3.Connection, files: Collection[int]) -> list[Response]:
    """What some files tell of, while others own it."""
    numbers = _integers(files)
    rows = connection.execute(
        f"""{_COUNTED} WHERE home NOT IN ({numbers})
            AND response.key IN (SELECT key FROM request WHERE file IN ({numbers}) AND is_shared)
            ORDER BY response.time, response.key"""  # noqa: S608  integers
    )
    return [Response(*row) for row in rows]


def _integers(values: Collection[int]) -> str:
    return ", ".join(str(int(value)) for value in values)


def called(connection: sqlite3.Connection, name: str) -> list[str]:
    """Keys of the responses with exactly this name: a key, a request id, the id of a line, an id a gateway repeats."""
    for condition in ("key = ?", f"request_id = ? AND {_WHOLE}", f"{_GATEWAYS} instr(key, ' ' || ? || ' ') > 0"):
        found = _keys(connection, condition, (name,))
        if found:
            return found
    return _keys(connection, "key = 'uuid ' || ?", (name,))


def beginning_with(connection: sqlite3.Connection, start: str) -> list[str]:
    """Keys of the responses whose own id, or else whose request id, begins so."""
    bounds = (start, start + _BEHIND_ALL)
    found = _keys(connection, f"key >= ? AND key < ? AND {_WHOLE}", bounds)
    return found or _keys(connection, f"request_id >= ? AND request_id < ? AND {_WHOLE}", bounds)


def _keys(connection: sqlite3.Connection, condition: str, values: tuple[str, ...]) -> list[str]:
    rows = connection.execute(f"SELECT key, min(time) FROM request WHERE {condition} GROUP BY key ORDER BY 2", values)  # noqa: S608  our own text
    return [key for key, _ in rows]


def session_of_file(connection: sqlite3.Connection, path: str) -> int | None:
    """The session a file belongs to; None where no such file is kept."""
    row = connection.execute("SELECT session FROM file WHERE path = ?", (stored_path(path),)).fetchone()
    return None if row is None else row[0]


def sessions_of_files(connection: sqlite3.Connection) -> dict[str, str]:
    """The session every file belongs to, by the file's key."""
    rows = connection.execute("SELECT file.key, session.uuid FROM file JOIN session ON session.id = file.session")
    return {key: as_path(uuid) for key, uuid in rows}
