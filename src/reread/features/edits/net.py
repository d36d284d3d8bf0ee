"""Net changes of a session, at its end or up to a moment; and a comparison of two branches: turns, usage and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from reread.records import Record
from reread.sessions import Branch, Notice, Session, Subagent, Tokens, Turn, collapse, requests_of, spoken_groups

from .changes import FileChange, Whereabouts, changes_of
from .history import Event, FileHistory, Gap, ReadBackup, Version, histories_of, rewinds_of, sightings_of
from .patches import Content, Hunk, hunks_between


class FileDiff(Struct, frozen=True, kw_only=True):
    """A file in two states. A content of None is not known; a content without text is a file that does not exist."""

    path: str
    before: Content | None
    after: Content | None
    changes: tuple[FileChange, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.before is not None and self.after is not None

    @property
    def is_change(self) -> bool:
        """Whether there is anything to show: a difference, or contents that are not known."""
        if self.before is None or self.after is None:
            return True
        return not self.before.says_the_same(self.after)

    @property
    def hunks(self) -> list[Hunk]:
        """The differences; if the file is not known as a whole, the patches of its changes."""
        if self.before is None or self.after is None:
            return [hunk for change in self.changes for hunk in change.hunks or _by_strings(change)]
        return hunks_between(self.before.plain, self.after.plain)

    @property
    def status(self) -> str:
        was, now = (content is None or content.text is not None for content in (self.before, self.after))
        return "added" if now and not was else "deleted" if was and not now else "modified"


def _by_strings(change: FileChange) -> list[Hunk]:
    """The strings a change replaced, as hunks. Their place in the file is not known."""
    pairs = [(f"{each.old}\n" if each.old else "", f"{each.new}\n" if each.new else "") for each in change.replacements]
    return [hunk for old, new in pairs for hunk in hunks_between(old, new)]


class SessionEdits:
    """The changes of one session, as a whole or by branch."""

    def __init__(self, session: Session, read_backup: ReadBackup | None = None) -> None:
        self.session = session
        self.changes = changes_of(session)
        self._sightings = sightings_of(session)
        self._where = Whereabouts(session)
        self._read_backup = read_backup

    def on_disk(self) -> list[FileDiff]:
        """Net changes in the order things happened, on whatever branch."""
        return [_net(history) for history in self.disk_histories()]

    def disk_histories(self) -> list[FileHistory]:
        """The history of every changed file, in the order things happened."""
        events: list[Event] = [*self._sightings, *self.changes]
        histories = histories_of(events, rewinds_of(self.session), self._read_backup)
        return [history for history in histories.values() if history.changes]

    def on(self, branch: Branch) -> list[FileDiff]:
        """Net changes along one branch, without changes on others."""
        return [_net(history) for history in self.histories(branch).values() if history.changes]

    def between(self, one: Branch, other: Branch) -> list[FileDiff]:
        """Files that either branch changed after the fork, from the end of `one` to the end of `other`."""
        return [file.between for file in parted_files(self, one, other)]

    def path_of(self, branch: Branch) -> frozenset[int]:
        """The segments on the path of a branch."""
        return self._where.path_of(branch)

    def histories(self, branch: Branch) -> dict[str, FileHistory]:
        """Histories along one branch, from its own changes and reads only; backups belong to no branch."""
        path = self.path_of(branch)
        events: list[Event] = [change for change in self.changes if change.place.segment in path]
        events += [sighting for sighting in self._sightings if sighting.segment in path]
        return histories_of(events)


def _net(history: FileHistory) -> FileDiff:
    return FileDiff(
        path=history.path,
        before=history.base,
        after=history.last,
        changes=tuple(history.changes),
        gaps=tuple(history.gaps),
    )


def totals(diffs: Sequence[FileDiff]) -> tuple[int, int]:
    """Lines added and removed."""
    hunks = [hunk for diff in diffs for hunk in diff.hunks]
    return sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks)


class BranchOutcome(StrEnum):
    LEFT_ONLY = "left only"
    """Only the left branch changed it."""
    RIGHT_ONLY = "right only"
    SAME = "same"
    """Both changed it, with the same result."""
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    """Both changed it, and the result is not known on both."""


class PartedFile(Struct, frozen=True, kw_only=True):
    path: str
    left: FileDiff | None
    """From the fork to the end of the left branch; None if that branch did not change it."""
    right: FileDiff | None
    between: FileDiff
    """From the end of the left branch to the end of the right one."""

    @property
    def outcome(self) -> BranchOutcome:
        if self.left is None:
            return BranchOutcome.RIGHT_ONLY
        if self.right is None:
            return BranchOutcome.LEFT_ONLY
        if not self.between.is_known:
            return BranchOutcome.UNKNOWN
        return BranchOutcome.DIFFERENT if self.between.is_change else BranchOutcome.SAME


def parted_files(edits: SessionEdits, left: Branch, right: Branch) -> list[PartedFile]:
    """Files that at least one branch changed after the fork, in the order they first occur."""
    shared = edits.path_of(left) & edits.path_of(right)
    first, second = edits.histories(left), edits.histories(right)
    found = (_parted(_since(first, key, shared), _since(second, key, shared)) for key in {**first, **second})
    return [file for file in found if file is not None]


class _Since(Struct, frozen=True):
    """A file on one branch after the fork."""

    path: str
    fork: Content | None
    """Its content at the fork, as far as this branch shows."""
    end: Content | None
    diff: FileDiff | None


def _since(histories: Mapping[str, FileHistory], key: str, shared: frozenset[int]) -> _Since | None:
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
    """Joins the two sides. On a branch that did not change the file, its content stays the one at the fork."""
    known = [side for side in (left, right) if side is not None]
    diffs = [side.diff for side in known if side.diff is not None]
    if not diffs:
        return None
    fork = next((side.fork for side in known if side.fork is not None), None)
    return PartedFile(
        path=known[0].path,
        left=_from(fork, left.diff) if left is not None else None,
        right=_from(fork, right.diff) if right is not None else None,
        between=FileDiff(
            path=known[0].path,
            before=_end(left, fork),
            after=_end(right, fork),
            changes=tuple(change for diff in diffs for change in diff.changes),
            gaps=tuple(gap for diff in diffs for gap in diff.gaps),
        ),
    )


def _end(side: _Since | None, fork: Content | None) -> Content | None:
    return side.end if side is not None and side.diff is not None else fork


def _from(fork: Content | None, diff: FileDiff | None) -> FileDiff | None:
    """If one branch does not show the content at the fork, the other's is used."""
    if diff is None or diff.before is not None:
        return diff
    return FileDiff(path=diff.path, before=fork, after=diff.after, changes=diff.changes, gaps=diff.gaps)


