"""Finds the secrets in a text and their kinds: by shape, by the name before it, or by the command around it."""

from __future__ import annotations

import re
from base64 import b64decode
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import filterfalse
from operator import attrgetter
from typing import NamedTuple

from reread.features.word_tables import table

from .named_values import assignments, kind_of_name, names_in
from .shapes import BEHIND, EMAIL, KINDS, OPTIONAL, TOKENS, USER, WALLET, SecretKind

_TABLE = table("secrets/rules", "words")
SHORTEST = 6
"""Letters of the shortest text that may hold a secret."""
LONGEST = 4_000_000
"""Longest text examined in one piece, in characters; a longer one is examined in several, which overlap."""
OVERLAP = 64_000
VERSION = 9
"""Raise it when `find` finds something else: everything an older version examined is then examined again."""

_RUN = 16
"""Letters of the shortest run that may be a token."""
_LETTERS = bytes(
    97 if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "_-") else 32 for byte in range(256)
)
"""Maps every byte to `a` if it may be a letter of a token, else to a space."""
_LONG = b"a" * _RUN
_ESCAPED = re.compile(r"[nrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|033|e")
_COLOUR = re.compile(_TABLE["colour"].text)
_JOINED = re.compile(r"(?<![ \t\\])\\\r?\n[ \t]*")
"""The backslash that joins a line with the next: a shell reads a token that it divides as one. Nearly always a space
stands before it, and nothing is divided."""
_ESCAPES = re.compile(f"{_COLOUR.pattern}|{_JOINED.pattern}")
_WORDS = bytes(byte if chr(byte).isascii() and chr(byte).isalnum() else 32 for byte in range(256))
"""Maps every byte to itself if it belongs to a word, else to a space."""
_SHORT = 96
"""Longest text whose result is cached: names of fields, tools and models occur again and again."""


class FoundSecret(NamedTuple):
    kind: str
    start: int
    end: int
    value: str
    is_rest: bool = False
    """Whether it is the part of a longer find that no other find claimed: not a secret by itself, and not to be
    shown."""


def find(text: str, *, addresses: bool = False) -> list[FoundSecret]:
    """The secrets of a text in order; none overlaps another."""
    if len(text) <= _SHORT:
        return list(_find_short(text, addresses)) if len(text) >= SHORTEST else []
    if len(text) <= LONGEST:
        return _in_colours(text, addresses=addresses)
    everything: list[FoundSecret] = []
    step = LONGEST - OVERLAP
    for start in range(0, len(text), step):
        piece = _in_colours(text[start : start + LONGEST], addresses=addresses)
        first = (
            start + OVERLAP // 2 if start else 0
        )  # a secret that begins at the rim of a piece may be cut; the next piece has the whole of it
        last = start + step + OVERLAP // 2
        found = (each._replace(start=each.start + start, end=each.end + start) for each in piece)
        everything += [each for each in found if first <= each.start < last]
    return without_overlaps(text, everything)


@lru_cache(maxsize=16_384)
def _find_short(text: str, addresses: bool) -> tuple[FoundSecret, ...]:
    return tuple(_in_colours(text, addresses=addresses))


def is_plain_id(text: str) -> bool:
    """Whether a text is an id or a time. Every line has several of them, and nothing is ever found in them."""
    return len(text) <= _LONGEST_ID and _PLAIN_ID.fullmatch(text) is not None


_LONGEST_ID = 64
_PLAIN_ID = re.compile(_TABLE["plain_id"].text, re.ASCII)


def may_be_coloured(text: str) -> bool:
    """Whether a text may have colours or escapes that must be removed before it is examined."""
    return _escapes_in(text, text.encode("latin-1", "replace")) is not None


def _escapes_in(text: str, narrow: bytes) -> re.Pattern[str] | None:
    """What must be removed from a text; most texts have no escape, many no backslash. A single byte is found ten times
    as fast as several."""
    is_escaped = b"\\" in narrow
    if (
        b"\x1b" in narrow
        or b"\x9b" in narrow
        or _BARE_COLOUR.search(narrow) is not None
        or (is_escaped and any(each in narrow for each in _ESCAPED_COLOURS))
        or (b"^" in narrow and b"^[[" in narrow)
        or (not text.isascii() and "␛" in text)
    ):
        return _ESCAPES
    return _JOINED if is_escaped and _DIVIDED.search(narrow) is not None else None


