"""API responses and what they used: one request per response, however many lines show it.

The client repeats `usage` on every line of a response; adding lines counts 2.4 times too much on recorded data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import starmap
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from reread.billing import Prices
from reread.billing.cost import Rated, counts_of
from reread.billing.lines import LinesOfResponse
from reread.billing.report import Tokens, total_of
from reread.billing.response import Response, advice, doubt, is_unique, settle_all
from reread.records import Assistant, Record, Spoken, Usage, User
from reread.times import milliseconds

from .speaker import has_tool_result

Key = tuple[str | int, ...]
"""The identity of a response across all files: its message id, if the API gave it."""
_Told = str | tuple[str | None, int, int]
"""What tells responses of one id apart: the request's id, or model, size and number of the prompt."""
_BY_PLACE = "line"


class Request(Response, frozen=True, kw_only=True, gc=True):
    """A response with the lines of a conversation that repeat it; its counts are those of the line with the most
    output."""

    identity: Key
    winner: Assistant
    usage: Usage
    """The usage of `winner`."""
    lines: tuple[Assistant, ...]
    stop_reason: str | None
    """From the last line that has one."""

    def name_in(self, file: str) -> str:
        """The key as one text, as the archive stores it. A response without any id is named by its file (see
        `scope_of`) and its line."""
        return f"{file} {self.key}" if is_of_one_file(self.identity) else self.key

    def parts(self) -> Iterator[Response]:
        """The response itself, then the advisors it asked, whose counts are not included in its own."""
        yield self
        yield from advice(self, self.usage)


def requests_in(records: Sequence[Record]) -> list[Request]:
    """The requests of one file: the same as in its `Conversation`, without building one."""
    repeats = repeats_in(records)
    spoken = (record for record in records if isinstance(record, Spoken) and id(record) not in repeats)
    return list(with_times(requests_of(spoken_groups(spoken)), records))


def repeats_in(records: Iterable[Record]) -> frozenset[int]:
    """The `id()` of each line that repeats an earlier line with the same uuid; `/compact` in 2.1.197 writes such
    lines."""
    first: dict[str, Record] = {}
    return frozenset(
        id(record)
        for record in records
        if record.uuid is not None
        and (known := first.setdefault(record.uuid, record)) is not record
        and _says_the_same(record, known)
    )


def _says_the_same(one: Record, other: Record) -> bool:
    if type(one) is not type(other) or one.timestamp != other.timestamp:
        return False
    return not isinstance(one, Spoken) or one.message == getattr(other, "message", None)


def spoken_groups(records: Iterable[Record]) -> dict[Key, list[Spoken]]:
    """Each user line by itself, assistant lines by the response they belong to, in the order of their first lines."""
    groups: dict[Key, list[Spoken]] = {}
    evidence = _Evidence()
    for i, record in enumerate(records):
        if type(record) is Assistant:
            groups.setdefault(evidence.identity(record), []).append(record)
        elif isinstance(record, User):
            evidence.answered(record)
            groups["user", i] = [record]
    return groups


class _Evidence:
    """Tells the responses of one file apart; must be given its lines in order.

    Ids of the API are unique. A gateway may give one id to all responses of a second, or to all there are: such a
    response is known by its id and the time of its first line, which every copy of it has, and the request's id if it
    has one. A line belongs to a response before it if it names the same request; without one, if it follows one of its
    lines, or model and size of the prompt are the same: the result of a call may stand between two lines.
    """

    def __init__(self) -> None:
        self._chained: dict[str, Key] = {}
        self._told: dict[tuple[str, _Told], Key] = {}
        """Responses by their id and what else tells them."""
        self._prompts = 0
        self._previous: Key = ()

    def answered(self, user: User) -> None:
        """A line of the user's comes between."""
        self._previous = ()
        if self._told and not has_tool_result(user):
            self._prompts += 1

    def identity(self, record: Assistant) -> Key:
        name = record.api_message.id
        if name is None:
            self._previous = ("uuid", record.uuid) if record.uuid else (_BY_PLACE, record.line, record.offset)
        elif is_unique(name):
            self._previous = (name,)
        else:
            self._previous = self._of_gateway(record, name)
        return self._previous

    def _of_gateway(self, record: Assistant, name: str) -> Key:
        asked = record.request_id or ""
        told = name, asked or self._prompt_of(record)
        key = self._told.get(told) if asked else self._followed(record, name) or self._told.get(told)
        key = self._told[told] = key or (name, asked, str(record.timestamp or record.uuid or record.line))
        if record.uuid is not None:
            self._chained[record.uuid] = key
        return key

    def _followed(self, record: Assistant, name: str) -> Key | None:
        """The response of the line that it follows, if that has the same id."""
        before = self._chained.get(record.parent_uuid or "", ())
        if record.parent_uuid is None and record.timestamp is None:
            before = self._previous  # frames of a stream have no parent and no time: their order has to do
        return before if before[:1] == (name,) else None

    def _prompt_of(self, record: Assistant) -> _Told:
        """What all lines of a response repeat, and no other since the person's last prompt does: the model and how much
        it was given. The line's place where that was not counted, or where nothing says what the line follows."""
        size = Rated.of(record.api_message.usage or _NO_USAGE, 0).prompt
        if not size or record.parent_uuid is None:
            return None, 0, record.offset
        return record.api_message.model, size, self._prompts