class BranchSide(Struct, frozen=True, kw_only=True):
    """One of the two branches."""

    branch: Branch
    turns: tuple[Turn, ...]
    """The turns after the fork; if the fork is in the middle of an answer, the first has no prompt."""
    used: Tokens
    """Usage of these turns, with the agents they started."""


class Comparison(Struct, frozen=True, kw_only=True):
    shared: tuple[Turn, ...]
    """The turns before the fork, the same on both branches."""
    left: BranchSide
    right: BranchSide
    files: tuple[PartedFile, ...]
    """Those that at least one branch changed after the fork."""


def compare(session: Session, left: Branch, right: Branch, edits: SessionEdits | None = None) -> Comparison:
    """Compares two branches of a session. Any two have a common beginning, which may be empty."""
    paths = _Paths(session)
    left_path, right_path = paths.of(left), paths.of(right)
    shared = [one for one, other in zip(left_path, right_path, strict=False) if one == other]
    return Comparison(
        shared=tuple(paths.turns(shared)),
        left=_way(session, left, paths.turns(left_path[len(shared) :])),
        right=_way(session, right, paths.turns(right_path[len(shared) :])),
        files=tuple(parted_files(edits or SessionEdits(session), left, right)),
    )


def branch_usage(session: Session, branch: Branch) -> Tokens:
    """Usage of the turns of a branch, with the agents they started; for an abandoned branch, of those after the
    fork."""
    return _way(session, branch, branch.turns).used


class _Paths:
    """Turns by their segments of the tree. An abandoned branch has only the turns that no branch before it has."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, branch: Branch) -> list[int]:
        tree = self._session.tree
        return tree.path(self._by_uuid.get(branch.leaf or "", tree.active))

    def turns(self, path: Sequence[int]) -> list[Turn]:
        """The turns on a path, in its order."""
        place = {segment: number for number, segment in enumerate(path)}

        def is_here(record: Record) -> bool:
            return self._segments.get(id(record), -1) in place

        found = [part for branch in self._session.branches for turn in branch.turns for part in _part(turn, is_here)]
        return sorted(found, key=lambda turn: place[self._first_segment(turn, place)])

    def _first_segment(self, turn: Turn, place: dict[int, int]) -> int:
        return next(self._segments[id(record)] for record in turn.records if self._segments[id(record)] in place)

    @cached_property
    def _segments(self) -> dict[int, int]:
        """Segments by the `id()` of a record."""
        pairs = zip(self._session.line, self._session.tree.segment_of, strict=True)
        return {id(record): segment for record, segment in pairs}

    @cached_property
    def _by_uuid(self) -> dict[str, int]:
        pairs = zip(self._session.line, self._session.tree.segment_of, strict=True)
        return {record.uuid: segment for record, segment in pairs if record.uuid is not None}


def _part(turn: Turn, is_here: Callable[[Record], bool]) -> Iterable[Turn]:
    """The part of a turn on a path, if there is any. Notices of rewinds are left out: the comparison shows the fork."""
    records = tuple(record for record in turn.records if is_here(record))
    if not records:
        return
    own = [step for step in turn.steps if not (isinstance(step, Notice) and step.what == "rewound")]
    steps = own if len(records) == len(turn.records) else [step for step in own if is_here(step.record)]
    prompt = turn.prompt if turn.prompt is not None and is_here(turn.prompt.record) else None
    if prompt is not None or steps:
        yield replace(turn, prompt=prompt, steps=tuple(steps), records=records)


def _way(session: Session, branch: Branch, turns: Sequence[Turn]) -> BranchSide:
    calls = {call.id for turn in turns for call in turn.calls if call.id}
    own = requests_of(spoken_groups([record for turn in turns for record in turn.records]))
    below = [agent.requests for agent in _agents(session, calls)]
    return BranchSide(branch=branch, turns=tuple(turns), used=collapse([own, *below], session.prices))


def _agents(session: Session, calls: set[str]) -> list[Subagent]:
    """The agents that these calls started, and the agents that those started."""
    found: dict[str, Subagent] = {}
    for _ in session.subagents:
        more = [
            agent
            for agent in session.subagents
            if agent.id not in found and (agent.parent in found or (agent.call is not None and agent.call.id in calls))
        ]
        if not more:
            break
        found |= {agent.id: agent for agent in more}
    return list(found.values())


def files_at(histories: Sequence[FileHistory], moment: datetime) -> list[FileDiff]:
    """Every file changed by then, from its content before the session to the content at the moment."""
    then = [history.until(moment) for history in histories]
    return [
        FileDiff(path=each.path, before=each.base, after=each.last, changes=tuple(each.changes), gaps=tuple(each.gaps))
        for each in then
        if each.changes
    ]
