"""The part of a text that shows why it was found, with the matches marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from msgspec import Struct

from .text import Style, harmless

__all__ = ["Findable", "KnownSpans", "Part", "Snippet", "snippet"]

_MOST_MARKS = 200
"""Of one term; the best window of a very long text is near its beginning or it is not worth the wait."""

_SPACES = re.compile(r"\s+")

ELLIPSIS = "…"


class Place(Protocol):
    """Where in a text something was found."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Findable(Protocol):
    """A term of a query, or a pattern."""

    @property
    def negated(self) -> bool: ...
    def found_in(self, text: str) -> Iterable[Place]: ...


class Span(Struct, frozen=True):
    start: int
    end: int


class KnownSpans(Struct, frozen=True):
    """Places that are known already, as something to mark: finding them again might take for ever."""

    spans: tuple[tuple[int, int], ...]
    negated: bool = False

    def found_in(self, text: str) -> Iterator[Span]:
        return (Span(start, end) for start, end in self.spans if end <= len(text))


class Part(Struct, frozen=True):
    text: str
    is_match: bool = False


class Snippet(Struct, frozen=True):
    """One line of a text: parts in order, and `…` where something was cut."""

    before: str
    parts: tuple[Part, ...]
    after: str

    def as_text(self, open: str = "[", close: str = "]") -> str:  # noqa: A002
        return self.painted(lambda match: f"{open}{match}{close}")

    def painted(self, mark: Callable[[str], str]) -> str:
        body = "".join(mark(part.text) if part.is_match else part.text for part in self.parts)
        return f"{self.before}{body}{self.after}"

    def in_colour(self, style: Style) -> str:
        """For a terminal; without colour the matches stand in brackets."""
        return self.painted(lambda match: style.paint(match, "bold", "yellow")) if style.colour else self.as_text()


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
    """From the first match of the best window to the one that makes its terms complete."""
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
    """A third of the room goes before the matches; both ends move inwards to the nearest space."""
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


def _parts(text: str, start: int, end: int, marks: Sequence[_Mark]) -> tuple[Part, ...]:
    pieces: list[Part] = []
    at = start
    for mark in marks:
        if mark.start >= at:  # the first of overlapping matches is shown
            pieces += [Part(text[at : mark.start]), Part(text[mark.start : mark.end], is_match=True)]
            at = mark.end
    return _one_line([*pieces, Part(text[at:end])])


def _one_line(pieces: Sequence[Part]) -> tuple[Part, ...]:
    """Without control characters and line breaks, no two spaces in a row, none at the ends."""
    parts: list[Part] = []
    is_space = True
    for piece in pieces:
        clean = _SPACES.sub(" ", harmless(piece.text))
        clean = clean.lstrip() if is_space else clean
        if clean:
            parts.append(Part(clean, piece.is_match))
            is_space = clean.endswith(" ")
    if parts and is_space:
        last = parts.pop()
        parts += [Part(last.text.rstrip(), last.is_match)] if last.text.strip() else []
    return tuple(parts)
