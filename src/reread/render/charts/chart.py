"""What a chart shows. How it looks is the business of the drawings, `svg` and `terminal`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from typing import Literal

from msgspec import Struct

from .units import Unit

Number = int | float | Decimal
Kind = Literal["time", "names", "areas", "days"]
"""Bars in the order of time; bars beside names; a field for each name, as large as its value; squares of a calendar."""


class Series(Struct, frozen=True):
    """One colour of the bars."""

    name: str
    values: tuple[Number | None, ...]
    """One for each label of the chart. None is not known, which is not 0."""

    @property
    def total(self) -> float | None:
        return added(self.values)


class Chart(Struct, frozen=True, kw_only=True, dict=True):
    """Bars with labels; several series are stacked in the order given."""

    title: str
    labels: tuple[str, ...]
    """In the order they are drawn. Days and months written as in ISO 8601 get an axis that reads like a calendar."""
    series: tuple[Series, ...]
    kind: Kind = "time"
    """Time runs from left to right; names are listed from top to bottom. The labels of `days` are days of ISO 8601,
    one after the other. A terminal draws areas as names, and days as time."""
    unit: Unit = "plain"
    adds_up: bool = True
    """Whether the sum of all bars says something; that of rates does not."""
    has_rest: bool = False
    """Whether the last name is the sum of those that are not named. It is told and has no bar: hundreds together would
    make those that are named too short to compare."""
    subtitle: str = ""
    footnote: str = ""

    def __post_init__(self) -> None:
        for series in self.series:
            if len(series.values) != len(self.labels):
                raise ValueError(f"{series.name!r} has {len(series.values)} values for {len(self.labels)} labels")
            for value in series.values:
                if value is not None and not (math.isfinite(value) and value >= 0):
                    raise ValueError(f"{series.name!r} has {value}, which no bar can show")

    @cached_property
    def totals(self) -> tuple[float | None, ...]:
        """The whole height of each bar; None where no series has a value."""
        return tuple(added(column) for column in self.columns)

    @cached_property
    def columns(self) -> tuple[tuple[Number | None, ...], ...]:
        """For each label the values of all series."""
        return tuple(tuple(series.values[position] for series in self.series) for position in range(len(self.labels)))

    @cached_property
    def total(self) -> float | None:
        return added(self.totals)

    @cached_property
    def highest(self) -> float:
        return max((total for total in self.named if total is not None), default=0.0)

    @property
    def named(self) -> tuple[float | None, ...]:
        """The totals without that of the rest."""
        return self.totals[:-1] if self.has_rest else self.totals

    @property
    def is_empty(self) -> bool:
        """Whether there is not one value to show; a zero is one."""
        return self.total is None

    @property
    def has_total(self) -> bool:
        """Whether there is a sum worth telling."""
        return self.adds_up and not self.is_empty and len(self.labels) > 1

    @property
    def is_stacked(self) -> bool:
        return len(self.series) > 1


def added(values: Iterable[Number | None]) -> float | None:
    """The sum of what is known; None when nothing is."""
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) if known else None
