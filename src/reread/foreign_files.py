"""Files whose names or kinds somebody else chose: what is written stays below its folder, and only regular files of a
bounded size are read.

A name may come from another machine, a store or a transcript. The folder that a person names may itself be a link;
nothing below it may be one on the way to a file.
"""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO
from pathlib import Path, PurePath

from reread.errors import BadInput, printable
from reread.home import make_private

_IS_WINDOWS = os.name == "nt"
_CAN_HOLD = {os.open, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd
"""Whether a folder can be held open while names in it are used, so that nobody can put a link there meanwhile."""
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def names_below(name: str | PurePath) -> tuple[str, ...]:
    """The folders and the file of a relative name. Raises BadInput for one that could lead anywhere else."""
    text = str(name)
    parts = (text.replace("\\", "/") if _IS_WINDOWS else text).split("/")
    if "\0" in text or any(part in ("", ".", "..") for part in parts) or (_IS_WINDOWS and _is_odd_on_windows(parts)):
        raise BadInput(f"{printable(text)} leads out of its folder, or no file can be called so; it is not written")
    return tuple(parts)


def _is_odd_on_windows(parts: list[str]) -> bool:
    """Drives, streams, and names that mean a device or another file there."""
    from pathlib import PureWindowsPath

    return any(":" in part or part.endswith((".", " ")) or PureWindowsPath(part).is_reserved() for part in parts)


def path_below(folder: Path, name: str | PurePath) -> Path:
    """The path of a name below a folder. Raises BadInput as `names_below` does, and if a link is on the way."""
    *folders, file = names_below(name)
    at = folder
    for each in folders:
        at = at / each
        if is_link(at):
            raise _link(at)
    return at / file


def is_link(path: Path) -> bool:
    """Whether this is a link, or what Windows has instead (a junction)."""
    try:
        status = path.lstat()
    except OSError:
        return False
    is_reparse = getattr(status, "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0)
    return stat.S_ISLNK(status.st_mode) or bool(is_reparse)


def _link(path: Path) -> BadInput:
    return BadInput(f"{printable(str(path))} is a link, and what comes from elsewhere is not written through one")


def write_below(
    folder: Path, name: str | PurePath, content: bytes, *, mtime_ns: int | None = None, is_private: bool = True
) -> Path:
    """Writes a file below a folder, whole or not at all, in place of an earlier one, and makes missing folders.

    What was there keeps its rights; what is made is for this user alone if `is_private`. Raises OSError, and BadInput
    as `path_below` does.
    """
    target = path_below(folder, name)
    _make(folder, is_private=is_private)
    *folders, file = names_below(name)
    if not _CAN_HOLD:
        if target.parent != folder:
            _make(target.parent, is_private=is_private)
        _write(target.with_name(_part()), target, None, content, mtime_ns, is_private=is_private)
        return target
    holder = os.open(folder, os.O_RDONLY)
    try:
        at = folder
        for each in folders:
            at = at / each
            holder = _entered(holder, at, is_private=is_private)
        _write(Path(_part()), Path(file), holder, content, mtime_ns, is_private=is_private)
    finally:
        os.close(holder)
    return target


def _make(folder: Path, *, is_private: bool) -> None:
    if is_private:
        make_private(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)


def _entered(holder: int, folder: Path, *, is_private: bool) -> int:
    """The descriptor of a folder in the one that is held, which is closed; it is made if it is missing."""
    try:
        os.mkdir(folder.name, 0o700 if is_private else 0o777, dir_fd=holder)
    except FileExistsError:
        is_new = False
    else:
        is_new = True
    try:
        entered = os.open(folder.name, _FOLDER, dir_fd=holder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK) or is_link(folder):
            raise _link(folder) from error
        raise
    if is_new and is_private:
        os.fchmod(entered, 0o700)  # the umask may have removed the user's own rights
    os.close(holder)
    return entered


def _part() -> str:
    return f".{os.getpid()}-{os.urandom(4).hex()}.part"


def _write(
    part: Path, target: Path, holder: int | None, content: bytes, mtime_ns: int | None, *, is_private: bool
) -> None:
    number = os.open(part, _NEW, 0o600 if is_private else 0o666, dir_fd=holder)
    try:
        with open(number, "wb") as file:  # noqa: PTH123  a descriptor, no path
            file.write(content)
            file.flush()
            if mtime_ns is not None and os.utime in os.supports_fd:
                os.utime(number, ns=(mtime_ns, mtime_ns))
        if mtime_ns is not None and os.utime not in os.supports_fd:
            os.utime(part, ns=(mtime_ns, mtime_ns))
        os.replace(part, target, src_dir_fd=holder, dst_dir_fd=holder)
    except BaseException:
        os.unlink(part, dir_fd=holder)
        raise


def open_regular(path: Path, most: int) -> FileIO:
    """A regular file, open for reading. Raises OSError for one of more than `most` bytes, and for a link, a device, or
    a pipe, which is never waited for."""
    if is_link(path):  # where the system cannot refuse it while opening
        raise OSError(errno.ELOOP, "it is a link, which nobody else may put here")
    file = FileIO(os.open(path, _READ), "rb")
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= most:
        return file
    file.close()
    if stat.S_ISREG(status.st_mode):
        raise OSError(errno.EFBIG, f"it is larger than {most:,} bytes")
    raise OSError(errno.EINVAL, "it is no regular file")


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file. Raises OSError as `open_regular` does."""
    with open_regular(path, most) as file:
        parts, left = [], most  # it may grow meanwhile: what comes then is left for the next time
        while left and (block := file.read(min(left, 1 << 20))):
            parts.append(block)
            left -= len(block)
        return b"".join(parts)
