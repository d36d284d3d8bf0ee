"""A question before something is done that is not easily undone."""

from __future__ import annotations

import sys

from reread.errors import BadInput

from .telling import tell_lines


def is_agreed(question: str, refusal: str) -> bool:
    """A person at a terminal says yes; anything else is no. Raises BadInput where there is nobody to ask."""
    if not sys.stdin.isatty():
        raise BadInput(refusal)
    tell_lines(f"{question} [yes/no] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
