"""Tells at a glance whether prices may have changed, without reading them."""

from __future__ import annotations

import os
from pathlib import Path


def stamp(price_file: Path | None) -> str:
    """Size and time of the packaged table and of the user's file."""
    packaged = os.path.join(os.path.dirname(__file__), "prices.json")  # noqa: PTH118, PTH120  pathlib takes longer
    return f"{_of(packaged)} {_of(price_file) if price_file is not None else ''}".strip()


def _of(path: str | Path) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return "unreadable"
    return f"{status.st_size}:{status.st_mtime_ns}"
