"""What sessions hold of others: a fork, or a resume into a new file, begins with a copy of what was said before."""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from .paths import as_path
from .sessions import integers


class Copied(NamedTuple):
    """The part of a session that was made in others."""

    sessions: tuple[str, ...] = ()
    """Where it was made; the session's own id for a folder that was copied."""
    nanodollars: int | None = 0
    """Of the session's own cost. None where nothing of it has a price."""


NOTHING_COPIED = Copied()
_FEW = 100
"""So many sessions are asked one by one; of more, all that was ever copied is looked at."""
_OF_ALL = "copied CROSS JOIN request ON request.key = copied.key CROSS JOIN file ON file.id = request.file"
_OF_SOME = """file CROSS JOIN request ON request.file = file.id AND request.is_shared
    CROSS JOIN copied ON copied.key = request.key"""


def copied_parts(connection: sqlite3.Connection, sessions: Sequence[int]) -> dict[int, Copied]:
    """By session; those that copied nothing are not here."""
    is_few = len(sessions) <= _FEW
    chosen = f"file.session IN ({integers(sessions)})" if is_few else "1"
    # A response that several files of a session tell of is in it once, with most output, as the session counts it.
    rows = connection.execute(
        f"""SELECT ours, session.uuid, sum(each.nanodollars) FROM (
                SELECT file.session AS ours, theirs.session AS home, request.nanodollars, max(request.output)
                FROM {_OF_SOME if is_few else _OF_ALL} CROSS JOIN file AS theirs ON theirs.id = copied.home
                WHERE file.session <> theirs.session AND {chosen} GROUP BY file.session, request.key
            ) AS each JOIN session ON session.id = home
            GROUP BY ours, home ORDER BY session.started, home"""  # noqa: S608  our own text, and integers
    )
    found: dict[int, Copied] = {}
    for number, uuid, money in rows:
        before = found.get(number, Copied(nanodollars=None))
        sessions_before = tuple(dict.fromkeys((*before.sessions, as_path(uuid))))
        known = [part for part in (before.nanodollars, money) if part is not None]
        found[number] = Copied(sessions_before, sum(known) if known else None)
    return found
