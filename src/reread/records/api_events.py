"""The API's own streaming events, as the client hands them on inside `stream_event` frames."""

from __future__ import annotations

from msgspec import Raw, Struct

from ..decoders import json_decoder
from .base import Number
from .blocks import Block, UnknownBlock
from .conversation import Message
from .salvage import unknown_value
from .tolerant import ABSENT, FAILURES, parse_or_none
from .usage import Usage


class _ApiEvent(Struct, frozen=True, kw_only=True, gc=False, tag_field="type"):
    pass


class MessageStart(_ApiEvent, tag="message_start", frozen=True):
    message: Message | None = None


class BlockStart(_ApiEvent, tag="content_block_start", frozen=True):
    index: int = 0
    content_block: Raw = ABSENT

    @property
    def block(self) -> Block:
        """The block as it begins: its type and id, and nothing said yet."""
        try:
            block: Block = _block(self.content_block)
        except FAILURES:
            return unknown_value(UnknownBlock, parse_or_none(self.content_block))
        return block


class Delta(Struct, frozen=True, kw_only=True, gc=False):
    """A fragment; which field carries it follows from the type of its block."""

    type: str | None = None
    thinking: str | None = None
    text: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    estimated_tokens: Number | None = None


class BlockDelta(_ApiEvent, tag="content_block_delta", frozen=True):
    index: int = 0
    delta: Delta | None = None


class BlockStop(_ApiEvent, tag="content_block_stop", frozen=True):
    index: int = 0


class MessageDelta(_ApiEvent, tag="message_delta", frozen=True):
    """The end of a message: why it ended, and its final counts."""

    delta: Delta | None = None
    usage: Usage | None = None


class MessageStop(_ApiEvent, tag="message_stop", frozen=True):
    pass


ApiEvent = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop

_event = json_decoder(ApiEvent).decode
_block = json_decoder(Block).decode


def decode_api_event(raw: Raw) -> ApiEvent | None:
    """The event, or None for one that no type describes: its frame still has the bytes."""
    try:
        event: ApiEvent = _event(raw)
    except FAILURES:
        return None
    return event
