"""Functions of the host that the client calls: before a tool runs, after it ran, when a prompt is sent, ..."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from .events import HookCallback

Callback = Callable[[Any], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None]
"""Gets what the client tells (`tool_name`, `tool_input`, ...); what it returns is the answer, None means "go on"."""


class Hook(Struct, frozen=True):
    """A function, plain or async, that the client calls at an event such as `PreToolUse`."""

    callback: Callback
    matcher: str | None = None
    """Which tools, as in the client's settings; None for all."""
    timeout: float | None = None
    """Seconds after which the client goes on without an answer."""


class Hooks:
    """The hooks of a run by the ids under which the client knows them."""

    def __init__(self, hooks: Mapping[str, Sequence[Hook]]) -> None:
        self._callbacks: dict[str, Callback] = {}
        self._announced = {event: [self._announce(hook) for hook in wanted] for event, wanted in hooks.items()}

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    @property
    def announced(self) -> dict[str, list[dict[str, Any]]]:
        """As `initialize` wants them."""
        return self._announced

    async def answer(self, asked: HookCallback) -> Mapping[str, Any]:
        """What the hook says. Raises whatever it raises, and LookupError where nobody was to be called."""
        if asked.callback not in self._callbacks:
            raise LookupError(f"there is no hook {asked.callback!r}")
        said = self._callbacks[asked.callback](asked.input)
        return (await said if inspect.isawaitable(said) else said) or {}

    def _announce(self, hook: Hook) -> dict[str, Any]:
        id = f"hook-{len(self._callbacks)}"  # noqa: A001
        self._callbacks[id] = hook.callback
        matcher = {"matcher": hook.matcher, "hookCallbackIds": [id]}
        return matcher if hook.timeout is None else {**matcher, "timeout": hook.timeout}
