"""API responses and what they used: one request per response, however many lines show it.

The client repeats `usage` on every line of a response; adding lines counts 2.4 times too much on recorded data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from reread.pricing import Prices, Rated
from reread.records import Assistant, Iteration, Record, Spoken, Usage, User

Key = tuple[str | int, ...]
"""The identity of a response over all files: its message id, where the API gave it."""


class Request(Struct, frozen=True, kw_only=True):
    """One answer of the API, by the row that tells most about it."""

    key: Key
    model: str | None
    usage: Usage
    time: datetime | None
    """When its first row was written."""
    rows: tuple[Assistant, ...]
    web_searches: int = 0

    @property
    def output_tokens(self) -> int:
        return self.usage.output_tokens or 0

    def parts(self) -> Iterator[tuple[Rated, str | None]]:
        """The response itself, then the advisors it asked; the top-level counts do not include them."""
        yield Rated.of(self.usage, self.web_searches), self.model
        for call in self.usage.iterations or ():
            if call is not None and call.type == "advisor_message":
                yield Rated.of(_as_usage(call, self.usage), 0), call.model


class Tokens(Struct, frozen=True, kw_only=True):
    """Sums over requests. Money is exact; `cost` is None when nothing could be priced."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    web_searches: int = 0
    unpriced_tokens: int = 0
    nanodollars: int | None = None

    @property
    def cache_write_tokens(self) -> int:
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def cost(self) -> Decimal | None:
        """Dollars of the priced part."""
        return None if self.nanodollars is None else Decimal(self.nanodollars).scaleb(-9)


def spoken_groups(records: Iterable[Record]) -> dict[Key, list[Spoken]]:
    """User lines one by one, assistant lines by the response they belong to, in the order of their first lines.

    Ids of the API itself begin with `msg_` and are unique. Gateways may answer every call with the same id, so
    there only the request id, or the chain of lines, tells where one response ends and the next begins.
    """
    groups: dict[Key, list[Spoken]] = {}
    chained: dict[str, Key] = {}
    previous: Key = ()
    for i, record in enumerate(records):
        if isinstance(record, Assistant):
            previous = _identity(record, chained, previous)
            groups.setdefault(previous, []).append(record)
        elif isinstance(record, User):
            previous = ()
            groups["user", i] = [record]
    return groups


def reply_groups(replies: Iterable[Assistant]) -> dict[Key, list[Spoken]]:
    """The same from assistant lines alone: a response of a gateway is told by the chain of its lines."""
    groups: dict[Key, list[Spoken]] = {}
    chained: dict[str, Key] = {}
    for record in replies:
        groups.setdefault(_identity(record, chained, ()), []).append(record)
    return groups


def _identity(record: Assistant, chained: dict[str, Key], previous: Key) -> Key:
    message_id = record.message.id if record.message is not None else None
    if message_id is None:
        return ("uuid", record.uuid) if record.uuid else ("line", record.line, record.offset)
    if message_id.startswith("msg_"):
        return (message_id,)
    key = _scoped(record, message_id, chained.get(record.parent_uuid or "", previous))
    if record.uuid is not None:
        chained[record.uuid] = key
    return key


def _scoped(record: Assistant, message_id: str, before: Key) -> Key:
    """The key of a response whose id may be a gateway's constant."""
    scope = (record.session_id or "", message_id)
    if record.request_id is not None:
        return (*scope, record.request_id)
    return before if before[:2] == scope else (*scope, str(record.timestamp or record.uuid or record.line))


def requests_of(groups: Mapping[Key, Iterable[Spoken]]) -> list[Request]:
    """The requests among spoken groups, in the order of their first rows."""
    found = []
    for key, group in groups.items():
        rows = [row for row in group if isinstance(row, Assistant) and _is_counted(row)]
        if rows:
            found.append(_request(key, rows))
    return found


def _is_counted(record: Assistant) -> bool:
    return record.message is not None and record.message.usage is not None and not record.is_synthetic


def _request(key: Key, rows: list[Assistant]) -> Request:
    winner = rows[0]
    best = -1
    searches = 0
    for row in rows:
        usage = _usage(row)
        if (usage.output_tokens or 0) >= best:
            winner, best = row, usage.output_tokens or 0
        if usage.server_tool_use is not None:
            searches = max(searches, usage.server_tool_use.web_search_requests or 0)
    model = winner.message.model if winner.message is not None else None
    return Request(
        key=key, model=model, usage=_usage(winner), time=_earliest(rows), rows=tuple(rows), web_searches=searches
    )


def _earliest(rows: list[Assistant]) -> datetime | None:
    times = [time for row in rows if (time := row.time) is not None]
    return min(times, default=None)


def _usage(row: Assistant) -> Usage:
    usage = row.message.usage if row.message is not None else None
    return usage if usage is not None else Usage()


def collapse(groups: Iterable[Iterable[Request]]) -> list[Request]:
    """Requests of several files, each response once: most output wins, on a tie the file named first."""
    kept: dict[Key, Request] = {}
    for group in groups:
        for request in group:
            known = kept.get(request.key)
            if known is None or request.output_tokens > known.output_tokens:
                kept[request.key] = request
    return list(kept.values())


def add_up(requests: Iterable[Request], prices: Prices) -> Tokens:
    """The sum of requests, advisor calls inside them included under their own model's price."""
    used, costs = [], []
    for request in requests:
        for part, model in request.parts():
            used.append(part)
            costs.append(prices.cost(part, model, request.time))
    priced = [cost for cost in costs if cost is not None]
    return Tokens(
        requests=len(used),
        input_tokens=sum(part.input for part in used),
        output_tokens=sum(part.output for part in used),
        cache_read_tokens=sum(part.cache_read for part in used),
        cache_write_5m_tokens=sum(part.cache_write_5m for part in used),
        cache_write_1h_tokens=sum(part.cache_write_1h for part in used),
        web_searches=sum(part.web_searches for part in used),
        unpriced_tokens=sum(part.total for part, cost in zip(used, costs, strict=True) if cost is None),
        nanodollars=sum(priced) if priced else None,
    )


def _as_usage(call: Iteration, around: Usage) -> Usage:
    return Usage(
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        cache_creation_input_tokens=call.cache_creation_input_tokens,
        cache_read_input_tokens=call.cache_read_input_tokens,
        cache_creation=call.cache_creation,
        service_tier=around.service_tier,
        inference_geo=around.inference_geo,
        speed=around.speed,
    )
