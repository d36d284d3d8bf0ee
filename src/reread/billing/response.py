"""One API response: as one file reports it, and as it counts once its copies are settled. One type from line to report.

Every field is a plain value (text, whole number, boolean or None), so that a row of any database can become a response.

A resume, a fork, an agent that replays its parent, a backup, a second machine: each repeats a response. Only `settle`
decides which copy counts and who owns it (docs/ledger.md, tested in `tests/accounting`). Give it all copies of one key,
in any order and from anywhere; the result depends on their content, never on the order in which they came. Another
database can group its rows by `key` (leaving out advisors' calls) and call it, or sort as `nearness` does:

    owner    ORDER BY is_sidechain, time IS NULL, time, began IS NULL, began, ended, head, file   LIMIT 1
    counted  ORDER BY output DESC, then as for the owner                                          LIMIT 1

`began` and `ended` are the first and the last time of a response in the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import IntEnum

from msgspec.structs import replace

from reread.records import Iteration, Usage
from reread.records.base import version_numbers
from reread.times import moment

from .cost import Rated

ADVISOR = "#advisor:"
"""Separates the key of a response from the number of an advisor that it asked."""
_STUB_TOKENS = 10
_STUBS_BEFORE = (2, 1, 97)
"""The latest boundary that any source names; in addition, the row itself must look like a stub."""


def is_unique(name: str) -> bool:
    """Whether a message's id names one response only: it was given by the API or one of its clouds, or written by hand.

    Gateways give ids that repeat, such as `msg_20260215063819` for all responses of a second.
    """
    if name.startswith("msg_01") and len(name) == _OF_API:
        return True
    return name.startswith("msg_") and (len(name) < _BY_HAND or name.startswith(("msg_bdrk_", "msg_vrtx_")))


_OF_API = len("msg_01") + 22
_BY_HAND = 16


class Doubt(IntEnum):
    """Whether the counts of a response can be final."""

    NONE = 0
    PROVISIONAL = 1
    """No row has a stop reason, so the counts may not be final."""
    SUSPECT = 2
    """Also probably too low: clients up to about 2.1.56 often wrote only the first counts of the stream."""


class Response(Rated, frozen=True, gc=False, array_like=True):
    """What one file reports about a response, or about an advisor's call in one; after `settle`, what all files report.

    Times are milliseconds since 1970 in UTC, money is whole nano-dollars and None where there is no price.
    """

    key: str = ""
    """The same in every copy of the response: its message id, or a gateway's id with what tells it apart."""
    file: str = ""
    """Key of the file that reports it, made from content or place, never a number of one database."""
    head: str = ""
    """Digest of the beginning of that file. It is the same on every machine and path, so it is compared before the
    key."""
    began: int | None = None
    ended: int | None = None
    """Times of the first and last response of that file's conversation."""
    time: int | None = None
    """Time of its first row, if possible in the main conversation."""
    is_sidechain: bool = False
    model: str | None = None
    doubt: int = 0
    rows: int = 1
    """Lines that repeat it; 0 for an advisor's call."""
    nanodollars: int | None = None

    # Settling passes on the fields below, but does not depend on them.
    saved: int | None = None
    """Nano-dollars that the cache saved; negative if writing cost more."""
    request_id: str | None = None
    context: int = 0
    """Number of its context (client, folder, agent and so on), in the table or list that it comes with."""
    owner_context: int = 0
    """The context of the copy that owns it."""
    is_abandoned: bool = False
    """Whether it is on a branch that was rewound."""
    thinking: int | None = None
    web_fetches: int = 0
    recorded: int | None = None
    """Nano-dollars that the client wrote into the line."""
    rebuilt: int | None = None
    premium: int | None = None
    cause: str | None = None
    by_api: bool | None = None
    thinking_estimate: int | None = None
    owner: str = ""
    """Key of the file that owns it; empty before copies are settled."""
    files: int = 1

    @property
    def at(self) -> datetime | None:
        return moment(self.time)

    @property
    def response(self) -> str:
        """The key of the response itself, or of the one that an advisor's call is part of."""
        return self.key.partition(ADVISOR)[0]


