"""One file's records read as a conversation. Everything is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property

from reread.pricing import Prices, packaged_prices
from reread.records import (
    Assistant,
    Attachment,
    CompactBoundary,
    QueueOperation,
    Record,
    RedactedThinking,
    Spoken,
    Thinking,
    ToolUse,
    User,
    parse_time,
)

from .calls import ToolCall, pair_calls
from .kinds import Kind, kind_of
from .queue import queued_prompt, traceless_prompts
from .requests import Key, Request, Tokens, add_up, requests_of, spoken_groups
from .tree import Tree, grow
from .turns import Draft, TurnWriter, make_prompt
from .values import (
    MINIMUM_THOUGHT,
    Branch,
    Coverage,
    Message,
    Notice,
    Prompt,
    Thought,
    Turn,
    Unplaced,
)

_USUAL = len("2026-01-05T09:00:00.000Z")
"""Times in the client's own form sort as text; parsing every one of them would cost as much as decoding."""
MAIN = "main"
"""The branch the conversation ended on."""


class Conversation:
    """What one transcript file holds.

    `records`, `messages`, `tool_calls`, `thinking` and `usage` cover every line of the file, all branches;
    `turns` is the branch the conversation ended on.
    """

    def __init__(
        self,
        records: Sequence[Record],
        *,
        id: str,  # noqa: A002  the name users know it by
        prices: Prices | None = None,
    ) -> None:
        self.id = id
        self.records = tuple(records)
        self._prices = prices

    @cached_property
    def repeats(self) -> frozenset[int]:
        """`id()` of lines that say again what a line with the same uuid said; `/compact` in 2.1.197 writes such."""
        first: dict[str, Record] = {}
        return frozenset(
            id(record)
            for record in self.records
            if record.uuid is not None
            and (known := first.setdefault(record.uuid, record)) is not record
            and _says_the_same(record, known)
        )

    @cached_property
    def distinct(self) -> tuple[Record, ...]:
        """The records without repeats."""
        if not self.repeats:
            return self.records
        return tuple(record for record in self.records if id(record) not in self.repeats)

    @cached_property
    def spoken(self) -> tuple[Spoken, ...]:
        """The lines that hold a message."""
        return tuple(record for record in self.distinct if isinstance(record, Spoken))

    @cached_property
    def beside(self) -> dict[type[Record], list[Record]]:
        """The lines that hold none, by type: titles, queues, compactions and the rest."""
        found: dict[type[Record], list[Record]] = {}
        for record in self.distinct:
            if not isinstance(record, Spoken):
                found.setdefault(type(record), []).append(record)
        return found

    @cached_property
    def line(self) -> tuple[Record, ...]:
        """The records of this conversation proper: no repeats, no lines of agents inside the same file."""
        return self.distinct

    @cached_property
    def kinds(self) -> dict[int, Kind]:
        """The class of every user line, by its index in `line`."""
        return {i: kind_of(record) for i, record in enumerate(self.line) if isinstance(record, User)}

    @cached_property
    def tree(self) -> Tree:
        return grow(self.line, self.kinds)

    @cached_property
    def _groups(self) -> dict[Key, list[Spoken]]:
        return spoken_groups(self.spoken)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """Messages by their first line in the file; the lines of one API response are one message."""
        return tuple(_message(group) for group in self._groups.values())

    @property
    def assistant_messages(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.role == "assistant")

    @property
    def user_messages(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.role == "user")

    @cached_property
    def prompts(self) -> tuple[Prompt, ...]:
        """What the person typed, on all branches, in file order; commands are in the turns."""
        found: list[Prompt] = []
        for i, record in enumerate(self.line):
            if isinstance(record, User):
                if self.kinds[i] is Kind.PROMPT:
                    found.append(make_prompt(record, Kind.PROMPT))
            elif isinstance(record, Attachment | QueueOperation):
                queued = queued_prompt(record) or self.traceless.get(id(record))
                found += [queued] if queued is not None else []
        return tuple(found)

    @cached_property
    def traceless(self) -> dict[int, Prompt]:
        """Prompts that only the queue records know, by the `id()` of their record."""
        queued = self.beside.get(QueueOperation)
        return traceless_prompts(queued, self.line) if queued else {}

    @cached_property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(pair_calls(self.spoken))

    @cached_property
    def thoughts(self) -> tuple[Thought, ...]:
        """All thinking blocks, empty and redacted ones too."""
        return tuple(
            Thought(record=record, block=block)
            for record in self.spoken
            if type(record) is Assistant
            for block in record.blocks
            if type(block) is Thinking or type(block) is RedactedThinking
        )

    def thinking(self, min_length: int = MINIMUM_THOUGHT) -> list[Thought]:
        """The thoughts worth reading."""
        return [thought for thought in self.thoughts if len(thought.text) >= min_length]

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        return tuple(requests_of(self._groups))

    @property
    def prices(self) -> Prices:
        return self._prices if self._prices is not None else packaged_prices()

    @cached_property
    def usage(self) -> Tokens:
        """Tokens and money of this file; agents with files of their own are not in it."""
        return add_up(self.requests, self.prices)

    @property
    def cost(self) -> Decimal | None:
        """Dollars, a lower bound: some calls leave no trace in transcripts. None when nothing has a price."""
        return self.usage.cost

    def usage_of(self, turn: Turn) -> Tokens:
        return add_up(requests_of(spoken_groups(turn.records)), self.prices)

    @property
    def compactions(self) -> tuple[CompactBoundary, ...]:
        return tuple(r for r in self.beside.get(CompactBoundary, ()) if isinstance(r, CompactBoundary))

    @cached_property
    def span(self) -> tuple[datetime | None, datetime | None]:
        """The earliest and the latest time in the file; file order is not time order."""
        stamps = {record.timestamp for record in self.records if record.timestamp is not None}
        usual = [stamp for stamp in stamps if isinstance(stamp, str) and len(stamp) == _USUAL and stamp[-1] == "Z"]
        others = stamps.difference(usual)
        ends = [min(usual), max(usual)] if usual else []
        times = [time for stamp in (*ends, *others) if (time := parse_time(stamp)) is not None]
        return (min(times), max(times)) if times else (None, None)

    @property
    def project(self) -> str | None:
        """The working directory, from the records: the folder's name cannot be decoded."""
        return next((record.cwd for record in self.records if record.cwd), None)

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(record.version for record in self.records if record.version))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the branch the conversation ended on."""
        return self.branches[0].turns

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The active branch first, then the abandoned ones, newest first."""
        return tuple(_BranchWriter(self).branches())

    @cached_property
    def coverage(self) -> Coverage:
        """Every record of the conversation is in a turn, or listed with the reason why not."""
        turns = [turn for branch in self.branches for turn in branch.turns]
        placed = {id(record) for turn in turns for record in turn.records}
        missed = [Unplaced(record=record, reason="in no turn") for record in self.line if id(record) not in placed]
        repeated = [
            Unplaced(record=record, reason="repeats an earlier line")
            for record in self.records
            if id(record) in self.repeats
        ]
        return Coverage(
            records=len(self.line) + len(repeated),
            placed=sum(len(turn.records) for turn in turns),
            unplaced=(*missed, *repeated),
        )

    @cached_property
    def _calls_by_id(self) -> dict[str | int, ToolCall]:
        return {call.id or id(call.block): call for call in self.tool_calls}

    def call_of(self, block: ToolUse) -> ToolCall:
        """The call a block makes; a replayed block is the call it repeats."""
        return self._calls_by_id[block.id or id(block)]


