"""What was used lately: today, a week, a month, each up to now."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from msgspec import Struct

from reread.billing.report import Tokens, total

if TYPE_CHECKING:
    from .usage import UsageRow

LENGTHS = {"today": 1, "7 days": 7, "30 days": 30}
"""In days, the present one included."""


class Period(Struct, frozen=True, kw_only=True):
    label: str
    since: date
    prompts: int
    tokens: Tokens


def beginnings(now: datetime, zone: tzinfo | None) -> list[datetime]:
    """The midnight each period begins with."""
    midnight = now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    return [midnight - timedelta(days=days - 1) for days in LENGTHS.values()]


def counted_to(now: datetime, last: datetime | None, zone: tzinfo | None) -> datetime:
    """The moment up to which to count: now, or after a long absence the last one that there was."""
    return now if last is None or last >= min(beginnings(now, zone)) else last


def periods(
    days: Sequence[UsageRow], starts: Sequence[datetime], prompts: Sequence[int], *, is_past: bool = False
) -> list[Period]:
    """From the rows of a report by day; where they are not those up to now, each says up to when."""
    last = f"{starts[0].date():%Y-%m-%d}"
    return [
        Period(
            label=label if not is_past else last if label == "today" else f"{label} to {last}",
            since=start.date(),
            prompts=typed,
            tokens=total(row.tokens for row in days if row.key is not None and row.key >= start.date().isoformat()),
        )
        for label, start, typed in zip(LENGTHS, starts, prompts, strict=True)
    ]
