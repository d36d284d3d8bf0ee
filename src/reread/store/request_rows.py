"""The requests of a conversation as rows of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import TypedDict

from reread.analyses.caching import Chain, Measured, chains, thinking_estimate
from reread.pricing import Prices, Rated
from reread.records import Assistant, ToolUse
from reread.sessions import Conversation, Request, Subagent, advisors, scope_of

from .ledger import ADVISOR
from .rows import Circumstance, RequestRow


class RequestRows(TypedDict):
    circumstances: list[Circumstance]
    requests: list[RequestRow]


def request_rows(
    conversation: Conversation, prices: Prices | None = None, measured: Iterable[Chain] | None = None
) -> RequestRows:
    """Every response of the file of a conversation, and a row for each advisor it asked.

    Priced and measured by what the conversation knows, unless told otherwise.
    """
    prices = prices if prices is not None else conversation.prices
    left_behind = _left_behind(conversation)
    found = chains(conversation, prices) if measured is None else measured
    by_key = {each.request.key: each for chain in found for each in chain.requests}
    scope = scope_of(conversation.records)
    numbers: dict[Circumstance, int] = {}
    rows = []
    for request in conversation.requests:
        is_abandoned = id(request.rows[0]) in left_behind
        agent = _agent(conversation, request)
        name = request.name_in(scope)
        about = by_key[request.key]
        for number, (used, model) in enumerate([(about.used, request.model), *advisors(request.usage)]):
            circumstance = _circumstance(request, used, model, agent)
            place = numbers.setdefault(circumstance, len(numbers))
            key = f"{name}{ADVISOR}{number}" if number else name
            cost = prices.cost(used, model, request.time)
            if number:
                saved = prices.savings(used, model, request.time)
                about = Measured(request=request, used=used, saved=saved, rebuild=None)
            rows.append(_row(about, key, place, cost, is_advisor=number > 0, is_abandoned=is_abandoned))
    return {"circumstances": list(numbers), "requests": rows}


def _left_behind(conversation: Conversation) -> set[int]:
    """`id()` of the lines on branches that were rewound."""
    if len(conversation.tree.segments) < 2:  # nothing was: the turns of most agents are never asked for
        return set()
    return {
        id(record)
        for branch in conversation.branches
        if not branch.active
        for turn in branch.turns
        for record in turn.records
    }


def _agent(conversation: Conversation, request: Request) -> str | None:
    """The agent that asked: by the name the client gives, else by its type or the reason it ran."""
    if request.winner.attribution_agent is not None:
        return request.winner.attribution_agent
    if isinstance(conversation, Subagent):
        return conversation.type or conversation.kind.value
    return "subagent" if request.is_sidechain else None


def _circumstance(request: Request, used: Rated, model: str | None, agent: str | None) -> Circumstance:
    row = request.winner
    return Circumstance(
        model=model,
        version=row.version,
        project=row.cwd,
        git_branch=row.git_branch,
        agent=agent,
        skill=row.attribution_skill,
        plugin=row.attribution_plugin,
        mcp_server=row.attribution_mcp_server,
        mcp_tool=row.attribution_mcp_tool,
        tools=tuple(sorted(set(_tools(request.rows)))),
        speed=used.speed,
        geo=used.geo,
        tier=used.tier,
        stop_reason=request.stop_reason,
    )


def _tools(rows: tuple[Assistant, ...]) -> Iterator[str]:
    for row in rows:
        for block in row.blocks:
            if type(block) is ToolUse and block.name:
                yield block.name


def _row(
    about: Measured, key: str, place: int, cost: int | None, *, is_advisor: bool, is_abandoned: bool
) -> RequestRow:
    request, used, rebuild = about.request, about.used, about.rebuild
    details, served = request.usage.output_tokens_details, request.usage.server_tool_use
    return RequestRow(
        key=key,
        request_id=request.winner.request_id,
        circumstance=place,
        time=milliseconds(request.time),
        input=used.input,
        output=used.output,
        cache_read=used.cache_read,
        cache_write_5m=used.cache_write_5m,
        cache_write_1h=used.cache_write_1h,
        thinking=details.thinking_tokens if details is not None and not is_advisor else None,
        web_searches=used.web_searches,
        web_fetches=(served.web_fetch_requests or 0) if served is not None and not is_advisor else 0,
        is_sidechain=request.is_sidechain,
        is_abandoned=is_abandoned,
        doubt=0 if is_advisor else request.doubt,
        rows=0 if is_advisor else len(request.rows),
        nanodollars=cost,
        recorded=None if is_advisor else _recorded(request),
        saved=about.saved,
        rebuilt=rebuild.tokens if rebuild is not None else None,
        premium=rebuild.nanodollars if rebuild is not None else None,
        cause=rebuild.cause if rebuild is not None else None,
        is_told=rebuild.is_told if rebuild is not None else None,
        thinking_estimate=None if is_advisor else thinking_estimate(request),
    )


def _recorded(request: Request) -> int | None:
    """What clients of 1.0.x wrote into the line, in nano-dollars; what no response can cost was not written by one."""
    told = request.winner.cost_usd
    if told is None or not 0 <= told <= _DEAREST:
        return None
    return int(Decimal(str(told)).scaleb(9).to_integral_value())


_DEAREST = 1_000_000


def milliseconds(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp() * 1000)
