"""Lists of sessions: filtered, with their project and the day on which Claude Code will delete them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatch
from functools import lru_cache, partial
from math import ceil
from pathlib import Path
from typing import NamedTuple, Protocol

from reread.errors import AmbiguousSession, BadInput, UnknownSession, printable
from reread.home import whole_path
from reread.index.machines import ids_called, kept_machine, machines, sessions_on
from reread.index.meta import is_half_made, known_sources, sessions_written_before
from reread.index.moved_folders import moves
from reread.index.sessions import (
    NOTHING_COPIED,
    ORDER_NAMES,
    CopiedFrom,
    SessionFilter,
    StoredSession,
    copied_parts,
    count_sessions,
    ids_and_projects,
    ids_in_team,
    marks,
    named_sessions,
    order_by,
    project_rows,
    session_folders,
    session_ids,
    sessions,
    sessions_by_id,
    smallest_session,
    unfinished_since,
    with_suspect_output,
)
from reread.index.sessions import ids_called as session_ids_called
from reread.marks import NO_MARK, NO_MOVES, Moves, below
from reread.rows.groups import grouped

from .filters import Filter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from decimal import Decimal


DEFAULT_CLEANUP_DAYS = 30
"""Claude Code's own default, when `cleanupPeriodDays` is not set."""
_FOR_EVER = 1e6
"""More days than this would not fit the calendar; a longer period is cut to it and means never."""
SOON = timedelta(days=7)
SORTS = ORDER_NAMES
"""What a list can be sorted by."""
_SETTINGS = ("settings.json", "settings.local.json")


def settings_files(sources: Iterable[Path]) -> list[Path]:
    """The settings files that belong to some sources; a projects folder has them in the config directory above it."""
    folders = [source.parent if source.name == "projects" else source for source in sources]
    return [folder / name for folder in folders for name in _SETTINGS]


class CleanupPeriods(NamedTuple):
    """For how many days the client keeps transcripts: every config folder has its own settings."""

    days: float = DEFAULT_CLEANUP_DAYS
    by_folder: tuple[tuple[str, float], ...] = ()

    def of(self, *paths: str | None) -> float:
        """The period for a session with these files; captures among them are in a folder of ours."""
        known = (path for path in paths if path is not None)
        return next((days for path in known for folder, days in self.by_folder if path.startswith(folder)), self.days)


def cleanup_periods(settings: Iterable[Path]) -> CleanupPeriods:
    """The periods that these files set; of two in a folder the shorter one, since it takes effect first."""
    found: dict[str, float] = {}
    for path in settings:
        days = _period(path)
        if days is not None:
            folder = os.path.join(whole_path(path.parent), "")  # noqa: PTH118  with its separator
            found[folder] = min(days, found.get(folder, days))
    return CleanupPeriods(by_folder=tuple(sorted(found.items(), reverse=True)))


CleanupDays = float | CleanupPeriods
"""How long the client keeps transcripts; a number holds for all."""


def _as_periods(days: CleanupDays) -> CleanupPeriods:
    return days if isinstance(days, CleanupPeriods) else CleanupPeriods(days)


def _period(path: Path) -> float | None:
    try:
        content = path.read_bytes()
    except OSError:  # most sources have no settings file
        return None
    try:
        settings = json.loads(content)  # importing the types of side files would cost more than a list of sessions
    except (ValueError, RecursionError):
        return None
    days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    if not isinstance(days, int | float) or isinstance(days, bool) or not days >= 0:
        return None
    return float(min(days, _FOR_EVER))


_WORKTREE = re.compile(r"[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+")
"""Where Claude Code makes worktrees, and where people commonly do. Only the path leads from one to its project."""


@lru_cache(maxsize=1 << 12)  # thousands of sessions share a few folders
def project_of(path: str | None, moves: Moves = NO_MOVES) -> str:
    """The project's folder; empty if there is none."""
    return _WORKTREE.split(moves.today(path) if path else "")[0]


def worktree_of(path: str | None) -> str | None:
    """The worktree's own folder; None outside of one."""
    found = _WORKTREE.search(path or "")
    return None if found is None else found.string[: found.end()]


