"""Transcripts beside the parts of a config folder that are read, such as in `backup/*/projects`.

They are not taken for sessions of their own: a backup repeats what is there. But a session that the client deleted may
be there alone, so it must be said.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .find import is_config_folder

_DEEPEST = 3
_MOST_FOLDERS = 2_000
"""So many folders of a source are looked into: a config folder may have a whole repository in it."""
_NOT_LOOKED_INTO = frozenset(
    {".git", "cache", "file-history", "node_modules", "plugins", "profiles", "projects", "shell-snapshots", "statsig"}
    | {"todos", "transcripts"}
)


class Beside(NamedTuple):
    path: Path
    """A folder called `projects`."""
    transcripts: int


def find_beside(sources: Iterable[Path]) -> list[Beside]:
    """The folders of transcripts in config folders that a walk over these sources leaves out."""
    found = []
    for source in sources:
        names = set(_folders(source, files=True))
        if is_config_folder(source, names):
            found += [place for folder in _below(source) if (place := _transcripts(folder)).transcripts]
    return found


def _below(source: Path) -> Iterator[Path]:
    """Folders called `projects` that are not the source's own."""
    waiting = [(source / name, 1) for name in _folders(source) if name not in _NOT_LOOKED_INTO]
    looked = 0
    while waiting and looked < _MOST_FOLDERS:
        folder, depth = waiting.pop()
        looked += 1
        names = _folders(folder)
        if "projects" in names:
            yield folder / "projects"
        if depth < _DEEPEST:
            waiting += [(folder / name, depth + 1) for name in names if name not in _NOT_LOOKED_INTO]


def _transcripts(projects: Path) -> Beside:
    inside = (name for folder in _folders(projects) for name in _folders(projects / folder, files=True))
    return Beside(projects, sum(name.endswith(".jsonl") and not name.startswith("agent-") for name in inside))


def _folders(folder: Path, *, files: bool = False) -> list[str]:
    """The names of the folders in a folder, or of all that is in it; links are not followed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(each.name for each in entries if files or each.is_dir(follow_symlinks=False))
    except OSError:
        return []
