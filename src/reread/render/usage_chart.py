"""A report of usage as a chart: cost, by model; tokens where nothing has a price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta, tzinfo
from decimal import Decimal

from msgspec.structs import replace

from reread.billing.report import Tokens
from reread.queries.usage import UsageReport, UsageRow

from .charts import Chart, Series
from .listing import last_part
from .usage import TIMES, UNKNOWN, accounting_line, row_label, shown

_STEPS = {"day": 1, "week": 7}


def usage_chart(report: UsageReport, zone: tzinfo | None) -> Chart:
    rows = charted_rows(report)
    models = dict.fromkeys(shown(each.model) for each in report.models)
    is_priced = report.totals.nanodollars is not None
    return Chart(
        title=f"{'Cost' if is_priced else 'Tokens'} by {report.by}",
        subtitle="at list prices, from transcripts: a lower bound" if is_priced else "",
        footnote=accounting_line(report.accounting, is_recorded=report.is_recorded),
        labels=tuple(_label(report.by, row, zone) for row in rows),
        series=tuple(Series(model, tuple(_value(row, model, is_priced) for row in rows)) for model in models),
        kind="time" if report.by in TIMES else "names",
        unit="dollars" if is_priced else "tokens",
    )


def _label(by: str, row: UsageRow, zone: tzinfo | None) -> str:
    """As a table has it; of a session the title alone, which has little room beside a bar."""
    return row.title if by == "session" and row.title else row_label(by, row, zone).strip()


def projects_chart(report: UsageReport) -> Chart:
    """A report by project as areas: what each took, and which models of it."""
    chart = usage_chart(report, None)
    names = short_names([row.key or "" for row in report.rows])
    return replace(chart, kind="areas", labels=tuple(name or UNKNOWN for name in names))


def short_names(paths: Sequence[str]) -> list[str]:
    """The last part of each path, and the one before it where several end alike."""
    endings = Counter(map(last_part, paths))
    return [_ending(path, 1 if endings[last_part(path)] == 1 else 2) for path in paths]


def _ending(path: str, parts: int) -> str:
    return "/".join(path.replace("\\", "/").rstrip("/").split("/")[-parts:])


def activity_chart(report: UsageReport, first: date, last: date) -> Chart:
    """A report by day as a calendar from one day to another: requests of each."""
    known = {row.key: row.tokens.requests for row in report.rows}
    days = [(first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1)]
    values = tuple(known.get(day, 0) for day in days)
    return Chart(title="Activity", labels=tuple(days), series=(Series("requests", values),), kind="days")


def charted_rows(report: UsageReport) -> list[UsageRow]:
    """What a chart shows, a label each: days and weeks on which nothing was used, too, and nothing without a time."""
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