def project_name(path: str | None, moves: Moves, *, folds_worktrees: bool) -> str | None:
    """What a report calls a working directory: its present path, or the project it belongs to."""
    if path is None:
        return None
    return project_of(path, moves) if folds_worktrees else moves.today(path)


class Listed(NamedTuple):
    """A session in a list."""

    stored: StoredSession
    expires: datetime | None
    """When the client will delete the source; None once it is gone."""
    project: str
    """The folder it belongs to today, which differs from its working directory if that is a worktree or was moved;
    empty for none."""
    copied: CopiedFrom = NOTHING_COPIED
    """What it copied from other sessions. Its cost includes that, so the costs of a list may exceed what was spent."""
    is_partial: bool = False
    """Whether its cost is a lower bound: as in a report of usage."""

    def expires_soon(self, now: datetime) -> bool:
        return self.expires is not None and self.expires - now <= SOON

    @property
    def id(self) -> str:
        """The name by which the archive finds it."""
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
        """Dollars, including its subagents; None if nothing has a price."""
        return self.stored.cost

    def __repr__(self) -> str:
        cost = f", ${self.cost:.2f}" if self.cost is not None else ""
        return f"<Listed {self.id} {self.title[:60]!r}{cost}>"


class OfSession(Protocol):
    """A part of an answer: a hit, a prompt, a thought, a moment."""

    @property
    def session(self) -> str | StoredSession: ...


SessionName = str | StoredSession | Listed | OfSession
"""What names a session: an id, a prefix of one, `@last`, `@2`; or a result of a list or a search."""


def find_session(connection: sqlite3.Connection, home: Path, session: SessionName) -> StoredSession:
    """The newest session with this name. Raises UnknownSession, AmbiguousSession or BadInput."""
    named = _named_here(connection, session)
    if isinstance(named, StoredSession):
        return named
    found = _newest(connection, named) if named.startswith("@") else sessions_called(connection, named)
    if not found:
        name, _, sign = named.rpartition("~")
        found = [each for each in sessions_called(connection, name) if each.sign == sign]
    names = list(dict.fromkeys(each.row.uuid for each in found))
    if len(names) > 1:
        raise AmbiguousSession(named, names)
    if not found:
        raise UnknownSession(named, [home], is_partial=is_half_made(connection))
    return found[0]


def _named_here(connection: sqlite3.Connection, session: SessionName) -> StoredSession | str:
    """The session of a list's result; its name if that list was of another archive, which numbers its own sessions."""
    stored: object = session.stored if isinstance(session, Listed) else session
    if not isinstance(stored, str | StoredSession):
        stored = getattr(stored, "session", None)
    if not isinstance(stored, str | StoredSession):
        raise BadInput(
            f"{printable(repr(session)[:80])} names no session; give an id, the beginning of one, @last, @2, "
            "or what sessions() lists"
        )
    if isinstance(stored, StoredSession) and stored.id not in session_ids_called(connection, stored.row.uuid):
        return stored.name
    return stored


def _newest(connection: sqlite3.Connection, name: str) -> list[StoredSession]:
    """Those of persons are counted; if there are none, the others."""
    position = "1" if name == "@last" else name[1:]
    if not position.isdecimal() or len(position) >= 10 or not int(position):
        return []
    ids = persons_ids(connection, int(position))
    return sessions(connection, ids=ids[-1:] if len(ids) == int(position) else [])


def persons_ids(connection: sqlite3.Connection, limit: int) -> list[int]:
    """The sessions that `@1`, `@2` and so on name: all but those of programs, unless there are no others."""
    ids = session_ids(connection, SessionFilter(without_programs=True), limit)
    return ids or session_ids(connection, limit=limit)


def sessions_called(connection: sqlite3.Connection, name: str) -> list[StoredSession]:
    """The sessions with this id, or else those whose id begins with it."""
    return sessions(connection, ids=session_ids_called(connection, name))


