"""The text that a person types at `reread run`, as a pure value: keys in, text, cursor and rows out.

Python's readline would do much of this, but not where Python is linked with libedit, as most builds for macOS and those
of uv are: there, pasted lines would become prompts of their own. And nothing can be typed at it while the client works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple

from reread.views.text import cells, harmless

_KEY = re.compile(r"\x1b\[200~.*?\x1b\[201~|\x1b\[[0-9;]*[@-~]|\x1bO.|\x1b.|.", re.DOTALL)
_PASTE, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_WORD = re.compile(r"\S+\s*$")
_NEXT_WORD = re.compile(r"\s*\S+")


class KeyAction(Enum):
    """What a key asks of the loop around the line."""

    SUBMIT = auto()
    LEAVE = auto()
    """Ctrl-D on an empty line."""
    REDRAW = auto()
    """Ctrl-L."""


Complete = Callable[[str], Sequence[str]]
"""The words that a begun word may become: `/mo`, `@src/ma`."""


class InputRows(NamedTuple):
    lines: list[str]
    row: int
    column: int
    """Where the cursor is."""
    about: str = ""
    """Which of the lines these are, if there are more."""

    def part(self, most: int) -> InputRows:
        """The lines around the cursor: those above the screen could not be drawn again."""
        first = max(0, min(self.row - most // 2, len(self.lines) - most))
        if len(self.lines) <= most:
            return self
        about = f"lines {first + 1} to {first + most} of {len(self.lines)}"
        return InputRows(self.lines[first : first + most], self.row - first, self.column, about)


class InputLine:
    """A text of one or several lines with a cursor, a history and completion."""

    def __init__(self, history: Sequence[str] = (), complete: Complete = lambda _: ()) -> None:
        self._history = list(history)
        self._complete = complete
        self._at = len(self._history)
        self._draft = ""
        self._rest = ""
        """A key or a paste of which the end has not come yet."""
        self.text = ""
        self.cursor = 0
        self.offered: tuple[str, ...] = ()
        """What Tab found, if it is more than one word."""

    def feed(self, keys: str) -> tuple[KeyAction | None, str]:
        """Takes keys up to the first that the loop must act on; returns it, and the keys behind it."""
        keys, self._rest = self._rest + keys, ""
        at = 0
        while at < len(keys):
            left = keys[at:]
            if _is_begun(left):
                self._rest = left
                return None, ""
            found = _KEY.match(left)
            assert found is not None  # noqa: S101  the last alternative matches any character
            at += found.end()
            asked = self._press(found[0])
            if asked is not None:
                return asked, keys[at:]
        return None, ""

    def set(self, text: str) -> None:
        self.text, self.cursor, self.offered = text, len(text), ()

    def take(self) -> str:
        """The text, which the next one follows in the history."""
        text = self.text
        if text.strip() and (not self._history or self._history[-1] != text):
            self._history.append(text)
        self._at, self._draft = len(self._history), ""
        self.set("")
        return text

    def _press(self, key: str) -> KeyAction | None:
        self.offered = () if key != "\t" else self.offered
        if key.startswith(_PASTE):
            pasted = key[len(_PASTE) : -len(_PASTE_ENDS)].replace("\r\n", "\n").replace("\r", "\n")
            self._insert(harmless(pasted).replace("\t", "    "))
        elif key in ("\r", "\n"):
            if not self.text[: self.cursor].endswith("\\"):
                return KeyAction.SUBMIT
            self._erase(self.cursor - 1, self.cursor)
            self._insert("\n")
        elif key == "\x04":
            if not self.text:
                return KeyAction.LEAVE
            self._erase(self.cursor, self.cursor + 1)
        elif key == "\x0c":
            return KeyAction.REDRAW
        elif key == "\t":
            self._complete_word()
        elif (motion := _MOTIONS.get(key)) is not None:
            motion(self)
        elif key.isprintable():
            self._insert(key)
        return None

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
        self.cursor += len(text)

    def _erase(self, start: int, end: int) -> None:
        self.text = self.text[: max(0, start)] + self.text[end:]
        self.cursor = max(0, min(start, len(self.text)))

    def _move(self, to: int) -> None:
        self.cursor = max(0, min(to, len(self.text)))

    @property
    def _line_start(self) -> int:
        return self.text.rfind("\n", 0, self.cursor) + 1

    @property
    def _line_end(self) -> int:
        end = self.text.find("\n", self.cursor)
        return len(self.text) if end < 0 else end

    def _up(self) -> None:
        start = self._line_start
        if start:
            before = self.text.rfind("\n", 0, start - 1) + 1
            self._move(min(before + self.cursor - start, start - 1))
        else:
            self._recall(-1)

    def _down(self) -> None:
        end = self._line_end
        if end < len(self.text):
            after = self.text.find("\n", end + 1)
            self._move(min(end + 1 + self.cursor - self._line_start, len(self.text) if after < 0 else after))
        else:
            self._recall(1)

    def _recall(self, step: int) -> None:
        """The next text of the history in a direction that begins like what was typed."""
        if self._at == len(self._history):
            self._draft = self.text
        at = self._at + step
        while 0 <= at < len(self._history) and not self._history[at].startswith(self._draft):
            at += step
        if 0 <= at < len(self._history):
            self._at = at
            self.set(self._history[at])
        elif at >= len(self._history) and self._at < len(self._history):
            self._at = len(self._history)
            self.set(self._draft)

    def _back_word(self) -> int:
        found = _WORD.search(self.text[: self.cursor])
        return found.start() if found is not None else 0

    def _next_word(self) -> int:
        found = _NEXT_WORD.match(self.text, self.cursor)
        return found.end() if found is not None else len(self.text)

    def _complete_word(self) -> None:
        """Completes the word before the cursor as far as it is clear; a second Tab goes through what is offered."""
        start = max(self.text.rfind(" ", 0, self.cursor), self.text.rfind("\n", 0, self.cursor)) + 1
        word = self.text[start : self.cursor]
        if self.offered and word in self.offered:
            found = self.offered[(self.offered.index(word) + 1) % len(self.offered)]
        else:
            words = tuple(self._complete(word)) if word.startswith("@") or (word.startswith("/") and not start) else ()
            self.offered = words if len(words) > 1 else ()
            common = _common(words)
            found = f"{common} " if len(words) == 1 and not common.endswith("/") else common or word
            if self.offered and found == word:
                found = words[0]
        self._erase(start, self.cursor)
        self._insert(found)

    def rows(self, prompt: str, width: int) -> InputRows:
        """The text below a prompt, wrapped to a width, and the place of the cursor in it."""
        lines, row, column = [prompt], 0, cells(prompt)
        indent = " " * cells(prompt)
        for number, character in enumerate(f"{self.text} "):
            size = cells(character)
            if cells(lines[-1]) + size >= width and character != "\n":
                lines.append(indent)
            if number == self.cursor:
                row, column = len(lines) - 1, cells(lines[-1])
            if character == "\n":
                lines.append(indent)
            elif number < len(self.text):
                lines[-1] += character
        return InputRows(lines, row, column)


def _is_begun(keys: str) -> bool:
    """Whether these are the beginning of a key or a paste whose end is still to come."""
    if keys.startswith(_PASTE):
        return _PASTE_ENDS not in keys
    return re.fullmatch(r"\x1b(\[[0-9;]*|O)?", keys) is not None


def _common(words: Sequence[str]) -> str:
    """The beginning that all words share."""
    if not words:
        return ""
    first, last = min(words), max(words)
    length = next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]


_MOTIONS: dict[str, Callable[[InputLine], None]] = {
    **dict.fromkeys(("\x1b[D", "\x1bOD", "\x02"), lambda line: line._move(line.cursor - 1)),
    **dict.fromkeys(("\x1b[C", "\x1bOC", "\x06"), lambda line: line._move(line.cursor + 1)),
    **dict.fromkeys(("\x1b[A", "\x1bOA", "\x10"), InputLine._up),
    **dict.fromkeys(("\x1b[B", "\x1bOB", "\x0e"), InputLine._down),
    **dict.fromkeys(("\x1b[H", "\x1bOH", "\x1b[1~", "\x01"), lambda line: line._move(line._line_start)),
    **dict.fromkeys(("\x1b[F", "\x1bOF", "\x1b[4~", "\x05"), lambda line: line._move(line._line_end)),
    **dict.fromkeys(("\x1bb", "\x1b[1;5D", "\x1b[1;3D"), lambda line: line._move(line._back_word())),
    **dict.fromkeys(("\x1bf", "\x1b[1;5C", "\x1b[1;3C"), lambda line: line._move(line._next_word())),
    **dict.fromkeys(("\x7f", "\x08"), lambda line: line._erase(line.cursor - 1, line.cursor) if line.cursor else None),
    "\x1b[3~": lambda line: line._erase(line.cursor, line.cursor + 1),
    **dict.fromkeys(("\x17", "\x1b\x7f"), lambda line: line._erase(line._back_word(), line.cursor)),
    "\x0b": lambda line: line._erase(line.cursor, line._line_end),
    "\x15": lambda line: line._erase(line._line_start, line.cursor),
    **dict.fromkeys(("\x1b\r", "\x1b\n"), lambda line: line._insert("\n")),
}
"""Keys that move, erase or break the line: arrows, Home, End, and those of Emacs and readline."""
