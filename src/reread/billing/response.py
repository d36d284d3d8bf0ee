"""One API response: as a file tells it, and as it counts once its copies are settled. One type from line to report.

Every field is a plain value (text, a whole number, true or false, or none), so that rows of any database make one.

A resume, a fork, an agent that replays its parent, a backup, a second machine: each tells a response once more. Which
copy counts, and whose it is, `settle` alone decides (R2 to R4). Give it all copies of one key, in any order and from
anywhere; its answer depends on what they say, never on when they came. A database elsewhere can group its rows by `key`
(advisors' calls aside) and call it, or sort as `nearness` does:

    owner    ORDER BY is_sidechain, time IS NULL, time, began IS NULL, began, ended, head, file   LIMIT 1
    counted  ORDER BY output DESC, and then as the owner                                          LIMIT 1

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
"""Stands between the key of a response and the number of an advisor it asked."""
_STUB_TOKENS = 10
_STUBS_BEFORE = (2, 1, 97)
"""The latest boundary any source names; the row itself must look like a stub as well."""


class Doubt(IntEnum):
    """Whether the counts of a response can be final."""

    NONE = 0
    PROVISIONAL = 1
    """No row says why the response ended."""
    SUSPECT = 2
    """Nor could it have: clients up to about 2.1.56 often wrote only the opening numbers of the stream."""


class Response(Rated, frozen=True, gc=False, array_like=True):
    """What one file says about a response, or about an advisor's call inside one; after `settle` what all files say.

    Times are milliseconds since 1970 in UTC, money is whole nano-dollars and None where there is no price.
    """

    key: str = ""
    """The same wherever the response is told: its message id, or what a gateway's id needs to be one."""
    file: str = ""
    """Key of the file that tells it, made from content or place, never a number of one database."""
    head: str = ""
    """Digest of how that file begins: the same on every machine and path, so that it decides before the key does."""
    began: int | None = None
    ended: int | None = None
    """Times of the first and last response of that file's conversation."""
    time: int | None = None
    """Of its first row in the main conversation, where it has one there."""
    is_sidechain: bool = False
    model: str | None = None
    doubt: int = 0
    rows: int = 1
    """Lines that tell it; 0 for an advisor's call."""
    nanodollars: int | None = None

    # What settling passes on: nothing below decides anything.
    saved: int | None = None
    """Nano-dollars the cache saved; negative where writing cost more."""
    request_id: str | None = None
    circumstance: int = 0
    """Number of what it shares with others (client, folder, agent), in the table or list it comes with."""
    place: int = 0
    """The circumstance of the copy that owns it."""
    is_abandoned: bool = False
    """On a branch that was rewound."""
    thinking: int | None = None
    web_fetches: int = 0
    recorded: int | None = None
    """Nano-dollars the client wrote into the line."""
    rebuilt: int | None = None
    premium: int | None = None
    cause: str | None = None
    is_told: bool | None = None
    thinking_estimate: int | None = None
    owner: str = ""
    """Key of the file whose conversation it belongs to; empty before copies are settled."""
    files: int = 1

    @property
    def at(self) -> datetime | None:
        return moment(self.time)

    @property
    def response(self) -> str:
        """The key of the response it is, or is a part of."""
        return self.key.partition(ADVISOR)[0]


def advice(response: Response, usage: Usage) -> Iterator[Response]:
    """The calls of other models inside a response; its own counts do not include them."""
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
    """As the client counts it: where it was answered is where the whole response was, and it is neither fast nor of a
    tier, whatever the response is."""
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
    """An unknown version may."""
    return (version_numbers(version) or ()) < _STUBS_BEFORE


Nearness = tuple[bool, bool, int, bool, int, int, str, str]


def nearness(copy: Response) -> Nearness:
    """Sorts copies by their right to own a response: a main conversation before a sidechain, the earliest row, the
    earliest conversation (one that began first; a fork begins as its origin does and mostly goes on after it), and
    last the smaller digest of the file's beginning and the smaller key of the file.
    """
    time, began = copy.time, copy.began
    return copy.is_sidechain, time is None, time or 0, began is None, began or 0, copy.ended or 0, copy.head, copy.file


def settle(copies: Sequence[Response]) -> Response:
    """What the copies of one response come to: `owner` says whose it is and `file` whose counts are taken, whole.

    Most output counts, on a tie the copy that owns it: an agent that replays its parent's messages reports other cache
    figures. Time, place and branch are the owner's. Only web searches are the most of any copy; a response is as sure
    as its surest copy. The money is that of the copy that counts: see `settle_all`, which prices the owner's day.
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
        place=owner.circumstance,
        web_searches=max(copy.web_searches for copy in copies),
        doubt=min(copy.doubt for copy in copies),
        rows=sum(copy.rows for copy in copies),
        files=len(copies),
    )


def settle_advice(advised: Response, response: Response) -> Response:
    """An advisor's call inside the copy that counts: it goes where its response goes."""
    return replace(
        advised,
        owner=response.owner,
        time=response.time,
        is_sidechain=response.is_sidechain,
        is_abandoned=response.is_abandoned,
        place=response.place,
        files=response.files,
    )


def settle_all(told: Iterable[Response], priced: Callable[[Response], Response] | None = None) -> Iterator[Response]:
    """Every response once, out of what several files tell, and the advisors that were asked in what counts.

    With `Prices.priced`, what several files tell has the money of its owner's day.
    """
    first: dict[str, Response] = {}
    copies: dict[str, list[Response]] = {}
    advised = []
    for each in told:
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
