"""What the cache saved and what its rebuilds cost, every API response once over all files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from reread.billing.report import Sums, Tokens
from reread.errors import BadInput
from reread.store import caching
from reread.store import usage as ledger
from reread.store.moves import moves

from .cells import Ask, Cell
from .choosing import choose
from .days import PERIODS, Calendar
from .projects import name_of
from .usage import Accounting, UsageReport, summed, with_shown_models, with_titles

if TYPE_CHECKING:
    from reread.analyses.throughput import Throughput
    from reread.billing import Prices

GROUPINGS = (*PERIODS, "model", "project", "session")


class Caching(NamedTuple):
    """What the cache did for some requests: the columns of `CACHE_SUMS`. Money is in nano-dollars."""

    saved: int | None = None
    """Against sending everything as input; may be negative. None where nothing has a price."""
    rebuilds: int = 0
    rebuilt_tokens: int = 0
    premium: int | None = None
    """What the rebuilt tokens cost above reading them. None where none of them has a price."""
    unpriced_rebuilds: int = 0
    thinking_tokens: int = 0
    """As the API tells them."""
    estimated_thinking_tokens: int = 0
    """By the stored text, where the API tells none."""
    judged_output_tokens: int = 0
    """Output of the requests whose thinking is told or estimated."""

    @property
    def thinking_share(self) -> float | None:
        """Of the output that can be judged; None where none can."""
        thought = self.thinking_tokens + self.estimated_thinking_tokens
        return thought / self.judged_output_tokens if self.judged_output_tokens else None


class CacheRow(Struct, frozen=True, kw_only=True):
    """One line of a report. The key is None for what belongs to none."""

    key: str | None
    title: str | None
    tokens: Tokens
    caching: Caching


class Cause(Struct, frozen=True, kw_only=True):
    """Rebuilds for one reason."""

    name: str
    is_told: bool
    """By the API; else inferred."""
    caching: Caching


class Context(Struct, frozen=True, kw_only=True):
    """How large the prompts of a chain of requests were, in the order of time."""

    agent: str | None
    """None for the conversation itself."""
    prompts: tuple[tuple[datetime | None, int], ...]


class FoundRebuild(Struct, frozen=True, kw_only=True):
    time: datetime | None
    agent: str | None
    model: str | None
    prompt_tokens: int
    tokens: int
    nanodollars: int | None
    cause: str
    is_told: bool


class SessionCaching(Struct, frozen=True, kw_only=True):
    """What only a session's files tell."""

    id: str
    title: str
    project: str | None
    contexts: tuple[Context, ...]
    rebuilds: tuple[FoundRebuild, ...]
    throughput: Throughput


class CacheReport(Struct, frozen=True, kw_only=True):
    by: str
    rows: tuple[CacheRow, ...]
    totals: Tokens
    caching: Caching
    causes: tuple[Cause, ...]
    """The dearest first."""
    accounting: Accounting
    session: SessionCaching | None = None


class CacheCell(NamedTuple):
    """Some responses that belong together; rebuilds among them have one cause."""

    cell: Cell
    cause: str | None
    is_told: bool
    caching: Caching


def report(connection: sqlite3.Connection, ask: Ask, prices: Prices) -> CacheReport:
    """The answer over everything the archive keeps."""
    return with_usage(connection, ask, prices)[1]


def with_usage(connection: sqlite3.Connection, ask: Ask, prices: Prices) -> tuple[UsageReport, CacheReport]:
    """The report of usage and that of the cache, for one look at the responses."""
    check_grouping(ask.by)
    cells = list(_cells(connection, ask))
    plain = with_shown_models((each.cell for each in cells), prices)
    usage = summed(ask.by, plain, prices, ledger.lines_read(connection))
    if ask.by == "session":
        usage = with_titles(connection, usage)
    return usage, with_caching(usage, [each._replace(cell=cell) for each, cell in zip(cells, plain, strict=True)])


def check_grouping(by: str) -> None:
    if by not in GROUPINGS:
        raise BadInput(f"the cache by {by!r} is not there; try {', '.join(GROUPINGS)}")


def with_caching(usage: UsageReport, cells: Sequence[CacheCell], session: SessionCaching | None = None) -> CacheReport:
    """A report of usage with what the cache did, from the cells that it was made of."""
    by_key: dict[str | None, list[Caching]] = {}
    for each in cells:
        by_key.setdefault(each.cell.key, []).append(each.caching)
    return CacheReport(
        by=usage.by,
        rows=tuple(
            CacheRow(key=row.key, title=row.title, tokens=row.tokens, caching=added(by_key[row.key]))
            for row in usage.rows
        ),
        totals=usage.totals,
        caching=added(each.caching for each in cells),
        causes=tuple(_causes(cells)),
        accounting=usage.accounting,
        session=session,
    )


def added(parts: Iterable[Caching]) -> Caching:
    """The sum of sums; money is None when none of them has a price."""
    columns = zip(*parts, strict=True)
    return Caching(*(_total(column) for column in columns))


def _total(column: Sequence[int | None]) -> Any:
    known = [value for value in column if value is not None]
    return sum(known) if known else None


def _causes(cells: Iterable[CacheCell]) -> list[Cause]:
    by_cause: dict[tuple[str, bool], list[Caching]] = {}
    for each in cells:
        if each.cause is not None:
            by_cause.setdefault((each.cause, each.is_told), []).append(each.caching)
    causes = [Cause(name=name, is_told=told, caching=added(parts)) for (name, told), parts in by_cause.items()]
    return sorted(causes, key=lambda each: (-(each.caching.premium or 0), -each.caching.rebuilt_tokens, each.name))


def _cells(connection: sqlite3.Connection, ask: Ask) -> Iterator[CacheCell]:
    wanted = ask.wanted
    known = (
        ledger.circumstances(connection) if any((wanted.project, wanted.git_branch, wanted.model, wanted.tool)) else {}
    )
    homes = ledger.homes(connection) if ask.by == "session" else {}
    rows = caching.grouped(connection, _DIMENSIONS.get(ask.by, "quarter"), choose(connection, wanted, known))
    keys, moved = Keys(ask), moves(connection)
    for place, model, cause, is_told, *values in rows:
        session = homes[place][0] if place in homes else None
        project = name_of(place, moved, folds_worktrees=ask.folds_worktrees) if ask.by == "project" else None
        key = keys.of(place, session=session, model=model, project=project)
        sums, done = Sums(*values[:_SUMS]), Caching(*values[_SUMS:])
        yield CacheCell(Cell(key, model, sums), cause, bool(is_told), done)


_DIMENSIONS: dict[str, caching.Dimension] = {"model": "all", "project": "project", "session": "home"}
_SUMS = len(Sums._fields)


class Keys:
    """What a report is by."""

    def __init__(self, ask: Ask) -> None:
        self._by = ask.by
        self._calendar = Calendar(ask.zone)

    def of(self, quarter: int, **names: str | None) -> str | None:
        """The name of the period a quarter of an hour lies in, or the one of these names that is asked for."""
        if self._by not in PERIODS:
            return names[self._by]
        day = self._calendar.day(quarter)
        return None if day is None else PERIODS[self._by](day)
