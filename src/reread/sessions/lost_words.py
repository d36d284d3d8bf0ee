"""Words that Claude wrote and the client did not store.

What Claude says between two thoughts may arrive as a thinking block without text. Its signature, a protobuf in base64,
still says so: `narration` and not `thinking` (seen from 2.1.172 on). Where a signature does not say, two thinking
blocks of one message in a row do: the API never sends two thoughts without something between them.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterable, Iterator

from reread.records import Assistant, Block, Record, Thinking

UNSAID = "Claude wrote something here; the client did not store it"
REMEDY = (
    '`"showThinkingSummaries": true` in settings.json has the interactive client ask for them;'
    " `reread run PROMPT -- --thinking-display summarized` asks for them and keeps them"
)
"""What the clients 2.1.197 and 2.1.327 were seen to ask for; in print mode the setting alone asks for nothing."""
_KIND = (2, 1, 8)
"""The fields within fields of a signature that lead to the kind of its block."""
_LONGEST_NUMBER = 63


class LostWords:
    """Finds the empty thinking blocks that held words. Blocks must come in the order of the conversation."""

    def __init__(self) -> None:
        self._message: str | None = None
        self._thought: Thinking | None = None
        """The block before, if it was a thought of the same message."""

    def has(self, message: str | None, block: Block) -> bool:
        if type(block) is not Thinking:
            self._thought = None
            return False
        before = self._thought if message is not None and message == self._message else None
        is_lost = not block.as_text and _is_narration(block, before)
        self._message, self._thought = message, None if is_lost else block
        return is_lost

    def in_line(self, record: Record) -> Iterator[Thinking]:
        if type(record) is Assistant:
            for block in record.blocks:
                if self.has(record.api_message.id, block) and type(block) is Thinking:
                    yield block


def lost_words(records: Iterable[Record]) -> Iterator[tuple[Record, Thinking]]:
    """The empty blocks that held words, with their lines."""
    lost = LostWords()
    return ((record, block) for record in records for block in lost.in_line(record))


def _is_narration(block: Thinking, before: Thinking | None) -> bool:
    kind = signed_kind(block.signature)
    if kind is not None:
        return kind == "narration"
    return before is not None and bool(block.signature) and before.signature != block.signature


def signed_kind(signature: str | None) -> str | None:
    """`thinking` or `narration`; None if the signature does not say."""
    try:
        found: bytes | None = binascii.a2b_base64(signature or "")
    except ValueError:
        return None
    for field in _KIND:
        found = _field(found, field) if found is not None else None
    return {b"thinking": "thinking", b"narration": "narration"}.get(found or b"")


def _field(message: bytes, wanted: int) -> bytes | None:
    """The bytes of a field of a protobuf message; None if it has none or cannot be read."""
    place = 0
    while place < len(message):
        tag, place = _number(message, place)
        kind = tag & 7
        if kind == 0:
            _, place = _number(message, place)
        elif kind == 2:
            size, place = _number(message, place)
            if tag >> 3 == wanted:
                return message[place : place + size]
            place += size
        elif kind in (1, 5):
            place += 8 if kind == 1 else 4
        else:
            return None
    return None


def _number(message: bytes, place: int) -> tuple[int, int]:
    """The number that begins at a place, and the place after it."""
    number = 0
    for shift, byte in zip(range(0, _LONGEST_NUMBER + 1, 7), message[place : place + 10], strict=False):
        number |= (byte & 127) << shift
        place += 1
        if byte < 128:
            return number, place
    return number, len(message)
