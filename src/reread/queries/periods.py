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


def periods(days: Sequence[UsageRow], starts: Sequence[datetime], prompts: Sequence[int]) -> list[Period]:
    """From the rows of a report by day."""
    return [
        Period(
            label=label,
            since=start.date(),
            prompts=typed,
            tokens=total(row.tokens for row in days if row.key is not None and row.key >= start.date().isoformat()),
        )
        for label, start, typed in zip(LENGTHS, starts, prompts, strict=True)
    ]
