"""What the archive is told and tells about sessions a person marked and folders they moved; `Archive` is one."""

from __future__ import annotations

from reread.holding import Holding
from reread.store.database import transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reread.marks import Mark
    from reread.marks.moves import Moves
    from reread.store.sessions import StoredSession


class Marking(Holding):
    """Stars, tags, notes and titles, kept by a session's id, so that all copies of it share them; moved folders."""

    def mark(
        self,
        *sessions: str | StoredSession,
        starred: bool | None = None,
        hidden: bool | None = None,
        tags: Sequence[str] = (),
        untags: Sequence[str] = (),
        note: str | None = None,
        title: str | None = None,
    ) -> int:
        """Notes the same on some sessions and gives how many that changed. None leaves as it is; an empty note or
        title takes it away. Raises BadInput for what is no tag, and notes nothing then.
        """
        from reread.marks.changes import Change
        from reread.store.own_words import change

        wanted = Change(starred, hidden, tuple(tags), tuple(untags), note, title).checked()
        stored = (self.find(each) if isinstance(each, str) else each for each in sessions)
        names = list(dict.fromkeys(each.row.uuid for each in stored))
        with transaction(self.connection, durable=True):
            return change(self.connection, self.home, names, wanted)

    def marks(self) -> dict[str, Mark]:
        """What is noted, by session id."""
        from reread.store.marks import marks

        return marks(self.connection)

    def tags(self) -> list[tuple[str, int]]:
        """Every tag with how many sessions have it, the most used first; spellings that differ in case are one."""
        from reread.marks.changes import counted

        marks: Iterable[Mark] = self.marks().values()
        return counted(marks)

    def moves(self) -> Moves:
        """Folders that are others today, as a person said."""
        from reread.store.moves import moves

        return moves(self.connection)

    def move_project(self, old: str, new: str) -> None:
        """Keeps that what happened in a folder, and in all below it, belongs to another. Filters and groups go by it;
        what sessions say of their working directory stays. Raises BadInput where it would lead back to `old`."""
        from reread.store.moves import put_move
        from reread.store.own_words import take_over_copy, write_copy

        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            self.moves().check(old, new)
            put_move(self.connection, old, new)
            write_copy(self.connection, self.home)

    def unmove_project(self, old: str) -> None:
        """Takes that back; raises BadInput where nothing was said about this folder."""
        from reread.errors import BadInput, printable
        from reread.store.moves import take_move
        from reread.store.own_words import take_over_copy, write_copy

        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            if not take_move(self.connection, old):
                known = ", ".join(printable(earlier) for earlier, _ in self.moves().pairs) or "nothing"
                raise BadInput(f"{printable(old)} was not moved; what was: {known}")
            write_copy(self.connection, self.home)
