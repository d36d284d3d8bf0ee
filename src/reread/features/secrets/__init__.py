"""Secrets in what sessions say: finding them, and putting a name in place of each.

A secret is known by its own shape (`shapes.py`), or by what it is assigned to (`find.py`). Whatever is found once is
taken out everywhere: a key that one line names as such may stand bare in another.
"""

from .find import FoundSecret, find
from .redact import Redactor, placeholders, redacted_line, redacted_session

__all__ = ["FoundSecret", "Redactor", "find", "placeholders", "redacted_line", "redacted_session"]
