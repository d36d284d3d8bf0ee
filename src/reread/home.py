"""Where the archive is, how private folders and files in it are written so that they survive a power cut, and what the
file system reports about a file, as numbers that a row can hold.

Imports nothing of ours but the errors, because every command goes through here.
"""

from __future__ import annotations

import errno
import os
import sys

from reread.errors import BadInput, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JOURNAL = "rewrite.json"
"""A file in the safe's folder that exists while packs are being rewritten."""


def archive_home(environ: Mapping[str, str], system: str, user: str) -> str:
    """`REREAD_HOME`, else the platform's folder for a user's data."""
    named = environ.get("REREAD_HOME", "").strip()
    if named:
        return os.path.expanduser(named)  # noqa: PTH111  pathlib takes longer than a status line may
    if system == "darwin":
        return os.path.join(user, "Library", "Application Support", "reread")  # noqa: PTH118
    if system == "win32":
        local = environ.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")  # noqa: PTH118
        return os.path.join(local, "reread")  # noqa: PTH118
    # The XDG specification says that a relative path is to be ignored.
    data = environ.get("XDG_DATA_HOME", "")
    usual = os.path.join(user, ".local", "share")  # noqa: PTH118
    return os.path.join(data if os.path.isabs(data) else usual, "reread")  # noqa: PTH117, PTH118


def this_machine() -> str:
    """The host name of this machine."""
    if hasattr(os, "uname"):
        return os.uname().nodename or "unknown"
    import platform  # slower, and only needed where there is no uname

    return platform.node() or "unknown"


def path_name(named: str | os.PathLike[str]) -> str:
    """A path as text. Raises BadInput for anything else: bytes, an open file, None."""
    name = os.fspath(named) if isinstance(named, str | os.PathLike) else None
    if not isinstance(name, str):
        raise BadInput(f"{named!r} is not a path; give the name of a file or folder")
    return name


def whole_path(path: Path) -> Path:
    """The absolute path. Links stay in it unless it has a `..`, because the names before that may be links."""
    return path.resolve() if ".." in path.parts else path.absolute()


def identity_of(path: Path) -> tuple[int, int] | None:
    """Equal for all names of a file; None if there is no file, or if its file system gives no identity."""
    try:
        status = os.stat(path)  # noqa: PTH116  half the time of the method, and there may be very many files
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def is_same_file(one: Path, other: Path) -> bool:
    """Whether both names lead to one file, such as one below a folder that a link leads to."""
    found = identity_of(one)
    return found is not None and found == identity_of(other)


_OF_AN_ARCHIVE = (
    *("applied.jsonl", "asked", "budgets.json", "exchange", "exchange.json", "hook.log", "machine.json", "marks.json"),
    "retro.jsonl",
    *("prices.json", "reread.db", "safe", "web-server.json", "web-token", "wire"),
)
"""One of these, or its name with something after a dot, is in every archive's folder that is not empty."""
_OF_NOBODY = frozenset({"lost+found", ".DS_Store", "desktop.ini", "$RECYCLE.BIN", "System Volume Information"})
"""What file systems and file managers put into empty folders."""


def make_home(home: Path) -> None:
    """Makes the archive's folder, which no other user may enter; one that was there keeps its rights.

    Raises BadInput as `refuse_foreign` does, and OSError if it cannot be made.
    """
    refuse_foreign(home)
    make_private(home)


def refuse_foreign(home: Path) -> None:
    """Raises BadInput if a folder holds other things and no archive, or belongs to somebody else who lets us write."""
    try:
        names, owner = set(os.listdir(home)) - _OF_NOBODY, home.stat().st_uid  # noqa: PTH208  no paths are needed
    except OSError:  # none yet, or whoever makes something in it says what is wrong
        return
    if hasattr(os, "geteuid") and owner != os.geteuid() and os.access(home, os.W_OK):
        raise BadInput(f"{printable(str(home))}: belongs to another user; choose a folder of your own for the archive")
    if names and not any(f"{name}.".startswith(f"{own}.") for name in names for own in _OF_AN_ARCHIVE):
        raise BadInput(f"{printable(str(home))}: holds other things and no archive; choose an empty or a new folder")


def make_private(folder: Path) -> None:
    """Makes a folder and its missing parents for this user alone, even if the umask removes the user's own rights."""
    for missing in [path for path in (*reversed(folder.parents), folder) if not path.is_dir()]:
        try:
            missing.mkdir(mode=0o700)
        except FileExistsError:  # made meanwhile; the rights of what is there are not ours to change
            if not missing.is_dir():
                raise
            continue
        missing.chmod(0o700)
        sync_folder(missing.parent)


def sync_file(fd: int) -> None:
    """Makes what was written to a file durable. On macOS `fsync` leaves it in the drive's cache, which a power cut
    empties."""
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        except OSError:  # network shares and some foreign file systems have only the other
            os.fsync(fd)
    else:
        os.fsync(fd)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable where the system can: Windows and some network file systems cannot."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        sync_file(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(fd)


FIXES = "fixes.json"
"""What the hook of `hook install --fixes` looks up."""


def write_durably(path: Path, text: str) -> None:
    """Writes a small file that only this user can read and that is whole at every moment, even after a power cut."""
    part = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        sync_file(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


_LARGEST = (1 << 63) - 1
"""A row of SQLite holds numbers of 64 bits with a sign."""


def changed_at(status: os.stat_result) -> int:
    """When a file was last changed, in nanoseconds since 1970. A time after April 2262, from a wrong clock, becomes the
    latest that a row can hold."""
    return fitting_time(status.st_mtime_ns)


def fitting_time(nanoseconds: int) -> int:
    return max(-_LARGEST, min(nanoseconds, _LARGEST))


def identity(number: int) -> int:
    """An inode or device number as a row can hold it. NTFS and some network file systems give unsigned numbers of 64
    bits, ReFS of 128; they are cut to 64 bits, so equal numbers stay equal."""
    return (number + _LARGEST + 1) % (1 << 64) - _LARGEST - 1
