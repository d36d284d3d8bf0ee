"""Notices that a source changed, for next to nothing while none does.

What was written lately, and the folders new sessions appear in, are looked at ten times a second; everything else
every two seconds: with thousands of old sessions, even a stat for each of them would show in a process list.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from reread.index.source_state import UNREAD, Seen, has_captures

OFTEN = 0.1
SELDOM = 2.0
RECENT_NS = 24 * 3600 * 10**9


def changes(seen: Seen, now_ns: int, stop: threading.Event, captures: Path) -> Iterator[None]:
    """Yields once when something changed, or a captured run ended; ends without when `stop` is set."""
    readable = [(path, state) for path, state in seen.items() if state[1] != UNREAD]
    hot = [item for item in readable if _is_hot(*item, now_ns)]
    cold = [item for item in readable if not _is_hot(*item, now_ns)]
    rounds = 0
    while not stop.wait(OFTEN):
        rounds += 1
        if _has_changed(hot) or has_captures(captures) or (rounds % round(SELDOM / OFTEN) == 0 and _has_changed(cold)):
            yield
            return


def _is_hot(path: str, state: tuple[int, int], now_ns: int) -> bool:
    is_folder = state[0] < 0
    return now_ns - state[1] < RECENT_NS or (is_folder and _is_project_folder(path))


def _is_project_folder(path: str) -> bool:
    """`projects` and the folders in it: where a new session's file appears."""
    parts = Path(path).parts
    return "projects" in parts[-2:]


def _has_changed(items: Sequence[tuple[str, tuple[int, int]]]) -> bool:
    for path, (size, mtime_ns) in items:
        try:
            status = os.stat(path)  # noqa: PTH116  a Path costs more than the call
        except OSError:
            return True
        if status.st_mtime_ns != mtime_ns or (size >= 0 and status.st_size != size):
            return True
    return False
