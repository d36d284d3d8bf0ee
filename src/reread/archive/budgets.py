"""Budgets: how much may be spent in a day, a week, a month; how much was, and what the month will come to.

A plain file in the archive's folder holds them, since a status line reads it every few hundred milliseconds.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
