"""Messages to the person on standard error, and the input that Claude Code passes on standard input.

It imports little, because `reread --help` and `reread statusline` use it.
"""

from __future__ import annotations

import errno
import os
import sys

from reread.errors import printable


def tell(sentence: object) -> None:
    """Prints one sentence on one line. Control characters in names or reasons from outside are escaped."""
    sys.stderr.write(f"reread: {printable(str(sentence))}\n")


def notify(sentence: str) -> None:
    """Prints to standard error; a terminal also rings and, if it can, shows a desktop notification (OSC 9)."""
    tell(sentence)
    if sys.stderr.isatty():
        sys.stderr.write(f"\x1b]9;reread: {printable(sentence)}\x07\x07")
        sys.stderr.flush()


def is_closed_pipe(error: OSError) -> bool:
    """Whether the reader closed the pipe; Windows reports that as an invalid argument."""
    is_told_so = sys.platform == "win32" and error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or is_told_so


def tell_lines(text: str, end: str = "\n") -> None:
    """Prints text of several lines with other control characters escaped."""
    sys.stderr.write("\n".join(map(printable, text.split("\n"))) + end)
    sys.stderr.flush()


def report_hidden(texts: int) -> None:
    """Reports how many texts an answer lacks because of damage."""
    if texts:
        tell(f"{texts:,} more cannot be read: the archive is damaged; run `reread archive verify`")


PATIENCE = 1.0
"""Seconds to wait for input that does not end."""
_MOST_BYTES = 4_000_000


def piped_input() -> bytes:
    """All of standard input, or what has arrived after `PATIENCE`: Claude Code must not be kept waiting."""
    if sys.stdin.isatty():
        return b""
    import _thread  # `threading` takes longer to import and would wait for the reader at exit

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
