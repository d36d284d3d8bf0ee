"""Times as rows have them, milliseconds since 1970 in UTC, and as moments."""

from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST, LATEST = -62135596800000, 253402300799999


def moment(milliseconds: int | None) -> datetime | None:
    """By hand, because Windows takes no seconds before 1970."""
    return None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)


def in_zone(time: datetime, zone: tzinfo | None) -> datetime:
    """As the clocks of a zone show it, by default those of this machine; a time without a zone is theirs already.

    Those of Windows begin in 1970 and end in 3000; what lies beyond is in UTC.
    """
    try:
        return time.astimezone(zone)
    except OSError:
        return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def is_moment(milliseconds: int) -> bool:
    """Whether a datetime can hold it: from the year 1 to 9999."""
    return EARLIEST <= milliseconds <= LATEST


def milliseconds(time: datetime | None) -> int | None:
    return None if time is None else int(time.timestamp() * 1000)
