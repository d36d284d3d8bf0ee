"""Sums over the ledger: by quarter of an hour and model, by owner, of the cache, and of what has no price."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from reread import lazy
from reread.billing.sql import ADDED, NAMES, TOTAL, quarter_of, sum_columns
from reread.rows.model import RequestContext

from .database import transaction
from .meta import as_path, sought_path
from .sessions import SessionFilter

if TYPE_CHECKING:
    from . import machines
else:
    lazy.bind(globals())

QUARTER_MS = 900_000
NO_QUARTER = -1
"""The quarter of responses without a time, or with one before 1970, which must be wrong."""
IN_QUARTER = quarter_of()
"""The quarter of a response, equal to `ledger.quarter`."""
_MANY = 500
"""With more changed quarters than this it is faster to add up everything again: 0.2 s per 100,000 responses."""

PARTS = ("response_in_one_file", "response_in_several_files")
"""The two views of which `response` is the union. They are summed separately, because SQLite would make a table of
their union first."""
SUMS = sum_columns()
"""The columns of a cell after its key, over rows of `response`."""
_CELL = f"cell(quarter, model, {', '.join(NAMES)})"


def _added_up(condition: str = "1") -> str:
    """The cells of responses that meet a condition, as SQL."""
    parts = (
        f"""SELECT {IN_QUARTER}, ifnull(model, ''), {SUMS}
            FROM {part} AS response JOIN context ON context.id = response.context
            WHERE {condition} GROUP BY 1, 2"""  # noqa: S608  our own text
        for part in PARTS
    )
    return f"""WITH {_CELL} AS ({" UNION ALL ".join(parts)})
        SELECT quarter, model, {ADDED} FROM cell GROUP BY 1, 2"""  # noqa: S608  our own text


def cells(connection: sqlite3.Connection) -> Iterable[tuple[Any, ...]]:
    """Quarter, model and the columns of `SUMS`, in the order of time."""
    if is_fresh(connection):
        return connection.execute("SELECT * FROM usage_cell ORDER BY quarter, model")
    return connection.execute(f"{_added_up()} ORDER BY 1, 2")


def wrong_cells(connection: sqlite3.Connection) -> list[tuple[int, str]]:
    """Quarter and model of the stored sums that differ from the ledger's."""
    if not is_fresh(connection):  # stale sums are never read
        return []
    kept, added = "SELECT * FROM usage_cell", _added_up()
    return connection.execute(
        f"""SELECT DISTINCT quarter, model FROM (
                SELECT * FROM ({kept} EXCEPT SELECT * FROM ({added})) UNION ALL
                SELECT * FROM (SELECT * FROM ({added}) EXCEPT {kept})
            ) ORDER BY 1, 2"""  # noqa: S608  our own names
    ).fetchall()


Stretch = tuple[int, int, str | None]
"""The first quarter, the one after the last, and a name for them."""


def cells_by(connection: sqlite3.Connection, stretches: Sequence[Stretch], model: str) -> Iterable[tuple[Any, ...]]:
    """The stored sums, added up by stretch and model, of models whose names contain `model`."""
    return connection.execute(
        f"""WITH stretch(begins, ends, name) AS (
                SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]')
                FROM json_each(?)
            )
            SELECT name, model, {ADDED}
            FROM stretch CROSS JOIN usage_cell ON quarter >= begins AND quarter < ends
            WHERE instr(lower(model), ?) GROUP BY 1, 2""",  # noqa: S608  our own names
        (msgspec.json.encode(stretches).decode(), sought_path(model)),
    )


def quarters_used(connection: sqlite3.Connection) -> list[int]:
    """All quarters with responses, in the order of time."""
    source = "usage_cell" if is_fresh(connection) else f"({_added_up()})"
    return [number for (number,) in connection.execute(f"SELECT DISTINCT quarter FROM {source} ORDER BY 1")]  # noqa: S608


def days_used(connection: sqlite3.Connection) -> list[int]:
    """The days with responses by the stored sums, as numbers of days since 1970 in UTC."""
    rows = connection.execute("SELECT DISTINCT quarter / 96 FROM usage_cell WHERE quarter >= 0 ORDER BY 1")
    return [day for (day,) in rows]


