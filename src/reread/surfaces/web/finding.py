"""The words that led to a session: what its page marks, and which of its messages have them."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from starlette.requests import Request

from reread.archive import Archive, StoredSession
from reread.errors import BadInput
from reread.queries.language import DEFAULT_FIELDS, Field, fields_of, parse
from reread.render.html.anchors import anchor

from . import pages
from .library import Library
from .unfolding import Unfolding


class Sought(NamedTuple):
    """What a page is asked to mark."""

    words: str
    """As they were typed."""
    fields: frozenset[Field]
    terms: str
    """For the script, which marks what is loaded: of each term its pieces, and whether its last is a beginning."""


def sought(request: Request) -> Sought | None:
    """The search that an address carries; None where it carries none, or one that finds nothing anywhere."""
    words = pages.value(request, "q")
    if not words:
        return None
    chosen = request.query_params.getlist("in")[: len(Field)]
    try:
        fields = fields_of(",".join(chosen)) if chosen else DEFAULT_FIELDS
        wanted = [term for term in parse(words, fields).terms if not term.negated]
    except BadInput:
        return None
    terms = [(pieces, term.is_prefix) for term in wanted if (pieces := term.pieces)]
    return Sought(words, fields, msgspec.json.encode(terms).decode())


def hits(library: Library, stored: StoredSession, unfolding: Unfolding, wanted: Sought) -> list[tuple[str, int]]:
    """Anchor and piece of the messages of a branch that answer, in the order of the conversation."""

    def ask(archive: Archive) -> set[str]:
        return archive.hits_in(stored, wanted.words, wanted.fields)

    uuids = library.answer(("hits in", stored.id, wanted.words, wanted.fields), ask)
    known = unfolding.places
    found = {known[place].anchor for place in map(anchor, uuids) if place in known}
    return [(place, where.piece) for place, where in known.items() if place in found]
