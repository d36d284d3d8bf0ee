"""The one lock of the archive: held by every process that appends to the safe or writes to the database.

A POSIX record lock, because workers made by fork do not inherit it: with `flock` they kept the archive locked for as
long as they outlived a killed sync. In exchange it does not keep threads of one process apart, and closing any other
descriptor of the same file would drop it: hence `_held`, which is asked before the file is opened.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from reread.errors import SafeBusy, SafeError

from .packs import make_private

__all__ = ["lock"]

_FAR = 1 << 30
_PAUSE = 0.02
_held: set[Path] = set()
"""Folders this process has locked."""
_gate = threading.Lock()


@contextmanager
def lock(folder: Path, timeout: float = 0.0) -> Iterator[None]:
    """Keeps every other process and thread from writing; raises SafeBusy after `timeout` seconds.

    The lock dies with its process, whatever children that had.
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
    """Only a help for the message: a full disk must not keep anyone from the lock."""
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

    # A locked byte cannot be read by others on Windows: lock one far behind the process id.
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
        except (BlockingIOError, PermissionError):  # POSIX lets a system answer either way
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.lockf(fd, fcntl.LOCK_UN)
