"""What a person is told on standard error, and what Claude Code hands over on standard input.

Imports little: `reread --help` and `reread statusline` go through here.
"""

from __future__ import annotations

import errno
import os
import sys

from reread.errors import printable


def tell(sentence: object) -> None:
    """One sentence, on one line: a name or a reason from outside can neither draw nor begin a line of its own."""
    sys.stderr.write(f"reread: {printable(str(sentence))}\n")


def notify(sentence: str) -> None:
    """On standard error; a terminal also rings, and shows it outside its window where it can (OSC 9)."""
    tell(sentence)
    if sys.stderr.isatty():
        sys.stderr.write(f"\x1b]9;reread: {printable(sentence)}\x07\x07")
        sys.stderr.flush()


def is_closed_pipe(error: OSError) -> bool:
    """Whether the reader has seen enough; Windows calls that an invalid argument."""
    is_told_so = sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or is_told_so


def tell_lines(text: str, end: str = "\n") -> None:
    """Text of several lines; what else a terminal would obey is shown as an escape."""
    sys.stderr.write("\n".join(map(printable, text.split("\n"))) + end)
    sys.stderr.flush()


def report_hidden(texts: int) -> None:
    """What an answer lacks because of damage."""
    if texts:
        tell(f"{texts:,} more cannot be read: the archive is damaged; run `reread archive verify`")


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
