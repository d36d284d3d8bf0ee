"""The retrospective as a page: groups with their moments, verdicts, and moments on a session's map."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from shlex import join
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reread.archive import StoredSession, listing
from reread.archive.friction import friction_notes
from reread.archive.friction_report import ORDERS, FrictionGroup, Retro, kind_called, ranked, shown_first
from reread.errors import BadInput
from reread.features.friction.detection import FrictionKind, Moment
from reread.features.friction.patterns import RepeatedPattern
from reread.features.friction.suggestions import Suggestion
from reread.views.html.content import anchor
from reread.views.rates import rate_text, times_in
from reread.views.retro_report import (
    MOST_WEEKS,
    NOTHING,
    NOTHING_AT_ALL,
    about_name,
    causes_line,
    change_line,
    change_text,
    checked,
    doubtful_text,
    facts,
    group_losses,
    guess,
    kind_name,
    labelled,
    left_out,
    moment_losses,
    pattern_title,
    subject_facts,
    title,
    weeks_chart,
)
from reread.views.retro_wishes import applied_text, wish_text
from reread.views.text import Style, shorten
from reread.views.values import View

from . import pages
from .archive_pool import ArchivePool, link_name
from .paging import MOST_MARKS, BranchPages, MapMark
from .sessions import blamed, make_filter, projects, usual_span


class RetroLimits(NamedTuple):
    """How much of the retrospective is shown."""

    subjects: int
    """Subjects of each kind."""
    moments: int
    """Moments of each subject."""
    alone: int
    """Moments of a subject that is the only one of its kind."""


OVERVIEW = RetroLimits(subjects=6, moments=4, alone=6)
ONE_KIND = RetroLimits(subjects=40, moments=6, alone=200)
MOST_FIRST = 3
MOST_SUGGESTIONS = 30
MOST_PATTERNS = 30
MOST_EVIDENCE = 12
_LONGEST_EXAMPLE = 300


class Evidence(NamedTuple):
    """A link to the message that proves something."""

    href: str
    session: str
    """The title of the session."""
    time: datetime | None
    words: str


class MomentLine(NamedTuple):
    """A moment, ready to be shown."""

    id: str
    event: Moment
    at: Evidence
    further: Evidence | None
    loss: str
    guess: str
    is_wrong: bool


class Subject(NamedTuple):
    """Moments of a kind about the same thing."""

    name: str
    facts: str
    about: str
    moments: list[MomentLine]
    left_out: int


class Hurt(NamedTuple):
    """All moments of a kind."""

    kind: str
    name: str
    times: str
    loss: tuple[str, str]
    rate: str
    compared: str
    change: str
    share: float
    """The mean of its shares in the time, the money and the number of all moments."""
    subjects: list[Subject]
    left_out: int
    """How many subjects are not shown."""


class Repeated(NamedTuple):
    """A pattern."""

    title: str
    example: str
    evidence: list[Evidence]
    left_out: int


class Advice(NamedTuple):
    """A suggestion."""

    suggestion: Suggestion
    number: int
    """The number that `reread retro apply` takes."""
    seen: str
    checked: str
    evidence: list[Evidence]


class RetroSections:
    """Makes links to sessions; each session is looked up only once."""

    def __init__(self, library: ArchivePool) -> None:
        self._library = library
        self._known: dict[str, StoredSession | None] = {}

    def _stored(self, session: str) -> StoredSession | None:
        if session not in self._known:
            with self._library.archive() as archive:
                named = listing.sessions_called(archive.inner.connection, session)
            same = [each for each in named if each.row.uuid == session]
            self._known[session] = same[-1] if same else None
        return self._known[session]

    def evidence(self, session: str, uuid: str | None, time: datetime | None = None, words: str = "") -> Evidence:
        """A link to a line; without an address if the session is no longer in the archive."""
        stored = self._stored(session)
        if stored is None:
            return Evidence("", shorten(session, 60), time, words)
        place = f"?at={anchor(uuid)}#{anchor(uuid)}" if uuid else ""
        title = shorten(stored.row.title or "(no title)", 90)
        return Evidence(f"/s/{link_name(stored)}{place}", title, time, words)


def moment_id(uuid: str, kind: str) -> str:
    """The id of a moment in a page; made of line and kind, because a line may have several moments."""
    return f"e-{sha256(f'{kind} {uuid}'.encode('utf-8', 'backslashreplace')).hexdigest()[:12]}"


def hurts(
    found: Retro, sections: RetroSections, order: str, limits: RetroLimits, about: str | None = None
) -> list[Hurt]:
    """The kinds of friction, the worst first; with `about`, only that subject."""
    moments: dict[tuple[str, str], list[Moment]] = {}
    for event in found.events:
        moments.setdefault((event.kind.value, event.about), []).append(event)
    subjects: dict[str, list[FrictionGroup]] = {}
    for group in ranked(found.subjects, order):
        if about is None or group.about == about:
            subjects.setdefault(group.kind.value, []).append(group)
    made = []
    for group in ranked(found.kinds, order):
        kind = group.kind.value
        own = subjects.get(kind, [])
        if own:
            most = limits.moments if len(own) > 1 else limits.alone
            shown = [
                _subject(each, moments[kind, each.about or ""], found, sections, most)
                for each in own[: limits.subjects]
            ]
            made.append(_hurt(group, shown, len(own) - len(shown)))
    return made


def _hurt(group: FrictionGroup, shown: list[Subject], left_out: int) -> Hurt:
    return Hurt(
        kind=group.kind.value,
        name=kind_name(group.kind.value),
        times=times_in(group.count, group.sessions),
        loss=group_losses(group),
        rate=rate_text(group.rate),
        compared=change_line(group),
        change=group.change or "",
        share=group.hurt,
        subjects=shown,
        left_out=left_out,
    )


def _subject(
    group: FrictionGroup, events: Sequence[Moment], found: Retro, sections: RetroSections, most: int
) -> Subject:
    """A subject with its moments, the best example first; `events` are newest first."""
    shown = sorted(events, key=shown_first, reverse=True)[:most]
    return Subject(
        name=about_name(group),
        facts=subject_facts(group),
        about=group.about or "",
        moments=[_moment_line(event, found, sections) for event in shown],
        left_out=len(events) - len(shown),
    )


def _moment_line(event: Moment, found: Retro, sections: RetroSections) -> MomentLine:
    first = event.details.get("first")
    return MomentLine(
        id=moment_id(event.uuid or "", event.kind.value),
        event=event,
        at=sections.evidence(event.session, event.uuid, event.time, event.evidence),
        further=sections.evidence(event.session, first) if isinstance(first, str) else None,
        loss=" · ".join(each for each in moment_losses(event) if each),
        guess=guess(event),
        is_wrong=(event.uuid, event.kind) in found.wrong,
    )


def repeated(patterns: Sequence[RepeatedPattern], sections: RetroSections) -> list[Repeated]:
    return [
        Repeated(
            title=pattern_title(pattern),
            example=shorten(pattern.example, _LONGEST_EXAMPLE),
            evidence=[
                sections.evidence(
                    moment.session, moment.uuid, moment.time, moment.text if moment.text != pattern.example else ""
                )
                for moment in pattern.moments[:MOST_EVIDENCE]
            ],
            left_out=max(0, len(pattern.moments) - MOST_EVIDENCE),
        )
        for pattern in patterns[:MOST_PATTERNS]
    ]


def advice(found: Retro, sections: RetroSections) -> list[Advice]:
    moments = _moments(found)
    return [
        Advice(
            suggestion=each,
            number=number,
            checked=checked(each),
            seen=times_in(each.count, each.sessions),
            evidence=[
                sections.evidence(found.homes[uuid], uuid, *moments.get(uuid, (None, "")))
                for uuid in each.evidence[:MOST_EVIDENCE]
                if uuid in found.homes
            ],
        )
        for number, each in enumerate(found.suggestions[:MOST_SUGGESTIONS], 1)
    ]


def _moments(found: Retro) -> Mapping[str, tuple[datetime | None, str]]:
    """Time and words of each line in the report, by uuid."""
    moments = {moment.uuid: (moment.time, moment.text) for pattern in found.patterns for moment in pattern.moments}
    return moments | {event.uuid: (event.time, event.evidence) for event in found.events if event.uuid is not None}


SPANS = {"7d": "7 days", "30d": "30 days", "90d": "90 days", "all": "everything"}
FIELDS = ("since", "project", "kind", "by", "about", "session", "agents", "unsure", "wrong")
_SWITCHES = {"of_agents": "agents", "unsure": "unsure", "wrong": "wrong"}
"""The form field that includes what is left out, by the reason it is left out for."""
_SWITCH_OPTIONS = {"agents": ("--agents",), "unsure": ("--min-confidence", "0"), "wrong": ("--include-wrong",)}
"""The same on the command line."""
_FEWEST_WEEKS = 2
MOST_DIFF_LINES = 400
"""Lines of the diff that a suggestion would apply."""


def retro(request: Request) -> HTMLResponse:
    site = pages.site_of(request)
    form = {name: pages.value(request, name) for name in FIELDS}
    order = form["by"] if form["by"] in ORDERS else ORDERS[0]
    stored = site.library.find(form["session"]) if form["session"] else None
    span = form["since"] or _usual_span(site, stored)
    try:
        found = _found(site, form, span, stored)
    except BadInput as error:
        return _wrong(request, form, span, order, str(error))
    sections = RetroSections(site.library)
    about = form["about"] if form["about"] and form["kind"] else None
    limits = ONE_KIND if form["kind"] else OVERVIEW
    shown = hurts(found, sections, order, limits, about)
    suggestions = advice(found, sections)
    weeks = found.weeks[-MOST_WEEKS:]
    view = View(width=10_000, style=Style(colour=False), timezone=site.settings.timezone)
    return pages.page(
        request,
        "retro.html",
        "Retrospective",
        scripts=("charts.js", "retro.js"),
        problem="",
        given=form,
        span=span,
        spans=SPANS,
        about=about,
        order=order,
        orders=ORDERS,
        kinds={kind.value: kind_name(kind.value) for kind in FrictionKind},
        projects=projects(site),
        is_empty=not site.library.count(),
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
        repeated=repeated(found.patterns, sections),
        chart=pages.drawn(weeks_chart(weeks)) if len(weeks) >= _FEWEST_WEEKS else "",
        weeks=weeks[::-1],
        earlier_weeks=len(found.weeks) - len(weeks),
        rate_text=rate_text,
        changes=[change_text(each, view) for each in found.changes],
        **_ledger(site, found, sections, view),
        left_out={_SWITCHES[name]: words for name, words in left_out(found).items()},
        said=_verdict(request, shown),
        is_open=bool(form["kind"]),
        back=_query(form),
    )


def _ledger(site: pages.Site, found: Retro, sections: RetroSections, view: View) -> dict[str, Any]:
    """Standing wishes, applied drafts with their keys, and the guesses to ask about."""
    with site.library.archive() as archive:
        doubtful = archive.friction.doubtful(found)
    wishes = [each for each in found.wishes if each.uuid in found.homes][:MOST_PATTERNS]
    return {
        "wishes": [(wish_text(each, view), sections.evidence(found.homes[each.uuid], each.uuid)) for each in wishes],
        "applied": [(applied_text(each, view), each.applied.draft.key) for each in found.applied],
        "doubtful": [
            (doubtful_text(each, view), sections.evidence(each.session, each.uuid), each.uuid) for each in doubtful
        ],
    }


def _usual_span(site: pages.Site, session: StoredSession | None) -> str:
    return "all" if session is not None else usual_span(site)


def diff(request: Request) -> HTMLResponse:
    """What `reread retro apply` would change for a suggestion on the page, or why it cannot."""
    site = pages.site_of(request)
    form = {name: pages.value(request, name) for name in FIELDS}
    stored = site.library.find(form["session"]) if form["session"] else None
    span = form["since"] or _usual_span(site, stored)
    found = _found(site, form, span, stored)
    number = pages.number(request, "n")
    if not 1 <= number <= len(found.suggestions):
        raise HTTPException(404)
    try:
        with site.library.archive() as archive:
            lines, problem = archive.friction.planned(found.suggestions[number - 1]).diff(), ""
    except BadInput as error:
        lines, problem = [], str(error)
    command = _applying(form, span, number)
    values = {
        "lines": lines[:MOST_DIFF_LINES],
        "number": number,
        "problem": problem,
        "command": command,
        "key": found.suggestions[number - 1].key,
        "seen": _digest(lines) if len(lines) <= MOST_DIFF_LINES else "",
        "filters": _query(form),
    }
    return pages.part(request, "retro_diff.html", "What it would change", f"/retro?{_query(form)}", **values)


def _applying(form: Mapping[str, str], span: str, number: int) -> str:
    """The command that applies a suggestion of the page. Without the filters of the page, the number would be that of
    another suggestion. Empty for those of one session, which the command does not number."""
    if form["session"]:
        return ""
    given = {"--since": "" if span == "all" else span, "--project": form["project"], "--kind": form["kind"]}
    options = [word for name, value in given.items() if value for word in (name, value)]
    options += [word for name, words in _SWITCH_OPTIONS.items() if form[name] for word in words]
    return join(["reread", "retro", "apply", str(number), *options])


def _wrong(request: Request, form: Mapping[str, str], span: str, order: str, problem: str) -> HTMLResponse:
    """The page with a problem, and with the form as it was given. Wrong values are dropped if the page has no field in
    which to correct them."""
    site, kinds = pages.site_of(request), {kind.value: kind_name(kind.value) for kind in FrictionKind}
    kept = {**form, "since": "" if blamed(site, form) else form["since"], "about": ""}
    return pages.page(
        request,
        "retro.html",
        "Retrospective",
        status=400,
        given={**kept, "kind": form["kind"] if form["kind"] in kinds else ""},
        span=span,
        spans=SPANS,
        order=order,
        kinds=kinds,
        projects=projects(site),
        problem=problem,
        is_empty=False,
        name="",
    )


def _found(site: pages.Site, form: Mapping[str, str], span: str, stored: StoredSession | None) -> Retro:
    """The report, kept for an hour or until the archive changes. The order of groups is not part of its key."""
    filters = make_filter(site, {"project": form["project"], "since": "" if span == "all" else span, "hidden": "1"})
    since = filters.since.replace(minute=0, second=0) if filters.since is not None else None
    hour = filters._replace(since=since)
    kind = kind_called(form["kind"]).value if form["kind"] else None
    switches = tuple(bool(form[name]) for name in ("agents", "unsure", "wrong"))
    session = stored.row.uuid if stored is not None else None
    return site.library.answer(
        ("retro", hour, kind, switches, session, friction_notes(site.library.settings.home)),
        lambda archive: archive.friction.retro(
            hour,
            session,
            kinds=[kind] if kind is not None else None,
            with_agents=switches[0],
            least_confidence=0.0 if switches[1] else None,
            with_wrong=switches[2],
            timezone=site.settings.timezone,
        ),
    )


def _query(form: Mapping[str, str]) -> str:
    return urlencode({name: form[name] for name in FIELDS if form.get(name)})


class MomentVerdict(NamedTuple):
    """The person's verdict on a moment, for a browser without scripts, which reloads the page to show it."""

    uuid: str
    kind: str
    id: str
    """The id of the moment; empty if the moment itself is in the page and has that id."""
    words: str
    is_wrong: bool
    has_group: bool
    """Whether the page shows the moment's group, which then shows the verdict."""


