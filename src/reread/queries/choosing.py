"""Which responses of the ledger pass a filter."""

from __future__ import annotations

import sqlite3
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from reread.store import usage as ledger
from reread.store.moves import moves

from .filters import Filter

if TYPE_CHECKING:
    from reread.store.rows import Circumstance


def choose(connection: sqlite3.Connection, wanted: Filter, known: dict[int, Circumstance]) -> ledger.Choice:
    """The responses that pass a filter."""
    where = how = homes = None
    if wanted.project or wanted.git_branch:
        wanted = wanted._replace(moves=moves(connection))
        where = [number for number, each in known.items() if is_place(each, wanted)]
    if wanted.model or wanted.tool:
        how = [number for number, each in known.items() if is_manner(each, wanted)]
    if wanted.file or wanted.sources or wanted.machine or wanted.asks_for_marks:
        from .listing import passing_ids

        of_sessions = Filter(  # what is asked of whole sessions; responses know the rest themselves
            file=wanted.file,
            sources=wanted.sources,
            machine=wanted.machine,
            starred=wanted.starred,
            tags=wanted.tags,
            without_hidden=wanted.without_hidden,
        )
        homes = ledger.files_of_sessions(connection, passing_ids(connection, of_sessions))
    since, until = (None if time is None else int(time.timestamp() * 1000) for time in (wanted.since, wanted.until))
    return ledger.Choice(where=where, how=how, homes=homes, since=since, until=until)


def is_place(each: Circumstance, wanted: Filter) -> bool:
    return wanted.keeps_project(each.project) and (wanted.git_branch is None or wanted.git_branch == each.git_branch)


def is_manner(each: Circumstance, wanted: Filter) -> bool:
    tool = (wanted.tool or "").lower()
    on_model = wanted.model is None or wanted.model.lower() in (each.model or "").lower()
    return on_model and (not tool or any(fnmatch(name.lower(), tool) for name in each.tools))