_BARE_COLOUR = re.compile(rb"\[(?:[01]|3[123])m")
_DIVIDED = re.compile(rb"\\\r?\n(?<![ \t\\]\\\n)(?<![ \t\\]\\\r\n)")
_ESCAPED_COLOURS = (b"\\u00", b"x1b[", b"x1B[", b"033[", b"\\e[")


def _in_colours(text: str, *, addresses: bool) -> list[FoundSecret]:
    """Examines a text without its colours and with escapes as letters; gives the places in the original text."""
    narrow = text.encode("latin-1", "replace")  # one byte for each letter
    escapes = _escapes_in(text, narrow)
    if escapes is None:
        return _found(text, narrow, addresses=addresses)
    starts, skipped, parts, position, total = [0.0], [0], [], 0, 0
    for match in escapes.finditer(text):
        code = match["letter"] if escapes is _ESCAPES else None
        letter = chr(int(code, 16)) if code else ""
        parts += [text[position : match.start()], letter]
        total += match.end() - match.start() - len(letter)
        starts.append(match.end() - total - len(letter) / 2)  # so a letter's start and end both lie within its escape
        skipped.append(total)
        position = match.end()
    if not parts:
        return _found(text, narrow, addresses=addresses)
    clean = "".join([*parts, text[position:]])

    def place(at: int, *, is_end: bool) -> int:
        before = bisect_left(starts, at, 1) - 1 if is_end else bisect_right(starts, at) - 1
        return at + skipped[before]

    return [
        each._replace(start=place(each.start, is_end=False), end=place(each.end, is_end=True))
        for each in _found(clean, clean.encode("latin-1", "replace"), addresses=addresses)
    ]


def _found(text: str, narrow: bytes, *, addresses: bool) -> list[FoundSecret]:
    found = list(_tokens(text, narrow))
    if len(text) <= _SHORT and _ONE_RUN.fullmatch(text):
        return without_overlaps(text, found)
    small = narrow.lower()
    words = set(filterfalse(_BORING.__contains__, small.translate(_WORDS).split()))
    lower = small.decode("latin-1")
    for hint in _hints_in(words, lower):
        found += _of_kind(text, lower, KINDS[hint.kind], hint.place)
    if addresses:
        found += _of_kind(text, lower, OPTIONAL[0], ".")
    # The shorter of two values belongs to the nearer name, so it comes first.
    named = sorted(assignments(text, lower, _named(words)), key=lambda each: (each.end - each.start, each.start))
    found += [FoundSecret(kind_of_name(each.name), each.start, each.end, each.value) for each in named]
    return without_overlaps(text, found)


_BORING: set[bytes] = set()
"""Words known to contain no name of a secret and to be no hint: nearly all words, after the first texts."""
_MOST_BORING = 200_000


def _named(words: set[bytes]) -> dict[bytes, tuple[int, ...]]:
    """The words that contain names of secrets, with their places. Words without any are remembered."""
    named = {}
    for word in words:
        if found := names_in(word):
            named[word] = found
        elif len(_BORING) < _MOST_BORING and word not in _GATES:
            _BORING.add(word)
    return named


_ONE_RUN = re.compile(r"[\w-]*", re.ASCII)


class _Hint(NamedTuple):
    """A place to look for a kind in a text with a certain word or sign. Sorted hints are in the order of the tables."""

    kind: int
    number: int
    """The number of the kind's first hint with this place."""
    place: str
    """The string to look around; empty if the whole text is searched."""
    needed: str
    """A string the text must also contain. If the kind needs none, a sign of the place, which is found ten times as
    fast."""


def _by_gate() -> dict[str, tuple[_Hint, ...]]:
    table: dict[str, tuple[_Hint, ...]] = {}
    for number, kind in enumerate(KINDS):
        places: dict[str, int] = {}
        for hint in kind.hints:
            gate, _, place = hint.partition("|")
            place = "" if kind.reach is None else place or gate
            first = places.setdefault(place, len(places))
            table[gate] = (*table.get(gate, ()), _Hint(number, first, place, kind.needed or _sign_of(place)))
    return table


