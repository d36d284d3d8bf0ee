"""What the prompt cache saved and what its rebuilds cost: over all sessions, or request by request for one session."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread.billing import Prices
from reread.billing.money import in_dollars
from reread.billing.report import Sums, Tokens, column_sum, columns_of
from reread.billing.response import Response, settle_all
from reread.errors import BadInput
from reread.features.activity import throughput
from reread.features.cache_rebuilds import chains
from reread.index import usage_sums
from reread.index import usage_sums as ledger
from reread.index.ledger import quarter
from reread.index.moved_folders import moves
from reread.records import Unknown
from reread.rows.groups import grouped
from reread.rows.model import RequestContext
from reread.rows.responses import response_rows
from reread.sessions import Session, scope_of

from .answer import Answer
from .filters import Filter
from .listing import project_name, projects_of_files
from .usage_report import (
    PERIODS,
    Accounting,
    Calendar,
    UsageCell,
    UsageQuestion,
    UsageReport,
    choose,
    is_manner,
    is_place,
    summed,
    titled,
    with_shown_models,
)

if TYPE_CHECKING:
    from reread.features.activity import Throughput


GROUPINGS = (*PERIODS, "model", "project", "session")


class Caching(NamedTuple):
    """What the cache did for some requests; the fields are the columns of `CACHE_SUMS`. Money is in nano-dollars."""

    saved: int | None = None
    """Compared with sending everything as input; may be negative. None if nothing has a price."""
    rebuilds: int = 0
    rebuilt_tokens: int = 0
    premium: int | None = None
    """What the rebuilt tokens cost more than reading them from the cache. None if none of them has a price."""
    unpriced_rebuilds: int = 0
    thinking_tokens: int = 0
    """As the API reported them."""
    estimated_thinking_tokens: int = 0
    """Estimated from the stored text if the API reported none."""
    judged_output_tokens: int = 0
    """Output of the requests whose thinking is reported or estimated."""

    @property
    def thinking_share(self) -> float | None:
        """Thinking as a share of `judged_output_tokens`; None if there are none."""
        thought = self.thinking_tokens + self.estimated_thinking_tokens
        return thought / self.judged_output_tokens if self.judged_output_tokens else None


class CacheRow(Struct, frozen=True, kw_only=True):
    """One line of a report. The key is None for what has none."""

    key: str | None
    title: str | None
    tokens: Tokens
    caching: Caching

    def __repr__(self) -> str:
        return f"<CacheRow {self.key!r}, {self.tokens.total_tokens:,} tokens, {self.caching.rebuilds:,} rebuilds>"


class RebuildCause(Struct, frozen=True, kw_only=True):
    """Rebuilds for one reason."""

    name: str
    by_api: bool
    """Whether the API reported the cause; otherwise it is inferred."""
    caching: Caching


class Context(Struct, frozen=True, kw_only=True):
    """The sizes of the prompts in a chain of requests, in the order of time."""

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
    by_api: bool


class SessionCaching(Struct, frozen=True, kw_only=True):
    """What only the files of a session show."""

    id: str
    title: str
    project: str | None
    contexts: tuple[Context, ...]
    rebuilds: tuple[FoundRebuild, ...]
    throughput: Throughput


class CacheReport(Answer[CacheRow], frozen=True, kw_only=True):
    by: str
    rows: tuple[CacheRow, ...]
    total_rows: int | None = None
    """How many rows there are, if a limit left some out."""
    totals: Tokens
    caching: Caching
    causes: tuple[RebuildCause, ...]
    """The most expensive first."""
    accounting: Accounting
    session: SessionCaching | None = None

    def _plain(self, row: CacheRow) -> dict[str, object]:
        money = {"saved": in_dollars(row.caching.saved), "premium": in_dollars(row.caching.premium)}
        return {self.by: row.key, "title": row.title, **row.tokens.plain(), **row.caching._asdict(), **money}


class CacheCell(NamedTuple):
    """The sums of some responses under one key; the rebuilds among them have one cause."""

    cell: UsageCell
    cause: str | None
    by_api: bool
    caching: Caching


def report(connection: sqlite3.Connection, ask: UsageQuestion, prices: Prices) -> CacheReport:
    """The report over all sessions of the archive."""
    return with_usage(connection, ask, prices)[1]


def with_usage(connection: sqlite3.Connection, ask: UsageQuestion, prices: Prices) -> tuple[UsageReport, CacheReport]:
    """The report of usage and that of the cache, from reading the responses once."""
    check_grouping(ask.by)
    cells = list(_cells(connection, ask))
    plain = with_shown_models((each.cell for each in cells), prices)
    usage = summed(ask.by, plain, prices, ledger.lines_read(connection))
    if ask.by == "session":
        usage = titled(usage, ledger.titles(connection))
    return usage, with_caching(usage, [each._replace(cell=cell) for each, cell in zip(cells, plain, strict=True)])


def check_grouping(by: str) -> None:
    if by not in GROUPINGS:
        raise BadInput(f"{by!r} is not a grouping; try {', '.join(GROUPINGS)}")


def with_caching(usage: UsageReport, cells: Sequence[CacheCell], session: SessionCaching | None = None) -> CacheReport:
    """The cache report that goes with a usage report, from the cells that it was made of."""
    by_key = grouped(cells, lambda each: each.cell.key)
    return CacheReport(
        by=usage.by,
        rows=tuple(
            CacheRow(key=row.key, title=row.title, tokens=row.tokens, caching=_sum(by_key[row.key]))
            for row in usage.rows
        ),
        totals=usage.totals,
        caching=_sum(cells),
        causes=tuple(_causes(cells)),
        accounting=usage.accounting,
        session=session,
    )


def added(parts: Iterable[Caching]) -> Caching:
    """Adds up sums; money is None if none of them has a price."""
    return Caching(*map(column_sum, zip(*parts, strict=True)))


def _sum(cells: Iterable[CacheCell]) -> Caching:
    return added(each.caching for each in cells)


def _causes(cells: Iterable[CacheCell]) -> list[RebuildCause]:
    by_cause = grouped(cells, lambda each: (each.cause, each.by_api))
    causes = [
        RebuildCause(name=name, by_api=told, caching=_sum(parts))
        for (name, told), parts in by_cause.items()
        if name is not None
    ]
    return sorted(causes, key=lambda each: (-(each.caching.premium or 0), -each.caching.rebuilt_tokens, each.name))


def _cells(connection: sqlite3.Connection, ask: UsageQuestion) -> Iterator[CacheCell]:
    filters = ask.filters
    is_narrowed = any((filters.project, filters.git_branch, filters.model, filters.tool))
    known = ledger.contexts(connection) if is_narrowed else {}
    owners = ledger.owners(connection) if ask.by == "session" else {}
    projects = projects_of_files(connection) if ask.has_projects else {}
    dimension = "owner" if ask.has_projects else _DIMENSIONS.get(ask.by, "quarter")
    rows = usage_sums.cache_grouped(connection, dimension, choose(connection, filters, known))
    keys, moved = Keys(ask), moves(connection)
    for place, model, cause, by_api, *values in rows:
        session, _ = owners.get(place, (None, False))
        project = projects.get(place) or None
        if ask.by == "project" and not ask.has_projects:
            project = project_name(place, moved, folds_worktrees=False)
        key = keys.of(place, session=session, model=model, project=project)
        sums, done = Sums(*values[:_SUMS]), Caching(*values[_SUMS:])
        yield CacheCell(UsageCell(key, model, sums), cause, bool(by_api), done)


_DIMENSIONS: dict[str, usage_sums.CacheDimension] = {"model": "all", "project": "project", "session": "owner"}
_SUMS = len(Sums.__struct_fields__)


class Keys:
    """Names the row of a report that a response belongs to."""

    def __init__(self, ask: UsageQuestion) -> None:
        self._by = ask.by
        self._calendar = Calendar(ask.zone)

    def of(self, quarter: int, **names: str | None) -> str | None:
        """The name of the period that a quarter of an hour is in, or the one of `names` that the report is by."""
        if self._by not in PERIODS:
            return names[self._by]
        day = self._calendar.day(quarter)
        return None if day is None else PERIODS[self._by](day)


class SessionResponses(NamedTuple):
    """The responses in a session's files, each once, in the order of time."""

    responses: list[Response]
    contexts: list[RequestContext]
    agents: dict[tuple[str, str], str | None]
    """The agent that made the request, by file and key."""

    def agent(self, response: Response) -> str | None:
        return self.agents[response.owner or response.file, response.response]

    def only(self, responses: list[Response]) -> SessionResponses:
        return self._replace(responses=responses)


