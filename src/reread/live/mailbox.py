"""Where events wait for whoever iterates over them: bounded, so that a slow reader slows the client down.

Waiting for room could wait for ever: who asks the client something from inside the loop does not take events meanwhile,
and the answer stands behind them. So the bound is lifted for as long as somebody waits for the client.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from .events import Event

ROOM = 4 << 20
"""Bytes of lines whose events may wait."""


class Delivery(NamedTuple):
    event: Event
    has_open_tasks: bool
    """Whether something worked in the background when this came."""
    weight: int


class Mailbox:
    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._waiting: deque[Delivery] = deque()
        self._weight = 0
        self._waiters_for_the_client = 0
        self._has_ended = False
        self._news = asyncio.Event()
        self._space = asyncio.Event()

    def add(self, events: Sequence[Event], has_open_tasks: bool, weight: int = 0) -> None:
        for event in events:
            self._waiting.append(Delivery(event, has_open_tasks, weight))
            self._weight += weight
            weight = 0  # a line is counted once, whatever it amounts to
        if events:
            self._news.set()

    async def room(self) -> None:
        """Returns when there is room for more."""
        while self._weight > self._room and not self._waiters_for_the_client:
            self._space.clear()
            await self._space.wait()

    async def take(self) -> Delivery | None:
        """The next event; None when there will be no more."""
        while not self._waiting:
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        taken = self._waiting.popleft()
        self._weight -= taken.weight
        self._space.set()
        return taken

    def end(self) -> None:
        self._has_ended = True
        self._news.set()

    @contextmanager
    def unbounded(self) -> Iterator[None]:
        self._waiters_for_the_client += 1
        self._space.set()
        try:
            yield
        finally:
            self._waiters_for_the_client -= 1
