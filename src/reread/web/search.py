"""Search as one types, by field, with facets over all hits; and the palette (Ctrl-K) of every page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from reread.archive import Archive, SearchAnswer, StoredSession, listing
from reread.archive.filters import Filter
from reread.archive.search_language import DEFAULT_FIELDS, Term, fields_of
from reread.archive.text_search import Facets, Hit, facets
from reread.errors import BadInput
from reread.features.search_text import Field
from reread.views.hits import Snippet, snippet
from reread.views.html.content import anchor
from reread.views.numbers import results_waiting
from reread.views.session_list import last_part
from reread.views.usage_table import short_names
from reread.views.usage_table import shown as shown_model

from . import pages
from .archive_pool import link_name
from .sessions import blamed, make_filter
from .usage import month_span

SHOWN = 60
MOST = 600
FILTERS = ("project", "since", "until", "model")
RECENT = 8
OPEN_HITS = 3
"""How many hits of one session are shown unfolded."""
MOST_CHOICES = 8
_WIDTH = 260
"""Characters of a text that are shown around its match."""
EXAMPLES = (
    ("flaky retry", "both words"),
    ('"exit code 137"', "these words in this order"),
    ("oom*", "words that begin like this"),
    ("docker OR podman", "one or the other"),
    ("migration -test", "the first without the second"),
    ("title:release", "in one field only"),
    ("thinking:maybe", "what was thought and not said"),
)


class Shown(NamedTuple):
    hit: Hit
    snippet: Snippet
    anchor: str


class HitGroup(NamedTuple):
    """The hits of one session, best first."""

    session: StoredSession
    hits: list[Shown]


class FieldChoice(NamedTuple):
    """One line of a facet: the value it filters by, and whether it is already chosen."""

    name: str
    full: str
    hits: int
    link: str
    is_on: bool


class SearchRequest(NamedTuple):
    form: dict[str, str]
    fields: frozenset[Field]
    filter: Filter
    number: int

    @property
    def address(self) -> dict[str, Any]:
        """The values of the address of this search."""
        named = () if self.fields == DEFAULT_FIELDS else tuple(field.value for field in Field if field in self.fields)
        return {**self.form, "in": named}


def search(request: Request) -> HTMLResponse:
    """The page; for a script only the hits."""
    site = pages.site_of(request)
    values: dict[str, Any] = {"problem": "", "answer": None, "groups": [], "nearest": [], "facets": [], "waiting": ""}
    values["examples"] = EXAMPLES
    form = {name: pages.value(request, name) for name in ("q", *FILTERS)}
    filters = SearchRequest(form, DEFAULT_FIELDS, Filter(), SHOWN)
    try:
        filters = _search_request(request, site, form)
        if form["q"]:
            values |= _found(site, filters)
    except BadInput as error:
        values["problem"] = str(error)
    newest = site.library.newest(RECENT)
    values |= {
        "given": form,
        "blamed": blamed(site, form) if values["problem"] else [],
        "address": filters.address,
        "chips": [(name, text) for name in FILTERS if (text := form[name])],
        "fields": [(field.value, field in filters.fields) for field in Field],
        "recent": newest,
        "is_empty": not newest,
        "open_hits": OPEN_HITS,
    }
    if request.headers.get("x-part"):
        return pages.fragment("hits.html", **values)
    title = f"{form['q']} – search" if form["q"] else "Search"
    status = 400 if values["problem"] else 200
    return pages.page(request, "search.html", title, status=status, scripts=["lists.js", "search.js"], **values)


def _search_request(request: Request, site: pages.Site, form: dict[str, str]) -> SearchRequest:
    chosen = request.query_params.getlist("in")[: len(Field)]
    fields = fields_of(",".join(chosen)) if chosen else DEFAULT_FIELDS
    number = max(SHOWN, pages.number(request, "n", SHOWN, MOST))
    return SearchRequest(form, fields, make_filter(site, {**form, "hidden": "1"}), number)


def _found(site: pages.Site, search_request: SearchRequest) -> dict[str, Any]:
    query = search_request.form["q"]

    def ask(archive: Archive) -> tuple[SearchAnswer, Facets, int]:
        answer = archive.search(query, search_request.fields, search_request.filter, search_request.number)
        cells = archive.text.count_hits(query, search_request.fields, search_request.filter)
        # Facets always count hits in results, whether results are searched or not.
        waiting = archive.text.count_waiting(search_request.filter)
        return answer, facets(archive.inner.connection, cells, site.settings.timezone), waiting

    answer, counted, waiting = site.library.answer(
        ("search", query, search_request.fields, search_request.filter, search_request.number), ask
    )
    number = len(answer.hits)
    return {
        "answer": answer,
        "waiting": results_waiting(waiting) if waiting else "",
        "lost": site.library.answer(
            ("lost", query, search_request.fields, search_request.filter),
            lambda archive: archive.lost(search_request.filter, query, search_request.fields),
        ),
        "number": number,
        "total": max(counted.total, number),
        "counted": counted,
        "groups": _groups(answer.hits, answer.terms),
        "nearest": _groups(answer.nearest, answer.telling),
        "facets": _facets(search_request, counted),
        "more": min(number + SHOWN, MOST)
        if number < min(counted.total, MOST) and number >= search_request.number
        else 0,
    }


def _groups(hits: Sequence[Hit], terms: Sequence[Term]) -> list[HitGroup]:
    """Hits grouped by session, in the order of each session's best hit."""
    found: dict[int, HitGroup] = {}
    for hit in hits:
        shown = Shown(hit, snippet(hit.text, terms, _WIDTH), anchor(hit.uuid) if hit.uuid else "")
        found.setdefault(hit.session.id, HitGroup(hit.session, [])).hits.append(shown)
    return list(found.values())