def is_fresh(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM note WHERE name = 'usage_cells'").fetchone() is not None


def mark_stale(connection: sqlite3.Connection) -> None:
    """Call it inside the transaction that changes the ledger."""
    connection.execute("DELETE FROM note WHERE name = 'usage_cells'")


def refresh(connection: sqlite3.Connection, changed: Collection[int] | None) -> None:
    """Adds up the changed quarters again if the sums are stale; everything if `changed` is None."""
    if is_fresh(connection):
        return
    with transaction(connection):
        if changed is None or len(changed) > _MANY:
            connection.execute("DELETE FROM usage_cell")
            connection.execute(f"INSERT INTO usage_cell {_added_up()}")
        else:
            _refresh_some(connection, changed)
        connection.execute("INSERT INTO note VALUES ('usage_cells', 'as of the last sync')")


_IN_ONE_QUARTER = """time >= :start AND time < :start + 900000 AND owner IN (
    SELECT id FROM file WHERE last_request >= :start AND first_request < :start + 900000
)"""


def _refresh_some(connection: sqlite3.Connection, changed: Collection[int]) -> None:
    for quarter in changed:
        connection.execute("DELETE FROM usage_cell WHERE quarter = ?", (quarter,))
        inside = "(time IS NULL OR time < 0)" if quarter == NO_QUARTER else _IN_ONE_QUARTER
        connection.execute(f"INSERT INTO usage_cell {_added_up(inside)}", {"start": quarter * QUARTER_MS})


Dimension = Literal["quarter", "owner", "all"]
_DIMENSIONS: dict[Dimension, str] = {"quarter": IN_QUARTER, "owner": "owner", "all": "0"}


def contexts(connection: sqlite3.Connection) -> dict[int, RequestContext]:
    names = RequestContext.__struct_fields__
    rows = connection.execute(f"SELECT id, {', '.join(names)} FROM context")  # noqa: S608  our own names
    return {number: _context(dict(zip(names, values, strict=True))) for number, *values in rows}


def _context(values: dict[str, Any]) -> RequestContext:
    values["tools"] = tuple(msgspec.json.decode(values["tools"] or "[]"))
    return RequestContext(**values)


class ResponseFilter(Struct, frozen=True, kw_only=True):
    """Which responses to select.

    `where` has the contexts that may be a response's owner's, `how` those that may be its own, `owners` the files
    that may own it; times are in milliseconds.
    """

    where: Collection[int] | None = None
    how: Collection[int] | None = None
    owners: Collection[int] | None = None
    since: int | None = None
    until: int | None = None

    @property
    def condition(self) -> str:
        """As SQL over `response`; integers only."""
        conditions = [
            None if self.where is None else f"owner_context IN ({_integers(self.where)})",
            None if self.how is None else f"context IN ({_integers(self.how)})",
            None if self.owners is None else f"owner IN ({_integers(self.owners)})",
            None if self.since is None else f"time >= {self.since:d}",
            None if self.until is None else f"time < {self.until:d}",
        ]
        return " AND ".join(condition for condition in conditions if condition) or "1"


def grouped(
    connection: sqlite3.Connection, dimension: Dimension, choice: ResponseFilter, *, is_recorded: bool = False
) -> Iterator[tuple[Any, ...]]:
    """Rows of dimension, context, owner's context, is_sidechain, is_abandoned and the columns of `SUMS`.

    By quarter or owner, contexts are grouped by model alone and one of them represents all of its model. With
    `is_recorded`, money is what the client wrote into the lines, not what the prices give.
    """
    sums = sum_columns(money="recorded") if is_recorded else SUMS
    group_by = "context, owner_context" if dimension == "all" else "how.model"
    for part in PARTS:
        yield from connection.execute(
            f"""SELECT {_DIMENSIONS[dimension]}, min(context), min(owner_context), is_sidechain, is_abandoned, {sums}
                FROM {part} AS response JOIN context AS how ON how.id = response.context
                WHERE {choice.condition} GROUP BY 1, {group_by}, is_sidechain, is_abandoned"""  # noqa: S608  our own names
        )


def spent_by_project(
    connection: sqlite3.Connection, filters: SessionFilter
) -> Iterator[tuple[str | None, tuple[Any, ...]]]:
    """Project and the columns of `SUMS` for the sessions that pass the filters; a project may come several times.

    The usage of all copies of a session belongs to the project of the copy that ended last.
    """
    condition, values = filters.condition(connection)
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
                    ) AS place ON place.file = response.owner GROUP BY 1""",  # noqa: S608
                values,
            )
            for project, *sums in rows:
                yield None if project is None else as_path(project), tuple(sums)


def _integers(values: Collection[int]) -> str:
    return ", ".join(str(int(value)) for value in values)


def owners(connection: sqlite3.Connection) -> dict[int, tuple[str, bool]]:
    """By file: the id of its session, and whether it is an agent's transcript."""
    rows = connection.execute(
        "SELECT file.id, session.uuid, file.kind = 'subagent' FROM file JOIN session ON session.id = file.session"
    )
    return {file: (as_path(uuid), bool(is_agent)) for file, uuid, is_agent in rows}


