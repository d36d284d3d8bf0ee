"""A report of usage as a chart: cost, by model; tokens where nothing has a price."""

from __future__ import annotations

from datetime import date, timedelta, tzinfo
from decimal import Decimal

from reread.pricing.tokens import Tokens
from reread.queries.usage import UsageReport, UsageRow

from .charts import Chart, Series
from .usage import TIMES, accounting_line, row_label, shown

_STEPS = {"day": 1, "week": 7}


def usage_chart(report: UsageReport, zone: tzinfo | None) -> Chart:
    rows = _without_gaps(report)
    models = dict.fromkeys(shown(each.model) for each in report.models)
    is_priced = report.totals.nanodollars is not None
    return Chart(
        title=f"{'Cost' if is_priced else 'Tokens'} by {report.by}",
        subtitle="at list prices, from transcripts: a lower bound" if is_priced else "",
        footnote=accounting_line(report.accounting, is_recorded=report.is_recorded),
        labels=tuple(row_label(report.by, row, zone) for row in rows),
        series=tuple(Series(model, tuple(_value(row, model, is_priced) for row in rows)) for model in models),
        kind="time" if report.by in TIMES else "names",
        unit="dollars" if is_priced else "tokens",
    )


def _without_gaps(report: UsageReport) -> list[UsageRow]:
    """Days and weeks on which nothing was used have their place, too; what has no time has none."""
    rows = [row for row in report.rows if row.key is not None or report.by not in TIMES]
    if report.by not in _STEPS or not rows:
        return rows
    known = {row.key: row for row in rows}
    first, last = (date.fromisoformat(str(row.key)) for row in (rows[0], rows[-1]))
    days = (first + timedelta(days=number) for number in range(0, (last - first).days + 1, _STEPS[report.by]))
    return [known.get(day.isoformat()) or UsageRow(key=day.isoformat(), tokens=Tokens()) for day in days]


def _value(row: UsageRow, model: str, is_priced: bool) -> Decimal | int | None:
    """None where a model was used and has no price."""
    used = [each.tokens for each in row.models if shown(each.model) == model]
    if not is_priced:
        return sum(tokens.total_tokens for tokens in used)
    costs = [tokens.cost for tokens in used]
    priced = [cost for cost in costs if cost is not None]
    return sum(priced, Decimal(0)) if priced or not costs else None
