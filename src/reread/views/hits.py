"""Hits of a search, with the part of the text that shows why each was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from .numbers import count, limited
from .session_list import last_part
from .text import cells, harmless, joined, one_line, shorten, wrap
from .values import Document, View, picked, utc, when

if TYPE_CHECKING:
    from datetime import datetime

    from reread.archive.text_search import Hit, SearchAnswer

_MOST_MARKS = 200
"""Matches of one term that are considered; a better window further on in a very long text is not worth the wait."""

_SPACES = re.compile(r"\s+")

ELLIPSIS = "…"


class Span(Protocol):
    """The place of a match in a text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Findable(Protocol):
    """A term of a query, or a pattern."""

    @property
    def negated(self) -> bool: ...
    def found_in(self, text: str) -> Iterable[Span]: ...


class MatchSpan(Struct, frozen=True):
    start: int
    end: int


class KnownSpans(Struct, frozen=True):
    """Matches whose places are already known. Searching again could take forever with a bad pattern."""

    spans: tuple[tuple[int, int], ...]
    negated: bool = False

    def found_in(self, text: str) -> Iterator[MatchSpan]:
        return (MatchSpan(start, end) for start, end in self.spans if end <= len(text))


class SnippetPart(Struct, frozen=True):
    text: str
    is_match: bool = False


class Snippet(Struct, frozen=True):
    """A piece of a text on one line: parts in order, with `…` at the ends if something was cut."""

    before: str
    parts: tuple[SnippetPart, ...]
    after: str

    def as_text(self, open: str = "[", close: str = "]") -> str:  # noqa: A002
        return self.painted(lambda match: f"{open}{match}{close}")

    def painted(self, mark: Callable[[str], str]) -> str:
        body = "".join(mark(part.text) if part.is_match else part.text for part in self.parts)
        return f"{self.before}{body}{self.after}"


class _Mark(Struct, frozen=True, order=True):
    start: int
    end: int
    term: int


def snippet(text: str, terms: Sequence[Findable], width: int) -> Snippet:
    """The earliest window of about `width` characters with the most different terms."""
    width = max(width, 1)
    marks = _marks(text, terms, width)
    best = _densest(marks, width)
    start, end = _window(text, best, width)
    inside = [mark for mark in marks if mark.start >= start and mark.end <= end]
    return Snippet(
        before=ELLIPSIS if text[:start].strip() else "",
        parts=_parts(text, start, end, inside),
        after=ELLIPSIS if text[end:].strip() else "",
    )


def _marks(text: str, terms: Sequence[Findable], longest: int) -> list[_Mark]:
    wanted = [term for term in terms if not term.negated]
    return sorted(
        _Mark(found.start, min(found.end, found.start + longest), number)
        for number, term in enumerate(wanted)
        for found in islice(term.found_in(text), _MOST_MARKS)
    )


def _densest(marks: Sequence[_Mark], width: int) -> tuple[int, int]:
    """The start and end of the best window: from its first match to the one that completes its terms."""
    best, most = (0, 0), 0
    for number, first in enumerate(marks):
        seen: dict[int, int] = {}
        for mark in marks[number:]:
            if mark.start >= first.start + width:
                break
            if mark.end <= first.start + width:
                seen.setdefault(mark.term, mark.end)
        if len(seen) > most:
            best, most = (first.start, max(seen.values())), len(seen)
    return best