def session_report(session: Session, ask: UsageQuestion, prices: Prices, copied: Collection[str] = ()) -> CacheReport:
    """The report for one session: every response in its files once, even if another session has it too.

    `copied` names the responses that are known to have been made in another session.
    """
    check_grouping(ask.by)
    is_kept = ask.filters.keeps_mark(session.mark) and Filter(file=ask.filters.file).keeps_session(session)
    found = responses(session, prices, copied)
    own = found.only([each for each in found.responses if is_kept and _is_wanted(each, found, ask.filters)])
    cells = list(cells_of(own, session.id, ask))
    plain = with_shown_models((each.cell for each in cells), prices)
    about = SessionCaching(
        id=session.id,
        title=session.title,
        project=session.project,
        contexts=tuple(_contexts(own)),
        rebuilds=tuple(_rebuilds(own)),
        throughput=throughput(session),
    )
    usage = summed(ask.by, plain, prices, _lines(session))
    return with_caching(usage, [each._replace(cell=cell) for each, cell in zip(cells, plain, strict=True)], about)


def responses(session: Session, prices: Prices, copied: Collection[str] = ()) -> SessionResponses:
    responses: list[Response] = []
    contexts: list[RequestContext] = []
    agents: dict[tuple[str, str], str | None] = {}
    for number, (name, conversation) in enumerate([(None, session), *session.agents_with_files.items()]):
        measured = chains(conversation, prices, copied)
        file = f"{number:09}"
        scope = scope_of(conversation.records)
        inline = {each.request.name_in(scope): chain.agent for chain in measured for each in chain.requests}
        theirs, rows = response_rows(conversation, file, prices, measured)
        before = len(contexts)
        contexts += theirs
        for row in rows:
            responses.append(replace(row, context=before + row.context, owner_context=before + row.owner_context))
            agents[file, row.key] = inline.get(row.key) or name
    found = sorted(settle_all(responses, prices.priced), key=lambda each: -1 if each.time is None else each.time)
    return SessionResponses(found, contexts, agents)


