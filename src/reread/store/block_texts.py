"""The text that a row of the index names, from the bytes it names: the index itself has none."""

from __future__ import annotations

from typing import NamedTuple

from reread.analyses.texts import texts_of
from reread.records import decode


class BlockText(NamedTuple):
    uuid: str | None
    """Of its line."""
    text: str


def text_at(kind: str, content: bytes, part: int) -> BlockText | None:
    """Which text of a line of a file of this kind; None where the line has no such."""
    if kind == "tool_result":
        return BlockText(None, content.decode("utf-8", "replace"))
    # A block that was taken back lies in several lines of a capture, and these begin with their time.
    if kind == "capture" and content[:1].isdigit():
        from reread.live.folding import withdrawn_in  # with the whole protocol: few hits are such

        return BlockText(*withdrawn_in(content))
    record = decode(content)
    texts = texts_of(record)
    return BlockText(record.uuid, texts[part].text) if part < len(texts) else None
