"""What in a text is secret, and of which kind.

One pass each, so that a text without secrets costs little: long runs of letters (tokens), hints (everything else that
has a shape), words that names of secrets hold. Colours of a terminal are taken out before: what they are put around is
no part of them.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from .assigned import assignments, is_assigned_to
from .commands import KEYS, PASSWORDS, is_key_of_command, is_word_of_command
from .kinds import ADDRESS, BEHIND, KINDS, OPTIONAL, TOKENS, WALLET, Kind

SHORTEST = 6
"""Letters of a text that may hold a secret."""
LONGEST = 4_000_000
"""Characters looked at in one piece; longer texts are looked at in several, which overlap."""
OVERLAP = 8_000
VERSION = 2
"""Grows with what is found: what an older version found is looked for again."""

_RUN = 16
"""Letters of the shortest run that may be a token."""
_LETTERS = bytes(
    97 if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "_-") else 32 for byte in range(256)
)
"""Every byte as `a`, where it may be a letter of a token, or as a space."""
_LONG = b"a" * _RUN
_ESCAPED = re.compile(r"[nrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|033|e")
_COLOUR = re.compile(
    r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e|\^\[|␛)\[[0-9;:?]*[A-Za-z]|\x9b[0-9;:?]*[A-Za-z]|\[(?:\d{1,3};){0,4}\d{1,3}m"
)
_MAY_BE_COLOUR = (
    "\x1b",
    "\x9b",
    "001b[",
    "001B[",
    "x1b[",
    "x1B[",
    "033[",
    "\\e[",
    "^[[",
    "␛",
    "[0m",
    "[1m",
    "[31m",
    "[32m",
    "[33m",
)
_OTHERS: tuple[Kind, ...] = (
    *KINDS,
    *(Kind(name, tuple(hints.split()), re.compile(pattern), is_key_of_command) for name, hints, pattern in KEYS),
    *(Kind(name, tuple(hints.split()), re.compile(pattern), is_word_of_command) for name, hints, pattern in PASSWORDS),
)
_WORDS = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else 32 for byte in range(256))
"""Every byte as it is, where it is of a word, or as a space."""
_SHORT = 96
"""Letters of a text that is remembered: names of fields, of tools and of models are told over and over."""


class Found(NamedTuple):
    kind: str
    start: int
    end: int
    value: str


def find(text: str, *, addresses: bool = False) -> list[Found]:
    """The secrets of a text in their order; none overlaps another."""
    if len(text) <= _SHORT:
        return list(_find_short(text, addresses)) if len(text) >= SHORTEST else []
    if len(text) <= LONGEST:
        return _without_overlaps(_in_colours(text, addresses=addresses))
    everything: list[Found] = []
    for start in range(0, len(text), LONGEST - OVERLAP):
        piece = _in_colours(text[start : start + LONGEST], addresses=addresses)
        everything += [each._replace(start=each.start + start, end=each.end + start) for each in piece]
    return _without_overlaps(everything)


@lru_cache(maxsize=16_384)
def _find_short(text: str, addresses: bool) -> tuple[Found, ...]:
    return tuple(_without_overlaps(_in_colours(text, addresses=addresses)))


def _in_colours(text: str, *, addresses: bool) -> list[Found]:
    """Looks at a text without its colours, and tells the places in the text as it is."""
    if not any(each in text for each in _MAY_BE_COLOUR):
        return _found(text, addresses=addresses)
    starts, skipped, parts, position, total = [0], [0], [], 0, 0
    for match in _COLOUR.finditer(text):
        parts.append(text[position : match.start()])
        total += match.end() - match.start()
        starts.append(match.end() - total)
        skipped.append(total)
        position = match.end()
    if not parts:
        return _found(text, addresses=addresses)
    clean = "".join([*parts, text[position:]])

    def place(at: int, *, is_end: bool) -> int:
        before = bisect_left(starts, at, 1) - 1 if is_end else bisect_right(starts, at) - 1
        return at + skipped[before]

    return [
        each._replace(start=place(each.start, is_end=False), end=place(each.end, is_end=True))
        for each in _found(clean, addresses=addresses)
    ]


def _found(text: str, *, addresses: bool) -> list[Found]:
    narrow = text.encode("latin-1", "replace")  # one byte for each letter, whatever it is
    found = list(_tokens(text, narrow))
    if len(text) <= _SHORT and _ONE_RUN.fullmatch(text):
        return found
    small = narrow.lower()
    words = set(small.translate(_WORDS).split())
    lower = small.decode("latin-1")
    for number in _kinds_of(words, lower):
        found += _of_kind(text, lower, _OTHERS[number])
    if addresses:
        found += _of_kind(text, lower, OPTIONAL[0])
    found += [
        Found(kind_of_name(each.name), each.start, each.end, each.value) for each in assignments(text, lower, words)
    ]
    return found


_ONE_RUN = re.compile(r"[\w-]*", re.ASCII)


def _by_gate() -> dict[str, tuple[int, ...]]:
    table: dict[str, tuple[int, ...]] = {}
    for number, kind in enumerate(_OTHERS):
        for hint in kind.hints:
            gate = hint.partition("|")[0]
            table[gate] = (*table.get(gate, ()), number)
    return table


_BY_WORD = {gate.encode(): numbers for gate, numbers in _by_gate().items() if gate.isalnum()}
_BY_SIGN = {gate: numbers for gate, numbers in _by_gate().items() if not gate.isalnum()}
_GATES = frozenset(_BY_WORD)


def _kinds_of(words: set[bytes], lower: str) -> list[int]:
    """The kinds that may be in a text, in the order of their table."""
    numbers = {number for word in _GATES & words for number in _BY_WORD[word]}
    for sign, kinds in _BY_SIGN.items():
        if sign in lower:
            numbers.update(kinds)
    return sorted(numbers)


def _by_beginning() -> dict[str, tuple[Kind, ...]]:
    table: dict[str, tuple[Kind, ...]] = {}
    for kind in TOKENS:
        for beginning in kind.hints:
            table[beginning] = (*table.get(beginning, ()), kind)
    return table


_BEGINNINGS = _by_beginning()


def _tokens(text: str, narrow: bytes) -> Iterator[Found]:
    """Runs of letters that are tokens by their beginning."""
    letters = narrow.translate(_LETTERS)
    at = letters.find(_LONG)
    while at >= 0:
        end = letters.find(b" ", at + _RUN)
        end = len(letters) if end < 0 else end
        start = letters.rfind(b" ", 0, at) + 1
        yield from _token_at(text, start, end)
        at = letters.find(_LONG, end)


def _token_at(text: str, start: int, end: int) -> Iterator[Found]:
    before = text[start - 1] if start else ""
    if before == "\\":
        escaped = _ESCAPED.match(text, start)
        start = escaped.end() if escaped is not None else start
    elif before == "%":
        start += 2
    beginning = text[start : start + 3].lower()
    kinds = _BEGINNINGS.get(beginning, ())
    if beginning[:2] == "sk" and beginning[2:].isalnum():
        kinds = _BEGINNINGS["sk"]
    first = text[start : start + 1]
    if first.isdigit() or first in "abcdefMNO":
        kinds = (*kinds, *_BEGINNINGS["#"])
    if end - start >= 28 and first.islower():
        kinds = (*kinds, *_BEGINNINGS["*"])
    for kind in kinds:
        match = kind.pattern.match(text, start)
        if match is not None and (kind.is_one is None or kind.is_one(match[0])):
            yield Found(kind.name, match.start(), match.end(), match[0])
            return
    yield from _behind(text, start, end, before)


def _behind(text: str, start: int, end: int, before: str) -> Iterator[Found]:
    for sign, kind, back in BEHIND:
        if sign == before:
            for match in kind.pattern.finditer(text, max(0, start - back - 1), end):
                if kind.is_one is None or kind.is_one(match[0]):
                    yield Found(kind.name, match.start(), match.end(), match[0])
    if end - start == _WALLET and text.startswith("0x", start) and WALLET.search(text[max(0, start - 40) : start]):
        yield Found("private key of a wallet", start, end, text[start:end])


_WALLET = 66
"""Letters of such a key: 0x and 32 bytes."""


def _of_kind(text: str, lower: str, kind: Kind) -> Iterator[Found]:
    groups: list[str | int] = [group for group in ("s", "s2") if group in kind.pattern.groupindex]
    groups = groups or [0]
    for start, end in _regions(lower, kind):
        for match in kind.pattern.finditer(text, start, end):
            for group in groups:
                value = match[group]
                if value and (kind.is_one is None or kind.is_one(value)):
                    yield Found(kind.name, match.start(group), match.end(group), value)


def _regions(lower: str, kind: Kind) -> Iterator[tuple[int, int]]:
    """Where a kind may be: around its hints, in the same line."""
    if kind.reach is None:
        yield 0, len(lower)
        return
    before, after = kind.reach
    for hint in {each.partition("|")[2] or each for each in kind.hints}:
        start = end = -1
        at = lower.find(hint)
        while at >= 0:
            first = max(lower.rfind("\n", max(0, at - before), at) + 1, at - before, 0)
            last = lower.find("\n", at, at + after)
            last = min(at + after, len(lower)) if last < 0 else last
            if first > end >= 0:
                yield start, end
            start, end = (start, last) if 0 <= first <= end else (first, last)
            at = lower.find(hint, at + len(hint))
        if end >= 0:
            yield start, end


def _without_overlaps(found: list[Found]) -> list[Found]:
    """Where two claim the same letters, the kind that comes first in the tables has them."""
    taken: list[Found] = []  # by their places
    for each in found:
        at = bisect_left(taken, each.start, key=lambda other: other.start)
        is_free_before = at == 0 or taken[at - 1].end <= each.start
        if is_free_before and (at == len(taken) or each.end <= taken[at].start):
            taken.insert(at, each)
    return taken


def kind_of_name(name: str) -> str:
    lower = name.lower()
    for word, kind in (("phrase", "recovery phrase"), ("token", "token"), ("key", "key"), ("secret", "secret")):
        if word in lower and "pass" not in lower:
            return kind
    return (
        "secret" if any(word in lower for word in ("auth", "cred", "salt", "dsn", "connection", "sid")) else "password"
    )


def is_assigned(name: object, value: object) -> bool:
    """Whether a field of a structure is a secret by its name."""
    return (
        isinstance(name, str) and isinstance(value, str) and len(name) <= _LONGEST_NAME and is_assigned_to(name, value)
    )


_LONGEST_NAME = 80

__all__ = ["ADDRESS", "VERSION", "Found", "find", "is_assigned", "kind_of_name"]
