"""The records of one file as a conversation. Everything is computed when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import starmap
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from reread.billing import Prices, packaged_prices
from reread.billing.report import Tokens
from reread.records import (
    Assistant,
    Attachment,
    Block,
    CompactBoundary,
    QueueOperation,
    Record,
    RedactedThinking,
    Spoken,
    Text,
    Thinking,
    ToolResult,
    ToolResultLine,
    ToolUse,
    User,
    parse_time,
)

from .calls import ToolCall, pair_calls
from .captured import ToolPermission, WithdrawnBlock
from .lost_words import UNSAID, lost_words
from .requests import Key, Request, add_up, counted_rows, repeats_in, request_of, requests_of, spoken_groups, with_times
from .speaker import Speaker, has_words, kind_of
from .tree import BranchWriter, Tree, grow, opening_lines
from .turns import TurnWriter, prompt_of, queued_prompt, traceless_prompts
from .values import MINIMUM_THOUGHT, Branch, Coverage, FlatText, Message, Notice, Prompt, Said, Thought, Turn, Unplaced

AnyRecord = TypeVar("AnyRecord", bound=Record)
_USUAL = len("2026-01-05T09:00:00.000Z")
"""Length of a time in the client's own form. Such times sort as text; parsing all of them would cost as much as
decoding."""


class Conversation:
    """What one transcript file holds.

    `records`, `messages`, `tool_calls`, `thinking` and `usage` cover every line of the file, on all branches;
    `turns` covers only the branch the conversation ended on.
    """

    def __init__(
        self,
        records: Sequence[Record],
        *,
        id: str,  # noqa: A002  the name users know it by
        prices: Prices | None = None,
        permissions: Mapping[str, ToolPermission] | None = None,
    ) -> None:
        self.id = id
        self.records = tuple(records)
        self._prices = prices
        self.permissions = permissions or {}
        """How tools were allowed, by call id, where the run was captured."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}, {len(self.records):,} records>"

    def __getstate__(self) -> dict[str, Any]:
        """The state to copy, without cached properties: many of those refer to records by `id()`, and the records of a
        copy have other ids."""
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    @cached_property
    def repeats(self) -> frozenset[int]:
        """The `id()` of each line that repeats an earlier one."""
        return repeats_in(self.records)

    @cached_property
    def distinct(self) -> tuple[Record, ...]:
        """The records without repeats."""
        if not self.repeats:
            return self.records
        return tuple(record for record in self.records if id(record) not in self.repeats)

    @cached_property
    def spoken(self) -> tuple[Spoken, ...]:
        """The lines that hold a message."""
        return tuple(self._sorted[0])

    @property
    def counted_lines(self) -> tuple[Spoken, ...]:
        """The lines whose calls, thoughts and words count in this conversation; their requests may not."""
        return self.spoken

    @property
    def by_progress(self) -> Mapping[int, Spoken]:
        """What agents say only in progress lines of this file, by the `id()` of the progress line."""
        return {}

    def identities(self, records: Iterable[Record]) -> frozenset[int]:
        """The `id()` of each record, and of the agent's line inside it if it is a progress line."""
        numbers = [id(record) for record in records]
        return frozenset((*numbers, *(id(self.by_progress[each]) for each in numbers if each in self.by_progress)))

    @property
    def beside(self) -> dict[type[Record], list[Record]]:
        """The lines without a message, by type: titles, queue operations, compactions and others."""
        return self._sorted[1]

    def beside_of(self, kind: type[AnyRecord]) -> Sequence[AnyRecord]:
        """Those of one type, in file order."""
        return cast("Sequence[AnyRecord]", self.beside.get(kind, ()))

    @cached_property
    def _sorted(self) -> tuple[list[Spoken], dict[type[Record], list[Record]]]:
        """Sorts lines by their exact type: calling `isinstance` on every line takes several times as long."""
        spoken: list[Spoken] = []
        lists: dict[type[Record], list[Record]] = {}
        for record in self.distinct:
            kind = type(record)
            if kind not in lists:
                lists[kind] = cast("list[Record]", spoken) if issubclass(kind, Spoken) else []
            lists[kind].append(record)
        return spoken, {kind: found for kind, found in lists.items() if found is not spoken}

    @cached_property
    def line(self) -> tuple[Record, ...]:
        """The records of this conversation proper: no repeats, no lines of agents inside the same file."""
        return self.distinct

    @cached_property
    def kinds(self) -> dict[int, Speaker]:
        """The speaker of every user line, by its index in `line`."""
        return {
            i: kind_of(record)
            for i, record in enumerate(self.line)
            if type(record) is User or type(record) is ToolResultLine
        }

    @cached_property
    def tree(self) -> Tree:
        """How the lines branch."""
        return grow(self.line, self.kinds)

    @cached_property
    def _groups(self) -> dict[Key, list[Spoken]]:
        return spoken_groups(self.spoken)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """Messages in the order of their first lines; all lines of one API response are one message."""
        return tuple(_message(group) for group in self._groups.values())

    @property
    def assistant_messages(self) -> tuple[Message, ...]:
        """The messages of the model."""
        return tuple(message for message in self.messages if message.role == "assistant")

    @property
    def user_messages(self) -> tuple[Message, ...]:
        """The messages in the user's role: prompts, tool results, and lines the client adds."""
        return tuple(message for message in self.messages if message.role == "user")

    @cached_property
    def prompts(self) -> tuple[Prompt, ...]:
        """What the person typed, on all branches, in file order. Commands without words are only in the turns."""
        return tuple(prompt for prompt in self._typed if has_words(prompt.text))

    @property
    def _typed(self) -> list[Prompt]:
        found: list[Prompt] = []
        kinds = self.kinds
        for i, record in enumerate(self.line):
            if type(record) is Attachment or type(record) is QueueOperation:
                queued = queued_prompt(record) or self.traceless.get(id(record))
                found += [queued] if queued is not None else []
            elif (kind := kinds.get(i)) in (Speaker.PROMPT, Speaker.COMMAND) and isinstance(record, User):
                found.append(prompt_of(record, kind))
            elif kinds.get(i) is Speaker.TOOL_RESULT and (beside := queued_prompt(record)) is not None:
                found.append(beside)
        return found

    @cached_property
    def traceless(self) -> dict[int, Prompt]:
        """Prompts found only in queue records, by the `id()` of the record."""
        queued = self.beside_of(QueueOperation)
        return traceless_prompts(queued, self.line) if queued else {}

    @cached_property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every call with its result, on all branches, in file order."""
        return tuple(call for block, call in self._calls_by_block.items() if id(call.block) == block)

    @cached_property
    def thoughts(self) -> tuple[Thought, ...]:
        """All thinking blocks, including empty, redacted and withdrawn ones."""
        return tuple(
            Thought(record=record, block=block)
            for record in (self.distinct if WithdrawnBlock in self.beside else self.counted_lines)
            for block in _reply_blocks(record)
            if type(block) is Thinking or type(block) is RedactedThinking
        )

    @cached_property
    def unsaid(self) -> tuple[Notice, ...]:
        """Where Claude wrote something that the client did not store, on all branches."""
        lost = lost_words(self.counted_lines)
        return tuple(Notice(what="unsaid", text=UNSAID, record=record) for record, _ in lost)

    def thinking(self, min_length: int = MINIMUM_THOUGHT) -> list[Thought]:
        """The thoughts of at least `min_length` characters."""
        return [thought for thought in self.thoughts if len(thought.text) >= min_length]

    def texts(self, min_length: int = MINIMUM_THOUGHT) -> list[FlatText]:
        """What was typed, thought and said, in the order of the file: `{"type", "text", "ts"}`, of type `user`,
        `thinking` or `output`. Thoughts and replies have at least `min_length` characters."""
        place = {id(record): number for number, record in enumerate(self.records)}
        found = [
            *(("user", prompt.record, prompt.text) for prompt in self.prompts),
            *(("thinking", thought.record, thought.text) for thought in self.thinking(min_length)),
            *(("output", said.record, said.text) for said in self.words(min_length)),
        ]
        found.sort(key=lambda each: place.get(id(each[1]), len(place)))
        return [{"type": kind, "text": text, "ts": record.timestamp} for kind, record, text in found]

    def words(self, min_length: int = MINIMUM_THOUGHT) -> list[Said]:
        """The model's replies of at least `min_length` characters; `turns` include the shorter ones."""
        return [
            Said(record=record, block=block)
            for record in self.counted_lines
            for block in _reply_blocks(record)
            if type(block) is Text and len(block.as_text) >= min_length
        ]

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """The API responses in this file, each once, with their usage."""
        return tuple(with_times(starmap(request_of, self.request_rows), self.records))

    @cached_property
    def request_rows(self) -> list[tuple[Key, list[Assistant]]]:
        """What each of `requests` is made of: enough to know where it begins, and made in a third of the time."""
        return counted_rows(self._groups)

    def request(self, number: int) -> Request:
        """One of `requests`, without making the others."""
        return next(with_times([request_of(*self.request_rows[number])], self.records))

    @property
    def prices(self) -> Prices:
        """The price table used for `usage` and `cost`."""
        return self._prices if self._prices is not None else packaged_prices()

    @cached_property
    def usage(self) -> Tokens:
        """Tokens and money of this file, without agents that have files of their own."""
        return add_up(self.requests, self.prices)

    @property
    def cost(self) -> Decimal | None:
        """Dollars, as a lower bound: some API calls leave no trace in transcripts. None when nothing has a price."""
        return self.usage.cost

    def usage_of(self, turn: Turn) -> Tokens:
        """Tokens and money of one turn, without agents that have files of their own."""
        return add_up(requests_of(spoken_groups(turn.records)), self.prices)

    @property
    def compactions(self) -> tuple[CompactBoundary, ...]:
        """Where the context was compacted."""
        return tuple(self.beside_of(CompactBoundary))

    @cached_property
    def span(self) -> tuple[datetime | None, datetime | None]:
        """The earliest and the latest time in the file; file order is not time order."""
        stamps = {record.timestamp for record in self.records if record.timestamp is not None}
        usual = [stamp for stamp in stamps if isinstance(stamp, str) and len(stamp) == _USUAL and stamp[-1] == "Z"]
        others = stamps.difference(usual)
        ends = [min(usual), max(usual)] if usual else []
        if any(parse_time(stamp) is None for stamp in ends):  # `2026-13-45T99:99:99.000Z`: others are between
            ends = usual
        return span_of(map(parse_time, (*ends, *others)))

    @property
    def project(self) -> str | None:
        """The working directory as the records have it: the folder's name cannot be decoded."""
        return next((record.cwd for record in self.records if record.cwd), None)

    @cached_property
    def versions(self) -> tuple[str, ...]:
        """The versions of Claude Code that wrote it, in file order."""
        return tuple(dict.fromkeys(record.version for record in self.records if record.version))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the branch the conversation ended on."""
        return self.branches[0].turns

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """The active branch first, then the abandoned ones, newest first."""
        writer = TurnWriter(self.call_of, self.traceless, self.orphan_results)
        found = BranchWriter(self.id, self.tree, self.line, self.kinds, writer).branches()
        return tuple(found if self._prices is None else (replace(each, prices=self._prices) for each in found))

    @cached_property
    def opening_lines(self) -> frozenset[int]:
        """The prompts of `turns`, by their index in `line`; found without making the turns."""
        return opening_lines(self.tree, self.line, self.kinds)

    @property
    def abandoned(self) -> frozenset[int]:
        """The `id()` of each line on an abandoned branch."""
        tree = self.tree
        if len(tree.segments) == 1:
            return frozenset()
        main = tree.path(tree.active)
        return frozenset(id(record) for i, record in enumerate(self.line) if tree.segment_of[i] not in main)

    @property
    def branch_count(self) -> int:
        """The number of `branches`, counted without making them."""
        return 1 + len(self.tree.abandoned())

    @cached_property
    def coverage(self) -> Coverage:
        """Accounts for every record of the conversation: it is in a turn, or listed with the reason why not."""
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
    def _calls_by_block(self) -> dict[int, ToolCall]:
        return pair_calls(self.counted_lines, self.permissions)

    @cached_property
    def orphan_results(self) -> frozenset[int]:
        """The `id()` of each result block whose call is in none of the lines."""
        known = {call.block.id for call in self._calls_by_block.values()}
        return frozenset(
            id(block)
            for record in self.counted_lines
            for block in record.blocks
            if type(block) is ToolResult and block.tool_use_id not in known
        )

    def call_of(self, block: ToolUse) -> ToolCall:
        """The call that a block makes; a replayed block gives the call it repeats."""
        return self._calls_by_block[id(block)]


def span_of(times: Iterable[datetime | None]) -> tuple[datetime | None, datetime | None]:
    """The earliest and the latest of the times that are known."""
    known = [time for time in times if time is not None]
    return min(known, default=None), max(known, default=None)


def _reply_blocks(record: Record) -> Sequence[Block]:
    if type(record) is Assistant:
        return record.blocks
    return (record.block,) if type(record) is WithdrawnBlock else ()


def _message(group: list[Spoken]) -> Message:
    first = group[0]
    if isinstance(first, User):
        return Message(role="user", id=None, records=(first,))
    return Message(role="assistant", id=first.api_message.id, records=tuple(group))
