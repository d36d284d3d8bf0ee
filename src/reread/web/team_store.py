"""A team's store as the pages ask for it: money from its ledger, each time; a conversation's text when it is opened.

Rows of sessions are copied into an archive in a temporary folder, because lists are sorted and filtered there. Text is
not copied: who opens a page of somebody else's session leaves a row in the store's audit, as with `reread show`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

from reread.archive import Archive, SearchAnswer, SyncResult, filters
from reread.archive.billing import ArchiveBilling
from reread.archive.cache_report import CacheReport
from reread.archive.status import Budget
from reread.archive.usage_report import UsageReport
from reread.loading import LoadedSession
from reread.team import questions
from reread.team.store import Store, budgets

EVERY = 30.0
"""Seconds between two looks at what is new in the store."""


def named_budgets(url: str) -> list[tuple[str, Budget]]:
    """The budgets of teams and projects that a role sees."""
    with Store(url) as store:
        return [(each.name, Budget(each.period, each.limit, each.spent)) for each in budgets(store)]


class StoreArchive(Archive):
    """An archive of the rows that a role sees in a store."""

    def __init__(self, url: str, home: Path) -> None:
        super().__init__(home)
        self._url = url

    def fill(self) -> None:
        """Copies the rows of all sessions, in place of those that were copied before."""
        with Store(self._url) as store:
            self.inner.take_rows(questions.machines(store), questions.session_rows(store))

    def watch(self, stop: Event | None = None) -> Iterator[SyncResult]:
        stop, before = stop or Event(), None
        while not stop.is_set():
            with Store(self._url) as store:
                now = questions.state(store)
            if now != before:
                self.fill()
                yield SyncResult()
            before = now
            stop.wait(EVERY)

    def usage(self, by: str = "day", base: Any = None, timezone: Any = None, **_: Any) -> UsageReport:
        """As `reread --store URL usage`: work in worktrees is shown as that of its folder."""
        with Store(self._url) as store:
            return questions.usage(store, by, base, filters.zone_of(timezone))

    def search(
        self,
        query: str,
        fields: Any = None,
        base: Any = None,
        limit: int = 20,
        *,
        now: datetime | None = None,
        **_: Any,
    ) -> SearchAnswer:
        with Store(self._url) as store:
            return questions.search(store, query, fields, base or filters.Filter(), limit, now or datetime.now(UTC))

    def session(self, session: Any) -> LoadedSession:
        """As it was pushed. Raises BadInput if no text was pushed, or the role may not read it."""
        with Store(self._url) as store:
            return questions.session(store, self.find(session).row.uuid)[0]

    @property
    def billing(self) -> StoreBilling:
        return StoreBilling(self)


class StoreBilling(ArchiveBilling):
    """The store has no causes of what its cache cost; that part of a report is empty."""

    def __init__(self, archive: StoreArchive) -> None:
        super().__init__(archive.inner)
        self._store = archive

    def usage_and_caching(self, by: str, *about: Any, **more: Any) -> tuple[UsageReport, CacheReport]:
        return self._store.usage(by, *about, **more), super().usage_and_caching(by, *about, **more)[1]
