"""Usage as a page: filters, a chart with its table, and downloads."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread import lazy
from reread.archive import CacheReport, UsageReport
from reread.archive.filters import Filter
from reread.archive.status import DAYS_BACK, PERIODS, SECONDS, dollars_to_nano, read_limits, spending, write_limits
from reread.archive.usage_report import GROUPINGS, FiveHourBlock, block
from reread.errors import BadInput
from reread.views.cache_table import cause_words, reported_or_inferred, signed_money
from reread.views.charts.chart import fold_names
from reread.views.charts.svg import Sheet, chart_svg
from reread.views.limit_lines import open_limit_lines
from reread.views.numbers import money, nano, percent
from reread.views.price_table import BEFORE, NAMES, budget_words, dollars, projection_words
from reread.views.usage_table import (
    TIMES,
    accounting_line,
    block_words,
    charted_rows,
    limited,
    projects_chart,
    row_label,
    short_names,
    shown,
    usage_chart,
    usage_csv,
)

from . import pages
from .sessions import blamed, make_filter, usual_span

if TYPE_CHECKING:
    from . import team_store
else:
    lazy.bind(globals())

SPANS = {"today": "today", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year", "all": "everything"}
FILTERS = ("project", "model", "tool", "branch", "since", "until")


class UsageFilters(NamedTuple):
    by: str
    form: dict[str, str]
    """The values in the address, without empty ones."""
    span: str
    """One of `SPANS`, or empty for a period that the person typed."""
    filters: Filter

    @property
    def has_projects(self) -> bool:
        """Whether projects are shown as such; inside one of them, its folders are."""
        return self.filters.of_project is None

    @property
    def chips(self) -> list[tuple[str, str]]:
        """The active filters, which can be removed: name and text."""
        return [(name, text) for name, text in self.form.items() if not (name == "since" and self.span)]


def filters_in(request: Request) -> UsageFilters:
    """The filters in an address. Raises BadInput for an invalid date."""
    named = _named(request)
    since = "" if named.span == "all" else named.span or named.form.get("since", "")
    filters = make_filter(pages.site_of(request), {**named.form, "since": since, "hidden": "1"})
    return named._replace(filters=filters)


def asked_or_why_not(request: Request) -> tuple[UsageFilters, str]:
    """The same for a page that keeps what was typed; and an error message, empty if all is valid."""
    try:
        return filters_in(request), ""
    except BadInput as error:
        return _named(request), str(error)


def _named(request: Request) -> UsageFilters:
    """The values in the address, not interpreted."""
    form = {name: text for name in FILTERS if (text := pages.value(request, name))}
    by = pages.value(request, "by")
    span = form.get("since") or ("" if "until" in form else usual_span(pages.site_of(request)))
    store = pages.site_of(request).settings.store
    known = GROUPINGS if store is None else (*GROUPINGS, *_OF_STORE)
    return UsageFilters(by if by in known else "day", form, span if span in SPANS else "", Filter())


def narrowed(chosen: UsageFilters, key: str | None) -> str:
    """The address that narrows the page to one row; empty if there is none."""
    if key is None or chosen.by not in _NARROWER or (chosen.by == "project" and not chosen.has_projects):
        return ""
    changes = _NARROWER[chosen.by](key)
    if isinstance(changes, str):
        return changes
    return f"/usage{pages.query(chosen.form, **changes)}"


Changes = dict[str, str]


def _span(by: str, first: str, last: str) -> Changes:
    return {"by": by, "since": first, "until": last}


def _day(key: str) -> Changes:
    return _span("session", key, key)


def day_address(day: str) -> str:
    """The address of one day's usage."""
    return f"/usage{pages.query(_day(day))}"


def month_span(month: str) -> tuple[str, str]:
    """The first and the last day of a month."""
    first = date.fromisoformat(f"{month}-01")
    return first.isoformat(), first.replace(day=monthrange(first.year, first.month)[1]).isoformat()


def _block(key: str) -> Changes:
    start = datetime.fromisoformat(key)
    return _span("session", start.isoformat(), (start + timedelta(seconds=SECONDS)).isoformat())


_NARROWER: dict[str, Callable[[str], Changes | str]] = {
    "day": _day,
    "week": lambda key: _span("day", key, (date.fromisoformat(key) + timedelta(days=6)).isoformat()),
    "month": lambda key: _span("day", *month_span(key)),
    "block": _block,
    "model": lambda key: {"by": "day", "model": key},
    "project": lambda key: {"by": "day", "project": key},
    "branch": lambda key: {"by": "day", "branch": key},
    "tool": lambda key: {"by": "day", "tool": key},
    "session": lambda key: f"/s/{pages.quoted(key)}",
}


