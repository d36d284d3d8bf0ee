"""What the application is told when it starts."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import NamedTuple


class Settings(NamedTuple):
    home: Path
    """Where the archive lies."""
    sources: tuple[Path, ...] = ()
    prices: Path | None = None
    timezone: tzinfo | None = None
    """Whose days are meant; None is the machine's own."""
    cleanup_days: float = 30.0
    """When Claude Code deletes a session."""

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)
