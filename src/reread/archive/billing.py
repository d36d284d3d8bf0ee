"""`archive.billing`: what sessions cost, what the cache saved, how a cost is calculated, what the client counted."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.index import client_totals, ledger, source_state, usage_sums
from reread.index.database import snapshot
from reread.index.meta import as_path
from reread.index.usage_sums import own_money
from reread.times import moment

from . import usage_report
from .filters import Filter, FilterOptions, Zone, make_filter, text_of, zone_of
from .usage_report import UnpricedModel, UsageQuestion, UsageReport

if TYPE_CHECKING:
    from typing import Unpack

    from reread.archive import cache_report, context_report, explain, inner, limit_windows, listing
    from reread.ingest import cold_usage

    from .cache_report import CacheReport
    from .context_report import ContextAnswer, Offered
    from .explain import Explained
    from .inner import InnerArchive
    from .limit_windows import LimitWindow
    from .listing import SessionName
else:
    lazy.bind(globals())


REASONS = (
    "the client says more where titles, recaps, compaction, permission checks and interrupted answers were billed: "
    "they leave no usage in transcripts, or a model has no price here; less where it began to count again and its "
    "total before was not written down"
)


class Reconciled(Struct, frozen=True, kw_only=True):
    """A session's cost by the client's own count and by its transcripts, in nano-dollars."""

    session: str
    client: int
    source: str
    """Where the client reported it: cost-state, result or statusline."""
    said: datetime | None
    """When the client reported it."""
    transcripts: int | None
    """Every response in the session's own files, agents included, even those that another session has too."""

    @property
    def difference(self) -> int | None:
        """What the client counted beyond the transcripts."""
        return None if self.transcripts is None else self.client - self.transcripts

    @property
    def share(self) -> float | None:
        """The difference as a fraction of what the client counted."""
        return None if self.difference is None or not self.client else self.difference / self.client


class Figure(Struct, frozen=True):
    """The total that one source reports for a session."""

    source: str
    nanodollars: int
    said: int | None


def reconciliation(connection: sqlite3.Connection) -> dict[str, Reconciled]:
    """Every session of the archive for which the client reported a total, by its id."""
    money = own_money(connection)
    found: dict[str, Reconciled] = {}
    for session, rows in groupby(client_totals.counts(connection), key=lambda row: row[0]):
        if session in money:
            figure = best([figure_of(source, inside) for source, inside in groupby(rows, key=lambda row: row[1])])
            name = as_path(session)
            found[name] = Reconciled(
                session=name,
                client=figure.nanodollars,
                source=figure.source,
                said=moment(figure.said),
                transcripts=money[session],
            )
    return found


class Count(NamedTuple):
    """One run of the client's counter: when it began, and the first and last totals reported."""

    began: int | None
    first: int
    last: int


def figure_of(source: str, rows: Iterable[tuple[Any, ...]]) -> Figure:
    """The counts of a source combined, in the order in which the client began them.

    A count whose first total is no lower than the last total before it continues that one; any other began at zero, so
    it is added.
    """
    counts: list[Count] = []
    said_at = None
    for _, _, began, said_at, first, last in rows:  # noqa: B007  the last one counts
        at = next((i for i, known in enumerate(counts) if _is_one_count(known.began, began)), None)
        if at is None:
            counts.append(Count(began, first, last))
        else:
            counts[at] = Count(began, min(first, counts[at].first), max(last, counts[at].last))
    ended = total = 0
    for count in counts:
        ended += total if count.first < total else 0
        total = count.last
    return Figure(source, ended + total, said_at)


