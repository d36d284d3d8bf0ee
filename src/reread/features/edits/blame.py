"""Which change wrote each line of a file, as far as transcripts know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from .changes import FileChange
from .history import FileHistory, Gap, Version
from .patches import Content, Hunk, split_lines, steps


class LineSource(StrEnum):
    EDIT = "edit"
    BEFORE = "before"
    """The line was there before the first change that is known."""
    OUTSIDE = "outside"
    """Written by something outside the sessions, in a gap."""


class LineOrigin(Struct, frozen=True):
    source: LineSource
    change: FileChange | None = None
    gap: Gap | None = None


class BlamedLine(Struct, frozen=True):
    number: int
    text: str
    origin: LineOrigin


BEFORE = LineOrigin(LineSource.BEFORE)


def blame(history: FileHistory) -> list[BlamedLine] | None:
    """Every line of the last version with where it came from; None where its content is not known."""
    if history.last is None:
        return None
    walk = _Walk(history.base)
    for version in history.versions:
        walk.go_on(version)
    pairs = zip(walk.lines, walk.origins, strict=True)
    return [BlamedLine(number, line.removesuffix("\n"), origin) for number, (line, origin) in enumerate(pairs, 1)]


class _Walk:
    """The origins of the lines, carried from version to version."""

    def __init__(self, base: Content | None) -> None:
        self.lines = _lines(base)
        self.origins: list[LineOrigin] = [BEFORE] * len(self.lines)
        self._is_known = base is not None
        self._had: dict[str, list[LineOrigin]] = {}
        self._remember()

    def go_on(self, version: Version) -> None:
        if version.content is None:
            self._is_known = False
            return
        lines, origin = _lines(version.content), _origin(version)
        returned = self._had.get("".join(lines)) if version.change is None else None
        if returned is not None:
            self.origins = returned
        elif self._is_known or version.content.text is None:
            self.origins = _carried(self.lines, self.origins, lines, origin)
        else:
            self.origins = self._unsure(version, lines, origin)
        self.lines, self._is_known = lines, True
        self._remember()

    def _unsure(self, version: Version, lines: list[str], origin: LineOrigin) -> list[LineOrigin]:
        """After a version nobody knows: what the change itself shows is its own, the rest was there before it."""
        before = version.change.undone(version.content) if version.change is not None and version.content else None
        if before is None:
            return [BEFORE if version.change is None else origin] * len(lines)
        old = _lines(before)
        return _carried(old, [BEFORE] * len(old), lines, origin)

    def _remember(self) -> None:
        self._had["".join(self.lines)] = self.origins


def _lines(content: Content | None) -> list[str]:
    return split_lines(content.plain) if content is not None else []


def _origin(version: Version) -> LineOrigin:
    if version.change is not None:
        return LineOrigin(LineSource.EDIT, change=version.change)
    return BEFORE if version.gap is None else LineOrigin(LineSource.OUTSIDE, gap=version.gap)


def _carried(
    old: Sequence[str], origins: Sequence[LineOrigin], new: Sequence[str], written: LineOrigin
) -> list[LineOrigin]:
    """Lines that stayed keep their origin; the others have a new one."""
    carried: list[LineOrigin] = []
    for step in steps(old, new):
        carried += (
            origins[step.old_start : step.old_end] if step.is_same else [written] * (step.new_end - step.new_start)
        )
    return carried


def known_parts(history: FileHistory) -> list[BlamedLine]:
    """The lines of the last version that patches show, where the whole of it is not known; numbers tell the holes."""
    known: dict[int, tuple[str, LineOrigin]] = {}
    for version in history.versions:
        if version.content is not None:
            lines = _lines(version.content)
            known = {number: (line.removesuffix("\n"), BEFORE) for number, line in enumerate(lines, 1)}
            continue
        if version.gap is not None or version.change is None or not version.change.hunks:
            known = {}  # where its lines stand now, nothing tells
        if version.change is not None:
            known = _patched(known, version.change)
    return [BlamedLine(number, *known[number]) for number in sorted(known)]


def _patched(known: dict[int, tuple[str, LineOrigin]], change: FileChange) -> dict[int, tuple[str, LineOrigin]]:
    """What is known after a patch: lines outside of it moved, lines that it shows."""
    found = {number + _moved(number, change.hunks): said for number, said in known.items() if _stays(number, change)}
    origin = LineOrigin(LineSource.EDIT, change=change)
    for hunk in change.hunks:
        number = hunk.new_start
        for line in hunk.lines:
            if line[:1] in (" ", "+"):
                found[number] = (line[1:], BEFORE if line[0] == " " else origin)
                number += 1
    return found


def _stays(number: int, change: FileChange) -> bool:
    return not any(hunk.old_start <= number < hunk.old_start + hunk.old_lines for hunk in change.hunks)


def _moved(number: int, hunks: Sequence[Hunk]) -> int:
    """How far a line went that stands after some of them."""
    return sum(hunk.new_lines - hunk.old_lines for hunk in hunks if number >= hunk.old_start + hunk.old_lines)


def with_holes(parts: Sequence[BlamedLine]) -> Iterator[BlamedLine | str]:
    """The lines, with a word in every place where some are not known."""
    expected = 1
    for line in parts:
        if line.number > expected:
            last = line.number - 1
            yield f"[line {last} is not known]" if last == expected else f"[lines {expected} to {last} are not known]"
        yield line
        expected = line.number + 1
    yield "[what comes after is not known]"


def text_of_parts(parts: Sequence[BlamedLine]) -> str:
    return "".join(f"{each if isinstance(each, str) else each.text}\n" for each in with_holes(parts))
