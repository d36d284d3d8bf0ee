"""Shows a sync that takes long: a bar on a terminal, a line now and then elsewhere, nothing when it is quick."""

from __future__ import annotations

import sys
import time

from reread import views
from reread.config import terminal_width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from reread.archive import Progress

QUICK = 0.3
"""Seconds nobody minds waiting without a word."""
REDRAW = 0.1
PLAIN_EVERY = 5.0
"""A log needs fewer words, and a busy machine must not make a quick sync look like a long one."""


class SyncProgress:
    """Told how far a sync has come, shows it. Close it to have the line back."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._began = time.monotonic()
        self._next = self._began + (QUICK if self._is_terminal else PLAIN_EVERY)
        self._is_drawn = False
        self._phase = ""

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.phase != self._phase:  # which begins at nothing, and goes at a rate of its own
            self._phase, self._began = progress.phase, now
        if now < self._next:
            return
        self._show(progress, now - self._began)
        self._next = now + (REDRAW if self._is_terminal else PLAIN_EVERY)

    def _show(self, progress: Progress, seconds: float) -> None:
        done, total = progress.bytes_done, progress.bytes_total
        # Sessions that are only read again have no new bytes.
        again = None if total else f"{progress.sessions_done:,} of {progress.sessions_total:,} sessions"
        phase = f"{progress.phase}: " if progress.phase else ""
        if self._is_terminal:
            room = terminal_width() - len(phase)
            self._stream.write(f"\r{phase}{again or views.progress_bar.bar_line(done, total, seconds, room)}\x1b[K")
            self._is_drawn = True
        else:
            taken = phase or "taking in "
            self._stream.write(f"reread: {taken}{again or views.progress_bar.plain_line(done, total, seconds)}\n")
        self._stream.flush()

    def close(self) -> None:
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_drawn = False


class ShareProgress:
    """Told how much of something is done, shows it on a terminal once it takes long; the line is gone when all is."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._next = time.monotonic() + QUICK
        self._is_drawn = False

    def __call__(self, done: int, total: int) -> None:
        if done >= total:
            sys.stderr.write("\r\x1b[K" if self._is_drawn else "")
            sys.stderr.flush()
        elif (now := time.monotonic()) >= self._next:
            sys.stderr.write(f"\r{self._what}: {done * 100 // total} %\x1b[K")
            sys.stderr.flush()
            self._next, self._is_drawn = now + REDRAW, True
