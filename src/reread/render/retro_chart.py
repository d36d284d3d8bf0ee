"""Friction by week as a chart: how often something went wrong, per 100 prompts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from .charts import Chart, Series
from .retro import WEEKS

if TYPE_CHECKING:
    from reread.queries.trends import Week


def weeks_chart(weeks: Sequence[Week]) -> Chart:
    """Weeks without a prompt have their place; their rate is not known."""
    rates = {week.week: week.rate.per_hundred for week in weeks}
    first, last = (date.fromisoformat(week.week) for week in (weeks[0], weeks[-1]))
    labels = [(first + timedelta(days=days)).isoformat() for days in range(0, (last - first).days + 1, 7)]
    return Chart(
        title=WEEKS,
        labels=tuple(labels),
        series=(Series("moments", tuple(rates.get(label) for label in labels)),),
        adds_up=False,
    )
