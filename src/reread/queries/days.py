"""Quarters of an hour to the days, weeks and months of a time zone.

All offsets of time zones since 1972 are whole quarters of an hour, so a quarter never lies in two days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo

QUARTER_SECONDS = 900
_QUARTERS_PER_DAY = 96
LAST_QUARTER = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp()) // QUARTER_SECONDS
"""From here on some zones would need the year 10000."""


class Calendar:
    """The local day of every quarter. A day's ends are worked out once; with changed clocks it has 23 or 25 hours."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone
        self._day = date.min
        self._begins = self._ends = 0.0

    def day(self, quarter: int) -> date | None:
        if not 0 <= quarter < LAST_QUARTER:
            return None
        seconds = quarter * QUARTER_SECONDS
        if not self._begins <= seconds < self._ends:
            self._day = datetime.fromtimestamp(seconds, UTC).astimezone(self._zone).date()
            self._begins = self._midnight(self._day)
            self._ends = self._midnight(self._day + timedelta(days=1))
        return self._day

    def stretches(self, days: Iterable[int], name: Callable[[date], str]) -> list[tuple[int, int, str | None]]:
        """The quarters of all local days that some days in UTC are part of, and what their periods are called."""
        found: dict[date, tuple[int, int, str | None]] = {}
        for number in days:
            for quarter in (number * _QUARTERS_PER_DAY, (number + 1) * _QUARTERS_PER_DAY - 1):
                day = self.day(quarter)
                if day is not None and day not in found:
                    found[day] = int(self._begins // QUARTER_SECONDS), int(self._ends // QUARTER_SECONDS), name(day)
        return [found[day] for day in sorted(found)]

    def _midnight(self, day: date) -> float:
        return datetime(day.year, day.month, day.day, tzinfo=self._zone).timestamp()


def _week(day: date) -> str:
    return (day - timedelta(days=day.weekday())).isoformat()


def _month(day: date) -> str:
    return f"{day.year:04}-{day.month:02}"


PERIODS: dict[str, Callable[[date], str]] = {"day": date.isoformat, "week": _week, "month": _month}
"""What a period is called: a day by its date, a week by its Monday."""
