"""What the archive says about friction; `Archive` is one of these. Each method brings in what it needs."""

from __future__ import annotations

from reread.holding import Holding
from reread.store.database import snapshot, transaction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo
    from pathlib import Path

    from reread.analyses.friction.events import Event
    from reread.analyses.friction.instructions import Stated
    from reread.analyses.friction.suggestions import Suggestion
    from reread.client_settings.advice import Applied
    from reread.queries.filters import Filter
    from reread.queries.labelling import Labelled
    from reread.queries.retro import Retro
    from reread.store.sessions import StoredSession


_APPLIED = "applied.jsonl"


def _client_home() -> Path:
    """Where Claude Code keeps what holds for all projects."""
    import os
    from pathlib import Path

    named = os.environ.get("CLAUDE_CONFIG_DIR", "").strip()
    return Path(named) if named else Path.home() / ".claude"


def _stated(project: str | None) -> Stated:
    from pathlib import Path

    from reread.client_settings.advice import stated_in

    return stated_in(_client_home(), is_home=True) if project is None else stated_in(Path(project))


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
            stated=_stated,
            applied=self.applied(),
        )
        with snapshot(self.connection):
            return retro(self.connection, ask)

    def planned(self, each: Suggestion) -> Applied:
        """What putting a suggestion where it belongs would change; raises BadInput where it cannot be put there."""
        from pathlib import Path

        from reread.client_settings.advice import applied

        return applied(each, Path(each.project) if each.project else None, _client_home())

    def apply(self, plan: Applied) -> None:
        """Writes what was planned, with the file as it was beside it, and remembers the day.

        The next retrospectives tell how often things went wrong before and after it. Raises BadInput where the file
        was changed in the meantime.
        """
        import json
        from datetime import UTC, datetime

        plan.file.write(plan.change)
        noted = {"path": str(plan.file.path), "at": datetime.now(UTC).isoformat()}
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.home / _APPLIED).open("a", encoding="utf-8") as notes:
            notes.write(json.dumps(noted) + "\n")

    def applied(self) -> tuple[tuple[str, datetime], ...]:
        """The files that suggestions were put into, and when; a line that cannot be read is passed over."""
        import json
        from datetime import datetime

        try:
            lines = (self.home / _APPLIED).read_text("utf-8", "replace").splitlines()
        except OSError:
            return ()
        found = []
        for line in lines:
            try:
                noted = json.loads(line)
                found.append((str(noted["path"]), datetime.fromisoformat(noted["at"])))
            except (ValueError, KeyError, TypeError):
                continue
        return tuple(found)

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
