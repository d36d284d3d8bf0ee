"""Packs, which are files of pieces, their folder, and rewriting packs without what was forgotten."""

from __future__ import annotations

import contextlib
import os
import time
import zlib
from collections.abc import Iterator, Set
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from reread import lazy
from reread.errors import SafeError
from reread.foreign_files import open_regular
from reread.home import JOURNAL, sync_file, sync_folder

from .pieces import (
    HEADER_LIMIT,
    MAGIC,
    PRELUDE,
    Damage,
    FoundPiece,
    Head,
    PieceHeader,
    PiecePlace,
    decode,
    digest,
    encode,
    unpack,
)

Buffered = bytes
"""An alias, because `Pack` has a method called `bytes`."""
_USUAL_HEAD = 1024
_CHUNK = 1 << 20


class Pack:
    """One pack, open for reading, up to the length it had when it was opened; raises only OSError."""

    def __init__(self, path: Path, number: int, most: int | None = None) -> None:
        """With `most`, where others may write: only a regular file, and of at most that many bytes."""
        self.number = number
        self._file = path.open("rb", buffering=0) if most is None else open_regular(path, most)
        self.size = os.fstat(self._file.fileno()).st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def pieces(self, offset: int = 0) -> Iterator[FoundPiece | Damage]:
        """Everything from `offset` on, without gaps; frames are read only if something around them is wrong."""
        while offset < self.size:
            piece = self._piece(offset)
            yield piece
            offset = piece.place.end

    def read(
        self, place: PiecePlace, *, hashed: bool = True, most: int | None = None
    ) -> tuple[PieceHeader, bytes] | Damage:
        """The header and raw bytes of one piece, proved by their hash, or if not `hashed` by the CRC of the frame.

        With `most`, which needs `hashed=False`, only that many bytes are unpacked.
        """
        block = self.bytes(place.offset, max(place.stored, _USUAL_HEAD))  # head and frame with one system call
        head = self._head_in(block, place.offset)
        if not head.intact or head.end != place.end:
            return self._damage(head, place.end, "its header is damaged")
        header = decode(head.header, PieceHeader)
        if header is None:
            return self._damage(head, place.end, "its header is not understood")
        frame = memoryview(block)[head.frame_at - place.offset : place.stored]
        if len(frame) != head.frame_length or zlib.crc32(frame) != head.frame_sum:
            return self._damage(head, place.end, "its bytes are damaged")
        raw = unpack(frame, header.length, most)
        if raw is None or (hashed and digest(raw) != header.sha256):
            return self._damage(head, place.end, "its bytes are not those that were hashed")
        return header, raw

    def bytes(self, offset: int, length: int) -> bytes:
        """Stored bytes, fewer at the end of the pack."""
        self._file.seek(offset)
        length = min(length, max(0, self.size - offset))
        block = self._file.read(length) or b""
        while len(block) < length and (rest := self._file.read(length - len(block))):
            block += rest
        return block

    def _piece(self, offset: int) -> FoundPiece | Damage:
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
        return FoundPiece(header, PiecePlace(self.number, offset, head.end - offset))

    def _head(self, offset: int) -> Head:
        return self._head_in(self.bytes(offset, _USUAL_HEAD), offset)

    def _head_in(self, block: Buffered, offset: int) -> Head:
        """The head of the piece at `offset`, given its first bytes."""
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
        """Damage whose end is unknown: it counts up to the next magic."""
        end = self._next_magic(searched_from)
        return self._damage(head, end, reason, torn=end == self.size)

    def _damage(self, head: Head, end: int, reason: str, *, torn: bool = False) -> Damage:
        path, file = head.name("path"), head.name("file")
        return Damage(self.number, head.offset, end - head.offset, reason, path, file, torn)


class PackWriter:
    """Appends to one pack; raises only OSError, and leaves no half piece behind when it does."""

    def __init__(self, path: Path, number: int, *, is_new: bool = False) -> None:
        self.number = number
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | (os.O_EXCL if is_new else 0)
        self._fd = os.open(path, flags, 0o600)
        path.chmod(0o600)  # the umask may have removed the user's own rights
        self.end = self._kept = os.fstat(self._fd).st_size
        self._is_synced = False  # a killed process may have left bytes that are not on the disk yet

    def append(self, piece: bytes) -> PiecePlace:
        place = PiecePlace(self.number, self.end, len(piece))
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
        """Makes every appended piece durable; if that fails, the pieces since the last `sync` are cut off again."""
        if self._is_synced:
            return
        try:
            sync_file(self._fd)
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


