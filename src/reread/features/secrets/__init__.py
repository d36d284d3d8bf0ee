"""Secrets in sessions: finding them, and putting a name in the place of each.

A secret is found by its own shape or the command around it (`rules.txt`), or by the name it is assigned to
(`named_values.py`). A secret found once is taken out everywhere: a key that one line assigns to such a name
may occur without the name in another.
"""

from .find import FoundSecret, find
from .redact import PLACEHOLDER, Redactor, learn_session, placeholders, redacted_line, redacted_name, redacted_session
from .shapes import EMAIL, USER

__all__ = [
    "EMAIL",
    "PLACEHOLDER",
    "USER",
    "FoundSecret",
    "Redactor",
    "find",
    "learn_session",
    "placeholders",
    "redacted_line",
    "redacted_name",
    "redacted_session",
]
