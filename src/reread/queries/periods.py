"""What was used lately: today, a week, a month, each up to now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from .usage import UsageCell

LENGTHS = {"today": 1, "7 days": 7, "30 days": 30}
"""In days, the present one included."""


class Period(Struct, frozen=True, kw_only=True):
    label: str
    since: date
    prompts: int
    requests: int
    tokens: int
    nanodollars: int | None
    unpriced_tokens: int
    cache_hit: float | None
    """Of what was sent, the share that was read from the cache; None where nothing was sent."""


def beginnings(now: datetime, zone: tzinfo | None) -> list[datetime]:
    """The midnight each period begins with."""
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    return [midnight - timedelta(days=days - 1) for days in LENGTHS.values()]


def zone_offset(now: datetime, zone: tzinfo | None) -> int:
    """Minutes east of Greenwich, for the days of `Archive.usage`."""
    offset = now.astimezone(zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds() // 60)


def periods(cells: Sequence[UsageCell], starts: Sequence[datetime], prompts: Sequence[int]) -> list[Period]:
    found = []
    for label, start, typed in zip(LENGTHS, starts, prompts, strict=True):
        since = start.date()
        inside = [cell for cell in cells if cell.day is not None and cell.day >= since.isoformat()]
        found.append(_period(label, since, typed, inside))
    return found


def _period(label: str, since: date, prompts: int, cells: Iterable[UsageCell]) -> Period:
    cells = list(cells)
    read = sum(cell.cache_read_tokens for cell in cells)
    sent = read + sum(_new(cell) for cell in cells)
    priced = [cell.nanodollars for cell in cells if cell.nanodollars is not None]
    return Period(
        label=label,
        since=since,
        prompts=prompts,
        requests=sum(cell.requests for cell in cells),
        tokens=sent + sum(cell.output_tokens for cell in cells),
        nanodollars=sum(priced) if priced else None,
        unpriced_tokens=sum(cell.unpriced_tokens for cell in cells),
        cache_hit=read / sent if sent else None,
    )


def _new(cell: UsageCell) -> int:
    return cell.input_tokens + cell.cache_write_5m_tokens + cell.cache_write_1h_tokens
