"""How much room text takes in a drawing, and text that fits into the room there is.

A browser may use any font: these are the widths of Inter, which the PNG uses, and most others are narrower.
"""

from __future__ import annotations

import re
import unicodedata

from ..text import one_line

_ASCII = (
    *(28, 28, 40, 63, 64, 81, 64, 22, 36, 36, 50, 66, 28, 46, 28, 36),  # space to /
    *(65, 65, 65, 65, 65, 65, 65, 65, 65, 65, 28, 28, 66, 66, 66, 51),  # 0 to ?
    *(94, 68, 65, 73, 72, 60, 59, 74, 74, 26, 54, 65, 56, 89, 75, 76),  # @ to O
    *(63, 76, 64, 64, 64, 74, 68, 95, 64, 66, 62, 36, 36, 36, 47, 45),  # P to _
    *(50, 56, 62, 56, 62, 58, 36, 61, 59, 24, 24, 54, 24, 87, 59, 60),  # ` to o
    *(61, 61, 37, 52, 36, 58, 56, 81, 54, 56, 54, 36, 33, 36, 66),  # p to ~
)
"""Hundredths of the font's size."""
_OTHER = 0.75
_NARROWEST = 0.22
_BOLD = 1.05
_ELLIPSIS = "…"
_NOT_XML = re.compile("[\ud800-\udfff\ufffe\uffff]")
"""What an XML document may not hold, besides the controls."""


def plain(text: str) -> str:
    """One line that any document can hold."""
    return _NOT_XML.sub("\ufffd", one_line(text))


def breadth(text: str, size: float, *, bold: bool = False) -> float:
    """About how wide a text is."""
    return sum(map(_width, text)) * size * (_BOLD if bold else 1)


def _width(character: str) -> float:
    if " " <= character <= "~":
        return _ASCII[ord(character) - 32] / 100
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 1 if unicodedata.east_asian_width(character) in "WF" else _OTHER


def fit(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """The text, its end cut off where it does not fit."""
    return _cut(plain(text), room, size, bold, tail=0)


def fit_name(text: str, room: float, size: float) -> str:
    """The same for a path or an id, which tells most at its end: the middle goes."""
    return _cut(plain(text), room, size, False, tail=2 / 3)


def _cut(text: str, room: float, size: float, bold: bool, tail: float) -> str:
    most = int(room / (size * _NARROWEST)) + 1
    if len(text) <= most and breadth(text, size, bold=bold) <= room:
        return text
    low, high = 0, min(most, len(text))  # how many characters are kept
    while low < high:
        kept = (low + high + 1) // 2
        if breadth(_without_middle(text, kept, tail), size, bold=bold) <= room:
            low = kept
        else:
            high = kept - 1
    return _without_middle(text, low, tail) if low or breadth(_ELLIPSIS, size) <= room else ""


def _without_middle(text: str, kept: int, tail: float) -> str:
    last = round(kept * tail)
    return text[: kept - last].rstrip() + _ELLIPSIS + (text[-last:].lstrip() if last else "")
