"""A change of a text file as a unified diff for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from .text import Style, harmless

_LOOKS = {"+": "green", "-": "red", "@": "cyan"}
NO_FILE = "/dev/null"
NO_NEWLINE = "\\ No newline at end of file"


def unified(before: str | None, after: str | None, name: str) -> list[str]:
    """The lines of the diff, as they are; None stands for a file that is not there."""
    from difflib import unified_diff

    old, new = (NO_FILE if text is None else name for text in (before, after))
    found: list[str] = []
    for number, line in enumerate(unified_diff(_lines(before), _lines(after), old, new, lineterm="")):
        is_heading = number < 2 or line.startswith("@@")
        found.append(line.removesuffix("\n"))
        if not is_heading and not line.endswith("\n"):
            found.append(NO_NEWLINE)
    return found


def _lines(text: str | None) -> list[str]:
    """By line feeds alone: JSON may hold other separators inside a string."""
    lines = (text or "").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def diff_lines(lines: list[str], style: Style) -> Iterator[str]:
    """Coloured, and without anything a terminal would obey."""
    for number, line in enumerate(lines):
        looks = ["bold"] if number < 2 else [look for sign, look in _LOOKS.items() if line.startswith(sign)]
        yield style.paint(harmless(line), *looks)