def _verdict(request: Request, shown: Sequence[Hurt]) -> MomentVerdict | None:
    uuid, of = pages.value(request, "said"), pages.value(request, "of")
    if not uuid or not of:
        return None
    kind, is_wrong = kind_called(of).value, pages.value(request, "to") != "right"
    name = moment_id(uuid, kind)
    there = {told.id for hurt in shown for subject in hurt.subjects for told in subject.moments}
    return MomentVerdict(
        uuid=uuid,
        kind=kind,
        id="" if name in there else name,
        words=labelled([kind], is_wrong=is_wrong),
        is_wrong=is_wrong,
        has_group=any(hurt.kind == kind for hurt in shown),
    )


def _digest(lines: Iterable[str]) -> str:
    """Names a diff, so that only the change that was shown is made."""
    return sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:16]


async def act(request: Request) -> Response:
    """Applies a suggestion, leaves it out from now on, or takes an applied one out again; or answers about a guess."""
    form = await pages.form(request)
    key, to, back, seen = (form.get(name, [""])[0] for name in ("key", "to", "back", "seen"))
    known = {name: value for name, value in parse_qsl(back) if name in FIELDS}
    await run_in_threadpool(_act, pages.site_of(request), key, to, {name: known.get(name, "") for name in FIELDS}, seen)
    return RedirectResponse(f"/retro?{urlencode(known)}", status_code=303)


