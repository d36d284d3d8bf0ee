"""Home: recent sessions and usage, running sessions, and sessions that will be deleted soon."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.archive import Archive, Listed
from reread.archive.filters import Filter
from reread.archive.listing import SOON, choice_of, count_chosen, ordered_ids
from reread.archive.usage_report import Period, UsageRow, beginnings, counted_to, periods
from reread.sources.beside import find_beside
from reread.views.charts import Chart, Series
from reread.views.charts.svg import Sheet
from reread.views.numbers import beside_lines
from reread.views.session_list import fate
from reread.views.usage_table import activity_chart, charted_rows, usage_chart

from . import pages
from .archive_pool import ArchivePool
from .live import queue_of, running, runs_of
from .usage import day_address, open_limits

NEWEST = 9
MOST_GOING = 3
MOST_NEWS = 500
SEEN = "reread-seen"
"""The cookie with the last moment of the visit before this one, and of this one, in seconds."""
VISIT = 1_800
"""Seconds: who comes back sooner is still on the same visit."""
_SEEN = re.compile(r"(\d{1,11})\.(\d{1,11})")
_YEAR = timedelta(days=364)
_CHART = Sheet(width=660, plot=120, crop=18)


class LookFirst(NamedTuple):
    """Of the sessions of the last week."""

    dearest: UsageRow | None
    """With what it spent in this week, however old the session is."""
    failing: Listed | None
    """The one with the most calls that failed."""


class Lately(NamedTuple):
    periods: list[Period]
    files: int
    """How many files were changed today."""
    cost: Chart
    days: tuple[str, ...]
    """The days of the cost chart."""
    activity: Chart


def home(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    now = site.settings.now
    newest = site.library.newest(NEWEST)
    until = counted_to(now, newest[0].stored.ended if newest else None, site.settings.timezone)
    midnight = beginnings(until, site.settings.timezone)[0]
    lately = _lately(site.library, until, is_past=until is not now)
    runs = runs_of(site)
    looked, seen = _visits(request, int(now.timestamp()))
    answer = pages.page(
        request,
        "home.html",
        "Home",
        scripts=["charts.js", "lists.js"],
        newest=newest,
        **_kept(site.library, midnight),
        **running(site, runs),
        **queue_of(site, runs),
        first=_look_first(site.library, midnight),
        since=looked,
        news=_news(site.library, looked) if looked else [],
        secrets=site.library.answer("open secrets", lambda archive: archive.secrets.count_open()),
        beside=list(beside_lines(site.library.answer("beside", lambda _: find_beside(site.settings.sources)))),
        lately=lately,
        limits=open_limits(site),
        is_past=until is not now,
        last_day=midnight.date(),
        **_charts(lately, pages.fitting(request, _CHART)),
    )
    answer.set_cookie(SEEN, seen, max_age=31_536_000, samesite="strict", httponly=True)
    return answer


def _charts(lately: Lately, sheet: Sheet) -> dict[str, Any]:
    used = [(total or 0) > 0 for total in lately.activity.totals]
    days = zip(lately.activity.labels, used, strict=True)
    links = tuple(day_address(day) if is_used else "" for day, is_used in days)
    cost = replace(sheet, links=tuple(map(day_address, lately.days)))
    return {
        "chart": pages.drawn(lately.cost, cost) if lately.days else "",
        "activity": pages.drawn(lately.activity, replace(sheet, links=links)) if any(used) else "",
    }


def _visits(request: Request, now: int) -> tuple[datetime | None, str]:
    """When this page was last seen before the present visit, and the cookie that says so the next time."""
    found = _SEEN.fullmatch(request.cookies.get(SEEN, ""))
    before, latest = map(int, found.groups("0")) if found else (0, 0)
    before = latest if now - latest > VISIT else before
    return datetime.fromtimestamp(before, UTC) if before else None, f"{before}.{now}"


def _news(library: ArchivePool, since: datetime) -> list[Listed]:
    """The sessions that went on since then."""
    found = Filter(since=since, without_hidden=True, limit=MOST_NEWS)
    return library.answer(("news", since), lambda archive: archive.sessions(found))


def _look_first(library: ArchivePool, midnight: datetime) -> LookFirst:
    week = Filter(since=midnight - timedelta(days=6), without_hidden=True)

    def ask(archive: Archive) -> tuple[tuple[UsageRow, ...], list[int]]:
        chosen = choice_of(archive.inner.connection, week)
        failing = ordered_ids(archive.inner.connection, chosen, "failed", limit=1)
        return archive.usage("session", week).rows[:1], failing

    spent, ids = library.answer(("look first", midnight), ask)
    failing = next((each for each in library.by_id(ids) if each.stored.row.tool_errors), None)
    return LookFirst(next((row for row in spent if row.key and row.tokens.nanodollars), None), failing)


def _plain(chart: Chart, span: str) -> Chart:
    """The chart with all models added up; the page Usage shows them separately."""
    title = f"Cost, {span}" if chart.unit == "dollars" else f"Tokens, {span}"
    return replace(chart, title=title, subtitle="", series=(Series("all models", chart.totals),))


def _kept(library: ArchivePool, midnight: datetime) -> dict[str, Any]:
    """How many sessions there are, and those that will be deleted first."""
    days, now = library.settings.cleanup_days, library.settings.now
    shown = Filter(without_hidden=True)

    def ask(archive: Archive) -> tuple[int, int, int, list[int]]:
        kept = choice_of(archive.inner.connection, shown)
        going = choice_of(archive.inner.connection, shown, expires=now + SOON, cleanup_days=days)
        return (
            count_chosen(archive.inner.connection, kept),
            count_chosen(archive.inner.connection, choice_of(archive.inner.connection, shown._replace(since=midnight))),
            count_chosen(archive.inner.connection, going),
            ordered_ids(archive.inner.connection, going, "written", is_up=True, limit=MOST_GOING),
        )

    minute = now.replace(second=0, microsecond=0)
    sessions, today, expiring, ids = library.answer(("kept", midnight, minute), ask)
    going = [(each, fate(each, now)) for each in library.by_id(ids)]
    return {"sessions": sessions, "sessions_today": today, "expiring": expiring, "going": going}


def _lately(library: ArchivePool, until: datetime, *, is_past: bool) -> Lately:
    zone = library.settings.timezone
    starts = beginnings(until, zone)
    today = starts[0]

    def ask(archive: Archive) -> Lately:
        year = archive.usage("day", Filter(since=today - _YEAR), zone)
        month = archive.usage("day", Filter(since=min(starts)), zone)
        return Lately(
            periods(month.rows, starts, archive.inner.prompts_since(starts), is_past=is_past),
            archive.inner.files_changed_since(today),
            _plain(usage_chart(month, zone), f"30 days to {today:%Y-%m-%d}" if is_past else "30 days"),
            tuple(row.key for row in charted_rows(month) if row.key is not None),
            replace(activity_chart(year, (today - _YEAR).date(), today.date()), title="Requests, a year"),
        )

    return library.answer(("lately", today), ask)
