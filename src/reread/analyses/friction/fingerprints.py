"""Prompts as small sets of numbers that tell how alike two of them are, in any language and any process.

A sketch keeps the smallest hashes of a text's words and word pairs. Two sketches estimate how much of both texts is
shared; for texts of fewer words than a sketch holds, the estimate is exact.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import ceil
from typing import NamedTuple
from zlib import crc32

Sketch = tuple[int, ...]
"""Ascending hashes of 32 bits."""

SIZE = 24
_ODD = 0x9E3779B1
LONGEST = 600
"""Characters of a prompt that are looked at: what follows is pasted."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum() and chr(code) != "'"}
_WITHOUT_SPACES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{2,}")
_COMMON = """
    a an the i you we it he she they me my your our this that these those is are was were be been am do does did done
    to of in on at for from with by as and or but so if then than too also just now not no yes ok okay please pls can
    could
    would will shall should may might let lets let's i'd i'll i'm you're it's that's there here again still said told
    asked want
    wanted need hey hi hello thanks thank again some any all what which who how when where why s t m re ll ve d
    der die das ein eine und oder ich du wir es ist sind bitte nicht mal noch auch zu in auf mit
    le la les un une des et ou je tu il elle est sont que qui de du en ne pas s'il vous plaît te plait
    el los las un una y o yo tú que de en por favor no es son se lo
    o os as um uma e ou eu você que de em por favor não é são"""
_SAYS_LITTLE = frozenset(_COMMON.split())


@lru_cache(maxsize=256)
def words_of(text: str) -> tuple[str, ...]:
    """The words that tell what a prompt is about; for scripts without spaces, pairs of characters."""
    lowered = text[:LONGEST].lower()
    if lowered.isascii():  # splitting is three times as fast as a pattern, and this is done for every prompt
        return tuple(word for word in lowered.translate(_SPACED).split() if word not in _SAYS_LITTLE)
    words = [word for word in _WORD.findall(lowered) if word not in _SAYS_LITTLE]
    if _WITHOUT_SPACES.search(lowered) is None:
        return tuple(words)
    return tuple(part for word in words for part in _parts(word))


def _parts(word: str) -> list[str]:
    is_split = _WITHOUT_SPACES.search(word) is not None
    return [word[i : i + 2] for i in range(len(word) - 1)] if is_split else [word]


def sketch(text: str) -> Sketch:
    """The sketch of a text; empty where it says too little to be told from others."""
    return sketch_of_words(words_of(text))


def sketch_of_words(words: Sequence[str]) -> Sketch:
    single = [crc32(word.encode()) for word in words]
    pairs = [(one * _ODD ^ other) & 0xFFFFFFFF for one, other in pairwise(single)]
    return tuple(sorted({*single, *pairs})[:SIZE])


def likeness(one: Sketch, other: Sketch) -> float:
    """From 0 to 1: the share of what both say together that both say."""
    if not one or not other:
        return 0.0
    mine, theirs = set(one), set(other)
    both = mine | theirs
    # Above the largest hash of a full sketch the other side is unknown.
    limit = min((each[-1] for each in (one, other) if len(each) == SIZE), default=None)
    seen = both if limit is None else {value for value in both if value <= limit}
    return len(mine & theirs & seen) / len(seen)


class _Known(NamedTuple):
    sketch: Sketch
    name: Hashable


def _most_alike(given: Sketch, candidates: Iterable[_Known], alike: float) -> tuple[Hashable, float] | None:
    """The candidate most like a sketch, if one is alike enough; of equals the last."""
    shared_with, size = frozenset(given).intersection, len(given)
    best: tuple[Hashable, float] | None = None
    for other in candidates:
        # What both say together is never less than either sketch: most need not be looked at further.
        if len(shared_with(other.sketch)) < alike * max(size, len(other.sketch)):
            continue
        found = likeness(given, other.sketch)
        if found >= alike and (best is None or found >= best[1]):
            best = other.name, found
    return best


def grouped(sketches: Iterable[tuple[Sketch, Hashable]], alike: float) -> list[list[Hashable]]:
    """Names whose sketches are alike, the oldest first in each group; those like no other stand alone."""
    given = list(sketches)
    held = Counter(chain.from_iterable([each for each, _ in given]))
    shared = {value: count for value, count in held.items() if count > 1}
    leaders: list[_Known] = []
    holders: dict[int, list[int]] = {}
    groups: dict[Hashable, list[Hashable]] = {}
    for each, name in given:
        rare = _rarest(each, shared, alike)
        numbers = {number for value in rare if value in holders for number in holders[value]}
        near = _most_alike(each, [leaders[number] for number in sorted(numbers)], alike) if numbers else None
        groups.setdefault(near[0] if near is not None else name, []).append(name)
        if near is None and rare:
            for value in rare:
                holders.setdefault(value, []).append(len(leaders))
            leaders.append(_Known(each, name))
    return list(groups.values())


def _rarest(given: Sketch, shared: dict[int, int], alike: float) -> list[int]:
    """Hashes of which two sketches share one if they are alike at all: those that fewest others hold, and so many that
    the rest would not be enough. What nobody else holds cannot be shared: most texts have enough of that."""
    found = list(filter(shared.__contains__, given))
    enough = len(given) - ceil(alike * len(given) - 1e-9) + 1
    unshared = len(given) - len(found)
    return sorted(found, key=shared.__getitem__)[: enough - unshared] if unshared < enough else []
