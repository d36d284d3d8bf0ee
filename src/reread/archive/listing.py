"""Sessions as they are listed: filtered, with their project and the day Claude Code will delete them."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reread.errors import AmbiguousSession, BadInput, UnknownSession, printable
from reread.index.machines import ids_called, sessions_on
from reread.index.meta import known_sources
from reread.index.sessions import (
    NOTHING_COPIED,
    CopiedFrom,
    SessionFilter,
    StoredSession,
    copied_parts,
    count_sessions,
    marks,
    moves,
    session_ids,
    sessions,
    sessions_by_id,
)
from reread.index.sessions import ids_called as session_ids_called
from reread.marks import NO_MARK, NO_MOVES, Moves

from .filters import Filter

if TYPE_CHECKING:
    from decimal import Decimal


DEFAULT_CLEANUP_DAYS = 30
"""What Claude Code does when `cleanupPeriodDays` is not set."""
SOON = timedelta(days=7)
_SETTINGS = ("settings.json", "settings.local.json")


def settings_files(sources: Iterable[Path]) -> list[Path]:
    """The settings that go with some sources; for a projects folder those of the config directory around it."""
    folders = [source.parent if source.name == "projects" else source for source in sources]
    return [folder / name for folder in folders for name in _SETTINGS]


def cleanup_days(settings: Iterable[Path]) -> float:
    """The shortest period any of these files sets: that is the one that bites first."""
    periods = [days for path in settings if (days := _period(path)) is not None]
    return min(periods, default=float(DEFAULT_CLEANUP_DAYS))


def _period(path: Path) -> float | None:
    try:
        content = path.read_bytes()
    except OSError:  # most sources have none
        return None
    try:
        settings = json.loads(content)  # the types of all side files would cost more than a list of sessions
    except (ValueError, RecursionError):
        return None
    days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    if not isinstance(days, int | float) or isinstance(days, bool) or not 0 <= days < 1e6:
        return None
    return float(days)


_WORKTREE = re.compile(r"[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+")
"""Where Claude Code makes worktrees, and where people commonly do. Nothing on disk leads from one to its project."""


@lru_cache(maxsize=1 << 12)  # thousands of sessions share a few folders
def project_of(path: str | None, moves: Moves = NO_MOVES) -> str:
    """The project's folder; empty where there is none."""
    return _WORKTREE.split(moves.today(path) if path else "")[0]


def worktree_of(path: str | None) -> str | None:
    """The worktree's own folder; None outside of one."""
    found = _WORKTREE.search(path or "")
    return None if found is None else found.string[: found.end()]


def name_of(path: str | None, moves: Moves, *, folds_worktrees: bool) -> str | None:
    """What a report calls a working directory: as it would be called today, or the project it belongs to."""
    if path is None:
        return None
    return project_of(path, moves) if folds_worktrees else moves.today(path)


class Listed(NamedTuple):
    """A session in a list."""

    stored: StoredSession
    expires: datetime | None
    """When the client's clean-up will take the source; None once it is gone."""
    project: str
    """The folder it belongs to today: its working directory may be a worktree, or have been moved. Empty for none."""
    copied: CopiedFrom = NOTHING_COPIED
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

    def __repr__(self) -> str:
        cost = f", ${self.cost:.2f}" if self.cost is not None else ""
        return f"<Listed {self.id} {self.title[:60]!r}{cost}>"


SessionName = str | StoredSession | Listed
"""What names a session: an id, the beginning of one, `@last`, `@2`; or what a list or a search gave."""


def find_session(connection: sqlite3.Connection, home: Path, wanted: SessionName) -> StoredSession:
    """The newest session that answers to a name. Raises UnknownSession, AmbiguousSession or BadInput."""
    if isinstance(wanted, StoredSession):
        return wanted
    if isinstance(wanted, Listed):
        return wanted.stored
    if not isinstance(wanted, str):
        raise BadInput(
            f"{printable(repr(wanted))} names no session; give an id, the beginning of one, @last, @2, "
            "or what sessions() lists"
        )
    found = _newest(connection, wanted) if wanted.startswith("@") else _called(connection, wanted)
    if not found:
        name, _, sign = wanted.rpartition("~")
        found = [each for each in _called(connection, name) if each.sign == sign]
    names = list(dict.fromkeys(each.row.uuid for each in found))
    if len(names) > 1:
        raise AmbiguousSession(wanted, names)
    if not found:
        raise UnknownSession(wanted, [home])
    return found[0]


def _newest(connection: sqlite3.Connection, wanted: str) -> list[StoredSession]:
    position = "1" if wanted == "@last" else wanted[1:]
    if position.isdecimal() and 1 <= int(position) <= count_sessions(connection):
        return sessions(connection, ids=session_ids(connection, limit=int(position))[-1:])
    return []


def _called(connection: sqlite3.Connection, wanted: str) -> list[StoredSession]:
    """All that have this id, or else those whose id begins so."""
    return sessions(connection, ids=session_ids_called(connection, wanted))


