"""Stops a run at its dollars: `CostMeter` adds up what its responses cost, `CostGate` holds the client at a tool.

A client that waits for a hook sends nothing, so a person can be asked before the next request, and a run that must end
does so with its work of the turn complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from reread.billing import Prices
from reread.billing.cost import Rated
from reread.records import Usage

from .events import Event, MessageUsage, TurnResult
from .host import Hook, HookEventInput

_NANO = 10**9
_WAITS = 24 * 3600.0
"""Seconds that the client waits for the person's answer."""


class CostLimit(NamedTuple):
    name: str
    """`the run's limit`, `the day's budget`."""
    nanodollars: int
    spent_before: int = 0
    """What counted towards it before the run began."""


class CostMeter:
    """What a run has cost so far: the client's own total, and for the turn that runs, its responses by our prices."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self._ended = 0
        self._running = 0

    @property
    def nanodollars(self) -> int:
        return self._ended + self._running

    def saw(self, event: Event) -> None:
        if isinstance(event, MessageUsage):
            self._running += self._prices.cost(_rated(event.usage), event.model, datetime.now(UTC)) or 0
        elif isinstance(event, TurnResult):
            told = event.turn_cost_usd
            self._ended += self._running if told is None else int(told * _NANO)
            self._running = 0


def _rated(usage: Usage) -> Rated:
    server = usage.server_tool_use
    return Rated.of(usage, (server.web_search_requests or 0) if server is not None else 0)


class Reached(NamedTuple):
    limit: CostLimit
    nanodollars: int

    @property
    def words(self) -> str:
        """`the day's budget of $10.00 is used up ($10.20)`."""
        return f"{self.limit.name} of {_dollars(self.limit.nanodollars)} is used up ({_dollars(self.nanodollars)})"


def _dollars(nanodollars: int) -> str:
    dollars = Decimal(nanodollars) / _NANO
    return f"${dollars:,.{2 if dollars >= 1 or not nanodollars else 4}f}"


Ask = Callable[[Reached], Awaitable[bool]]
"""Asks whether to go on above a limit."""


class CostGate:
    """Asks once for each limit that is reached; after a yes the run goes on without it."""

    def __init__(self, meter: CostMeter, limits: Sequence[CostLimit], ask: Ask) -> None:
        self._meter = meter
        self._limits = list(limits)
        self._ask = ask
        self._asking = asyncio.Lock()
        self.stopped: Reached | None = None
        """What ended the run."""

    @property
    def hooks(self) -> dict[str, list[Hook]]:
        """None without a limit: a client with hooks must be told of them first."""
        hook = Hook(self._before_more, timeout=_WAITS)
        return {"PreToolUse": [hook], "PostToolUse": [hook]} if self._limits else {}

    def saw(self, event: Event) -> None:
        self._meter.saw(event)

    async def may_go_on(self, *, again: bool = False) -> bool:
        """A no holds until somebody tries `again`."""
        async with self._asking:  # tools that run side by side ask one question
            self.stopped = None if again else self.stopped
            while self.stopped is None and (reached := self._reached()) is not None:
                if await self._ask(reached):
                    self._limits.remove(reached.limit)
                else:
                    self.stopped = reached
        return self.stopped is None

    async def _before_more(self, _: HookEventInput) -> dict[str, Any]:
        if await self.may_go_on():
            return {}
        assert self.stopped is not None  # noqa: S101  `may_go_on` said no
        return {"continue": False, "stopReason": f"Stopped by reread: {self.stopped.words}."}

    def _reached(self) -> Reached | None:
        spent = self._meter.nanodollars
        found = (Reached(limit, limit.spent_before + spent) for limit in self._limits)
        return next((each for each in found if each.nanodollars >= each.limit.nanodollars), None)
