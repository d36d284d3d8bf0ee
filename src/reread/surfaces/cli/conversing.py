"""A conversation with the client: shows what happens, and has its questions answered, one at a time.

While a question stands on the screen nothing else is written there; it comes when the question is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from reread.blocks.diffs import is_edit
from reread.errors import ClientError, ClientRefused
from reread.live.client import Client
from reread.live.errands import Errands
from reread.live.events import (
    Event,
    Permission,
    PermissionAnswered,
    PermissionVoid,
    Prompt,
    TurnResult,
)
from reread.live.outgoing import Decision, Deny
from reread.live.policies import Policy, by_policy

from .showing import Showing
from .telling import tell

UNASKED = "Permission was denied: there is no terminal to ask at."


class Answerer(Protocol):
    """Whoever decides: a person with keys, a program with lines."""

    async def decide(self, asked: Permission) -> Decision: ...


class Conversation:
    """One run of the client, turn by turn."""

    def __init__(self, client: Client, showing: Showing, policy: Policy, answerer: Answerer | None) -> None:
        self._client = client
        self._showing = showing
        self._policy = policy
        self._answerer = answerer
        self._waiting: deque[Permission] = deque()
        self._open: Permission | None = None
        self._asking: asyncio.Task[None] | None = None
        self._held: list[Event] = []
        self._has_told = False
        self._is_busy = False
        self._presses = 0
        self._errands = Errands()
        self.session: str | None = None
        self.result: TurnResult | None = None

    async def turn(self, text: str, images: Sequence[Path] = (), *, is_typed: bool = False) -> None:
        """One prompt until it is done. `is_typed` says that the person sees it already."""
        self._is_busy, self._presses, self.result = True, 0, None
        try:
            async for event in self._client.turn(text, images):
                if not (is_typed and isinstance(event, Prompt) and event.agent is None):
                    self._saw(event)
        finally:
            self._is_busy = False
            await self._stop_asking()
            self._showing.end()

    def press(self, main: asyncio.Task[int]) -> None:
        """Ctrl-C: the first one of a turn interrupts it, the next one ends the run."""
        self._presses += 1
        if self._presses == 1 and self._is_busy:
            self._run(self._interrupt())
        else:
            main.cancel()

    async def _interrupt(self) -> None:
        with contextlib.suppress(ClientRefused):  # it has nothing to stop
            await self._client.interrupt()

    def _saw(self, event: Event) -> None:
        self.session = event.session or self.session
        if isinstance(event, TurnResult):
            self.result = event
        elif isinstance(event, PermissionVoid):
            self._void(event)
            return
        if isinstance(event, Permission):
            self._asked(event)
        elif self._is_shown(event):
            self._show(event)

    def _is_shown(self, event: Event) -> bool:
        """What was decided is on the screen already, where a person decided it."""
        if self._showing.is_json or not isinstance(event, PermissionAnswered):
            return True
        return event.decision != "allow" and (self._answerer is None or self._policy != "ask")

    def _show(self, event: Event) -> None:
        if self._open is not None and not self._showing.is_json:
            self._held.append(event)
        else:
            self._showing.show([event])

    # Questions

    def _asked(self, asked: Permission) -> None:
        if self._showing.is_json:
            self._showing.show([asked])
        decision = self._unasked(asked)
        if decision is not None:
            self._run(self._client.decide(asked, decision))
            return
        self._waiting.append(asked)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_each())

    def _unasked(self, asked: Permission) -> Decision | None:
        """The decision that needs nobody, or that there is nobody to make."""
        decision = by_policy(self._policy, asked)
        if decision is not None or self._answerer is not None:
            return decision
        if not self._has_told:
            self._has_told = True
            what = "a question" if asked.is_question else asked.tool
            hint = "answer at a terminal, or choose with --permission allow|deny"
            tell(f"{what} was denied, because nobody could be asked; {hint}")
        return Deny(reason=UNASKED)

    async def _ask_each(self) -> None:
        assert self._answerer is not None  # noqa: S101  else the policy has decided
        while self._waiting:
            self._open = asked = self._waiting.popleft()
            try:
                decision = await self._answerer.decide(asked)
                await self._client.decide(asked, decision)
            except ClientError:
                self._waiting.clear()  # it has ended; whoever iterates hears of it
            finally:
                self._open = None
                if is_edit(asked.tool):
                    self._showing.screen.saw_diff(asked.id)
                held, self._held = self._held, []
                self._showing.show(held)

    def _void(self, event: PermissionVoid) -> None:
        """The question need not be answered any more: it goes from the screen, or is never put."""
        if self._showing.is_json:
            self._showing.show([event])
        is_open = self._open is not None and self._open.request_id == event.request_id
        if not is_open:
            self._waiting = deque(asked for asked in self._waiting if asked.request_id != event.request_id)
        elif self._asking is not None:
            self._run(self._ask_on(self._asking))

    async def _ask_on(self, stopped: asyncio.Task[None]) -> None:
        """Leaves the question that is open, and puts those that still wait."""
        stopped.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stopped
        if self._waiting:
            self._asking = asyncio.create_task(self._ask_each())

    async def _stop_asking(self) -> None:
        self._waiting.clear()
        if self._asking is not None and not self._asking.done():
            await self._ask_on(self._asking)

    def _run(self, errand: Coroutine[Any, Any, None]) -> None:
        """Beside the loop over the events, which must not wait for an answer of the client."""
        self._errands.send(_quietly(errand))


async def _quietly(errand: Coroutine[Any, Any, None]) -> None:
    """A client that has ended needs no answer; whoever iterates over the events hears of it."""
    with contextlib.suppress(ClientError):
        await errand
