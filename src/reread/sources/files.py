"""Opens regular files, and says in one sentence why it cannot.

A FIFO is never opened: opening one waits for a writer that may never come.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import SourceError

__all__ = ["HEAD", "looks_binary", "open_file", "open_regular", "read_head", "source_error"]

HEAD = 1024
"""How many first bytes are looked at to tell what a file is."""

_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_CONTROLS = bytes({*range(1, 32), 127} - set(b"\t\n\v\f\r\x1b"))

_REASONS: tuple[tuple[type[OSError], str], ...] = (
    (FileNotFoundError, "no such file or folder"),
    (NotADirectoryError, "no such file or folder"),
    (IsADirectoryError, "is a folder, not a file"),
    (PermissionError, "permission denied"),
)


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """A regular file to read; whatever fails while it is open is a SourceError."""
    try:
        with open_regular(path) as file:
            yield file
    except (OSError, ValueError) as error:
        raise source_error(path, error) from error


def open_regular(path: Path) -> BinaryIO:
    """The same with the system's own errors; unbuffered, the caller closes it."""
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError  # Windows would call it a permission problem
    if not stat.S_ISREG(mode):
        raise SourceError(path, "is not a regular file")
    return cast(BinaryIO, path.open("rb", buffering=0))


def source_error(path: Path, error: OSError | ValueError) -> SourceError:
    """The same failure in words a person understands."""
    for kind, reason in _REASONS:
        if isinstance(error, kind):
            return SourceError(path, reason)
    # A ValueError comes from a name no system call takes, such as one with a NUL in it.
    return SourceError(path, f"cannot be read ({getattr(error, 'strerror', None) or error})")


def read_head(path: Path, size: int = HEAD) -> bytes:
    with open_file(path) as file:
        return file.read(size)


def looks_binary(head: bytes) -> bool:
    """Whether these first bytes of a file belong to something that was never text.

    A NUL alone proves nothing: PowerShell redirects in UTF-16, and a power cut leaves runs of NULs in a
    text file. Binary formats mix NULs with other control bytes, which JSON must escape and UTF-16 text
    in a Latin script does not produce. A byte-order mark settles it.
    """
    if b"\0" not in head or head.startswith(_BOMS):
        return False
    return len(head.translate(None, _CONTROLS)) < len(head)
