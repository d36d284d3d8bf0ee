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
    def caught(self, callback: Callable[[], None], ended: Callable[[], None]) -> Iterator[None]:
        """Calls back for every one, inside the loop; `ended` when somebody asks the process to end."""
        self._callback = callback
        # Not the loop's own way, which Windows does not have. The loop wakes up for what another thread says.
        before = [
            (signal.SIGINT, signal.signal(signal.SIGINT, self._came)),
            (signal.SIGTERM, signal.signal(signal.SIGTERM, lambda *_: self._soon(ended))),
        ]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _came(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  what `signal` calls
        if not self._is_deaf:
            self._soon(self._callback)

    def _soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(callback)

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