def walk(
    path: Path, number: int, offset: int = 0, *, proved: bool = False, most: int | None = None
) -> Iterator[FoundPiece | Damage]:
    """The pieces of one pack, with every byte proved if `proved`; a pack that cannot be read is given as damage. For
    `most` see `Pack`."""
    try:
        with Pack(path, number, most) as pack:
            for piece in pack.pieces(offset):
                read = pack.read(piece.place) if proved and piece.header is not None else None
                yield read if isinstance(read, Damage) else piece
    except OSError as error:
        yield Damage(number, offset, 0, f"its pack cannot be read ({error.strerror or error})", torn=True)


_WAY_OUT = "`reread archive rebuild` makes do without it, and what was to be forgotten may have to be forgotten again"
_PACK_NAME = lazy.pattern(r"(\d{6,})\.pack")


class Rewrite(Struct, frozen=True):
    """A forget in progress: the new packs count already, the old ones wait for `finish_rewrite`."""

    keys: tuple[str, ...]
    replaced: tuple[int, ...] = ()
    made: tuple[int, ...] = ()
    moved: tuple[tuple[PiecePlace, PiecePlace], ...] = ()
    """Old and new place of everything kept. Look places up by pack and offset: damage may have changed their length."""
    unreadable: tuple[Damage, ...] = ()
    """Damage in any pack for which no file is known: it may contain bytes of the forgotten files."""


