"""The responses of a conversation as rows of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, TypedDict

from msgspec.structs import replace

from reread.analyses.caching import Chain, Measured, chains, thinking_estimate
from reread.billing import Prices
from reread.billing.response import Response
from reread.records import Assistant, ToolUse
from reread.sessions import Conversation, Request, Subagent, scope_of, told_in

from .rows import Circumstance


class ResponseRows(TypedDict):
    circumstances: list[Circumstance]
    responses: list[Response]


def response_rows(
    conversation: Conversation, file: str, prices: Prices | None = None, measured: Iterable[Chain] | None = None
) -> ResponseRows:
    """Every response of the file with this key, and a row for each advisor it asked.

    Priced and measured by what the conversation knows, unless told otherwise.
    """
    prices = prices if prices is not None else conversation.prices
    left_behind = _left_behind(conversation)
    found = chains(conversation, prices) if measured is None else measured
    by_key = {each.request.identity: each for chain in found for each in chain.requests}
    numbers: dict[Circumstance, int] = {}
    rows = []
    for request, told in told_in(file, conversation.requests, scope_of(conversation.records)):
        circumstance = _circumstance(request, told, _agent(conversation, request))
        about: dict[str, Any] = {"is_abandoned": id(request.lines[0]) in left_behind}
        about["circumstance"] = about["place"] = numbers.setdefault(circumstance, len(numbers))
        about["nanodollars"] = prices.cost(told, told.model, told.time)
        if told.rows:
            about |= _measured(by_key[request.identity])
        else:
            about["saved"] = prices.savings(told, told.model, told.time)
        rows.append(replace(told, **about))
    return {"circumstances": list(numbers), "responses": rows}


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


def _circumstance(request: Request, used: Response, agent: str | None) -> Circumstance:
    row = request.winner
    return Circumstance(
        model=used.model,
        version=row.version,
        project=row.cwd,
        git_branch=row.git_branch,
        agent=agent,
        skill=row.attribution_skill,
        plugin=row.attribution_plugin,
        mcp_server=row.attribution_mcp_server,
        mcp_tool=row.attribution_mcp_tool,
        tools=tuple(sorted(set(_tools(request.lines)))),
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


def _measured(about: Measured) -> dict[str, Any]:
    request, rebuild = about.request, about.rebuild
    details, served = request.usage.output_tokens_details, request.usage.server_tool_use
    found = {
        "saved": about.saved,
        "thinking": details.thinking_tokens if details is not None else None,
        "web_fetches": (served.web_fetch_requests or 0) if served is not None else 0,
        "recorded": _recorded(request),
        "thinking_estimate": thinking_estimate(request),
    }
    if rebuild is None:
        return found
    again = {"rebuilt": rebuild.tokens, "premium": rebuild.nanodollars, "cause": rebuild.cause}
    return {**found, **again, "is_told": rebuild.is_told}


def _recorded(request: Request) -> int | None:
    """What clients of 1.0.x wrote into the line, in nano-dollars; what no response can cost was not written by one."""
    told = request.winner.cost_usd
    if told is None or not 0 <= told <= _DEAREST:
        return None
    return int(Decimal(str(told)).scaleb(9).to_integral_value())


_DEAREST = 1_000_000
