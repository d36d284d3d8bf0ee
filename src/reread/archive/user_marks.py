"""`archive.marks`: stars, tags, notes and titles that a person put on sessions; projects, and folders moved."""

from __future__ import annotations

import sqlite3
import time as clock
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from reread.billing.report import Sums, Tokens, total
from reread.errors import BadInput, printable
from reread.index import moved_folders
from reread.index import sessions as rows
from reread.index.database import snapshot, transaction
from reread.index.findings import has_secret
from reread.index.sessions import ProjectRow, project_rows
from reread.index.usage_sums import spent_by_project
from reread.index.user_data import REPLACED, change, put_label, take_label, take_over_copy, write_copy
from reread.live.transport import is_folder
from reread.marks import Mark, MarkChange, Moves, counted
from reread.rows.groups import grouped
from reread.times import moment

from .filters import Filter, flag_of, text_of, texts_of
from .listing import project_of, session_filter, worktree_of

if TYPE_CHECKING:
    from .inner import InnerArchive
    from .listing import SessionName


class ArchiveMarks:
    """What a person noted on sessions. Marks belong to a session's id, so all copies of a session share them."""

    def __init__(self, archive: InnerArchive) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<marks on {len(self.all())} sessions of {self._archive!r}>"

    def set(
        self,
        *sessions: SessionName,
        starred: bool | None = None,
        hidden: bool | None = None,
        tags: str | Sequence[str] = (),
        untags: str | Sequence[str] = (),
        note: str | None = None,
        title: str | None = None,
        typed: bool | None = None,
    ) -> int:
        """Sets the same marks on some sessions and returns how many changed. None leaves a mark as it is; an empty note
        or title removes it. Raises BadInput for an invalid tag, and then changes nothing.
        """
        archive = self._archive
        more, less = texts_of(tags, "tags"), texts_of(untags, "untags")
        for name, flag in (("starred", starred), ("hidden", hidden), ("typed", typed)):
            _ = None if flag is None else flag_of(flag, name)
        for name, words in (("note", note), ("title", title)):
            _ = None if words is None else text_of(words, name)
        wanted = MarkChange(starred, hidden, more, less, note, title, typed).checked()
        names = list(dict.fromkeys(archive.find(each).row.uuid for each in sessions))
        with transaction(archive.connection, durable=True):
            return change(archive.connection, archive.home, names, wanted)

    def all(self) -> dict[str, Mark]:
        """Every mark, by session id."""
        return rows.marks(self._archive.connection)

    def tags(self) -> list[tuple[str, int]]:
        """Every tag and how many sessions have it, the most used first; spellings that differ only in case are one."""
        return counted(self.all().values())

    def replaced(self, secret: str, *, is_replaced: bool = True) -> None:
        """Notes that a secret was replaced where it was issued, or takes that back; `secret` is its id in
        `archive.secrets`. Raises BadInput for one that no session contains."""
        archive, secret = self._archive, text_of(secret, "the secret")
        if not has_secret(archive.connection, secret):
            raise BadInput(f"no session contains a secret {printable(secret)!r}")
        with transaction(archive.connection, durable=True):
            take_over_copy(archive.connection, archive.home)
            if is_replaced:
                put_label(archive.connection, secret, REPLACED, "", int(clock.time() * 1000))
            else:
                take_label(archive.connection, secret, REPLACED)
            write_copy(archive.connection, archive.home)

    def moves(self) -> Moves:
        """Folders that a person recorded as moved."""
        return moved_folders.moves(self._archive.connection)

    def move_project(self, old: str, new: str) -> None:
        """Records that a folder, with all below it, was moved to another. Filters and groups use the new path; the
        working directory that sessions recorded stays as it is. Raises BadInput if the moves would lead back to
        `old`."""
        archive, old, new = self._archive, text_of(old, "the folder"), text_of(new, "the folder")
        with transaction(archive.connection, durable=True):
            take_over_copy(archive.connection, archive.home)
            self.moves().check(old, new)
            moved_folders.put_move(archive.connection, old, new)
            write_copy(archive.connection, archive.home)

    def unmove_project(self, old: str) -> None:
        """Removes the recorded move of a folder; raises BadInput if there is none."""
        archive, old = self._archive, text_of(old, "the folder")
        with transaction(archive.connection, durable=True):
            take_over_copy(archive.connection, archive.home)
            if not moved_folders.take_move(archive.connection, old):
                known = ", ".join(printable(earlier) for earlier, _ in self.moves().pairs) or "nothing"
                raise BadInput(f"{printable(old)} was not moved; what was: {known}")
            write_copy(archive.connection, archive.home)


