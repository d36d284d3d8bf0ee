"""Rates and counts in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .numbers import count
from .values import Document

if TYPE_CHECKING:
    from reread.features.activity import Rate


def rate_text(rate: Rate | None, *, with_interval: bool = True) -> str:
    """`6.8 (4.3–10.1)`: the rate and its interval."""
    if rate is None or rate.per_hundred is None:
        return ""
    interval = rate.interval
    span = f" ({interval[0]:.1f}–{interval[1]:.1f})" if with_interval and interval is not None else ""
    return f"{rate.per_hundred:.1f}{span}"


def times_in(times: int, sessions: int) -> str:
    return f"{count(times, 'time')} in {count(sessions, 'session')}"


def rate_document(rate: Rate) -> Document:
    interval = rate.interval
    return {
        "count": rate.count,
        "prompts": rate.exposure,
        "per_100_prompts": _rounded(rate.per_hundred),
        "interval": [_rounded(interval[0]), _rounded(interval[1])] if interval is not None else None,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