def _is_wanted(each: Response, found: SessionResponses, filters: Filter) -> bool:
    where, how = found.contexts[each.owner_context], found.contexts[each.context]
    return filters.keeps_time(each.at) and is_place(where, filters) and is_manner(how, filters)


def cells_of(responses: SessionResponses, session: str, ask: UsageQuestion) -> Iterator[CacheCell]:
    """A cell for every response."""
    keys = Keys(ask)
    for each in responses.responses:
        where = responses.contexts[each.owner_context]
        project = project_name(where.project, ask.filters.moves, folds_worktrees=ask.folds_worktrees)
        key = keys.of(quarter(each.time), session=session, model=each.model, project=project)
        yield CacheCell(
            UsageCell(key, each.model, Sums(*columns_of(each))), each.cause, bool(each.by_api), caching_of(each)
        )


def caching_of(row: Response) -> Caching:
    is_judged = row.thinking is not None or row.thinking_estimate is not None
    return Caching(
        saved=row.saved,
        rebuilds=int(row.rebuilt is not None),
        rebuilt_tokens=row.rebuilt or 0,
        premium=row.premium,
        unpriced_rebuilds=int(row.rebuilt is not None and row.premium is None),
        thinking_tokens=row.thinking or 0,
        estimated_thinking_tokens=row.thinking_estimate or 0,
        judged_output_tokens=row.output if is_judged else 0,
    )


def _contexts(responses: SessionResponses) -> Iterator[Context]:
    """The context of the conversation first, then those of its agents; an advisor's call has a context of its own and
    is left out."""
    by_agent = grouped((each for each in responses.responses if each.rows), responses.agent)
    for agent in sorted(by_agent, key=lambda name: name is not None):
        yield Context(agent=agent, prompts=tuple((each.at, each.prompt) for each in by_agent[agent]))


def _rebuilds(responses: SessionResponses) -> Iterator[FoundRebuild]:
    for each in responses.responses:
        if each.rebuilt is not None and each.cause is not None:
            yield FoundRebuild(
                time=each.at,
                agent=responses.agent(each),
                model=each.model,
                prompt_tokens=each.prompt,
                tokens=each.rebuilt,
                nanodollars=each.premium,
                cause=each.cause,
                by_api=bool(each.by_api),
            )


def _lines(session: Session) -> tuple[int, int]:
    """How many lines the session's transcripts have, and how many of them are not JSON."""
    files = [session, *(agent for agent in session.subagents if not agent.is_recorded_inline)]
    lines = sum(len({record.line for record in file.records}) for file in files)
    malformed = sum(isinstance(record, Unknown) and record.malformed for file in files for record in file.records)
    return lines, malformed
