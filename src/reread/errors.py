"""Every exception reread raises on purpose.

    RereadError
    ├── SourceError        a file or folder that cannot be read
    │   └── RefusedBackup  a file in the folder of backups that is not a backup
    ├── UnknownSession     no session has that name
    ├── AmbiguousSession   several sessions have it
    ├── BadInput           a filter, date or option that makes no sense
    │   └── NoWords        a query without a word to search for
    ├── ClientError        Claude Code could not be started, or ended before it was done
    ├── ClientRefused      Claude Code is running, and answered a request with an error
    ├── StoreError         the archive's database cannot be opened or written
    │   ├── NewerArchive   a newer version of reread has changed its form
    │   └── ReadOnlyArchive    it can be read but not written
    ├── SafeError          the folder of the safe cannot be read or written
    │   ├── SafeFull       no room; nothing half-written is left
    │   └── SafeBusy       another process writes
    ├── StoreAway          a team's store cannot be reached now; trying again may help
    │   └── StoreBusy      another connection holds what this one needs
    ├── StoreRefused       it was reached and refused
    ├── SafeDamaged        stored bytes that cannot be proved
    └── WorkerLost         a worker process was ended from outside

Unreadable *lines* are never an exception: they are values, see `reread.records.Unknown`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # `reread --help` needs none of it
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "AmbiguousSession",
    "BadInput",
    "ClientError",
    "ClientRefused",
    "NewerArchive",
    "NoWords",
    "ReadOnlyArchive",
    "RefusedBackup",
    "RereadError",
    "SafeBusy",
    "SafeDamaged",
    "SafeError",
    "SafeFull",
    "SourceError",
    "StoreAway",
    "StoreBusy",
    "StoreError",
    "StoreRefused",
    "UnknownSession",
    "WorkerLost",
]


class RereadError(Exception):
    """The base: its text is one sentence a person can act on."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickled by its fields: most errors are made from facts, but pickle would call the class with the sentence,
        and a pool that cannot unpickle an answer is broken for good."""
        return _remade, (type(self), self.args, self.__dict__)


def _remade(kind: type[RereadError], args: tuple[object, ...], facts: dict[str, object]) -> RereadError:
    made = kind.__new__(kind)
    made.args = args
    made.__dict__.update(facts)
    return made


class SourceError(RereadError):
    """A file or folder that cannot be read, and why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{printable(str(path))}: {reason}")
        self.path = path
        self.reason = reason


class UnknownSession(RereadError):
    """No session has this name."""

    def __init__(self, name: str, searched: Sequence[Path], *, is_partial: bool = False) -> None:
        places = ", ".join(printable(str(path)) for path in searched) or "no source folder"
        is_meant = name != "@last" and name.strip("@").lower() in ("last", "latest", "newest")
        hint = "; the newest is @last" if is_meant else ""
        yet = "; a rebuild of its index runs, or was stopped, and has only some sessions yet" if is_partial else ""
        super().__init__(f"no session {printable(name)!r} in {places}{hint}{yet}")
        self.name = name
        self.searched = tuple(searched)
        self.is_partial = is_partial
        """Whether the index that was searched is being rebuilt, so that the session may be found later."""


class AmbiguousSession(RereadError):
    """The ids of several sessions begin with this prefix."""

    def __init__(self, name: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(map(printable, candidates[:8])) + (", ..." if len(candidates) > 8 else "")
        super().__init__(f"{printable(name)!r} could be any of {len(candidates)} sessions: {shown}")
        self.name = name
        self.candidates = tuple(candidates)


class BadInput(RereadError):
    """A value given by the caller that makes no sense; the text names it."""


class ClientError(RereadError):
    """Claude Code could not be started, or ended before it was done; the text includes its last lines on stderr."""

    def __init__(self, problem: str, exit_code: int | None = None, stderr: Sequence[str] = ()) -> None:
        output = " / ".join(printable(line) for line in stderr)
        super().__init__(f"{problem}: {output}" if output else problem)
        self.exit_code = exit_code
        """None if it never ran; the negative number of a signal, as in `subprocess`."""
        self.stderr = tuple(stderr)


class ClientRefused(RereadError):
    """Claude Code answered a request with an error; the text is its own."""


class RefusedBackup(SourceError):
    """A file in the folder of backups that is not a backup, or too large; trying again does not help."""


class NoWords(BadInput):
    """A query of punctuation alone; a caller that can search for it in another way may suggest that."""


class StoreError(RereadError):
    """The archive cannot be opened or written; the text says why."""


class NewerArchive(StoreError):
    """A newer version of reread has given the archive a form that this one does not know."""


class ReadOnlyArchive(StoreError):
    """The archive can be read but not written."""

    def __init__(self, home: Path, reason: str = "the archive cannot be written here, only read") -> None:
        super().__init__(f"{home}: {reason}")


class SafeError(RereadError):
    """The folder of the safe cannot be used, and why."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{printable(str(folder))}: {reason}")
        self.folder = folder
        self.reason = reason


class SafeFull(SafeError):
    """The disk is full; what was appended and flushed before is whole, and appending can go on once there is room."""


class SafeBusy(SafeError):
    """Another process holds the lock."""

    def __init__(self, folder: Path, pid: int | None) -> None:
        super().__init__(folder, f"another reread{f' (process {pid})' if pid else ''} is writing to the archive")
        self.pid = pid


class SafeDamaged(RereadError):
    """A piece that cannot be proved. A concurrent forget may only have moved it: look up its place again."""

    def __init__(self, pack: int, offset: int, reason: str, path: str | None = None) -> None:
        owner = f" ({printable(path)})" if path else ""
        super().__init__(f"the piece at byte {offset} of pack {pack}{owner} cannot be read: {reason}")
        self.pack, self.offset, self.reason, self.path = pack, offset, reason, path


class WorkerLost(RereadError):
    """A worker process was ended from outside: by a person, or by the system because memory was short."""

    def __init__(self) -> None:
        super().__init__("a process that was helping was ended (is memory short?); nothing is lost, run it again")


def printable(text: str) -> str:
    """Text with bytes that are not UTF-8, and characters that a terminal would obey, shown as escapes."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class StoreAway(RereadError):
    """A team's store cannot be reached now, or was lost on the way; trying again may help."""


class StoreBusy(StoreAway):
    """Another connection holds what this one needs."""


class StoreRefused(RereadError):
    """A team's store was reached and refused."""
