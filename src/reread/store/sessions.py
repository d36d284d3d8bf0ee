"""Sessions as the archive lists them.

A list is asked for often, so nothing is imported here that takes long, and annotations are not postponed: a named
tuple compiles the text of each, 2 ms for these.
"""

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from reread.billing.money import in_dollars
from reread.marks import NO_MARK, Mark
from reread.times import moment

from .marks import marks
from .paths import as_path

if TYPE_CHECKING:
    from decimal import Decimal


class SessionRow(NamedTuple):
    uuid: str
    folder: str
    project: str | None
    title: str
    started: int | None
    ended: int | None
    versions: list[str]
    models: list[str]
    git_branches: list[str]
    prompts: int
    turns: int
    requests: int
    tool_calls: int
    tool_errors: int
    thoughts: int
    output_tokens: int
    nanodollars: int | None
    unpriced_tokens: int
    subagents: int
    branches: int
    compactions: int
    bytes: int


class StoredSession(NamedTuple):
    """A session as the archive lists it."""

    id: int
    row: SessionRow
    files: list[str]
    present: bool
    """Whether the source of its own lines still exists; a session that was only captured needs none."""
    mtime_ns: int | None
    """Of that source, as last seen: the client's clean-up goes by it."""
    mark: Mark = NO_MARK
    """What a person noted on it; a title of theirs is already that of the row."""
    sign: str = ""
    """Of the place it lies in."""
    has_copies: bool = False
    """Whether other places have a session of this id: a folder that was copied, or two machines."""

    @property
    def name(self) -> str:
        """Its id; with the sign of its place where the id alone could mean a copy."""
        return f"{self.row.uuid}~{self.sign}" if self.has_copies else self.row.uuid

    @property
    def started(self) -> datetime | None:
        return moment(self.row.started)

    @property
    def ended(self) -> datetime | None:
        return moment(self.row.ended)

    @property
    def cost(self) -> "Decimal | None":
        """Dollars, with its subagents; None when nothing has a price."""
        return in_dollars(self.row.nanodollars)


_PRESENT = """(
    EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'transcript' AND file.present)
    OR EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'capture')
       AND NOT EXISTS (SELECT 1 FROM file WHERE file.session = session.id AND file.kind = 'transcript')
)"""
_SESSION = ", ".join(f"session.{name}" for name in SessionRow._fields)


def sessions(
    connection: sqlite3.Connection,
    *,
    ids: Sequence[int] | None = None,
    limit: int | None = None,
    without_hidden: bool = False,
) -> list[StoredSession]:
    """Sessions, the one that ended last first: all, some by id, or only the newest."""
    chosen = "1" if ids is None else f"id IN ({integers(ids)})"
    if without_hidden:
        chosen += " AND uuid NOT IN (SELECT session FROM mark WHERE hidden)"
    rows = connection.execute(
        f"""SELECT session.id, {_SESSION}, session.present, session.machine,
                   max(CASE WHEN file.kind = 'transcript' THEN file.mtime_ns END),
                   group_concat(
                       CASE typeof(file.path) WHEN 'blob' THEN char(1) || hex(file.path) ELSE file.path END, char(0)
                   )
            FROM (SELECT *, {_PRESENT} AS present FROM session WHERE {chosen}
                  ORDER BY ended DESC, present DESC, id LIMIT ?) AS session LEFT JOIN file ON file.session = session.id
            GROUP BY session.id
            ORDER BY session.ended DESC, session.present DESC, session.id""",  # noqa: S608  integers and our own names
        (limit if limit is not None else -1,),
    ).fetchall()
    noted = marks(connection, [row[1] for row in rows])
    names = first_names(connection)
    copied = {uuid for (uuid,) in connection.execute("SELECT uuid FROM session GROUP BY uuid HAVING count(*) > 1")}
    return [_session(row, noted, names, has_copies=row[1] in copied) for row in rows]


def _session(row: Sequence[Any], noted: dict[str, Mark], names: dict[str, str], *, has_copies: bool) -> StoredSession:
    number, *columns, present, machine, mtime_ns, files = row
    values = dict(zip(SessionRow._fields, columns, strict=True))
    for name in ("versions", "models", "git_branches"):
        values[name] = list(_strings(values[name] or "[]"))
    for name in ("uuid", "folder"):
        values[name] = as_path(values[name])
    mark = noted.get(values["uuid"], NO_MARK)
    if mark.title is not None:
        values["title"] = mark.title
    return StoredSession(
        id=number,
        row=SessionRow(**values),
        files=sorted(map(_unhexed, files.split("\0"))) if files else [],
        present=bool(present),
        mtime_ns=mtime_ns,
        mark=mark,
        sign=_sign(names.get(machine, machine), values["folder"]),
        has_copies=has_copies,
    )


def first_names(connection: sqlite3.Connection) -> dict[str, str]:
    """By id, the name that machines had before they had one: signs that were noted then still lead to their copy."""
    rows = connection.execute("SELECT id, names FROM machine WHERE names <> '[]'")
    return {number: _strings(names)[0] for number, names in rows}


def _sign(machine: str, folder: str) -> str:
    """Short, and the same whenever the archive is made anew."""
    return f"{crc32(os.fsencode(f'{machine}:{folder}')) & 0xFFFFFF:06x}"


@lru_cache(maxsize=1 << 10)  # thousands of sessions share a few versions, models and branches
def _strings(array: str) -> list[str]:
    found: list[str] = json.loads(array)
    return found


def _unhexed(path: str) -> str:
    """Names that are no UTF-8 cannot be joined as text: they come as hexadecimal, behind what begins no full path."""
    return os.fsdecode(bytes.fromhex(path[1:])) if path.startswith("\1") else path


def names_by_id(connection: sqlite3.Connection) -> dict[int, str]:
    return {number: as_path(uuid) for number, uuid in connection.execute("SELECT id, uuid FROM session")}


def calls_of(connection: sqlite3.Connection, session: int) -> list[tuple[str, str | None]]:
    """Name and file of every call of a session, its agents included."""
    return list(
        connection.execute(
            """SELECT name, tool_call.path FROM file JOIN tool_call ON tool_call.file = file.id
               WHERE file.session = ?""",
            (session,),
        )
    )


def integers(values: Iterable[int]) -> str:
    return ", ".join(str(int(value)) for value in values)
