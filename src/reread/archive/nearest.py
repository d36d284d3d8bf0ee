"""The sessions nearest to a description, where no text has all of its words.

Rule: a session is scored like a document by BM25, from counts that the full-text index gives for each word: a rare word
counts for more, a prompt for more than a tool's input, and a long session is no better for being long. What a reader
would call a wrong answer is left out: a session must have a third of what the words weigh.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from reread.features.search_text import Field
from reread.index import read as reading
from reread.index.read import Match
from reread.index.text_index import is_unspaced

from .search_language import FIELDS, columns, folded_words, plain_words, quoted

MOST_SESSIONS = 10
_SENTENCE = 4
"""From so many words on a query is a description: hardly a text has all of them."""
_FILLERS = frozenset(
    re.findall(
        r"\w+",
        """a about after all also an and any are as at be been before but by can could did do does for from get had
        has have how i if in into is it its just let make me more my need new no not of on or our out over please
        should so some than that the their them then there these they this those to up us use using via want was we
        were what when where which who why will with would you your""",
    )
)
_WEIGHTS = {Field.PROMPT: 3.0, Field.TEXT: 1.5, Field.RESULT: 0.5, Field.TITLE: 3.0}
_SATURATION, _LENGTH = 1.2, 0.75
"""The usual constants of BM25."""
_LEAST_SHARE = 1 / 3
_MOST_COUNTED = 10_000
"""Matches that are counted, of the rarest words first: one takes two microseconds."""


def is_filler(word: str) -> bool:
    return word.casefold() in _FILLERS


def is_described(text: str) -> bool:
    """Whether a query is a sentence, which only words without operators are."""
    return len(plain_words(text)) >= _SENTENCE


class NearSession(NamedTuple):
    score: float
    session: int
    best: Match
    """The text with most of the words."""


class _Word(NamedTuple):
    expression: str
    weight: float
    cells: list[tuple[int, int, int | None, int]]


class NearestSessions:
    """Finds them among all sessions, or among those chosen, in a window of time."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        fields: Collection[Field],
        chosen: Sequence[int] | None,
        times: tuple[int | None, int | None],
    ) -> None:
        self._connection = connection
        self._columns = columns(frozenset(fields))
        self._chosen = chosen
        self._times = times
        self._lines = reading.lines_by_session(connection)

    def of(self, text: str, most: int = MOST_SESSIONS) -> list[NearSession]:
        """The best first; none if the query has operators."""
        words = self._weighed(tokens_of(text))
        whole = sum(word.weight for word in words)
        scores: defaultdict[int, float] = defaultdict(float)
        shares: defaultdict[int, float] = defaultdict(float)
        for word in words:
            for session, score in self._scores(word).items():
                scores[session] += score
                shares[session] += word.weight
        near = [(score, session) for session, score in scores.items() if shares[session] >= whole * _LEAST_SHARE]
        found = sorted(near, key=lambda each: (-each[0], -each[1]))[:most]
        return [
            NearSession(score, session, best)
            for score, session in found
            if (best := self._best(session, words)) is not None
        ]

    def _weighed(self, tokens: Sequence[str]) -> list[_Word]:
        """The words with their counts, the rarest first, and none of those for which no time is left."""
        sizes = [(self._size(token), token) for token in tokens]
        words: list[_Word] = []
        counted = 0
        for size, token in sorted(sizes):
            if counted and counted + size > _MOST_COUNTED:
                break
            counted += size
            expression = f"{self._columns}{quoted([token], is_prefix=False)}"
            ask = reading.match_cells
            cells = ask(self._connection, expression, self._chosen, self._times, _MOST_COUNTED) if size else []
            found = len({cell[0] for cell in cells})
            words.append(_Word(expression, math.log1p((len(self._lines) - found + 0.5) / (found + 0.5)), cells))
        return words

    def _size(self, token: str) -> int:
        return sum(number for _, number in reading.vocabulary(self._connection, token, token + "\0"))

    def _scores(self, word: _Word) -> dict[int, float]:
        counts: defaultdict[int, float] = defaultdict(float)
        for session, field, _, hits in word.cells:
            counts[session] += hits * _WEIGHTS.get(FIELDS[field], 1.0)
        usual = sum(self._lines.values()) / max(1, len(self._lines))
        found = {}
        for session, count in counts.items():
            length = 1 - _LENGTH + _LENGTH * self._lines.get(session, usual) / max(1.0, usual)
            found[session] = word.weight * count / (count + _SATURATION * length)
        return found

    def _best(self, session: int, words: Sequence[_Word]) -> Match | None:
        weights: defaultdict[int, float] = defaultdict(float)
        matches: dict[int, Match] = {}
        for word in words:
            for match in reading.matches_within(self._connection, word.expression, session, self._times):
                matches[match.id] = match
                weights[match.id] += word.weight
        return max(matches.values(), key=lambda each: (weights[each.id], _worth(each), -each.id), default=None)


def _worth(match: Match) -> float:
    return _WEIGHTS.get(FIELDS[match.field], 1.0)


def tokens_of(text: str) -> list[str]:
    """The words of a description as the index has them, each once, without fillers; all of them if it has no others."""
    tokens = list(dict.fromkeys(folded_words(" ".join(plain_words(text)))))
    telling = [token for token in tokens if not is_filler(token) and not (len(token) == 1 and is_unspaced(token))]
    return telling or tokens
