"""The list of sessions, filtered, sorted and grouped by project; and the forms that set marks of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.archive import Listed, listing
from reread.archive.filters import Filter, check_window, parse_end, parse_time
from reread.archive.listing import SOON, SORTS
from reread.archive.lost_sessions import LostSession
from reread.archive.usage_report import counted_to, midnight
from reread.archive.user_marks import earlier_folders
from reread.errors import BadInput
from reread.views.session_list import fate
from reread.views.text import tabbed

from . import pages
from .archive_pool import ArchivePool, link_name

ON_A_PAGE = 100
MOST_PROJECTS = 200
FILTERS = ("title", "project", "since", "until", "model", "branch", "tool", "file", "tag")
SWITCHES = {"starred": "starred", "going": "deleted soon", "hidden": "include hidden"}
COLUMNS = ("last", "prompts", "calls", "failed", "output", "cost")
"""The sorts that belong to a column of the list."""


DAYS = {"today": 1, "7d": 7, "30d": 30, "90d": 90, "365d": 365}
"""Spans as whole days including today, on every page as on Home; they are answered from stored sums."""


class ProjectGroup(NamedTuple):
    """The heading of a project in the list."""

    project: str
    sessions: int
    earlier: list[str]
    """Folders it was moved from."""


class FoundSessions(NamedTuple):
    """The sessions that pass the filters, in order; only their ids, because a page shows just a few of them."""

    ids: list[int]
    groups: dict[str, ProjectGroup] | None = None


class SessionListRow(NamedTuple):
    each: Listed
    fate: str
    group: ProjectGroup | None
    """The group that begins with this row; None within a group."""
    members: list[Listed]
    """The other sessions of its team on this page, which are folded below it."""


def sessions(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    form = {name: pages.value(request, name) for name in (*FILTERS, *SWITCHES, "group", "up", "sort")}
    sort = form["sort"] if form["sort"] in SORTS else "last"
    found, problem = _found_or_why_not(site, form, sort)
    last_page = max(0, (len(found.ids) - 1) // ON_A_PAGE)
    number = min(pages.number(request, "page"), last_page)
    shown = site.library.by_id(found.ids[number * ON_A_PAGE : (number + 1) * ON_A_PAGE])
    template = "session_rows.html" if request.headers.get("x-part") else "sessions.html"
    return pages.page(
        request,
        template,
        "Sessions",
        status=400 if problem else 200,
        scripts=["lists.js", "highlight.js"],
        tag_names=tag_names(site.library),
        rows=_rows(shown, site, found.groups),
        problem=problem,
        blamed=blamed(site, form) if problem else [],
        given={**form, "sort": "" if sort == "last" else sort},
        chips=_chips(form),
        switches=SWITCHES,
        sort=sort,
        sorts=list(SORTS),
        columns=COLUMNS,
        total=len(found.ids),
        lost=[] if problem or number else _lost(site, form),
        everything=site.library.count(),
        number=number,
        last_page=last_page,
        projects=projects(site),
        usage=_usage_of(form),
    )


def _usage_of(form: Mapping[str, str]) -> Mapping[str, str] | None:
    """The filters of the page Usage for the same sessions; None if the list is filtered by something else than
    Usage can be. The costs of sessions do not add up, because a response that a fork repeats is in both."""
    shared = ("project", "model", "since")
    if any(form[name] for name in (*FILTERS, *SWITCHES) if name not in shared):
        return None
    return {**{name: form[name] for name in shared}, "since": form["since"] or "all"}


def _chips(form: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The active filters, which can be removed: name in the address, label, and text."""
    named = [(name, name, form[name]) for name in FILTERS if form[name]]
    return named + [(name, "", words) for name, words in SWITCHES.items() if form[name]]


def _found_or_why_not(site: pages.Site, form: Mapping[str, str], sort: str) -> tuple[FoundSessions, str]:
    """The sessions and an error message. A half-typed date is invalid: the page stays, keeps it, and says so."""
    try:
        return _found(site, form, sort), ""
    except BadInput as error:
        return FoundSessions([]), str(error)


def _found(site: pages.Site, form: Mapping[str, str], sort: str) -> FoundSessions:
    filters, settings = make_filter(site, form), site.settings
    expires, is_up = settings.now + SOON if form["going"] else None, bool(form["up"])
    if settings.store is not None and (filters.tool or filters.git_branch or filters.file):
        raise BadInput("a store's sessions are listed by project, model and time; Usage can be narrowed by more")
    with site.library.archive() as archive:
        choice = listing.choice_of(archive.inner.connection, filters, form["title"], expires, settings.cleanup_days)
        if not form["group"]:
            return FoundSessions(listing.ordered_ids(archive.inner.connection, choice, sort, is_up=is_up))
        projects = listing.ids_by_project(archive.inner.connection, choice, sort, is_up=is_up)
    groups = {
        name: ProjectGroup(name, len(own), earlier_folders((folder for _, folder in own), name))
        for name, own in projects.items()
    }
    return FoundSessions([number for own in projects.values() for number, _ in own], groups)


def _lost(site: pages.Site, form: Mapping[str, str]) -> list[LostSession]:
    """Sessions that were deleted before they could be imported and pass the filters; none for filters that need more
    than is known of them."""
    if any(form[name] for name in SWITCHES if name != "hidden"):
        return []
    filters = make_filter(site, form)
    found = site.library.answer(("lost", filters), lambda archive: archive.lost(filters))
    words = form["title"].casefold().split()
    return [each for each in found if all(word in each.title.casefold() for word in words)]


