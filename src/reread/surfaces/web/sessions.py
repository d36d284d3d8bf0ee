"""The list of sessions: filtered, sorted, grouped by project."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.archive import Listed
from reread.queries.filters import Filter, check_window, parse_time
from reread.queries.listing import filtered
from reread.render.listing import fate

from . import pages
from .marking import tag_names

ON_A_PAGE = 100
MOST_PROJECTS = 200
FILTERS = ("project", "since", "until", "model", "branch", "tool", "file", "tag")
SWITCHES = ("starred", "hidden", "group")
_WORKTREE = re.compile(r"[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+")
SORTS: Mapping[str, Callable[[Listed], Any]] = {
    "last": lambda each: each.stored.row.ended or 0,
    "started": lambda each: each.stored.row.started or 0,
    "cost": lambda each: each.stored.row.nanodollars or 0,
    "output": lambda each: each.stored.row.output_tokens,
    "prompts": lambda each: each.stored.row.prompts,
    "calls": lambda each: each.stored.row.tool_calls,
    "failed": lambda each: each.stored.row.tool_errors,
    "size": lambda each: each.stored.row.bytes,
}
"""Each with the most first."""


class Row(NamedTuple):
    each: Listed
    fate: str
    heading: str
    """The project, where a group of it begins; empty elsewhere."""
    group: int
    """How many sessions are in that group."""


def sessions(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    given = {name: pages.value(request, name) for name in (*FILTERS, *SWITCHES, "sort")}
    sort = given["sort"] if given["sort"] in SORTS else "last"
    found = _found(site, given)
    ordered = sorted(found, key=SORTS[sort], reverse=True)
    sizes: dict[str, int] = {}
    for each in ordered:
        name = project_of(each.stored.row.project)
        sizes[name] = sizes.get(name, 0) + 1
    if given["group"]:
        place = {name: number for number, name in enumerate(sizes)}
        ordered.sort(key=lambda each: place[project_of(each.stored.row.project)])
    last_page = max(0, (len(ordered) - 1) // ON_A_PAGE)
    number = min(pages.number(request, "page"), last_page)
    shown = ordered[number * ON_A_PAGE : (number + 1) * ON_A_PAGE]
    template = "session_rows.html" if request.headers.get("x-part") else "sessions.html"
    return pages.page(
        request,
        template,
        "Sessions",
        scripts=("marking.js",),
        tag_names=tag_names(site.library),
        rows=_rows(shown, site, sizes if given["group"] else None),
        given={**given, "sort": "" if sort == "last" else sort},
        sort=sort,
        sorts=list(SORTS),
        total=len(ordered),
        everything=len(site.library.sessions()),
        number=number,
        last_page=last_page,
        projects=_projects(site),
        cost=sum(each.stored.row.nanodollars or 0 for each in ordered),
        output=sum(each.stored.row.output_tokens for each in ordered),
    )


def _found(site: pages.Site, given: Mapping[str, str]) -> list[Listed]:
    wanted = make_filter(site, given)
    if wanted.tool is None and wanted.file is None:
        return filtered(site.library.sessions(), wanted)
    days = site.settings.cleanup_days
    return site.library.answer(("listed", wanted), lambda archive: archive.sessions(wanted, days))


def make_filter(site: pages.Site, given: Mapping[str, str]) -> Filter:
    """From the fields of a form; raises BadInput for a date that is none."""
    now, zone = site.settings.now, site.settings.timezone
    moments = {
        name: parse_time(given[name], now, zone, name).replace(microsecond=0) if given.get(name) else None
        for name in ("since", "until")
    }
    check_window(moments["since"], moments["until"])
    return Filter(
        project=given.get("project") or None,
        since=moments["since"],
        until=moments["until"],
        model=given.get("model") or None,
        git_branch=given.get("branch") or None,
        tool=given.get("tool") or None,
        file=given.get("file") or None,
        starred=bool(given.get("starred")),
        tags=(given["tag"],) if given.get("tag") else (),
        without_hidden=not given.get("hidden"),
    )


def project_of(path: str | None) -> str:
    """The project's folder; a worktree counts to the one it was made from."""
    return _WORKTREE.split(path or "")[0]


def _projects(site: pages.Site) -> list[str]:
    """By how lately they were worked in."""
    found = dict.fromkeys(project_of(each.stored.row.project) for each in site.library.sessions())
    return [name for name in found if name][:MOST_PROJECTS]


def _rows(shown: list[Listed], site: pages.Site, sizes: Mapping[str, int] | None) -> list[Row]:
    rows: list[Row] = []
    now, before = site.settings.now, None
    for each in shown:
        project = project_of(each.stored.row.project)
        begins = sizes is not None and project != before
        heading = (project or "no project") if begins else ""
        rows.append(Row(each, fate(each, now), heading, sizes[project] if sizes is not None and begins else 0))
        before = project
    return rows
