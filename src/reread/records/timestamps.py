"""Times as clients write them: ISO 8601 with or without a zone, epoch milliseconds, epoch seconds."""

from __future__ import annotations

from datetime import UTC, datetime

Timestamp = str | int | float | None

MILLISECONDS_FROM = 1e11
"""Numbers above this are milliseconds: as seconds they would lie after the year 5138."""


def parse_time(value: object) -> datetime | None:
    """UTC time of a raw timestamp; None when there is none or it makes no sense."""
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(value: str) -> datetime | None:
    """Not remembered, though the lines of a response repeat their times: looking it up takes longer than reading it."""
    try:
        moment = datetime.fromisoformat(value.strip())
        if moment.tzinfo is UTC:  # the client's own form, which needs nothing more
            return moment
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _from_number(value: float) -> datetime | None:
    seconds = value / 1000 if abs(value) > MILLISECONDS_FROM else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
