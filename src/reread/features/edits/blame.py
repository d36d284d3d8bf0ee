"""Which change wrote each line of a file, as far as transcripts know."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from .changes import FileChange
from .history import FileHistory, Gap, Version
from .patches import Content, split_lines, steps


class LineSource(StrEnum):
    EDIT = "edit"
    BEFORE = "before"
    """The line was there before the first change that is known."""
    OUTSIDE = "outside"
    """Something no transcript tells of wrote it, in a gap."""


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
