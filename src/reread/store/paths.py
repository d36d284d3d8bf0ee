"""Names of files as SQLite takes them: those that are no UTF-8 are stored as their bytes."""

from __future__ import annotations

import os


def stored_path(path: str) -> str | bytes:
    try:
        path.encode()
    except UnicodeEncodeError:
        return os.fsencode(path)
    return path


def as_path(stored: str | bytes) -> str:
    return os.fsdecode(stored) if isinstance(stored, bytes) else stored
