"""Plain text looked for letter by letter, as a browser finds it in a page.

Half a word, signs and spaces are found here, which the words of the index know nothing of.
"""

from __future__ import annotations

import re
from functools import cached_property

from reread.store.tokens import folded

_MARKS = re.compile("[\u0300-\u036f]+")
_MARKUP = re.compile(r"\*+|`+|(?<!\w)_+|(?<!_)_++(?!\w)|~~|\[([^][\n]{1,300}+)\]\([^()\s]{1,2000}+\)")
"""Signs of Markdown that a page does not show, and its links. No run is tried twice: where each sign of one begins
another try, a reply of 20,000 underscores would take minutes."""


def readied(text: str) -> str:
    """A text to be looked through: without case, accents, and marks on letters."""
    plain = folded(text)
    return plain if plain.isascii() else _MARKS.sub("", plain)


def as_read(text: str) -> str:
    """Markdown about as a page shows it."""
    return _MARKUP.sub(r"\1", text)


class Letters:
    """What was typed; any spaces stand for any others."""

    def __init__(self, typed: str) -> None:
        self.pieces = tuple(readied(typed).split())
        """What stands between spaces."""

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(r"\s+".join(map(re.escape, self.pieces)))

    def count(self, text: str) -> int:
        """How often it stands in a text that was readied."""
        if len(self.pieces) < 2:
            return text.count(self.pieces[0]) if self.pieces else 0
        # Most texts lack one of the words, which is known ten times as fast.
        if not all(piece in text for piece in self.pieces):
            return 0
        return sum(1 for _ in self._pattern.finditer(text))
