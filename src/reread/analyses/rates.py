"""How often something happens, with the interval the true rate lies in nineteen times out of twenty."""

from __future__ import annotations

from math import sqrt

from msgspec import Struct

_Z = 1.959964
"""Leaves a fortieth on either side of a normal distribution."""


class Rate(Struct, frozen=True):
    """Events over an exposure, such as prompts."""

    count: int
    exposure: int

    @property
    def per_hundred(self) -> float | None:
        """None where there was nothing it could have happened in."""
        return 100 * self.count / self.exposure if self.exposure else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Per hundred, as `per_hundred`."""
        if not self.exposure:
            return None
        low, high = poisson(self.count)
        return 100 * low / self.exposure, 100 * high / self.exposure


def poisson(count: int) -> tuple[float, float]:
    """Between which means a count of independent events lies: Byar's approximation of the exact limits."""
    low = count * (1 - 1 / (9 * count) - _Z / (3 * sqrt(count))) ** 3 if count else 0.0
    more = count + 1
    return low, more * (1 - 1 / (9 * more) + _Z / (3 * sqrt(more))) ** 3


def wilson(count: int, of: int) -> tuple[float, float]:
    """Between which shares so many of a number lie; nothing is known of none."""
    if not of:
        return 0.0, 1.0
    share, square = count / of, _Z * _Z
    middle = share + square / (2 * of)
    spread = _Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    whole = 1 + square / of
    return max(0.0, (middle - spread) / whole), min(1.0, (middle + spread) / whole)


def change(now: Rate, before: Rate) -> str | None:
    """`more` or `less` where the two rates differ by more than chance makes likely; None where nobody can tell.

    Of all events together, the present ones would have the share that the present exposure has.
    """
    both, exposure = now.count + before.count, now.exposure + before.exposure
    if not both or not now.exposure or not before.exposure:
        return None
    low, high = wilson(now.count, both)
    expected = now.exposure / exposure
    return "more" if low > expected else "less" if high < expected else None
