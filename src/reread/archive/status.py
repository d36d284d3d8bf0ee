"""What a status line needs: today's cost, the burn rate, five-hour windows, budgets.

Imports little: it is drawn every few hundred milliseconds.
"""

from __future__ import annotations

import sqlite3
import time

from reread.index import client_totals

from .budgets import Budget, beginnings_of, read_limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reread.records.client_input import StatusLine


SECONDS = 5 * 3600
QUARTER = 900
_PER_HOUR = 4
_PER_WINDOW = 5 * _PER_HOUR


def told_apart(told: Iterable[int]) -> list[int]:
    """Windows by their beginning in seconds, without those that begin inside another: somebody changed accounts."""
    kept: list[int] = []
    for start in sorted(told):
        if not kept or start // QUARTER >= kept[-1] // QUARTER + _PER_WINDOW:
            kept.append(start)
    return kept


def window_starts(quarters: Iterable[int], told: Sequence[int] = ()) -> dict[int, int]:
    """When the window began that each quarter of an hour lies in, in seconds; they come in the order of time.

    `told` are windows as `told_apart` gives them. A quarter that one begins in is all its own; an estimated window
    ends where a told one begins, and begins no earlier than the one before it ends.
    """
    starts: dict[int, int] = {}
    position, earliest, estimate = 0, 0, -_PER_WINDOW
    for quarter in quarters:
        while position < len(told) and told[position] // QUARTER + _PER_WINDOW <= quarter:
            earliest = told[position] // QUARTER + _PER_WINDOW
            position += 1
        if position < len(told) and told[position] // QUARTER <= quarter:
            starts[quarter] = told[position]
            continue
        if quarter >= estimate + _PER_WINDOW or estimate < earliest:
            estimate = max(quarter - quarter % _PER_HOUR, earliest, estimate + _PER_WINDOW)
        starts[quarter] = estimate * QUARTER
    return starts


def window_end(start: int, told: Sequence[int] = ()) -> int:
    """When a window ends, in seconds; an estimated one at the latest where a told one begins."""
    after = [each for each in told if start < each < start + SECONDS]
    return min([start + SECONDS, *after]) if start not in told else start + SECONDS


def last_window(back: Iterable[tuple[int, int | None, int, int]]) -> list[tuple[int, int | None, int, int]]:
    """Of rows by quarter, newest first, as many as it takes to know when the last window began."""
    found: list[tuple[int, int | None, int, int]] = []
    for row in back:
        if found and found[-1][0] - row[0] >= _PER_WINDOW:
            break
        found.append(row)
    return found


class SpentToday:
    """Nano-dollars; None where nobody knows."""

    __slots__ = ("budget", "hourly", "today")

    def __init__(self, today: int | None = None, hourly: int | None = None, budget: Budget | None = None) -> None:
        self.budget = budget
        """The one of which the largest share is used."""
        self.today = today
        """By the machine's clock. Of sessions that began today it has what the client said, taken in yet or not."""
        self.hourly = hourly
        """In the open five-hour block, from its first request to its last."""


def spent(home: str, line: StatusLine | None, now: int) -> SpentToday:
    """Keeps what the line says where the archive is free to, and tells what the archive has; never raises or waits."""
    try:
        connection = client_totals.glance(home)
    except sqlite3.Error:
        return SpentToday()
    try:
        if line is not None:
            _keep(connection, line, now)
        today = _today(connection, now // 1000)
        return SpentToday(today, _hourly(connection, now // 1000), _budget(connection, home, today, now // 1000))
    except sqlite3.Error:  # no archive of ours, locked as a whole, or damaged: other commands say which
        return SpentToday()
    finally:
        connection.close()


def _keep(connection: sqlite3.Connection, line: StatusLine, now: int) -> None:
    """Where another writes, or nobody may, there will be another status line in a moment."""
    try:
        client_totals.keep(connection, line, client_totals.own_machine(connection), now)
    except sqlite3.OperationalError:
        return


def _today(connection: sqlite3.Connection, now: int) -> int | None:
    today = time.localtime(now)
    midnight = int(time.mktime((today.tm_year, today.tm_mon, today.tm_mday, 0, 0, 0, 0, 0, -1)))
    counted = client_totals.spent_since(connection, midnight // QUARTER)
    ahead = client_totals.not_taken_yet(connection, midnight * 1000)
    return None if counted is None and not ahead else (counted or 0) + ahead


def _budget(connection: sqlite3.Connection, home: str, today: int | None, now: int) -> Budget | None:
    limits = read_limits(home)
    if not limits:
        return None
    starts = beginnings_of(now)
    ahead = max(0, (today or 0) - (client_totals.spent_since(connection, starts["day"] // QUARTER) or 0))
    found = [
        Budget(name, limit, (client_totals.spent_since(connection, starts[name] // QUARTER) or 0) + ahead)
        for name, limit in limits.items()
    ]
    return max(found, key=lambda each: each.share)


def _hourly(connection: sqlite3.Connection, now: int) -> int | None:
    cells = {row[0]: row for row in last_window(client_totals.quarters_back(connection))}
    if not cells:
        return None
    starts = window_starts(sorted(cells), told_apart(client_totals.windows(connection)))
    newest = starts[max(starts)]
    inside = [cells[number] for number, start in starts.items() if start == newest]
    money = sum(nanodollars or 0 for _, nanodollars, _, _ in inside)
    lasted = max(last for *_, last in inside) - min(first for _, _, first, _ in inside)
    is_open = newest <= now < newest + SECONDS
    return money * 3_600_000 // lasted if is_open and money and lasted > 0 else None
