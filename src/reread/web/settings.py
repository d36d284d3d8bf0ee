"""What the application is told when it starts."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import NamedTuple

from reread.live.transport import Program


class ServerSettings(NamedTuple):
    home: Path
    """Where the archive lies."""
    sources: tuple[Path, ...] = ()
    prices: Path | None = None
    timezone: tzinfo | None = None
    """Whose days are meant; None is the machine's own."""
    cleanup_days: float = 30.0
    """When Claude Code deletes a session."""
    claude: Program | None = None
    """The client to run; None is `claude` on PATH."""
    may_run: bool = True
    """Whether clients may be run from pages."""
    captures: Path | None = None
    """Where runs are captured; None is below the archive's folder."""

    @property
    def wire(self) -> Path:
        return self.captures or self.home / "wire"

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)
