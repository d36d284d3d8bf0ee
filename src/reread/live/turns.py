"""When the answer to a prompt is complete: its result came, and nothing works in the background any more."""

from __future__ import annotations

from . import events
from .mailbox import Delivery

GRACE = 2.0
"""Seconds in which the client takes up what a task in the background came to, if it does at all."""


class Turn:
    """Follows the events of one prompt. What was there before it is not its answer."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._has_begun = False
        self._is_answered = False
        self._is_working = True
        self._has_open_tasks = False
        self._is_late = False
        """A task was open at the last result, so another may follow."""

    @property
    def is_done(self) -> bool:
        """Nothing more is to be expected: the last result came when no task was open."""
        return self._is_answered and not self._is_working and not self._has_open_tasks and not self._is_late

    @property
    def grace(self) -> float | None:
        """How long to wait for the next event; None for as long as it takes."""
        return GRACE if self._is_answered and not self._is_working and not self._has_open_tasks else None

    def saw(self, delivery: Delivery) -> None:
        event = delivery.event
        if not self._has_begun:
            self._has_begun = isinstance(event, events.Prompt) and event.uuid == self._uuid
            return
        self._has_open_tasks = delivery.has_open_tasks
        if isinstance(event, events.TurnResult):
            self._is_answered = self._is_answered or event.origin is None
            self._is_working = False
            self._is_late = delivery.has_open_tasks
        elif _is_work(event):
            self._is_working = True


def _is_work(event: events.Event) -> bool:
    """Whether the client asks the model: only that ends in a result."""
    if isinstance(event, events.Notice):
        return event.what == "status" and event.text == "requesting"
    return event.agent is None and isinstance(event, events.Delta | events.Whole)
