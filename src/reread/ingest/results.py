"""What a sync tells while it runs and when it is done."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from reread.errors import SourceError


class Progress(Struct, frozen=True):
    """How far a sync has come."""

    bytes_done: int
    bytes_total: int
    sessions_done: int
    sessions_total: int


class SyncResult(Struct, kw_only=True):
    sessions: int = 0
    """Sessions that were new or had grown."""
    files: int = 0
    bytes: int = 0
    unchanged: int = 0
    vanished: int = 0
    seconds: float = 0.0
    problems: list[SourceError] = msgspec.field(default_factory=list)


Report = Callable[[Progress], None]