def _facets(search_request: SearchRequest, counted: Facets) -> list[tuple[str, list[FieldChoice], int]]:
    """The facets: name, choices, and how many more choices there are."""
    named = [(name, hits) for name, hits in counted.projects if name]
    shorts = short_names([name for name, _ in named])
    sections = {
        "field": [
            _choice(search_request, field.value, field.value, hits, {"in": (field.value,)})
            for field, hits in counted.fields
            if hits
        ],
        "project": [
            _choice(search_request, short, name, hits, {"project": name})
            for short, (name, hits) in zip(shorts, named, strict=True)
        ],
        "month": [
            _choice(search_request, name, name, hits, dict(zip(("since", "until"), month_span(name), strict=True)))
            for name, hits in counted.months
        ],
        "model": [
            _choice(search_request, shown_model(name), name, hits, {"model": name}) for name, hits in counted.models
        ],
    }
    return [
        (name, choices[:MOST_CHOICES], max(0, len(choices) - MOST_CHOICES))
        for name, choices in sections.items()
        if choices
    ]


def _choice(search_request: SearchRequest, name: str, full: str, hits: int, changes: dict[str, Any]) -> FieldChoice:
    """A link that adds a filter, or removes it if it is already chosen."""
    address = search_request.address
    is_on = all(address.get(key) == value for key, value in changes.items())
    changed = dict.fromkeys(changes, ()) if is_on else changes
    return FieldChoice(name, full, hits, "/search" + pages.query({**address, **changed}), is_on)


MOST_SESSIONS, MOST_PROJECTS, MOST_HITS = 7, 3, 5
FEWEST_LETTERS = 2
"""From this many characters on, the palette also searches texts: a single letter occurs everywhere."""
_OFFER_WIDTH = 90
FAR, LEAD = 60, 40
"""From which letter on a word does not fit in a line of the palette, and how much of the title then stands before."""


class Offer(NamedTuple):
    """One line of the palette."""

    kind: str
    title: str
    about: str
    href: str
    session: str = ""
    """The session of a text; texts of one session follow each other."""
    time: datetime | None = None
    """When that session ended."""


def palette(request: Request) -> Response:
    """What the typed letters could mean, as JSON; the page's own commands are known to its script."""
    typed = pages.value(request, "q")
    site = pages.site_of(request)
    words = typed.casefold().split()
    with site.library.archive() as archive:
        offers = [*_sessions(archive, words), *_projects(archive, words)]
    if len(typed) >= FEWEST_LETTERS:
        offers += _hits(site, typed, {each.href for each in offers})
    found: list[dict[str, Any]] = [each._asdict() for each in offers]
    return Response(msgspec.json.encode(found), media_type="application/json")


def _sessions(archive: Archive, words: list[str]) -> Iterator[Offer]:
    """The newest sessions whose title, project, tags or id contain all the words."""
    for stored in listing.having_words(archive.inner.connection, words, MOST_SESSIONS):
        row = stored.row
        title = ("★ " if stored.mark.starred else "") + _near(row.title or "(no title)", words)
        yield Offer("session", title, last_part(row.project) or "", f"/s/{link_name(stored)}", time=stored.ended)


def _near(title: str, words: list[str]) -> str:
    """A long title as it begins and where the first of the words stands, which would be cut off otherwise."""
    first = min((at for word in words if (at := title.casefold().find(word)) >= 0), default=0)
    beginning, _, _ = title[:LEAD].rpartition(" ")
    return (f"{beginning} … {title[title.rfind(' ', 0, first) + 1 :]}" if first > FAR else title)[:120]


def _projects(archive: Archive, words: list[str]) -> Iterator[Offer]:
    if not words:
        return
    found = listing.folders(archive.inner.connection, without_hidden=True).items()
    matching = ((name, number) for name, number in found if all(word in name.casefold() for word in words))
    for name, number in islice(matching, MOST_PROJECTS):
        about = f"{number} session{'' if number == 1 else 's'} · {name}"
        yield Offer("project", last_part(name) or name, about, "/sessions" + pages.query({"project": name}))


def _hits(site: pages.Site, typed: str, offered: set[str]) -> list[Offer]:
    """The best few hits in texts; none if the letters are not a valid query yet. Titles of sessions that are `offered`
    already are left out."""

    def ask(archive: Archive) -> list[Offer]:
        answer = archive.text.search(typed, DEFAULT_FIELDS, Filter(), MOST_HITS + MOST_SESSIONS, suggests=False)
        hits = [
            hit
            for hit in (*answer.hits, *answer.nearest)
            if hit.field is not Field.TITLE or f"/s/{link_name(hit.session)}" not in offered
        ][:MOST_HITS]
        return [
            Offer(
                "text",
                _words(snippet(shown.hit.text, answer.terms, _OFFER_WIDTH)),
                " · ".join((last_part(row.project) or "no project", (row.title or "(no title)")[:60])),
                f"/s/{link_name(group.session)}"
                + pages.query({"q": typed, "at": shown.anchor})
                + (f"#{shown.anchor}" if shown.anchor else ""),
                link_name(group.session),
                group.session.ended,
            )
            for group in _groups(hits, answer.terms)
            for shown in group.hits
            for row in (group.session.row,)
        ]

    try:
        return site.library.answer(("palette", typed), ask)
    except BadInput:
        return []


def _words(cut: Snippet) -> str:
    return "".join([cut.before, *(part.text for part in cut.parts), cut.after])
