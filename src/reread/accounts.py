"""What the archive says about tokens and money; `Archive` is one of these. Each method brings in what it needs."""

from __future__ import annotations

from pathlib import Path

from reread.holding import Holding
from reread.store.database import snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from reread.queries.caching import CacheReport
    from reread.queries.explaining import Explained
    from reread.queries.filters import Filter
    from reread.queries.limits import Limits
    from reread.queries.reconciling import Reconciled
    from reread.queries.unpriced import UnpricedModel
    from reread.queries.usage import UsageReport

QUICK_SYNC = 50_000_000
"""Source bytes that a sync takes in within about two seconds."""


class Accounts(Holding):
    """Questions to the ledger."""

    def usage(
        self,
        by: str = "day",
        wanted: Filter | None = None,
        timezone: tzinfo | None = None,
        *,
        is_recorded: bool = False,
        folds_worktrees: bool = False,
    ) -> UsageReport:
        """Tokens and money by day, week, month, session, model, project, branch, tool, block, agent or skill.

        Every API response counts once over all files. Days are those of the machine unless a zone is given. A project
        is a working directory, unless worktrees are folded into the project they were made from.
        """
        from reread.queries.cells import Ask
        from reread.queries.filters import Filter
        from reread.queries.usage import report

        self._reprice()
        ask = Ask(
            by=by,
            wanted=wanted or Filter(),
            zone=timezone,
            is_recorded=is_recorded,
            folds_worktrees=folds_worktrees,
        )
        with snapshot(self.connection):
            return report(self.connection, ask, self.prices)

    def reconciliation(self) -> dict[str, Reconciled]:
        """By session: what the client itself counted, beside what all responses in the session's files add up to.

        Only sessions that the client said something about are here.
        """
        from reread.queries.reconciling import reconciliation

        self._reprice()
        with snapshot(self.connection):
            return reconciliation(self.connection)

    def usage_ahead(
        self, by: str = "day", wanted: Filter | None = None, timezone: tzinfo | None = None
    ) -> UsageReport | None:
        """The same straight from the sources, while too much of them is not in the archive yet; nothing is taken in.

        None when a sync is quick, or the question needs one.
        """
        from reread.queries.cells import Ask, can_be_ahead
        from reread.queries.filters import Filter
        from reread.queries.usage import ahead
        from reread.store.unchanged import has_captures

        ask = Ask(by=by, wanted=wanted or Filter(), zone=timezone)
        if not can_be_ahead(ask) or has_captures(self.wire):
            return None
        from reread.ingest.counting import behind, count

        files = behind(self.connection, self.machine, self.sources)
        if sum(file.size for file in files) < QUICK_SYNC:
            return None
        counted = count(files, self.connection, self.prices)
        return ahead(self.connection, ask, self.prices, counted.cells, counted.lines)

    def caching(self, by: str = "day", wanted: Filter | None = None, timezone: tzinfo | None = None) -> CacheReport:
        """What the cache saved and what its rebuilds cost by day, week, month, model, project or session."""
        from reread.queries.caching import report
        from reread.queries.cells import Ask
        from reread.queries.filters import Filter

        self._reprice()
        with snapshot(self.connection):
            return report(self.connection, Ask(by=by, wanted=wanted or Filter(), zone=timezone), self.prices)

    def usage_and_caching(
        self, by: str, wanted: Filter | None = None, timezone: tzinfo | None = None, *, folds_worktrees: bool = False
    ) -> tuple[UsageReport, CacheReport]:
        """`usage` and `caching` of the same responses, in the time of one of them."""
        from reread.queries.caching import with_usage
        from reread.queries.cells import Ask
        from reread.queries.filters import Filter

        self._reprice()
        ask = Ask(by=by, wanted=wanted or Filter(), zone=timezone, folds_worktrees=folds_worktrees)
        with snapshot(self.connection):
            return with_usage(self.connection, ask, self.prices)

    def limits(self, now: datetime) -> Limits:
        """How much of the five-hour and the seven-day limit is used, as far as a status line told."""
        from reread.queries.limits import limits

        return limits(self.connection, now)

    def copied_into(self, wanted: str) -> frozenset[str]:
        """Keys of the responses in a session's files that were made in another session."""
        from reread.store import caching

        return caching.made_elsewhere(self.connection, self.find(wanted).id)

    def explain(self, wanted: str | Path) -> Explained:
        """How a cost comes about: of a response by message or request id, or of a session by id, `@last` or a file.

        A response tells every line that shows it and each step of its price; raises BadInput where nothing answers.
        """
        from reread.queries.explaining import Explainer

        self._reprice()
        with snapshot(self.connection):
            return Explainer(self.connection, self.files, self.prices, self.find).explain(wanted)

    def unpriced_models(self) -> list[UnpricedModel]:
        """Models with requests that have no price, each API response once; the one with most tokens first."""
        from reread.queries.unpriced import unpriced_models

        return unpriced_models(self.connection)
