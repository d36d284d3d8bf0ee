"""Answers of another program: JSON lines on standard input, for `reread run --jsonl`.

{"request_id": "...", "behavior": "allow"}
{"request_id": "...", "behavior": "allow", "updatedInput": {...}, "updatedPermissions": [...]}
{"request_id": "...", "behavior": "deny", "message": "...", "interrupt": true}
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import threading
from typing import Any

from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny

from .stderr import tell

NOBODY = "Nobody is there to answer: standard input has ended."


class ProgramAnswerer:
    """Who answers by lines instead of keys."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Future[Decision]] = {}
        self._early: dict[str, Decision] = {}
        self._has_ended = False
        # Its number, not `sys.stdin`, whose lock nobody could take any more when the process ends meanwhile; and asked
        # for here: by the time the thread reads, a program that runs us inside itself may have put back its own.
        self._input = sys.stdin.fileno()
        # Not a task of the loop: standard input may be a file, which no loop can wait for. It may block for ever, and
        # must not keep the process from ending.
        threading.Thread(target=self._read, daemon=True).start()

    async def decide(self, asked: Permission) -> Decision:
        if asked.request_id in self._early:
            return self._early.pop(asked.request_id)
        if self._has_ended:
            return Deny(reason=NOBODY)
        answered: asyncio.Future[Decision] = self._loop.create_future()
        self._waiting[asked.request_id] = answered
        try:
            return await answered
        finally:
            del self._waiting[asked.request_id]

    def _read(self) -> None:
        rest = b""
        with contextlib.suppress(RuntimeError):  # the loop has ended before the input
            while chunk := self._chunk():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in filter(bytes.strip, lines):
                    self._loop.call_soon_threadsafe(self._take, line)
            if rest.strip():
                self._loop.call_soon_threadsafe(self._take, rest)
            self._loop.call_soon_threadsafe(self._end)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._input, 1 << 16)
        except OSError:  # a terminal that was hung up, or an input that was closed: nobody answers any more
            return b""

    def _take(self, line: bytes) -> None:
        try:
            request_id, decision = _decision(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            tell(f"not a valid answer: {error}")
            return
        waiting = self._waiting.get(request_id)
        if waiting is None:
            self._early[request_id] = decision
        elif not waiting.done():
            waiting.set_result(decision)

    def _end(self) -> None:
        self._has_ended = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(Deny(reason=NOBODY))


def _decision(answer: Any) -> tuple[str, Decision]:
    if not isinstance(answer, dict) or not isinstance(answer.get("request_id"), str):
        raise ValueError("it names no request_id")
    if answer.get("behavior") == "allow":
        return answer["request_id"], Allow(
            input=answer.get("updatedInput"), remember=tuple(answer.get("updatedPermissions") or ())
        )
    if answer.get("behavior") == "deny":
        return answer["request_id"], Deny(
            reason=str(answer.get("message") or ""), interrupt=answer.get("interrupt") is True
        )
    raise ValueError(f"its behavior is {answer.get('behavior')!r}, neither allow nor deny")