def scope_of(records: Sequence[Record]) -> str:
    """Names a file for its rows without any id, by its first line, so that a copy of the file has the same name."""
    return sha256(bytes(records[0].raw)).hexdigest()[:32] if records else ""


def is_of_one_file(key: Key) -> bool:
    """Whether a response is identified only by its place in a file. Such rows of two files are never copies."""
    return key[0] == _BY_PLACE


def requests_of(groups: Mapping[Key, Iterable[Spoken]]) -> list[Request]:
    """The requests among spoken groups, in the order of their first rows."""
    return list(starmap(request_of, counted_rows(groups)))


def counted_rows(groups: Mapping[Key, Iterable[Spoken]]) -> list[tuple[Key, list[Assistant]]]:
    """What each request among spoken groups is made of, in the same order: its identity and its rows."""
    found = []
    for key, group in groups.items():
        rows = [row for row in group if type(row) is Assistant and _is_counted(row)]
        if rows:
            found.append((key, rows))
    return found


def _is_counted(record: Assistant) -> bool:
    return record.message is not None and record.message.usage is not None and not record.is_synthetic


def request_of(key: Key, rows: list[Assistant]) -> Request:
    """A request from its rows."""
    at_home = [row for row in rows if not row.is_sidechain]
    said = LinesOfResponse(line=rows[0])
    for row in rows:
        message = row.api_message
        said.add(row, message.usage or _NO_USAGE, message.stop_reason, is_sidechain=bool(row.is_sidechain))
    winner = said.line
    return Request(
        *counts_of(said.usage, said.web_searches),
        identity=key,
        key=" ".join(map(str, key)),
        winner=winner,
        usage=said.usage,
        lines=tuple(rows),
        time=milliseconds(_earliest(at_home or rows)),
        model=winner.api_message.model,
        request_id=winner.request_id,
        stop_reason=said.stop_reason,
        doubt=doubt(said.stop_reason, winner.version, said.output),
        rows=said.rows,
        is_sidechain=not at_home,
    )


def _earliest(rows: list[Assistant]) -> datetime | None:
    times = [time for row in rows if (time := row.time) is not None]
    return min(times, default=None)


_NO_USAGE = Usage()


def with_times(requests: Iterable[Request], records: Sequence[Record]) -> Iterator[Request]:
    """Gives a request without a time in any row the time of the last dated line before it."""
    places: dict[int, int] = {}
    for request in requests:
        if request.time is None:
            places = places or {id(record): i for i, record in enumerate(records)}
            before = reversed(records[: places[id(request.lines[0])]])
            time = next((record.time for record in before if record.time is not None), None)
            request = replace(request, time=milliseconds(time))
        yield request


def responses_in(
    file: str, requests: Sequence[Request], scope: str | None = None, head: str = ""
) -> Iterator[tuple[Request, Response]]:
    """Each request with its response as this file has it, without the lines; then with each advisor it asked.

    `scope` names the file in the keys of rows without any id, if that is not `file` itself.
    """
    scope = file if scope is None else scope
    times = [request.time for request in requests if request.time is not None]
    span = min(times, default=None), max(times, default=None)
    for each in requests:
        # By position: naming the fields takes twice the time, for every response of a sync.
        values: tuple[Any, ...] = (*_counts(each), each.name_in(scope), file, head, *span, *_others(each))
        response = Response(*values)
        yield each, response
        if each.usage.iterations:
            yield from ((each, part) for part in advice(response, each.usage))


_FIELDS = Response.__struct_fields__
_KEY, _TIME = _FIELDS.index("key"), _FIELDS.index("time")
_counts, _others = attrgetter(*_FIELDS[:_KEY]), attrgetter(*_FIELDS[_TIME:])


def collapse(files: Iterable[Sequence[Request]], prices: Prices) -> Tokens:
    """The sum over several files of a session, each response counted once; the session's own file comes first."""
    responses = (
        response for number, requests in enumerate(files) for _, response in responses_in(f"{number:09}", requests)
    )
    return _sum(settle_all(responses), prices)


def add_up(requests: Iterable[Request], prices: Prices) -> Tokens:
    """The sum of requests, including the advisor calls inside them at their own model's price."""
    return _sum((part for request in requests for part in request.parts()), prices)


def _sum(responses: Iterable[Response], prices: Prices) -> Tokens:
    return total_of((each, prices.cost(each, each.model, each.time)) for each in responses)
