"""Round numbers for an axis."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from msgspec import Struct

_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5), Decimal(10))


class Scale(Struct, frozen=True):
    """Ticks from 0 to the first round number that no bar exceeds."""

    step: Decimal
    ticks: tuple[Decimal, ...]

    @property
    def top(self) -> float:
        return float(self.ticks[-1])


def scale(highest: float, intervals: int, *, whole: bool) -> Scale:
    """A scale with at most about that many intervals; a whole one has no ticks between 0 and 1."""
    if highest <= 0:
        return Scale(Decimal(1), (Decimal(0), Decimal(1)))
    most = Decimal(highest)
    step = _step(most / intervals, whole)
    count = int((most / step).to_integral_value(ROUND_CEILING))
    return Scale(step, tuple(step * number for number in range(count + 1)))


def _step(least: Decimal, whole: bool) -> Decimal:
    """The smallest round number that is not below `least`."""
    if whole and least <= 1:
        return Decimal(1)
    power = Decimal(1).scaleb(least.adjusted())
    candidates = (base * power for base in _STEPS)
    return next(step for step in candidates if step >= least and not (whole and step % 1))
