"""A piece: a stretch of a file's bytes, compressed, that can prove itself.

    magic 8, header length 4, frame length 4, CRC of the frame 4, CRC of the lengths and the header 4, header, frame

The header is JSON, the frame zstd, numbers are little-endian. A piece does not contain its own offset, so it can be
copied unchanged, and stays readable if bytes before it are lost.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from reread import lazy
from reread.decoders import json_decoder

if TYPE_CHECKING:
    import json

    from reread import zstd
else:  # zstd takes 20 ms, and many commands read no raw bytes
    lazy.bind(globals())

MAGIC = b"\xffreread\x01"
"""The first byte occurs in no UTF-8 text, so in no transcript; the last is the version of the format."""

LEVEL = 2
# 256 KB pieces of a generated tree of 1 GB, one core: level 1 stores 0.255 at 410 MB/s, level 3 0.243 at 270 MB/s.
# The safe may take 0.25 of the raw bytes, so level 1 is out; in pieces of 512 KB it would do (0.241).

PRELUDE = struct.Struct("<8sIIII")
HEADER_LIMIT = 1 << 20
_NAMES = {name: lazy.pattern(rb'"%s": ?("(?:[^"\\]|\\.)*")' % name.encode()) for name in ("file", "path")}

S = TypeVar("S", bound=Struct)


class PieceHeader(Struct, frozen=True, kw_only=True):
    """What a piece says about itself; additional fields survive a rewrite."""

    file: str
    """The key of the file, the same in every archive that has it."""
    machine: str
    source: str
    path: str
    """As the file system gave it, with surrogate escapes for bytes that are not UTF-8."""
    kind: str
    generation: int
    """A rewritten source starts a new generation; the old ones stay."""
    start: int
    mtime_ns: int
    length: int = 0
    sha256: str = ""
    """Of the raw bytes, in hex; `seal` fills in this and the length."""
    more: dict[str, Any] = {}


class PiecePlace(Struct, frozen=True, order=True):
    """Where a whole piece is in the packs."""

    pack: int
    offset: int
    stored: int

    @property
    def end(self) -> int:
        return self.offset + self.stored


class FoundPiece(Struct, frozen=True):
    header: PieceHeader
    place: PiecePlace

    @property
    def file(self) -> str:
        return self.header.file


class Damage(Struct, frozen=True):
    """Bytes of a pack that are not a provable piece; `path` and `file` are given if they can still be read."""

    pack: int
    offset: int
    stored: int
    reason: str
    path: str | None = None
    file: str | None = None
    torn: bool = False
    """Nothing readable follows: an append that was cut short, or damage at the very end."""
    header: PieceHeader | None = None
    """The header if only the magic is damaged: the piece is whole, and was proved if that was asked for."""

    @property
    def place(self) -> PiecePlace:
        return PiecePlace(self.pack, self.offset, self.stored)


def encode(value: Struct) -> bytes:
    """JSON, even of text with surrogate escapes, which msgspec refuses."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value)).encode("ascii")


_decoder = cache(json_decoder)


def decode(raw: bytes, kind: type[S]) -> S | None:
    """What `encode` wrote; None for anything else."""
    try:
        found: S = _decoder(kind).decode(raw)
        return found
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    try:
        return msgspec.convert(json.loads(raw), kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def seal(header: PieceHeader, raw: bytes) -> tuple[PieceHeader, bytes]:
    """The header with length and hash, and the frame: all the work for a piece that needs no pack."""
    sealed = msgspec.structs.replace(header, length=len(raw), sha256=digest(raw))
    return sealed, compress(raw)


def digest(raw: bytes) -> str:
    """SHA-256 in hex."""
    from hashlib import sha256  # OpenSSL takes 3 ms to load, and a search does not need it

    return sha256(raw).hexdigest()


def compress(raw: bytes) -> bytes:
    """One zstd frame that states its content size."""
    return zstd.compress(raw, LEVEL)


def decompress(frame: bytes) -> bytes:
    """Reverses `compress`, for our own frames that something else has proved."""
    return zstd.decompress(frame)


def decompress_if_whole(frame: bytes) -> bytes | None:
    """Like `decompress`, for unproved frames; None for a damaged one."""
    try:
        return zstd.decompress(frame)
    except zstd.Error:
        return None


def encode_piece(header: PieceHeader, frame: bytes) -> bytes:
    head = encode(header)
    if len(head) > HEADER_LIMIT:
        raise ValueError(f"a piece header of {len(head)} bytes is over the limit of {HEADER_LIMIT}")
    blank = PRELUDE.pack(MAGIC, len(head), len(frame), zlib.crc32(frame), 0)
    checksum = zlib.crc32(head, zlib.crc32(blank[8:20]))
    return b"".join((blank[:20], checksum.to_bytes(4, "little"), head, frame))


class Head(Struct, frozen=True):
    """The first bytes of what may be a piece."""

    offset: int
    marked: bool
    """Whether the magic is there."""
    intact: bool
    """Whether the checksum is right, so that lengths and header can be trusted."""
    header: bytes = b""
    frame_length: int = 0
    frame_sum: int = 0

    @property
    def frame_at(self) -> int:
        return self.offset + PRELUDE.size + len(self.header)

    @property
    def end(self) -> int:
        return self.frame_at + self.frame_length

    def name(self, field: str) -> str | None:
        match = _NAMES[field].search(self.header)
        try:
            return str(json.loads(match[1])) if match else None
        except ValueError:
            return None


def unpack(frame: bytes | memoryview, length: int, most: int | None = None) -> bytes | None:
    """The raw bytes of a piece of this length, or only the first `most` of them; None if the frame is damaged."""
    try:
        # Checked first: no memory must be allocated for a frame that claims another size.
        if zstd.content_size(frame) != length:
            return None
        if most is None or most >= length:
            return zstd.decompress(frame)
        return zstd.beginning(frame, most)
    except zstd.Error:
        return None