def machine_labels(connection: sqlite3.Connection) -> dict[int, str]:
    """By file: the label of the machine it was imported from, or that machine's id if two have the same label."""
    names = machines.shown_names(machines.machines(connection))
    return {file: names.get(machine, machine) for file, machine in connection.execute("SELECT id, machine FROM file")}


def titles(connection: sqlite3.Connection) -> dict[str, tuple[str | None, str | None]]:
    """Title and project by session id; of several sessions with one id, those of the one that ended last."""
    rows = connection.execute(
        """SELECT uuid, ifnull(mark.title, session.title), project
           FROM session LEFT JOIN mark ON mark.session = session.uuid ORDER BY ended, folder DESC"""
    )
    return {as_path(uuid): (title, project) for uuid, title, project in rows}


def files_of_sessions(connection: sqlite3.Connection, sessions: Iterable[int]) -> list[int]:
    numbers = ", ".join(str(int(session)) for session in sessions)
    return [file for (file,) in connection.execute(f"SELECT id FROM file WHERE session IN ({numbers})")]  # noqa: S608


def own_money(connection: sqlite3.Connection) -> dict[str | bytes, int | None]:
    """By session id: nano-dollars of all responses in its files, of copies of a session the largest sum."""
    return dict(connection.execute("SELECT uuid, max(nanodollars) FROM session GROUP BY uuid"))


def lines_read(connection: sqlite3.Connection) -> tuple[int, int]:
    """The number of lines in all transcripts, and how many of them are not JSON."""
    lines, malformed = connection.execute("SELECT sum(lines), sum(malformed) FROM file").fetchone()
    return lines or 0, malformed or 0


CacheDimension = Literal["quarter", "owner", "project", "all"]
_CACHE_DIMENSIONS: dict[CacheDimension, str] = {
    "quarter": IN_QUARTER,
    "owner": "owner",
    "project": "kept.project",
    "all": "0",
}
CACHE_SUMS = """sum(saved), count(rebuilt), ifnull(sum(rebuilt), 0), sum(premium), count(rebuilt) - count(premium),
    ifnull(sum(thinking), 0), ifnull(sum(thinking_estimate), 0),
    sum(CASE WHEN thinking IS NOT NULL OR thinking_estimate IS NOT NULL THEN output ELSE 0 END)"""

_CAUSE = """CASE WHEN cause <> 'unknown' THEN cause WHEN cause IS NOT NULL THEN ifnull((
        SELECT 'resumed_or_forked' FROM (
            SELECT before.key FROM request AS before
            WHERE before.file = response.owner AND before.time < response.time
            ORDER BY before.time DESC LIMIT 1
        ) AS last
            JOIN copied ON copied.key = last.key
            JOIN file AS theirs ON theirs.id = copied.owner
            JOIN file AS ours ON ours.id = response.owner
        WHERE response.files = 1 AND theirs.session IS NOT ours.session
    ), cause) END"""
"""The first response after those copied from another session is the first one after a resume or fork."""


def cache_grouped(
    connection: sqlite3.Connection, dimension: CacheDimension, choice: ResponseFilter
) -> Iterator[tuple[Any, ...]]:
    """Rows of dimension, model, cause of a rebuild, whether the API told it, the columns of `SUMS` and `CACHE_SUMS`."""
    for part in PARTS:
        yield from connection.execute(
            f"""SELECT {_CACHE_DIMENSIONS[dimension]}, counted.model, {_CAUSE}, by_api, {SUMS}, {CACHE_SUMS}
                FROM {part} AS response
                    JOIN context AS counted ON counted.id = response.context
                    JOIN context AS kept ON kept.id = response.owner_context
                WHERE {choice.condition} GROUP BY 1, 2, 3, 4"""  # noqa: S608  our own names, integers
        )


def made_elsewhere(connection: sqlite3.Connection, session: int) -> frozenset[str]:
    """Keys of the responses in a session's files that another session owns."""
    rows = connection.execute(
        """SELECT request.key FROM file JOIN request ON request.file = file.id JOIN copied ON copied.key = request.key
           WHERE file.session = ? AND copied.owner NOT IN (SELECT id FROM file WHERE session = ?)""",
        (session, session),
    )
    return frozenset(key for (key,) in rows)


UNPRICED = f"""
    SELECT model, count(*), sum({TOTAL}) AS tokens
    FROM response JOIN context ON context.id = response.context
    WHERE nanodollars IS NULL GROUP BY model ORDER BY tokens DESC, model
"""  # noqa: S608  our own text


def unpriced_models(connection: sqlite3.Connection) -> list[tuple[str | None, int, int]]:
    """Model as the transcripts name it, requests and tokens, the most tokens first; each response counts once, with the
    figures of the copy that counts."""
    return list(connection.execute(UNPRICED))
