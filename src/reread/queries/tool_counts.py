"""How often tools ran, failed and were refused, from the archive's rows: no session is read for it."""

from __future__ import annotations

import sqlite3
from fnmatch import fnmatch

from reread.analyses.tools import ToolCount, sum_tools
from reread.store.talk import Window, tool_sums

from .filters import Filter
from .listing import passing_ids


def window_of(connection: sqlite3.Connection, wanted: Filter) -> Window:
    """Which rows a filter leaves: those of the sessions that pass, within its times."""
    since, until = (None if time is None else int(time.timestamp() * 1000) for time in (wanted.since, wanted.until))
    of_sessions = wanted._replace(limit=None)
    is_narrow = of_sessions._replace(since=None, until=None) != Filter()
    return Window(passing_ids(connection, of_sessions) if is_narrow else None, since, until)


def tool_counts(connection: sqlite3.Connection, wanted: Filter) -> list[ToolCount]:
    """Every call once, agents included; most used first."""
    tool = (wanted.tool or "*").lower()
    found = tool_sums(connection, window_of(connection, wanted))
    return sum_tools(each for each in found if each.name == wanted.tool or fnmatch(each.name.lower(), tool))