def usual_span(site: pages.Site) -> str:
    """The period that a page shows by default: 30 days, or everything if nothing happened in the last 30 days."""
    now, newest = site.settings.now, site.library.newest(1)
    is_past = bool(newest) and counted_to(now, newest[0].stored.ended, site.settings.timezone) is not now
    return "all" if is_past else "30d"


def make_filter(site: pages.Site, form: Mapping[str, str]) -> Filter:
    """A filter from the fields of a form; raises BadInput for an invalid date."""
    now, zone = site.settings.now, site.settings.timezone
    since = _beginning(form["since"], now, zone) if form.get("since") else None
    until = parse_end(form["until"], now, zone, "until").replace(microsecond=0) if form.get("until") else None
    check_window(since, until, option="")
    project = form.get("project") or None
    is_one = project in site.library.projects()
    return Filter(
        project=None if is_one else project,
        of_project=project if is_one else None,
        since=since,
        until=until,
        model=form.get("model") or None,
        git_branch=form.get("branch") or None,
        tool=form.get("tool") or None,
        file=form.get("file") or None,
        starred=bool(form.get("starred")),
        tags=(form["tag"],) if form.get("tag") else (),
        without_hidden=not form.get("hidden"),
    )


def _beginning(text: str, now: datetime, zone: tzinfo | None) -> datetime:
    if days := DAYS.get(text):
        return midnight(now.astimezone(zone).date() - timedelta(days=days - 1), zone)
    return parse_time(text, now, zone, "since").replace(microsecond=0)


def blamed(site: pages.Site, form: Mapping[str, str]) -> list[str]:
    """The fields whose times are invalid; both if each is valid but they do not fit together."""
    times = ("since", "until")
    if not _is_wrong(site, form):
        return []
    return [name for name in times if _is_wrong(site, {name: form.get(name, "")})] or list(times)


def _is_wrong(site: pages.Site, form: Mapping[str, str]) -> bool:
    try:
        make_filter(site, form)
    except BadInput:
        return True
    return False


def projects(site: pages.Site) -> list[str]:
    """Projects, the most recently used first."""
    return site.library.projects()[:MOST_PROJECTS]


def _rows(shown: list[Listed], site: pages.Site, groups: Mapping[str, ProjectGroup] | None) -> list[SessionListRow]:
    rows: list[SessionListRow] = []
    now, before = site.settings.now, None
    teams: dict[tuple[str, str], list[Listed]] = {}
    for each in shown:
        row = each.stored.row
        teams.setdefault((row.folder, row.team or row.uuid), []).append(each)
    for first, *others in teams.values():
        each, *members = sorted((first, *others), key=lambda one: bool(one.stored.row.member))
        begins = groups is not None and each.project != before
        group = groups[each.project] if groups is not None and begins else None
        rows.append(SessionListRow(each, fate(each, now), group, members))
        before = each.project
    return rows


MOST_TAGS = 300
"""How many tags are suggested, the most used first."""
_SWITCHES = {"1": True, "0": False}


OVERTAKEN = "The note was changed elsewhere meanwhile, and not overwritten. Save again to put yours in its place."


async def mark(request: Request) -> Response:
    """Sets the marks of the form. The guard has checked that the form is ours."""
    form = await pages.form(request)
    site = pages.site_of(request)
    name, forms, is_overtaken = await run_in_threadpool(_mark_one, site.library, request.path_params["session"], form)
    site.hub.wake()  # so that other windows show it, too
    if is_overtaken and request.headers.get("x-part"):
        return HTMLResponse(forms + pages.render("problem.html", reason=OVERTAKEN), status_code=409)
    if is_overtaken:
        raise BadInput(OVERTAKEN)
    return HTMLResponse(forms) if request.headers.get("x-part") else RedirectResponse(f"/s/{name}", status_code=303)


async def mark_many(request: Request) -> Response:
    """The same for all ticked sessions of the list; leads back to the list with its filters."""
    form = await pages.form(request)
    site = pages.site_of(request)
    await run_in_threadpool(_mark, site.library, form.get("session", []), form)
    site.hub.wake()
    back = form.get("back", [""])[0]
    return RedirectResponse(f"/sessions{back if back.startswith('?') else ''}", status_code=303)


def tag_names(library: ArchivePool) -> list[str]:
    """The tags to suggest."""
    return library.answer("tags", lambda archive: [tag for tag, _ in archive.marks.tags()[:MOST_TAGS]])


def _mark_one(library: ArchivePool, name: str, form: pages.Form) -> tuple[str, str, bool]:
    """Its name in addresses, its forms, and whether nothing was saved, because the note was changed since the form was
    made."""
    stored = library.find(name)
    is_overtaken = "had" in form and _plain(form["had"][0]) != _plain(stored.mark.note or "")
    if not is_overtaken:
        _mark(library, [name], form)
        stored = library.find(name)
    link, title, tags = link_name(stored), stored.row.title, tag_names(library)
    forms = pages.render("mark.html", name=link, mark=stored.mark, own_title=title, tag_names=tags)
    return link, forms, is_overtaken


def _plain(note: str) -> str:
    """A note as a page shows it and its form sends it back: without invisible letters, which pasted texts have."""
    return tabbed(note.replace("\r\n", "\n")).strip()


def _mark(library: ArchivePool, names: Sequence[str], form: pages.Form) -> None:
    found = [library.find(name) for name in names]
    with library.archive() as archive:
        archive.marks.set(
            *found,
            starred=_SWITCHES.get(form.get("starred", [""])[0]),
            typed=_SWITCHES.get(form.get("typed", [""])[0]),
            hidden=_SWITCHES.get(form.get("hidden", [""])[0]),
            tags=[tag for tag in form.get("tag", []) if tag.strip()],
            untags=form.get("untag", []),
            note=form.get("note", [None])[0],
            title=form.get("title", [None])[0],
        )
