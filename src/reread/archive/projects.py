"""Projects: the sessions of each with its worktrees and the folders it was moved from."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reread.billing.report import Sums, Tokens, total
from reread.index.database import snapshot
from reread.index.sessions import ProjectRow, SessionFilter, count_sessions, moves, project_rows
from reread.index.usage_sums import spent_by_project
from reread.live.transport import is_folder
from reread.marks import below
from reread.times import moment

from .filters import Filter
from .listing import project_of, session_filter, worktree_of

_COMMON_BRANCHES = frozenset({"", "HEAD", "main", "master", "develop", "dev", "trunk"})
"""What two projects share that have nothing to do with each other."""
_ALIKE = 2
"""Parts at the end of two paths that are no chance: `ann/lantern`, not `api` alone."""


class Folder(NamedTuple):
    path: str
    sessions: int


class Project(NamedTuple):
    folder: str
    """As it is called today; empty for sessions that tell of no folder."""
    sessions: int
    prompts: int
    last: datetime | None
    """When the newest of its sessions ended."""
    tokens: Tokens
    """Every API response once, with the session it was made in."""
    worktrees: list[Folder]
    """The ones with most sessions first, by the paths that the sessions tell; as are the next."""
    earlier: list[Folder]
    """Folders it was moved from."""
    exists: bool
    """On this machine."""
    perhaps: str | None = None
    """Of one that is gone: the project it seems to be today."""


def projects(connection: sqlite3.Connection, wanted: Filter) -> list[Project]:
    """Those of the sessions that pass, the one that was worked in last first; a limit is one of projects."""
    with snapshot(connection):
        return projects_of(connection, wanted, is_folder)[: wanted.limit]


def count_sessions_below(connection: sqlite3.Connection, folder: str) -> int:
    """How many sessions ran in a folder or below it."""
    inside = SessionFilter(project=lambda path: bool(path) and below(path or "", folder) is not None)
    return count_sessions(connection, inside)


def projects_of(connection: sqlite3.Connection, wanted: Filter, is_there: Callable[[str], bool]) -> list[Project]:
    """The same; a limit is not looked at."""
    chosen, moved = session_filter(connection, wanted), moves(connection)
    found: dict[str, list[ProjectRow]] = {}
    for row in project_rows(connection, chosen):
        found.setdefault(project_of(row.project, moved), []).append(row)
    spent: dict[str, list[Tokens]] = {}
    for project, sums in spent_by_project(connection, chosen):
        spent.setdefault(project_of(project, moved), []).append(Sums(*sums).tokens)
    made = [_project(folder, rows, spent.get(folder, ()), is_there) for folder, rows in found.items()]
    branches = {folder: _own_branches(rows) for folder, rows in found.items()}
    return [each._replace(perhaps=_perhaps(each, made, branches)) for each in made]


def _project(
    folder: str, rows: Sequence[ProjectRow], spent: Iterable[Tokens], is_there: Callable[[str], bool]
) -> Project:
    worktrees = ((worktree_of(row.project), row.sessions) for row in rows)
    earlier = ((project_of(row.project), row.sessions) for row in rows)
    return Project(
        folder=folder,
        sessions=sum(row.sessions for row in rows),
        prompts=sum(row.prompts for row in rows),
        last=moment(max((row.last for row in rows if row.last is not None), default=None)),
        tokens=total(spent),
        worktrees=_folders((path, number) for path, number in worktrees if path is not None),
        earlier=_folders((path, number) for path, number in earlier if path != folder),
        exists=bool(folder) and is_there(folder),
    )


def earlier_folders(began: Iterable[str | None], today: str) -> list[str]:
    """The folders that sessions of one project were moved from, the one with most of them first; by the folder that
    each session began in."""
    return [folder.path for folder in _folders((path, 1) for path in map(project_of, began) if path != today)]


def _folders(counted: Iterable[tuple[str, int]]) -> list[Folder]:
    found: Counter[str] = Counter()
    for path, number in counted:
        found[path] += number
    return [Folder(path, number) for path, number in found.most_common()]


def _own_branches(rows: Iterable[ProjectRow]) -> set[str]:
    return {branch for row in rows for branch in row.git_branches} - _COMMON_BRANCHES


def _perhaps(gone: Project, known: Sequence[Project], branches: Mapping[str, set[str]]) -> str | None:
    """The only project that exists under the same name, where more than the name speaks for it."""
    name = _parts(gone.folder)[-1:]
    if gone.exists or not name:
        return None
    alike = [each.folder for each in known if each.exists and _parts(each.folder)[-1:] == name]
    if len(alike) != 1:
        return None
    is_alike = _parts(gone.folder)[-_ALIKE:] == _parts(alike[0])[-_ALIKE:]
    return alike[0] if is_alike or branches[gone.folder] & branches[alike[0]] else None


def _parts(folder: str) -> list[str]:
    return [part for part in folder.replace("\\", "/").split("/") if part]
