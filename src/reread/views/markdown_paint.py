"""Colours Markdown while it streams: headings, emphasis, lists, tables, code and fences.

The signs of the markup stay, dim: a line that is on the screen already cannot lose the two cells of an `**` whose end
comes seconds later, and what is copied is what was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from .text import Style

_PIECES = re.compile(r"\s+|`|\*+|\||[^\s`*|]+")
_NUMBER = re.compile(r"\d+[.)]")
_BULLETS = ("-", "*", "+")
_FENCE = 3
Looks = tuple[str, ...]


class MarkdownPaint:
    """Paints one text that arrives in pieces; call `begin_line` where a line of the text begins."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._in_fence = False
        self._ticks = 0
        """Backticks at the beginning of the line."""
        self._reset()

    def begin_line(self) -> None:
        if self._ticks >= _FENCE:
            self._in_fence = not self._in_fence
        self._reset()

    def _reset(self) -> None:
        self._ticks = self._stars = 0
        self._is_start = True
        self._is_heading = self._is_bold = self._is_code = self._is_table = False

    def __call__(self, text: str) -> str:
        if not self._style.colour:
            return text
        return "".join(self._style.paint("".join(t for _, t in group), *looks) for looks, group in self._grouped(text))

    def _grouped(self, text: str) -> Iterator[tuple[Looks, Iterator[tuple[Looks, str]]]]:
        return groupby(((self._looks(piece), piece) for piece in _PIECES.findall(text)), key=lambda each: each[0])

    def _looks(self, piece: str) -> Looks:
        if piece.isspace():
            return ("bold",) if self._is_heading else ()
        is_start, self._is_start = self._is_start, False
        if piece == "`" and (is_start or self._ticks):
            self._ticks += 1
            return ("dim",)
        if self._in_fence or self._ticks >= _FENCE:
            return ("cyan",) if self._in_fence else ("dim",)
        if self._ticks:  # they were no fence
            self._is_code, self._ticks = self._ticks % 2 == 1, 0
        if piece == "`":
            self._is_code = not self._is_code
            return ("dim",)
        return ("cyan",) if self._is_code else self._prose(piece, is_start=is_start)

    def _prose(self, piece: str, *, is_start: bool) -> Looks:
        if is_start and (piece in _BULLETS or _NUMBER.fullmatch(piece)):
            return ("yellow",)
        self._is_heading = self._is_heading or (is_start and piece.startswith("#"))
        self._is_table = self._is_table or (is_start and piece == "|")
        if piece == "|" and self._is_table:
            return ("dim",)
        if piece.startswith("*"):
            before, self._stars = self._stars, self._stars + len(piece)
            if before < 2 <= self._stars:
                self._is_bold = not self._is_bold
            return ("dim",)
        self._stars = 0
        return ("bold",) if self._is_heading or self._is_bold else ()
