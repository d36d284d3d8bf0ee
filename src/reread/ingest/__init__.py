"""Imports sources into the archive: incremental, parallel, resumable.

It writes through `index` and `safe`, and prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from reread.errors import SourceError


class Progress:
    """How far a sync, or another long operation, has come."""

    def __init__(
        self,
        bytes_done: int,
        bytes_total: int,
        sessions_done: int = 0,
        sessions_total: int = 0,
        newest_done: int = 0,
        *,
        phase: str = "",
    ) -> None:
        self.bytes_done = bytes_done
        self.bytes_total = bytes_total
        self.sessions_done = sessions_done
        self.sessions_total = sessions_total
        self.newest_done = newest_done
        """How many of the newest sessions, without a gap, can be queried already."""
        self.phase = phase
        """What is being done now; empty while sessions are imported."""

    @staticmethod
    def in_phase(report: Report, phase: str) -> Callable[[int, int], None]:
        """For operations that report only how many bytes of how many are done."""
        return lambda done, total: report(Progress(done, total, phase=phase))


class SyncResult:
    """What a sync did; the counts grow while it runs."""

    def __init__(self, *, unchanged: int = 0, vanished: int = 0, problems: list[SourceError] | None = None) -> None:
        self.sessions = 0
        """Sessions that were new or had grown."""
        self.files = 0
        self.bytes = 0
        self.unchanged = unchanged
        self.vanished = vanished
        self.left_out: dict[str, int] = {}
        """Sessions found in the sources that stay forgotten, each with the time it was forgotten, in milliseconds since
        1970."""
        self.rebuilt = 0
        """Sessions that were kept and had no index any more."""
        self.seconds = 0.0
        self.problems = problems if problems is not None else []

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"SyncResult({values})"


Report = Callable[[Progress], None]
