"""One API response: as a file tells it, and as it counts once its copies are settled. One type from line to report.

Every field is a plain value (text, a whole number, true or false, or none), so that rows of any database make one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import IntEnum
from functools import lru_cache

from reread.records import Iteration, Usage
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
    """What one file tells of a response, or of an advisor's call inside one; after `settle` what all files tell.

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


def advice(asked: Response, usage: Usage) -> Iterator[Response]:
    """The calls of other models inside a response; its own counts do not include them."""
    number = 0
    for call in usage.iterations or ():
        if call is not None and call.type == "advisor_message":
            number += 1
            yield Response.of(
                _as_usage(call, usage),
                0,
                key=f"{asked.key}{ADVISOR}{number}",
                file=asked.file,
                began=asked.began,
                ended=asked.ended,
                time=asked.time,
                is_sidechain=asked.is_sidechain,
                is_abandoned=asked.is_abandoned,
                request_id=asked.request_id,
                model=call.model,
                rows=0,
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


def doubt(stop_reason: str | None, version: str | None, output: int) -> Doubt:
    if stop_reason is not None:
        return Doubt.NONE
    return Doubt.SUSPECT if output <= _STUB_TOKENS and _may_write_stubs(version) else Doubt.PROVISIONAL


@lru_cache(maxsize=256)
def _may_write_stubs(version: str | None) -> bool:
    """An unknown version may; asked for every response, and there are few versions."""
    numbers = (version or "").split("-")[0].split(".")
    return not all(number.isdecimal() for number in numbers) or tuple(map(int, numbers)) < _STUBS_BEFORE
