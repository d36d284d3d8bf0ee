"""Words looked for in a session: what its page marks, and which of its messages have them, loaded or not.

Words come from a search (`q`), or were typed into the page (`find`): those are looked for letter by letter, as a
browser does it, and read as a search only where the session has no such letters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from starlette.requests import Request

from reread.archive import Archive, StoredSession
from reread.errors import BadInput
from reread.queries.language import ALL_FIELDS, DEFAULT_FIELDS, Field, fields_of, parse
from reread.queries.letters import Letters
from reread.render.html.anchors import anchor

from . import pages
from .library import Library
from .reading import Reading
from .unfolding import Unfolding


class Sought(NamedTuple):
    """What a page is asked to mark."""

    words: str
    """As they were typed."""
    is_search: bool
    fields: frozenset[Field]

    @property
    def terms(self) -> list[tuple[tuple[str, ...], bool]]:
        """For the script, which marks what is loaded: of each term its pieces, and whether its last is a beginning.

        Raises BadInput where a search has nothing to look for.
        """
        if not self.is_search:
            return [(pieces, False)] if (pieces := Letters(self.words).pieces) else []
        wanted = [term for term in parse(self.words, self.fields).terms if not term.negated]
        return [(pieces, term.is_prefix) for term in wanted if (pieces := term.pieces)]

    def as_search(self) -> Sought:
        return Sought(self.words, True, ALL_FIELDS)


Hits = list[tuple[str, int, int]]
"""Anchor, piece, and how often it is there; a message that answers a search counts once."""


class Elsewhere(NamedTuple):
    """Another branch that has it."""

    branch: str
    anchor: str
    number: int


class Answer(NamedTuple):
    wanted: Sought
    hits: Hits
    elsewhere: list[Elsewhere]

    @property
    def document(self) -> dict[str, Any]:
        others = [each._asdict() for each in self.elsewhere]
        return {"search": self.wanted.is_search, "terms": self.wanted.terms, "hits": self.hits, "elsewhere": others}


def sought(request: Request) -> Sought | None:
    """What an address asks to mark; None where it asks for nothing, or for what is found nowhere."""
    if not (pages.value(request, "find") or pages.value(request, "q")):
        return None
    try:
        wanted = asked(request)
        return wanted if wanted is not None and wanted.terms else None
    except BadInput:
        return None


def asked(request: Request) -> Sought | None:
    """Raises BadInput for a field that is none."""
    typed = pages.value(request, "find")
    if typed:
        return Sought(typed, False, ALL_FIELDS)
    words = pages.value(request, "q")
    chosen = request.query_params.getlist("in")[: len(Field)]
    return Sought(words, True, fields_of(",".join(chosen)) if chosen else DEFAULT_FIELDS) if words else None


def told(library: Library, stored: StoredSession, reading: Reading, request: Request) -> dict[str, Any]:
    """What the page is answered; what cannot be looked for is said in a sentence."""
    unfolding = reading.branch(pages.value(request, "branch"))
    try:
        wanted = asked(request)
        if wanted is None:
            reading.prepare()
            return _NOTHING
        return find(library, stored, reading, unfolding, wanted).document
    except BadInput as error:
        return {**_NOTHING, "search": True, "problem": str(error)}


_NOTHING: dict[str, Any] = {"search": False, "terms": [], "hits": [], "elsewhere": []}


def find(library: Library, stored: StoredSession, reading: Reading, unfolding: Unfolding, wanted: Sought) -> Answer:
    """In a branch, and what the others have. Raises BadInput for a search that has nothing to look for."""
    if wanted.is_search:
        return _searched(library, stored, reading, unfolding, wanted)
    letters = Letters(wanted.words)
    found = {name: reading.count(name, letters) for name in reading.branches}
    if any(found.values()):
        return Answer(wanted, found.pop(unfolding.name), _elsewhere(found))
    try:
        searched = _searched(library, stored, reading, unfolding, wanted.as_search())
    except BadInput:
        return Answer(wanted, [], [])
    return searched if searched.hits or searched.elsewhere else Answer(wanted, [], [])


def _searched(
    library: Library, stored: StoredSession, reading: Reading, unfolding: Unfolding, wanted: Sought
) -> Answer:
    def ask(archive: Archive) -> set[str]:
        return archive.hits_in(stored, wanted.words, wanted.fields)

    uuids = library.answer(("hits in", stored.id, wanted.words, wanted.fields), ask)
    if not uuids:
        return Answer(wanted, [], [])
    anchors = [anchor(uuid) for uuid in uuids]
    found = {name: _in_order(each, anchors) for name, each in reading.branches.items()}
    return Answer(wanted, found.pop(unfolding.name), _elsewhere(found))


def _in_order(unfolding: Unfolding, anchors: list[str]) -> Hits:
    known = unfolding.places
    found = {known[place].anchor for place in anchors if place in known}
    return [(place, where.piece, 1) for place, where in known.items() if place in found]


def _elsewhere(found: dict[str, Hits]) -> list[Elsewhere]:
    return [Elsewhere(name, hits[0][0], sum(each[2] for each in hits)) for name, hits in found.items() if hits]
