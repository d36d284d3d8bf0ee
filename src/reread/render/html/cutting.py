"""Long texts in a page: a beginning that helps, the whole behind a fold, and a limit that is told."""

from __future__ import annotations

from typing import NamedTuple

from ..numbers import count
from ..text import tabbed

SHOWN_LINES = 24
SHOWN_CHARACTERS = 3_000
KEPT_CHARACTERS = 200_000
"""Of one text in a page."""
KEPT_LINES = 2_000
"""Of one diff or listing in a page: each is coloured, and a row of its own."""


class Limits(NamedTuple):
    """How much of one text a page holds."""

    characters: int = KEPT_CHARACTERS
    lines: int = KEPT_LINES


USUAL = Limits()
WIDEST = Limits(5_000_000, 20_000)
"""For one who was led to what is beyond the usual ones."""


class Cut(NamedTuple):
    """A text in two parts."""

    head: str
    rest: str
    """What is behind the fold."""
    folded: str
    """`… 120 more lines`; empty where nothing is."""
    left_out: str
    """What the page does not hold at all; empty where it holds all."""


NOTHING = Cut("", "", "", "")


def cut(text: str, lines: int = SHOWN_LINES, characters: int = SHOWN_CHARACTERS, kept: int = KEPT_CHARACTERS) -> Cut:
    clean = tabbed(text).strip("\n")
    whole, beyond = clean[:kept], len(clean) - kept
    end = _end(whole, lines, characters)
    rest = whole[end:].removeprefix("\n")
    left_out = f"{count(beyond, 'more character')} not in this page" if beyond > 0 else ""
    if not rest:
        return Cut(whole, "", "", left_out)
    more = rest.count("\n") + 1
    folded = f"… {count(more, 'more line')}" if more > 1 else f"… {count(len(rest), 'more character')}"
    return Cut(whole[:end], rest, folded, left_out)


def _end(text: str, lines: int, characters: int) -> int:
    """Where the shown part ends: never for one or two lines more."""
    position = -1
    for _ in range(lines):
        position = text.find("\n", position + 1)
        if position < 0:
            position = len(text)
            break
    if text.count("\n", position) <= 2:
        position = len(text)
    if position <= characters:
        return position
    line_end = text.rfind("\n", 0, characters)
    return line_end if line_end > characters // 2 else characters
