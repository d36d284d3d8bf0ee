"""Charts and tables of the usage page as files to keep."""

from __future__ import annotations

from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from reread.archive import UsageReport
from reread.render.charts import Chart
from reread.render.charts.png import chart_png
from reread.render.charts.svg import chart_svg
from reread.render.usage import usage_csv
from reread.render.usage_chart import projects_chart, usage_chart

from . import pages
from .narrowing import asked
from .usage import projects_report, usage_report

_DRAWINGS: dict[str, tuple[str, Callable[[Chart], bytes]]] = {
    "svg": ("image/svg+xml", lambda chart: chart_svg(chart).encode()),
    "png": ("image/png", chart_png),
}


def download(request: Request) -> Response:
    """`usage.svg`, `usage.png`, `usage.csv`, and the same of `projects`; narrowed as the page is."""
    site = pages.site_of(request)
    what, _, ending = request.path_params["name"].partition(".")
    if what not in ("usage", "projects") or ending not in (*_DRAWINGS, "csv"):
        raise HTTPException(404)
    given = asked(request)
    report = usage_report(site, given) if what == "usage" else projects_report(site, given)
    if ending == "csv":
        kind, body = "text/csv", usage_csv(report, breakdown=what == "projects").encode()
    else:
        kind, draw = _DRAWINGS[ending]
        body = draw(_chart(site, what, report))
    name = f"reread-usage-by-{report.by}.{ending}"
    return Response(body, media_type=kind, headers={"content-disposition": f'attachment; filename="{name}"'})


def _chart(site: pages.Site, what: str, report: UsageReport) -> Chart:
    return projects_chart(report) if what == "projects" else usage_chart(report, site.settings.timezone)
