"""Puts a name in the stead of every secret: the same name for the same secret, wherever it stands.

First everything is learned, then everything is taken out: a password that one line calls so may stand bare in the line
before.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from .finding import Found, find, kind_of_name
from .kinds import EMAIL, GENERIC_NAMES, USER
from .values import entropy

_SHORTEST = 8
"""Letters of a secret that is looked for wherever it stands; shorter ones are taken out where they are known."""
_SHORTEST_NAME = 5
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{20,}")
_NOTHING = "'<$>'"
"""Letters that begin no secret."""
_TOGETHER = 2_000
"""Letters of a text that is looked at together with others."""
_BETWEEN = "\n\0\n"
"""Between such texts: no pattern reaches over it."""
_CLEAN: list[Found] = []
"""What is found in a text without secrets."""
PLACEHOLDER = re.compile(r"\\?\[redacted: (?P<kind>[^\]\n]{1,60}) \d+\\?\]")


class Redactor:
    """Knows the secrets of a session, by value."""

    def __init__(self, *, addresses: bool = False, spared: frozenset[str] = frozenset()) -> None:
        self.addresses = addresses
        self.spared = spared
        """Kinds that stay."""
        self._names: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()
        self._found: dict[str, list[Found]] = {}
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._everywhere: dict[str, str] = {}
        """Secrets that are looked for by themselves, with the kind of each."""

    def learn(self, text: str) -> None:
        """Takes note of the secrets of a text."""
        for each in self._find(text):
            self._note(each.kind, each.value)

    def learn_all(self, texts: list[str]) -> None:
        """The same for many texts: short ones are looked at together, which takes a fifth of the time."""
        new = [text for text in dict.fromkeys(texts) if text not in self._found]
        together = [text for text in new if len(text) <= _TOGETHER]
        suspects = self._suspects(together)
        for text in together:
            if text not in suspects:
                self._found[text] = _CLEAN
        for text in new:
            if text not in self._found:
                self.learn(text)

    def _suspects(self, texts: list[str]) -> set[str]:
        """Those of many texts in which something may be."""
        starts = list(accumulate((len(text) + len(_BETWEEN) for text in texts), initial=0))
        found = find(_BETWEEN.join(texts), addresses=self.addresses)
        suspects: set[str] = set()
        for each in found:
            first, last = bisect_right(starts, each.start) - 1, bisect_right(starts, each.end) - 1
            suspects.update(texts[first : last + 1])
        return suspects

    def is_clean(self, texts: list[str]) -> bool:
        """Whether nothing is to be taken out of texts that were learned."""
        if any(self._found.get(text) is not _CLEAN for text in texts):
            return False
        known = [value for value in self._everywhere if value]
        if not known:
            return True
        joined = _BETWEEN.join(texts)
        return not any(value in joined for value in known)

    def found_in(self, text: str) -> list[Found]:
        """The secrets of a text by itself, whatever others told."""
        return self._find(text)

    def learn_assigned(self, name: str, value: str) -> None:
        self._note(kind_of_name(name), value)

    def redact(self, text: str) -> str:
        """The text with a name in the place of each secret; as it is where there is none."""
        spans = list(self._spans(text))
        if not spans:
            return text
        parts: list[str] = []
        position = 0
        for each in spans:
            parts += [text[position : each.start], self._placeholder(each.kind, each.value)]
            position = each.end
        return "".join([*parts, text[position:]])

    def redact_assigned(self, name: str, value: str) -> str:
        """A value that is a secret by the name of its field."""
        return self._placeholder(kind_of_name(name), value)

    def left_in(self, text: str) -> Counter[str]:
        """What of the known secrets a text still holds, and what else in it is one; by kind."""
        outside = PLACEHOLDER.sub(_NOTHING, text)
        return Counter(each.kind for each in self._spans(outside))

    def _find(self, text: str) -> list[Found]:
        """A session tells most texts several times: in its lines, its records, its pages."""
        if text not in self._found:
            found = find(text, addresses=self.addresses)
            self._found[text] = [each for each in found if each.kind not in self.spared] or _CLEAN
        return self._found[text]

    def _note(self, kind: str, value: str) -> None:
        if value in self._names:
            return
        self._placeholder(kind, value)
        if kind in ("private key", "PuTTY key"):
            for line in _KEY_LINE.findall(value):
                for part in (line, line[1:]):  # a plus before it may be that of a diff
                    self._names.setdefault(part, self._names[value])
                    self._everywhere[part] = kind
        elif _is_telling(kind, value):
            self._everywhere[value] = kind

    def _placeholder(self, kind: str, value: str) -> str:
        if value not in self._names:
            self._numbers[kind] += 1
            self._names[value] = f"[redacted: {kind} {self._numbers[kind]}]"
        return self._names[value]

    def _known_in(self, text: str) -> list[Found]:
        """The known secrets that stand in a text, the longest first: one may begin with another."""
        there = tuple(sorted((value for value in self._everywhere if value in text), key=len, reverse=True))
        if not there:
            return []
        if there not in self._patterns:
            self._patterns[there] = re.compile("|".join(_whole(value) for value in there))
        matches = self._patterns[there].finditer(text)
        return [Found(self._everywhere[match[0]], match.start(), match.end(), match[0]) for match in matches]

    def _spans(self, text: str) -> Iterator[Found]:
        known = self._known_in(text)
        by_shape = self._find(text)
        position = 0
        for each in sorted([*by_shape, *known], key=lambda each: (each.start, -each.end)):
            if each.start >= position:
                yield each
                position = each.end


def _whole(value: str) -> str:
    """A value where it is no part of a longer word."""
    before = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))" if value[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if value[-1].isalnum() else ""
    return f"{before}{re.escape(value)}{after}"


def _is_telling(kind: str, value: str) -> bool:
    """Whether a value is a secret wherever it stands, and no word that also has another meaning."""
    if kind == USER:
        return len(value) >= _SHORTEST_NAME and value.lower() not in GENERIC_NAMES
    if kind == EMAIL:
        return True
    is_word = value.isalpha() and (value.islower() or value.istitle())
    return len(value) >= _SHORTEST and not is_word and entropy(value) >= 2.3


def placeholders(text: str) -> tuple[Counter[str], Counter[str]]:
    """What was taken out of a text, by kind: how often, and how many different ones."""
    found = list(PLACEHOLDER.finditer(text))
    different = {match[0].replace("\\", ""): match["kind"] for match in found}
    return Counter(match["kind"] for match in found), Counter(different.values())