def copies_of(connection: sqlite3.Connection, stored: StoredSession) -> list[StoredSession]:
    """The copies of a session in other places, the one that ended last first."""
    return (
        [each for each in sessions_called(connection, stored.row.uuid) if each.id != stored.id]
        if stored.has_copies
        else []
    )


def find_one(connection: sqlite3.Connection, home: Path, session: SessionName) -> StoredSession:
    """Like `find_session`, but raises AmbiguousSession if there are several copies, unless the name chooses one."""
    named = _named_here(connection, session)
    found = find_session(connection, home, named)
    if not isinstance(named, str) or named.startswith("@") or named.endswith(f"~{found.sign}"):
        return found
    copies = copies_of(connection, found)
    if copies:
        raise AmbiguousSession(named, [each.name for each in (found, *copies)])
    return found


def listed(connection: sqlite3.Connection, filters: Filter, cleanup_days: CleanupDays) -> Iterator[Listed]:
    """Sessions that pass the filter, as a list shows them, the one that ended last first; holds some hundred in memory
    at a time."""
    return listed_by_id(connection, passing_ids(connection, filters), cleanup_days)


def newest(connection: sqlite3.Connection, number: int, cleanup_days: CleanupDays) -> list[Listed]:
    """The `number` sessions that ended last, without those that a person hid or a program drove."""
    chosen = session_filter(connection, Filter(without_hidden=True))._replace(without_programs=True)
    return list(listed_by_id(connection, session_ids(connection, chosen, number), cleanup_days))


def numbered(
    connection: sqlite3.Connection, number: int, cleanup_days: CleanupDays, *, with_hidden: bool
) -> list[tuple[int, Listed]]:
    """The `number` sessions that ended last, each with the number that names it (`@1`, `@2`)."""
    noted = {} if with_hidden else marks(connection)
    ids = persons_ids(connection, number + sum(mark.hidden for mark in noted.values()))
    found = enumerate(listed_by_id(connection, ids, cleanup_days), 1)
    return [pair for pair in found if with_hidden or not pair[1].stored.mark.hidden][:number]


def listed_by_id(connection: sqlite3.Connection, ids: list[int], cleanup_days: CleanupDays) -> Iterator[Listed]:
    moved, periods = moves(connection), _as_periods(cleanup_days)
    copied, suspect = copied_parts(connection, ids), with_suspect_output(connection, ids)
    for stored in sessions_by_id(connection, ids):
        yield Listed(
            stored,
            _expires(stored, periods),
            project_of(stored.row.project, moved),
            copied.get(stored.id, NOTHING_COPIED),
            is_partial=stored.row.unpriced_tokens > 0 or stored.id in suspect,
        )


def team_of(connection: sqlite3.Connection, stored: StoredSession) -> list[StoredSession]:
    """The sessions of its team, in the order in which they began; empty for a session without one."""
    found = sessions_by_id(connection, ids_in_team(connection, stored.row.team)) if stored.row.team else ()
    return [each for each in found if each.row.folder == stored.row.folder]


def passing(connection: sqlite3.Connection, filters: Filter) -> list[StoredSession]:
    """Sessions that pass the filter, the one that ended last first."""
    return list(sessions_by_id(connection, passing_ids(connection, filters)))


def passing_ids(connection: sqlite3.Connection, filters: Filter) -> list[int]:
    return session_ids(connection, session_filter(connection, filters), filters.limit)


def count_passing(connection: sqlite3.Connection, filters: Filter) -> int:
    """How many sessions pass; the limit is ignored."""
    return count_sessions(connection, session_filter(connection, filters))


