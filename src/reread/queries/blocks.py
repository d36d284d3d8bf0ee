"""Five-hour blocks, the windows usage limits are counted in. Where they begin is an estimate unless it was told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from .days import LAST_QUARTER
from .windows import window_end, window_starts

if TYPE_CHECKING:
    from .usage import UsageRow


class Block(Struct, frozen=True, kw_only=True):
    """What a row of a report by block amounts to."""

    start: datetime
    end: datetime
    is_open: bool
    is_estimate: bool
    """False where a status line told of the window."""
    dollars_per_hour: float | None
    tokens_per_minute: float | None
    """Both from the first request to the last; None where that is no time at all."""
    projected_nanodollars: int | None
    projected_tokens: int | None
    """At the end of the block, if it goes on like this; only for the open one."""


def block_starts(quarters: Iterable[int], told: Sequence[int] = ()) -> dict[int, str | None]:
    """The start of the block each quarter lies in; they come in the order of time.

    `told` are the windows that are known, by their beginning in seconds, as `windows.told_apart` gives them.
    """
    numbers = list(quarters)
    starts = window_starts((number for number in numbers if 0 <= number < LAST_QUARTER), told)
    texts = {start: _text(start) for start in set(starts.values())}
    return {number: texts[starts[number]] if number in starts else None for number in numbers}


def _text(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def block(row: UsageRow, now: datetime, told: Sequence[int] = ()) -> Block | None:
    """The block of a row; None for requests without a time."""
    if row.key is None or row.first is None or row.last is None:
        return None
    start = datetime.fromisoformat(row.key)
    seconds = int(start.timestamp())
    end = datetime.fromtimestamp(window_end(seconds, told), UTC)
    minutes = (row.last - row.first).total_seconds() / 60
    left = (end - now).total_seconds() / 60
    is_open = now < end
    money, used = row.tokens.nanodollars, row.tokens.total_tokens
    goes_on = is_open and minutes > 0
    return Block(
        start=start,
        end=end,
        is_open=is_open,
        is_estimate=seconds not in told,
        dollars_per_hour=money / 1e9 / minutes * 60 if money is not None and minutes else None,
        tokens_per_minute=used / minutes if minutes else None,
        projected_nanodollars=money + round(money / minutes * left) if money is not None and goes_on else None,
        projected_tokens=used + round(used / minutes * left) if goes_on else None,
    )
