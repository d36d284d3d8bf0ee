"""Usage and cost: every API response once over all files, added up by day, model, project and so on.

Reports use the sums by quarter of an hour if those suffice, otherwise the ledger itself.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.billing.report import Sums, Tokens, added, shares, total
from reread.errors import BadInput
from reread.index import client_totals, usage_sums
from reread.index import usage_sums as ledger
from reread.index.moved_folders import moves
from reread.marks import NO_MOVES, Moves
from reread.rows.groups import grouped
from reread.times import in_zone, moment

from .answer import Answer
from .filters import Filter
from .limit_windows import LimitWindow

if TYPE_CHECKING:
    from reread.billing import Prices
    from reread.rows.model import RequestContext

    from . import listing, status
else:
    lazy.bind(globals())


_Key = TypeVar("_Key", int, str)
QUARTER_SECONDS = 900
_QUARTERS_PER_DAY = 96
LAST_QUARTER = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp()) // QUARTER_SECONDS
"""From this quarter on, some zones would need the year 10000."""


def midnight(day: date, zone: tzinfo | None) -> datetime:
    """When a day begins, by the clocks of the zone or of this machine as they are on that day."""
    begins = datetime(day.year, day.month, day.day, tzinfo=zone)
    return begins if zone is not None else in_zone(begins, None)


class Calendar:
    """The local day of every quarter of an hour. The ends of a day are computed once; when clocks change, it has 23 or
    25 hours."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._day = date.min
        self._begins = self._ends = 0.0

    def day(self, quarter: int) -> date | None:
        if not 0 <= quarter < LAST_QUARTER:
            return None
        seconds = quarter * QUARTER_SECONDS
        if not self._begins <= seconds < self._ends:
            self._day = in_zone(datetime.fromtimestamp(seconds, UTC), self._zone).date()
            self._begins = midnight(self._day, self._zone).timestamp()
            self._ends = midnight(self._day + timedelta(days=1), self._zone).timestamp()
        return self._day

    def week(self, quarter: int) -> str | None:
        """The week that a quarter is in, named by its Monday."""
        day = self.day(quarter)
        return None if day is None else _week(day)

    def stretches(self, days: Iterable[int], name: Callable[[date], str]) -> list[tuple[int, int, str | None]]:
        """The local days that overlap some days in UTC: first quarter, end, and the name of the period."""
        found: dict[date, tuple[int, int, str | None]] = {}
        for number in days:
            for quarter in (number * _QUARTERS_PER_DAY, (number + 1) * _QUARTERS_PER_DAY - 1):
                day = self.day(quarter)
                if day is not None and day not in found:
                    found[day] = int(self._begins // QUARTER_SECONDS), int(self._ends // QUARTER_SECONDS), name(day)
        return [found[day] for day in sorted(found)]


def _week(day: date) -> str:
    return (day - timedelta(days=day.weekday())).isoformat()


def _month(day: date) -> str:
    return f"{day.year:04}-{day.month:02}"


PERIODS: dict[str, Callable[[date], str]] = {"day": date.isoformat, "week": _week, "month": _month}
"""The name of a period: a day is named by its date, a week by its Monday."""


class FiveHourBlock(Struct, frozen=True, kw_only=True):
    """The five-hour block of a row of a report by block."""

    start: datetime
    end: datetime
    is_open: bool
    is_estimate: bool
    """False if a status line reported the window."""
    dollars_per_hour: float | None
    tokens_per_minute: float | None
    """Both rates are from the first request to the last; None if no time lies between them."""
    projected_nanodollars: int | None
    projected_tokens: int | None
    """Both projections are for the end of the block at the present rate; only for the open block."""


def block_starts(quarters: Iterable[int], windows: Sequence[int] = ()) -> dict[int, str | None]:
    """The start of the block that each quarter is in; `quarters` must be in the order of time.

    `windows` has the known windows by their start in seconds, as `status.separate_windows` gives them.
    """
    numbers = list(quarters)
    starts = status.window_starts((number for number in numbers if 0 <= number < LAST_QUARTER), windows)
    texts = {start: _text(start) for start in set(starts.values())}
    return {number: texts[starts[number]] if number in starts else None for number in numbers}


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def block(row: UsageRow, now: datetime, windows: Sequence[int] = ()) -> FiveHourBlock | None:
    """The block of a row; None for requests without a time."""
    if row.key is None or row.first is None or row.last is None:
        return None
    start = datetime.fromisoformat(row.key)
    seconds = int(start.timestamp())
    end = datetime.fromtimestamp(status.window_end(seconds, windows), UTC)
    minutes = (row.last - row.first).total_seconds() / 60
    left = (end - now).total_seconds() / 60
    is_open = now < end
    money, used = row.tokens.nanodollars, row.tokens.total_tokens
    goes_on = is_open and minutes > 0
    return FiveHourBlock(
        start=start,
        end=end,
        is_open=is_open,
        is_estimate=seconds not in windows,
        dollars_per_hour=money / 1e9 / minutes * 60 if money is not None and minutes else None,
        tokens_per_minute=used / minutes if minutes else None,
        projected_nanodollars=money + round(money / minutes * left) if money is not None and goes_on else None,
        projected_tokens=used + round(used / minutes * left) if goes_on else None,
    )


def choose(connection: sqlite3.Connection, filters: Filter, known: dict[int, RequestContext]) -> ledger.ResponseFilter:
    """The responses that pass a filter."""
    owners: list[int] | None = None
    if filters.project or filters.git_branch:
        filters = filters._replace(moves=moves(connection))
    where, how = passing_contexts(known, filters)
    if filters.file or filters.sources or filters.machine or filters.asks_for_marks:
        of_sessions = Filter(  # the conditions on whole sessions; those on responses are below
            file=filters.file,
            sources=filters.sources,
            machine=filters.machine,
            starred=filters.starred,
            tags=filters.tags,
            without_hidden=filters.without_hidden,
        )
        owners = ledger.files_of_sessions(connection, listing.passing_ids(connection, of_sessions))
    if filters.of_project is not None:
        inside = [
            file for file, project in listing.projects_of_files(connection).items() if project == filters.of_project
        ]
        owners = inside if owners is None else sorted({*inside} & {*owners})
    since, until = (None if time is None else int(time.timestamp() * 1000) for time in (filters.since, filters.until))
    return ledger.ResponseFilter(where=where, how=how, owners=owners, since=since, until=until)


def passing_contexts(
    known: Mapping[_Key, RequestContext], filters: Filter
) -> tuple[list[_Key] | None, list[_Key] | None]:
    """The contexts of owners and those of counted copies that pass a filter; None where it keeps all."""
    where = [key for key, each in known.items() if is_place(each, filters)]
    how = [key for key, each in known.items() if is_manner(each, filters)]
    return (where if filters.project or filters.git_branch else None, how if filters.model or filters.tool else None)


def is_place(each: RequestContext, filters: Filter) -> bool:
    return filters.keeps_project(each.project) and (filters.git_branch is None or filters.git_branch == each.git_branch)


def is_manner(each: RequestContext, filters: Filter) -> bool:
    tool = (filters.tool or "").lower()
    on_model = filters.model is None or filters.model.lower() in (each.model or "").lower()
    return on_model and (not tool or any(fnmatch(name.lower(), tool) for name in each.tools))


_NEVER = 1 << 62


class UsageQuestion(Struct, frozen=True, kw_only=True):
    """What to report."""

    by: str = "day"
    filters: Filter = Filter()
    zone: tzinfo | None = None
    is_recorded: bool = False
    """Whether to use the money that the client wrote into lines, as only clients of 1.0.x did."""
    folds_worktrees: bool = False
    """In a report by project, whether rows are projects as `projects` lists them: all that a session used counts for
    its own, and a worktree as the project it was made from."""

    @property
    def has_projects(self) -> bool:
        return self.by == "project" and self.folds_worktrees


class UsageCell(NamedTuple):
    """The sums of some responses of one model under one key."""

    key: str | None
    model: str | None
    sums: Sums
    is_agent: bool = False
    is_abandoned: bool = False


class Quarter(NamedTuple):
    """The sums of a model in a quarter of an hour."""

    number: int
    model: str | None
    sums: Sums


def archive_cells(connection: sqlite3.Connection, ask: UsageQuestion, windows: Sequence[int]) -> Iterator[UsageCell]:
    """The cells of the archive; `windows` has the known five-hour windows, which only blocks need."""
    if ask.by == "block":
        whole = UsageQuestion(filters=Filter(sources=ask.filters.sources))
        everything = (
            [each.number for each in _quarters(connection, whole)]
            if _needs_ledger(whole)
            else usage_sums.quarters_used(connection)
        )
        return _periodic(_quarters(connection, ask), ask, everything, windows)
    if ask.by not in (*PERIODS, "model"):
        return _placed(connection, ask)
    # While a sync runs, the sums would be added up here, and doing that is most of the cost of a question.
    has_sums = not _needs_ledger(ask) and usage_sums.is_fresh(connection)
    return _from_sums(connection, ask) if has_sums else _periodic(_quarters(connection, ask), ask)


def can_be_ahead(ask: UsageQuestion) -> bool:
    """Whether the sums by quarter are enough to answer."""
    return ask.by in (*PERIODS, "model", "block") and not _needs_ledger(ask)


def cells_ahead(counted: Sequence[tuple[Any, ...]], ask: UsageQuestion, windows: Sequence[int]) -> Iterator[UsageCell]:
    """The cells of sums by quarter that were counted directly from the sources, ahead of a sync."""
    return _periodic(_inside(counted, ask.filters), ask, [cell[0] for cell in counted], windows)


def _from_sums(connection: sqlite3.Connection, ask: UsageQuestion) -> Iterator[UsageCell]:
    """The same as `_periodic`, added up by the database."""
    first, end = _edges(ask.filters)
    everything: list[usage_sums.Stretch] = [(-1, 0, None), (0, _NEVER, None)]
    if ask.by in PERIODS:
        days = Calendar(ask.zone).stretches(usage_sums.days_used(connection), PERIODS[ask.by])
        everything = [(-1, 0, None), *days, (LAST_QUARTER, _NEVER, None)]
    inside = [(max(begins, first), min(ends, end), name) for begins, ends, name in everything]
    for key, model, *sums in usage_sums.cells_by(connection, inside, (ask.filters.model or "").lower()):
        yield UsageCell(key if ask.by in PERIODS else model or None, model or None, Sums(*sums))


def _edges(filters: Filter) -> tuple[int, int]:
    """The first quarter of a window and its end; without a window, this includes what has no time (quarter -1)."""
    is_open = filters.since is None and filters.until is None
    first = 0 if filters.since is None else max(0, int(filters.since.timestamp() // QUARTER_SECONDS))
    end = _NEVER if filters.until is None else int(filters.until.timestamp() // QUARTER_SECONDS)
    return -1 if is_open else first, end


def _periodic(
    found: Iterable[Quarter], ask: UsageQuestion, everything: Iterable[int] = (), windows: Sequence[int] = ()
) -> Iterator[UsageCell]:
    """Cells by period, model or block. Where blocks begin depends on `everything` that was used, not only on what the
    filter keeps."""
    if ask.by == "model":
        yield from (UsageCell(each.model, each.model, each.sums) for each in found)
    elif ask.by == "block":
        starts = block_starts(everything, windows)
        yield from (UsageCell(starts[each.number], each.model, each.sums) for each in found)
    else:
        calendar, name = Calendar(ask.zone), PERIODS[ask.by]
        for each in found:
            day = calendar.day(each.number)
            yield UsageCell(None if day is None else name(day), each.model, each.sums)


def _quarters(connection: sqlite3.Connection, ask: UsageQuestion) -> Iterator[Quarter]:
    """The sums by quarter that pass the filter, in the order of time."""
    if not _needs_ledger(ask):
        yield from _inside(usage_sums.cells(connection), ask.filters)
        return
    known = ledger.contexts(connection)
    rows = sorted(_grouped(connection, ask, "quarter", known), key=lambda row: row[0])
    for number, how, _, _, _, *sums in rows:
        yield Quarter(number, known[how].model, Sums(*sums))


def _inside(cells: Iterable[tuple[Any, ...]], filters: Filter) -> Iterator[Quarter]:
    first, end = _edges(filters)
    named = (filters.model or "").lower()
    for number, model, *sums in cells:
        if first <= number < end and named in model.lower():
            yield Quarter(number, model or None, Sums(*sums))


def _needs_ledger(ask: UsageQuestion) -> bool:
    """Whether the sums by quarter cannot answer: the question filters by more than model and time, by a time within a
    quarter, or asks for recorded money."""
    filters = ask.filters
    narrowed = (filters.project, filters.of_project, filters.git_branch, filters.tool, filters.file, filters.machine)
    edges = [time for time in (filters.since, filters.until) if time is not None]
    return (
        ask.is_recorded
        or any((*narrowed, *filters.sources))
        or filters.asks_for_marks
        or any(time.timestamp() % QUARTER_SECONDS for time in edges)
    )


def _grouped(
    connection: sqlite3.Connection, ask: UsageQuestion, dimension: ledger.Dimension, known: dict[int, RequestContext]
) -> Iterable[tuple[Any, ...]]:
    choice = choose(connection, ask.filters, known)
    return ledger.grouped(connection, dimension, choice, is_recorded=ask.is_recorded)


_KEYS: dict[str, Callable[[RequestContext], str | None]] = {
    "branch": lambda place: place.git_branch,
    "agent": lambda place: place.agent,
    "skill": lambda place: place.skill,
}


def _placed(connection: sqlite3.Connection, ask: UsageQuestion) -> Iterator[UsageCell]:
    """Cells by session, machine, or the contexts of a response, such as its project or tools."""
    known = ledger.contexts(connection)
    owners = ledger.owners(connection) if ask.by == "session" else {}
    labels = ledger.machine_labels(connection) if ask.by == "machine" else {}
    by_file = ask.by in ("session", "machine") or ask.has_projects
    projects = listing.projects_of_files(connection) if ask.has_projects else {}
    moved = moves(connection)
    for owner, how, where, is_sidechain, is_abandoned, *values in _grouped(
        connection, ask, "owner" if by_file else "all", known
    ):
        sums, model = Sums(*values), known[how].model
        if ask.by == "session":
            session, is_agent = owners.get(owner, (None, False))
            yield UsageCell(
                session, model, sums, is_agent=is_agent or bool(is_sidechain), is_abandoned=bool(is_abandoned)
            )
        elif ask.by == "machine":
            yield UsageCell(labels.get(owner), model, sums)
        elif ask.has_projects:
            yield UsageCell(projects.get(owner) or None, model, sums)
        elif ask.by == "tool":
            yield from tool_cells(known[how].tools, model, sums)
        else:
            yield place_cell(ask, known[where], model, sums, moved)


def tool_cells(tools: Sequence[str], model: str | None, sums: Sums) -> Iterator[UsageCell]:
    """The sums of responses that used these tools, divided among them."""
    names: Sequence[str | None] = tools or (None,)
    parts = zip(names, shares(sums, len(names)), strict=True)
    return (UsageCell(tool, model, part) for tool, part in parts)


def place_cell(
    ask: UsageQuestion, place: RequestContext, model: str | None, sums: Sums, moved: Moves = NO_MOVES
) -> UsageCell:
    """The sums of responses made in one place, for a report by project, branch, agent or skill."""
    if ask.by == "project":
        return UsageCell(listing.project_name(place.project, moved, folds_worktrees=ask.folds_worktrees), model, sums)
    return UsageCell(_KEYS[ask.by](place), model, sums)


LENGTHS = {"today": 1, "7 days": 7, "30 days": 30}
"""Lengths in days, including today."""


class Period(Struct, frozen=True, kw_only=True):
    label: str
    since: date
    prompts: int | None
    """None if they were not counted."""
    tokens: Tokens
    is_partial: bool


def beginnings(now: datetime, zone: tzinfo | None) -> list[datetime]:
    """The midnight at which each of the `LENGTHS` begins."""
    today = now.astimezone(zone).date()
    return [midnight(today - timedelta(days=days - 1), zone) for days in LENGTHS.values()]


def counted_to(now: datetime, last: datetime | None, zone: tzinfo | None) -> datetime:
    """The moment up to which to count: now, or after a long absence the last use."""
    return now if last is None or last >= min(beginnings(now, zone)) else last


def periods(
    days: Sequence[UsageRow], starts: Sequence[datetime], prompts: Sequence[int | None], *, is_past: bool = False
) -> list[Period]:
    """Periods from the rows of a report by day; with `is_past` they end before today, and the labels say when."""
    last = f"{starts[0].date():%Y-%m-%d}"
    since = [[row for row in days if row.key and row.key >= start.date().isoformat()] for start in starts]
    return [
        Period(
            label=label if not is_past else last if label == "today" else f"{label} to {last}",
            since=start.date(),
            prompts=typed,
            tokens=total(row.tokens for row in rows),
            is_partial=any(row.is_partial for row in rows),
        )
        for label, start, typed, rows in zip(LENGTHS, starts, prompts, since, strict=True)
    ]


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
    """One line of a report. The key is None for what has none: no time, no branch, no tool."""

    key: str | None
    tokens: Tokens
    models: tuple[ModelUse, ...] = ()
    suspect: int = 0
    """Requests whose recorded output is probably less than the true count."""
    first: datetime | None = None
    last: datetime | None = None
    title: str | None = None
    project: str | None = None
    agents: Tokens | None = None
    """In a report by session: what its subagents used."""
    abandoned: Tokens | None = None
    """In a report by session: what was spent on branches that were rewound."""

    @property
    def is_partial(self) -> bool:
        """Whether its cost is a lower bound: something has no price, or has more output than was recorded."""
        return self.tokens.unpriced_tokens > 0 or self.suspect > 0

    def __repr__(self) -> str:
        return f"<UsageRow {self.key!r}, {self.tokens.total_tokens:,} tokens, ${self.tokens.cost}>"


class Accounting(Struct, frozen=True, kw_only=True):
    """What a report was made from, and what is uncertain in it."""

    lines_read: int
    malformed_lines: int | None
    """None if only usage was read."""
    requests: int
    duplicates_collapsed: int
    unpriced_tokens: int
    unpriced_models: tuple[str | None, ...]
    suspect_output_requests: int
    provisional_requests: int
    price_table_date: str

    @property
    def is_partial(self) -> bool:
        """Whether the cost is a lower bound; as of a row."""
        return self.unpriced_tokens > 0 or self.suspect_output_requests > 0


class UsageReport(Answer[UsageRow], frozen=True, kw_only=True):
    by: str
    rows: tuple[UsageRow, ...]
    total_rows: int | None = None
    """How many rows there are, if a limit left some out."""
    totals: Tokens
    models: tuple[ModelUse, ...]
    accounting: Accounting
    reported_windows: tuple[int, ...] = ()
    """In a report by block: the starts, in seconds, of the windows that a status line reported."""
    is_recorded: bool = False
    """Whether money is what the client wrote into lines."""
    billed: int | None = None
    """Nano-dollars that gateways, or 1.0.x clients, wrote into lines; looked up only where something has no price."""
    limits: tuple[LimitWindow, ...] = ()
    """In a report by block: what the client said of its usage limits, where it was asked for."""

    def _plain(self, row: UsageRow) -> dict[str, object]:
        return {self.by: row.key, "title": row.title, "project": row.project, **row.tokens.plain()}

    def __repr__(self) -> str:
        cost = f"${self.totals.cost:.2f}" if self.totals.cost is not None else "no price"
        return f"<UsageReport by {self.by}, {len(self.rows)} rows, {self.totals.total_tokens:,} tokens, {cost}>"


def report(connection: sqlite3.Connection, ask: UsageQuestion, prices: Prices) -> UsageReport:
    """The whole answer to `ask`."""
    if ask.by not in GROUPINGS:
        raise BadInput(f"{ask.by!r} is not a grouping; try {', '.join(GROUPINGS)}")
    windows = _reported_windows(connection, ask)
    made = report_of(ask.by, archive_cells(connection, ask, windows), prices, ledger.lines_read(connection))
    made = replace(made, reported_windows=windows, is_recorded=ask.is_recorded)
    if made.accounting.unpriced_tokens and not ask.is_recorded:
        as_recorded = archive_cells(connection, replace(ask, is_recorded=True), windows)
        made = replace(made, billed=report_of(ask.by, as_recorded, prices, (0, None)).totals.nanodollars)
    return titled(made, ledger.titles(connection)) if ask.by == "session" else made


def ahead(
    connection: sqlite3.Connection, ask: UsageQuestion, prices: Prices, counted: Sequence[tuple[Any, ...]], lines: int
) -> UsageReport:
    """A report from sums by quarter that were counted ahead of a sync; `lines` is how many lines of usage were read."""
    windows = _reported_windows(connection, ask)
    made = report_of(ask.by, cells_ahead(counted, ask, windows), prices, (lines, None))
    return replace(made, reported_windows=windows)


def report_of(by: str, cells: Iterable[UsageCell], prices: Prices, lines: tuple[int, int | None]) -> UsageReport:
    """The report of cells of any store; `lines` says how many lines were read, and how many of them are malformed."""
    return summed(by, with_shown_models(merged(cells), prices), prices, lines)


def _reported_windows(connection: sqlite3.Connection, ask: UsageQuestion) -> tuple[int, ...]:
    return tuple(status.separate_windows(client_totals.windows(connection))) if ask.by == "block" else ()


def shown_model(raw: str | None, prices: Prices) -> str | None:
    """The name shown for a model. An id of the API stays as it is, with or without its date; a name that a client, a
    gateway or a cloud made of it becomes the model's plain name, if the table knows it.
    """
    known = prices.model(raw)
    if raw is None or known is None:
        return raw
    plain = raw.lower().partition("[")[0]
    return plain if _DATE.sub("", plain) == known.name else known.name


def merged(cells: Iterable[UsageCell]) -> list[UsageCell]:
    """Adds up cells that differ only in their sums."""
    found = grouped(cells, lambda cell: (cell.key, cell.model, cell.is_agent, cell.is_abandoned))
    return [same[0]._replace(sums=_sum(same)) for same in found.values()]


def _sum(cells: Iterable[UsageCell]) -> Sums:
    return added(cell.sums for cell in cells)


def with_shown_models(cells: Iterable[UsageCell], prices: Prices) -> list[UsageCell]:
    names: dict[str | None, str | None] = {}
    found = []
    for cell in cells:
        if cell.model not in names:
            names[cell.model] = shown_model(cell.model, prices)
        name = names[cell.model]
        is_key = cell.key is not None and cell.key == cell.model
        found.append(cell if name == cell.model else cell._replace(model=name, key=name if is_key else cell.key))
    return found


def summed(by: str, cells: list[UsageCell], prices: Prices, lines: tuple[int, int | None]) -> UsageReport:
    """Adds up cells into the rows of a report: periods and blocks in order of time, others with the most expensive
    first."""
    by_key = grouped(cells, lambda cell: cell.key)
    rows = [_row(key, inside, is_session=by == "session") for key, inside in by_key.items()]
    if by in PERIODS or by == "block":
        rows.sort(key=lambda row: (row.key is None, row.key or ""))
    else:
        rows.sort(key=lambda row: (-(row.tokens.nanodollars or 0), -row.tokens.total_tokens, row.key or ""))
    everything = _sum(cells)
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


def _row(key: str | None, cells: list[UsageCell], *, is_session: bool) -> UsageRow:
    sums = _sum(cells)
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


def _models(cells: Iterable[UsageCell]) -> tuple[ModelUse, ...]:
    by_model = grouped(cells, lambda cell: cell.model)
    found = ((model, _sum(by_model[model])) for model in sorted(by_model, key=lambda name: name or ""))
    return tuple(ModelUse(model=model, tokens=sums.tokens, suspect=sums.suspect) for model, sums in found)


def titled(made: UsageReport, about: Mapping[str, Sequence[str | None]]) -> UsageReport:
    """A report by session with titles and projects, which are given by the session's id."""
    known = ((row, about.get(row.key or "")) for row in made.rows)
    rows = (row if found is None else replace(row, title=found[0], project=found[1]) for row, found in known)
    return replace(made, rows=tuple(rows))


class UnpricedModel(Struct, frozen=True, kw_only=True):
    model: str | None
    """As the transcripts name it; None if they name none."""
    requests: int
    tokens: int


def unpriced_models(connection: sqlite3.Connection) -> list[UnpricedModel]:
    rows = usage_sums.unpriced_models(connection)
    return [UnpricedModel(model=model, requests=requests, tokens=tokens) for model, requests, tokens in rows]
