"""Paths as transcripts name them, of any system: which are absolute, which are the same, which end alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_absolute(path: str) -> bool:
    return path.startswith(("/", "\\\\", "~")) or _DRIVE.match(path) is not None


def absolute(path: str, folder: str | None) -> str:
    """A path below the folder a line was written in, unless it stands for itself."""
    if is_absolute(path) or not folder:
        return path
    separator = "\\" if "\\" in folder and "/" not in folder else "/"
    return _without_dots(f"{folder.rstrip('/').rstrip(chr(92))}{separator}{path}", separator)


def _without_dots(path: str, separator: str) -> str:
    parts: list[str] = []
    for part in path.split(separator):
        if part == ".." and len(parts) > 1:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return separator.join(parts)


def key_of(path: str) -> str:
    """The same for two spellings of one path: slashes either way, a drive in either case."""
    key = path.replace("\\", "/")
    return key[0].lower() + key[1:] if _DRIVE.match(key) else key


def parts_of(path: str) -> list[str]:
    return [part for part in key_of(path).split("/") if part not in ("", ".")]


def fits(path: str, glob: str) -> bool:
    """Whether a glob fits a path, as a whole or at its end."""
    key, pattern = key_of(path), key_of(glob)
    return fnmatchcase(key, pattern) or fnmatchcase(key, f"*/{pattern}")


def common_end(one: str, other: str) -> int:
    """How many last parts two paths share."""
    count = 0
    for left, right in zip(reversed(parts_of(one)), reversed(parts_of(other)), strict=False):
        if left != right:
            break
        count += 1
    return count


_ENOUGH = 2
"""How many last parts an absolute path must share with another to be taken for the same file elsewhere."""


def best_matches(wanted: str, here: str, known: Iterable[str]) -> list[str]:
    """The known paths a name may mean: the path it has in the folder `here`, else those that end like it.

    All that was typed must fit. Those win that share more of their end with the path as it would be here, so a file
    of a moved project or of another worktree is found by its place in it.
    """
    by_key = {key_of(path): path for path in known}
    full = absolute(wanted, here)
    if key_of(full) in by_key:
        return [by_key[key_of(full)]]
    least = _ENOUGH if is_absolute(wanted) else len([part for part in parts_of(wanted) if part != ".."])
    shared = {path: common_end(full, path) for path in by_key.values()}
    most = max(shared.values(), default=0)
    return sorted(path for path, count in shared.items() if count == most) if most >= max(1, least) else []
