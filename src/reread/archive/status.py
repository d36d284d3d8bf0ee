"""What a status line needs: today's cost, the burn rate, five-hour windows, budgets.

Imports little: it is drawn every few hundred milliseconds.
"""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import chain

from reread.index import client_totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reread.records.client_input import StatusLine


FILE = "budgets.json"
PERIODS = ("day", "week", "month")
NEAR = 0.8
"""The share from which a budget is said to be near its end."""
LARGEST = 10**9
"""Dollars."""
_NANO = 10**9


class Budget:
    """One period: its limit and what was spent since it began, in nano-dollars."""

    __slots__ = ("limit", "period", "spent")

    def __init__(self, period: str, limit: int, spent: int) -> None:
        self.period, self.limit, self.spent = period, limit, spent

    @property
    def share(self) -> float:
        return self.spent / self.limit

    @property
    def state(self) -> str:
        return "over" if self.spent >= self.limit else "near" if self.share >= NEAR else "ok"


def read_limits(home: str) -> dict[str, int]:
    """Nano-dollars by period; a file that holds no budgets has none."""
    path = os.path.join(home, FILE)  # noqa: PTH118  pathlib takes longer than a status line may
    if not os.path.exists(path):  # noqa: PTH110
        return {}
    import json

    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123  the same
            kept = json.load(file)
    except (OSError, ValueError):
        return {}
    known = kept if isinstance(kept, dict) else {}
    return {name: known[name] for name in PERIODS if isinstance(known.get(name), int) and known[name] > 0}


def write_limits(home: str, limits: Mapping[str, int]) -> None:
    """Whole or not at all. Raises OSError."""
    import json

    os.makedirs(home, mode=0o700, exist_ok=True)  # noqa: PTH103  the same
    path = os.path.join(home, FILE)  # noqa: PTH118
    part = f"{path}.{os.getpid()}.part"
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        json.dump({name: limits[name] for name in PERIODS if name in limits}, file)
    os.replace(part, path)  # noqa: PTH105


def dollars_to_nano(text: str) -> int:
    """Raises ValueError where it is no amount that could be a budget."""
    from decimal import Decimal, InvalidOperation

    try:
        amount = Decimal(text.strip().removeprefix("$").replace(",", ""))
    except InvalidOperation:
        raise ValueError(text) from None
    if not amount.is_finite() or not 0 < amount <= LARGEST:
        raise ValueError(text)
    return max(1, int(amount * _NANO))


def beginnings_of(now: int) -> dict[str, int]:
    """When the running day, week (Monday) and month began, in seconds, by the machine's clock."""
    today = time.localtime(now)

    def midnight(year: int, month: int, day: int) -> int:
        return int(time.mktime((year, month, day, 0, 0, 0, 0, 0, -1)))

    return {
        "day": midnight(today.tm_year, today.tm_mon, today.tm_mday),
        "week": midnight(today.tm_year, today.tm_mon, today.tm_mday - today.tm_wday),
        "month": midnight(today.tm_year, today.tm_mon, 1),
    }


def month_range(days: Sequence[int], day_of_month: int, days_in_month: int) -> tuple[int, int]:
    """What the month will come to, from the sums of the last days, today's last: at the pace of a week, of four weeks
    and of the month so far, the least and the most. Nobody knows the future; the paces differ, and that is told."""
    this_month = days[-day_of_month:]
    spent, left = sum(this_month), days_in_month - day_of_month
    before = days[:-1]  # today is not over
    paces = [sum(part) / len(part) for part in (before[-7:], before[-28:], this_month[:-1]) if part]
    paces = paces or [float(spent)]
    return spent + int(min(paces) * left), spent + int(max(paces) * left)


DAYS_BACK = 62
"""That a report of spending needs: the month before this one to the same day."""


class Spending:
    """Day, week and month so far, each beside the same stretch before it, and what the month will come to."""

    __slots__ = ("before", "budgets", "high", "low", "spent")

    def __init__(
        self, spent: dict[str, int], before: dict[str, int], limits: Mapping[str, int], low: int, high: int
    ) -> None:
        self.spent, self.before, self.low, self.high = spent, before, low, high
        """Nano-dollars, by period."""
        self.budgets = [Budget(name, limits[name], spent[name]) for name in PERIODS if name in limits]

    @property
    def warnings(self) -> list[Budget]:
        """Those that are near their end or beyond it."""
        return [each for each in self.budgets if each.state != "ok"]