def _says_the_same(one: Record, other: Record) -> bool:
    if type(one) is not type(other) or one.timestamp != other.timestamp:
        return False
    return not isinstance(one, Spoken) or one.message == getattr(other, "message", None)


def _message(group: list[Spoken]) -> Message:
    first = group[0]
    if isinstance(first, User):
        return Message(role="user", id=None, records=(first,))
    message_id = first.message.id if first.message is not None else None
    return Message(role="assistant", id=message_id, records=tuple(group))


class _BranchWriter:
    """Writes the branches of a conversation from its tree; every record lands in one of them."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tree = conversation.tree
        self.drafts = self._drafts_by_segment()

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

    def _drafts_by_segment(self) -> list[list[Draft]]:
        conversation, tree = self.conversation, self.tree
        writers = [TurnWriter(conversation.call_of, conversation.traceless) for _ in tree.segments]
        for i in tree.order:
            writers[tree.segment_of[i]].add(conversation.line[i], conversation.kinds.get(i))
        return [writer.finish() for writer in writers]

    def _active(self, path: list[int], abandoned: dict[int, list[int]]) -> Branch:
        drafts: list[Draft] = []
        for segment in path:
            drafts += self._marked(segment, drafts, abandoned)
        leaf = self.conversation.line[self.tree.leaf].uuid if self.tree.leaf >= 0 else None
        return Branch(id=MAIN, leaf=leaf, active=True, forked_at=None, turns=_turns(drafts, MAIN, 0))

    def _marked(self, segment: int, before: list[Draft], abandoned: dict[int, list[int]]) -> list[Draft]:
        """A segment's drafts, with a notice at the place where other ways were left."""
        here = self.tree.segments[segment]
        others = [path for path in abandoned.values() if _forks_beside(self.tree, path[0], segment)]
        drafts = self.drafts[segment]
        if others and drafts:
            ids = ", ".join("@" + self._id(path).rpartition("@")[2] for path in others)
            fork = self.conversation.line[here.fork if here.fork >= 0 else here.start]
            notice = Notice(what="rewound", text=f"rewound here; left behind: {ids}", record=fork)
            (before[-1].steps if before else drafts[0].steps).append(notice)
        return drafts

    def _abandoned(self, path: list[int]) -> Branch:
        tree, line = self.tree, self.conversation.line
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
        start = self.conversation.line[self.tree.segments[path[0]].start]
        return f"{self.conversation.id}@{(start.uuid or str(start.line))[:12]}"


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