_COMMON_BRANCHES = frozenset({"", "HEAD", "main", "master", "develop", "dev", "trunk"})
"""Branch names that unrelated projects share, so they are no evidence."""
_ALIKE = 2
"""How many equal parts at the end of two paths are more than chance: `ann/lantern`, not `api` alone."""


class Folder(NamedTuple):
    path: str
    sessions: int


class Project(NamedTuple):
    folder: str
    """Its present path; empty for sessions that record no folder."""
    sessions: int
    prompts: int
    last: datetime | None
    """When the newest of its sessions ended."""
    tokens: Tokens
    """Every API response once, counted for the session it was made in."""
    is_partial: bool
    """Whether that cost is a lower bound, as in a report of usage."""
    worktrees: list[Folder]
    """By the paths that the sessions recorded, most sessions first."""
    earlier: list[Folder]
    """Folders it was moved from, in the same order."""
    exists: bool
    """Whether the folder exists on this machine."""
    perhaps: str | None = None
    """If the folder is gone: the project that it probably is today."""


def projects(connection: sqlite3.Connection, filters: Filter) -> list[Project]:
    """Projects of the sessions that pass the filters, the most recently used first; a limit counts projects."""
    with snapshot(connection):
        return projects_of(connection, filters, is_folder)[: filters.limit]


def projects_of(connection: sqlite3.Connection, filters: Filter, is_there: Callable[[str], bool]) -> list[Project]:
    """The same, without the limit."""
    chosen, moved = session_filter(connection, filters), moved_folders.moves(connection)
    found = grouped(project_rows(connection, chosen), lambda row: project_of(row.project, moved))
    spent = grouped(spent_by_project(connection, chosen), lambda each: project_of(each[0], moved))
    made = [
        _project(folder, rows, [Sums(*sums) for _, sums in spent.get(folder, ())], is_there)
        for folder, rows in found.items()
    ]
    branches = {folder: _own_branches(rows) for folder, rows in found.items()}
    return [each._replace(perhaps=_perhaps(each, made, branches)) for each in made]


def _project(
    folder: str, rows: Sequence[ProjectRow], spent: Sequence[Sums], is_there: Callable[[str], bool]
) -> Project:
    worktrees = ((worktree_of(row.project), row.sessions) for row in rows)
    earlier = ((project_of(row.project), row.sessions) for row in rows)
    return Project(
        folder=folder,
        sessions=sum(row.sessions for row in rows),
        prompts=sum(row.prompts for row in rows),
        last=moment(max((row.last for row in rows if row.last is not None), default=None)),
        tokens=total(each.tokens for each in spent),
        is_partial=any(each.unpriced_tokens or each.suspect for each in spent),
        worktrees=_folders((path, number) for path, number in worktrees if path is not None),
        earlier=_folders((path, number) for path, number in earlier if path != folder),
        exists=bool(folder) and is_there(folder),
    )


def earlier_folders(began: Iterable[str | None], today: str) -> list[str]:
    """The folders that a project was moved from, the one with the most sessions first. `began` has the folder that each
    session began in."""
    return [folder.path for folder in _folders((path, 1) for path in map(project_of, began) if path != today)]


def _folders(counted: Iterable[tuple[str, int]]) -> list[Folder]:
    found: Counter[str] = Counter()
    for path, number in counted:
        found[path] += number
    return [Folder(path, number) for path, number in found.most_common()]


def _own_branches(rows: Iterable[ProjectRow]) -> set[str]:
    return {branch for row in rows for branch in row.git_branches} - _COMMON_BRANCHES


def _perhaps(gone: Project, known: Sequence[Project], branches: Mapping[str, set[str]]) -> str | None:
    """The only existing project with the same name, if the end of its path or a branch name matches as well."""
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
