"""What was used, and for how much: every API response once over all files, added up by whatever one asks for."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread.errors import BadInput
from reread.pricing.tokens import Tokens, total
from reread.store import said, usage_cells
from reread.store import usage as ledger
from reread.store.moves import moves
from reread.store.times import moment

from .days import LAST_QUARTER, PERIODS, QUARTER_SECONDS, Calendar
from .filters import Filter
from .projects import name_of
from .windows import told_apart

if TYPE_CHECKING:
    from reread.pricing import Prices
    from reread.store.rows import Circumstance

_NEVER = 1 << 62
_DATE = re.compile(r"-\d{8}$")
ALIASES = {"daily": "day", "weekly": "week", "monthly": "month", "blocks": "block"}
GROUPINGS = (*PERIODS, "session", "model", "project", "branch", "tool", "block", "agent", "skill")


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


class Sums(NamedTuple):
    """The columns of a cell after its key."""

    requests: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_5m_tokens: int
    cache_write_1h_tokens: int
    web_searches: int
    nanodollars: int | None
    unpriced_tokens: int
    duplicates: int
    suspect: int
    provisional: int
    first: int | None
    last: int | None

    @property
    def tokens(self) -> Tokens:
        return Tokens(
            requests=self.requests,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_5m_tokens=self.cache_write_5m_tokens,
            cache_write_1h_tokens=self.cache_write_1h_tokens,
            web_searches=self.web_searches,
            unpriced_tokens=self.unpriced_tokens,
            nanodollars=self.nanodollars,
        )


_MONEY, _FIRST, _LAST = map(Sums._fields.index, ("nanodollars", "first", "last"))
_NOTHING = Sums._make(None if i in (_MONEY, _FIRST, _LAST) else 0 for i in range(len(Sums._fields)))


def added(rows: Iterable[Sums]) -> Sums:
    """The sum of sums; money is None when none of them has a price."""
    columns = list(zip(*rows, strict=True))
    if not columns:
        return _NOTHING
    money, first, last = ([value for value in columns[i] if value is not None] for i in (_MONEY, _FIRST, _LAST))
    counts = [*map(sum, columns[:_MONEY]), sum(money) if money else None, *map(sum, columns[_MONEY + 1 : _FIRST])]
    return Sums._make([*counts, min(first, default=None), max(last, default=None)])


class Cell(NamedTuple):
    """Some responses of one model that belong together."""

    key: str | None
    model: str | None
    sums: Sums
    is_agent: bool = False
    is_abandoned: bool = False


class Ask(Struct, frozen=True, kw_only=True):
    """What to report."""

    by: str = "day"
    wanted: Filter = Filter()
    zone: tzinfo | None = None
    is_recorded: bool = False
    """Money as the client wrote it into lines, which only clients of 1.0.x did."""
    folds_worktrees: bool = False
    """By project: a worktree counts to the one it was made from."""


def report(connection: sqlite3.Connection, ask: Ask, prices: Prices) -> UsageReport:
    """The whole answer to `ask`."""
    if ask.by not in GROUPINGS:
        raise BadInput(f"usage by {ask.by!r} is not there; try {', '.join(GROUPINGS)}")
    told = _told_windows(connection, ask)
    cells = with_shown_models(merged(_cells(connection, ask, told)), prices)
    made = summed(ask.by, cells, prices, ledger.lines_read(connection))
    made = replace(made, told_windows=told, is_recorded=ask.is_recorded)
    return with_titles(connection, made) if ask.by == "session" else made


def can_be_ahead(ask: Ask) -> bool:
    """Whether the sums by quarter are all it takes."""
    return ask.by in (*PERIODS, "model", "block") and not _needs_ledger(ask)


def ahead(
    connection: sqlite3.Connection, ask: Ask, prices: Prices, cells: Sequence[tuple[Any, ...]], lines: int
) -> UsageReport:
    """The report of cells that were counted ahead of a sync, from so many lines of usage."""
    told = _told_windows(connection, ask)
    everything = [cell[0] for cell in cells]
    shown = with_shown_models(merged(_periodic(_inside(cells, ask.wanted), ask, everything, told)), prices)
    return replace(summed(ask.by, shown, prices, (lines, None)), told_windows=told)


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


def _cells(connection: sqlite3.Connection, ask: Ask, told: Sequence[int]) -> Iterator[Cell]:
    if ask.by == "block":
        whole = Ask(wanted=Filter(sources=ask.wanted.sources))
        everything = (
            [each.number for each in quarters(connection, whole)]
            if _needs_ledger(whole)
            else usage_cells.quarters_used(connection)
        )
        return _periodic(quarters(connection, ask), ask, everything, told)
    if ask.by not in (*PERIODS, "model"):
        return _placed(connection, ask)
    return _periodic(quarters(connection, ask), ask) if _needs_ledger(ask) else _from_sums(connection, ask)


def _from_sums(connection: sqlite3.Connection, ask: Ask) -> Iterator[Cell]:
    """The same as `_periodic`, added up by the database."""
    first, end = _edges(ask.wanted)
    everything: list[usage_cells.Stretch] = [(-1, 0, None), (0, _NEVER, None)]
    if ask.by in PERIODS:
        days = Calendar(ask.zone).stretches(usage_cells.days_used(connection), PERIODS[ask.by])
        everything = [(-1, 0, None), *days, (LAST_QUARTER, _NEVER, None)]
    inside = [(max(begins, first), min(ends, end), name) for begins, ends, name in everything]
    for key, model, *sums in usage_cells.cells_by(connection, inside, (ask.wanted.model or "").lower()):
        yield Cell(key if ask.by in PERIODS else model or None, model or None, Sums(*sums))


def _edges(wanted: Filter) -> tuple[int, int]:
    """The quarters of a window; one that is open holds what has no time as well."""
    is_open = wanted.since is None and wanted.until is None
    first = 0 if wanted.since is None else max(0, int(wanted.since.timestamp() // QUARTER_SECONDS))
    end = _NEVER if wanted.until is None else int(wanted.until.timestamp() // QUARTER_SECONDS)
    return -1 if is_open else first, end


def _periodic(
    found: Iterable[Quarter], ask: Ask, everything: Iterable[int] = (), told: Sequence[int] = ()
) -> Iterator[Cell]:
    """Blocks begin where `everything` that was used makes them begin, whatever part of it is asked for."""
    if ask.by == "model":
        yield from (Cell(each.model, each.model, each.sums) for each in found)
    elif ask.by == "block":
        from .blocks import block_starts

        starts = block_starts(everything, told)
        yield from (Cell(starts[each.number], each.model, each.sums) for each in found)
    else:
        calendar, name = Calendar(ask.zone), PERIODS[ask.by]
        for each in found:
            day = calendar.day(each.number)
            yield Cell(None if day is None else name(day), each.model, each.sums)


class Quarter(NamedTuple):
    """What a model was used for in a quarter of an hour."""

    number: int
    model: str | None
    sums: Sums


def quarters(connection: sqlite3.Connection, ask: Ask) -> Iterator[Quarter]:
    """In the order of time."""
    if not _needs_ledger(ask):
        yield from _inside(usage_cells.cells(connection), ask.wanted)
        return
    known = ledger.circumstances(connection)
    rows = sorted(_asked(connection, ask, "quarter", known), key=lambda row: row[0])
    for number, how, _, _, _, *sums in rows:
        yield Quarter(number, known[how].model, Sums(*sums))


def _inside(cells: Iterable[tuple[Any, ...]], wanted: Filter) -> Iterator[Quarter]:
    first, end = _edges(wanted)
    named = (wanted.model or "").lower()
    for number, model, *sums in cells:
        if first <= number < end and named in model.lower():
            yield Quarter(number, model or None, Sums(*sums))


def _needs_ledger(ask: Ask) -> bool:
    """Whether the sums by quarter cannot answer: anything but model and time was named, or a time within a quarter."""
    wanted = ask.wanted
    others = (wanted.project, wanted.git_branch, wanted.tool, wanted.file, *wanted.sources, wanted.asks_for_marks)
    edges = [time for time in (wanted.since, wanted.until) if time is not None]
    return ask.is_recorded or any(others) or any(time.timestamp() % QUARTER_SECONDS for time in edges)


def _asked(
    connection: sqlite3.Connection, ask: Ask, dimension: ledger.Dimension, known: dict[int, Circumstance]
) -> Iterable[tuple[Any, ...]]:
    choice = choose(connection, ask.wanted, known)
    return ledger.grouped(connection, dimension, choice, is_recorded=ask.is_recorded)


def choose(connection: sqlite3.Connection, wanted: Filter, known: dict[int, Circumstance]) -> ledger.Choice:
    """The responses that pass a filter."""
    where = how = homes = None
    if wanted.project or wanted.git_branch:
        wanted = wanted._replace(moves=moves(connection))
        where = [number for number, each in known.items() if is_place(each, wanted)]
    if wanted.model or wanted.tool:
        how = [number for number, each in known.items() if is_manner(each, wanted)]
    if wanted.file or wanted.sources or wanted.asks_for_marks:
        from .listing import listed

        of_sessions = Filter(  # what is asked of whole sessions; responses know the rest themselves
            file=wanted.file,
            sources=wanted.sources,
            starred=wanted.starred,
            tags=wanted.tags,
            without_hidden=wanted.without_hidden,
        )
        kept = listed(connection, of_sessions, cleanup_days=0)
        homes = ledger.files_of_sessions(connection, (each.stored.id for each in kept))
    since, until = (None if time is None else int(time.timestamp() * 1000) for time in (wanted.since, wanted.until))
    return ledger.Choice(where=where, how=how, homes=homes, since=since, until=until)


def is_place(each: Circumstance, wanted: Filter) -> bool:
    return wanted.keeps_project(each.project) and (wanted.git_branch is None or wanted.git_branch == each.git_branch)


def is_manner(each: Circumstance, wanted: Filter) -> bool:
    tool = (wanted.tool or "").lower()
    on_model = wanted.model is None or wanted.model.lower() in (each.model or "").lower()
    return on_model and (not tool or any(fnmatch(name.lower(), tool) for name in each.tools))


_KEYS: dict[str, Callable[[Circumstance], str | None]] = {
    "branch": lambda place: place.git_branch,
    "agent": lambda place: place.agent,
    "skill": lambda place: place.skill,
}


def _placed(connection: sqlite3.Connection, ask: Ask) -> Iterator[Cell]:
    """Cells by session, or by what the circumstances of a response tell."""
    known = ledger.circumstances(connection)
    homes = ledger.homes(connection) if ask.by == "session" else {}
    moved = moves(connection)
    for home, how, where, is_sidechain, is_abandoned, *values in _asked(
        connection, ask, "home" if ask.by == "session" else "all", known
    ):
        sums, model = Sums(*values), known[how].model
        if ask.by == "session":
            session, is_agent = homes.get(home, (None, False))
            yield Cell(session, model, sums, is_agent=is_agent or bool(is_sidechain), is_abandoned=bool(is_abandoned))
        elif ask.by == "tool":
            tools = known[how].tools or (None,)
            yield from (Cell(tool, model, share) for tool, share in zip(tools, shares(sums, len(tools)), strict=True))
        elif ask.by == "project":
            yield Cell(name_of(known[where].project, moved, folds_worktrees=ask.folds_worktrees), model, sums)
        else:
            yield Cell(_KEYS[ask.by](known[where]), model, sums)


def shares(sums: Sums, number: int) -> Iterator[Sums]:
    """Even shares that add up to the whole: a response that called several tools belongs to each of them in part."""
    for i in range(number):
        values: list[Any] = [_share(value, number, i) for value in sums[:_FIRST]]
        yield Sums(*values, *sums[_FIRST:])


def _share(value: int | None, number: int, i: int) -> int | None:
    return None if value is None else value // number + (i < value % number)


def with_titles(connection: sqlite3.Connection, made: UsageReport) -> UsageReport:
    about = ledger.titles(connection)
    rows = [
        replace(row, title=about[row.key][0], project=about[row.key][1]) if row.key is not None else row
        for row in made.rows
    ]
    return replace(made, rows=tuple(rows))
