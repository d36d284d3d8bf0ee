"""What a run is doing, on one line: clock, tokens, context, model, mode, what waits, what it costs."""

from __future__ import annotations

from reread.billing.cost import Rated
from reread.live.events import (
    Event,
    MessageUsage,
    Notice,
    Permission,
    PermissionAnswered,
    PermissionVoid,
    SessionStarted,
)

from .numbers import costs, duration, nano, some, tokens
from .text import cells, joined, one_line, shorten


class RunStatus:
    """Follows the events of a run. It knows no clock: whoever asks for the line says how long the turn has lasted."""

    def __init__(self) -> None:
        self._model = self._mode = ""
        self._read = self._written = self._context = 0
        self._asked: set[str] = set()

    def begin_turn(self) -> None:
        self._read = self._written = 0
        self._asked.clear()

    def saw(self, event: Event) -> None:
        if isinstance(event, SessionStarted):
            self._model, self._mode = event.model or self._model, event.permission_mode or self._mode
        elif isinstance(event, MessageUsage):
            used = Rated.of(event.usage, 0)
            self._read += used.prompt
            self._written += used.output
            self._context = used.prompt + used.output if event.agent is None else self._context
        elif isinstance(event, Permission):
            self._asked.add(event.request_id)
        elif isinstance(event, PermissionAnswered | PermissionVoid):
            self._asked.discard(event.request_id)
        elif isinstance(event, Notice) and event.what == "compacted":
            self._context = 0

    def line(self, seconds: float, width: int, *, turn: int = 0, run: int = 0, queued: int = 0) -> str:
        """`turn` and `run` are nano-dollars. A narrow line has no model, and then no tokens of the turn."""
        model = one_line(self._model)
        used = f"{tokens(self._read)} in, {tokens(self._written)} out" if self._read else ""
        facts = [
            duration(seconds),
            used,
            f"context {tokens(self._context)}" if self._context else "",
            model,
            one_line(self._mode) if self._mode != "default" else "",
            some(len(self._asked), "question"),
            f"{queued} queued" if queued else "",
            costs(nano(turn), nano(run)),
        ]
        for spared in (model, used):
            if cells(joined(facts)) >= width:
                facts.remove(spared)
        return shorten(joined(facts), width - 1)
