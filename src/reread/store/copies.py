"""What sessions hold of others: a fork, or a resume into a new file, begins with a copy of what was said before."""

import sqlite3
from typing import NamedTuple

from .paths import as_path


class Copied(NamedTuple):
    """The part of a session that was made in others."""

    sessions: tuple[str, ...] = ()
    """Where it was made; the session's own id for a folder that was copied."""
    nanodollars: int | None = 0
    """Of the session's own cost. None where nothing of it has a price."""


NOTHING_COPIED = Copied()
_EACH = """
SELECT file.session AS ours, theirs.session AS home, request.nanodollars, max(request.output)
FROM copied
    JOIN request ON request.key = copied.key
    JOIN file ON file.id = request.file
    JOIN file AS theirs ON theirs.id = copied.home
WHERE file.session <> theirs.session
GROUP BY file.session, request.key
"""
"""A response that several files of a session tell of is in it once, with most output, as the session counts it."""


def copied_parts(connection: sqlite3.Connection) -> dict[int, Copied]:
    """By session; those that copied nothing are not here."""
    rows = connection.execute(
        f"""SELECT ours, session.uuid, sum(each.nanodollars) FROM ({_EACH}) AS each JOIN session ON session.id = home
            GROUP BY ours, home ORDER BY session.started, home"""  # noqa: S608  our own text
    )
    found: dict[int, Copied] = {}
    for number, uuid, money in rows:
        before = found.get(number, Copied(nanodollars=None))
        sessions = tuple(dict.fromkeys((*before.sessions, as_path(uuid))))
        known = [part for part in (before.nanodollars, money) if part is not None]
        found[number] = Copied(sessions, sum(known) if known else None)
    return found
