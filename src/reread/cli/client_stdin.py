"""What Claude Code hands to a command it runs, on standard input, without ever waiting long for it."""

from __future__ import annotations

import os
import sys

PATIENCE = 1.0
"""Seconds to wait for input that does not end."""
_MOST_BYTES = 4_000_000


def piped_input() -> bytes:
    """All of standard input, or what has come of it when patience is over: Claude Code may not be kept waiting."""
    if sys.stdin.isatty():
        return b""
    import _thread  # `threading` costs more, and would wait for the reader at the end

    number = sys.stdin.fileno()
    parts: list[bytes] = []
    done = _thread.allocate_lock()
    done.acquire()

    def read() -> None:
        try:
            while (part := os.read(number, 65536)) and sum(map(len, parts)) < _MOST_BYTES:
                parts.append(part)
        except OSError:
            parts.clear()
        done.release()

    _thread.start_new_thread(read, ())
    done.acquire(timeout=PATIENCE)
    return b"".join(parts)
