"""How much of the limits is used, as status lines told: nobody else knows."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import NamedTuple

from reread.store import said


class Told(NamedTuple):
    """What the newest status line said of a window that is still open."""

    percent: float
    resets: datetime
    at: datetime


class Limits(NamedTuple):
    """Each None where no status line told of a window that is open now."""

    five_hours: Told | None = None
    seven_days: Told | None = None


def limits(connection: sqlite3.Connection, now: datetime) -> Limits:
    milliseconds = int(now.timestamp() * 1000)
    rows = said.limits(connection, milliseconds)
    return Limits(*(_newest(rows, column, milliseconds) for column in (1, 3)))


def _newest(rows: list[tuple[float | None, ...]], column: int, now: int) -> Told | None:
    for row in rows:
        time, percent, resets = row[0], row[column], row[column + 1]
        if time is not None and percent is not None and resets is not None and resets > now:
            return Told(percent, _moment(resets), _moment(time))
    return None


def _moment(milliseconds: float) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