def _sign_of(place: str) -> str:
    return next((letter for letter in place if letter in "$\\{="), "")


_BY_WORD = {gate.encode(): hints for gate, hints in _by_gate().items() if gate.isalnum()}
_BY_SIGN = {gate: hints for gate, hints in _by_gate().items() if not gate.isalnum()}
_GATES = frozenset(_BY_WORD)


def _hints_in(words: set[bytes], lower: str) -> list[_Hint]:
    """The kinds that may be in a text, each with its place there, in the order of their tables."""
    hints = [hint for word in _GATES & words for hint in _BY_WORD[word]]
    for sign, others in _BY_SIGN.items():
        if sign in lower:
            hints += others
    return sorted({hint for hint in hints if hint.needed in lower and hint.place in lower})


def _by_beginning() -> dict[str, tuple[SecretKind, ...]]:
    table: dict[str, tuple[SecretKind, ...]] = {}
    for kind in TOKENS:
        for beginning in kind.hints:
            table[beginning] = (*table.get(beginning, ()), kind)
    return table


_BEGINNINGS = _by_beginning()
_LOOKING_ON = frozenset(beginning.encode() for beginning in _BEGINNINGS)


def _tokens(text: str, narrow: bytes) -> Iterator[FoundSecret]:
    """Runs of letters that are tokens, recognised by how they begin."""
    letters = narrow.translate(_LETTERS)
    at = letters.find(_LONG)
    while at >= 0:
        end = letters.find(b" ", at + _RUN)
        end = len(letters) if end < 0 else end
        start = letters.rfind(b" ", 0, at) + 1
        run = narrow[start - 1 : end + 1]
        if run not in _BORING_RUNS:
            found = list(_token_at(text, start, end))
            if found:
                yield from found
            elif start and end < len(narrow) and _is_boring(run):
                _BORING_RUNS.add(run)
        at = letters.find(_LONG, end)


_BORING_RUNS: set[bytes] = set()
"""Runs that are not tokens, each with the sign before and after it: names of functions and folders, ids."""


def _is_boring(run: bytes) -> bool:
    """Whether a run that is not a token is never one, in any text: no pattern depends on more than the signs around
    it."""
    if len(_BORING_RUNS) >= _MOST_BORING or len(run) > _LONGEST_BORING:
        return False
    before, behind = run[:1], run[-1:]
    if before in b"\\%:?" or run[1:2] == b"0" or not behind.isascii() or behind == b"?":
        return False
    return behind not in b".+/=" or (run[1:4].lower() not in _LOOKING_ON and run[1:2] not in b"MNO")


_LONGEST_BORING = 80


def _token_at(text: str, start: int, end: int) -> Iterator[FoundSecret]:
    before = text[start - 1] if start else ""
    if before == "\\":
        escaped = _ESCAPED.match(text, start)
        start = escaped.end() if escaped is not None else start
    elif before == "%":
        start += 2
    if end - start >= _SHORTEST_FILE and text[start] in _FIRST_OF_TEXT and (file := _encoded(text, start)) is not None:
        yield file
        return
    for kind in _kinds_at(text, start, end):
        match = kind.pattern.match(text, start)
        if match is not None and (kind.is_one is None or kind.is_one(match[0])):
            yield FoundSecret(kind.name, match.start(), match.end(), match[0])
            return
    yield from _behind(text, start, end, before)


def _kinds_at(text: str, start: int, end: int) -> Sequence[SecretKind]:
    """The kinds of tokens that begin as this text does."""
    beginning = text[start : start + 3].lower()
    kinds = _BEGINNINGS.get(beginning, ())
    if beginning[:2] == "sk" and beginning[2:].isalnum():
        kinds = _BEGINNINGS["sk"]
    first = text[start]
    if first.isdigit() or first in "abcdefMNO":
        kinds = (*kinds, *_BEGINNINGS["#"])
    if end - start >= 28 and first.islower():
        kinds = (*kinds, *_BEGINNINGS["*"])
    return kinds