def copies_of(connection: sqlite3.Connection, stored: StoredSession) -> list[StoredSession]:
    """The other places that have a session of this id, the one that ended last first."""
    return [each for each in _called(connection, stored.row.uuid) if each.id != stored.id] if stored.has_copies else []


def find_one(connection: sqlite3.Connection, home: Path, wanted: SessionName) -> StoredSession:
    """The same as `find_session`, but copies are not chosen from: they raise AmbiguousSession."""
    found = find_session(connection, home, wanted)
    if not isinstance(wanted, str) or wanted.startswith("@") or wanted.endswith(f"~{found.sign}"):
        return found
    copies = copies_of(connection, found)
    if copies:
        raise AmbiguousSession(wanted, [each.name for each in (found, *copies)])
    return found


def listed(connection: sqlite3.Connection, wanted: Filter, cleanup_days: float) -> Iterator[Listed]:
    """Sessions that pass the filter, the one that ended last first, with what a list tells of them; some hundred are
    in memory at a time."""
    return listed_by_id(connection, passing_ids(connection, wanted), cleanup_days)


def listed_by_id(connection: sqlite3.Connection, ids: list[int], cleanup_days: float) -> Iterator[Listed]:
    moved = moves(connection)
    copied = copied_parts(connection, ids)
    for stored in sessions_by_id(connection, ids):
        yield Listed(
            stored,
            _expires(stored, cleanup_days),
            project_of(stored.row.project, moved),
            copied.get(stored.id, NOTHING_COPIED),
        )


def passing(connection: sqlite3.Connection, wanted: Filter) -> list[StoredSession]:
    """Sessions that pass the filter, the one that ended last first."""
    return list(sessions_by_id(connection, passing_ids(connection, wanted)))


def passing_ids(connection: sqlite3.Connection, wanted: Filter) -> list[int]:
    return session_ids(connection, session_filter(connection, wanted), wanted.limit)


def count_passing(connection: sqlite3.Connection, wanted: Filter) -> int:
    """How many there are, whatever the limit."""
    return count_sessions(connection, session_filter(connection, wanted))


def session_filter(connection: sqlite3.Connection, wanted: Filter) -> SessionFilter:
    """What is asked of whole sessions, for the database to answer."""
    wanted = wanted._replace(moves=moves(connection), sources=_needed_sources(connection, wanted.sources))
    model, branch, tool, glob = wanted.model, wanted.git_branch, wanted.tool, wanted.file
    by_folder = wanted.project is not None or wanted.folder is not None
    return SessionFilter(
        since=None if wanted.since is None else ceil(wanted.since.timestamp() * 1000),
        until=None if wanted.until is None else ceil(wanted.until.timestamp() * 1000),
        project=(lambda path: wanted.keeps_project(path) and wanted.keeps_folder(path)) if by_folder else None,
        models=None if model is None else lambda models: any(model.lower() in each.lower() for each in models),
        git_branches=None if branch is None else lambda branches: branch in branches,
        uuid=_named(connection, wanted),
        file=(lambda path: _is_below(path, wanted.sources)) if wanted.sources else None,
        tool=None if tool is None else lambda name: fnmatch(name.lower(), tool.lower()),
        ids=None if wanted.machine is None else sessions_on(connection, ids_called(connection, wanted.machine)),
        touched=None if glob is None else lambda path: fnmatch(path, glob) or fnmatch(path, f"*/{glob}"),
    )


def _named(connection: sqlite3.Connection, wanted: Filter) -> Callable[[str], bool] | None:
    """What marks and a session to leave out keep; few sessions have marks."""
    if not wanted.asks_for_marks and wanted.without is None:
        return None
    noted = marks(connection) if wanted.asks_for_marks else {}
    if not noted and wanted.without is None and wanted.keeps_mark(NO_MARK):
        return None
    return lambda uuid: uuid != wanted.without and wanted.keeps_mark(noted.get(uuid, NO_MARK))


def _needed_sources(connection: sqlite3.Connection, sources: tuple[str, ...]) -> tuple[str, ...]:
    """None where all that was ever taken in lies below them."""
    is_all = sources and all(_is_below(known, sources) for known in known_sources(connection))
    return () if is_all else sources


def filtered(found: Iterable[Listed], wanted: Filter) -> list[Listed]:
    """Those of a list that pass; tools and files are not asked for, which only the archive can tell."""
    return [each for each in found if _row_passes(each.stored, wanted)][: wanted.limit]


def _expires(stored: StoredSession, cleanup_days: float) -> datetime | None:
    if not stored.present or stored.mtime_ns is None:
        return None
    return datetime.fromtimestamp(stored.mtime_ns / 1e9, UTC) + timedelta(days=cleanup_days)


def _row_passes(stored: StoredSession, wanted: Filter) -> bool:
    row = stored.row
    checks = (
        wanted.keeps_project(row.project),
        wanted.since is None or (row.ended is not None and row.ended >= wanted.since.timestamp() * 1000),
        wanted.until is None or (row.started is not None and row.started < wanted.until.timestamp() * 1000),
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
