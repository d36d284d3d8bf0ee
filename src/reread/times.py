"""Converts between times as rows have them, milliseconds since 1970 in UTC, and datetimes."""

from datetime import UTC, datetime, timedelta, tzinfo

from .errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST, LATEST = -62135596800000, 253402300799999


def moment(milliseconds: int | None) -> datetime | None:
    """Calculated by hand, because Windows accepts no times before 1970."""
    return None if milliseconds is None else _EPOCH + timedelta(milliseconds=milliseconds)


def in_zone(time: datetime, zone: tzinfo | None) -> datetime:
    """The time in a zone, by default that of this machine; a time without a zone is taken as local time.

    Windows knows local times from 1970 to 3000; a time outside keeps its zone, or is taken as UTC if it has none.
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


def zone_called(name: str | None) -> tzinfo | None:
    if name is None:
        return None
    if name.upper() in ("UTC", "Z"):  # works without a time zone database
        return UTC
    from zoneinfo import ZoneInfo  # takes 6 ms to import and is rarely needed

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"unknown time zone {name!r}; try one like Europe/Berlin or UTC") from error
