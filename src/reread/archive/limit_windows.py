"""Usage limits of a subscription as a history: how full each window became, whether it was reached, what used it up.

A session that rests repeats old values, so a window is as full as the highest value said of it.
"""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from msgspec import Struct

from reread.index import client_totals
from reread.records.client_input import LIMIT_LENGTHS, UNNAMED_LIMIT
from reread.times import milliseconds, moment

BACK = timedelta(days=30)
SHARES_BY = ("model", "project", "agent")
_SLACK_MS = 5 * 60_000
"""How far two reported ends of one window may differ: notices round them."""
_WEEKLY = "seven_day"


class LimitShare(Struct, frozen=True):
    """What a model, a project or a kind of agent had of the cost of a window."""

    by: str
    key: str | None
    share: float


class LimitWindow(Struct, frozen=True, kw_only=True):
    """One window of a usage limit, as far as the client reported it."""

    name: str
    """`five_hour`, `seven_day` or another name of the client; `usage` where it never said which."""
    resets: datetime | None
    values: tuple[tuple[datetime, float], ...] = ()
    """When each higher percentage was first said."""
    hit: datetime | None = None
    """When it was first said to be reached."""
    used_up_by: tuple[LimitShare, ...] = ()
    """The largest shares of the cost at list prices until it was reached, is now, or was over."""

    @property
    def percent(self) -> float | None:
        return self.values[-1][1] if self.values else None

    @property
    def began(self) -> datetime | None:
        """None for a limit whose length is not known."""
        length = LIMIT_LENGTHS.get(_WEEKLY if self.name.startswith(_WEEKLY) else self.name)
        return self.resets - timedelta(milliseconds=length) if self.resets is not None and length else None

    @property
    def runs_out(self) -> datetime | None:
        """When it is used up at the pace since it began; None if it resets before, or was reached."""
        if self.hit is not None or self.began is None or not self.values or not self.values[-1][1]:
            return None
        at, percent = self.values[-1]
        then = self.began + (at - self.began) * (100 / percent)
        return then if self.resets is not None and then < self.resets else None

    @property
    def scope(self) -> str | None:
        """The model that alone counts for it; None where all do."""
        return self.name.removeprefix(f"{_WEEKLY}_") if self.name.startswith(f"{_WEEKLY}_") else None

    def is_open(self, now: datetime) -> bool:
        return self.resets is not None and self.resets > now


def limit_windows(connection: sqlite3.Connection, since: datetime, until: datetime) -> list[LimitWindow]:
    """The windows of which anything was said in this time, in the order of the first word of each."""
    found: list[_Window] = []
    series = client_totals.limit_series(connection, milliseconds(since) or 0, milliseconds(until) or 0)
    for name, time, percent, resets, is_hit in series:
        window = next((each for each in reversed(found) if each.takes(name, time, resets)), None)
        if window is None and (resets is not None or is_hit):
            window = _Window(name, time, resets)
            found.append(window)
        if window is not None:
            window.add(name, time, percent, is_hit=is_hit or (percent or 0) >= 100)
    return [each.finished() for each in found]


class _Window:
    def __init__(self, name: str, time: int, resets: int | None) -> None:
        self._name, self._resets, self._first = name, resets, time
        self._values: list[tuple[int, float]] = []
        self._hit: int | None = None

    def takes(self, name: str, time: int, resets: int | None) -> bool:
        """Whether a value is of this window. One without an end is of the window of its name that is open then; where
        none ever had an end, of one that began within five hours before."""
        if resets is not None and self._resets is not None:
            is_same = name == self._name or UNNAMED_LIMIT in (name, self._name)
            return is_same and abs(resets - self._resets) <= _SLACK_MS
        end = self._resets or self._first + LIMIT_LENGTHS["five_hour"]
        return name == self._name and self._first <= time < end

    def add(self, name: str, time: int, percent: float | None, *, is_hit: bool) -> None:
        if self._name == UNNAMED_LIMIT:
            self._name = name
        if percent is not None and (not self._values or percent > self._values[-1][1]):
            self._values.append((time, percent))
        if is_hit and self._hit is None:
            self._hit = time

    def finished(self) -> LimitWindow:
        values = [(at, percent) for time, percent in self._values if (at := moment(time)) is not None]
        return LimitWindow(name=self._name, resets=moment(self._resets), values=tuple(values), hit=moment(self._hit))
