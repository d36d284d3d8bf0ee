"""Five-hour blocks, the windows usage limits are counted in. Where they begin is an estimate.

A block begins at the full hour (UTC) of its first request and lasts five hours; the next request after it opens
another. So every quarter of an hour lies in one block.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from .days import LAST_QUARTER

if TYPE_CHECKING:
    from .usage import UsageRow

LENGTH = timedelta(hours=5)
_QUARTERS_PER_HOUR = 4
_QUARTERS = 5 * _QUARTERS_PER_HOUR


class Block(Struct, frozen=True, kw_only=True):
    """What a row of a report by block amounts to."""

    start: datetime
    end: datetime
    is_open: bool
    dollars_per_hour: float | None
    tokens_per_minute: float | None
    """Both from the first request to the last; None where that is no time at all."""
    projected_nanodollars: int | None
    projected_tokens: int | None
    """At the end of the block, if it goes on like this; only for the open one."""


def block_starts(quarters: Iterable[int]) -> dict[int, str | None]:
    """The start of the block each quarter lies in; they come in the order of time."""
    starts: dict[int, str | None] = {}
    start: int | None = None
    for quarter in quarters:
        if not 0 <= quarter < LAST_QUARTER:
            starts[quarter] = None
            continue
        if start is None or quarter >= start + _QUARTERS:
            start = quarter - quarter % _QUARTERS_PER_HOUR
        starts[quarter] = datetime.fromtimestamp(start * 900, UTC).isoformat().replace("+00:00", "Z")
    return starts


def block(row: UsageRow, now: datetime) -> Block | None:
    """The block of a row; None for requests without a time."""
    if row.key is None or row.first is None or row.last is None:
        return None
    start = datetime.fromisoformat(row.key)
    end = start + LENGTH
    minutes = (row.last - row.first).total_seconds() / 60
    left = (end - now).total_seconds() / 60
    is_open = now < end
    money, used = row.tokens.nanodollars, row.tokens.total_tokens
    goes_on = is_open and minutes > 0
    return Block(
        start=start,
        end=end,
        is_open=is_open,
        dollars_per_hour=money / 1e9 / minutes * 60 if money is not None and minutes else None,
        tokens_per_minute=used / minutes if minutes else None,
        projected_nanodollars=money + round(money / minutes * left) if money is not None and goes_on else None,
        projected_tokens=used + round(used / minutes * left) if goes_on else None,
    )
