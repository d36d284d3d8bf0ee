"""Search: as one types, by field, with the projects the hits are in."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse

from reread.analyses.texts import Field
from reread.archive import SearchAnswer
from reread.errors import BadInput
from reread.queries.language import DEFAULT_FIELDS, fields_of
from reread.queries.search import Hit
from reread.render.html.anchors import anchor
from reread.render.snippets import Snippet, snippet

from . import pages
from .sessions import make_filter, project_of

SHOWN = 60
_WIDTH = 260
"""Characters of a text around its match."""


class Shown(NamedTuple):
    hit: Hit
    snippet: Snippet
    anchor: str


def search(request: Request) -> HTMLResponse:
    """The page; the hits alone where a script asks for them."""
    site = pages.site_of(request)
    given = {name: pages.value(request, name) for name in ("q", "project", "since", "model")}
    chosen = request.query_params.getlist("in")[: len(Field)]
    answer: SearchAnswer | None = None
    problem = ""
    try:
        fields = fields_of(",".join(chosen)) if chosen else DEFAULT_FIELDS
        wanted = make_filter(site, {**given, "hidden": "1"})
        if given["q"]:
            with site.library.archive() as archive:
                answer = archive.search(given["q"], fields, wanted, SHOWN)
    except BadInput as error:
        problem, fields = str(error), DEFAULT_FIELDS
    hits = _shown(answer) if answer is not None else []
    values: dict[str, Any] = {
        "given": given,
        "fields": [(field.value, field in fields) for field in Field],
        "answer": answer,
        "hits": hits,
        "projects": _projects(hits),
        "problem": problem,
        "is_empty": not site.library.sessions(),
    }
    if request.headers.get("x-part"):
        return pages.fragment("hits.html", **values)
    return pages.page(request, "search.html", f"{given['q']} – search" if given["q"] else "Search", **values)


def _shown(answer: SearchAnswer) -> list[Shown]:
    return [
        Shown(hit, snippet(hit.text, answer.terms, _WIDTH), anchor(hit.uuid) if hit.uuid else "") for hit in answer.hits
    ]


def _projects(hits: list[Shown]) -> list[tuple[str, int]]:
    """How many of the hits each project has."""
    return Counter(project_of(each.hit.session.row.project) for each in hits).most_common(12)
