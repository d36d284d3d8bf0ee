"""How the numbers of a chart are written: whole on a bar, short and round on an axis."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Literal

from ..numbers import money, tokens

Unit = Literal["dollars", "tokens", "plain"]
UNKNOWN = "–"

_COMPACT = ((Decimal(10**9), "B"), (Decimal(10**6), "M"), (Decimal(10**3), "k"))
_LONG_DOLLARS = 10_000


def written(value: float | None, unit: Unit) -> str:
    """A value beside its bar: `$12.30`, `3.1M`, `1,204`."""
    return UNKNOWN if value is None else _VALUES[unit](value)


def exact(value: float | None, unit: Unit) -> str:
    """A value with all its digits, for who asks: `$12.3041`, `3,104,221`."""
    if value is None:
        return UNKNOWN
    return f"${value:,.4f}" if unit == "dollars" else _plain(value)


def tick(value: Decimal, step: Decimal, unit: Unit) -> str:
    """A value on an axis whose ticks lie `step` apart: `$10`, `$0.25`, `1.5M`."""
    return _TICKS[unit](value, step)


def is_whole(unit: Unit) -> bool:
    """Whether there are no parts of one, so that an axis should not name any."""
    return unit != "dollars"


def _dollars(value: float) -> str:
    return money(Decimal(value), is_partial=False) if value else "$0"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def _dollar_tick(value: Decimal, step: Decimal) -> str:
    if not value:
        return "$0"
    if value >= _LONG_DOLLARS:
        return f"${_compact(value)}"
    return f"${value:,.{_digits(step)}f}"


def _plain_tick(value: Decimal, _step: Decimal) -> str:
    return _compact(value)


def _digits(step: Decimal) -> int:
    """As many as tell one tick from the next; cents come in pairs."""
    exponent = step.normalize().as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 0
    return 2 if digits == 1 else digits


def _compact(value: Decimal) -> str:
    for limit, letter in _COMPACT:
        if value >= limit:
            return f"{(value / limit).normalize():f}{letter}"
    return f"{value.normalize():f}"


_VALUES: dict[Unit, Callable[[float], str]] = {
    "dollars": _dollars,
    "tokens": lambda value: tokens(round(value)),
    "plain": _plain,
}
_TICKS: dict[Unit, Callable[[Decimal, Decimal], str]] = {
    "dollars": _dollar_tick,
    "tokens": _plain_tick,
    "plain": _plain_tick,
}
