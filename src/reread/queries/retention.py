"""When Claude Code deletes a session: by the age of its file, after the days its settings say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

DEFAULT_CLEANUP_DAYS = 30
"""What Claude Code does when `cleanupPeriodDays` is not set."""
SOON = timedelta(days=7)
_SETTINGS = ("settings.json", "settings.local.json")


def settings_files(sources: Iterable[Path]) -> list[Path]:
    """The settings that go with some sources; for a projects folder those of the config directory around it."""
    folders = [source.parent if source.name == "projects" else source for source in sources]
    return [folder / name for folder in folders for name in _SETTINGS]


def cleanup_days(settings: Iterable[Path]) -> float:
    """The shortest period any of these files sets: that is the one that bites first."""
    periods = [days for path in settings if (days := _period(path)) is not None]
    return min(periods, default=float(DEFAULT_CLEANUP_DAYS))


def _period(path: Path) -> float | None:
    try:
        content = path.read_bytes()
    except OSError:  # most sources have none
        return None
    from reread.records import Settings, decode_side_file  # costs 12 ms

    settings = decode_side_file(content, Settings)
    days = settings.cleanup_period_days if settings is not None else None
    return float(days) if days is not None and 0 <= days < 1e6 else None
