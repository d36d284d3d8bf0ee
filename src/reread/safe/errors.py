"""What can go wrong with the safe.

RereadError
├── SafeError           the folder cannot be read or written
│   ├── SafeFull        no room; nothing half-written is left
│   └── SafeBusy        another process writes
└── SafeDamaged         stored bytes that cannot be proved
"""

from __future__ import annotations

from pathlib import Path

from reread.errors import RereadError, printable

__all__ = ["SafeBusy", "SafeDamaged", "SafeError", "SafeFull"]


class SafeError(RereadError):
    """The folder of the safe cannot be used, and why."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{printable(str(folder))}: {reason}")
        self.folder = folder
        self.reason = reason


class SafeFull(SafeError):
    """There is no room; what was appended and flushed before is whole, and appending can go on once there is."""


class SafeBusy(SafeError):
    """Another process holds the lock."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(folder, f"another reread{f' (process {pid})' if pid else ''} is writing to the archive")
        self.pid = pid


class SafeDamaged(RereadError):
    """A piece that cannot be proved; beside a forget it may only have moved: look its place up again."""

    def __init__(self, pack: int, offset: int, reason: str, path: str | None = None) -> None:
        owner = f" ({printable(path)})" if path else ""
        super().__init__(f"the piece at byte {offset} of pack {pack}{owner} cannot be read: {reason}")
        self.pack, self.offset, self.reason, self.path = pack, offset, reason, path
