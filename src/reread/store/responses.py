"""Single responses out of the ledger: how each is counted, which files tell of it, and which answer to a name."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import NamedTuple

from reread.billing import Rated

from .ledger import ADVISOR
from .paths import as_path, stored_path

_BEHIND_ALL = "\U0010ffff"
_GATEWAYS = "key NOT GLOB 'msg_*' AND"
_WHOLE = f"instr(key, '{ADVISOR}') = 0"


class Counted(NamedTuple):
    """A response, or an advisor's call inside one, as it is counted."""

    key: str
    home: int
    winner: int
    time: int | None
    input: int
    output: int
    cache_read: int
    cache_write_5m: int
    cache_write_1h: int
    web_searches: int
    is_sidechain: bool
    is_abandoned: bool
    doubt: int
    nanodollars: int | None
    recorded: int | None
    model: str | None
    speed: str | None
    geo: str | None
    tier: str | None
    version: str | None
    stop_reason: str | None
    agent: str | None
    project: str | None
    git_branch: str | None

    @property
    def response(self) -> str:
        """The key of the response it is, or is a part of."""
        return self.key.partition(ADVISOR)[0]

    @property
    def rated(self) -> Rated:
        names = Rated.__struct_fields__
        return Rated(**{name: getattr(self, name) for name in names})


class TellingFile(NamedTuple):
    """A file that tells of a response, in the order in which files were first seen."""

    file: int
    time: int | None
    output: int
    is_sidechain: bool
    path: str
    kind: str
    agent: str | None
    session: str | None


_OF_WINNER = ("model", "speed", "geo", "tier", "version", "stop_reason")
_OF_HOME = ("agent", "project", "git_branch")
_COLUMNS = ", ".join(
    f"how.{name}" if name in _OF_WINNER else f"place_of.{name}" if name in _OF_HOME else f"response.{name}"
    for name in Counted._fields
)
_COUNTED = f"""SELECT {_COLUMNS} FROM response
    JOIN circumstance AS how ON how.id = response.circumstance
    JOIN circumstance AS place_of ON place_of.id = response.place"""  # noqa: S608  our own names


def parts_of(connection: sqlite3.Connection, key: str) -> list[Counted]:
    """A response and the advisors it asked, in the order of their numbers."""
    first, behind = key + ADVISOR, key + ADVISOR + _BEHIND_ALL
    own = connection.execute(f"{_COUNTED} WHERE key = ?", (key,))
    found = [Counted(*row) for row in own]
    asked = connection.execute(f"{_COUNTED} WHERE key > ? AND key < ?", (first, behind))
    return found + sorted((Counted(*row) for row in asked), key=lambda each: int(each.key.rpartition(":")[2]))


def telling_files(connection: sqlite3.Connection, key: str) -> list[TellingFile]:
    rows = connection.execute(
        """SELECT request.file, request.time, request.output, request.is_sidechain, file.path, file.kind, file.agent,
                  session.uuid
           FROM request JOIN file ON file.id = request.file LEFT JOIN session ON session.id = file.session
           WHERE request.key = ? ORDER BY request.file""",
        (key,),
    )
    found = [TellingFile(*row) for row in rows]
    return [
        each._replace(path=as_path(each.path), session=None if each.session is None else as_path(each.session))
        for each in found
    ]


def counted_in(connection: sqlite3.Connection, files: Collection[int]) -> list[Counted]:
    """What is at home in some files, in the order of time."""
    rows = connection.execute(f"{_COUNTED} WHERE home IN ({_integers(files)}) ORDER BY response.time, key")
    return [Counted(*row) for row in rows]


def counted_elsewhere(connection: sqlite3.Connection, files: Collection[int]) -> list[Counted]:
    """What some files tell of, while it is at home in others."""
    numbers = _integers(files)
    rows = connection.execute(
        f"""{_COUNTED} WHERE home NOT IN ({numbers})
            AND key IN (SELECT key FROM request WHERE file IN ({numbers}) AND is_shared)
            ORDER BY response.time, key"""  # noqa: S608  integers
    )
    return [Counted(*row) for row in rows]


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
