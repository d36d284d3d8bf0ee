"""What the API's responses in a conversation amount to as rows, and the totals that the client itself reported.

A response is priced and its context named here once; which of several copies counts is `billing.settle`'s answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from reread.billing import Prices
from reread.billing.response import Response
from reread.features.cache_rebuilds import Chain, Measured, chains, thinking_estimate
from reread.records import Assistant, CostState, Record, Result, ToolUse, Usage, parse_time
from reread.records.client_input import nanodollars, number
from reread.sessions import Conversation, Request, Subagent, responses_in, scope_of
from reread.times import milliseconds

from .model import ClientTotalRow, RequestContext


def response_rows(
    conversation: Conversation,
    file: str,
    prices: Prices | None = None,
    measured: Iterable[Chain] | None = None,
    scope: str | None = None,
) -> tuple[list[RequestContext], list[Response]]:
    """Every response of the file with this key and every advisor it asked, and the contexts that they name by number.

    Prices, measurements and scope are those of the conversation unless they are given.
    """
    prices = prices if prices is not None else conversation.prices
    abandoned = conversation.abandoned
    found = chains(conversation, prices) if measured is None else measured
    by_key = {each.request.identity: each for chain in found for each in chain.requests}
    numbers: dict[RequestContext, int] = {}
    rows = []
    scope = scope_of(conversation.records) if scope is None else scope
    own = _own_agent(conversation)
    for request, response in responses_in(file, conversation.requests, scope):
        row, tools = request.winner, tools_of(request.lines)
        context = context_of(row, tools, request.stop_reason, response, _agent(request, own))
        about: dict[str, Any] = {"is_abandoned": id(request.lines[0]) in abandoned}
        about["context"] = about["owner_context"] = numbers.setdefault(context, len(numbers))
        about["nanodollars"] = prices.cost(response, response.model, response.time)
        if response.rows:
            about |= _measured(by_key[request.identity])
            about["thinking_estimate"] = thinking_estimate(request)
        else:
            about["saved"] = prices.savings(response, response.model, response.time)
        rows.append(replace(response, **about))
    return list(numbers), rows


def _own_agent(conversation: Conversation) -> str | None:
    """The agent whose file this is, by its type or else the reason it ran; None for a session's own transcript."""
    return conversation.type or conversation.kind.value if isinstance(conversation, Subagent) else None


def _agent(request: Request, own: str | None) -> str | None:
    """The agent that made a request: the name that the client recorded, else that of the file."""
    if request.winner.attribution_agent is not None:
        return request.winner.attribution_agent
    return own or ("subagent" if request.is_sidechain else None)


def agents_of(conversation: Conversation) -> frozenset[str | None]:
    """The agents that made the requests of a conversation, as their rows name them."""
    own = _own_agent(conversation)
    return frozenset(_agent(request, own) for request in conversation.requests)


def context_of(
    row: Any, tools: tuple[str, ...], stop_reason: str | None, used: Response, agent: str | None
) -> RequestContext:
    """The context of a response by the line that counts: an `Assistant`, or what a scan decodes of one."""
    return RequestContext(
        model=used.model,
        version=row.version,
        project=row.cwd,
        git_branch=row.git_branch or None,  # outside a repository clients write an empty name
        agent=agent,
        skill=row.attribution_skill,
        plugin=row.attribution_plugin,
        mcp_server=row.attribution_mcp_server,
        mcp_tool=row.attribution_mcp_tool,
        tools=tools,
        speed=used.speed,
        geo=used.geo,
        tier=used.tier,
        stop_reason=stop_reason,
    )


def tools_of(rows: Iterable[Assistant]) -> tuple[str, ...]:
    names = {block.name for row in rows for block in row.blocks if type(block) is ToolUse and block.name}
    return tuple(sorted(names))


def _measured(about: Measured) -> dict[str, Any]:
    request, rebuild = about.request, about.rebuild
    usage = request.usage
    details, served = usage.output_tokens_details, usage.server_tool_use
    found = {
        "saved": about.saved,
        "thinking": details.thinking_tokens if details is not None else None,
        "web_fetches": (served.web_fetch_requests or 0) if served is not None else 0,
        "recorded": recorded_cost(request.winner.cost_usd, usage),
    }
    if rebuild is None:
        return found
    again = {"rebuilt": rebuild.tokens, "premium": rebuild.nanodollars, "cause": rebuild.cause}
    return {**found, **again, "by_api": rebuild.by_api}


def recorded_cost(by_client: float | None, usage: Usage) -> int | None:
    """Nano-dollars that a 1.0.x client or a gateway wrote into the line; None for an amount no response can cost."""
    cost = usage.x_anthropic_cost_usd if by_client is None else by_client
    if cost is None or not 0 <= cost <= _DEAREST:
        return None
    return int(Decimal(str(cost)).scaleb(9).to_integral_value())


_DEAREST = 1_000_000


_TELLS_COST = (CostState, Result)
_LONGEST_MS = 1e12
_MOST_TOKENS = 1e15
_TOKENS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadInputTokens",
    "cache_write": "cacheCreationInputTokens",
    "web_searches": "webSearchRequests",
}


def client_total_rows(conversation: Conversation) -> list[ClientTotalRow]:
    """The last total of every count. The client counts on when a session is resumed, or begins again at zero."""
    rows: list[ClientTotalRow] = []
    if not any(kind in conversation.beside for kind in _TELLS_COST):
        return rows
    for row in _reported_totals(conversation.records):
        before = next((i for i in reversed(range(len(rows))) if _is_same_count(rows[i], row)), None)
        if before is None:
            rows.append(row)
        elif row.nanodollars >= rows[before].nanodollars:
            rows[before] = replace(row, first=rows[before].first)
    return rows


def _is_same_count(known: ClientTotalRow, row: ClientTotalRow) -> bool:
    """Totals with the same start time are one count; without a start time, a total that falls begins another."""
    is_like = known.source == row.source and known.began == row.began
    return is_like and (row.began is not None or known.nanodollars <= row.nanodollars)


def _reported_totals(records: Sequence[Record]) -> Iterator[ClientTotalRow]:
    for position, record in enumerate(records):
        if not isinstance(record, _TELLS_COST):
            continue
        total = nanodollars(record.total_cost_usd)
        if total is None:
            continue
        began = lasted = None
        if isinstance(record, CostState):
            began = milliseconds(parse_time(record.start_time))
            lasted = number(record.total_duration, _LONGEST_MS)
        yield ClientTotalRow(
            source=record.type or "",
            began=began,
            time=_time_above(records, position) if began is None or lasted is None else began + int(lasted),
            first=total,
            nanodollars=total,
            models=_models(record.data.get("modelUsage")),
        )


def _time_above(records: Sequence[Record], position: int) -> int | None:
    """The time of the last line before that has one: lines with a total have no time of their own."""
    above = (records[i].time for i in range(position, -1, -1))
    return milliseconds(next((time for time in above if time is not None), None))


def _models(models: object) -> dict[str, dict[str, int]] | None:
    if not isinstance(models, dict):
        return None
    return {model: _figures(used) for model, used in models.items() if isinstance(used, dict)}


def _figures(used: dict[str, object]) -> dict[str, int]:
    found = {"nanodollars": nanodollars(used.get("costUSD"))}
    for name, theirs in _TOKENS.items():
        tokens = number(used.get(theirs), _MOST_TOKENS)
        found[name] = None if tokens is None else int(tokens)
    return {name: value for name, value in found.items() if value is not None}
