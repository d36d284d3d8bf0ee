"""What in a text is secret, and of which kind."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from .assigned import NAMES, assignments, is_secret
from .kinds import ADDRESS, KINDS, OPTIONAL, Kind

SHORTEST = 6
"""Letters of a text that may hold a secret."""
LONGEST = 4_000_000
"""Characters looked at in one piece; longer texts are looked at in several, which overlap."""
OVERLAP = 8_000


class Found(NamedTuple):
    kind: str
    start: int
    end: int
    value: str


def find(text: str, *, addresses: bool = False) -> list[Found]:
    """The secrets of a text in their order; none overlaps another."""
    kinds = (*KINDS, *OPTIONAL) if addresses else KINDS
    if len(text) <= LONGEST:
        return _without_overlaps(_found(text, kinds))
    everything: list[Found] = []
    for start in range(0, len(text), LONGEST - OVERLAP):
        piece = _found(text[start : start + LONGEST], kinds)
        everything += [each._replace(start=each.start + start, end=each.end + start) for each in piece]
    return _without_overlaps(everything)


def _found(text: str, kinds: tuple[Kind, ...]) -> list[Found]:
    if len(text) < SHORTEST:
        return []
    lower = text.lower()
    found: list[Found] = []
    for kind in kinds:
        for hint in kind.hints:
            if hint in lower:
                found += _of_kind(text, kind)
                break
    found += [Found(kind_of_name(each.name), each.start, each.end, each.value) for each in assignments(text, lower)]
    return found


def _of_kind(text: str, kind: Kind) -> Iterator[Found]:
    group = "s" if "s" in kind.pattern.groupindex else 0
    for match in kind.pattern.finditer(text):
        value = match[group]
        if value and (kind.is_one is None or kind.is_one(value)):
            yield Found(kind.name, match.start(group), match.end(group), value)


def _without_overlaps(found: list[Found]) -> list[Found]:
    """Where two claim the same letters, the kind that comes first in the table has them."""
    taken: list[Found] = []  # by their places
    for each in found:
        at = bisect_left(taken, each.start, key=lambda other: other.start)
        is_free_before = at == 0 or taken[at - 1].end <= each.start
        if is_free_before and (at == len(taken) or each.end <= taken[at].start):
            taken.insert(at, each)
    return taken


def kind_of_name(name: str) -> str:
    lower = name.lower()
    for word in ("pass", "pwd"):
        if word in lower:
            return "password"
    return "token" if "token" in lower else "key" if "key" in lower else "secret"


def is_assigned(name: object, value: object) -> bool:
    """Whether a field of a structure is a secret by its name."""
    if not isinstance(name, str) or not isinstance(value, str) or len(name) > 80:
        return False
    return NAMES.fullmatch(name) is not None and is_secret(name, value, is_quoted=True)


__all__ = ["ADDRESS", "Found", "find", "is_assigned", "kind_of_name"]
