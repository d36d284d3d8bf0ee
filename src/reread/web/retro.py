"""The retrospective as a page: groups with their moments, verdicts, and moments on a session's map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from shlex import join
from typing import Any, NamedTuple, Self, TypeVar
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
from reread.views import rates, retro_report
from reread.views.html.content import anchor
from reread.views.retro_report import (
    MOST_WEEKS,
    NOTHING,
    NOTHING_AT_ALL,
    causes_line,
    change_text,
    doubtful_text,
    facts,
    kind_name,
    labelled,
    left_out,
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


Found = TypeVar("Found")

OVERVIEW = RetroLimits(subjects=6, moments=4, alone=6)
ONE_KIND = RetroLimits(subjects=40, moments=6, alone=200)
MOST_FIRST = 3
MOST_SUGGESTIONS = 30
MOST_PATTERNS = 30
MOST_EVIDENCE = 12


class Evidence(NamedTuple):
    """A link to the message that proves something."""

    href: str
    session: str
    """The title of the session."""
    time: datetime | None
    words: str


class MomentLine(NamedTuple):
    """A moment, with what proves it."""

    event: Moment
    at: Evidence
    further: Evidence | None
    is_wrong: bool

    @property
    def id(self) -> str:
        return moment_id(self.event.uuid or "", self.event.kind.value)


class Subject(NamedTuple):
    """Moments of a kind about the same thing, the best example first."""

    group: FrictionGroup
    moments: list[MomentLine]
    left_out: int


class Hurt(NamedTuple):
    """All moments of a kind."""

    group: FrictionGroup
    subjects: list[Subject]
    left_out: int
    """How many subjects are not shown."""

    @property
    def kind(self) -> str:
        return self.group.kind.value


class Repeated(NamedTuple):
    pattern: RepeatedPattern
    evidence: list[Evidence]


class Advice(NamedTuple):
    suggestion: Suggestion
    number: int
    """The number that `reread retro apply` takes."""
    evidence: list[Evidence]


class RetroSections:
    """Makes links to sessions; each session is looked up only once until the archive changes."""

    def __init__(self, library: ArchivePool) -> None:
        self._library = library
        self._known: dict[str, StoredSession | None] = library.answer("sessions of moments", lambda _: {})

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
            made.append(Hurt(group, shown, len(own) - len(shown)))
    return made


def _subject(
    group: FrictionGroup, events: Sequence[Moment], found: Retro, sections: RetroSections, most: int
) -> Subject:
    shown = sorted(events, key=shown_first, reverse=True)[:most]
    return Subject(group, [_moment_line(event, found, sections) for event in shown], len(events) - len(shown))


def _moment_line(event: Moment, found: Retro, sections: RetroSections) -> MomentLine:
    first = event.details.get("first")
    return MomentLine(
        event,
        sections.evidence(event.session, event.uuid, event.time, event.evidence),
        sections.evidence(event.session, first) if isinstance(first, str) else None,
        is_wrong=(event.uuid, event.kind) in found.wrong,
    )


def repeated(patterns: Sequence[RepeatedPattern], sections: RetroSections) -> list[Repeated]:
    return [
        Repeated(
            pattern,
            [
                sections.evidence(
                    moment.session, moment.uuid, moment.time, moment.text if moment.text != pattern.example else ""
                )
                for moment in pattern.moments[:MOST_EVIDENCE]
            ],
        )
        for pattern in patterns[:MOST_PATTERNS]
    ]


def advice(found: Retro, sections: RetroSections) -> list[Advice]:
    moments = _moments(found)
    return [
        Advice(
            each,
            number,
            [
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


class _Asked(NamedTuple):
    """What the address of the page asks for."""

    form: dict[str, str]
    order: str
    stored: StoredSession | None
    """The only session that it is about."""
    span: str

    @classmethod
    def of(cls, site: pages.Site, form: dict[str, str]) -> Self:
        stored = site.library.find(form["session"]) if form["session"] else None
        span = form["since"] or ("all" if stored is not None else usual_span(site))
        return cls(form, form["by"] if form["by"] in ORDERS else ORDERS[0], stored, span)


def _asked_in(request: Request) -> _Asked:
    return _Asked.of(pages.site_of(request), {name: pages.value(request, name) for name in FIELDS})


def retro(request: Request) -> HTMLResponse:
    site, asked = pages.site_of(request), _asked_in(request)
    try:
        found = _found(site, asked)
    except BadInput as error:
        return _wrong(request, asked, str(error))
    form, sections = asked.form, RetroSections(site.library)
    about = form["about"] if form["about"] and form["kind"] else None
    shown = hurts(found, sections, asked.order, ONE_KIND if form["kind"] else OVERVIEW, about)
    view = View(width=10_000, style=Style(colour=False), timezone=site.settings.timezone)
    return pages.page(
        request,
        "retro.html",
        "Retrospective",
        scripts=("charts.js", "retro.js"),
        **_choices(site, asked),
        about=about,
        is_empty=not site.library.count(),
        found=found,
        name=link_name(asked.stored) if asked.stored is not None else "",
        title_of_it=title(found, view),
        facts=facts(found),
        causes=causes_line(found) if found.events else "",
        nothing=NOTHING if found.prompts else NOTHING_AT_ALL,
        hurts=shown,
        repeated=repeated(found.patterns, sections),
        changes=[change_text(each, view) for each in found.changes],
        **_to_change(found, sections),
        **_weeks(found),
        **_ledger(site, found, sections, view),
        left_out={_SWITCHES[name]: words for name, words in left_out(found).items()},
        said=_verdict(request, shown),
        is_open=bool(form["kind"]),
        back=_query(form),
        words=retro_report,
        rates=rates,
    )


def first_fix(request: Request) -> HTMLResponse:
    """The suggestion to begin with, for Home, which asks for it after it is shown."""
    site, asked = pages.site_of(request), _asked_in(request)
    found = _found(site, asked).suggestions
    values = {"fix": found[0] if found else None, "more": max(0, len(found) - 1), "since": asked.span}
    return pages.fragment("first_fix.html", **values)


def _choices(site: pages.Site, asked: _Asked) -> dict[str, Any]:
    """The values for the form of the page."""
    kinds = {kind.value: kind_name(kind.value) for kind in FrictionKind}
    known = {"spans": SPANS, "orders": ORDERS, "kinds": kinds, "projects": projects(site)}
    return {"problem": "", "given": asked.form, "span": asked.span, "order": asked.order, **known}


def _to_change(found: Retro, sections: RetroSections) -> dict[str, Any]:
    shown = advice(found, sections)
    left = len(found.suggestions) - len(shown)
    return {"first": shown[:MOST_FIRST], "suggestions": shown[MOST_FIRST:], "more_suggestions": left}


def _weeks(found: Retro) -> dict[str, Any]:
    weeks = found.weeks[-MOST_WEEKS:]
    chart = pages.drawn(weeks_chart(weeks)) if len(weeks) >= _FEWEST_WEEKS else ""
    return {"chart": chart, "weeks": weeks[::-1], "earlier_weeks": len(found.weeks) - len(weeks)}


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


def diff(request: Request) -> HTMLResponse:
    """What `reread retro apply` would change for a suggestion on the page, or why it cannot."""
    site, asked = pages.site_of(request), _asked_in(request)
    found = _found(site, asked)
    number = pages.number(request, "n")
    if not 1 <= number <= len(found.suggestions):
        raise HTTPException(404)
    try:
        with site.library.archive() as archive:
            lines, problem = archive.friction.planned(found.suggestions[number - 1]).diff(), ""
    except BadInput as error:
        lines, problem = [], str(error)
    values = {
        "lines": lines[:MOST_DIFF_LINES],
        "number": number,
        "problem": problem,
        "command": _applying(asked, number),
        "key": found.suggestions[number - 1].key,
        "seen": _digest(lines) if len(lines) <= MOST_DIFF_LINES else "",
        "filters": _query(asked.form),
    }
    return pages.part(request, "retro_diff.html", "What it would change", f"/retro?{_query(asked.form)}", **values)


def _applying(asked: _Asked, number: int) -> str:
    """The command that applies a suggestion of the page. Without the filters of the page, the number would be that of
    another suggestion. Empty for those of one session, which the command does not number."""
    form, span = asked.form, asked.span
    if form["session"]:
        return ""
    given = {"--since": "" if span == "all" else span, "--project": form["project"], "--kind": form["kind"]}
    options = [word for name, value in given.items() if value for word in (name, value)]
    options += [word for name, words in _SWITCH_OPTIONS.items() if form[name] for word in words]
    return join(["reread", "retro", "apply", str(number), *options])


def _wrong(request: Request, asked: _Asked, problem: str) -> HTMLResponse:
    """The page with a problem, and with the form as it was given. Wrong values are dropped if the page has no field in
    which to correct them."""
    site, form = pages.site_of(request), asked.form
    values = _choices(site, asked)
    kept = {**form, "since": "" if blamed(site, form) else form["since"], "about": ""}
    values |= {"given": {**kept, "kind": form["kind"] if form["kind"] in values["kinds"] else ""}, "problem": problem}
    return pages.page(request, "retro.html", "Retrospective", status=400, is_empty=False, name="", **values)


def _found(site: pages.Site, asked: _Asked) -> Retro:
    """The report, kept for an hour or until the archive changes. The order of groups is not part of its key."""
    form, span = asked.form, "" if asked.span == "all" else asked.span
    filters = make_filter(site, {"project": form["project"], "since": span, "hidden": "1"})
    since = filters.since.replace(minute=0, second=0) if filters.since is not None else None
    hour = filters._replace(since=since)
    kind = kind_called(form["kind"]).value if form["kind"] else None
    switches = tuple(bool(form[name]) for name in ("agents", "unsure", "wrong"))
    session = asked.stored.row.uuid if asked.stored is not None else None
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


def _act(site: pages.Site, key: str, to: str, form: dict[str, str], seen: str) -> None:
    found = _found(site, _Asked.of(site, form))
    with site.library.archive() as archive:
        friction = archive.friction
        if to in ("yes", "no"):
            friction.answer(
                _only(guess for guess in friction.doubtful(found) if guess.uuid == key), is_right=to == "yes"
            )
        elif to == "undo":
            friction.undo(friction.undoing(_only(each for each in friction.applied() if each.draft.key == key)))
        elif to == "dismiss":
            friction.dismiss(_only(each for each in found.suggestions if each.key == key))
        elif to == "apply":
            plan = friction.planned(_only(each for each in found.suggestions if each.key == key))
            if _digest(plan.diff()) != seen:
                raise BadInput("the file is no longer as it was when the change was shown; look at it again")
            friction.apply(plan)
        else:
            raise BadInput(GONE)


GONE = "there is no such suggestion any more"


def _only(found: Iterator[Found]) -> Found:
    """Raises BadInput if there is none any more."""
    for each in found:
        return each
    raise BadInput(GONE)


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
