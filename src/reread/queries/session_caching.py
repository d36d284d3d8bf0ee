"""What the cache did for one session, read from its files: the context over its requests, every rebuild, its speed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from reread.analyses.caching import chains
from reread.analyses.throughput import throughput
from reread.pricing import Prices, Rated
from reread.records import Unknown
from reread.sessions import Copy, Session, home_and_winner, scope_of
from reread.store.ledger import quarter
from reread.store.request_rows import request_rows
from reread.store.rows import Circumstance, RequestRow
from reread.store.times import moment

from .caching import (
    CacheCell,
    CacheReport,
    Caching,
    Context,
    FoundRebuild,
    Keys,
    SessionCaching,
    check_grouping,
    with_caching,
)
from .cells import Ask, Cell
from .choosing import is_manner, is_place
from .filters import Filter
from .projects import name_of
from .sums import Sums
from .usage import summed, with_shown_models


class Told(NamedTuple):
    """A response of the session, or an advisor's call inside one."""

    agent: str | None
    row: RequestRow
    how: Circumstance
    where: Circumstance


def session_report(session: Session, ask: Ask, prices: Prices, copied: Collection[str] = ()) -> CacheReport:
    """The whole answer for one session: every response in its files once, whoever else has it too.

    `copied` names the responses that were made in another session, where that is known.
    """
    check_grouping(ask.by)
    is_kept = ask.wanted.keeps_mark(session.mark) and Filter(file=ask.wanted.file).keeps_session(session)
    told = [each for each in responses(session, prices, copied) if is_kept and _is_wanted(each, ask.wanted)]
    cells = list(cells_of(told, session.id, ask))
    plain = with_shown_models((each.cell for each in cells), prices)
    about = SessionCaching(
        id=session.id,
        title=session.title,
        project=session.project,
        contexts=tuple(_contexts(told)),
        rebuilds=tuple(_rebuilds(told)),
        throughput=throughput(session),
    )
    usage = summed(ask.by, plain, prices, _lines(session))
    return with_caching(usage, [each._replace(cell=cell) for each, cell in zip(cells, plain, strict=True)], about)


def responses(session: Session, prices: Prices, copied: Collection[str] = ()) -> list[Told]:
    """Every response in a session's files once, in the order of time."""
    by_key: dict[str, list[Told]] = {}
    for each in _told(session, prices, copied):
        by_key.setdefault(each.row.key, []).append(each)
    found = [collapsed(copies, prices) if len(copies) > 1 else copies[0] for copies in by_key.values()]
    return sorted(found, key=lambda each: -1 if each.row.time is None else each.row.time)


def _told(session: Session, prices: Prices, copied: Collection[str]) -> Iterator[Told]:
    own_files = [(agent.id, agent) for agent in session.subagents if not agent.is_recorded_inline]
    for name, conversation in [(None, session), *own_files]:
        measured = chains(conversation, prices, copied)
        file = scope_of(conversation.records)
        agents = {each.request.name_in(file): chain.agent for chain in measured for each in chain.requests}
        made = request_rows(conversation, prices, measured)
        for row in made["requests"]:
            circumstance = made["circumstances"][row.circumstance]
            yield Told(agents.get(row.key) or name, row, circumstance, circumstance)


def collapsed(copies: Sequence[Told], prices: Prices) -> Told:
    """Several files tell of one response: the rules of the ledger."""
    home, winner = (
        copies[i]
        for i in home_and_winner([Copy(each.row.output, each.row.is_sidechain, each.row.time) for each in copies])
    )
    row, how = winner.row, winner.how
    searches = max(each.row.web_searches for each in copies)
    used = Rated(
        input=row.input,
        output=row.output,
        cache_read=row.cache_read,
        cache_write_5m=row.cache_write_5m,
        cache_write_1h=row.cache_write_1h,
        web_searches=searches,
        speed=how.speed,
        geo=how.geo,
        tier=how.tier,
    )
    time = moment(home.row.time)
    counted = replace(
        row,
        time=home.row.time,
        web_searches=searches,
        doubt=min(each.row.doubt for each in copies),
        rows=sum(each.row.rows for each in copies),
        nanodollars=prices.cost(used, how.model, time),
        saved=prices.savings(used, how.model, time),
    )
    return Told(home.agent, counted, how, home.where)


def _is_wanted(told: Told, wanted: Filter) -> bool:
    return wanted.keeps_time(moment(told.row.time)) and is_place(told.where, wanted) and is_manner(told.how, wanted)


def cells_of(told: Sequence[Told], session: str, ask: Ask) -> Iterator[CacheCell]:
    """A cell for every response."""
    keys = Keys(ask)
    for each in told:
        row = each.row
        project = name_of(each.where.project, ask.wanted.moves, folds_worktrees=ask.folds_worktrees)
        key = keys.of(quarter(row.time), session=session, model=each.how.model, project=project)
        yield CacheCell(Cell(key, each.how.model, _sums(row)), row.cause, bool(row.is_told), _caching(row))


def _sums(row: RequestRow) -> Sums:
    tokens = row.input + row.output + row.cache_read + row.cache_write_5m + row.cache_write_1h
    return Sums(
        requests=1,
        input_tokens=row.input,
        output_tokens=row.output,
        cache_read_tokens=row.cache_read,
        cache_write_5m_tokens=row.cache_write_5m,
        cache_write_1h_tokens=row.cache_write_1h,
        web_searches=row.web_searches,
        nanodollars=row.nanodollars,
        unpriced_tokens=tokens if row.nanodollars is None else 0,
        duplicates=max(row.rows - 1, 0),
        suspect=int(row.doubt == 2),
        provisional=int(row.doubt == 1),
        first=row.time,
        last=row.time,
    )


def _caching(row: RequestRow) -> Caching:
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


def _contexts(told: Sequence[Told]) -> Iterator[Context]:
    """Of the conversation first, then of its agents; an advisor's call has a context of its own and is left out."""
    by_agent: dict[str | None, list[tuple[datetime | None, int]]] = {}
    for each in told:
        if each.row.rows:
            by_agent.setdefault(each.agent, []).append((moment(each.row.time), _prompt(each.row)))
    for agent in sorted(by_agent, key=lambda name: name is not None):
        yield Context(agent=agent, prompts=tuple(by_agent[agent]))


def _rebuilds(told: Sequence[Told]) -> Iterator[FoundRebuild]:
    for each in told:
        row = each.row
        if row.rebuilt is not None and row.cause is not None:
            yield FoundRebuild(
                time=moment(row.time),
                agent=each.agent,
                model=each.how.model,
                prompt_tokens=_prompt(row),
                tokens=row.rebuilt,
                nanodollars=row.premium,
                cause=row.cause,
                is_told=bool(row.is_told),
            )


def _prompt(row: RequestRow) -> int:
    return row.input + row.cache_read + row.cache_write_5m + row.cache_write_1h


def _lines(session: Session) -> tuple[int, int]:
    """Lines of the session's transcripts, and how many of them are no JSON."""
    files = [session, *(agent for agent in session.subagents if not agent.is_recorded_inline)]
    lines = sum(len({record.line for record in file.records}) for file in files)
    malformed = sum(isinstance(record, Unknown) and record.malformed for file in files for record in file.records)
    return lines, malformed
