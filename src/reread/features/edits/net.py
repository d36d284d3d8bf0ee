"""What a session changed in the end or up to a moment, and what two of its branches said, used and made different."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from reread.records import Record
from reread.sessions import (
    Branch,
    Notice,
    Session,
    Subagent,
    Tokens,
    ToolCall,
    Turn,
    collapse,
    requests_of,
    spoken_groups,
)

from .changes import FileChange, Whereabouts, changes_of
from .history import Event, FileHistory, Gap, ReadBackup, Version, histories_of, rewinds_of, sightings_of
from .patches import Content, Hunk, hunks_between


class FileDiff(Struct, frozen=True, kw_only=True):
    """A file in two states; a content that is None cannot be known, one without text is a file that is not there."""

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
        """Whether there is anything to show: a difference, or changes that cannot be shown."""
        if self.before is None or self.after is None:
            return True
        return not self.before.says_the_same(self.after)

    @property
    def hunks(self) -> list[Hunk]:
        """What is different; where the file is not known as a whole, the patches as they came."""
        if self.before is None or self.after is None:
            return [hunk for change in self.changes for hunk in change.hunks or _by_strings(change)]
        return hunks_between(self.before.plain, self.after.plain)

    @property
    def status(self) -> str:
        was, now = (content is None or content.text is not None for content in (self.before, self.after))
        return "added" if now and not was else "deleted" if was and not now else "modified"


def _by_strings(change: FileChange) -> list[Hunk]:
    """The strings a change replaced as hunks; where in the file they stand, nothing tells."""
    pairs = [(f"{each.old}\n" if each.old else "", f"{each.new}\n" if each.new else "") for each in change.replacements]
    return [hunk for old, new in pairs for hunk in hunks_between(old, new)]


class SessionEdits:
    """The changes of one session, to be asked by branch."""

    def __init__(self, session: Session, read_backup: ReadBackup | None = None) -> None:
        self.session = session
        self.changes = changes_of(session)
        self._sightings = sightings_of(session)
        self._where = Whereabouts(session)
        self._read_backup = read_backup

    def on_disk(self) -> list[FileDiff]:
        """Net changes in the order things happened, whatever branch they are on."""
        return [_net(history) for history in self.disk_histories()]

    def disk_histories(self) -> list[FileHistory]:
        """Of every file that was changed, in the order things happened."""
        events: list[Event] = [*self._sightings, *self.changes]
        histories = histories_of(events, rewinds_of(self.session), self._read_backup)
        return [history for history in histories.values() if history.changes]

    def on(self, branch: Branch) -> list[FileDiff]:
        """Net changes along one branch: what was done on others does not count."""
        return [_net(history) for history in self.histories(branch).values() if history.changes]

    def between(self, one: Branch, other: Branch) -> list[FileDiff]:
        """Files that one of them changed after they parted, as the two left them; what both share is no difference."""
        return [file.between for file in parted_files(self, one, other)]

    def path_of(self, branch: Branch) -> frozenset[int]:
        """The segments a branch goes through."""
        return self._where.path_of(branch)

    def histories(self, branch: Branch) -> dict[str, FileHistory]:
        """Along one branch: only what it did and read itself is a branch's; backups belong to none."""
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
    def outcome(self) -> BranchOutcome:
        if self.left is None:
            return BranchOutcome.RIGHT_ONLY
        if self.right is None:
            return BranchOutcome.LEFT_ONLY
        if not self.between.is_known:
            return BranchOutcome.UNKNOWN
        return BranchOutcome.DIFFERENT if self.between.is_change else BranchOutcome.SAME


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


class BranchSide(Struct, frozen=True, kw_only=True):
    """One of the two."""

    branch: Branch
    turns: tuple[Turn, ...]
    """After they parted; where that was in the middle of an answer, the first has no prompt."""
    used: Tokens
    """By these turns, with the agents they started."""


class Comparison(Struct, frozen=True, kw_only=True):
    shared: tuple[Turn, ...]
    """The turns before they parted, the same on both."""
    left: BranchSide
    right: BranchSide
    files: tuple[PartedFile, ...]
    """Those that at least one of them changed after they parted."""


def compare(session: Session, left: Branch, right: Branch, edits: SessionEdits | None = None) -> Comparison:
    """Two branches of a session; any two share a beginning, which may be empty."""
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
    """What the turns of a branch used, with the agents they started; of one left behind those after the fork."""
    return _way(session, branch, branch.turns).used


class _Paths:
    """Turns by the segments of the tree they stand in; a branch has only those that no other had before it."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, branch: Branch) -> list[int]:
        tree = self._session.tree
        return tree.path(self._by_uuid.get(branch.leaf or "", tree.active))

    def turns(self, path: Sequence[int]) -> list[Turn]:
        """In the order of the path."""
        place = {segment: number for number, segment in enumerate(path)}

        def is_here(record: Record) -> bool:
            return self._segments.get(id(record), -1) in place

        found = [part for branch in self._session.branches for turn in branch.turns for part in _part(turn, is_here)]
        return sorted(found, key=lambda turn: place[self._first_segment(turn, place)])

    def _first_segment(self, turn: Turn, place: dict[int, int]) -> int:
        return next(self._segments[id(record)] for record in turn.records if self._segments[id(record)] in place)

    @cached_property
    def _segments(self) -> dict[int, int]:
        """By the `id()` of a record."""
        pairs = zip(self._session.line, self._session.tree.segment_of, strict=True)
        return {id(record): segment for record, segment in pairs}

    @cached_property
    def _by_uuid(self) -> dict[str, int]:
        pairs = zip(self._session.line, self._session.tree.segment_of, strict=True)
        return {record.uuid: segment for record, segment in pairs if record.uuid is not None}


def _part(turn: Turn, is_here: Callable[[Record], bool]) -> Iterable[Turn]:
    """What of a turn stands on a path; nothing where nothing does. That a way was left is said by the comparison."""
    records = tuple(record for record in turn.records if is_here(record))
    if not records:
        return
    own = [step for step in turn.steps if not (isinstance(step, Notice) and step.what == "rewound")]
    steps = own if len(records) == len(turn.records) else [step for step in own if is_here(step.record)]
    prompt = turn.prompt if turn.prompt is not None and is_here(turn.prompt.record) else None
    if prompt is not None or steps:
        yield replace(turn, prompt=prompt, steps=tuple(steps), records=records)


def _way(session: Session, branch: Branch, turns: Sequence[Turn]) -> BranchSide:
    calls = {step.id for turn in turns for step in turn.steps if isinstance(step, ToolCall) and step.id}
    own = requests_of(spoken_groups([record for turn in turns for record in turn.records]))
    below = [agent.requests for agent in _agents(session, calls)]
    return BranchSide(branch=branch, turns=tuple(turns), used=collapse([own, *below], session.prices))


def _agents(session: Session, calls: set[str]) -> list[Subagent]:
    """The agents that calls started, and those which these started."""
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
    """Every file that was changed by then, from what it was before the session to what it was at the moment."""
    then = [history.until(moment) for history in histories]
    return [
        FileDiff(
            path=each.path,
            before=each.base,
            after=each.last,
            changes=tuple(each.changes),
            gaps=tuple(each.gaps),
        )
        for each in then
        if each.changes
    ]
