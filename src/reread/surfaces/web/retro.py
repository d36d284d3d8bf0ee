"""The retrospective: what to change first, what hurt most, what repeats; and what a person says of a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.analyses.friction.events import Kind
from reread.archive import StoredSession
from reread.errors import BadInput
from reread.queries.labelling import kind_called
from reread.queries.retro import ORDERS, Retro
from reread.render.retro import (
    NOTHING,
    NOTHING_AT_ALL,
    causes_line,
    change_text,
    facts,
    kind_name,
    labelled,
    left_out,
    rate_text,
    title,
)
from reread.render.retro_chart import MOST_WEEKS, weeks_chart
from reread.render.text import Style
from reread.render.view import View

from . import pages
from .library import link_name
from .retro_parts import MOST_FIRST, ONE_KIND, OVERVIEW, Hurt, Shelf, advice, hurts, moment_id, repeated
from .sessions import blamed, make_filter, projects

SPANS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "all": "everything"}
USUAL_SPAN = "30d"
FIELDS = ("since", "project", "kind", "by", "about", "session", "agents", "unsure", "wrong")
_SWITCHES = {"of_agents": "agents", "unsure": "unsure", "wrong": "wrong"}
"""What brings back what is left out."""
_FEWEST_WEEKS = 2


def retro(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    given = {name: pages.value(request, name) for name in FIELDS}
    order = given["by"] if given["by"] in ORDERS else ORDERS[0]
    stored = site.library.find(given["session"]) if given["session"] else None
    span = given["since"] or ("all" if stored is not None else USUAL_SPAN)
    try:
        found = _found(site, given, span, stored)
    except BadInput as error:
        return _wrong(request, given, span, order, str(error))
    shelf = Shelf(site.library.sessions())
    about = given["about"] if given["about"] and given["kind"] else None
    limits = ONE_KIND if given["kind"] else OVERVIEW
    shown = hurts(found, shelf, order, limits, about)
    suggestions = advice(found, shelf)
    weeks = found.weeks[-MOST_WEEKS:]
    view = View(width=10_000, style=Style(colour=False), timezone=site.settings.timezone)
    return pages.page(
        request,
        "retro.html",
        "Retrospective",
        scripts=("charts.js", "retro.js"),
        problem="",
        given=given,
        span=span,
        spans=SPANS,
        about=about,
        order=order,
        orders=ORDERS,
        kinds={kind.value: kind_name(kind.value) for kind in Kind},
        projects=projects(site),
        is_empty=not site.library.sessions(),
        found=found,
        name=link_name(stored) if stored is not None else "",
        title_of_it=title(found, view),
        facts=facts(found),
        causes=causes_line(found) if found.events else "",
        nothing=NOTHING if found.prompts else NOTHING_AT_ALL,
        hurts=shown,
        first=suggestions[:MOST_FIRST],
        suggestions=suggestions[MOST_FIRST:],
        more_suggestions=len(found.suggestions) - len(suggestions),
        repeated=repeated(found.patterns, shelf),
        chart=pages.drawn(weeks_chart(weeks)) if len(weeks) >= _FEWEST_WEEKS else "",
        weeks=weeks[::-1],
        earlier_weeks=len(found.weeks) - len(weeks),
        rate_text=rate_text,
        changes=[change_text(each, view) for each in found.changes],
        left_out={_SWITCHES[name]: words for name, words in left_out(found).items()},
        said=_said(request, shown),
        is_open=bool(given["kind"]),
        back=_query(given),
    )


def _wrong(request: Request, given: Mapping[str, str], span: str, order: str, problem: str) -> HTMLResponse:
    """The page with what was asked for, but for what is wrong with it: that has no field to be mended in."""
    site, kinds = pages.site_of(request), {kind.value: kind_name(kind.value) for kind in Kind}
    kept = {**given, "since": "" if blamed(site, given) else given["since"], "about": ""}
    return pages.page(
        request,
        "retro.html",
        "Retrospective",
        status=400,
        given={**kept, "kind": given["kind"] if given["kind"] in kinds else ""},
        span=span,
        spans=SPANS,
        order=order,
        kinds=kinds,
        projects=projects(site),
        problem=problem,
        is_empty=False,
        name="",
    )


def _found(site: pages.Site, given: Mapping[str, str], span: str, stored: StoredSession | None) -> Retro:
    """The answer holds for an hour, or until the archive changes: the order of groups is not part of it."""
    wanted = make_filter(site, {"project": given["project"], "since": "" if span == "all" else span, "hidden": "1"})
    since = wanted.since.replace(minute=0, second=0) if wanted.since is not None else None
    hour = wanted._replace(since=since)
    kind = kind_called(given["kind"]).value if given["kind"] else None
    switches = tuple(bool(given[name]) for name in ("agents", "unsure", "wrong"))
    session = stored.row.uuid if stored is not None else None
    return site.library.answer(
        ("retro", hour, kind, switches, session),
        lambda archive: archive.retro(
            hour,
            session,
            kinds=[kind] if kind is not None else None,
            with_agents=switches[0],
            least_confidence=0.0 if switches[1] else None,
            with_wrong=switches[2],
            timezone=site.settings.timezone,
        ),
    )


def _query(given: Mapping[str, str]) -> str:
    return urlencode({name: given[name] for name in FIELDS if given.get(name)})


class Said(NamedTuple):
    """What the person just said of a moment, where no script could show it in place."""

    uuid: str
    kind: str
    id: str
    """Empty where the moment itself is in the page and has it."""
    words: str
    is_wrong: bool
    has_group: bool
    """Whether the moment's group is there to tell it in."""


def _said(request: Request, shown: Sequence[Hurt]) -> Said | None:
    uuid, of = pages.value(request, "said"), pages.value(request, "of")
    if not uuid or not of:
        return None
    kind, is_wrong = kind_called(of).value, pages.value(request, "to") != "right"
    name = moment_id(uuid, kind)
    there = {told.id for hurt in shown for subject in hurt.subjects for told in subject.moments}
    return Said(
        uuid=uuid,
        kind=kind,
        id="" if name in there else name,
        words=labelled([kind], is_wrong=is_wrong),
        is_wrong=is_wrong,
        has_group=any(hurt.kind == kind for hurt in shown),
    )


async def judge(request: Request) -> Response:
    """Keeps that a moment is none, or takes that back; the guard has made sure that it is a form of ours."""
    given = await pages.form(request)
    uuid, kind, to, back = (given.get(name, [""])[0] for name in ("uuid", "kind", "to", "back"))
    await run_in_threadpool(_judge, pages.site_of(request), uuid, kind, to != "right")
    if request.headers.get("x-part"):
        return Response(status_code=204)
    known = {name: value for name, value in parse_qsl(back) if name in FIELDS}
    place = urlencode({**known, "said": uuid, "of": kind, "to": to})
    return RedirectResponse(f"/retro?{place}#{moment_id(uuid, kind)}", status_code=303)


def _judge(site: pages.Site, uuid: str, kind: str, is_wrong: bool) -> None:
    name = kind_called(kind).value
    with site.library.archive() as archive:
        if is_wrong:
            archive.mark_wrong(uuid, name)
        else:
            archive.mark_right(uuid, name)
