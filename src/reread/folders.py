"""Folders for one's own eyes, and names that outlast a power cut."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def make_private(folder: Path) -> None:
    """The folder and its missing parents, for nobody else; also under a umask that takes our own bits away."""
    for missing in [path for path in (*reversed(folder.parents), folder) if not path.exists()]:
        missing.mkdir(mode=0o700, exist_ok=True)
        missing.chmod(0o700)
        sync_folder(missing.parent)


def sync_folder(folder: Path) -> None:
    """Makes names durable, where the system can do that: Windows and some network file systems cannot."""
    try:
        fd = os.open(folder, os.O_RDONLY)
    except PermissionError:
        return
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(fd)


def write_durably(path: Path, text: str) -> None:
    """A small file for one's own eyes that is whole at every moment, also after a power cut."""
    part = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)