def session_filter(connection: sqlite3.Connection, filters: Filter) -> SessionFilter:
    """The part of a filter that is about whole sessions, for the database to answer."""
    on = None if filters.machine is None else ids_called(machines(connection), filters.machine)
    filters = filters._replace(moves=moves(connection), sources=_needed_sources(connection, filters.sources, on))
    model, branch, tool, glob = filters.model, filters.git_branch, filters.tool, filters.file
    places = (filters.project, filters.folder, filters.of_project)
    return SessionFilter(
        since=None if filters.since is None else ceil(filters.since.timestamp() * 1000),
        until=None if filters.until is None else ceil(filters.until.timestamp() * 1000),
        project=partial(_keeps_place, filters) if places != (None, None, None) else None,
        models=None if model is None else lambda models: any(model.lower() in each.lower() for each in models),
        git_branches=None if branch is None else lambda branches: branch in branches,
        uuid=_named(connection, filters),
        file=(lambda path: _is_below(path, filters.sources)) if filters.sources else None,
        tool=None if tool is None else lambda name: fnmatch(name.lower(), tool.lower()),
        ids=None if on is None else sessions_on(connection, on),
        touched=None if glob is None else lambda path: fnmatch(path, glob) or fnmatch(path, f"*/{glob}"),
    )


def _keeps_place(filters: Filter, path: str | None) -> bool:
    is_of = filters.of_project is None or project_of(path, filters.moves) == filters.of_project
    return is_of and filters.keeps_project(path) and filters.keeps_folder(path)


def choice_of(
    connection: sqlite3.Connection,
    filters: Filter,
    title: str = "",
    expires: datetime | None = None,
    cleanup_days: CleanupDays = DEFAULT_CLEANUP_DAYS,
) -> SessionFilter:
    """A filter plus what only lists on a page ask for: words of the title, and sessions that the client will have
    deleted by `expires`."""
    words = title.casefold().split()
    return session_filter(connection, filters)._replace(
        title=(lambda text: all(word in text.casefold() for word in words)) if words else None,
        written=None if expires is None else _written_before(expires, _as_periods(cleanup_days)),
    )


def _written_before(expires: datetime, periods: CleanupPeriods) -> Callable[[str | None], int]:
    """For a source that the client deletes at `expires`, the time its last line was written, in nanoseconds."""
    return lambda path: int((expires.timestamp() - periods.of(path) * 86_400) * 1e9)


def count_sessions_below(connection: sqlite3.Connection, folder: str) -> int:
    """How many sessions ran in a folder or below it."""
    inside = SessionFilter(project=lambda path: bool(path) and below(path or "", folder) is not None)
    return count_sessions(connection, inside)


def count_expiring(connection: sqlite3.Connection, until: datetime, cleanup_days: CleanupDays) -> int:
    """How many sessions the client will have deleted by then."""
    periods = _as_periods(cleanup_days)
    shortest = min([periods.days, *(days for _, days in periods.by_folder)])
    latest = _written_before(until, CleanupPeriods(shortest))
    return sessions_written_before(connection, _written_before(until, periods), latest(None))


def count_chosen(connection: sqlite3.Connection, choice: SessionFilter) -> int:
    return count_sessions(connection, choice)


def ordered_ids(
    connection: sqlite3.Connection, choice: SessionFilter, sort: str, *, is_up: bool = False, limit: int | None = None
) -> list[int]:
    """The numbers of sessions, so that only those shown need be read; the largest value first, or with `is_up` the
    smallest."""
    return session_ids(connection, choice, limit, order_by(sort, is_up=is_up))


def ids_by_project(
    connection: sqlite3.Connection, choice: SessionFilter, sort: str, *, is_up: bool = False
) -> dict[str, list[tuple[int, str | None]]]:
    """The same by project, projects in the order of their first session; each session with the folder it began in."""
    moved = moves(connection)
    found = ids_and_projects(connection, choice, order_by(sort, is_up=is_up))
    return grouped(found, lambda each: project_of(each[1], moved))


def ids_around(connection: sqlite3.Connection, stored: StoredSession, number: int) -> list[int]:
    """`number` sessions before and after one in time, without those that a person hid."""
    noted, name = marks(connection), stored.row.uuid
    choice = SessionFilter(uuid=lambda uuid: uuid == name or not noted.get(uuid, NO_MARK).hidden)
    copies = {each.id for each in copies_of(connection, stored)} if stored.mark.hidden else set()
    ids = [each for each in session_ids(connection, choice) if each not in copies]
    here = ids.index(stored.id) if stored.id in ids else 0
    return ids[max(0, here - number) : here + number + 1]


