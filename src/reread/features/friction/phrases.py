"""Phrases with which people say that something is not right, each with the words that make it worth trying."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from reread import lazy
from reread.features.word_tables import entries, filled


class Sign(NamedTuple):
    """A phrase and its weight, which is negative if it speaks against a correction."""

    weight: float
    words: tuple[str, ...]
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled on first use: compiling all of them would take longer than a small sync."""
        return _compiled(self.source)


_compiled = cache(re.compile)


def _signs(*sections: str) -> tuple[Sign, ...]:
    return tuple(
        Sign(float(entry.name), tuple(entry.beside.split()), filled("friction/phrases", entry.text))
        for section in sections
        for entry in entries("friction/phrases", section)
    )


ENGLISH = _signs("english")
OTHERS = _signs("german", "french", "spanish", "portuguese")
WITHOUT_SPACES = _signs("without_spaces")
ANY_WITHOUT_SPACES = lazy.pattern("|".join(each.source for each in WITHOUT_SPACES))
"""One search that rules out most prompts: they contain none of these."""
(
    BENIGN,
    BENIGN_WITHOUT_SPACES,
    PRAISE,
    QUESTION,
    QUESTION_WITHOUT_SPACES,
    BY_OTHERS,
    REPROACH,
    OWN_SLIP,
    ACKNOWLEDGED,
) = (lazy.pattern(entry.text) for entry in entries("friction/phrases", "alone"))
