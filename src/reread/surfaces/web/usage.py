"""Usage: tokens and money, a chart beside its table, and what the numbers were made from."""

from __future__ import annotations

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.archive import UsageReport
from reread.queries.blocks import Block, block
from reread.queries.usage import GROUPINGS
from reread.render.numbers import money, percent
from reread.render.usage import TIMES, accounting_line, row_label
from reread.render.usage_chart import usage_chart

from . import pages
from .sessions import make_filter

SPANS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "all": "everything"}
SHOWN = ("day", "week", "month", "model", "project", "session", "tool", "block")
"""The groupings with a tab; the others answer to their address."""
MOST_ROWS = 400


def usage(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    given = {name: pages.value(request, name) for name in ("project", "model", "since")}
    by = pages.value(request, "by") or "day"
    by = by if by in GROUPINGS else "day"
    span = given["since"] or "30d"
    wanted = make_filter(site, {**given, "since": "" if span == "all" else span, "hidden": "1"})
    zone = site.settings.timezone
    minute = wanted._replace(since=wanted.since.replace(second=0) if wanted.since else None)
    report = site.library.answer(("usage", by, minute), lambda archive: archive.usage(by, minute, zone))
    shown = _limited(report)
    return pages.page(
        request,
        "usage.html",
        f"Usage by {by}",
        by=by,
        tabs=SHOWN,
        spans=SPANS,
        span=span,
        given={**given, "by": by},
        report=shown,
        left_out=len(report.rows) - len(shown.rows),
        chart=pages.drawn(usage_chart(shown, zone)) if shown.rows else "",
        labels=[row_label(by, row, zone) for row in shown.rows],
        accounting=accounting_line(report.accounting),
        open_block=_open_block(site, report),
        money=money,
        percent=percent,
        is_time=by in TIMES,
    )


def _limited(report: UsageReport) -> UsageReport:
    rows = report.rows[-MOST_ROWS:] if report.by in TIMES else report.rows[:MOST_ROWS]
    return replace(report, rows=rows)


def _open_block(site: pages.Site, report: UsageReport) -> Block | None:
    if report.by != "block" or not report.rows:
        return None
    found = block(report.rows[-1], site.settings.now, report.told_windows)
    return found if found is not None and found.is_open else None
