"""Ctrl-C in an event loop: told to whoever runs the conversation, or left to what has the terminal for a while."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


class Interrupts:
    """What Ctrl-C does while a loop runs."""

    def __init__(self) -> None:
        self._callback: Callable[[], None] = _ignore
        self._loop = asyncio.get_running_loop()
        self._is_deaf = False

    @contextlib.contextmanager
    def caught(self, callback: Callable[[], None]) -> Iterator[None]:
        """Calls back for every one, inside the loop."""
        self._callback = callback
        before = signal.getsignal(signal.SIGINT)
        # Not the loop's own way, which Windows does not have. The loop wakes up for any signal.
        signal.signal(signal.SIGINT, self._came)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _came(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  what `signal` calls
        if not self._is_deaf:
            self._loop.call_soon_threadsafe(self._callback)

    @contextlib.contextmanager
    def left_alone(self) -> Iterator[None]:
        """While another program has the terminal: Ctrl-C is meant for that one."""
        self._is_deaf = True
        try:
            yield
        finally:
            self._is_deaf = False

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """As a KeyboardInterrupt, while the loop stands still for a line to be typed."""
        before: Any = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _ignore() -> None:
    """Before anybody wants to know."""
