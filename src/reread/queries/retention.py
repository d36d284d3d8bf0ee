"""When Claude Code deletes a session: by the age of its file, after the days its settings say."""

from __future__ import annotations

import json
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
    try:
        settings = json.loads(content)  # the types of all side files would cost more than a list of sessions
    except (ValueError, RecursionError):
        return None
    days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    if not isinstance(days, int | float) or isinstance(days, bool) or not 0 <= days < 1e6:
        return None
    return float(days)
