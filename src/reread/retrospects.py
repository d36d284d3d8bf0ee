"""What the archive says about friction; `Archive` is one of these. Each method brings in what it needs."""

from __future__ import annotations

from reread.holding import Holding
from reread.store.database import snapshot, transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import tzinfo

    from reread.analyses.friction.events import Event
    from reread.queries.filters import Filter
    from reread.queries.labelling import Labelled
    from reread.queries.retro import Retro
    from reread.store.sessions import StoredSession


class Retrospects(Holding):
    """Questions about what went wrong."""

    def retro(
        self,
        wanted: Filter | None = None,
        session: str | None = None,
        *,
        kinds: Iterable[str] | None = None,
        with_agents: bool = False,
        least_confidence: float | None = None,
        with_wrong: bool = False,
        by: str = "hurt",
        timezone: tzinfo | None = None,
    ) -> Retro:
        """What hurt most over a period or in one session, against the person's own past; what repeats; what to change.

        Moments that a person said are none, that are unsure or that happened in subagents are left out unless asked
        for. Raises BadInput for a kind nobody knows.
        """
        from reread.queries.filters import Filter
        from reread.queries.labelling import kind_called
        from reread.queries.retro import LEAST_CONFIDENCE, Ask, retro

        ask = Ask(
            wanted=wanted or Filter(),
            session=self.find(session) if session is not None else None,
            kinds=frozenset(kind_called(name) for name in kinds) if kinds is not None else None,
            with_agents=with_agents,
            least_confidence=LEAST_CONFIDENCE if least_confidence is None else least_confidence,
            with_wrong=with_wrong,
            by=by,
            zone=timezone,
        )
        with snapshot(self.connection):
            return retro(self.connection, ask)

    def moments_of(self, session: StoredSession) -> list[Event]:
        """What went wrong in one session, as `retro` would show it: one look at its rows, cheap enough for any page.

        What shows only over many sessions, such as an instruction that is repeated, is not among it.
        """
        from reread.queries.moments import moments_of
        from reread.queries.retro import LEAST_CONFIDENCE

        return moments_of(self.connection, session, LEAST_CONFIDENCE)

    def mark_wrong(self, uuid: str, kind: str | None = None) -> Labelled:
        """Keeps that a moment is none, of one kind or of any that were found at this line; a beginning of the uuid
        will do. Raises BadInput where there is no such moment."""
        from reread.queries.labelling import moment_called, put
        from reread.store.own_words import take_over_copy, write_copy

        named = moment_called(self.connection, uuid, kind)
        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            put(self.connection, named)
            write_copy(self.connection, self.home)
        return named

    def mark_right(self, uuid: str, kind: str | None = None) -> Labelled:
        """Takes that back."""
        from reread.queries.labelling import label_called, take
        from reread.store.own_words import take_over_copy, write_copy

        named = label_called(self.connection, uuid, kind)
        with transaction(self.connection, durable=True):
            take_over_copy(self.connection, self.home)
            take(self.connection, named)
            write_copy(self.connection, self.home)
        return named
