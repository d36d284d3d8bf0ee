"""Text and JSON that arrive in pieces. Of text a word is on the screen as soon as its first letter is known.

A word that turns out too long for its line moves to the next one, so the screen ends up the same however the text was
cut. Off a terminal nothing can move, and a word waits until it is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from .text import UNFINISHED, cells, cut, tabbed

_PIECES = re.compile(r"\n|\t| +|[^ \t\n]+")
_BULLET = re.compile(r"[-*+•–]|\d{1,3}[.)]")
_TAB = 4
_NARROWEST = 8

_CUT_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{0,3}$")
_CUT_WORD = re.compile(r"[,:]\s*[-+.\w]*$")

Paint = Callable[[str], str]


class Flow:
    """One text: give it pieces, write what it returns."""

    def __init__(self, width: int, further: str, paint: Paint, *, is_live: bool) -> None:
        self._width = max(_NARROWEST, width)
        self._further = further
        """What stands before every line but the first."""
        self._paint = paint
        self._is_live = is_live
        self._column = 0
        self._is_fresh = True
        """Whether nothing was written yet: a text does not begin with empty lines."""
        self._held = ""
        """The beginning of an escape sequence: it goes as a whole."""
        self._breaks = 0
        self._gap = 0
        self._source = 0
        self._hang: int | None = None
        """How far lines are indented that go on with this one; None before its first word."""
        self._word = ""
        self._drawn = 0
        """How many characters of the word are on the screen."""
        self._plain: list[str] = []
        self._out: list[str] = []

    def add(self, text: str) -> str:
        text = self._held + text
        unfinished = UNFINISHED.search(text)
        self._held = unfinished[0] if unfinished else ""
        self._take(text[: len(text) - len(self._held)])
        if self._is_live:
            self._draw()
        return self._taken()

    def _take(self, text: str) -> None:
        for piece in _PIECES.findall(tabbed(text)):
            if piece == "\n":
                self._end_word()
                self._breaks, self._column, self._gap, self._source = self._breaks + 1, 0, 0, 0
                self._hang = None
            elif piece == "\t" or piece[0] == " ":
                self._end_word()
                size = _TAB - self._source % _TAB if piece == "\t" else len(piece)
                # Indentation is kept as long as it leaves room for words.
                self._gap = min(self._gap + size, self._width - _NARROWEST)
                self._source += size
            else:
                self._source += len(piece)
                self._grow(piece)

    def end(self) -> str:
        """The last word; the line stays open."""
        self._take(self._held)
        self._held = ""
        self._end_word()
        return self._taken()

    def _grow(self, piece: str) -> None:
        """Chinese, Japanese and Korean have no spaces: a line may end after any of their characters."""
        if piece.isascii() and (not self._word or self._word.isascii()):
            self._word += piece
            self._break_long()
            return
        for character in piece:
            size = cells(character)
            if self._word and size and (size == 2 or cells(self._word[0]) == 2):
                self._end_word()
            self._word += character
            self._break_long()

    def _break_long(self) -> None:
        """A word that no line could hold goes on over several."""
        while cells(self._word) > self._room:
            if self._column:
                self._wrap()
                continue
            head = cut(self._word, self._room)
            tail = self._word[len(head) :]
            self._word = head
            self._end_word()
            self._wrap()
            self._word = tail

    @property
    def _room(self) -> int:
        """For a word that has a line to itself."""
        return self._width - (0 if self._column else self._gap)

    def _end_word(self) -> None:
        if self._word:
            self._draw()
            if self._hang is None:
                bullet = cells(self._word) + 1 if _BULLET.fullmatch(self._word) else 0
                self._hang = min(self._gap + bullet, self._width // 2)
            self._column += self._gap + cells(self._word)
            self._gap, self._word, self._drawn = 0, "", 0

    def _draw(self) -> None:
        if not self._word:
            return
        if self._column and self._column + self._gap + cells(self._word) > self._width:
            self._wrap()
        if not self._drawn:
            self._new_lines()
            self._plain.append(" " * self._gap)
        self._plain.append(self._word[self._drawn :])
        self._drawn = len(self._word)

    def _new_lines(self) -> None:
        if self._breaks and not self._is_fresh:
            self._flush()
            self._out.append("\n" * self._breaks + self._further)
        self._breaks, self._is_fresh = 0, False

    def _wrap(self) -> None:
        """To the next line, with what is drawn of the word."""
        self._flush()
        if self._drawn:
            back = self._gap + cells(self._word[: self._drawn])
            self._out.append(f"\x1b[{back}D\x1b[K")
            self._drawn = 0
        self._new_lines()
        self._out.append("\n" + self._further)
        self._column, self._gap = 0, self._hang or 0

    def _flush(self) -> None:
        text = "".join(self._plain)
        self._plain.clear()
        if text:
            self._out.append(self._paint(text))

    def _taken(self) -> str:
        self._flush()
        taken = "".join(self._out)
        self._out.clear()
        return taken


def partial_input(text: str) -> Any:
    """What a beginning of a JSON object says so far; None where that cannot be told yet."""
    closing, in_string, is_escaped = _open_ends(text)
    if in_string:
        text = (text[:-1] if is_escaped else _CUT_ESCAPE.sub("", text)) + '"'
    # A key without its value, half a number or a comma at the end: leave out what is not said yet.
    for attempt in (text, text + ":null", _CUT_WORD.sub("", text), _CUT_WORD.sub(":null", text)):
        try:
            return json.loads(attempt + closing, strict=False)
        except ValueError:
            continue
    return None


def _open_ends(text: str) -> tuple[str, bool, bool]:
    """The brackets that would close it, whether it ends inside a string, and there after a backslash."""
    stack: list[str] = []
    in_string = is_escaped = False
    for character in text:
        if is_escaped:
            is_escaped = False
        elif in_string:
            is_escaped = character == "\\"
            in_string = character != '"'
        elif character == '"':
            in_string = True
        elif character in "{[":
            stack.append("}" if character == "{" else "]")
        elif character in "}]" and stack:
            stack.pop()
    return "".join(reversed(stack)), in_string, is_escaped
