"""Secrets in sessions: finding them, and putting a name in the place of each.

A secret is found by its own shape (`shapes.py`), by the name it is assigned to (`named_values.py`), or by the command
around it (`command_lines.py`). A secret found once is taken out everywhere: a key that one line assigns to such a name
may occur without the name in another.
"""

from .find import FoundSecret, find
from .redact import Redactor, placeholders, redacted_line, redacted_name, redacted_session

__all__ = ["FoundSecret", "Redactor", "find", "placeholders", "redacted_line", "redacted_name", "redacted_session"]
