"""Finds the elements of a JSON array by position, without reading what they say.

Hooks and scripts keep copies of a transcript as one array; it may be cut short or hold what strict JSON
forbids, and still every byte of it that says something is given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

__all__ = ["Span", "elements", "opens_array"]

_BOM = b"\xef\xbb\xbf"
_OPENING = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_OPENING_OF_RECORDS = re.compile(_OPENING.pattern + rb"\s*(?:[{\]]|\Z)")
_GAP = re.compile(rb"[\s,]*+")
# Possessive, so that a string of 100 MB costs no backtracking memory; a lone quote is a string cut short.
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\],]', re.DOTALL)
_DECODER = msgspec.json.Decoder(list[msgspec.Raw])


class Span(NamedTuple):
    begin: int
    end: int
    ended: bool
    """Whether a comma or the closing bracket followed."""


def opens_array(head: bytes) -> bool:
    """Whether a file that begins so is a JSON array of records.

    A bracket alone is not enough: captured output may begin with a line like `[info] ready`.
    """
    return _OPENING_OF_RECORDS.match(head) is not None


def elements(data: bytes) -> Iterator[Span]:
    """What follows the last complete element of a damaged array is one more span, not ended."""
    opening = _OPENING.match(data)
    position = opening.end() if opening else 0
    try:
        found = _DECODER.decode(memoryview(data)[len(_BOM) if data.startswith(_BOM) else 0 :])
    except (msgspec.DecodeError, RecursionError):
        return _scan(data, position)
    return _measure(data, position, found)


def _measure(data: bytes, position: int, found: list[msgspec.Raw]) -> Iterator[Span]:
    """msgspec gives the bytes of each element but not their place: they lie in order, a gap apart."""
    for element in found:
        gap = _GAP.match(data, position)
        begin = gap.end() if gap else position
        position = begin + memoryview(element).nbytes
        yield Span(begin, position, ended=True)


def _scan(data: bytes, position: int) -> Iterator[Span]:
    """For text that msgspec refuses: NaN, lone surrogates, control bytes, a file cut short."""
    depth = 0
    for token in _TOKEN.finditer(data, position):
        mark = data[token.start() : token.start() + 1]
        if mark == b'"':
            if token.end() - token.start() == 1:
                break
        elif mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if depth < 0 or (depth == 0 and mark == b","):
            yield from _trimmed(data, position, token.start(), ended=True)
            position = token.end()
        if depth < 0:
            break
    yield from _trimmed(data, position, len(data), ended=False)


def _trimmed(data: bytes, begin: int, end: int, *, ended: bool) -> Iterator[Span]:
    text = data[begin:end].lstrip()
    if text:
        yield Span(end - len(text), end - len(text) + len(text.rstrip()), ended)
