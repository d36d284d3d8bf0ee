"""`archive.marks`: stars, tags, notes and titles that a person put on sessions, and folders that were moved."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reread.errors import BadInput, printable
from reread.index import sessions as rows
from reread.index.database import transaction
from reread.index.user_data import change, take_over_copy, write_copy
from reread.marks import Mark, MarkChange, Moves, counted

from .filters import flag_of, text_of, texts_of

if TYPE_CHECKING:
    from .base import ArchiveBase
    from .listing import SessionName


class ArchiveMarks:
    """What a person noted, by a session's id, so that all copies of it share it."""

    def __init__(self, archive: ArchiveBase) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<marks on {len(self.all())} sessions of {self._archive!r}>"

    def __call__(self) -> dict[str, Mark]:
        """What `archive.marks()` was in the release before."""
        warnings.warn("archive.marks() is now archive.marks.all()", DeprecationWarning, stacklevel=2)
        return self.all()

    def set(
        self,
        *sessions: SessionName,
        starred: bool | None = None,
        hidden: bool | None = None,
        tags: str | Sequence[str] = (),
        untags: str | Sequence[str] = (),
        note: str | None = None,
        title: str | None = None,
    ) -> int:
        """Notes the same on some sessions and gives how many that changed. None leaves as it is; an empty note or
        title takes it away. Raises BadInput for what is no tag, and notes nothing then.
        """
        archive = self._archive
        more, less = texts_of(tags, "tags"), texts_of(untags, "untags")
        for name, flag in (("starred", starred), ("hidden", hidden)):
            _ = None if flag is None else flag_of(flag, name)
        for name, words in (("note", note), ("title", title)):
            _ = None if words is None else text_of(words, name)
        wanted = MarkChange(starred, hidden, more, less, note, title).checked()
        names = list(dict.fromkeys(archive.find(each).row.uuid for each in sessions))
        with transaction(archive.connection, durable=True):
            return change(archive.connection, archive.home, names, wanted)

    def all(self) -> dict[str, Mark]:
        """What is noted, by session id."""
        return rows.marks(self._archive.connection)

    def tags(self) -> list[tuple[str, int]]:
        """Every tag with how many sessions have it, the most used first; spellings that differ in case are one."""
        return counted(self.all().values())

    def moves(self) -> Moves:
        """Folders that are others today, as a person said."""
        return rows.moves(self._archive.connection)

    def move_project(self, old: str, new: str) -> None:
        """Keeps that what happened in a folder, and in all below it, belongs to another. Filters and groups go by it;
        what sessions say of their working directory stays. Raises BadInput where it would lead back to `old`."""
        archive, old, new = self._archive, text_of(old, "the folder"), text_of(new, "the folder")
        with transaction(archive.connection, durable=True):
            take_over_copy(archive.connection, archive.home)
            self.moves().check(old, new)
            rows.put_move(archive.connection, old, new)
            write_copy(archive.connection, archive.home)

    def unmove_project(self, old: str) -> None:
        """Takes that back; raises BadInput where nothing was said about this folder."""
        archive, old = self._archive, text_of(old, "the folder")
        with transaction(archive.connection, durable=True):
            take_over_copy(archive.connection, archive.home)
            if not rows.take_move(archive.connection, old):
                known = ", ".join(printable(earlier) for earlier, _ in self.moves().pairs) or "nothing"
                raise BadInput(f"{printable(old)} was not moved; what was: {known}")
            write_copy(archive.connection, archive.home)
