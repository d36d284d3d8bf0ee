"""The palette (Ctrl-K): sessions, projects, text and commands by a few letters, from every page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from reread.archive import Archive, listing
from reread.archive.filters import Filter
from reread.archive.search_language import DEFAULT_FIELDS
from reread.errors import BadInput
from reread.views.hits import Snippet, snippet
from reread.views.html.content import anchor
from reread.views.session_list import last_part

from . import pages
from .archive_pool import link_name

MOST_SESSIONS, MOST_PROJECTS, MOST_HITS = 7, 3, 5
FEWEST_LETTERS = 2
"""For a look into the text: a single letter stands everywhere."""
_WIDTH = 90


class Offer(NamedTuple):
    """One line to choose."""

    kind: str
    title: str
    about: str
    href: str


def palette(request: Request) -> Response:
    """What a few letters could mean, as JSON; commands of the page itself are known to its script."""
    typed = pages.value(request, "q")
    site = pages.site_of(request)
    words = typed.casefold().split()
    with site.library.archive() as archive:
        offers = [*_sessions(archive, words), *_projects(archive, words)]
    if len(typed) >= FEWEST_LETTERS:
        offers += _hits(site, typed)
    found: list[dict[str, Any]] = [each._asdict() for each in offers]
    return Response(msgspec.json.encode(found), media_type="application/json")


def _sessions(archive: Archive, words: list[str]) -> Iterator[Offer]:
    """The newest whose title, project, tags or id have all the words."""
    for stored in listing.having_words(archive.connection, words, MOST_SESSIONS):
        row = stored.row
        title = ("★ " if stored.mark.starred else "") + (row.title or "(no title)")
        ended = f"{stored.ended:%Y-%m-%d}" if stored.ended else ""
        about = " · ".join(part for part in (last_part(row.project) or "", ended) if part)
        yield Offer("session", title[:120], about, f"/s/{link_name(stored)}")


def _projects(archive: Archive, words: list[str]) -> Iterator[Offer]:
    if not words:
        return
    found = listing.folders(archive.connection, without_hidden=True).items()
    matching = ((name, number) for name, number in found if all(word in name.casefold() for word in words))
    for name, number in islice(matching, MOST_PROJECTS):
        about = f"{number} session{'' if number == 1 else 's'} · {name}"
        yield Offer("project", last_part(name) or name, about, "/sessions" + pages.query({"project": name}))


def _hits(site: pages.Site, typed: str) -> list[Offer]:
    """The best few places of the text; letters that are no query yet have none."""

    def ask(archive: Archive) -> list[Offer]:
        answer = archive.search(typed, DEFAULT_FIELDS, Filter(), MOST_HITS)
        return [
            Offer(
                "text",
                _words(snippet(hit.text, answer.terms, _WIDTH)),
                f"{hit.field.value} · {hit.session.row.title or '(no title)'}"[:80],
                f"/s/{link_name(hit.session)}"
                + pages.query({"q": typed, "at": anchor(hit.uuid) if hit.uuid else ""})
                + (f"#{anchor(hit.uuid)}" if hit.uuid else ""),
            )
            for hit in answer.hits
        ]

    try:
        return site.library.answer(("palette", typed), ask)
    except BadInput:
        return []


def _words(cut: Snippet) -> str:
    return "".join([cut.before, *(part.text for part in cut.parts), cut.after])
