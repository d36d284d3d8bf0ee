"""Files after two branches of a session parted: what each of them made of a file, and whether it came out the same."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from reread.sessions import Branch

from .histories import History, Version
from .net import FileDiff, SessionEdits
from .texts import Content


class Outcome(StrEnum):
    LEFT_ONLY = "left only"
    """Only the left branch changed it."""
    RIGHT_ONLY = "right only"
    SAME = "same"
    """Both changed it, and it came out the same."""
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """Both changed it, and what it held in the end is not known on both."""


class PartedFile(Struct, frozen=True, kw_only=True):
    path: str
    left: FileDiff | None
    """From where the branches parted to the end of the left one; None where that did not change it."""
    right: FileDiff | None
    between: FileDiff
    """From the end of the left branch to the end of the right one."""

    @property
    def outcome(self) -> Outcome:
        if self.left is None:
            return Outcome.RIGHT_ONLY
        if self.right is None:
            return Outcome.LEFT_ONLY
        if not self.between.is_known:
            return Outcome.UNKNOWN
        return Outcome.DIFFERENT if self.between.is_change else Outcome.SAME


def parted_files(edits: SessionEdits, left: Branch, right: Branch) -> list[PartedFile]:
    """Files that at least one branch changed after they parted, in the order they were first met."""
    shared = edits.path_of(left) & edits.path_of(right)
    first, second = edits.histories(left), edits.histories(right)
    found = (_parted(_since(first, key, shared), _since(second, key, shared)) for key in {**first, **second})
    return [file for file in found if file is not None]


class _Since(Struct, frozen=True):
    """A file on one branch after the fork."""

    path: str
    fork: Content | None
    """What it held where the branches parted, as far as this branch tells."""
    end: Content | None
    diff: FileDiff | None


def _since(histories: Mapping[str, History], key: str, shared: frozenset[int]) -> _Since | None:
    history = histories.get(key)
    if history is None:
        return None
    changed = (number for number, version in enumerate(history.versions) if _is_own(version, shared))
    own = next(changed, -1)
    if own < 0:
        return _Since(history.path, history.last, history.last, None)
    fork = history.versions[own - 1].content if own else history.base
    rest = history.versions[own:]
    diff = FileDiff(
        path=history.path,
        before=fork,
        after=history.last,
        changes=tuple(version.change for version in rest if version.change is not None),
        gaps=tuple(version.gap for version in rest if version.gap is not None),
    )
    return _Since(history.path, fork, history.last, diff)


def _is_own(version: Version, shared: frozenset[int]) -> bool:
    return version.change is not None and version.change.place.segment not in shared


def _parted(left: _Since | None, right: _Since | None) -> PartedFile | None:
    """A branch that did not touch a file has it as it was where the other one began with it."""
    known = [side for side in (left, right) if side is not None]
    diffs = [side.diff for side in known if side.diff is not None]
    if not diffs:
        return None
    fork = next((side.fork for side in known if side.fork is not None), None)
    left_end, right_end = (side.end if side is not None and side.diff is not None else fork for side in (left, right))
    return PartedFile(
        path=known[0].path,
        left=_from(fork, left.diff) if left is not None else None,
        right=_from(fork, right.diff) if right is not None else None,
        between=FileDiff(
            path=known[0].path,
            before=left_end,
            after=right_end,
            changes=tuple(change for diff in diffs for change in diff.changes),
            gaps=tuple(gap for diff in diffs for gap in diff.gaps),
        ),
    )


def _from(fork: Content | None, diff: FileDiff | None) -> FileDiff | None:
    """What one branch does not tell of the fork, the other may."""
    if diff is None or diff.before is not None:
        return diff
    return FileDiff(path=diff.path, before=fork, after=diff.after, changes=diff.changes, gaps=diff.gaps)
