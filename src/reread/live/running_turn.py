"""The turn of one prompt: when it is answered, and what is left of one whose loop was left early."""

from __future__ import annotations

from . import events
from .transport import Delivery

GRACE = 2.0
"""Seconds to wait for the client to take up the result of a background task, if it does at all; 0.1 were seen."""


class RunningTurn:
    """Follows the events of one prompt. Events before the prompt are not part of its answer."""

    def __init__(self, uuid: str) -> None:
        self._uuid = uuid
        self._has_begun = False
        self._is_answered = False
        self._is_working = True
        self._has_open_tasks = False
        self.waits_for_tasks = True
        self._is_news_left = False
        """Whether a background task has ended whose outcome the model has not been told yet."""

    @property
    def _is_idle(self) -> bool:
        return self._is_answered and not self._is_working and not (self._has_open_tasks and self.waits_for_tasks)

    @property
    def is_done(self) -> bool:
        """Whether no more events are expected."""
        return self._is_idle and not self._is_news_left

    @property
    def grace(self) -> float | None:
        """Seconds to wait for the next event; None for no limit."""
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
            # A prompt may be answered within a turn that the background began; 2.1.325 names the prompts.
            self._is_answered = self._is_answered or event.origin is None or self._uuid in event.prompts
            self._is_working = False
        elif is_request(event):
            self._is_working = True
            self._is_news_left = False
        elif event.agent is None and isinstance(event, events.Delta | events.Whole):
            self._is_working = True


def is_request(event: events.Event) -> bool:
    """Whether the client sends a request to the model; only that ends in a result."""
    return isinstance(event, events.Notice) and event.what == "status" and event.text == "requesting"
