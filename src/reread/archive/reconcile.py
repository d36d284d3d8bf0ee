"""What the client counted for a session beside what its transcripts add up to.

A client counts on when a session is resumed or forked (2.1.325 writes the total into the transcript for that), so a
fork carries the total of what it was forked from, and is held against everything in its own files. It says more
than the transcripts, because titles, recaps, compaction summaries, permission checks and interrupted answers are
billed and leave no usage there; and less where it began again at zero and nobody wrote down the total before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from msgspec import Struct

from reread.index import client_totals
from reread.index.meta import as_path
from reread.index.usage_sums import own_money
from reread.times import moment

REASONS = (
    "the client says more where titles, recaps, compaction, permission checks and interrupted answers were billed: "
    "they leave no usage in transcripts, or a model has no price here; less where it began to count again and its "
    "total before was not written down"
)


class Reconciled(Struct, frozen=True, kw_only=True):
    """A session as the client counted it, and as its transcripts tell it; money in nano-dollars."""

    session: str
    client: int
    source: str
    """Where the client said so: cost-state, result or statusline."""
    said: datetime | None
    """When it did."""
    transcripts: int | None
    """Every response in the session's own files, agents included, also those that another session has too."""

    @property
    def difference(self) -> int | None:
        """What the client counted beyond the transcripts."""
        return None if self.transcripts is None else self.client - self.transcripts

    @property
    def share(self) -> float | None:
        """The difference as a part of what the client counted."""
        return None if self.difference is None or not self.client else self.difference / self.client


class Figure(Struct, frozen=True):
    """What one source says about a session."""

    source: str
    nanodollars: int
    said: int | None


def reconciliation(connection: sqlite3.Connection) -> dict[str, Reconciled]:
    """Every session the client said something about and the archive has, by its id."""
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
    """From one beginning on: the totals that were said first and last."""

    began: int | None
    first: int
    last: int


def figure_of(source: str, rows: Iterable[tuple[Any, ...]]) -> Figure:
    """The totals of a source put together, in the order the client began to count.

    A count that began no lower than the one before ended goes on from there; any other began at zero, and is added.
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
    """A source that missed a run of the client says less: the one that says most has missed least. Of equals the
    first by name, so that a total in the transcript itself is named before one that was captured beside it.
    """
    return max(figures, key=lambda figure: figure.nanodollars)