def spending(by_day: Mapping[str, int], today: str, limits: Mapping[str, int]) -> Spending:
    """From sums by day (`2026-11-16`) of the last `DAYS_BACK` days."""
    from calendar import monthrange
    from datetime import date, timedelta

    now = date.fromisoformat(today)

    def total(since: date, until: date) -> int:
        length = (until - since).days + 1
        return sum(by_day.get((since + timedelta(days=number)).isoformat(), 0) for number in range(length))

    week, month = now - timedelta(days=now.weekday()), now.replace(day=1)
    last_month = (month - timedelta(days=1)).replace(day=1)
    same_day = min(now.day, monthrange(last_month.year, last_month.month)[1])
    days = [total(day, day) for day in (now - timedelta(days=number) for number in range(DAYS_BACK - 1, -1, -1))]
    low, high = month_range(days, now.day, monthrange(now.year, now.month)[1])
    day, seven = timedelta(days=1), timedelta(days=7)
    return Spending(
        {"day": total(now, now), "week": total(week, now), "month": total(month, now)},
        {
            "day": total(now - day, now - day),
            "week": total(week - seven, now - seven),
            "month": total(last_month, last_month.replace(day=same_day)),
        },
        limits,
        low,
        high,
    )


SECONDS = 5 * 3600
QUARTER = 900
_PER_HOUR = 4
_PER_WINDOW = 5 * _PER_HOUR


def separate_windows(windows: Iterable[int]) -> list[int]:
    """Windows by their beginning in seconds, without those that begin inside another: somebody changed accounts."""
    kept: list[int] = []
    for start in sorted(windows):
        if not kept or start // QUARTER >= kept[-1] // QUARTER + _PER_WINDOW:
            kept.append(start)
    return kept


def window_starts(quarters: Iterable[int], windows: Sequence[int] = ()) -> dict[int, int]:
    """When the window began that each quarter of an hour lies in, in seconds; they come in the order of time.

    `told` are windows as `separate_windows` gives them. A quarter that one begins in is all its own; an estimated
    window ends where a reported one begins, and begins no earlier than the one before it ends.
    """
    starts: dict[int, int] = {}
    position, earliest, estimate = 0, 0, -_PER_WINDOW
    for quarter in quarters:
        while position < len(windows) and windows[position] // QUARTER + _PER_WINDOW <= quarter:
            earliest = windows[position] // QUARTER + _PER_WINDOW
            position += 1
        if position < len(windows) and windows[position] // QUARTER <= quarter:
            starts[quarter] = windows[position]
            continue
        if quarter >= estimate + _PER_WINDOW or estimate < earliest:
            estimate = max(quarter - quarter % _PER_HOUR, earliest, estimate + _PER_WINDOW)
        starts[quarter] = estimate * QUARTER
    return starts


def window_end(start: int, windows: Sequence[int] = ()) -> int:
    """When a window ends, in seconds; an estimated one at the latest where a told one begins."""
    after = [each for each in windows if start < each < start + SECONDS]
    return min([start + SECONDS, *after]) if start not in windows else start + SECONDS


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
        """By the machine's clock. Of sessions that began today it has what the client said, imported yet or not."""
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
    ahead = client_totals.not_imported_yet(connection, midnight * 1000)
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
    back = client_totals.quarters_back(connection)
    last = next(back, None)
    if last is None or (last[0] + 1) * QUARTER + SECONDS <= now:
        return None  # no window is open; where the last one began may be a year of quarters back
    cells = {row[0]: row for row in last_window(chain([last], back))}
    starts = window_starts(sorted(cells), separate_windows(client_totals.windows(connection)))
    newest = starts[max(starts)]
    inside = [cells[number] for number, start in starts.items() if start == newest]
    money = sum(nanodollars or 0 for _, nanodollars, _, _ in inside)
    lasted = max(last for *_, last in inside) - min(first for _, _, first, _ in inside)
    is_open = newest <= now < newest + SECONDS
    return money * 3_600_000 // lasted if is_open and money and lasted > 0 else None
