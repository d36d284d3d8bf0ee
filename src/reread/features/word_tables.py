"""Tables of words and patterns, as they stand in `*.txt` files beside the modules that use them.

`[name]` begins a section and `#` a comment. An entry is a line that begins with its name; what belongs to it follows
below, indented by four spaces.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple


class TableEntry(NamedTuple):
    """One entry of a table."""

    name: str
    beside: str
    """What stands behind the name on its line."""
    lines: list[str]

    @property
    def text(self) -> str:
        """A text that was too long for one line."""
        return "".join(self.lines)

    @property
    def words(self) -> list[str]:
        return " ".join(self.lines).split()

    @property
    def pieces(self) -> tuple[str, ...]:
        return tuple(self.text.replace(r"\n", "\n").replace(r"\t", "\t").split("|"))


@cache
def table(name: str, section: str) -> dict[str, TableEntry]:
    """The entries of a section whose names differ, by name."""
    return {entry.name: entry for entry in entries(name, section)}


def entries(name: str, section: str) -> list[TableEntry]:
    """The entries of a section of `friction/cues`, `secrets/rules` and so on."""
    return _sections(name)[section]


def filled(name: str, pattern: str) -> str:
    """A pattern with the parts that it has by their names: `<value>`."""
    for part in entries(name, "parts"):
        pattern = pattern.replace(f"<{part.name}>", part.text)
    return pattern


@cache
def _sections(name: str) -> dict[str, list[TableEntry]]:
    # Importing importlib.resources would take longer than reading the file.
    raw = Path(__file__).parent.joinpath(f"{name}.txt").read_text("utf-8")
    found: dict[str, list[TableEntry]] = {}
    section: list[TableEntry] = []
    for line in raw.splitlines():
        if line.startswith("    "):
            section[-1].lines.append(line[4:])
        elif line.startswith("["):
            section = found[line.strip("[]")] = []
        elif line and not line.startswith("#"):
            head, _, beside = line.partition(" ")
            section.append(TableEntry(head, beside, []))
    return found
