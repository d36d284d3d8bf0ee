"""The list of sessions: filtered, sorted, grouped by project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.archive import Listed
from reread.archive.filters import Filter, check_window, parse_end, parse_time
from reread.archive.listing import filtered
from reread.archive.lost_sessions import LostSession
from reread.archive.projects import earlier_folders
from reread.errors import BadInput
from reread.views.session_list import fate, is_expiring

from . import pages
from .marks import tag_names

ON_A_PAGE = 100
MOST_PROJECTS = 200
FILTERS = ("title", "project", "since", "until", "model", "branch", "tool", "file", "tag")
SWITCHES = {"starred": "starred", "going": "deleted soon", "hidden": "include hidden"}
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
"""Each with the most first, unless turned around."""
COLUMNS = ("last", "prompts", "calls", "failed", "output", "cost")
"""Sorts that head a column of the list."""


class ProjectGroup(NamedTuple):
    """What a project's heading says."""

    project: str
    sessions: int
    earlier: list[str]
    """Folders it was moved from."""


class SessionListRow(NamedTuple):
    each: Listed
    fate: str
    group: ProjectGroup | None
    """Where a group begins."""


def sessions(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    given = {name: pages.value(request, name) for name in (*FILTERS, *SWITCHES, "group", "up", "sort")}
    sort = given["sort"] if given["sort"] in SORTS else "last"
    found, problem = _found_or_why_not(site, given)
    ordered = sorted(found, key=SORTS[sort], reverse=not given["up"])
    groups = _groups(ordered) if given["group"] else None
    if groups is not None:
        place = {name: number for number, name in enumerate(groups)}
        ordered.sort(key=lambda each: place[each.project])
    last_page = max(0, (len(ordered) - 1) // ON_A_PAGE)
    number = min(pages.number(request, "page"), last_page)
    shown = ordered[number * ON_A_PAGE : (number + 1) * ON_A_PAGE]
    template = "session_rows.html" if request.headers.get("x-part") else "sessions.html"
    return pages.page(
        request,
        template,
        "Sessions",
        status=400 if problem else 200,
        scripts=["lists.js", "marking.js"],
        tag_names=tag_names(site.library),
        rows=_rows(shown, site, groups),
        problem=problem,
        blamed=blamed(site, given) if problem else [],
        given={**given, "sort": "" if sort == "last" else sort},
        chips=_chips(given),
        switches=SWITCHES,
        sort=sort,
        sorts=list(SORTS),
        columns=COLUMNS,
        total=len(ordered),
        lost=[] if problem or number else _lost(site, given),
        everything=len(site.library.sessions()),
        number=number,
        last_page=last_page,
        projects=projects(site),
        usage=_usage_of(given),
    )


def _usage_of(given: Mapping[str, str]) -> Mapping[str, str] | None:
    """Where the same sessions' usage stands, if filters that usage has chose them. The costs of sessions do not add up:
    a response that a fork repeats is in both."""
    shared = ("project", "model", "since")
    if any(given[name] for name in (*FILTERS, *SWITCHES) if name not in shared):
        return None
    return {**{name: given[name] for name in shared}, "since": given["since"] or "all"}


def _chips(given: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """What can be taken away again: its name in the address, what it is, and what it says."""
    named = [(name, name, given[name]) for name in FILTERS if given[name]]
    return named + [(name, "", words) for name, words in SWITCHES.items() if given[name]]


def _found_or_why_not(site: pages.Site, given: Mapping[str, str]) -> tuple[list[Listed], str]:
    """A date is no date until it is typed to its end: the page stays, with what was typed, and says so."""
    try:
        return _found(site, given), ""
    except BadInput as error:
        return [], str(error)


def _found(site: pages.Site, given: Mapping[str, str]) -> list[Listed]:
    wanted = make_filter(site, given)
    if wanted.tool is None and wanted.file is None:
        moves = site.library.answer("moves", lambda archive: archive.marks.moves())
        found = filtered(site.library.sessions(), wanted._replace(moves=moves))
    else:
        days = site.settings.cleanup_days
        found = site.library.answer(("listed", wanted), lambda archive: archive.sessions(wanted, days))
    words, now = given["title"].casefold().split(), site.settings.now
    found = [each for each in found if _has_words(each, words)] if words else found
    return [each for each in found if is_expiring(each, now)] if given["going"] else found


def _lost(site: pages.Site, given: Mapping[str, str]) -> list[LostSession]:
    """Those that were deleted before they could be kept, as far as the filters can be asked of them."""
    if any(given[name] for name in SWITCHES if name != "hidden"):
        return []
    wanted = make_filter(site, given)
    found = site.library.answer(("lost", wanted), lambda archive: archive.lost(wanted))
    words = given["title"].casefold().split()
    return [each for each in found if all(word in each.title.casefold() for word in words)]


def _has_words(each: Listed, words: list[str]) -> bool:
    title = (each.stored.row.title or "").casefold()
    return all(word in title for word in words)


def make_filter(site: pages.Site, given: Mapping[str, str]) -> Filter:
    """From the fields of a form; raises BadInput for an invalid date."""
    now, zone = site.settings.now, site.settings.timezone
    since, until = (
        parse(given[name], now, zone, name).replace(microsecond=0) if given.get(name) else None
        for name, parse in (("since", parse_time), ("until", parse_end))
    )
    check_window(since, until, option="")
    return Filter(
        project=given.get("project") or None,
        since=since,
        until=until,
        model=given.get("model") or None,
        git_branch=given.get("branch") or None,
        tool=given.get("tool") or None,
        file=given.get("file") or None,
        starred=bool(given.get("starred")),
        tags=(given["tag"],) if given.get("tag") else (),
        without_hidden=not given.get("hidden"),
    )


def blamed(site: pages.Site, given: Mapping[str, str]) -> list[str]:
    """The fields whose times make no sense; both, where each does."""
    wrong = []
    for name in ("since", "until"):
        try:
            make_filter(site, {name: given.get(name, "")})
        except BadInput:
            wrong.append(name)
    try:
        make_filter(site, given)
    except BadInput:
        return wrong or ["since", "until"]
    return []


def _groups(ordered: list[Listed]) -> dict[str, ProjectGroup]:
    """By project, in the order of their first session."""
    found: dict[str, list[Listed]] = {}
    for each in ordered:
        found.setdefault(each.project, []).append(each)
    return {name: ProjectGroup(name, len(sessions), earlier_folders(sessions)) for name, sessions in found.items()}


def projects(site: pages.Site) -> list[str]:
    """By how lately they were worked in."""
    found = dict.fromkeys(each.project for each in site.library.sessions())
    return [name for name in found if name][:MOST_PROJECTS]


def _rows(shown: list[Listed], site: pages.Site, groups: Mapping[str, ProjectGroup] | None) -> list[SessionListRow]:
    rows: list[SessionListRow] = []
    now, before = site.settings.now, None
    for each in shown:
        begins = groups is not None and each.project != before
        rows.append(
            SessionListRow(each, fate(each, now), groups[each.project] if groups is not None and begins else None)
        )
        before = each.project
    return rows