def advice(response: Response, usage: Usage) -> Iterator[Response]:
    """The calls of advisors in a response; its own counts do not include them."""
    number = 0
    for call in usage.iterations or ():
        if call is not None and call.type == "advisor_message":
            number += 1
            yield Response.of(
                _as_usage(call, usage),
                0,
                key=f"{response.key}{ADVISOR}{number}",
                file=response.file,
                began=response.began,
                ended=response.ended,
                time=response.time,
                is_sidechain=response.is_sidechain,
                is_abandoned=response.is_abandoned,
                request_id=response.request_id,
                model=call.model,
                rows=0,
            )


def _as_usage(call: Iteration, around: Usage) -> Usage:
    """An advisor's call as the client counts it: it has the geography of the whole response, but neither its speed nor
    its service tier."""
    return Usage(
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        cache_creation_input_tokens=call.cache_creation_input_tokens,
        cache_read_input_tokens=call.cache_read_input_tokens,
        cache_creation=call.cache_creation,
        inference_geo=around.inference_geo,
    )


def doubt(stop_reason: str | None, version: str | None, output: int) -> Doubt:
    if stop_reason is not None:
        return Doubt.NONE
    return Doubt.SUSPECT if output <= _STUB_TOKENS and _may_write_stubs(version) else Doubt.PROVISIONAL


def _may_write_stubs(version: str | None) -> bool:
    """True for an unknown version."""
    return (version_numbers(version) or ()) < _STUBS_BEFORE


Nearness = tuple[bool, bool, int, bool, int, int, str, str]


def nearness(copy: Response) -> Nearness:
    """The sort key by which the first copy owns a response: a main conversation before a sidechain, then the earliest
    row, then the earliest conversation (by its beginning, then its end, because a fork begins as its origin does and
    mostly continues after it), and last the smaller digest of the file's beginning and the smaller key of the file.
    """
    time, began = copy.time, copy.began
    return copy.is_sidechain, time is None, time or 0, began is None, began or 0, copy.ended or 0, copy.head, copy.file


def settle(copies: Sequence[Response]) -> Response:
    """Settles the copies of one response: `owner` is the file that owns it, and `file` the one whose counts are used.

    The copy with the most output counts, on a tie the owner's: an agent that replays its parent's messages reports
    other cache figures. Time, place and branch are the owner's. Web searches are the maximum of all copies, and doubt
    the minimum. The money is that of the copy that counts; `settle_all` prices it again for the owner's day.
    """
    ranked = sorted(copies, key=nearness)
    owner, counted = ranked[0], max(ranked, key=lambda copy: copy.output)
    return replace(
        counted,
        owner=owner.file,
        time=owner.time,
        head=owner.head,
        began=owner.began,
        ended=owner.ended,
        is_sidechain=owner.is_sidechain,
        is_abandoned=owner.is_abandoned,
        owner_context=owner.context,
        web_searches=max(copy.web_searches for copy in copies),
        doubt=min(copy.doubt for copy in copies),
        rows=sum(copy.rows for copy in copies),
        files=len(copies),
    )


def settle_advice(advised: Response, response: Response) -> Response:
    """Settles an advisor's call in the copy that counts: it gets the owner, time and place of its response."""
    return replace(
        advised,
        owner=response.owner,
        time=response.time,
        is_sidechain=response.is_sidechain,
        is_abandoned=response.is_abandoned,
        owner_context=response.owner_context,
        files=response.files,
    )


def settle_all(
    responses: Iterable[Response], priced: Callable[[Response], Response] | None = None
) -> Iterator[Response]:
    """Every response once, settled from the copies in several files, and the advisors' calls of the copies that count.

    With `Prices.priced`, responses that several files report are priced for their owner's day.
    """
    first: dict[str, Response] = {}
    copies: dict[str, list[Response]] = {}
    advised = []
    for each in responses:
        if not each.rows:
            advised.append(each)
        elif each.key in first:
            copies.setdefault(each.key, [first[each.key]]).append(each)
        else:
            first[each.key] = each
    for key, several in copies.items():
        settled = settle(several)
        first[key] = settled if priced is None else priced(settled)
    yield from first.values()
    for each in advised:
        asked = first.get(each.response)
        if asked is None or asked.files == 1:
            yield each
        elif asked.file == each.file:
            settled = settle_advice(each, asked)
            yield settled if priced is None else priced(settled)