def _window(text: str, best: tuple[int, int], width: int) -> tuple[int, int]:
    """A third of the remaining room goes before the matches; both ends move inwards to the nearest space."""
    first, last = best
    room = max(0, width - (last - first))
    start = max(0, min(first - room // 3, len(text) - width))
    end = min(len(text), max(last, start + width))
    if start > 0 and not text[start - 1].isspace():
        start = _next_space(text, start, first)
    if end < len(text) and not text[end].isspace():
        end = _last_space(text, last, end)
    return start, end


def _next_space(text: str, start: int, limit: int) -> int:
    space = _SPACES.search(text, start, limit)
    return space.end() if space else start


def _last_space(text: str, limit: int, end: int) -> int:
    for at in range(end - 1, limit - 1, -1):
        if text[at].isspace():
            return at
    return end


def _parts(text: str, start: int, end: int, marks: Sequence[_Mark]) -> tuple[SnippetPart, ...]:
    pieces: list[SnippetPart] = []
    at = start
    for mark in marks:
        if mark.start >= at:  # of overlapping matches the first is marked
            pieces += [SnippetPart(text[at : mark.start]), SnippetPart(text[mark.start : mark.end], is_match=True)]
            at = mark.end
    return _one_line([*pieces, SnippetPart(text[at:end])])


def _one_line(pieces: Sequence[SnippetPart]) -> tuple[SnippetPart, ...]:
    """Removes control characters and line breaks, repeated spaces, and spaces at the ends."""
    parts: list[SnippetPart] = []
    is_space = True
    for piece in pieces:
        clean = _SPACES.sub(" ", harmless(piece.text))
        clean = clean.lstrip() if is_space else clean
        if clean:
            parts.append(SnippetPart(clean, piece.is_match))
            is_space = clean.endswith(" ")
    if parts and is_space:
        last = parts.pop()
        parts += [SnippetPart(last.text.rstrip(), last.is_match)] if last.text.strip() else []
    return tuple(parts)


_DOCUMENT_SNIPPET = 160
_PLACE_ID = 13
"""Characters of a session's uuid: enough to be unique, and the command still fits into 80 columns."""
_INDENT = "    "
_LEAST_TITLE = 8


def search_document(answer: SearchAnswer, terms: Sequence[Findable]) -> Document:
    return {
        "schema": "reread.search/1",
        "query": answer.query,
        "total": answer.total,
        "hits": [_hit_row(hit, terms) for hit in answer.hits],
        "nearest": [_hit_row(hit, answer.telling) for hit in answer.nearest],
        "suggestions": answer.suggestions,
        **picked(answer, "hidden skipped cut_short=is_cut_short sessions_waiting=waiting"),
    }


def nearest_words(answer: SearchAnswer) -> str:
    """What is said above the nearest sessions."""
    return "nearest other sessions:" if answer.hits else "no text has all words; nearest sessions:"


def _hit_row(hit: Hit, terms: Sequence[Findable]) -> Document:
    return {
        **picked(hit, "session=session.row.uuid uuid field project=session.row.project title=session.row.title"),
        "typed": hit.session.mark.typed is not False,
        "timestamp": utc(hit.time),
        "snippet": snippet(hit.text, _marked(hit, terms), _DOCUMENT_SNIPPET).as_text(),
        "score": hit.score,
    }


def _marked(hit: Hit, terms: Sequence[Findable]) -> Sequence[Findable]:
    return [KnownSpans(hit.spans)] if hit.spans else terms


def search_lines(answer: SearchAnswer, terms: Sequence[Findable], view: View) -> Iterator[str]:
    for hit in answer.hits:
        yield from _hit_lines(hit, terms, view)
    if answer.nearest:
        yield view.style.paint(nearest_words(answer), "bold")
    for hit in answer.nearest:
        yield from _hit_lines(hit, answer.telling, view)
    if answer.suggestions and not answer.nearest:
        yield from wrap(f"did you mean: {', '.join(answer.suggestions)}?", view.width)
    yield view.style.paint(limited(len(answer.hits), max(answer.total, len(answer.hits)), "hit"), "dim")
    if answer.skipped:
        rest = "; the texts behind them were not looked at, for the pattern is at fault" if answer.is_cut_short else ""
        were = "was" if answer.skipped == 1 else "were"
        yield from wrap(f"{count(answer.skipped, 'text')} took too long and {were} skipped{rest}", view.width)


def _hit_lines(hit: Hit, terms: Sequence[Findable], view: View) -> Iterator[str]:
    yield _hit_head(hit, view)
    yield from (_INDENT + line for line in _snippet_lines(hit.text, _marked(hit, terms), view))
    # A hit in a tool's output file has no line to go to.
    yield _INDENT + view.style.paint(show_command(hit.session.row.uuid, hit.uuid), "dim")
    yield ""


def _hit_head(hit: Hit, view: View) -> str:
    """Time, project, title and field, without the project if it would leave the title no room."""
    paint, row, field = view.style.paint, hit.session.row, hit.field.value
    time, project = when(hit.time, view.timezone), shorten(last_part(row.project), 16)
    field = f"{field} by a program" if hit.session.mark.typed is False and field == "prompt" else field
    lead = joined((time, project), "  ")
    if view.width - cells(f"{lead}    {field}") < _LEAST_TITLE:
        lead = time
    title = shorten(row.title or "", view.width - cells(f"{lead}    {field}"))
    return joined((lead, paint(title, "bold"), paint(field, "cyan")), "  ")


class TextFound(Protocol):
    """A text that contains the searched words, and its place."""

    @property
    def session(self) -> str: ...
    @property
    def project(self) -> str | None: ...
    @property
    def title(self) -> str | None: ...
    @property
    def uuid(self) -> str | None: ...
    @property
    def field(self) -> str: ...
    @property
    def time(self) -> datetime | None: ...
    @property
    def text(self) -> str: ...


def _words_in(text: str, words: Sequence[str]) -> list[Findable]:
    return [
        KnownSpans(tuple(match.span() for match in re.finditer(re.escape(word), text, re.IGNORECASE))) for word in words
    ]


def found_text_document(found: TextFound, words: Sequence[str]) -> Document:
    """A hit of a plain scan, with the fields that `_hit_row` gives hits of a search, except the score."""
    return {
        **picked(found, "session uuid field project title timestamp=time"),
        "snippet": snippet(found.text, _words_in(found.text, words), _DOCUMENT_SNIPPET).as_text(),
    }


def found_text_lines(found: Sequence[TextFound], total: int, words: Sequence[str], view: View) -> Iterator[str]:
    for each in found:
        lead = [when(each.time, view.timezone), shorten(last_part(each.project), 16), each.session]
        yield from wrap("  ".join(one_line(part) for part in (*lead, each.field) if part), view.width)
        yield from (_INDENT + line for line in _snippet_lines(each.text, _words_in(each.text, words), view))
        yield ""
    yield view.style.paint(limited(len(found), total, "hit"), "dim")


_OPEN, _CLOSE = "\ue000", "\ue001"
"""Placeholders for the beginning and end of a match while lines are wrapped: wrapping would remove real escapes."""


def _snippet_lines(text: str, terms: Sequence[Findable], view: View) -> Iterator[str]:
    """About two lines; a match that is split by the line break is coloured on both."""
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


def show_command(session: str, uuid: str | None) -> str:
    """The command that shows a line in its session."""
    name = one_line(session)
    short = name[:_PLACE_ID] if len(name) == 36 and name.count("-") == 4 else name
    return f"reread show {short}" + (f" --around {one_line(uuid)}" if uuid else "")
