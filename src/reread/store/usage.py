"""Questions to the ledger: responses added up by where they belong."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .machines import machines
from .paths import as_path
from .rows import Circumstance
from .sessions import SessionFilter
from .usage_cells import IN_QUARTER, PARTS, SUMS

Dimension = Literal["quarter", "home", "all"]
_DIMENSIONS: dict[Dimension, str] = {"quarter": IN_QUARTER, "home": "home", "all": "0"}


def circumstances(connection: sqlite3.Connection) -> dict[int, Circumstance]:
    names = Circumstance.__struct_fields__
    rows = connection.execute(f"SELECT id, {', '.join(names)} FROM circumstance")  # noqa: S608  our own names
    return {number: _circumstance(dict(zip(names, values, strict=True))) for number, *values in rows}


def _circumstance(values: dict[str, Any]) -> Circumstance:
    values["tools"] = tuple(msgspec.json.decode(values["tools"] or "[]"))
    return Circumstance(**values)


class Choice(Struct, frozen=True, kw_only=True):
    """Which responses are asked for.

    `where` and `how` name the circumstances that may be a response's place and its own, `homes` the files it may
    belong to; times are milliseconds.
    """

    where: Collection[int] | None = None
    how: Collection[int] | None = None
    homes: Collection[int] | None = None
    since: int | None = None
    until: int | None = None

    @property
    def condition(self) -> str:
        """As SQL over `response`; integers only."""
        conditions = [
            None if self.where is None else f"place IN ({_integers(self.where)})",
            None if self.how is None else f"circumstance IN ({_integers(self.how)})",
            None if self.homes is None else f"home IN ({_integers(self.homes)})",
            None if self.since is None else f"time >= {self.since:d}",
            None if self.until is None else f"time < {self.until:d}",
        ]
        return " AND ".join(condition for condition in conditions if condition) or "1"


def grouped(
    connection: sqlite3.Connection, dimension: Dimension, choice: Choice, *, is_recorded: bool = False
) -> Iterator[tuple[Any, ...]]:
    """Rows of dimension, circumstance, place, is_sidechain, is_abandoned and the columns of `SUMS`.

    By quarter or home only the model matters of a circumstance, which then stands for all with that model. Money is
    what the client wrote into the line instead of what prices make of it when `is_recorded`.
    """
    sums = SUMS.replace("nanodollars", "recorded") if is_recorded else SUMS
    alike = "circumstance, place" if dimension == "all" else "how.model"
    for part in PARTS:
        yield from connection.execute(
            f"""SELECT {_DIMENSIONS[dimension]}, min(circumstance), min(place), is_sidechain, is_abandoned, {sums}
                FROM {part} AS response JOIN circumstance AS how ON how.id = response.circumstance
                WHERE {choice.condition} GROUP BY 1, {alike}, is_sidechain, is_abandoned"""  # noqa: S608  our own names
        )


def spent_by_project(
    connection: sqlite3.Connection, wanted: SessionFilter
) -> Iterator[tuple[str | None, tuple[Any, ...]]]:
    """Project and the columns of `SUMS` of what the sessions that pass used; a project may come several times.

    What copies of a session used belongs to the project of the copy that went on last.
    """
    condition, values = wanted.condition(connection)
    copies = "SELECT uuid FROM session GROUP BY uuid HAVING count(*) > 1"
    copied = f"uuid IN ({copies})" if connection.execute(f"{copies} LIMIT 1").fetchone() is not None else ""
    is_alone = f"AND NOT {copied}" if copied else ""
    alone = f"SELECT id, project FROM session WHERE {condition} {is_alone}"  # noqa: S608  our own text
    together = f"""SELECT copy.id, newest.project FROM session AS copy JOIN (
            SELECT uuid, project, max(ended) FROM session WHERE {condition} AND {copied} GROUP BY uuid
        ) AS newest ON newest.uuid = copy.uuid"""  # noqa: S608
    for part in PARTS:
        for chosen in (alone, together) if copied else (alone,):
            rows = connection.execute(
                f"""SELECT place.project, {SUMS} FROM {part} AS response JOIN (
                        SELECT file.id AS file, whose.project AS project
                        FROM ({chosen}) AS whose JOIN file ON file.session = whose.id
                    ) AS place ON place.file = response.home GROUP BY 1""",  # noqa: S608
                values,
            )
            for project, *sums in rows:
                yield None if project is None else as_path(project), tuple(sums)


def _integers(values: Collection[int]) -> str:
    return ", ".join(str(int(value)) for value in values)


def homes(connection: sqlite3.Connection) -> dict[int, tuple[str, bool]]:
    """Of every transcript: its session's id, and whether it is an agent's."""
    rows = connection.execute(
        "SELECT file.id, session.uuid, file.kind = 'subagent' FROM file JOIN session ON session.id = file.session"
    )
    return {file: (as_path(uuid), bool(is_agent)) for file, uuid, is_agent in rows}


def machine_labels(connection: sqlite3.Connection) -> dict[int, str]:
    """Of every file: what the machine is called that it was taken from; its id where another has the same label."""
    known = machines(connection)
    called = Counter(each.label for each in known)
    names = {each.id: each.label if called[each.label] == 1 else f"{each.label} ({each.id[:8]})" for each in known}
    return {file: names.get(machine, machine) for file, machine in connection.execute("SELECT id, machine FROM file")}


def titles(connection: sqlite3.Connection) -> dict[str, tuple[str | None, str | None]]:
    """Title and project of every session."""
    rows = connection.execute(
        """SELECT uuid, ifnull(mark.title, session.title), project
           FROM session LEFT JOIN mark ON mark.session = session.uuid"""
    )
    return {as_path(uuid): (title, project) for uuid, title, project in rows}


def files_of_sessions(connection: sqlite3.Connection, sessions: Iterable[int]) -> list[int]:
    numbers = ", ".join(str(int(session)) for session in sessions)
    return [file for (file,) in connection.execute(f"SELECT id FROM file WHERE session IN ({numbers})")]  # noqa: S608


def own_money(connection: sqlite3.Connection) -> dict[str | bytes, int | None]:
    """Of every session by its id: nano-dollars of all responses in its files; of copies of a session the fullest."""
    return dict(connection.execute("SELECT uuid, max(nanodollars) FROM session GROUP BY uuid"))


def lines_read(connection: sqlite3.Connection) -> tuple[int, int]:
    """Lines of all transcripts, and how many of them are no JSON."""
    lines, malformed = connection.execute("SELECT sum(lines), sum(malformed) FROM file").fetchone()
    return lines or 0, malformed or 0
