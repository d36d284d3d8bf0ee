"""Times as the tables have them, milliseconds since 1970, made moments."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(milliseconds: int | None) -> datetime | None:
    """By hand, because Windows takes no seconds before 1970."""
    return None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)
