"""Hits of a search, for a terminal and as a JSON document."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .listing import last_part
from .numbers import count
from .snippets import Findable, KnownSpans, snippet
from .text import cells, one_line, shorten, wrap
from .values import Document, utc
from .view import View, when

if TYPE_CHECKING:
    from reread.queries.search import Hit, SearchAnswer

_DOCUMENT_SNIPPET = 160
_PLACE_ID = 13
"""Enough of a session's uuid that no two begin alike, and the command still fits into 80 columns."""
_INDENT = "    "


def search_document(answer: SearchAnswer, terms: Sequence[Findable]) -> Document:
    return {
        "schema": "reread.search/1",
        "query": answer.query,
        "total": answer.total,
        "hits": [_hit_row(hit, terms) for hit in answer.hits],
        "suggestions": answer.suggestions,
        "hidden": answer.hidden,
        "skipped": answer.skipped,
        "cut_short": answer.is_cut_short,
    }


def _hit_row(hit: Hit, terms: Sequence[Findable]) -> Document:
    return {
        "session": hit.session.row.uuid,
        "uuid": hit.uuid,
        "field": hit.field.value,
        "project": hit.session.row.project,
        "title": hit.session.row.title,
        "timestamp": utc(hit.time),
        "snippet": snippet(hit.text, _marked(hit, terms), _DOCUMENT_SNIPPET).as_text(),
        "score": hit.score,
    }


def _marked(hit: Hit, terms: Sequence[Findable]) -> Sequence[Findable]:
    return [KnownSpans(hit.spans)] if hit.spans else terms


def search_lines(answer: SearchAnswer, terms: Sequence[Findable], view: View) -> Iterator[str]:
    for hit in answer.hits:
        yield from _hit_lines(hit, terms, view)
    if answer.suggestions:
        yield from wrap(f"did you mean: {', '.join(answer.suggestions)}?", view.width)
    shown, total = len(answer.hits), max(answer.total, len(answer.hits))
    line = count(total, "hit") if shown == total else f"{shown:,} of {count(total, 'hit')}; --limit shows more"
    yield view.style.paint(line, "dim")
    if answer.skipped:
        rest = "; the texts behind them were not looked at, for the pattern is at fault" if answer.is_cut_short else ""
        were = "was" if answer.skipped == 1 else "were"
        yield from wrap(f"{count(answer.skipped, 'text')} took too long and {were} skipped{rest}", view.width)


def _hit_lines(hit: Hit, terms: Sequence[Findable], view: View) -> Iterator[str]:
    row = hit.session.row
    lead = [when(hit.time, view.timezone), shorten(last_part(row.project), 16)]
    head = "  ".join(part for part in lead if part)
    title = shorten(row.title or "", max(0, view.width - cells(head) - cells(hit.field.value) - 4))
    paint = view.style.paint
    yield "  ".join(part for part in (head, paint(title, "bold"), paint(hit.field.value, "cyan")) if part)
    yield from (_INDENT + line for line in _snippet_lines(hit.text, _marked(hit, terms), view))
    yield _INDENT + paint(place_command(hit), "dim")
    yield ""


_OPEN, _CLOSE = "\ue000", "\ue001"
"""Stand for the beginning and end of a match while lines are broken: an escape would be taken out as a control."""


def _snippet_lines(text: str, terms: Sequence[Findable], view: View) -> Iterator[str]:
    """About two lines; a match that is broken in two is painted on both."""
    width = max(20, view.width - len(_INDENT))
    clean = text.replace(_OPEN, "").replace(_CLOSE, "")
    is_open = False
    for line in wrap(snippet(clean, terms, 2 * width - 10).as_text(_OPEN, _CLOSE), width):
        if not view.style.colour:
            yield line.replace(_OPEN, "[").replace(_CLOSE, "]")
            continue
        painted = ""
        for piece in re.split(f"([{_OPEN}{_CLOSE}])", line):
            if piece in (_OPEN, _CLOSE):
                is_open = piece == _OPEN
            else:
                painted += view.style.paint(piece, "bold", "yellow") if is_open else piece
        yield painted


def place_command(hit: Hit) -> str:
    """What to type to read the hit where it stands; a tool's own output file has no line to go to."""
    return show_command(hit.session.row.uuid, hit.uuid)


def show_command(session: str, uuid: str | None) -> str:
    """What to type to read a line where it stands."""
    name = one_line(session)
    short = name[:_PLACE_ID] if len(name) == 36 and name.count("-") == 4 else name
    return f"reread show {short}" + (f" --around {one_line(uuid)}" if uuid else "")
