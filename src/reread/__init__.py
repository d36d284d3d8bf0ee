"""Reads Claude Code transcripts: every record, every era, nothing lost.

import reread

session = reread.load("session.jsonl")
for turn in session.turns: ...
"""

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:  # the name type checkers look for; importing it would cost more than the rest of this file
    from .archive.archive import Archive, load
    from .archive.archive import open_archive as open  # noqa: A004  the name users know it by
    from .archive.filters import Filter
    from .archive.session_store import SessionStore
    from .errors import (
        AmbiguousSession,
        BadInput,
        ClientError,
        ClientRefused,
        NewerArchive,
        NoWords,
        ReadOnlyArchive,
        RefusedBackup,
        RereadError,
        SafeBusy,
        SafeDamaged,
        SafeError,
        SafeFull,
        SourceError,
        StoreAway,
        StoreBusy,
        StoreError,
        StoreRefused,
        UnknownSession,
        WorkerLost,
    )
    from .live.client import Client, query
    from .live.host import Hook, HookEventInput, HostTool
    from .live.outgoing import Allow, Deny
    from .live.protocol import Stream
    from .live.transport import ClientOptions, thinking_budget
    from .loading import LoadedSession, follow, read
    from .records import Record, Unknown, decode
    from .sessions import Session, SessionBuilder, Subagent, Tokens

fetch_names(__name__)

__version__ = "0.1.0"

__all__ = [
    "Allow",
    "AmbiguousSession",
    "Archive",
    "BadInput",
    "Client",
    "ClientError",
    "ClientOptions",
    "ClientRefused",
    "Deny",
    "Filter",
    "Hook",
    "HookEventInput",
    "HostTool",
    "LoadedSession",
    "NewerArchive",
    "NoWords",
    "ReadOnlyArchive",
    "Record",
    "RefusedBackup",
    "RereadError",
    "SafeBusy",
    "SafeDamaged",
    "SafeError",
    "SafeFull",
    "Session",
    "SessionBuilder",
    "SessionStore",
    "SourceError",
    "StoreAway",
    "StoreBusy",
    "StoreError",
    "StoreRefused",
    "Stream",
    "Subagent",
    "Tokens",
    "Unknown",
    "UnknownSession",
    "WorkerLost",
    "__version__",
    "decode",
    "follow",
    "load",
    "open",
    "query",
    "read",
    "thinking_budget",
]


def __dir__() -> list[str]:
    return sorted(__all__)
