"""Keeps the raw bytes of every source file, for good, in numbered packs next to the database.

The safe needs no database: `scan` finds every piece again. A rebuild must expect pieces in any order (a forget moves
them) and the same bytes twice (a sync killed between append and commit): file, generation and start say where they go.

The lock is a POSIX record lock, because forked workers do not inherit it: with `flock`, workers that outlived a killed
sync kept the archive locked. But a record lock does not exclude other threads of the same process, and closing any
other descriptor of the file drops it. Hence `_held`, which is checked before the file is opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from _thread import allocate_lock  # that of `threading`, without importing the rest
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from reread.errors import SafeBusy, SafeDamaged, SafeError, SafeFull
from reread.home import make_private, sync_file, sync_folder

from .packs import Pack, PackFolder, PackWriter, Rewrite, begin_rewrite, finish_rewrite, walk
from .pieces import MAGIC, Damage, FoundPiece, PieceHeader, PiecePlace, compress, encode_piece, seal

__all__ = [
    "Damage",
    "FoundPiece",
    "PieceHeader",
    "PiecePlace",
    "Rewrite",
    "Safe",
    "SafeBusy",
    "SafeDamaged",
    "SafeError",
    "SafeFull",
    "compress",
    "lock",
    "seal",
]

PACK_LIMIT = 256 << 20
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Safe:
    """One folder of packs.

    Any number of processes may read. Appending, recovering and rewriting require `lock(folder)`, and so do `scan` and
    `verify` if nothing may move meanwhile.
    """

    def __init__(self, folder: Path, pack_limit: int = PACK_LIMIT) -> None:
        self.folder = folder
        self._names = PackFolder(folder)
        self._limit = pack_limit
        self._writer: PackWriter | None = None
        self._has_new_names = False
        self._clean: tuple[int, int] | None = None
        """A pack, and a length at which it is known to end with a whole piece."""
        self._least = 1
        """Packs before this one are not appended to: rows refer to places in them that are lost."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Flushes and closes the pack; the safe can still be used."""
        self.flush()
        self._let_go()

    # -- reading

    def read(self, place: PiecePlace) -> bytes:
        """The raw bytes of a piece, proved by length and hash; raises SafeDamaged."""
        return self._read(place, hashed=True)[1]

    def piece(self, place: PiecePlace, *, hashed: bool = True) -> tuple[PieceHeader, bytes]:
        """Like `read`, with the header; if not `hashed`, proved only by the CRC of its frame."""
        return self._read(place, hashed=hashed)

    def owner(self, place: PiecePlace) -> str:
        """The key of the file that a piece was kept for; raises SafeDamaged."""
        return self._read(place, hashed=False)[0].file

    def slice(self, place: PiecePlace, start: int, length: int) -> bytes:
        """A range of the raw bytes of a piece, proved by the CRC of its frame; raises SafeDamaged."""
        return self._read(place, hashed=False, most=start + length)[1][start : start + length]

    def packs(self) -> dict[int, int]:
        """The size of every pack that counts."""
        return {number: path.stat().st_size for number, path in self._names.counting().items()}

    def scan(self, from_pack: int = 1, from_offset: int = 0) -> Iterator[FoundPiece | Damage]:
        """Every piece by its header, in order of place. The last may be torn while another process is writing it."""
        for number, path in self._names.counting().items():
            if number >= from_pack:
                yield from walk(path, number, from_offset if number == from_pack else 0)

    def verify(self, progress: Callable[[int, int], None] | None = None) -> Iterator[FoundPiece | Damage]:
        """Like `scan`, with every byte read and hashed; progress is reported in stored bytes."""
        total, done = sum(self.packs().values()), 0
        for number, path in self._names.counting().items():
            for piece in walk(path, number, proved=True):
                yield piece
                done += piece.place.stored
                if progress is not None:
                    progress(done, total)

    # -- appending

    def append(self, header: PieceHeader, raw: bytes) -> tuple[PieceHeader, PiecePlace]:
        """Keeps these bytes; they are durable after `flush`. The returned header has their length and hash."""
        sealed, frame = seal(header, raw)
        return sealed, self.append_compressed(sealed, frame)

    def append_compressed(self, header: PieceHeader, frame: bytes) -> PiecePlace:
        """Keeps what `seal` returned, perhaps in another process."""
        if len(header.sha256) != 64:
            raise ValueError("a piece is appended with the hash of its raw bytes: use seal()")
        piece = encode_piece(header, frame)
        with self._writing():
            return self._room_for(len(piece)).append(piece)

    def flush(self) -> None:
        """Makes every appended piece durable. If it raises, those appended since the last flush are not kept."""
        with self._writing():
            if self._writer is not None:
                self._writer.sync()
            if self._has_new_names:
                sync_folder(self.folder)
                self._has_new_names = False

    def ends_at(self, pack: int, offset: int) -> bool:
        """Whether the packs end at this place, the end of what was acknowledged."""
        self.close()
        with self._writing():
            last = {number: size for number, size in self.packs().items() if number >= pack}
        if last != ({pack: offset} if offset else {}):
            return False
        if offset:
            self._clean = (pack, offset)
        return True

    def recover_tail(self, pack: int, offset: int) -> int:
        """Cuts off what a crash left behind the last whole piece; returns the number of bytes.

        The given place is the end of what was acknowledged: nothing before it is touched. Whole pieces behind it, in
        this and later packs, stay and become durable, or move to a new pack if torn ones precede them. Raises
        SafeDamaged when acknowledged bytes are gone.
        """
        self.close()
        packs = self._names.counting()
        if offset and (pack not in packs or packs[pack].stat().st_size < offset):
            self._least = pack + 1
            raise SafeDamaged(pack, offset, "the pack ends before it")
        with self._writing():
            return sum(
                self._recover(number, path, offset if number == pack else 0)
                for number, path in packs.items()
                if number >= pack
            )

    # -- forgetting

    def rewrite_without(self, keys: Set[str], *, drop_unreadable: bool = False, machine: str | None = None) -> Rewrite:
        """Copies the packs that hold pieces of these files, or of this machine, into new packs without them.

        With `drop_unreadable`, what cannot be proved is left out as well. Once this returns, the new places are valid
        instead of the old. The caller commits them and then calls `finish_rewrite`, which removes the old packs; after
        a crash in between, `unfinished` returns the same `Rewrite` again.
        """
        if self.unfinished():
            raise SafeError(self.folder, "an earlier forget has to be finished first")
        self.close()
        with self._writing():
            return begin_rewrite(self._names, keys, self._limit, drop_unreadable=drop_unreadable, machine=machine)

    def unfinished(self) -> Rewrite | None:
        """The forget that was not finished, if any."""
        return self._names.unfinished()

    def set_aside_record(self) -> None:
        """Sets aside the record of an unfinished forget if it cannot be read; all packs count then, nothing is lost."""
        with self._writing():
            self._names.set_aside_record()

    def finish_rewrite(self) -> None:
        """Removes the packs that were rewritten; harmless when there are none."""
        rewrite = self.unfinished()
        if rewrite is None:
            return
        self.close()
        with self._writing():
            finish_rewrite(self._names, rewrite)

    # -- inside

    def _read(self, place: PiecePlace, *, hashed: bool, most: int | None = None) -> tuple[PieceHeader, bytes]:
        try:
            with Pack(self._names.pack(place.pack), place.pack) as pack:
                found = pack.read(place, hashed=hashed, most=most)
        except FileNotFoundError:
            found = Damage(place.pack, place.offset, place.stored, "its pack is missing")
        except OSError as error:
            found = Damage(place.pack, place.offset, place.stored, f"{error.strerror or error}")
        if isinstance(found, Damage):
            raise SafeDamaged(found.pack, found.offset, found.reason, found.path)
        return found

    def _let_go(self) -> None:
        if self._writer is not None:
            self._clean = (self._writer.number, self._writer.end)
            self._writer.close()
            self._writer = None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turns OSErrors into SafeErrors. After a failure, the end of the pack is examined again before an append."""
        try:
            yield
        except OSError as error:
            self._let_go()
            self._clean = None
            if error.errno in _NO_ROOM:
                raise SafeFull(self.folder, f"there is no room for the archive ({error.strerror})") from error
            raise SafeError(self.folder, f"the archive cannot be written ({error.strerror or error})") from error

    def _room_for(self, size: int) -> PackWriter:
        if self._writer is not None and (self._names.journal.exists() or self._writer.is_stale()):
            self._let_go()
            self._clean = None
        writer = self._writer or self._open_last()
        if writer.end and writer.end + size > self._limit:
            writer.sync()
            self._let_go()
            writer = self._open(writer.number + 1)
        return writer

    def _open_last(self) -> PackWriter:
        make_private(self.folder)
        self._names.clear_leftovers()
        last = max(self._names.named(), default=0)
        can_grow = last >= self._least and last in self._names.counting() and self._is_whole(last)
        return self._open(max(last if can_grow else last + 1, self._least))

    def _open(self, number: int) -> PackWriter:
        self._has_new_names |= not self._names.pack(number).exists()
        self._writer = PackWriter(self._names.pack(number), number)
        return self._writer

    def _is_whole(self, number: int) -> bool:
        """Whether a pack ends with a whole piece. Nothing is appended behind a torn one: it would look like damage."""
        if self._clean == (number, self._names.pack(number).stat().st_size):
            return True
        return not any(isinstance(piece, Damage) and piece.torn for piece in walk(self._names.pack(number), number))

    def _is_piece_before(self, path: Path, number: int, offset: int) -> bool:
        """Whether a piece ends here, or the pack begins here, walking from the beginning of the pack."""
        return not offset or any(piece.place.end == offset for piece in walk(path, number))

    def _recover(self, number: int, path: Path, offset: int) -> int:
        size = path.stat().st_size
        if size == offset:  # nearly always so, and walking a pack of small pieces takes half a second
            self._clean = (number, size)
            return 0
        pieces = list(walk(path, number, offset, proved=True))
        if any(isinstance(piece, Damage) and not piece.stored for piece in pieces):
            return 0  # the pack cannot be read, so nothing is cut
        if not any(isinstance(piece, FoundPiece) for piece in pieces[:1]) and not self._is_piece_before(
            path, number, offset
        ):
            return 0  # bytes before were lost or inserted: this place is in the middle of another piece
        torn = [piece.place.offset for piece in pieces if piece.header is None]
        keep = min(torn, default=size)
        self._move_on(number, path, [piece.place for piece in pieces if piece.header and piece.place.offset > keep])
        with path.open("r+b") as file:
            file.truncate(keep)
            sync_file(file.fileno())
        self._clean = (number, keep)
        return size - keep

    def _move_on(self, number: int, path: Path, places: Sequence[PiecePlace]) -> None:
        """Moves whole pieces behind torn ones, which a power cut may leave, into a new pack before those are cut."""
        if not places:
            return
        writer = self._open(max(self._names.named()) + 1)
        with Pack(path, number) as pack:
            for place in places:
                writer.append(MAGIC + pack.bytes(place.offset, place.stored)[len(MAGIC) :])
        self.flush()
        self._let_go()


_FAR = 1 << 30
_PAUSE = 0.02
_held: set[Path] = set()
"""Folders that this process has locked."""
_gate = allocate_lock()


@contextmanager
def lock(folder: Path, timeout: float = 0.0) -> Iterator[None]:
    """Keeps every other process and thread from writing; raises SafeBusy after `timeout` seconds.

    The lock ends with its process, whatever children that has.
    """
    deadline = time.monotonic() + timeout
    try:
        make_private(folder)
        real = folder.resolve()
    except OSError as error:
        raise _unlockable(folder, error) from error
    if not _is_done_by(deadline, lambda: _enter(real)):
        raise SafeBusy(folder, os.getpid())
    try:
        with _locked_file(folder, deadline):
            yield
    finally:
        _held.discard(real)


def _enter(folder: Path) -> bool:
    with _gate:
        is_free = folder not in _held
        _held.add(folder)
    return is_free


@contextmanager
def _locked_file(folder: Path, deadline: float) -> Iterator[None]:
    path = folder / "lock"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _unlockable(path, error) from error
    try:
        try:
            path.chmod(0o600)
            is_ours = _is_done_by(deadline, lambda: _try_lock(fd))
        except OSError as error:
            raise _unlockable(path, error) from error
        if not is_ours:
            raise SafeBusy(folder, _holder(fd))
        _note_holder(fd, str(os.getpid()))
        try:
            yield
        finally:
            _note_holder(fd, "")
            _unlock(fd)
    finally:
        os.close(fd)


def _is_done_by(deadline: float, attempt: Callable[[], bool]) -> bool:
    while not attempt():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_PAUSE)
    return True


def _unlockable(path: Path, error: OSError) -> SafeError:
    return SafeError(path, f"the archive cannot be locked ({error.strerror or error})")


def _note_holder(fd: int, pid: str) -> None:
    """Writes the process id into the lock file, only for the message: a full disk must not prevent locking."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, pid.encode())


def _holder(fd: int) -> int | None:
    os.lseek(fd, 0, os.SEEK_SET)
    pid = os.read(fd, 20)
    return int(pid) if pid.isdigit() else None


if sys.platform == "win32":
    import msvcrt

    # On Windows others cannot read a locked byte: lock one far behind the process id.
    def _try_lock(fd: int) -> bool:
        os.lseek(fd, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        finally:
            os.lseek(fd, 0, os.SEEK_SET)
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, _FAR, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    os.register_at_fork(after_in_child=_held.clear)

    def _try_lock(fd: int) -> bool:
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # POSIX allows either
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.lockf(fd, fcntl.LOCK_UN)
