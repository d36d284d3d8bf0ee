"""A message while it streams: its blocks, which of them were delivered, and which were withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from reread.records import Assistant, Block, RedactedThinking, ServerToolUse, ToolUse, UnknownBlock, parse_or_none
from reread.records import Text as TextBlock
from reread.records import Thinking as ThinkingBlock
from reread.records.frames import ApiDelta as Fragment
from reread.records.frames import whole_block

from .events import (
    Delta,
    EventPlace,
    OtherBlock,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolDelta,
    Whole,
    Withdrawal,
    Withdrawn,
)


class StreamedBlock(Struct):
    """A block whose beginning has come."""

    index: int
    start: Block
    pieces: list[str]
    signature: str | None = None
    is_settled: bool = False
    """Whether it was delivered whole or withdrawn."""
    is_confirmed: bool = False
    """Whether a complete frame had it."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def whole(self) -> Block:
        """The block made of its fragments, for a message that ended without a complete frame."""
        return whole_block(self.start, self.text, self.signature)


_DELTAS: dict[type[Block], Callable[..., Delta]] = {ThinkingBlock: ThinkingDelta, TextBlock: TextDelta}


class StreamedMessage:
    """Takes fragments and complete frames of one message and delivers every block whole exactly once."""

    def __init__(
        self,
        id: str | None,  # noqa: A002
        model: str | None = None,
        *,
        is_streamed: bool = False,
        ttft_ms: float | None = None,
    ) -> None:
        self.id = id
        self.model = model
        self.is_streamed = is_streamed
        self.has_ended = False
        """Whether the API gave a stop reason: after that, no block can be withdrawn."""
        self.ttft_ms = ttft_ms
        """Milliseconds to the first token, measured by the client."""
        self._blocks: dict[int, StreamedBlock] = {}

    def start(self, index: int, block: Block) -> None:
        self._blocks[index] = StreamedBlock(index=index, start=block, pieces=[])

    def add(self, index: int, fragment: Fragment | None, where: EventPlace) -> Delta | None:
        """Adds a fragment to its block; None if it has nothing to show or the block's beginning is missing."""
        block = self._blocks.get(index)
        if block is None or block.is_settled or fragment is None:
            return None
        if fragment.signature is not None:
            block.signature = fragment.signature
        text = fragment.thinking or fragment.text or fragment.partial_json
        if not text:
            return None
        block.pieces.append(text)
        start = block.start
        if isinstance(start, ToolUse):
            return ToolDelta(**where, message_id=self.id, index=index, text=text, id=start.id, name=start.name)
        delta = _DELTAS.get(type(start))
        return delta(**where, message_id=self.id, index=index, text=text) if delta is not None else None

    def confirm(self, block: Block, record: Assistant, where: EventPlace) -> Whole | None:
        """Delivers a block of a complete frame in place of its fragments; None if it was delivered already."""
        known = self._unconfirmed(block)
        if known is None:
            if self.is_streamed and self._has_shown(block):
                return None
            known = StreamedBlock(index=max(self._blocks, default=-1) + 1, start=block, pieces=[])
            self._blocks[known.index] = known
        known.is_confirmed = True
        if known.is_settled:
            return None
        return self._deliver(known, block, record, where)

    def end(self, where: EventPlace) -> Iterator[Whole]:
        """Ends the message: blocks without a complete frame are delivered from their fragments."""
        self.has_ended = True
        for block in self._blocks.values():
            if not block.is_settled:
                yield self._deliver(block, block.whole(), None, where)

    def withdraw(self, reason: Withdrawal, where: EventPlace, first: int = 0) -> Iterator[Withdrawn]:
        """Withdraws the blocks that were not delivered, from index `first` on."""
        for block in self._blocks.values():
            if block.is_settled or block.index < first:
                continue
            block.is_settled = True
            start = block.start
            call = start if isinstance(start, ToolUse) else None
            if block.pieces or call is not None:
                yield Withdrawn(
                    **where,
                    message_id=self.id,
                    index=block.index,
                    kind="tool" if call is not None else type_of(start),
                    text=block.text,
                    reason=reason,
                    id=call.id if call is not None else None,
                    name=call.name if call is not None else None,
                )

    @property
    def is_open(self) -> bool:
        return any(not block.is_settled for block in self._blocks.values())

    def _deliver(self, known: StreamedBlock, block: Block, record: Assistant | None, where: EventPlace) -> Whole:
        known.is_settled = True
        known.pieces = [known.text]
        uuid = record.uuid if record is not None else None
        place = {**where, "message_id": self.id, "uuid": uuid, "record": record}
        return _whole(block, record, place, known.index)

    def _unconfirmed(self, block: Block) -> StreamedBlock | None:
        """The oldest block of this type, or the call with this id, that no complete frame has confirmed."""
        kind = type_of(block)
        for known in self._blocks.values():
            if known.is_confirmed or type_of(known.start) != kind:
                continue
            if not isinstance(block, ToolUse) or not isinstance(known.start, ToolUse) or known.start.id == block.id:
                return known
        return None

    def _has_shown(self, block: Block) -> bool:
        """Whether a known block is the same: some clients repeat the whole message at its end."""
        kind = type_of(block)
        return any(
            known.start.id == block.id
            if isinstance(block, ToolUse) and isinstance(known.start, ToolUse)
            else known.whole().as_text == block.as_text
            for known in self._blocks.values()
            if type_of(known.start) == kind
        )


def type_of(block: Block) -> str:
    if isinstance(block, UnknownBlock):
        return block.type_name or "unknown"
    return str(block.__struct_config__.tag)


def _whole(block: Block, record: Assistant | None, place: dict[str, Any], index: int) -> Whole:
    if isinstance(block, ThinkingBlock):
        lasted = record.thinking_duration_ms if record is not None else None
        return Thinking(**place, index=index, text=block.as_text, signature=block.signature, duration_ms=lasted)
    if isinstance(block, RedactedThinking):
        return Thinking(**place, index=index, text="", is_redacted=True)
    if isinstance(block, TextBlock):
        return Text(**place, index=index, text=block.as_text, is_synthetic=record is not None and record.is_synthetic)
    if isinstance(block, ToolUse):
        is_server = isinstance(block, ServerToolUse)
        name = block.name or ""
        return ToolCall(**place, index=index, id=block.id, name=name, input=block.input, is_server=is_server)
    return OtherBlock(**place, index=index, type=type_of(block), value=_value(block))


def _value(block: Block) -> Any:
    if isinstance(block, UnknownBlock):
        return parse_or_none(block.value)
    value: dict[str, Any] = parse_or_none(msgspec.json.encode(block))
    return value
