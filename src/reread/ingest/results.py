"""What a sync tells while it runs and when it is done."""

from collections.abc import Callable
from typing import NamedTuple

from reread.errors import SourceError


class Progress(NamedTuple):
    """How far a sync has come."""

    bytes_done: int
    bytes_total: int
    sessions_done: int
    sessions_total: int


class SyncResult:
    """What a sync did; it counts while it runs."""

    def __init__(self, *, unchanged: int = 0, vanished: int = 0, problems: list[SourceError] | None = None) -> None:
        self.sessions = 0
        """Sessions that were new or had grown."""
        self.files = 0
        self.bytes = 0
        self.unchanged = unchanged
        self.vanished = vanished
        self.seconds = 0.0
        self.problems = problems if problems is not None else []


Report = Callable[[Progress], None]
