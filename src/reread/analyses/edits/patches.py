"""Hunks of a patch: as the client stores them, as they are applied and undone, and as two texts give them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct

from .texts import split_lines

NO_NEWLINE = "\\ No newline at end of file"
CONTEXT = 3
_OTHER_SIDE = {"-": "+", "+": "-"}


class Hunk(Struct, frozen=True):
    """A stretch of a unified diff; lines begin with a space, a minus, a plus, or a backslash for a missing newline."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for line in self.lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for line in self.lines)


def read_hunks(value: Any) -> tuple[Hunk, ...]:
    """From `structuredPatch`; what is no hunk is left out."""
    return tuple(hunk for each in value if (hunk := _hunk(each)) is not None) if isinstance(value, list) else ()


def _hunk(value: Any) -> Hunk | None:
    if not isinstance(value, dict):
        return None
    starts = [number for key in ("oldStart", "newStart") if type(number := value.get(key)) is int]
    told = value.get("lines")
    if len(starts) != 2 or not isinstance(told, list):
        return None
    lines = tuple(line for line in told if isinstance(line, str))
    old, new = (value.get(key) for key in ("oldLines", "newLines"))
    return Hunk(
        starts[0],
        old if type(old) is int else sum(not line.startswith(("+", "\\")) for line in lines),
        starts[1],
        new if type(new) is int else sum(not line.startswith(("-", "\\")) for line in lines),
        lines,
    )


def applied(hunks: Sequence[Hunk], text: str) -> str | None:
    """The text after a patch; None where it does not fit, line for line."""
    old = split_lines(text)
    new: list[str] = []
    position = 0
    for hunk in hunks:
        start = max(0, hunk.old_start - 1) if hunk.old_lines else min(hunk.old_start, len(old))
        if not old:
            start = 0
        if start < position:
            return None
        new += old[position:start]
        result = _hunk_applied(hunk, old, start)
        if result is None:
            return None
        added, position = result
        new += added
    new += old[position:]
    return "".join(new) if _is_one_text(new) else None


def _hunk_applied(hunk: Hunk, old: Sequence[str], position: int) -> tuple[list[str], int] | None:
    """The lines a hunk leaves, and where the old text goes on."""
    new: list[str] = []
    for number, line in enumerate(hunk.lines):
        kind, said = line[:1], line[1:]
        if kind == "\\":
            continue
        ends_here = hunk.lines[number + 1 : number + 2] == (NO_NEWLINE,)
        if kind == "+":
            new.append(said if ends_here else said + "\n")
            continue
        if position >= len(old) or _shown(old[position].removesuffix("\n")) != _shown(said.removesuffix("\r")):
            return None
        if kind == " ":
            new.append(old[position])
        position += 1
    return new, position


def _shown(line: str) -> str:
    """Tabs before the text of a line stand in patches as two spaces each (1.0 to 2.1.325)."""
    if not line.startswith("\t"):
        return line
    text = line.lstrip("\t")
    return "  " * (len(line) - len(text)) + text


def _is_one_text(lines: Sequence[str]) -> bool:
    """Only the last line may lack its newline."""
    return all(line.endswith("\n") for line in lines[:-1])


def inverted(hunks: Iterable[Hunk]) -> tuple[Hunk, ...]:
    """The patch that undoes a patch."""
    return tuple(
        Hunk(
            hunk.new_start,
            hunk.new_lines,
            hunk.old_start,
            hunk.old_lines,
            tuple(_OTHER_SIDE.get(line[:1], line[:1]) + line[1:] for line in hunk.lines),
        )
        for hunk in hunks
    )


class Step(Struct, frozen=True):
    """Lines `old_start:old_end` of one text became `new_start:new_end` of another."""

    is_same: bool
    old_start: int
    old_end: int
    new_start: int
    new_end: int


def steps(old: Sequence[str], new: Sequence[str]) -> list[Step]:
    """How one text becomes another, line by line. Equal ends are passed over: most edits are small."""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    middle = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    found = [Step(True, 0, head, 0, head)] if head else []
    found += [
        Step(tag == "equal", head + i1, head + i2, head + j1, head + j2) for tag, i1, i2, j1, j2 in middle.get_opcodes()
    ]
    if tail:
        found.append(Step(True, len(old) - tail, len(old), len(new) - tail, len(new)))
    return found


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    for position, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return position
    return min(len(one), len(other))


def hunks_between(before: str, after: str, context: int = CONTEXT) -> list[Hunk]:
    """The unified diff of two texts."""
    old, new = split_lines(before), split_lines(after)
    return [_hunk_of(group, old, new) for group in _groups(steps(old, new), context)]


def _groups(found: Sequence[Step], context: int) -> list[list[Step]]:
    """Changes with the lines around them; those that are near each other share a hunk."""
    groups: list[list[Step]] = []
    group: list[Step] = []
    for number, step in enumerate(found):
        if not step.is_same:
            group.append(step)
            continue
        size = step.old_end - step.old_start
        is_first, is_last = number == 0, number == len(found) - 1
        if not is_first and (size > 2 * context or is_last):
            group.append(_part(step, 0, min(size, context)))
            groups.append(group)
            group = []
        if not is_last:
            kept = context if is_first or size > 2 * context else size
            group.append(_part(step, max(0, size - kept), size))
    if any(not step.is_same for step in group):
        groups.append(group)
    return [group for group in groups if any(not step.is_same for step in group)]


def _part(step: Step, start: int, end: int) -> Step:
    return Step(True, step.old_start + start, step.old_start + end, step.new_start + start, step.new_start + end)


def _hunk_of(group: Sequence[Step], old: Sequence[str], new: Sequence[str]) -> Hunk:
    lines: list[str] = []
    for step in group:
        if step.is_same:
            lines += _marked(" ", old[step.old_start : step.old_end])
        else:
            lines += _marked("-", old[step.old_start : step.old_end])
            lines += _marked("+", new[step.new_start : step.new_end])
    old_start, old_end = group[0].old_start, group[-1].old_end
    new_start, new_end = group[0].new_start, group[-1].new_end
    return Hunk(
        # A side without lines is numbered by the line before it, as in every unified diff.
        old_start + (old_end > old_start),
        old_end - old_start,
        new_start + (new_end > new_start),
        new_end - new_start,
        tuple(lines),
    )


def _marked(mark: str, lines: Iterable[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        found.append(mark + line.removesuffix("\n"))
        if not line.endswith("\n"):
            found.append(NO_NEWLINE)
    return found