SHOWN = ("day", "week", "month", "model", "project", "session", "tool", "block")
"""The groupings with a tab; the others are reached by address only."""
_OF_STORE = ("person", "team", "machine")
"""Those that a team's store has besides."""
MOST_ROWS = 400
MOST_NAMES = 12
"""Bars in a chart of names; the table has the others."""
MOST_PROJECTS = 10
NANO = 1_000_000_000
_LAST_BLOCKS = timedelta(days=1)
"""An open block began at most this long ago."""
_MAIN = Sheet(width=860, plot=230, crop=16)
_BESIDE = Sheet(width=520, plot=250, crop=16)


def usage(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    chosen, problem = asked_or_why_not(request)
    values: dict[str, Any] = {
        "asked": chosen,
        "tabs": SHOWN if site.settings.store is None else (*SHOWN, *_OF_STORE),
        "spans": SPANS,
        "problem": problem,
        "blamed": blamed(site, chosen.form) if problem else [],
    }
    if problem:
        return pages.page(request, "usage.html", f"Usage by {chosen.by}", status=400, **values)
    report = usage_report(site, chosen)
    rows = limited(report, MOST_ROWS)
    # A chart of names adds up the rest: all names, not only those in the table.
    charted = rows if report.by in TIMES else report
    chart = usage_chart(charted, site.settings.timezone)
    if chart.unit == "dollars":
        chart = replace(chart, limit=_limit_of(site, chosen))
    links = [narrowed(chosen, row.key) for row in charted_rows(charted)]
    if chart.kind == "names":
        chart = fold_names(chart, MOST_NAMES)
        links = links[: MOST_NAMES - 1] if len(links) > MOST_NAMES else links
    values |= {
        "report": rows,
        "left_out": len(report.rows) - len(rows.rows),
        "chart": pages.drawn(chart, replace(pages.fitting(request, _MAIN), links=tuple(links))) if rows.rows else "",
        "rows": _rows(site, chosen, rows),
        "accounting": accounting_line(report.accounting),
        "unpriced": [shown(model) for model in report.accounting.unpriced_models],
        "money": money,
        "percent": percent,
        "is_whole": bool(pages.value(request, "whole")),
    }
    values |= _spending(site)
    if values["is_whole"]:
        values |= _sidebar(site, chosen, pages.fitting(request, _BESIDE)) | _saved(site, chosen)
    return pages.page(request, "usage.html", f"Usage by {chosen.by}", scripts=["charts.js"], **values)


def _limit_of(site: pages.Site, chosen: UsageFilters) -> float | None:
    """The budget for one bar, in dollars; None if the page shows only a part of the spending."""
    limit = read_limits(str(site.settings.home)).get(chosen.by)
    is_part = any(chosen.form.get(name) for name in ("project", "model", "tool", "branch"))
    return limit / NANO if limit is not None and not is_part else None


def _spending(site: pages.Site) -> dict[str, Any]:
    """The spending of day, week and month so far, whatever the page is filtered by."""
    zone = site.settings.timezone
    today = site.settings.now.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    filters = Filter(since=today - timedelta(days=DAYS_BACK))
    report = site.library.answer(("spending", filters.since), lambda archive: archive.usage("day", filters, zone))
    by_day = {row.key: row.tokens.nanodollars or 0 for row in report.rows if row.key is not None}
    found = spending(by_day, today.date().isoformat(), read_limits(str(site.settings.home)))
    uncertain = {row.key: 1 for row in report.rows if row.key is not None and row.is_partial}
    return {
        "spending": found,
        "uncertain": spending(uncertain, today.date().isoformat(), {}),
        "limits_set": {each.period: each for each in found.budgets},
        "team_budgets": None
        if (url := site.settings.store) is None
        else site.library.answer(("budgets", today), lambda _: team_store.named_budgets(url)),
        "budget_words": budget_words,
        "projection": projection_words(found),
        "periods": PERIODS,
        "period_names": NAMES,
        "period_before": BEFORE,
        "dollars": dollars,
    }


async def set_budgets(request: Request) -> Response:
    """Sets budgets from the page's form and leads back to it with its filters; an empty field removes a budget."""
    form = await pages.form(request)
    limits: dict[str, int] = {}
    for name in PERIODS:
        text = next(iter(form.get(name, ())), "").strip()
        if text:
            limits[name] = dollars_to_nano(text)
    await run_in_threadpool(write_limits, str(pages.site_of(request).settings.home), limits)
    back = form.get("back", [""])[0]
    return RedirectResponse(f"/usage{back if back.startswith('?') else ''}#budgets", status_code=303)


def sidebar(request: Request) -> HTMLResponse:
    """The part of the page next to the chart: limits, projects, the cache."""
    sheet = pages.fitting(request, _BESIDE)
    return pages.fragment("usage_sidebar.html", **_sidebar(pages.site_of(request), filters_in(request), sheet))


def saved(request: Request) -> HTMLResponse:
    """What the cache saved, as one line of its card."""
    return pages.fragment("usage_saved.html", **_saved(pages.site_of(request), filters_in(request)))


def usage_report(site: pages.Site, chosen: UsageFilters) -> UsageReport:
    zone = site.settings.timezone
    return site.library.answer(
        ("usage", chosen.by, chosen.filters),
        lambda archive: archive.usage(chosen.by, chosen.filters, zone, folds_worktrees=chosen.has_projects),
    )


def _by_project(site: pages.Site, chosen: UsageFilters) -> tuple[UsageReport, CacheReport]:
    """Usage and cache by project for the part next to the chart, whatever the chart's grouping is."""
    zone = site.settings.timezone
    return site.library.answer(
        ("sidebar", chosen.filters),
        lambda archive: archive.billing.usage_and_caching(
            "project", chosen.filters, zone, folds_worktrees=chosen.has_projects
        ),
    )


def _rows(site: pages.Site, chosen: UsageFilters, report: UsageReport) -> list[dict[str, Any]]:
    """The rows of the table; if grouped by time, newest first."""
    zone = site.settings.timezone
    timed = [row for row in report.rows[::-1] if row.key is not None]
    rows = [*timed, *(row for row in report.rows if row.key is None)] if report.by in TIMES else report.rows
    return [
        {
            "label": row.title or row.key if report.by == "session" and row.key else row_label(report.by, row, zone),
            "link": narrowed(chosen, row.key),
            "tokens": row.tokens,
            "is_partial": row.is_partial,
        }
        for row in rows
    ]


def _saved(site: pages.Site, chosen: UsageFilters) -> dict[str, Any]:
    _, found = _by_project(site, chosen)
    is_partial = found.totals.unpriced_tokens > 0
    return {"saved": signed_money(found.caching.saved, is_partial=is_partial), "caching": found.caching}


def _sidebar(site: pages.Site, chosen: UsageFilters, sheet: Sheet) -> dict[str, Any]:
    projects, cache = _by_project(site, chosen)
    by_project = chosen._replace(by="project")
    links = tuple(narrowed(by_project, row.key) for row in projects.rows)
    names = short_names([row.key or "" for row in projects.rows])
    total = projects.totals.nanodollars or 0
    return {
        "asked": chosen,
        "projects": [
            (name or "no project", row, link, (row.tokens.nanodollars or 0) / total if total else None)
            for name, row, link in zip(names, projects.rows, links, strict=True)
        ],
        "most": MOST_PROJECTS,
        "projects_chart": pages.drawn(projects_chart(projects), replace(sheet, links=links)) if projects.rows else "",
        "cache": cache,
        **rebuilds(cache),
        "money": money,
        "percent": percent,
        **_limits(site),
    }


def rebuilds(cache: CacheReport) -> dict[str, Any]:
    """Why the cache was rebuilt, for the table of it."""
    causes = [(cause_words(each.name), reported_or_inferred(by_api=each.by_api), each.caching) for each in cache.causes]
    premium = money(nano(cache.caching.premium), is_partial=cache.caching.unpriced_rebuilds > 0)
    return {"cache_rows": causes, "premium": premium}


def open_limits(site: pages.Site) -> list[tuple[str, str]]:
    """Name and words of each usage limit whose window is open."""
    now = site.settings.now
    minute = now.replace(second=0, microsecond=0)
    return site.library.answer(
        ("limits", minute),
        lambda archive: open_limit_lines(archive.billing.limits(now=now), now, site.settings.timezone),
    )


def _limits(site: pages.Site) -> dict[str, Any]:
    """The open block and the windows that a status line reported, whatever the page is filtered by."""
    now, zone = site.settings.now, site.settings.timezone
    recent = Filter(since=now.replace(minute=0, second=0, microsecond=0) - _LAST_BLOCKS)
    found = site.library.answer(("blocks", recent.since), lambda archive: archive.usage("block", recent, zone))
    open_block = _open_block(found, site)
    return {
        "limits": open_limits(site),
        "block_cost": None if open_block is None else found.rows[-1].tokens,
        "block_words": None if open_block is None else block_words(open_block, zone),
        "is_told": open_block is not None and not open_block.is_estimate,
    }


def _open_block(report: UsageReport, site: pages.Site) -> FiveHourBlock | None:
    found = block(report.rows[-1], site.settings.now, report.reported_windows) if report.rows else None
    return found if found is not None and found.is_open else None


def download(request: Request) -> Response:
    """`usage.svg` or `usage.csv`, or the same of `projects`, with the page's filters; the page makes a PNG itself."""
    site = pages.site_of(request)
    what, _, ending = request.path_params["name"].partition(".")
    if what not in ("usage", "projects") or ending not in ("svg", "csv"):
        raise HTTPException(404)
    chosen = filters_in(request)
    report = usage_report(site, chosen) if what == "usage" else _by_project(site, chosen)[0]
    if ending == "csv":
        kind, body = "text/csv", usage_csv(report, breakdown=what == "projects").encode()
    else:
        chart = projects_chart(report) if what == "projects" else usage_chart(report, site.settings.timezone)
        kind, body = "image/svg+xml", chart_svg(chart).encode()
    name = f"reread-usage-by-{report.by}.{ending}"
    return Response(body, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})
