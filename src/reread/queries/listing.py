"""Sessions of the archive, filtered."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reread.marks.moves import NO_MOVES
from reread.store.copies import NOTHING_COPIED, Copied, copied_parts
from reread.store.machines import ids_called, sessions_on
from reread.store.moves import moves
from reread.store.sessions import StoredSession, calls_of, sessions

from .filters import Filter
from .projects import project_of

if TYPE_CHECKING:
    from decimal import Decimal


class Listed(NamedTuple):
    """A session in a list."""

    stored: StoredSession
    expires: datetime | None
    """When the client's clean-up will take the source; None once it is gone."""
    project: str
    """The folder it belongs to today: its working directory may be a worktree, or have been moved. Empty for none."""
    copied: Copied = NOTHING_COPIED
    """What it holds of other sessions, which its cost has, too: costs of a list may add up to more than was spent."""

    @property
    def id(self) -> str:
        """What the archive finds it by."""
        return self.stored.name

    @property
    def title(self) -> str:
        return self.stored.row.title

    @property
    def started(self) -> datetime | None:
        return self.stored.started

    @property
    def ended(self) -> datetime | None:
        return self.stored.ended

    @property
    def cost(self) -> Decimal | None:
        """Dollars, with its subagents; None when nothing has a price."""
        return self.stored.cost


def listed(connection: sqlite3.Connection, wanted: Filter, cleanup_days: float) -> list[Listed]:
    """Sessions that pass the filter, with what a list tells of them."""
    found, moved = passing(connection, wanted), moves(connection)
    copied = copied_parts(connection, [stored.id for stored in found])
    return [
        Listed(
            stored,
            _expires(stored, cleanup_days),
            project_of(stored.row.project, moved),
            copied.get(stored.id, NOTHING_COPIED),
        )
        for stored in found
    ]


def passing(connection: sqlite3.Connection, wanted: Filter) -> list[StoredSession]:
    """Sessions that pass the filter, the one that ended last first."""
    limit = wanted.limit if _has_only_limit(wanted) else None
    wanted = wanted._replace(moves=moves(connection))
    ids = None if wanted.machine is None else sessions_on(connection, ids_called(connection, wanted.machine))
    return [
        stored
        for stored in sessions(connection, ids=ids, limit=limit, without_hidden=wanted.without_hidden)
        if _passes(connection, stored, wanted)
    ][: wanted.limit]


def filtered(found: Iterable[Listed], wanted: Filter) -> list[Listed]:
    """Those of a list that pass; tools and files are not asked for, which only the archive can tell."""
    return [each for each in found if _row_passes(each.stored, wanted)][: wanted.limit]


def _has_only_limit(wanted: Filter) -> bool:
    return wanted._replace(limit=None, without_hidden=False, moves=NO_MOVES) == Filter()


def _expires(stored: StoredSession, cleanup_days: float) -> datetime | None:
    if not stored.present or stored.mtime_ns is None:
        return None
    return datetime.fromtimestamp(stored.mtime_ns / 1e9, UTC) + timedelta(days=cleanup_days)


def _passes(connection: sqlite3.Connection, stored: StoredSession, wanted: Filter) -> bool:
    if not _row_passes(stored, wanted):
        return False
    return (wanted.tool is None and wanted.file is None) or _has_call(connection, stored.id, wanted)


def _row_passes(stored: StoredSession, wanted: Filter) -> bool:
    row = stored.row
    checks = (
        wanted.keeps_project(row.project),
        wanted.since is None or row.ended is None or row.ended >= wanted.since.timestamp() * 1000,
        wanted.until is None or row.started is None or row.started < wanted.until.timestamp() * 1000,
        wanted.model is None or any(wanted.model.lower() in model.lower() for model in row.models),
        wanted.git_branch is None or wanted.git_branch in row.git_branches,
        wanted.keeps_folder(row.project),
        row.uuid != wanted.without,
        not wanted.sources or any(_is_below(file, wanted.sources) for file in stored.files),
        wanted.keeps_mark(stored.mark),
    )
    return all(checks)


def _is_below(file: str, sources: tuple[str, ...]) -> bool:
    return any(Path(file).is_relative_to(source) for source in sources)


def _has_call(connection: sqlite3.Connection, session: int, wanted: Filter) -> bool:
    calls = calls_of(connection, session)
    is_tool = wanted.tool is None or any(fnmatch(name.lower(), wanted.tool.lower()) for name, _ in calls)
    paths = [path for _, path in calls if path]
    glob = wanted.file
    is_file = glob is None or any(fnmatch(path, glob) or fnmatch(path, f"*/{glob}") for path in paths)
    return is_tool and is_file
