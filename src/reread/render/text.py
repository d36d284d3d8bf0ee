"""Text on a grid of character cells: colour, width, wrapping, tables.

Width is counted in cells, not characters: Chinese, Japanese and Korean take two, combining marks none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")

OBEYED = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
"""What a terminal obeys, and what makes a line read as what it is not: overrides of direction, unseen letters. The
joiners stay, for they spell emoji and Persian. None of these is printable, as Python has it."""
_OBEYED = re.compile(rf"[{OBEYED}](?:(?<=\x1b)\[[0-?]*[ -/]*[@-~])?")
"""One of them; a sequence that sets colours or moves the cursor goes as a whole."""
_BREAKS = dict.fromkeys("\x0b\x0c\x85\u2028\u2029", "\n")
_LOOK = f"(?:{'|'.join(_CODES.values())})"
_FOREIGN = re.compile(rf"[{OBEYED}\n](?<!\x1b(?=\[(?:0|{_LOOK}(?:;{_LOOK})*)m))")
"""One of them that begins no colour of ours."""


class Style:
    """Colours text, or leaves it alone where colour is not wanted."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def paint(self, text: str, *looks: str) -> str:
        if not self.colour or not text or not looks:
            return text
        return f"\x1b[{';'.join(_CODES[look] for look in looks)}m{text}\x1b[0m"


def harmless(text: str) -> str:
    """Without control characters, which a transcript may hold and a terminal would obey; tabs become spaces."""
    if text.isprintable():
        return text
    return _OBEYED.sub(lambda found: _BREAKS.get(found[0], ""), text).expandtabs(4)


def without_controls(text: str) -> str:
    """The same for a machine to read: tabs and the ends of lines stay as they are."""
    return _OBEYED.sub("", text)


def one_line(text: str) -> str:
    """A name, however many lines it is made of: harmless, with single spaces."""
    return " ".join(harmless(text).split())


def printed(line: str) -> str:
    """A line as it may be printed: the colours of `Style` and nothing else that a terminal obeys.

    The last word before the terminal. Whoever makes a line has made its parts harmless; what was forgotten stops here.
    """
    return _FOREIGN.sub("", line)


def cells(text: str) -> int:
    """How many character cells a terminal needs for a text."""
    text = _ESCAPE.sub("", text) if "\x1b" in text else text
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


@cache  # a long session asks some millions of times, of a few hundred characters
def _cell(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, width: int) -> str:
    """The first line of a text, cut to a width."""
    line = one_line(text)
    if cells(line) <= width:
        return line
    return _cut(line, max(0, width - 1)) + "…" if width > 0 else ""


def shorten_path(path: str, width: int) -> str:
    """The first line of a path, cut at its beginning: its end tells it from its neighbours."""
    line = one_line(path)
    if cells(line) <= width or not ("/" in line or "\\" in line):
        return shorten(line, width)
    end = _cut(line[::-1], max(0, width - 1))[::-1]
    return "…" + end if width > 0 else ""


def clip(line: str, width: int) -> str:
    """A line of ours, cut where the screen ends."""
    line = line.rstrip()
    return line if cells(line) <= width else _cut(line, max(0, width - 1)) + "…"


def _cut(text: str, width: int) -> str:
    if text.isascii():
        return text[:width]
    used = 0
    for position, character in enumerate(text):
        used += _cell(character)
        if used > width:
            return text[:position]
    return text


def wrap(text: str, width: int) -> Iterator[str]:
    """Lines no wider than `width`, broken at spaces where there are any; indentation of code is kept."""
    width = max(4, width)
    for line in text.split("\n"):
        if line.isprintable():  # most are, which is sooner seen than made so
            yield from _wrap_line(line.rstrip(), width)
        else:
            for part in harmless(line).split("\n"):
                yield from _wrap_line(part.rstrip(), width)


def _wrap_line(line: str, width: int) -> Iterator[str]:
    """Looks at each character once: a line may be a megabyte long."""
    is_ascii = line.isascii()
    start = 0
    while True:
        end = min(start + width, len(line)) if is_ascii else _fitting(line, start, width)
        if end >= len(line):
            yield line[start:]
            return
        space = line.rfind(" ", start, end + 1)
        if space > start and line[start:space].strip():
            yield line[start:space].rstrip()
            start = space
            while start < len(line) and line[start] == " ":
                start += 1
        else:
            yield line[start:end]
            start = end


def _fitting(line: str, start: int, width: int) -> int:
    """Where the characters from `start` no longer fit; one at least always does."""
    used = 0
    for position in range(start, len(line)):
        used += _cell(line[position])
        if used > width:
            return max(position, start + 1)
    return len(line)


Shorten = Callable[[str, int], str]


def table(
    rows: Sequence[Sequence[str]], width: int, *, flexible: int, right: frozenset[int], cut: Shorten = shorten
) -> Iterator[str]:
    """Columns two spaces apart; the flexible one shrinks until the table fits, its cells by `cut`."""
    if not rows:
        return
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    widths[flexible] = max(min(8, widths[flexible]), widths[flexible] - max(0, excess))
    for row in rows:
        short = [(cut if i == flexible else shorten)(cell, widths[i]) for i, cell in enumerate(row)]
        parts = [_padded(cell, widths[i], i in right) for i, cell in enumerate(short)]
        yield clip("  ".join(parts), width)


def _padded(text: str, width: int, to_the_right: bool) -> str:
    gap = " " * (width - cells(text))
    return gap + text if to_the_right else text + gap


def ruler(label: str, width: int) -> str:
    """`─── label ──────` across the screen."""
    head = f"─── {shorten(label, max(1, width - 8))} ───"
    return head + "─" * max(0, width - cells(head))
