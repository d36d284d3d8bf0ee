"""A pack: pieces one behind the other, read and appended.

Damage is a value here and never an exception: whoever reads a pack wants everything around it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from .pieces import HEADER_LIMIT, MAGIC, PRELUDE, Damage, Found, Head, PieceHeader, Place, decode, digest, unpack

__all__ = ["Pack", "PackWriter", "walk"]

_USUAL_HEAD = 1024
_CHUNK = 1 << 20


class Pack:
    """One pack, open for reading, as long as it was when it was opened; raises OSError only."""

    def __init__(self, path: Path, number: int) -> None:
        self.number = number
        self._file = path.open("rb", buffering=0)
        self.size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def pieces(self, offset: int = 0) -> Iterator[Found | Damage]:
        """Everything from here on, without gaps; frames are read only where something is wrong around them."""
        while offset < self.size:
            piece = self._piece(offset)
            yield piece
            offset = piece.place.end

    def read(self, place: Place, *, hashed: bool = True) -> tuple[PieceHeader, bytes] | Damage:
        """The raw bytes of one piece, proved; without the hash they are proved by the CRC of the frame."""
        head = self._head(place.offset)
        if not head.intact or head.end != place.end:
            return self._damage(head, place.end, "its header is damaged")
        header = decode(head.header, PieceHeader)
        if header is None:
            return self._damage(head, place.end, "its header is not understood")
        frame = self.bytes(head.frame_at, head.frame_length)
        if len(frame) != head.frame_length or zlib.crc32(frame) != head.frame_sum:
            return self._damage(head, place.end, "its bytes are damaged")
        raw = unpack(frame, header.length)
        if raw is None or (hashed and digest(raw) != header.sha256):
            return self._damage(head, place.end, "its bytes are not those that were hashed")
        return header, raw

    def bytes(self, offset: int, length: int) -> bytes:
        """As they are stored; fewer at the end."""
        self._file.seek(offset)
        length = min(length, max(0, self.size - offset))
        block = self._file.read(length) or b""
        while len(block) < length and (rest := self._file.read(length - len(block))):
            block += rest
        return block

    def _piece(self, offset: int) -> Found | Damage:
        head = self._head(offset)
        if not head.intact:
            reason = "its header is damaged" if head.marked else "no piece begins here"
            return self._lost(head, offset + 1, reason)
        if not self._is_boundary(head.end) and not self._has_frame(head):
            # Bytes are missing in the frame, so its length no longer says where the next piece begins.
            return self._lost(head, head.frame_at, "its bytes are damaged")
        header = decode(head.header, PieceHeader)
        if not head.marked:
            return replace(self._damage(head, head.end, "its magic is damaged"), header=header)
        if header is None:
            return self._damage(head, head.end, "its header is not understood")
        return Found(header, Place(self.number, offset, head.end - offset))

    def _head(self, offset: int) -> Head:
        block = self.bytes(offset, _USUAL_HEAD)
        marked = block.startswith(MAGIC)
        if len(block) < PRELUDE.size:
            return Head(offset, marked, intact=False)
        _, length, frame_length, frame_sum, checksum = PRELUDE.unpack_from(block)
        if length > HEADER_LIMIT:
            return Head(offset, marked, intact=False)
        header = block[PRELUDE.size : PRELUDE.size + length]
        if len(header) < length:
            header = self.bytes(offset + PRELUDE.size, length)
        intact = len(header) == length and zlib.crc32(header, zlib.crc32(block[8:20])) == checksum
        return Head(offset, marked, intact, header, frame_length, frame_sum)

    def _is_boundary(self, offset: int) -> bool:
        return offset == self.size or self.bytes(offset, len(MAGIC)) == MAGIC or self._head(offset).intact

    def _has_frame(self, head: Head) -> bool:
        frame = self.bytes(head.frame_at, head.frame_length)
        return len(frame) == head.frame_length and zlib.crc32(frame) == head.frame_sum

    def _next_magic(self, offset: int) -> int:
        while offset < self.size:
            at = self.bytes(offset, _CHUNK).find(MAGIC)
            if at >= 0:
                return offset + at
            offset += _CHUNK - len(MAGIC) + 1
        return self.size

    def _lost(self, head: Head, searched_from: int, reason: str) -> Damage:
        """Damage that hides its own end: it reaches to the next magic."""
        end = self._next_magic(searched_from)
        return self._damage(head, end, reason, torn=end == self.size)

    def _damage(self, head: Head, end: int, reason: str, *, torn: bool = False) -> Damage:
        path, file = head.name("path"), head.name("file")
        return Damage(self.number, head.offset, end - head.offset, reason, path, file, torn)


class PackWriter:
    """The end of one pack; raises OSError only, and leaves no half piece behind when it does."""

    def __init__(self, path: Path, number: int) -> None:
        self.number = number
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._fd = os.open(path, flags, 0o600)
        path.chmod(0o600)  # the umask may have taken our own bits away
        self.end = self._kept = os.fstat(self._fd).st_size
        self._is_synced = False  # a killed process may have left bytes here that are in no disk yet

    def append(self, piece: bytes) -> Place:
        place = Place(self.number, self.end, len(piece))
        view = memoryview(piece)
        self._is_synced = False
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except BaseException:
            self._cut(place.offset)
            raise
        self.end = place.end
        return place

    def sync(self) -> None:
        """Makes every appended piece durable; what cannot be made so is cut off again."""
        if self._is_synced:
            return
        try:
            os.fsync(self._fd)
        except OSError:
            self._cut(self._kept)
            raise
        self._kept, self._is_synced = self.end, True

    def is_stale(self) -> bool:
        """Whether another process has appended to this pack, or removed it."""
        now = os.fstat(self._fd)
        return now.st_size != self.end or now.st_nlink == 0

    def close(self) -> None:
        os.close(self._fd)

    def _cut(self, end: int) -> None:
        os.ftruncate(self._fd, end)
        self.end = end


def walk(path: Path, number: int, offset: int = 0, *, proved: bool = False) -> Iterator[Found | Damage]:
    """The pieces of one pack, with every byte of them proved if wanted; a pack that cannot be read is damage too."""
    try:
        with Pack(path, number) as pack:
            for piece in pack.pieces(offset):
                read = pack.read(piece.place) if proved and piece.header is not None else None
                yield read if isinstance(read, Damage) else piece
    except OSError as error:
        yield Damage(number, offset, 0, f"its pack cannot be read ({error.strerror or error})", torn=True)
