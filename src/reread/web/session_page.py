"""The page of a session: first screen, the rest on scrolling, additions while it runs, branches, timeline."""

from __future__ import annotations

from base64 import b64decode
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from reread.archive import listing
from reread.errors import BadInput
from reread.features.activity import TimelinePoint
from reread.features.edits.net import FileDiff, files_at
from reread.features.friction.detection import FrictionKind, Moment
from reread.views.html import parts
from reread.views.html.branch_table import compared_branches
from reread.views.html.content import anchor, coloured_lines
from reread.views.html.session import SessionParts, branch_label
from reread.views.numbers import duration, money, nano, tokens
from reread.views.retro_report import kinds_line

from . import pages
from .archive_pool import PooledArchive, link_name
from .lanes import lanes_of
from .live import going_of
from .paging import FAILURES, FIRST_STEPS, BranchPages, branch_rows
from .retro import friction_marks
from .session_view import (
    SessionView,
    find_answer,
    more_of,
    part_base,
    part_in,
    picture_base,
    record_in,
    sought,
    states_in,
    stops_in,
    where_in,
)
from .sessions import tag_names
from .spending import first_bad, spending_of
from .updates import BEAT, server_event
from .usage import rebuilds

DAY = 86_400
_IN_HEAD = frozenset({FrictionKind.TOOL_ERROR, FrictionKind.REJECTION, FrictionKind.REWIND})
AROUND = 60
"""How many sessions before and after a session are in the list next to it."""


_SCRIPTS = (
    *("sse.js", "conversation.js", "matching.js", "find_in_page.js"),
    *("highlight.js", "time.js", "sidebar.js", "spending.js"),
)


def show(request: Request) -> Response:
    """The page from its beginning, from a piece or from a message; outline and map follow after the first screen."""
    with _viewed(request) as (view, pooled):
        where, moments = view.where(pages.value(request, "at")), pooled.moments()
        branch_pages = view.branch(where.branch if where else pages.value(request, "branch"))
        wanted, around = sought(request), _surroundings(view, pooled, branch_pages, moments)
        return pages.page_in_parts(
            request,
            pooled.lock,
            "conversation.html",
            around["own_title"] or "A session",
            scripts=_SCRIPTS,
            sought=wanted,
            terms=msgspec.json.encode(wanted.terms).decode() if wanted else "",
            at=where.anchor if where else "",
            **around,
            **_of_archive(pages.site_of(request), pooled),
            **_first_slice(request, branch_pages, where.piece if where else pages.number(request, "from")),
            branch_label=branch_label(branch_pages.branch),
            branch_pages=branch_pages,
            marks=lambda: [*branch_pages.marks, *friction_marks(branch_pages, moments)],
        )


def _surroundings(
    view: SessionView, pooled: PooledArchive, branch_pages: BranchPages, moments: Sequence[Moment]
) -> dict[str, Any]:
    """What stands around a conversation and follows it as it grows."""
    lead = view.lead(pooled.stored)
    return {
        "page": lead,
        "own_title": lead.title,
        "took": _took(lead),
        "view": view,
        "first_bad": first_bad,
        "branch": branch_pages.name,
        "is_active": branch_pages.branch.active,
        "name": pooled.name,
        "mark": pooled.mark,
        "friction": _friction(moments),
        "cost": pooled.stored.row.nanodollars,
        "unpriced": pooled.is_partial,
    }


def _of_archive(site: pages.Site, pooled: PooledArchive) -> dict[str, Any]:
    """What the archive says of a session."""
    row = pooled.stored.row
    return {
        "copies": site.library.copies(pooled.stored),
        "team": site.library.team(pooled.stored),
        "folder": row.folder,
        "project": row.project or "",
        "agents": row.subagents,
        "tag_names": tag_names(site.library),
        "stamp": _stamp(pooled.stamp),
        "going": going_of(site, pooled.name),
    }


def _friction(moments: Sequence[Moment]) -> str:
    """The moments of friction, without what the line above counts."""
    return kinds_line(each for each in moments if each.kind not in _IN_HEAD)


def _first_slice(request: Request, branch_pages: BranchPages, start: int) -> dict[str, Any]:
    """The first pieces, with all that is folded in them for a browser without scripts that asks for it."""
    is_whole = bool(pages.value(request, "parts"))
    start = min(start, max(0, branch_pages.total - 1))
    base = "" if is_whole else part_base(request)
    return {
        "page_slice": branch_pages.slice(start, FIRST_STEPS, is_lean=not is_whole),
        "is_whole": is_whole,
        "part_base": base,
        "agent_base": base,
        "picture_base": picture_base(request),
    }


def _of_session(made: Callable[[SessionView, Request], Response]) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        with _viewed(request) as (view, _):
            return made(view, request)

    return answer


def stops(request: Request) -> Response:
    """The places that keys lead to: prompts, failures, corrections."""
    with _viewed(request) as (view, pooled):
        branch_pages = view.branch(pages.value(request, "branch"))
        return stops_in(view, request, friction_marks(branch_pages, pooled.moments()))