def _act(site: pages.Site, key: str, to: str, form: Mapping[str, str], seen: str) -> None:
    stored = site.library.find(form["session"]) if form["session"] else None
    found = _found(site, form, form["since"] or _usual_span(site, stored), stored)
    with site.library.archive() as archive:
        listed = [(each.draft.key, each) for each in archive.friction.applied()] if to == "undo" else []
        applied = next((each for name, each in listed if name == key), None)
        each = next((each for each in found.suggestions if each.key == key), None)
        guess = next((guess for guess in archive.friction.doubtful(found) if guess.uuid == key), None)
        if guess is not None and to in ("yes", "no"):
            archive.friction.answer(guess, is_right=to == "yes")
        elif applied is not None:
            archive.friction.undo(archive.friction.undoing(applied))
        elif each is not None and to == "dismiss":
            archive.friction.dismiss(each)
        elif each is not None and to == "apply":
            plan = archive.friction.planned(each)
            if _digest(plan.diff()) != seen:
                raise BadInput("the file is no longer as it was when the change was shown; look at it again")
            archive.friction.apply(plan)
        else:
            raise BadInput("there is no such suggestion any more")


async def judge(request: Request) -> Response:
    """Marks a moment as not friction, or takes that back. The guard has checked that the form is ours."""
    form = await pages.form(request)
    uuid, kind, to, back = (form.get(name, [""])[0] for name in ("uuid", "kind", "to", "back"))
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
            archive.friction.mark_wrong(uuid, name)
        else:
            archive.friction.mark_right(uuid, name)


_MARKED = {
    FrictionKind.CORRECTION: "corrected",
    FrictionKind.RE_ASK: "corrected",
    FrictionKind.LOOP: "slowed",
    FrictionKind.REWORK: "slowed",
    FrictionKind.MANUAL_STEP: "slowed",
    FrictionKind.STALL: "slowed",
}
"""The kinds of friction that get marks of their own on the map. Most others are there already, as failed, rejected and
interrupted calls, rewinds and compactions; files that were read again are too many and too unimportant for a map."""


def friction_marks(branch_pages: BranchPages, events: Iterable[Moment]) -> list[MapMark]:
    """Marks for the moments of one branch, in the order of the conversation."""
    wanted = {event.uuid: event for event in events if event.kind in _MARKED and event.uuid is not None}
    found = branch_pages.found(wanted) if wanted else iter(())
    return [
        MapMark(
            what=_MARKED[wanted[uuid].kind],
            y=height,
            tip=f"{kind_name(wanted[uuid].kind.value)}: {shorten(wanted[uuid].evidence, 90)}",
            anchor=anchor(uuid),
            piece=piece,
        )
        for uuid, piece, height in islice(found, MOST_MARKS)
    ]
