"""Home: what happened lately, what runs, what will be deleted soon."""

from __future__ import annotations

from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.archive import Archive
from reread.pricing.tokens import Tokens
from reread.queries.filters import Filter
from reread.queries.periods import Period, beginnings, periods
from reread.render.charts import Chart
from reread.render.listing import is_expiring
from reread.render.usage_chart import usage_chart

from . import pages
from .library import Library
from .running import running, runs_of

NEWEST = 12
_DAYS = 30


class Lately(NamedTuple):
    periods: list[Period]
    chart: Chart


def home(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    sessions = [each for each in site.library.sessions() if not each.stored.mark.hidden]
    lately = _lately(site.library)
    return pages.page(
        request,
        "home.html",
        "Home",
        sessions=sessions,
        newest=sessions[:NEWEST],
        **running(site, runs_of(site)),
        expiring=[each for each in sessions if is_expiring(each, site.settings.now)],
        lately=lately.periods,
        chart=pages.drawn(lately.chart) if any(_is_used(each.tokens) for each in lately.periods) else "",
        sources=site.settings.sources,
    )


def _is_used(used: Tokens) -> bool:
    return used.requests > 0


def _lately(library: Library) -> Lately:
    settings = library.settings
    now = settings.now
    starts = beginnings(now, settings.timezone)

    def ask(archive: Archive) -> Lately:
        wanted = Filter(since=min(starts))
        report = archive.usage("day", wanted, settings.timezone)
        return Lately(
            periods(report.rows, starts, archive.prompts_since(starts)), usage_chart(report, settings.timezone)
        )

    return library.answer(("lately", starts[0].date()), ask)
