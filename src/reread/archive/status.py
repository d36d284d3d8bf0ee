"""What a status line needs: today's cost, the burn rate, five-hour windows, budgets.

Imports little, because the status line is drawn every few hundred milliseconds.
"""

from __future__ import annotations

import os
import sqlite3
import time
from itertools import chain

from reread.errors import BadInput
from reread.home import make_home
from reread.index import client_totals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reread.records.client_input import StatusLine


FILE = "budgets.json"
PERIODS = ("day", "week", "month")
NEAR = 0.8
"""The share used from which a budget counts as nearly spent."""
LARGEST = 10**9
"""The largest budget, in dollars."""
_NANO = 10**9


class Budget:
    """A period's limit and what was spent since it began, in nano-dollars."""

    __slots__ = ("limit", "period", "spent")

    def __init__(self, period: str, limit: int, spent: int) -> None:
        self.period, self.limit, self.spent = period, limit, spent

    @property
    def name(self) -> str:
        return f"the {self.period}'s budget"

    @property
    def share(self) -> float:
        return self.spent / self.limit

    @property
    def state(self) -> str:
        return "over" if self.spent >= self.limit else "near" if self.share >= NEAR else "ok"


def read_limits(home: str) -> dict[str, int]:
    """The limits in nano-dollars by period; empty if the file is missing or invalid."""
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
    amounts = {name: amount for name in PERIODS if type(amount := known.get(name)) is int}
    return {name: amount for name, amount in amounts.items() if 0 < amount <= LARGEST * _NANO}


def write_limits(home: str, limits: Mapping[str, int]) -> None:
    """Writes the file completely or not at all. Raises OSError."""
    import json
    from pathlib import Path  # a status line goes without

    make_home(Path(home))
    path = os.path.join(home, FILE)  # noqa: PTH118
    part = f"{path}.{os.getpid()}.part"
    with os.fdopen(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="ascii") as file:
        json.dump({name: limits[name] for name in PERIODS if name in limits}, file)
    os.replace(part, path)  # noqa: PTH105


def dollars_to_nano(text: str) -> int:
    """Raises BadInput for what is not a possible budget."""
    import re
    from decimal import Decimal, InvalidOperation

    written = text.strip().removeprefix("$")
    is_grouped = re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d*)?", written)
    try:
        amount = Decimal(written.replace(",", "") if is_grouped else written)  # `1,50` is not 150
    except InvalidOperation:
        amount = Decimal(0)
    if not amount.is_finite() or not 0 < amount <= LARGEST:
        raise BadInput(f"{text[:40]!r} is not an amount in dollars")
    return max(1, int(amount * _NANO))


def beginnings_of(now: int) -> dict[str, int]:
    """When the current day, week (Monday) and month began, in seconds, by the machine's clock."""
    today = time.localtime(now)

    def midnight(year: int, month: int, day: int) -> int:
        return int(time.mktime((year, month, day, 0, 0, 0, 0, 0, -1)))

    return {
        "day": midnight(today.tm_year, today.tm_mon, today.tm_mday),
        "week": midnight(today.tm_year, today.tm_mon, today.tm_mday - today.tm_wday),
        "month": midnight(today.tm_year, today.tm_mon, 1),
    }


def month_range(days: Sequence[int], day_of_month: int, days_in_month: int) -> tuple[int, int]:
    """The lowest and highest estimate of the month's total, at the pace of the last week, of the last four weeks and of
    the month so far. `days` has the sums of the last days, today's last."""
    this_month = days[-day_of_month:]
    spent, left = sum(this_month), days_in_month - day_of_month
    before = days[:-1]  # today is not over
    paces = [sum(part) / len(part) for part in (before[-7:], before[-28:], this_month[:-1]) if part]
    return spent + int(min(paces) * left), spent + int(max(paces) * left)


DAYS_BACK = 62
"""How many days a report of spending needs: back to the beginning of last month."""


class Spending:
    """Spending of the day, week and month so far, of the same part of the periods before, and the month's estimate."""

    __slots__ = ("before", "budgets", "high", "low", "spent")

    def __init__(
        self, spent: dict[str, int], before: dict[str, int], limits: Mapping[str, int], low: int, high: int
    ) -> None:
        self.spent, self.before, self.low, self.high = spent, before, low, high
        """All in nano-dollars; the first two by period."""
        self.budgets = [Budget(name, limits[name], spent[name]) for name in PERIODS if name in limits]

    @property
    def warnings(self) -> list[Budget]:
        """The budgets that are nearly or completely spent."""
        return [each for each in self.budgets if each.state != "ok"]


