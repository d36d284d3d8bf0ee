"""When the answer to a prompt is complete: its result came, and nothing works in the background any more."""

from __future__ import annotations

from . import events
from .mailbox import Delivery

GRACE = 2.0
"""Seconds in which the client takes up what a task in the background came to, if it does at all: 0.1 have been seen."""


class Turn:
    """Follows the events of one prompt. What was there before it is not its answer."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._has_begun = False
        self._is_answered = False
        self._is_working = True
        self._has_open_tasks = False
        self._is_news_left = False
        """Whether the model has not been told yet how a task in the background ended."""

    @property
    def _is_idle(self) -> bool:
        return self._is_answered and not self._is_working and not self._has_open_tasks

    @property
    def is_done(self) -> bool:
        """Nothing more is to be expected."""
        return self._is_idle and not self._is_news_left

    @property
    def grace(self) -> float | None:
        """How long to wait for the next event; None for as long as it takes."""
        return GRACE if self._is_idle else None

    def saw(self, delivery: Delivery) -> None:
        event = delivery.event
        if not self._has_begun:
            self._has_begun = isinstance(event, events.Prompt) and event.uuid == self._uuid
            return
        if self._has_open_tasks and not delivery.has_open_tasks:
            self._is_news_left = True
        self._has_open_tasks = delivery.has_open_tasks
        if isinstance(event, events.TurnResult):
            self._is_answered = self._is_answered or event.origin is None
            self._is_working = False
        elif _is_request(event):
            self._is_working = True
            self._is_news_left = False
        elif event.agent is None and isinstance(event, events.Delta | events.Whole):
            self._is_working = True


def _is_request(event: events.Event) -> bool:
    """Whether the client asks the model; only that ends in a result."""
    return isinstance(event, events.Notice) and event.what == "status" and event.text == "requesting"
