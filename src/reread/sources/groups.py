"""Puts the files of each session together.

Copies of a session lie in several projects, so a session here is a folder and an id, not an id alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from .find import SourceFile
from .places import Kind

__all__ = ["SessionFiles", "group", "in_order", "strays_beside"]


class SessionFiles(Struct, frozen=True):
    id: str
    trunk: SourceFile | None = None
    """None when only subagents or side files are left."""
    subagents: tuple[SourceFile, ...] = ()
    metas: tuple[SourceFile, ...] = ()
    tool_results: tuple[SourceFile, ...] = ()
    others: tuple[SourceFile, ...] = ()
    captures: tuple[SourceFile, ...] = ()
    """Of the runs of this session, in order."""

    @property
    def all(self) -> tuple[SourceFile, ...]:
        trunk = (self.trunk,) if self.trunk else ()
        return (*trunk, *self.subagents, *self.metas, *self.tool_results, *self.others, *self.captures)

    @property
    def mtime_ns(self) -> int:
        """When the conversation last grew; without one, when its newest side file was written."""
        spoken = (self.trunk, *self.subagents) if self.trunk else self.subagents
        return max(file.mtime_ns for file in spoken or self.all)


def group(files: Iterable[SourceFile]) -> list[SessionFiles]:
    """Sessions in the order their first file came; files of no session are left out."""
    gathered: dict[tuple[Path, str], list[SourceFile]] = {}
    for file in files:
        if file.session is not None:
            gathered.setdefault((file.folder, file.session), []).append(file)
    return [session for (_, name), found in gathered.items() for session in _sessions(name, found)]


def strays_beside(trunk: SourceFile, files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """Agent files of 2.0 clients in the trunk's folder: only their records tell whose they are."""
    folder = trunk.path.parent
    return tuple(
        file for file in files if file.kind is Kind.SUBAGENT and file.session is None and file.path.parent == folder
    )


def _sessions(name: str, files: list[SourceFile]) -> list[SessionFiles]:
    """One session, and one more for each further trunk of that name, such as a copy kept as an array."""
    first, *copies = _only(files, Kind.TRANSCRIPT) or (None,)
    session = SessionFiles(
        name,
        first,
        _only(files, Kind.SUBAGENT),
        _only(files, Kind.META),
        _only(files, Kind.TOOL_RESULT),
        _only(files, Kind.TITLE, Kind.WORKFLOW, Kind.JOURNAL),
        in_order(_only(files, Kind.CAPTURE)),
    )
    return [session, *(SessionFiles(name, copy) for copy in copies)]


def in_order(captures: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """By name: that of a run begins with its time."""
    return tuple(sorted(captures, key=lambda file: file.path.name))


def _only(files: list[SourceFile], *kinds: Kind) -> tuple[SourceFile, ...]:
    return tuple(file for file in files if file.kind in kinds)
