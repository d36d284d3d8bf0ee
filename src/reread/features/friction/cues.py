"""Cues for how people complain and how models react: patterns, each with a name used by weights and reasons.

All of them expect lower-case text with plain apostrophes, and none examines more than a few hundred characters. A cue
is tried only if one of its words or seeds occurs in the text, so most of them cost a few nanoseconds. The cues
themselves stand in `cues.txt`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from reread.features.word_tables import entries

_WORD = re.compile(r"\w+")
_BETWEEN_WORDS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}


class Cue(NamedTuple):
    """A pattern with a name."""

    name: str
    words: tuple[str, ...]
    """Whole words, one of which is in every text the pattern matches,"""
    seeds: tuple[str, ...]
    """or strings, one of which is in every match; without either, only the beginning of the text is matched."""
    source: str

    @property
    def pattern(self) -> re.Pattern[str]:
        return _compiled(self.source)

    def is_in(self, text: str) -> bool:
        """Whether a text shows the cue, by its seeds alone; for cues that are not in a table."""
        return any(map(text.__contains__, self.seeds)) and _compiled(self.source).search(text) is not None


class CueTable:
    """Cues that are searched for together, in their order."""

    def __init__(self, *cues: Cue) -> None:
        self._cues = cues
        self._by_word: dict[str, list[int]] = {}
        self._seeds = [(seed, number) for number, each in enumerate(cues) for seed in each.seeds]
        self._of_beginnings = {number for number, each in enumerate(cues) if not (each.words or each.seeds)}
        for number, each in enumerate(cues):
            for word in each.words:
                self._by_word.setdefault(word, []).append(number)

    def __iter__(self) -> Iterator[Cue]:
        return iter(self._cues)

    def named_in(self, text: str) -> Iterator[str]:
        """The names of the cues found in a text."""
        by_word, of_beginnings = self._by_word, self._of_beginnings
        tried = {number for word in by_word.keys() & _words_in(text) for number in by_word[word]}
        tried.update([number for seed, number in self._seeds if seed in text], of_beginnings)
        for number in sorted(tried):
            name, _, _, source = self._cues[number]
            pattern = _compiled(source)
            if pattern.match(text) if number in of_beginnings else pattern.search(text):
                yield name


def _words_in(text: str) -> list[str]:
    """The words as a pattern sees them; splitting is three times as fast as a pattern."""
    return text.translate(_BETWEEN_WORDS).split() if text.isascii() else _WORD.findall(text)


def _cues(section: str) -> list[Cue]:
    """The cues of a section: words are apart by spaces, and what follows the first bar are seeds."""
    found = []
    for entry in entries("friction/cues", section):
        words, bar, seeds = entry.beside.partition("|")
        found.append(Cue(entry.name, tuple(words.split()), tuple(seeds.split("|")) if bar else (), entry.text))
    return found


_compiled = cache(re.compile)
"""Compiled on first use: compiling all of them would take longer than a small sync."""

REPLY, THOUGHT, WORDS = (CueTable(*_cues(section)) for section in ("reply", "thought", "words"))
ALONE = CLAIMED, TO_TRY, UNDOES, COMMITS, ANNOUNCED = _cues("alone")
REASONS = {entry.name: entry.text for entry in entries("friction/cues", "reasons")}
"""What the reasons of a judgement say; features without words are none."""
