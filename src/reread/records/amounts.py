"""Numbers as a client says them, or none: any JSON value may stand where one is expected.

Imports nothing: a status line is drawn every few hundred milliseconds.
"""

from __future__ import annotations

MOST_DOLLARS = 1_000_000_000
"""What lies above is no money, and in nano-dollars would not fit a column."""


def number(value: object, most: float) -> float | None:
    """A number from 0 to `most`; None for anything else. NaN compares with nothing, so it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if 0 <= value <= most else None


def nanodollars(value: object) -> int | None:
    """Dollars in whole nano-dollars."""
    dollars = number(value, MOST_DOLLARS)
    return None if dollars is None else round(dollars * 10**9)