def spending(by_day: Mapping[str, int], today: str, limits: Mapping[str, int]) -> Spending:
    """Computed from the sums by day (`2026-11-16`) of the last `DAYS_BACK` days."""
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
    """Windows by their start in seconds, without those that start inside another, as after a change of accounts."""
    kept: list[int] = []
    for start in sorted(windows):
        if not kept or start // QUARTER >= kept[-1] // QUARTER + _PER_WINDOW:
            kept.append(start)
    return kept


def window_starts(quarters: Iterable[int], windows: Sequence[int] = ()) -> dict[int, int]:
    """The start in seconds of the window that each quarter of an hour is in; `quarters` must be in the order of time.

    `windows` has reported windows as `separate_windows` gives them. The quarter in which one starts belongs to it as a
    whole. An estimated window ends where a reported one starts, and starts no earlier than the previous one ends.
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
    """When a window ends, in seconds; an estimated one ends no later than the next reported one starts."""
    after = [each for each in windows if start < each < start + SECONDS]
    return min([start + SECONDS, *after]) if start not in windows else start + SECONDS


def last_window(back: Iterable[tuple[int, int | None, int, int]]) -> list[tuple[int, int | None, int, int]]:
    """Takes as many rows by quarter, newest first, as are needed to know when the last window began."""
    found: list[tuple[int, int | None, int, int]] = []
    for row in back:
        if found and found[-1][0] - row[0] >= _PER_WINDOW:
            break
        found.append(row)
    return found


class SpentToday:
    """What a status line shows, in nano-dollars; None for what is unknown."""

    __slots__ = ("budget", "hourly", "today")

    def __init__(self, today: int | None = None, hourly: int | None = None, budget: Budget | None = None) -> None:
        self.budget = budget
        """The budget of which the largest share is used."""
        self.today = today
        """By the machine's clock. For sessions that began today it includes what the client reported, even if they are
        not imported yet."""
        self.hourly = hourly
        """Per hour in the open five-hour block, from its first request to its last."""


def spent(home: str, line: StatusLine | None, now: int) -> SpentToday:
    """Stores what the status line reports, if the archive can be written, and returns what was spent. Never raises
    and never waits."""
    try:
        connection = client_totals.glance(home)
    except sqlite3.Error:
        return SpentToday()
    try:
        if line is not None:
            _keep(connection, line, now)
        today = _today(connection, now // 1000)
        return SpentToday(today, _hourly(connection, now // 1000), _budget(connection, home, today, now // 1000))
    except sqlite3.Error:  # not one of our archives, locked as a whole, or damaged: other commands report which
        return SpentToday()
    finally:
        connection.close()


def _keep(connection: sqlite3.Connection, line: StatusLine, now: int) -> None:
    """Does nothing if another process is writing or the archive is read-only: the next status line comes soon."""
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
    return max(_budgets(connection, read_limits(home), today, now), key=lambda each: each.share, default=None)


def _budgets(connection: sqlite3.Connection, limits: Mapping[str, int], today: int | None, now: int) -> list[Budget]:
    starts = beginnings_of(now)
    ahead = max(0, (today or 0) - (client_totals.spent_since(connection, starts["day"] // QUARTER) or 0))
    return [
        Budget(name, limit, (client_totals.spent_since(connection, starts[name] // QUARTER) or 0) + ahead)
        for name, limit in limits.items()
    ]


def budgets(home: str, now: int) -> list[Budget]:
    """All budgets, with what was spent as of the last sync. An archive that cannot be read has spent nothing."""
    limits = read_limits(home)
    if not limits:
        return []
    try:
        connection = client_totals.glance(home)
    except sqlite3.Error:
        return [Budget(name, limit, 0) for name, limit in limits.items()]
    try:
        return _budgets(connection, limits, _today(connection, now // 1000), now // 1000)
    except sqlite3.Error:
        return [Budget(name, limit, 0) for name, limit in limits.items()]
    finally:
        connection.close()


def _hourly(connection: sqlite3.Connection, now: int) -> int | None:
    back = client_totals.quarters_back(connection)
    last = next(back, None)
    if last is None or (last[0] + 1) * QUARTER + SECONDS <= now:
        return None  # no window is open, and finding where the last one began could mean reading a year of quarters
    cells = {row[0]: row for row in last_window(chain([last], back))}
    starts = window_starts(sorted(cells), separate_windows(client_totals.windows(connection)))
    newest = starts[max(starts)]
    inside = [cells[number] for number, start in starts.items() if start == newest]
    money = sum(nanodollars or 0 for _, nanodollars, _, _ in inside)
    lasted = max(last for *_, last in inside) - min(first for _, _, first, _ in inside)
    is_open = newest <= now < newest + SECONDS
    return money * 3_600_000 // lasted if is_open and money and lasted > 0 else None
