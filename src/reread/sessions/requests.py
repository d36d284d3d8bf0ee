"""API responses and what they used: one request per response, however many lines show it.

The client repeats `usage` on every line of a response; adding lines counts 2.4 times too much on recorded data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from reread.pricing import Prices, Rated
from reread.pricing.tokens import Tokens
from reread.records import Assistant, Iteration, Record, Spoken, Usage, User

Key = tuple[str | int, ...]
"""The identity of a response over all files: its message id, where the API gave it."""


class Doubt(IntEnum):
    """Whether the counts of a response can be final."""

    NONE = 0
    PROVISIONAL = 1
    """No row says why the response ended."""
    SUSPECT = 2
    """Nor could it have: clients up to about 2.1.56 often wrote only the opening numbers of the stream."""


_BY_PLACE = "line"
_STUB_TOKENS = 10
_STUBS_BEFORE = (2, 1, 97)
"""The latest boundary any source names; the row itself must look like a stub as well."""


class Request(Struct, frozen=True, kw_only=True):
    """One answer of the API, by the row that tells most about it."""

    key: Key
    winner: Assistant
    usage: Usage
    """The winner's."""
    time: datetime | None
    """When its first row was written; the time of the line before it where it has none."""
    rows: tuple[Assistant, ...]
    stop_reason: str | None
    """As the last row has it that says why the response ended."""
    is_sidechain: bool
    """Whether all its rows are of an agent."""
    web_searches: int = 0

    def name_in(self, file: str) -> str:
        """The key as one text, which is how the archive keeps it; a row without any id is told by its file, which
        `scope_of` names, and its line."""
        scope = (file,) if is_of_one_file(self.key) else ()
        return " ".join(map(str, (*scope, *self.key)))

    @property
    def model(self) -> str | None:
        return self.winner.message.model if self.winner.message is not None else None

    @property
    def output_tokens(self) -> int:
        return self.usage.output_tokens or 0

    @property
    def doubt(self) -> Doubt:
        return doubt(self.stop_reason, self.winner.version, self.output_tokens)

    def parts(self) -> Iterator[tuple[Rated, str | None]]:
        """The response itself, then the advisors it asked; the top-level counts do not include them."""
        yield Rated.of(self.usage, self.web_searches), self.model
        yield from advisors(self.usage)


def advisors(usage: Usage) -> Iterator[tuple[Rated, str | None]]:
    """The calls of other models inside a response."""
    for call in usage.iterations or ():
        if call is not None and call.type == "advisor_message":
            yield Rated.of(_as_usage(call, usage), 0), call.model


def doubt(stop_reason: str | None, version: str | None, output: int) -> Doubt:
    if stop_reason is not None:
        return Doubt.NONE
    return Doubt.SUSPECT if output <= _STUB_TOKENS and _may_write_stubs(version) else Doubt.PROVISIONAL


@lru_cache(maxsize=256)
def _may_write_stubs(version: str | None) -> bool:
    """An unknown version may; asked for every response, and there are few versions."""
    numbers = (version or "").split("-")[0].split(".")
    return not all(number.isdecimal() for number in numbers) or tuple(map(int, numbers)) < _STUBS_BEFORE


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


def _identity(record: Assistant, chained: dict[str, Key], previous: Key) -> Key:
    message_id = record.message.id if record.message is not None else None
    if message_id is None:
        return ("uuid", record.uuid) if record.uuid else (_BY_PLACE, record.line, record.offset)
    if message_id.startswith("msg_"):
        return (message_id,)
    if record.parent_uuid is not None:
        previous = chained.get(record.parent_uuid, previous)
    elif record.timestamp is not None:
        previous = ()  # it begins a chain: only frames of a stream, which have neither, go by their order alone
    key = _scoped(record, message_id, previous)
    if record.uuid is not None:
        chained[record.uuid] = key
    return key


def scope_of(records: Sequence[Record]) -> str:
    """What names a file for its rows without any id: its first line, so that a copy elsewhere has the same."""
    return sha256(bytes(records[0].raw)).hexdigest()[:32] if records else ""


def is_of_one_file(key: Key) -> bool:
    """Whether nothing but its place in a file tells a response: rows at the same place of two files are no copies."""
    return key[0] == _BY_PLACE


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
    """Most output wins, on a tie a row of the main conversation, then the last: the rows of a response grow."""
    at_home = [row for row in rows if not row.is_sidechain]
    winner, used = rows[0], _usage(rows[0])
    best = (-1, False)
    searches = 0
    stop_reason = None
    for row in rows:
        usage = _usage(row)
        rank = (usage.output_tokens or 0, not row.is_sidechain)
        if rank >= best:
            winner, used, best = row, usage, rank
        if usage.server_tool_use is not None:
            searches = max(searches, usage.server_tool_use.web_search_requests or 0)
        if row.message is not None and row.message.stop_reason is not None:
            stop_reason = row.message.stop_reason
    return Request(
        key=key,
        winner=winner,
        usage=used,
        time=_earliest(at_home or rows),
        rows=tuple(rows),
        stop_reason=stop_reason,
        is_sidechain=not at_home,
        web_searches=searches,
    )


def _earliest(rows: list[Assistant]) -> datetime | None:
    times = [time for row in rows if (time := row.time) is not None]
    return min(times, default=None)


def _usage(row: Assistant) -> Usage:
    usage = row.message.usage if row.message is not None else None
    return usage if usage is not None else Usage()


def with_times(requests: Iterable[Request], records: Sequence[Record]) -> Iterator[Request]:
    """Requests none of whose rows has a time take that of the last dated line before them."""
    places: dict[int, int] = {}
    for request in requests:
        if request.time is None:
            places = places or {id(record): i for i, record in enumerate(records)}
            before = reversed(records[: places[id(request.rows[0])]])
            time = next((record.time for record in before if record.time is not None), None)
            request = replace(request, time=time)
        yield request


class Copy(NamedTuple):
    """What decides between the copies of one response in several files."""

    output: int
    is_sidechain: bool
    time: float | None


def home_and_winner(copies: Sequence[Copy]) -> tuple[int, int]:
    """The copy that says whose a response is and when it was, and the copy whose counts are taken, by position.

    At home is a main session before a sidechain, then the earliest, then the first seen. Most output wins, and on a
    tie the copy at home: an agent that replays its parent's messages reports other cache figures.
    """

    def distance(i: int) -> tuple[bool, bool, float, int]:
        copy = copies[i]
        return copy.is_sidechain, copy.time is None, copy.time or 0.0, i

    order = sorted(range(len(copies)), key=distance)
    return order[0], max(order, key=lambda i: copies[i].output)


def collapse(groups: Iterable[Iterable[Request]]) -> list[Request]:
    """Requests of several files, each response once."""
    found: dict[Key, list[Request]] = {}
    for number, group in enumerate(groups):
        for request in group:
            key = (*request.key, number) if is_of_one_file(request.key) else request.key
            found.setdefault(key, []).append(request)
    return [copies[0] if len(copies) == 1 else _collapsed(copies) for copies in found.values()]


def _collapsed(copies: list[Request]) -> Request:
    home, winner = home_and_winner(
        [Copy(each.output_tokens, each.is_sidechain, each.time.timestamp() if each.time else None) for each in copies]
    )
    searches = max(each.web_searches for each in copies)
    return replace(copies[winner], time=copies[home].time, web_searches=searches)


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
