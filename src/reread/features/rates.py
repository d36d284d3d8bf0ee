"""How often something happens, with the interval the true rate lies in nineteen times out of twenty."""

from __future__ import annotations

from math import exp, lgamma, log, log1p, sqrt

from msgspec import Struct

_Z = 1.959964
"""Leaves a fortieth on either side of a normal distribution."""
_ONE_SIDE = 1 / 40
_NEGLIGIBLE = 1e-9


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


def change(now: Rate, before: Rate) -> str | None:
    """`more` or `less` where the two rates differ by more than chance makes likely; None where nobody can tell.

    Of all events together, the present ones would have the share that the present exposure has: a binomial test, exact
    because most of these counts are small.
    """
    both, exposure = now.count + before.count, now.exposure + before.exposure
    if not both or not now.exposure or not before.exposure:
        return None
    share = now.exposure / exposure
    is_more = now.count > both * share
    if _tail(now.count, both, share, 1 if is_more else -1) > _ONE_SIDE:
        return None
    return "more" if is_more else "less"


def _tail(count: int, of: int, share: float, step: int) -> float:
    """How likely chance alone makes it so many, or any number further out: upwards or downwards by `step`."""
    chosen = lgamma(of + 1) - lgamma(count + 1) - lgamma(of - count + 1)
    term = exp(chosen + count * log(share) + (of - count) * log1p(-share))
    odds, total = share / (1 - share), 0.0
    while 0 <= count <= of and term > total * _NEGLIGIBLE:  # away from the mean the terms only shrink
        total += term
        term *= (of - count) / (count + 1) * odds if step > 0 else count / (of - count + 1) / odds
        count += step
    return total
