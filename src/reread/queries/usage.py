"""What was used, and for how much: every API response once over all files, added up by whatever one asks for."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from reread.billing.report import Sums, Tokens, added, total
from reread.errors import BadInput
from reread.store import said
from reread.store import usage as ledger
from reread.times import moment

from .cells import Ask, Cell, cells_ahead, cells_kept
from .days import PERIODS
from .windows import told_apart

if TYPE_CHECKING:
    from reread.billing import Prices

_DATE = re.compile(r"-\d{8}$")
GROUPINGS = (*PERIODS, "session", "model", "project", "branch", "tool", "block", "agent", "skill", "machine")
ALIASES = {"daily": "day", "weekly": "week", "monthly": "month", "branches": "branch"} | {
    f"{by}s": by for by in GROUPINGS
}


class ModelUse(Struct, frozen=True, kw_only=True):
    model: str | None
    tokens: Tokens
    suspect: int = 0


class UsageRow(Struct, frozen=True, kw_only=True):
    """One line of a report. The key is None for what belongs to none: no time, no branch, no tool."""

    key: str | None
    tokens: Tokens
    models: tuple[ModelUse, ...] = ()
    suspect: int = 0
    """Requests whose output is probably only the beginning of the true count."""
    first: datetime | None = None
    last: datetime | None = None
    title: str | None = None
    project: str | None = None
    agents: Tokens | None = None
    """Of a session: the part its subagents used."""
    abandoned: Tokens | None = None
    """Of a session: the part spent on branches that were rewound."""


class Accounting(Struct, frozen=True, kw_only=True):
    """What a report was made from, and what it does not know."""

    lines_read: int
    malformed_lines: int | None
    """None where nothing but usage was looked at."""
    requests: int
    duplicates_collapsed: int
    unpriced_tokens: int
    unpriced_models: tuple[str | None, ...]
    suspect_output_requests: int
    provisional_requests: int
    price_table_date: str


class UsageReport(Struct, frozen=True, kw_only=True):
    by: str
    rows: tuple[UsageRow, ...]
    totals: Tokens
    models: tuple[ModelUse, ...]
    accounting: Accounting
    told_windows: tuple[int, ...] = ()
    """Of a report by block: the beginnings, in seconds, of windows that a status line told of."""
    is_recorded: bool = False
    """Whether money is what the client wrote into its lines."""


def report(connection: sqlite3.Connection, ask: Ask, prices: Prices) -> UsageReport:
    """The whole answer to `ask`."""
    if ask.by not in GROUPINGS:
        raise BadInput(f"usage by {ask.by!r} is not there; try {', '.join(GROUPINGS)}")
    told = _told_windows(connection, ask)
    cells = with_shown_models(merged(cells_kept(connection, ask, told)), prices)
    made = summed(ask.by, cells, prices, ledger.lines_read(connection))
    made = replace(made, told_windows=told, is_recorded=ask.is_recorded)
    return with_titles(connection, made) if ask.by == "session" else made


def ahead(
    connection: sqlite3.Connection, ask: Ask, prices: Prices, counted: Sequence[tuple[Any, ...]], lines: int
) -> UsageReport:
    """The report of sums by quarter that were counted ahead of a sync, from so many lines of usage."""
    told = _told_windows(connection, ask)
    cells = with_shown_models(merged(cells_ahead(counted, ask, told)), prices)
    return replace(summed(ask.by, cells, prices, (lines, None)), told_windows=told)


def _told_windows(connection: sqlite3.Connection, ask: Ask) -> tuple[int, ...]:
    return tuple(told_apart(said.windows(connection))) if ask.by == "block" else ()


def shown_model(raw: str | None, prices: Prices) -> str | None:
    """An id of the API stays as it is, with or without its date; what a client, a gateway or a cloud makes of it is
    shown by the model's plain name, where the table knows it.
    """
    known = prices.model(raw)
    if raw is None or known is None:
        return raw
    plain = raw.lower().partition("[")[0]
    return plain if _DATE.sub("", plain) == known.name else known.name


def merged(cells: Iterable[Cell]) -> list[Cell]:
    """One cell for all that agree in everything but their sums."""
    found: dict[tuple[str | None, str | None, bool, bool], list[Sums]] = {}
    for key, model, sums, is_agent, is_abandoned in cells:
        place = (key, model, is_agent, is_abandoned)
        if place in found:
            found[place].append(sums)
        else:
            found[place] = [sums]
    return [
        Cell(key, model, added(sums), is_agent, is_abandoned)
        for (key, model, is_agent, is_abandoned), sums in found.items()
    ]


def with_shown_models(cells: Iterable[Cell], prices: Prices) -> list[Cell]:
    names: dict[str | None, str | None] = {}
    found = []
    for cell in cells:
        if cell.model not in names:
            names[cell.model] = shown_model(cell.model, prices)
        name = names[cell.model]
        is_key = cell.key is not None and cell.key == cell.model
        found.append(cell if name == cell.model else cell._replace(model=name, key=name if is_key else cell.key))
    return found


def summed(by: str, cells: list[Cell], prices: Prices, lines: tuple[int, int | None]) -> UsageReport:
    """Cells to rows, in the order of their keys for periods, else the dearest first."""
    by_key: dict[str | None, list[Cell]] = {}
    for cell in cells:
        by_key.setdefault(cell.key, []).append(cell)
    rows = [_row(key, inside, is_session=by == "session") for key, inside in by_key.items()]
    if by in PERIODS or by == "block":
        rows.sort(key=lambda row: (row.key is None, row.key or ""))
    else:
        rows.sort(key=lambda row: (-(row.tokens.nanodollars or 0), -row.tokens.total_tokens, row.key or ""))
    everything = added(cell.sums for cell in cells)
    return UsageReport(
        by=by,
        rows=tuple(rows),
        totals=everything.tokens,
        models=_models(cells),
        accounting=Accounting(
            lines_read=lines[0],
            malformed_lines=lines[1],
            requests=everything.requests,
            duplicates_collapsed=everything.duplicates,
            unpriced_tokens=everything.unpriced_tokens,
            unpriced_models=tuple(sorted({cell.model for cell in cells if cell.sums.unpriced_tokens}, key=str)),
            suspect_output_requests=everything.suspect,
            provisional_requests=everything.provisional,
            price_table_date=prices.as_of.isoformat(),
        ),
    )


def _row(key: str | None, cells: list[Cell], *, is_session: bool) -> UsageRow:
    sums = added(cell.sums for cell in cells)
    return UsageRow(
        key=key,
        tokens=sums.tokens,
        models=_models(cells),
        suspect=sums.suspect,
        first=moment(sums.first),
        last=moment(sums.last),
        agents=total(cell.sums.tokens for cell in cells if cell.is_agent) if is_session else None,
        abandoned=total(cell.sums.tokens for cell in cells if cell.is_abandoned) if is_session else None,
    )


def _models(cells: Iterable[Cell]) -> tuple[ModelUse, ...]:
    by_model: dict[str | None, list[Sums]] = {}
    for cell in cells:
        by_model.setdefault(cell.model, []).append(cell.sums)
    found = ((model, added(by_model[model])) for model in sorted(by_model, key=lambda name: name or ""))
    return tuple(ModelUse(model=model, tokens=sums.tokens, suspect=sums.suspect) for model, sums in found)


def with_titles(connection: sqlite3.Connection, made: UsageReport) -> UsageReport:
    about = ledger.titles(connection)
    rows = [
        replace(row, title=about[row.key][0], project=about[row.key][1]) if row.key is not None else row
        for row in made.rows
    ]
    return replace(made, rows=tuple(rows))
