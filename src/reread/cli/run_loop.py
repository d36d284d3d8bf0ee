"""The run itself: a client from its first prompt to its last, for a person or for a program.

A program answers with JSON lines on standard input (`reread run --jsonl`):

{"request_id": "...", "behavior": "allow"}
{"request_id": "...", "behavior": "allow", "updatedInput": {...}, "updatedPermissions": [...]}
{"request_id": "...", "behavior": "deny", "message": "...", "interrupt": true}
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reread.config import Config
from reread.errors import BadInput, ClientRefused
from reread.live.client import Client
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny

from .event_printer import Showing
from .keyboard import Interrupts, Keyboard, typed_line
from .main import EXIT_INTERRUPTED
from .permission_loop import Answerer, PermissionLoop, TerminalAnswerer
from .streams import tell

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


PROMPT = "> "


def talk(
    given: argparse.Namespace, config: Config, prompt: str | None, arguments: Sequence[str], *, can_answer: bool
) -> int:
    """`can_answer` says that standard input is not used up by the prompt. Gives the exit code."""
    return asyncio.run(_Run(given, config, prompt, arguments, can_answer=can_answer).to_its_end())


class _Run:
    def __init__(
        self,
        given: argparse.Namespace,
        config: Config,
        prompt: str | None,
        arguments: Sequence[str],
        *,
        can_answer: bool,
    ) -> None:
        self._given = given
        self._config = config
        self._prompt = prompt
        self._can_answer = can_answer
        self._is_interactive: bool = given.interactive or prompt is None
        if self._is_interactive and not sys.stdin.isatty():
            raise BadInput("--interactive needs a terminal")
        self._showing = Showing(given, config)
        self._keyboard = Keyboard()
        self._client = Client(
            claude=given.claude,
            cwd=given.cwd,
            model=given.model,
            permission_mode=given.permission_mode,
            max_thinking_tokens=given.max_thinking_tokens,
            resume=given.resume,
            fork=given.fork,
            continue_last=given.continue_last,
            arguments=arguments,
            capture=None if given.no_capture else config.home / "wire",
        )

    async def to_its_end(self) -> int:
        main = asyncio.current_task()
        assert main is not None  # noqa: S101  asyncio.run made it
        self._interrupts = Interrupts()
        talk = PermissionLoop(self._client, self._showing, self._given.permission, self._answerer())
        quiet = self._keyboard.quiet() if sys.stdin.isatty() else contextlib.nullcontext()

        def told_to_end() -> None:
            main.cancel()

        with quiet, self._interrupts.caught(lambda: talk.press(main), told_to_end):
            try:
                async with self._client:
                    await self._turns(talk)
            except asyncio.CancelledError:
                self._showing.note("  ■ ended", "yellow")
                self._end(talk)
                return EXIT_INTERRUPTED
        self._end(talk)
        if talk.was_interrupted and not self._is_interactive:
            return EXIT_INTERRUPTED
        return int(talk.result is not None and talk.result.is_error)

    def _answerer(self) -> Answerer | None:
        if sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty()):
            return TerminalAnswerer(self._showing, self._keyboard, self._interrupts)
        return ProgramAnswerer() if self._given.jsonl and self._can_answer else None

    async def _turns(self, talk: PermissionLoop) -> None:
        prompt, is_typed = self._prompt, False
        images = [Path(name) for name in self._given.image]
        while True:
            if prompt is not None:
                await talk.turn(prompt, images, is_typed=is_typed)
                images = []
            if not self._is_interactive:
                return
            prompt = self._next_prompt()
            if prompt is None:
                return
            is_typed = True
            if await self._steered(prompt):
                prompt = None

    def _next_prompt(self) -> str | None:
        """None at Ctrl-D. Nothing happens meanwhile: a turn ends when nothing works in the background."""
        while True:
            try:
                with self._interrupts.raised(), self._keyboard.typing():
                    typed = typed_line(f"\n{PROMPT}").strip()
            except EOFError:
                self._showing.put("\n")
                return None
            except KeyboardInterrupt:
                raise asyncio.CancelledError from None
            if typed:
                return typed

    async def _steered(self, typed: str) -> bool:
        """Whether it was one of the commands that are ours; all others are the client's."""
        name, _, value = typed.partition(" ")
        value = value.strip()
        if name not in ("/model", "/mode", "/thinking") or not value:
            return False
        try:
            if name == "/model":
                await self._client.set_model(None if value == "default" else value)
            elif name == "/mode":
                await self._client.set_permission_mode(value)
            elif value.isdecimal() or value in ("off", "default"):
                await self._client.set_thinking_budget({"off": 0, "default": None}.get(value, _number(value)))
            else:
                raise ClientRefused(f"{value!r} is not a number of tokens, off or default")
        except ClientRefused as error:
            self._showing.note(f"  ✗ {error}", "red")
        else:
            self._showing.note(f"  · {name[1:]} {value}", "dim")
        return True

    def _end(self, talk: PermissionLoop) -> None:
        """Where the session is found again."""
        self._showing.end()
        if talk.session is not None:
            self._showing.note(f"reread show {talk.session}", "dim")


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
