"""Friction by week as a chart: how often something went wrong, per 100 prompts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from .charts import Chart, Series
from .retro import WEEKS

if TYPE_CHECKING:
    from reread.queries.trends import Week

MOST_WEEKS = 104
"""One line with a wrong year would make thousands."""


def weeks_chart(weeks: Sequence[Week]) -> Chart:
    """The last two years; weeks without a prompt have their place, and their rate is not known."""
    rates = {week.week: week.rate.per_hundred for week in weeks}
    first, last = (date.fromisoformat(week.week) for week in (weeks[0], weeks[-1]))
    number = min((last - first).days // 7, MOST_WEEKS - 1)
    labels = [(last - timedelta(weeks=back)).isoformat() for back in range(number, -1, -1)]
    return Chart(
        title=WEEKS,
        labels=tuple(labels),
        series=(Series("moments", tuple(rates.get(label) for label in labels)),),
        adds_up=False,
    )
