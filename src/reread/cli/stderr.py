"""What a person is told beside the answer, on standard error. Imports little: `reread --help` goes through here."""

from __future__ import annotations

import sys

from reread.errors import printable


def tell(sentence: object) -> None:
    """One sentence, on one line: a name or a reason from outside can neither draw nor begin a line of its own."""
    sys.stderr.write(f"reread: {printable(str(sentence))}\n")


def tell_lines(text: str, end: str = "\n") -> None:
    """Text of several lines; what else a terminal would obey is shown as an escape."""
    sys.stderr.write("\n".join(map(printable, text.split("\n"))) + end)
    sys.stderr.flush()


def tell_hidden(texts: int) -> None:
    """What an answer lacks because of damage."""
    if texts:
        tell(f"{texts:,} more cannot be read: the archive is damaged; run `reread archive verify`")