class PackFolder:
    """The files in the safe's folder: finds and renames them, but writes no bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = path / JOURNAL
        self._packs: dict[int, Path] = {}

    def pack(self, number: int) -> Path:
        if number not in self._packs:  # needed for every piece that is read
            self._packs[number] = self.path / f"{number:06}.pack"
        return self._packs[number]

    def counting(self) -> dict[int, Path]:
        """The packs that count: during an unfinished forget the new ones, even before they have their final names."""
        packs = self.named()
        if rewrite := self.unfinished():
            packs |= {number: unnamed(self.pack(number)) for number in rewrite.made if number not in packs}
            packs = {number: path for number, path in packs.items() if number not in rewrite.replaced}
        return dict(sorted(packs.items()))

    def named(self) -> dict[int, Path]:
        try:
            return {int(name[1]): path for path in self.path.iterdir() if (name := _PACK_NAME.fullmatch(path.name))}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SafeError(self.path, f"the archive cannot be read ({error.strerror or error})") from error

    def unfinished(self) -> Rewrite | None:
        """The forget that was not finished, if any."""
        try:
            raw = self.journal.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SafeError(self.path, f"the archive cannot be read ({error.strerror or error})") from error
        rewrite = _decoded(raw)
        if rewrite is None:
            raise SafeError(self.journal, f"this record of an unfinished forget cannot be read; {_WAY_OUT}")
        if not self._has_made(rewrite):
            raise SafeError(self.journal, f"the packs of this unfinished forget are not whole; {_WAY_OUT}")
        return rewrite

    def _has_made(self, rewrite: Rewrite) -> bool:
        """Whether the new packs exist with everything that was copied: only then may the old ones be removed."""
        ends = dict.fromkeys(rewrite.made, 0)
        for _, place in rewrite.moved:
            ends[place.pack] = max(ends.get(place.pack, 0), place.end)
        return all(max(map(_size, (self.pack(each), unnamed(self.pack(each))))) >= end for each, end in ends.items())

    def set_aside_record(self) -> None:
        """Sets aside a record that cannot be read: until a forget is finished, all packs it replaces still exist."""
        try:
            self.unfinished()
        except SafeError:
            self.journal.replace(self.journal.with_suffix(f".damaged-{time.time_ns()}"))

    def clear_leftovers(self) -> None:
        """Removes the new packs of a forget without a record, which never took effect; names those of one with it."""
        made = {unnamed(self.pack(number)) for number in rewrite.made} if (rewrite := self.unfinished()) else set()
        for path in self.path.glob("*.new"):
            if path in made:
                path.replace(path.with_suffix(""))
            else:
                path.unlink()
        if made:
            sync_folder(self.path)


def encoded(rewrite: Rewrite) -> bytes:
    """With a checksum: a wrong number would remove a pack that was never copied."""
    raw = encode(rewrite)
    return raw + b"\n%08x\n" % crc32(raw)


def _decoded(raw: bytes) -> Rewrite | None:
    text, _, checksum = raw.rstrip(b"\n").rpartition(b"\n")
    if not text:  # written before there was a checksum
        return decode(raw, Rewrite)
    return decode(text, Rewrite) if checksum == b"%08x" % crc32(text) else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def unnamed(pack: Path) -> Path:
    return pack.with_name(pack.name + ".new")


def begin_rewrite(
    folder: PackFolder, keys: Set[str], limit: int, *, drop_unreadable: bool, machine: str | None = None
) -> Rewrite:
    """Has no effect until its record is written; from then on the copies count. Raises OSError."""
    try:
        folder.clear_leftovers()
        rewrite = _copy_without(folder, keys, machine, limit, drop_unreadable)
        if rewrite.replaced:
            _write_record(folder, rewrite)
    finally:
        folder.clear_leftovers()
    return rewrite


def finish_rewrite(folder: PackFolder, rewrite: Rewrite) -> None:
    """Removes the packs that were copied, then the record. Raises OSError."""
    folder.clear_leftovers()
    for pack in map(folder.pack, rewrite.replaced):
        if not pack.is_dir():  # a folder in its place is not ours, and must not block this for ever
            pack.unlink(missing_ok=True)
    sync_folder(folder.path)
    folder.journal.unlink()
    sync_folder(folder.path)


def _write_record(folder: PackFolder, rewrite: Rewrite) -> None:
    writer = PackWriter(unnamed(folder.journal), 0)
    try:
        writer.append(encoded(rewrite))
        writer.sync()
    finally:
        writer.close()
    sync_folder(folder.path)
    unnamed(folder.journal).replace(folder.journal)
    sync_folder(folder.path)


def _copy_without(
    folder: PackFolder, keys: Set[str], machine: str | None, limit: int, drop_unreadable: bool
) -> Rewrite:
    """Copies into packs that have no final name yet: whole pieces, and damaged ones unless `drop_unreadable`."""
    sorted_out = _sorted_out(folder, keys, machine, drop_unreadable)
    affected, kept = sorted(sorted_out.affected), sorted_out.kept
    moved: list[tuple[PiecePlace, PiecePlace]] = []
    made: list[int] = []
    if affected:
        with contextlib.closing(_Copies(folder, limit)) as copies:
            for number in affected:
                with Pack(folder.pack(number), number) as pack:
                    moved += [(old, copies.append(_copied(pack, old, drop_unreadable))) for old in kept.get(number, ())]
            made += copies.finished()
    return Rewrite(tuple(sorted(keys)), tuple(affected), tuple(made), tuple(moved), tuple(sorted_out.unreadable))


class _SortedOut(NamedTuple):
    """The pieces of all packs, as a rewrite treats them."""

    affected: set[int]
    """Packs that have a piece to leave out."""
    kept: dict[int, list[PiecePlace]]
    """The places of the others by pack."""
    unreadable: list[Damage]
    """Those of which nobody can tell what file they belong to."""


def _sorted_out(folder: PackFolder, keys: Set[str], machine: str | None, drop_unreadable: bool) -> _SortedOut:
    affected: set[int] = set()
    kept: dict[int, list[PiecePlace]] = {}
    unreadable: list[Damage] = []
    for number, path in folder.counting().items():
        for piece in walk(path, number, proved=drop_unreadable):
            is_damaged = isinstance(piece, Damage)
            is_out = piece.file in keys or (piece.header is not None and piece.header.machine == machine)
            if drop_unreadable and not piece.place.stored:
                raise SafeError(path, "it cannot be read at all, so nothing can be said about what is in it")
            if is_out or (drop_unreadable and is_damaged):
                affected.add(number)
            if not is_out and not (drop_unreadable and piece.header is None):
                kept.setdefault(number, []).append(piece.place)
            if isinstance(piece, Damage) and piece.file is None:
                unreadable.append(piece)
    return _SortedOut(affected, kept, unreadable)


def _copied(pack: Pack, place: PiecePlace, is_proved: bool) -> bytes:
    """The bytes of a piece to copy; a proved piece gets a correct magic, even if its own was damaged."""
    piece = pack.bytes(place.offset, place.stored)
    return MAGIC + piece[len(MAGIC) :] if is_proved else piece


class _Copies:
    """New packs that have no final name yet, filled one after the other.

    There is always at least one, even if it stays empty: the number of a removed pack must never be given to another.
    """

    def __init__(self, folder: PackFolder, limit: int) -> None:
        self._folder, self._limit = folder, limit
        self._done: list[int] = []
        self._writer = self._begun(max(folder.named()) + 1)

    def append(self, piece: bytes) -> PiecePlace:
        if self._writer.end and self._writer.end + len(piece) > self._limit:
            self.finished()
            self._writer.close()
            self._writer = self._begun(self._writer.number + 1)
        return self._writer.append(piece)

    def finished(self) -> list[int]:
        self._writer.sync()
        self._done.append(self._writer.number)
        return self._done

    def close(self) -> None:
        self._writer.close()

    def _begun(self, number: int) -> PackWriter:
        return PackWriter(unnamed(self._folder.pack(number)), number)
