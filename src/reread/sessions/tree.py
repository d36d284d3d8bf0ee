"""The graph of one file: reading order, forks, segments and the branches they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from reread.records import Assistant, CompactBoundary, LastPrompt, Record, Spoken, User

from .speaker import Speaker
from .turns import MAY_GO_UNANSWERED, OPENS_TURN, Draft, TurnWriter, is_answer
from .values import Branch, Notice, Turn

TALK, PROMPT, LEADS, MORE = 1, 2, 4, 8
"""What a line and all lines below it hold, as flags: conversation of any kind; a person's prompt; a prompt before
anything else; more than local commands. A way that holds only local commands is not an abandoned branch: after a
resume, `/exit` is a sibling of the line that the conversation continued with."""

_KIND_HOLDS = {
    Speaker.TOOL_RESULT: TALK | MORE,
    Speaker.INTERRUPT: TALK | MORE,
    Speaker.COMPACT_SUMMARY: TALK | MORE,
    Speaker.TASK_NOTIFICATION: TALK | MORE,
    Speaker.TEAMMATE: TALK | MORE,
    Speaker.AGENT_PROMPT: TALK | MORE,
    Speaker.PROMPT: TALK | PROMPT | LEADS | MORE,
    Speaker.COMMAND: TALK | PROMPT | LEADS,
    Speaker.SHELL: TALK | PROMPT | LEADS,
}
"""Kinds that are not listed (meta, hooks, local output) neither make nor break a branch."""


class Segment(Struct, frozen=True):
    """Lines between two rewinds."""

    parent: int
    """Index of the segment it grew from; -1 for the first."""
    fork: int
    """Index of the record it branches off from; -1 when it starts at the beginning."""
    start: int
    certain: bool = True
    """False when the fork is not two prompts side by side but is a rewind only because nothing else explains it."""


class Tree(Struct, frozen=True):
    """Where every record of a file belongs. Indexes refer to the records in the order given."""

    order: list[int]
    segment_of: list[int]
    segments: list[Segment]
    active: int
    """The segment the conversation ended in."""
    leaf: int
    """The record it ended with; -1 in an empty file."""
    orphans: list[int]
    """Records whose parent is not in the file."""
    repeated: list[int]
    """Records whose uuid an earlier record already has: kept, but not linked into the tree."""

    def path(self, segment: int) -> list[int]:
        """The segments from the beginning down to this one."""
        steps = []
        while segment >= 0:
            steps.append(segment)
            segment = self.segments[segment].parent
        return steps[::-1]

    def leaves(self) -> list[int]:
        """Segments that no other segment grew from, in file order."""
        parents = {segment.parent for segment in self.segments}
        return [index for index in range(len(self.segments)) if index not in parents]

    def abandoned(self) -> list[int]:
        """Leaves that are not on the path to the active segment, newest first."""
        main = self.path(self.active)
        return [leaf for leaf in reversed(self.leaves()) if leaf not in main]


def grow(records: Sequence[Record], kinds: Mapping[int, Speaker]) -> Tree:
    """The tree of a file's records; `kinds` classifies its user lines by index."""
    links = _Links(records)
    order = links.order()
    holds = _held_below(records, kinds, order, links.parent)
    forks = _Forks(records, holds)
    segment_of, segments = _cut(records, order, links, forks)
    leaf = _last_leaf(records, kinds, links.index)
    active = segment_of[leaf] if leaf >= 0 else 0
    return Tree(order, segment_of, segments, active, leaf, links.orphans, links.repeated)


