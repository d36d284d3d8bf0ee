"""Two ways a conversation went: what they share, and what each said, used and did to files after they parted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from reread.features.edits.net import PartedFile, SessionEdits, parted_files
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
    """Two branches of a session; any two have a beginning in common, and be it nothing."""
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
