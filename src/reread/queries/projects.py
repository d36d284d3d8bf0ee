"""Which project a working directory belongs to: worktrees count to the one they were made from, and folders that were
moved to what a person said they are today.

A list asks for it, so nothing is imported that takes long.
"""

from __future__ import annotations

import re
from functools import lru_cache

from reread.marks.moves import NO_MOVES, Moves

_WORKTREE = re.compile(r"[/\\]\.(?:claude[/\\])?worktrees[/\\][^/\\]+")
"""Where Claude Code makes worktrees, and where people commonly do. Nothing on disk leads from one to its project."""


@lru_cache(maxsize=1 << 12)  # thousands of sessions share a few folders
def project_of(path: str | None, moves: Moves = NO_MOVES) -> str:
    """The project's folder; empty where there is none."""
    return _WORKTREE.split(moves.today(path) if path else "")[0]


def worktree_of(path: str | None) -> str | None:
    """The worktree's own folder; None outside of one."""
    found = _WORKTREE.search(path or "")
    return None if found is None else found.string[: found.end()]


def name_of(path: str | None, moves: Moves, *, folds_worktrees: bool) -> str | None:
    """What a report calls a working directory: as it would be called today, or the project it belongs to."""
    if path is None:
        return None
    return project_of(path, moves) if folds_worktrees else moves.today(path)
