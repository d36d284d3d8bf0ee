"""Diffs for a terminal: hunks to lines with looks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reread.analyses.edits.patches import Hunk, hunks_between

from .text import Style, harmless

_LOOKS = {"+": "green", "-": "red", "\\": "dim"}
NO_FILE = "/dev/null"
HEADING = 2
"""The lines that name the file."""


class DiffLine(NamedTuple):
    """A line of a diff, fit for a terminal, and how it looks."""

    text: str
    look: str | None

    def painted(self, style: Style) -> str:
        return style.paint(self.text, self.look) if self.look is not None else self.text


def hunk_lines(hunks: Iterable[Hunk]) -> Iterator[DiffLine]:
    """Hunks as a unified diff has them, each below its place."""
    for hunk in hunks:
        yield DiffLine(place(hunk), "cyan")
        for line in hunk.lines:
            yield DiffLine(harmless(line), _LOOKS.get(line[:1]))


def unified(before: str | None, after: str | None, name: str) -> list[str]:
    """A change of a whole file as plain lines; None stands for a file that is not there."""
    if before == after:
        return []
    hunks = hunks_between(before or "", after or "")
    old, new = (NO_FILE if text is None else name for text in (before, after))
    return [f"--- {old}", f"+++ {new}", *(line for hunk in hunks for line in (place(hunk), *hunk.lines))]


def unified_lines(lines: Iterable[str], style: Style) -> Iterator[str]:
    """The same for a terminal."""
    for number, line in enumerate(lines):
        look = "bold" if number < HEADING else {**_LOOKS, "@": "cyan"}.get(line[:1])
        yield DiffLine(harmless(line), look).painted(style)


def place(hunk: Hunk) -> str:
    """`@@ -1,4 +1,5 @@`."""
    return f"@@ -{_span(hunk.old_start, hunk.old_lines)} +{_span(hunk.new_start, hunk.new_lines)} @@"


def _span(start: int, lines: int) -> str:
    return str(start) if lines == 1 else f"{start},{lines}"


def bar(added: int, removed: int, width: int) -> list[DiffLine]:
    """`+++++--`: how much of a change adds and how much takes away, no wider than there is room."""
    total = added + removed
    scale = min(1.0, width / total) if total else 0.0
    pluses = max(1, round(added * scale)) if added else 0
    minuses = max(1, round(removed * scale)) if removed else 0
    return [DiffLine("+" * pluses, "green"), DiffLine("-" * minuses, "red")]