def outline(request: Request) -> Response:
    """The prompts of the outline that were not sent with the page."""
    with _viewed(request) as (view, _):
        rows = view.branch(pages.value(request, "branch")).outline
        return pages.fragment("prompts.html", rows=rows[pages.number(request, "from") :])


def branches(request: Request) -> Response:
    """The list of branches, when it is opened."""
    with _viewed(request) as (view, pooled):
        shown = view.branch(pages.value(request, "branch")).name
        values = {"branch_rows": branch_rows(view.session, shown), "branch": shown, "name": pooled.name}
        return pages.part(request, "branch_list.html", "Branches", f"/s/{pooled.name}", **values)


def marks_of(request: Request) -> Response:
    """The map beside a conversation, which follows its first screen."""
    with _viewed(request) as (view, pooled):
        branch_pages = view.branch(pages.value(request, "branch"))
        return pages.fragment("map.html", marks=[*branch_pages.marks, *friction_marks(branch_pages, pooled.moments())])


def image(request: Request) -> Response:
    """An image of the session, by the name of its bytes: what has this address never changes."""
    with _viewed(request) as (view, _):
        found = view.images.get(request.path_params["image"])
    if found is None:
        raise HTTPException(404)
    headers = {"cache-control": "private, max-age=31536000, immutable"}
    return Response(b64decode(found.data), media_type=found.kind, headers=headers)


def sidebar(request: Request) -> Response:
    """What surrounds a conversation that grew: new prompts, and everything from its title to its map unless the page
    already has it."""
    with _viewed(request) as (view, pooled):
        branch_pages = view.branch(pages.value(request, "branch"))
        moments = pooled.moments()
        around = _surroundings(view, pooled, branch_pages, moments)
        around["marks"] = marks = [*branch_pages.marks, *friction_marks(branch_pages, moments)]
        suggested, lead = tag_names(pages.site_of(request).library), around["page"]
        state = _stamp((view.figures, lead.title, lead.ended, around["friction"], marks, pooled.mark, suggested))
        start, last = pages.number(request, "from"), pages.value(request, "last")
        if last and last not in [row.anchor for row in branch_pages.outline[:start][-1:]]:
            start = 0  # it was rewound: some prompts in the page are no longer on this branch
        body = pages.render(
            "sidebar.html",
            rows=branch_pages.outline[start:],
            is_changed=state != pages.value(request, "seen"),
            tag_names=suggested,
            **around,
        )
        return HTMLResponse(body, headers={"x-seen": state, "x-from": str(start)})


def hits_of(request: Request) -> Response:
    """Which messages of a branch contain the searched or typed words, and whether other branches do."""
    with _viewed(request) as (view, pooled):
        found = find_answer(pages.site_of(request).library, pooled.stored, view, request)
        return Response(msgspec.json.encode(found), media_type="application/json")


def compare(request: Request) -> Response:
    """Two branches side by side; by default the one that was left last and the active one."""
    with _viewed(request) as (view, pooled):
        branches = view.branches
        left = pages.value(request, "left") or list(branches)[:2][-1]
        right = pages.value(request, "right") or next(iter(branches))
        one, other = view.branch(left), view.branch(right)
        found = view.comparison(one.branch, other.branch) if one is not other else None
        return pages.page(
            request,
            "compare.html",
            f"Compare branches of {view.session.title or 'a session'}",
            name=pooled.name,
            session_title=view.session.title or "a session",
            branch_rows=branch_rows(view.session, ""),
            left=one.name,
            right=other.name,
            compared=compared_branches(view.session, found) if found is not None else None,
        )


def changes(request: Request) -> Response:
    """The files that the session changed in the end."""
    with _viewed(request) as (view, pooled):
        if pages.value(request, "file"):
            return _one_file(view, view.net_changes, request)
        values = {"files": view.files, "base": request.url.path}
        return pages.part(request, "changes.html", "Files changed", f"/s/{pooled.name}", **values)


def cost(request: Request) -> Response:
    """Where the money went, for a branch's turns."""
    with _viewed(request) as (view, pooled):
        branch = view.branch(pages.value(request, "branch"))
        found = spending_of(view.session, branch.branch, view.timeline(branch.name))
        money = {"cost": pooled.stored.row.nanodollars, "unpriced": pooled.is_partial}
        values = {"spent": found, "name": pooled.name, **money, **rebuilds(found.cache)}
        return pages.part(request, "spending.html", "Where the money went", f"/s/{pooled.name}", **values)


def agents(request: Request) -> Response:
    """The subagents as lanes over time."""
    with _viewed(request) as (view, pooled):
        values = {"lanes": lanes_of(view.session), "name": pooled.name}
        return pages.part(request, "lanes.html", "Subagents", f"/s/{pooled.name}", **values)


def _took(lead: parts.Page) -> str:
    """From its first line to its last."""
    seconds = (lead.ended - lead.started).total_seconds() if lead.started and lead.ended else 0.0
    return f"{seconds / DAY:.0f} days" if seconds > 2 * DAY else duration(seconds) if seconds > 0 else ""