class _Links:
    """Parents and children by index, with self-loops and cycles cut."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.index: dict[str, int] = {}
        self.repeated: list[int] = []
        self.orphans: list[int] = []
        for i, record in enumerate(records):
            if record.uuid is not None and self.index.setdefault(record.uuid, i) != i:
                self.repeated.append(i)
        for i, record in enumerate(records):
            if type(record) is User and (record.sent_as_uuid or record.dropped_prompt_uuids):
                for name in record.other_uuids:
                    self.index.setdefault(name, i)
        self.has_forward_link = False
        """Whether a line comes before its parent in the file. If none does, file order is right and no cycle can
        exist."""
        self.parent = self._parents(records)
        self.several: dict[int, list[int]] = {}
        """The children of lines that have more than one. These are few, and only they can be forks."""
        self.first_child = first_child = [-1] * len(records)
        for i, parent in enumerate(self.parent):
            if parent >= 0:
                if first_child[parent] < 0:
                    first_child[parent] = i
                else:
                    self.several.setdefault(parent, [first_child[parent]]).append(i)

    def order(self) -> list[int]:
        """The order in which the lines are read."""
        return _reading_order(self.parent) if self.has_forward_link else list(range(len(self.parent)))

    def _parents(self, records: Sequence[Record]) -> list[int]:
        parents = [-1] * len(records)
        repeated = set(self.repeated)
        place_of = self.index.get
        for i, record in enumerate(records):
            above = record.parent_uuid
            if above is None or record.uuid is None or i in repeated:
                continue
            parent = place_of(above, -1)
            if parent < 0:
                self.orphans.append(i)
            elif parent != i:
                parents[i] = parent
                if parent > i:
                    self.has_forward_link = True
        if self.has_forward_link:
            _cut_cycles(parents)
        return parents


def _cut_cycles(parents: list[int]) -> None:
    """Makes one line of every cycle a root."""
    settled = bytearray(len(parents))
    for start in range(len(parents)):
        trail: set[int] = set()
        node = start
        while node >= 0 and not settled[node]:
            trail.add(node)
            if parents[node] in trail:
                parents[node] = -1
            node = parents[node]
        for node in trail:
            settled[node] = 1


def _reading_order(parents: list[int]) -> list[int]:
    """File order, except that a line written before its parent waits for it."""
    order: list[int] = []
    waiting: dict[int, list[int]] = {}
    for i, parent in enumerate(parents):
        if parent > i or parent in waiting:
            waiting.setdefault(parent, []).append(i)
            waiting.setdefault(i, [])
            continue
        ready = [i]
        while ready:
            node = ready.pop()
            order.append(node)
            ready.extend(reversed(waiting.pop(node, ())))
    return order


def _held_below(
    records: Sequence[Record], kinds: Mapping[int, Speaker], order: list[int], parents: list[int]
) -> list[int]:
    """For every record, what it and all records below it hold, gathered from the leaves up."""
    own = _held(records, kinds)
    holds = own.copy()
    for i in reversed(order):
        parent = parents[i]
        if parent >= 0:
            # A prompt below a line that holds something itself no longer comes first.
            holds[parent] |= holds[i] & ~LEADS if own[parent] else holds[i]
    return holds


def _held(records: Sequence[Record], kinds: Mapping[int, Speaker]) -> list[int]:
    """What every record holds by itself."""
    own = [TALK | MORE if type(record) is Assistant and not record.is_synthetic else 0 for record in records]
    for i, kind in kinds.items():
        own[i] = _KIND_HOLDS.get(kind, 0)
    return own


def is_settled(records: Sequence[Record], kinds: Mapping[int, Speaker]) -> bool:
    """Whether no line that may follow the last one can make or unmake a branch before it."""
    links = _Links(records)
    order = links.order()
    last = next((i for i in reversed(range(len(records))) if records[i].uuid is not None), -1)
    if last < 0 or last in links.repeated or links.parent[last] < 0 or links.first_child[last] >= 0:
        return False
    if any(links.parent[i] >= 0 for i in order[order.index(last) + 1 :]):  # the last line must also be read last
        return False
    own = _held(records, kinds)
    forks = _Forks(records, _held_below(records, kinds, order, links.parent))
    return all(_is_stable(last, below, own, links, forks) for below in range(1, 2 * MORE))


def _is_stable(node: int, below: int, own: list[int], links: _Links, forks: _Forks) -> bool:
    """Whether every fork above a line keeps its branches if lines that hold `below` are added under it."""
    while node >= 0:
        if own[node]:
            below &= ~LEADS
        before = forks.holds[node]
        if before | below == before:  # nothing changes here, so nothing changes above
            return True
        if forks.records[node].parent_uuid is None and below & ~before & (LEADS | MORE):  # it may become a restart
            return False
        beside = links.several.get(links.parent[node])
        if beside is not None:
            now = forks.starts(beside)
            forks.holds[node] = before | below
            then = forks.starts(beside)
            forks.holds[node] = before
            if now != then:
                return False
        node = links.parent[node]
    return True


class _Forks:
    """Distinguishes rewinds from artefacts of recording, one line with several children at a time."""

    def __init__(self, records: Sequence[Record], holds: list[int]) -> None:
        self.records = records
        self.holds = holds

    def starts(self, children: list[int]) -> tuple[list[int], bool]:
        """The children that begin a branch of their own, and whether that is certain.

        Ignored are children that lead to no talk or only to local commands, and copies. Several prompts side by side
        are a rewind. Otherwise a child that is a progress or attachment line means an artefact of recording. If nothing
        explains the fork (as with further blocks and results of one message), it is a rewind only where a person went
        on talking on both sides.
        """
        live = self._without_copies([child for child in children if self.holds[child] & MORE])
        prompts = [child for child in live if self.holds[child] & LEADS]
        if len(prompts) > 1:
            return prompts, True
        if not all(self._is_spoken(child) for child in live):
            return [], True
        going_on = [child for child in live if self.holds[child] & PROMPT]
        return (going_on, False) if len(going_on) > 1 else ([], True)

    def _is_spoken(self, node: int) -> bool:
        return isinstance(self.records[node], Spoken)

    def _without_copies(self, children: list[int]) -> list[int]:
        """Leaves out replays: after a compaction or resume, a line is repeated with the same time and content."""
        kept: list[int] = []
        for child in children:
            if not any(_same_content(self.records[child], self.records[other]) for other in kept):
                kept.append(child)
        return kept


def _same_content(one: Record, other: Record) -> bool:
    return (
        isinstance(one, Spoken)
        and isinstance(other, Spoken)
        and one.timestamp is not None
        and one.timestamp == other.timestamp
        and one.message == other.message
    )


def _cut(records: Sequence[Record], order: list[int], links: _Links, forks: _Forks) -> tuple[list[int], list[Segment]]:
    """Assigns every record to a segment, opening a new one at each start of a branch."""
    segments = [Segment(-1, -1, 0)]
    segment_of = [0] * len(records)
    opened = _restarts(records, links, forks)
    if not opened and not any(forks.starts(children)[0] for children in links.several.values()):
        return segment_of, segments  # most conversations have no branches
    for start in opened:
        opened[start] = len(segments)
        segments.append(Segment(0, -1, start))
    previous = 0
    for i in order:
        parent = links.parent[i]
        if i in opened:
            current = opened[i]
        elif parent >= 0:
            current = segment_of[parent]
        else:
            current = _segment_of_root(records[i], links.index, segment_of, previous)
        segment_of[i] = previous = current
        if i in links.several:
            starts, certain = forks.starts(links.several[i])
            for start in starts:
                opened[start] = len(segments)
                segments.append(Segment(current, i, start, certain))
    return segment_of, segments


def _restarts(records: Sequence[Record], links: _Links, forks: _Forks) -> dict[int, int]:
    """Prompts typed after a rewind to the very beginning: further roots whose parent is null.

    In streams and hand-made files no line has a parent, and that does not make every line a rewind. So these roots
    count only where at least one of them has a child.
    """
    roots = [
        i
        for i, record in enumerate(records)
        if links.parent[i] < 0
        and record.uuid is not None
        and record.parent_uuid is None
        and not record.is_frame
        and forks.holds[i] & (LEADS | MORE) == LEADS | MORE
    ]
    is_linked = any(links.first_child[root] >= 0 for root in roots)
    return dict.fromkeys(roots, 0) if is_linked and len(roots) > 1 else {}


def _segment_of_root(record: Record, index: Mapping[str, int], segment_of: list[int], previous: int) -> int:
    """A line without a parent belongs where the file has it; a compaction belongs after the line it names."""
    for uuid in joined_after(record):
        if uuid in index:
            return segment_of[index[uuid]]
    return previous


def joined_after(record: Record) -> Iterator[str]:
    """The lines a compaction names as its past, best first. In 31 of 70 recorded cases none of them is in the file."""
    if not isinstance(record, CompactBoundary):
        return
    if record.logical_parent_uuid is not None:
        yield record.logical_parent_uuid
    metadata = record.compact_metadata
    if metadata is not None and metadata.preserved_segment is not None:
        yield from filter(None, [metadata.preserved_segment.tail_uuid])
    if metadata is not None and metadata.preserved_messages is not None:
        yield from (metadata.preserved_messages.uuids or [])[-1:]


def _last_leaf(records: Sequence[Record], kinds: Mapping[int, Speaker], index: Mapping[str, int]) -> int:
    """The line the conversation ended with: the one in the last `LastPrompt`, unless talk follows that record."""
    for i in range(len(records) - 1, -1, -1):
        record = records[i]
        if isinstance(record, LastPrompt):
            if record.leaf_uuid is not None and record.leaf_uuid in index:
                return index[record.leaf_uuid]
        elif is_talk(record, kinds.get(i)):
            return i
    return len(records) - 1


def is_talk(record: Record, kind: Speaker | None) -> bool:
    """Whether a conversation may have ended with this line; `kind` is the speaker of a user line."""
    is_said = isinstance(record, Assistant) or kind not in (None, Speaker.META)
    return is_said and record.team_name is None


def opening_lines(tree: Tree, line: Sequence[Record], kinds: Mapping[int, Speaker]) -> frozenset[int]:
    """The prompts of the turns on the active branch, by index. Making the turns to find them takes ten times as
    long."""
    main = set(tree.path(tree.active))
    waiting: dict[int, int] = {}  # by segment: a command that has no answer yet
    found: list[int] = []
    for i in tree.order:
        segment, kind = tree.segment_of[i], kinds.get(i)
        if kind in OPENS_TURN and segment in main:
            waiting.pop(segment, None)
            if kind in MAY_GO_UNANSWERED:
                waiting[segment] = i
            else:
                found.append(i)
        elif segment in waiting and is_answer(line[i]):
            found.append(waiting.pop(segment))
    return frozenset(found)


MAIN = "main"
"""The branch the conversation ended on."""


class BranchWriter:
    """Makes the branches of a conversation; every record is in exactly one of them."""

    def __init__(
        self, name: str, tree: Tree, line: Sequence[Record], kinds: Mapping[int, Speaker], writer: TurnWriter
    ) -> None:
        self.name = name
        self.tree = tree
        self.line = line
        self.drafts = self._drafts_by_segment(kinds, writer)

    def branches(self) -> Iterator[Branch]:
        tree = self.tree
        main = tree.path(tree.active)
        taken = set(main)
        own: dict[int, list[int]] = {}
        for leaf in tree.abandoned():
            own[leaf] = [segment for segment in tree.path(leaf) if segment not in taken]
            taken.update(own[leaf])
        yield self._active(main, own)
        for path in own.values():
            yield self._abandoned(path)

    def _drafts_by_segment(self, kinds: Mapping[int, Speaker], writer: TurnWriter) -> list[list[Draft]]:
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
        """A segment's drafts, with a notice at the place where other branches were abandoned."""
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
    """Numbers turns by their prompts; 0 is what happened before the first prompt."""
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
    """Joins drafts without a prompt to the turn before them; at the start, one without steps to the turn after it."""
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
