"""The figures of a status line: what was spent today, and how fast. Taken from sums that the last sync made."""

from __future__ import annotations

import sqlite3
import time

from reread.store import glance, said

from .budgets import Budget, beginnings_of, read_limits
from .windows import QUARTER, SECONDS, last_window, told_apart, window_starts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.records.statusline import StatusLine


class Spent:
    """Nano-dollars; None where nobody knows."""

    __slots__ = ("budget", "hourly", "today")

    def __init__(self, today: int | None = None, hourly: int | None = None, budget: Budget | None = None) -> None:
        self.budget = budget
        """The one of which the largest share is used."""
        self.today = today
        """By the machine's clock. Of sessions that began today it has what the client said, taken in yet or not."""
        self.hourly = hourly
        """In the open five-hour block, from its first request to its last."""


def spent(home: str, line: StatusLine | None, now: int) -> Spent:
    """Keeps what the line says where the archive is free to, and tells what the archive has; never raises or waits."""
    try:
        connection = glance.glance(home)
    except sqlite3.Error:
        return Spent()
    try:
        if line is not None:
            _keep(connection, line, now)
        today = _today(connection, now // 1000)
        return Spent(today, _hourly(connection, now // 1000), _budget(connection, home, today, now // 1000))
    except sqlite3.Error:  # no archive of ours, locked as a whole, or damaged: other commands say which
        return Spent()
    finally:
        connection.close()


def _keep(connection: sqlite3.Connection, line: StatusLine, now: int) -> None:
    """Where another writes, or nobody may, there will be another status line in a moment."""
    try:
        said.keep(connection, line, glance.own_machine(connection), now)
    except sqlite3.OperationalError:
        return


def _today(connection: sqlite3.Connection, now: int) -> int | None:
    today = time.localtime(now)
    midnight = int(time.mktime((today.tm_year, today.tm_mon, today.tm_mday, 0, 0, 0, 0, 0, -1)))
    counted = glance.spent_since(connection, midnight // QUARTER)
    ahead = glance.not_taken_yet(connection, midnight * 1000)
    return None if counted is None and not ahead else (counted or 0) + ahead


def _budget(connection: sqlite3.Connection, home: str, today: int | None, now: int) -> Budget | None:
    limits = read_limits(home)
    if not limits:
        return None
    starts = beginnings_of(now)
    ahead = max(0, (today or 0) - (glance.spent_since(connection, starts["day"] // QUARTER) or 0))
    found = [
        Budget(name, limit, (glance.spent_since(connection, starts[name] // QUARTER) or 0) + ahead)
        for name, limit in limits.items()
    ]
    return max(found, key=lambda each: each.share)


def _hourly(connection: sqlite3.Connection, now: int) -> int | None:
    cells = {row[0]: row for row in last_window(glance.quarters_back(connection))}
    if not cells:
        return None
    starts = window_starts(sorted(cells), told_apart(said.windows(connection)))
    newest = starts[max(starts)]
    inside = [cells[number] for number, start in starts.items() if start == newest]
    money = sum(nanodollars or 0 for _, nanodollars, _, _ in inside)
    lasted = max(last for *_, last in inside) - min(first for _, _, first, _ in inside)
    is_open = newest <= now < newest + SECONDS
    return money * 3_600_000 // lasted if is_open and money and lasted > 0 else None
