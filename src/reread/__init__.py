"""Reads Claude Code transcripts: every record, every era, nothing lost.

import reread

session = reread.load("session.jsonl")
for turn in session.turns: ...
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import AmbiguousSession, BadInput, RereadError, SourceError, UnknownSession
    from .loading import load, read
    from .records import Record, Unknown, decode
    from .sessions import Session, SessionBuilder, Subagent, Tokens
    from .sources import follow

__version__ = "0.1.0"

_HOME = {
    "AmbiguousSession": "errors",
    "BadInput": "errors",
    "RereadError": "errors",
    "SourceError": "errors",
    "UnknownSession": "errors",
    "load": "loading",
    "read": "loading",
    "Record": "records",
    "Unknown": "records",
    "decode": "records",
    "Session": "sessions",
    "SessionBuilder": "sessions",
    "Subagent": "sessions",
    "Tokens": "sessions",
    "follow": "sources",
}
"""Where each public name lives. They are fetched when first used: `import reread` alone costs nothing."""

__all__ = [
    "AmbiguousSession",
    "BadInput",
    "Record",
    "RereadError",
    "Session",
    "SessionBuilder",
    "SourceError",
    "Subagent",
    "Tokens",
    "Unknown",
    "UnknownSession",
    "__version__",
    "decode",
    "follow",
    "load",
    "read",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