def _behind(text: str, start: int, end: int, before: str) -> Iterator[FoundSecret]:
    for sign, kind, back in BEHIND:
        if sign == before:
            for match in kind.pattern.finditer(text, max(0, start - back - 1), end):
                if kind.is_one is None or kind.is_one(match[0]):
                    yield FoundSecret(kind.name, match.start(), match.end(), match[0])
    if end - start == _WALLET and text.startswith("0x", start) and WALLET.search(text[max(0, start - 40) : start]):
        yield FoundSecret("private key of a wallet", start, end, text[start:end])


def _encoded(text: str, start: int) -> FoundSecret | None:
    """A file in base64 in which secrets are, such as an `.env`; random letters are told from one by their first six."""
    if text[start + 4] not in _FIRST_OF_TEXT or _decoded(text[start : start + 8]) is None:
        return None
    match = _BASE64.match(text, start)
    inside = _decoded("".join(match[0].split())) if match is not None else None
    if match is None or inside is None or all(each.kind in (EMAIL, USER) for each in find(inside)):
        return None
    return FoundSecret("file with secrets", start, match.end(), match[0])


def _decoded(letters: str) -> str | None:
    """What base64 says, if it is text."""
    try:
        told = b64decode(letters[: len(letters) // 4 * 4]).decode("ascii")
    except ValueError:
        return None
    return told if _TEXT.fullmatch(told) else None


_SHORTEST_FILE = 32
_FIRST_OF_TEXT = frozenset("IJKLMNOPQRSTUVWXYZabcdef")
"""The letters of base64 that the first of three printable characters gives."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]{32,}(?:\r?\n[A-Za-z0-9+/]+(?![^\s=]))*={0,2}")
_TEXT = re.compile(r"[\t\r\n -~]+")
_WALLET = 66
"""Length of such a key: 0x and 32 bytes as hexadecimal digits."""


def _of_kind(text: str, lower: str, kind: SecretKind, place: str) -> Iterator[FoundSecret]:
    groups = _groups_of(kind.pattern)
    for start, end in _regions(lower, place, kind.reach) if kind.reach is not None else ((0, len(text)),):
        if kind.needed and lower.find(kind.needed, start, end) < 0:
            continue
        for match in kind.pattern.finditer(text, start, end):
            for group in groups:
                value = match[group]
                if value and (kind.is_one is None or kind.is_one(value)):
                    yield FoundSecret(kind.name, match.start(group), match.end(group), value)


@cache
def _groups_of(pattern: re.Pattern[str]) -> tuple[str | int, ...]:
    return tuple(group for group in ("s", "s2") if group in pattern.groupindex) or (0,)


def _regions(lower: str, place: str, reach: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The parts of a text where a kind may be: around each occurrence of a place, within the line."""
    before, after = reach
    start = end = -1
    at = lower.find(place)
    while at >= 0:
        first = max(lower.rfind("\n", max(0, at - before), at) + 1, at - before, 0)
        last = lower.find("\n", at, at + after)
        last = min(at + after, len(lower)) if last < 0 else last
        if first > end >= 0:
            yield start, end
        start, end = (start, last) if 0 <= first <= end else (first, last)
        at = lower.find(place, at + len(place))
    if end >= 0:
        yield start, end


def without_overlaps(text: str, found: Iterable[FoundSecret]) -> list[FoundSecret]:
    """The finds in the order of their places. Where two claim the same letters, the first gets them, the other the
    rest."""
    taken: list[FoundSecret] = []
    for each in found:
        at = bisect_left(taken, each.start, key=_start)
        is_free_before = at == 0 or taken[at - 1].end <= each.start
        if is_free_before and (at == len(taken) or each.end <= taken[at].start):
            taken.insert(at, each)
        else:
            for rest in _left_of(each, text, taken):
                insort(taken, rest, key=_start)
    return taken


_start = attrgetter("start")


def _left_of(claimed: FoundSecret, text: str, secrets: list[FoundSecret]) -> list[FoundSecret]:
    """The parts of a find that no other find has, except parts without any letter or digit."""
    inside = [each for each in secrets if each.start < claimed.end and each.end > claimed.start]
    starts, ends = [claimed.start, *(each.end for each in inside)], [*(each.start for each in inside), claimed.end]
    gaps = zip(starts, ends, strict=True)
    parts = [FoundSecret(claimed.kind, start, end, text[start:end], is_rest=True) for start, end in gaps]
    return [part for part in parts if any(map(str.isalnum, part.value))]
