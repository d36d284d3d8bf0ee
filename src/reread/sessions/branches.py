"""Segments of the tree to branches: which way the conversation went, and which ways were left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reread.records import Record

from .kinds import Kind
from .tree import Tree
from .turns import Draft, TurnWriter
from .values import Branch, Notice, Turn

MAIN = "main"
"""The branch the conversation ended on."""


class BranchWriter:
    """Writes the branches of a conversation; every record of it lands in exactly one of them."""

    def __init__(
        self, name: str, tree: Tree, line: Sequence[Record], kinds: Mapping[int, Kind], writer: TurnWriter
    ) -> None:
        self.name = name
        self.tree = tree
        self.line = line
        self.drafts = self._drafts_by_segment(kinds, writer)

    def branches(self) -> Iterator[Branch]:
        tree = self.tree
        main = tree.path(tree.active)
        abandoned = [leaf for leaf in reversed(tree.leaves()) if leaf not in main]
        taken = set(main)
        own: dict[int, list[int]] = {}
        for leaf in abandoned:
            own[leaf] = [segment for segment in tree.path(leaf) if segment not in taken]
            taken.update(own[leaf])
        yield self._active(main, own)
        for path in own.values():
            yield self._abandoned(path)

    def _drafts_by_segment(self, kinds: Mapping[int, Kind], writer: TurnWriter) -> list[list[Draft]]:
        indexes: list[list[int]] = [[] for _ in self.tree.segments]
        for i in self.tree.order:
            indexes[self.tree.segment_of[i]].append(i)
        return [writer.write((self.line[i], kinds.get(i)) for i in segment) for segment in indexes]

    def _active(self, path: list[int], abandoned: dict[int, list[int]]) -> Branch:
        drafts: list[Draft] = []
        for segment in path:
            drafts += self._marked(segment, drafts, abandoned)
        leaf = self.line[self.tree.leaf].uuid if self.tree.leaf >= 0 else None
        return Branch(id=MAIN, leaf=leaf, active=True, forked_at=None, turns=_turns(drafts, MAIN, 0))

    def _marked(self, segment: int, before: list[Draft], abandoned: dict[int, list[int]]) -> list[Draft]:
        """A segment's drafts, with a notice at the place where other ways were left."""
        here = self.tree.segments[segment]
        others = [path for path in abandoned.values() if _forks_beside(self.tree, path[0], segment)]
        drafts = self.drafts[segment]
        if others and drafts:
            ids = ", ".join("@" + self._id(path).rpartition("@")[2] for path in others)
            fork = self.line[here.fork if here.fork >= 0 else here.start]
            notice = Notice(what="rewound", text=f"rewound here; left behind: {ids}", record=fork)
            (before[-1].steps if before else drafts[0].steps).append(notice)
        return drafts

    def _abandoned(self, path: list[int]) -> Branch:
        tree, line = self.tree, self.line
        first = tree.segments[path[0]]
        drafts = [draft for segment in path for draft in self.drafts[segment]]
        before = sum(_counts(draft) for segment in tree.path(first.parent) for draft in self.drafts[segment])
        last = next((i for i in reversed(tree.order) if tree.segment_of[i] == path[-1] and line[i].uuid), first.start)
        name = self._id(path)
        return Branch(
            id=name,
            leaf=line[last].uuid,
            active=False,
            forked_at=line[first.fork].uuid if first.fork >= 0 else None,
            turns=_turns(drafts, name, before),
            certain=first.certain,
        )

    def _id(self, path: list[int]) -> str:
        start = self.line[self.tree.segments[path[0]].start]
        return f"{self.name}@{(start.uuid or str(start.line))[:12]}"


def _forks_beside(tree: Tree, one: int, other: int) -> bool:
    first, second = tree.segments[one], tree.segments[other]
    return one != other and (first.parent, first.fork) == (second.parent, second.fork)


def _counts(draft: Draft) -> int:
    return int(draft.prompt is not None)


def _turns(drafts: list[Draft], branch: str, before: int) -> tuple[Turn, ...]:
    """Numbers turns by their prompts: 0 is what happened before the first."""
    index = before
    turns: list[Turn] = []
    for draft in _joined(drafts):
        index += _counts(draft)
        turns.append(
            Turn(
                index=index,
                branch=branch,
                prompt=draft.prompt,
                steps=tuple(draft.steps),
                records=tuple(draft.records),
                duration_ms=draft.duration_ms,
            )
        )
    return tuple(turns)


def _joined(drafts: list[Draft]) -> list[Draft]:
    """Lines without a prompt go on with the turn before them; at the start, silent ones with the turn after."""
    joined: list[Draft] = []
    for draft in drafts:
        if joined and draft.prompt is None:
            joined[-1] = _together(joined[-1], draft, joined[-1])
        elif len(joined) == 1 and joined[0].prompt is None and not joined[0].steps:
            joined[0] = _together(joined[0], draft, draft)
        else:
            joined.append(draft)
    return joined


def _together(first: Draft, second: Draft, kept: Draft) -> Draft:
    return Draft(
        kept.prompt,
        first.steps + second.steps,
        first.records + second.records,
        second.duration_ms if second.duration_ms is not None else first.duration_ms,
        first.has_answer or second.has_answer,
    )
