"""What the archive finds in the words of sessions; `Archive` is one."""

from __future__ import annotations

from reread.holding import Holding
from reread.store.database import snapshot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from reread.analyses.texts import Field
    from reread.queries.facets import Cells as CountedHits
    from reread.queries.filters import Filter
    from reread.queries.search import SearchAnswer, Searcher
    from reread.queries.secret_scan import SecretsAnswer, SecretScan
    from reread.store.sessions import StoredSession

MOST_HITS = 3_000
"""Of one session: each is read from the safe."""


class Searching(Holding):
    """Questions to the full-text index."""

    def search(
        self,
        query: str,
        fields: frozenset[Field] | None = None,
        wanted: Filter | None = None,
        limit: int = 20,
        *,
        is_regex: bool = False,
        now: datetime | None = None,
    ) -> SearchAnswer:
        """The best of the newest matches in all fields but tool results, unless others are named.

        With `is_regex` every text is held against a pattern.
        """
        from reread.queries.filters import Filter
        from reread.queries.language import DEFAULT_FIELDS

        searcher = self._searcher(now)
        ask = searcher.scan if is_regex else searcher.search
        with snapshot(self.connection):
            return ask(query, fields if fields is not None else DEFAULT_FIELDS, wanted or Filter(), limit)

    def count_hits(
        self, query: str, fields: frozenset[Field] | None = None, wanted: Filter | None = None
    ) -> CountedHits:
        """How many hits a search has in which session, field and hour; for `reread.queries.facets`."""
        from reread.queries.filters import Filter
        from reread.queries.language import DEFAULT_FIELDS

        with snapshot(self.connection):
            return self._searcher().cells(query, fields if fields is not None else DEFAULT_FIELDS, wanted or Filter())

    def hits_in(self, stored: StoredSession, query: str, fields: frozenset[Field] | None = None) -> set[str]:
        """The uuids of the lines of one session that a search finds, a few thousand at most."""
        from reread.queries.language import DEFAULT_FIELDS

        wanted = fields if fields is not None else DEFAULT_FIELDS
        with snapshot(self.connection):
            return self._searcher().lines_in(query, wanted, stored.id, MOST_HITS)

    def secrets(self, wanted: Filter | None = None, tell: Callable[[int, int], None] | None = None) -> SecretsAnswer:
        """Which keys and passwords lie in past sessions, and where; never their values.

        What is new since the last question is looked through first; `tell` hears how many bytes of how many are done.
        """
        from reread.queries.filters import Filter

        return self.secret_scan().secrets(wanted or Filter(), tell)

    def secret_scan(self) -> SecretScan:
        from reread.queries.secret_scan import SecretScan
        from reread.store.bytes_kept import KeptBytes

        files = KeptBytes(self.connection, self.safe)
        return SecretScan(self.connection, files, is_read_only=self.is_read_only)

    def _searcher(self, now: datetime | None = None) -> Searcher:
        from datetime import UTC, datetime

        from reread.queries.search import Searcher
        from reread.store.bytes_kept import KeptBytes

        return Searcher(self.connection, KeptBytes(self.connection, self.safe), now or datetime.now(UTC))