def session_numbered(connection: sqlite3.Connection, number: int) -> StoredSession | None:
    return next(sessions_by_id(connection, [number]), None)


def smallest(connection: sqlite3.Connection) -> StoredSession | None:
    """The session with the fewest bytes."""
    number = smallest_session(connection)
    return None if number is None else session_numbered(connection, number)


def going_on_since(connection: sqlite3.Connection, since: datetime) -> Iterator[StoredSession]:
    """Sessions with a line after this moment, or with no times at all, the one that ended last first."""
    return sessions_by_id(connection, unfinished_since(connection, int(since.timestamp() * 1000)))


def having_words(connection: sqlite3.Connection, words: Sequence[str], most: int) -> list[StoredSession]:
    """The newest sessions, `most` of them, whose title, folder, tags or id contain all the words; not hidden ones.

    Those in whose title every word begins one come first: a folder with such a name may hold hundreds of others.
    """
    noted = marks(connection)
    beginnings = [re.compile(rf"(?<!\w){re.escape(word)}") for word in words]
    titled: list[int] = []
    others: list[int] = []
    for number, uuid, first_title, folder in named_sessions(connection):
        mark = noted.get(uuid, NO_MARK)
        title = (first_title if mark.title is None else mark.title).casefold()
        text = f"{title} {folder or ''} {' '.join(mark.tags)} {uuid}".casefold()
        if not mark.hidden and all(word in text for word in words):
            (titled if all(each.search(title) for each in beginnings) else others).append(number)
        if len(titled) == most:
            break
    ids = [*titled, *others][:most]
    return sorted(sessions_by_id(connection, ids), key=lambda each: ids.index(each.id))


def folders(connection: sqlite3.Connection, *, without_hidden: bool = False) -> dict[str, int]:
    """Every folder that sessions began in, the most recent first, and how many sessions that were."""
    found: dict[str, int] = {}
    for row in project_rows(connection, session_filter(connection, Filter(without_hidden=without_hidden))):
        if row.project:
            found[row.project] = found.get(row.project, 0) + row.sessions
    return found


def projects_of_files(connection: sqlite3.Connection) -> dict[int, str]:
    """The project of each transcript: that of its session, and of copies of a session that of the newest."""
    moved = moves(connection)
    return {file: project_of(path, moved) for file, path in session_folders(connection)}


def project_names(connection: sqlite3.Connection) -> list[str]:
    """The present path of every project, the most recently used first."""
    moved = moves(connection)
    return list(filter(None, dict.fromkeys(project_of(row.project, moved) for row in project_rows(connection))))


def _named(connection: sqlite3.Connection, filters: Filter) -> Callable[[str], bool] | None:
    """The condition on a session's id that marks and `without` make; None if there is none."""
    if not filters.asks_for_marks and filters.without is None:
        return None
    noted = marks(connection) if filters.asks_for_marks else {}
    if not noted and filters.without is None and filters.keeps_mark(NO_MARK):
        return None
    return lambda uuid: uuid != filters.without and filters.keeps_mark(noted.get(uuid, NO_MARK))


def _needed_sources(
    connection: sqlite3.Connection, sources: tuple[str, ...], on: Sequence[str] | None
) -> tuple[str, ...]:
    """The sources to filter by; empty if everything ever imported comes from them, or if another machine is meant,
    since they are folders of this one."""
    if on is not None and (own := kept_machine(connection)) is not None and own.id not in on:
        return ()
    is_all = sources and all(_is_below(known, sources) for known in known_sources(connection))
    return () if is_all else sources


def _expires(stored: StoredSession, periods: CleanupPeriods) -> datetime | None:
    if not stored.present or stored.mtime_ns is None:
        return None
    return datetime.fromtimestamp(stored.mtime_ns / 1e9, UTC) + timedelta(days=periods.of(*stored.files))


def _is_below(file: str | None, sources: tuple[str, ...]) -> bool:
    return file is not None and any(Path(file).is_relative_to(source) for source in sources)