def _is_one_count(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and abs(one - other) <= client_totals.SAME_COUNT_MS


def best(figures: list[Figure]) -> Figure:
    """The largest figure: a source that missed a run of the client reports less, so the largest has missed least. Of
    equal figures the first, and sources come by name, so a total in the transcript itself precedes a captured one.
    """
    return max(figures, key=lambda figure: figure.nanodollars)


_MOST_SHARES = 3
QUICK_SYNC = 50_000_000
"""Source bytes that a sync imports within about two seconds."""


def _question(
    by: str, base: Filter | None, timezone: Zone | None, filters: FilterOptions, **how: bool
) -> UsageQuestion:
    return UsageQuestion(by=by, filters=make_filter(base, filters, timezone), zone=zone_of(timezone), **how)


class ArchiveBilling:
    """Questions about tokens and money. Every API response counts once over all files."""

    def __init__(self, archive: InnerArchive) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<billing of {self._archive!r}>"

    @contextmanager
    def _snapshot(self) -> Iterator[sqlite3.Connection]:
        """One state of the archive, priced by the prices of today."""
        self._archive.reprice()
        with snapshot(self._archive.connection):
            yield self._archive.connection

    def usage(
        self,
        by: str = "day",
        base: Filter | None = None,
        timezone: Zone | None = None,
        *,
        is_recorded: bool = False,
        folds_worktrees: bool = False,
        **filters: Unpack[FilterOptions],
    ) -> UsageReport:
        """Tokens and money by day, week, month, session, model, project, branch, tool, block, agent or skill.

        Days are in the machine's time zone unless one is given. A project is a working directory; with
        `folds_worktrees` it is what `projects` lists: the session's, and for a worktree the one it was made from.
        """
        ask = _question(by, base, timezone, filters, is_recorded=is_recorded, folds_worktrees=folds_worktrees)
        with self._snapshot() as connection:
            return usage_report.report(connection, ask, self._archive.prices)

    def usage_ahead(
        self,
        by: str = "day",
        base: Filter | None = None,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> UsageReport | None:
        """The same report directly from the sources, for when a sync would take too long; nothing is imported.

        None if a sync would be quick, or the question cannot be answered without one.
        """
        archive = self._archive
        ask = _question(by, base, timezone, filters)
        if not usage_report.can_be_ahead(ask) or source_state.has_captures(archive.wire) or archive.has_lost_index:
            return None
        files = cold_usage.behind(archive.connection, archive.machine, archive.sources)
        if sum(file.size for file in files) < QUICK_SYNC:
            return None
        counted = cold_usage.count(files, archive.connection, archive.prices)
        return usage_report.ahead(archive.connection, ask, archive.prices, counted.cells, counted.lines)

    def caching(
        self,
        by: str = "day",
        base: Filter | None = None,
        timezone: Zone | None = None,
        **filters: Unpack[FilterOptions],
    ) -> CacheReport:
        """What the cache saved and what its rebuilds cost by day, week, month, model, project or session."""
        ask = _question(by, base, timezone, filters)
        with self._snapshot() as connection:
            return cache_report.report(connection, ask, self._archive.prices)

    def usage_and_caching(
        self,
        by: str,
        base: Filter | None = None,
        timezone: Zone | None = None,
        *,
        folds_worktrees: bool = False,
        **filters: Unpack[FilterOptions],
    ) -> tuple[UsageReport, CacheReport]:
        """`usage` and `caching` of the same responses, in the time that one of them takes."""
        ask = _question(by, base, timezone, filters, folds_worktrees=folds_worktrees)
        with self._snapshot() as connection:
            return cache_report.with_usage(connection, ask, self._archive.prices)

    def reconciliation(self) -> dict[str, Reconciled]:
        """By session: what the client itself counted, and the sum of all responses in the session's files.

        Contains only sessions for which the client reported a total.
        """
        with self._snapshot() as connection:
            return reconciliation(connection)

    def reused_and_copied(self) -> tuple[int, int]:
        """How many ids gateways gave to several responses, and how many responses several files tell of."""
        return ledger.reused_and_copied(self._archive.connection)

    def limits(self, since: datetime | None = None, now: datetime | None = None) -> list[LimitWindow]:
        """The windows of the usage limits that the client reported, of the last 30 days unless `since` is given: how
        full each became, whether it was reached, what used it up, and when an open one runs out at its pace."""
        now = now or datetime.now(UTC)
        archive = self._archive
        found = limit_windows.limit_windows(archive.connection, since or now - limit_windows.BACK, now)
        return [self._with_shares(each, now) if each.hit or each.is_open(now) else each for each in found]

    def _with_shares(self, window: LimitWindow, now: datetime) -> LimitWindow:
        """With what had the largest shares of the cost until it was reached, is now, or was over."""
        if window.began is None or window.resets is None:
            return window
        until = min(window.hit or now, window.resets)
        shares: list[limit_windows.LimitShare] = []
        for by in limit_windows.SHARES_BY:
            found = self.usage(by, since=window.began, until=until, model=window.scope)
            whole = found.totals.nanodollars or 0
            rows = found.rows[:_MOST_SHARES] if whole else ()
            shares += [limit_windows.LimitShare(by, row.key, (row.tokens.nanodollars or 0) / whole) for row in rows]
        return replace(window, used_up_by=tuple(shares))

    def copied_into(self, session: SessionName) -> frozenset[str]:
        """Keys of the responses in a session's files that were made in another session."""
        return usage_sums.made_elsewhere(self._archive.connection, self._archive.find(session).id)

    def explain(self, name: str | Path) -> Explained:
        """How a cost is calculated: of a response by message or request id, or of a session by id, `@last` or a file.

        For a response this lists every line that shows it and each step of its price. Raises BadInput if nothing has
        this name.
        """
        archive = self._archive
        name = name if isinstance(name, Path) else text_of(name, "the name")
        with self._snapshot() as connection:
            return explain.Explainer(connection, archive.reader, archive.prices, archive.find).explain(name)

    def context(self, session: SessionName) -> ContextAnswer:
        """What fills the context of a session, and what its compactions cost."""
        return context_report.context_of(self._archive.session(session))

    def offered(self, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> list[Offered]:
        """The skills, agents, MCP servers and memory files in the context of sessions, how often they were used and
        what they cost, the dearest first: `archive.billing.offered(since="30d")`. Reads these sessions from the
        safe."""
        archive = self._archive
        archive.reprice()
        chosen = list(listing.listed(archive.connection, make_filter(base, filters), inner.CLEANUP_DAYS))
        return context_report.offered_in(archive.session(each) for each in chosen)

    def unpriced_models(self) -> list[UnpricedModel]:
        """Models with requests that have no price, each API response once; the model with the most tokens first."""
        return usage_report.unpriced_models(self._archive.connection)
