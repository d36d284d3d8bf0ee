"""Images of a transcript: shown where their bytes are those of an image, named where they are not."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from reread.records import Document, Image

from ..numbers import size
from ..text import one_line

LARGEST = 8_000_000
"""Bytes of one image; larger ones are named."""
_KINDS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
"""By their first bytes. SVG is not among them: it can hold script."""


class Picture(NamedTuple):
    address: str
    """A `data:` address, or empty where it cannot be shown."""
    label: str


def pictures(blocks: Iterable[Any]) -> Iterator[Picture]:
    """The images and documents among some blocks."""
    for block in blocks:
        if isinstance(block, Image):
            yield _picture(block)
        elif isinstance(block, Document):
            kind = one_line((block.source.media_type if block.source else None) or "unknown type")[:60]
            yield Picture("", f"document {one_line(block.title or '')[:200]} ({kind})")


def _picture(block: Image) -> Picture:
    source = block.source
    if source is None or source.data is None:
        where = one_line((source.url if source is not None else None) or "nowhere")[:200]
        return Picture("", f"image at {where}, not fetched")
    if len(source.data) > LARGEST * 4 // 3:
        return Picture("", f"image of {size(len(source.data) * 3 // 4)}, too large to show")
    try:
        raw = b64decode("".join(source.data.split()), validate=True)
    except (Error, ValueError):
        return Picture("", "image whose data is damaged")
    kind = _kind(raw)
    if kind is None:
        named = one_line(source.media_type or "unknown type")[:60]
        return Picture("", f"{named} of {size(len(raw))}, which is no image")
    from base64 import b64encode

    return Picture(f"data:{kind};base64,{b64encode(raw).decode()}", f"{kind}, {size(len(raw))}")


def _kind(raw: bytes) -> str | None:
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _KINDS if raw.startswith(start)), None)
