"""What the cache did for one session, read from its files: the context over its requests, every rebuild, its speed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from reread.analyses.caching import chains
from reread.analyses.throughput import throughput
from reread.billing import Prices
from reread.billing.report import sums_of
from reread.billing.response import Response
from reread.billing.settle import settle_all
from reread.records import Unknown
from reread.sessions import Session, scope_of
from reread.store.ledger import quarter
from reread.store.request_rows import response_rows
from reread.store.rows import Circumstance

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
from .usage import summed, with_shown_models


class SessionResponses(NamedTuple):
    """The responses in a session's files, each once, in the order of time."""

    responses: list[Response]
    circumstances: list[Circumstance]
    agents: dict[tuple[str, str], str | None]
    """By file and key: the agent that asked."""

    def agent(self, response: Response) -> str | None:
        return self.agents[response.owner or response.file, response.response]

    def only(self, responses: list[Response]) -> SessionResponses:
        return self._replace(responses=responses)


def session_report(session: Session, ask: Ask, prices: Prices, copied: Collection[str] = ()) -> CacheReport:
    """The whole answer for one session: every response in its files once, whoever else has it too.

    `copied` names the responses that were made in another session, where that is known.
    """
    check_grouping(ask.by)
    is_kept = ask.wanted.keeps_mark(session.mark) and Filter(file=ask.wanted.file).keeps_session(session)
    found = responses(session, prices, copied)
    told = found.only([each for each in found.responses if is_kept and _is_wanted(each, found, ask.wanted)])
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


def responses(session: Session, prices: Prices, copied: Collection[str] = ()) -> SessionResponses:
    told: list[Response] = []
    circumstances: list[Circumstance] = []
    agents: dict[tuple[str, str], str | None] = {}
    own_files = [(agent.id, agent) for agent in session.subagents if not agent.is_recorded_inline]
    for number, (name, conversation) in enumerate([(None, session), *own_files]):
        measured = chains(conversation, prices, copied)
        file = f"{number:09}"
        scope = scope_of(conversation.records)
        inline = {each.request.name_in(scope): chain.agent for chain in measured for each in chain.requests}
        made = response_rows(conversation, file, prices, measured)
        before = len(circumstances)
        circumstances += made["circumstances"]
        for row in made["responses"]:
            told.append(replace(row, circumstance=before + row.circumstance, place=before + row.place))
            agents[file, row.key] = inline.get(row.key) or name
    found = sorted(settle_all(told, prices), key=lambda each: -1 if each.time is None else each.time)
    return SessionResponses(found, circumstances, agents)


def _is_wanted(each: Response, found: SessionResponses, wanted: Filter) -> bool:
    where, how = found.circumstances[each.place], found.circumstances[each.circumstance]
    return wanted.keeps_time(each.at) and is_place(where, wanted) and is_manner(how, wanted)


def cells_of(told: SessionResponses, session: str, ask: Ask) -> Iterator[CacheCell]:
    """A cell for every response."""
    keys = Keys(ask)
    for each in told.responses:
        where = told.circumstances[each.place]
        project = name_of(where.project, ask.wanted.moves, folds_worktrees=ask.folds_worktrees)
        key = keys.of(quarter(each.time), session=session, model=each.model, project=project)
        yield CacheCell(Cell(key, each.model, sums_of(each)), each.cause, bool(each.is_told), caching_of(each))


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


def _contexts(told: SessionResponses) -> Iterator[Context]:
    """Of the conversation first, then of its agents; an advisor's call has a context of its own and is left out."""
    by_agent: dict[str | None, list[tuple[datetime | None, int]]] = {}
    for each in told.responses:
        if each.rows:
            by_agent.setdefault(told.agent(each), []).append((each.at, each.prompt))
    for agent in sorted(by_agent, key=lambda name: name is not None):
        yield Context(agent=agent, prompts=tuple(by_agent[agent]))


def _rebuilds(told: SessionResponses) -> Iterator[FoundRebuild]:
    for each in told.responses:
        if each.rebuilt is not None and each.cause is not None:
            yield FoundRebuild(
                time=each.at,
                agent=told.agent(each),
                model=each.model,
                prompt_tokens=each.prompt,
                tokens=each.rebuilt,
                nanodollars=each.premium,
                cause=each.cause,
                is_told=bool(each.is_told),
            )


def _lines(session: Session) -> tuple[int, int]:
    """Lines of the session's transcripts, and how many of them are no JSON."""
    files = [session, *(agent for agent in session.subagents if not agent.is_recorded_inline)]
    lines = sum(len({record.line for record in file.records}) for file in files)
    malformed = sum(isinstance(record, Unknown) and record.malformed for file in files for record in file.records)
    return lines, malformed