def around(request: Request) -> Response:
    """The sessions before and after a session in time, for the list next to it."""
    site = pages.site_of(request)
    stored = site.library.find(request.path_params["session"])
    with site.library.archive() as archive:
        ids = listing.ids_around(archive.inner.connection, stored, AROUND)
    around = site.library.by_id(ids)
    return pages.fragment("around.html", around=around, name=link_name(stored))


def record(request: Request) -> Response:
    """The lines of the transcript that a message came from."""
    with _viewed(request) as (view, pooled):
        return record_in(view, request, back=f"/s/{pooled.name}", title=view.session.title or "a session")


async def session_events(site: pages.Site, names: Sequence[str]) -> AsyncGenerator[str]:
    """The state of each of these sessions, whenever it changes; sessions that are not in the archive are left out."""
    seen: dict[str, str] = {}
    while not site.hub.is_closed:
        changes = site.hub.changes
        stamps = await run_in_threadpool(site.library.stamps, names) if names else {}
        for name in names:
            stamp = _stamp(stamps[name]) if name in stamps else ""
            if stamp and stamp != seen.get(name):
                seen[name] = stamp
                yield server_event(f"/s/{name}", "grown", stamp=stamp)
        await site.hub.wait(BEAT, since=changes)


def _stamp(stamp: object) -> str:
    return sha256(repr(stamp).encode()).hexdigest()[:16]


@contextmanager
def _viewed(request: Request) -> Iterator[tuple[SessionView, PooledArchive]]:
    """The session of the address."""
    with pages.site_of(request).library.session(request.path_params["session"]) as pooled:
        if pooled.made is None:
            pooled.made = SessionView(pooled.session, pooled.archive.inner.kept_backups())
        made: SessionView = pooled.made
        yield made, pooled


MOST_POINTS = 1_500
"""Points of the slider; all prompts are among them, however many there are."""
LONGEST_FILE = 3_000
"""Lines that are shown of a file as it was."""


def points_in(view: SessionView, request: Request) -> Response:
    """The points in time, in short form, so that a page can show each while one drags, without another request."""
    branch = view.branch(pages.value(request, "branch"))
    places = branch.places
    points = _thinned(view.timeline(branch.name))
    known = [(point, places[anchor(point.uuid)].piece) for point in points if anchor(point.uuid) in places]
    found = [_document(point, piece) for point, piece in known]
    ticks = [mark for mark in branch.marks if mark.what in FAILURES or mark.what == "compacted"]
    by_anchor, starts = {each["to"]: each for each in found}, [piece for _, piece in known]
    for mark in ticks:
        near = by_anchor.get(mark.anchor) or found[max(0, bisect_right(starts, mark.piece) - 1)] if found else {}
        near["tick"] = mark.what
    return Response(msgspec.json.encode(found), media_type="application/json")


def _thinned(points: list[TimelinePoint]) -> list[TimelinePoint]:
    step = -(-len(points) // MOST_POINTS)
    return (
        [point for number, point in enumerate(points) if number % step == 0 or point.what == "prompt"] if points else []
    )


def _document(point: TimelinePoint, piece: int) -> dict[str, Any]:
    return {
        "time": point.time.isoformat(),
        "to": anchor(point.uuid),
        "piece": piece,
        "turn": point.turn,
        "what": point.what[:60],
        "context": tokens(point.context),
        "size": point.context,
        "spent": point.nanodollars,
        "cost": money(nano(point.nanodollars), is_partial=point.is_partial),
    }


def files_in(view: SessionView, request: Request) -> Response:
    """The files that had been changed by a point in time, or one of them as it was then."""
    moment = _moment(pages.value(request, "time"))
    diffs = files_at(view.histories, moment)
    if pages.value(request, "file"):
        return _one_file(view, diffs, request)
    rows = SessionParts(view.session, parts.Sections()).file_rows(diffs)
    return pages.fragment("files_then.html", files=rows, time=moment.isoformat(), base=request.url.path)


def _content(diff: FileDiff) -> dict[str, Any]:
    """The whole file, if it is known."""
    text = diff.after.text if diff.after is not None else None
    lines = text.split("\n") if text is not None else []
    shown = list(map(Markup, coloured_lines(lines[:LONGEST_FILE], path=diff.path)))
    return {
        "is_known": diff.is_known,
        "is_there": diff.after is None or diff.after.text is not None,
        "lines": shown,
        "left_out": max(0, len(lines) - LONGEST_FILE),
        "has_gaps": bool(diff.gaps),
    }


def _one_file(view: SessionView, diffs: Sequence[FileDiff], request: Request) -> Response:
    """The diff of one of these files."""
    wanted = pages.number(request, "file", -1)
    if not 0 <= wanted < len(diffs):
        raise HTTPException(404)
    made = SessionParts(view.session, parts.Sections()).file_diff(diffs[wanted])
    values = {"diff": made, **_content(diffs[wanted])}
    return pages.part(request, "file_then.html", "A file that was changed", request.url.path, **values)


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadInput(f"{text[:40]!r} is no moment with a time zone")
    return found


more, part, states, where_is, timeline, then = map(
    _of_session, (more_of, part_in, states_in, where_in, points_in, files_in)
)
