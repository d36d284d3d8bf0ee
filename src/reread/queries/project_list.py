"""Projects: the sessions of each with its worktrees and the folders it was moved from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from reread.billing.report import Tokens, total

from .listing import Listed
from .projects import project_of, worktree_of

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


def projects(listed: Iterable[Listed], spent: Mapping[str, Tokens], is_there: frozenset[str]) -> list[Project]:
    """The one that was worked in last first. Sessions come the last first; `spent` is by session, `is_there` names the
    folders that exist."""
    found: dict[str, list[Listed]] = {}
    owner: dict[str, str] = {}
    for each in listed:
        found.setdefault(each.project, []).append(each)
        owner.setdefault(each.stored.row.uuid, each.project)  # copies in two projects cost once
    made = [_project(folder, sessions, spent, owner, is_there) for folder, sessions in found.items()]
    branches = {folder: _own_branches(sessions) for folder, sessions in found.items()}
    return [each._replace(perhaps=_perhaps(each, made, branches)) for each in made]


def _project(
    folder: str,
    sessions: Sequence[Listed],
    spent: Mapping[str, Tokens],
    owner: Mapping[str, str],
    is_there: frozenset[str],
) -> Project:
    rows = [each.stored.row for each in sessions]
    own = dict.fromkeys(row.uuid for row in rows if owner[row.uuid] == folder)
    return Project(
        folder=folder,
        sessions=len(rows),
        prompts=sum(row.prompts for row in rows),
        last=max((each.ended for each in sessions if each.ended is not None), default=None),
        tokens=total(spent[uuid] for uuid in own if uuid in spent),
        worktrees=_folders(path for row in rows if (path := worktree_of(row.project)) is not None),
        earlier=_folders(path for row in rows if (path := project_of(row.project)) != folder),
        exists=folder in is_there,
    )


def earlier_folders(sessions: Iterable[Listed]) -> list[str]:
    """The folders that sessions of one project were moved from, the one with most of them first."""
    paths = ((project_of(each.stored.row.project), each.project) for each in sessions)
    return [folder.path for folder in _folders(path for path, today in paths if path != today)]


def _folders(paths: Iterable[str]) -> list[Folder]:
    return [Folder(path, number) for path, number in Counter(paths).most_common()]


def _own_branches(sessions: Iterable[Listed]) -> set[str]:
    return {branch for each in sessions for branch in each.stored.row.git_branches} - _COMMON_BRANCHES


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
