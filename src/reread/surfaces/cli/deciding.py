"""Puts what the client asks to the person at the terminal, and turns keys into decisions."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from reread.blocks.model import AskedQuestion
from reread.live import outgoing
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny
from reread.live.policies import NO_PLAN
from reread.render import permissions
from reread.render.text import harmless
from reread.render.view import View

from .interrupts import Interrupts
from .keyboard import Keyboard, typed_line
from .showing import Showing

STOPPED = "The user stopped here."


class Person:
    """Somebody who can be asked."""

    def __init__(
        self,
        showing: Showing,
        keyboard: Keyboard,
        interrupts: Interrupts,
    ) -> None:
        self._showing = showing
        self._put = showing.put
        self._interrupts = interrupts
        self._keyboard = keyboard

    @property
    def _view(self) -> View:
        return self._showing.screen.view

    async def decide(self, asked: Permission) -> Decision:
        with self._keyboard.listening():
            try:
                if asked.is_question and permissions.questions_of(asked):
                    return await self._answer(asked)
                if asked.is_plan:
                    return await self._judge_plan(asked)
                return await self._permit(asked)
            except asyncio.CancelledError:
                self._put("no longer asked\n")
                raise

    async def _permit(self, asked: Permission) -> Decision:
        self._showing.ask(
            [
                *permissions.permission_lines(asked, self._showing.screen.project, self._view),
                *permissions.key_line(asked, self._view),
            ]
        )
        while True:
            self._put("  > ")
            key = (await self._keyboard.key()).lower()
            if key == "y":
                self._put("yes\n")
                return Allow()
            if key == "n":
                return Deny(reason=await self._line("no, because (Enter for no reason): "))
            if key == "a" and asked.suggestions:
                self._put("always\n")
                return Allow(remember=asked.suggestions)
            if len(asked.suggestions) > 1 and key.isdecimal() and 0 < int(key) <= len(asked.suggestions):
                self._put(f"always {key}\n")
                return Allow(remember=asked.suggestions[int(key) - 1 : int(key)])
            if key == "e":
                self._put("edit\n")
                edited = await self._edited(asked)
                if edited is not None:
                    return Allow(input=edited)
            elif key in ("q", ""):
                self._put("quit\n")
                return Deny(reason=STOPPED, interrupt=True)
            else:
                self._put("\r")

    async def _line(self, prompt: str) -> str:
        with self._keyboard.typing():
            self._put(prompt)
            return await self._keyboard.line()

    async def _judge_plan(self, asked: Permission) -> Decision:
        self._showing.ask([*permissions.plan_lines(asked, self._view), "  go ahead with it? [y]es [n]o"])
        while True:
            self._put("  > ")
            key = (await self._keyboard.key()).lower()
            if key == "y":
                self._put("yes\n")
                return Allow()
            if key == "n":
                return Deny(reason=await self._line("no, because (Enter for no reason): ") or NO_PLAN)
            if key == "":
                return Deny(reason=NO_PLAN, interrupt=True)
            self._put("\r")

    # Questions

    async def _answer(self, asked: Permission) -> Decision:
        chosen: dict[str, str] = {}
        for question in permissions.questions_of(asked):
            self._showing.ask(permissions.menu_lines(question, self._view))
            answer = await self._choice(question)
            if answer is None:
                return Deny(reason=STOPPED, interrupt=True)
            chosen[question.text] = answer
        return outgoing.answers(asked.input, chosen)

    async def _choice(self, question: AskedQuestion) -> str | None:
        """The label, several of them, or own words; None where nobody answers any more."""
        labels = [option.label for option in question.options]
        by_key = len(labels) < 10 and not question.is_several
        several = " (several: 1,3)" if question.is_several else ""
        while True:
            prompt = f"  number{several} or o > "
            if by_key:
                self._put(prompt)
            typed = await self._keyboard.key() if by_key else await self._line(prompt)
            if typed == "" and by_key:
                return None
            if typed.lower() == "o":
                said = await self._line("in your words: ")
                if said:
                    return said
                continue
            picked = _picked(typed, labels, is_several=question.is_several)
            if picked is not None:
                self._put(f"{harmless(picked)}\n" if by_key else "")
                return picked
            self._put("\r" if by_key else "")

    # Another input

    async def _edited(self, asked: Permission) -> Any:
        """The input as the person changed it; None where they did not."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor and asked.tool == "Bash" and isinstance(asked.input, dict):
            command = self._edited_line(str(asked.input.get("command") or ""))
            return {**asked.input, "command": command} if command else None
        text = await self._in_editor(editor, json.dumps(asked.input, ensure_ascii=False, indent=2) + "\n")
        try:
            edited = json.loads(text)
        except ValueError as error:
            self._put(f"  that is no JSON: {error}\n")
            return None
        if not isinstance(edited, dict):
            self._put("  the input of a tool is a JSON object\n")
            return None
        return edited

    async def _in_editor(self, editor: str | None, text: str) -> str:
        usual = "notepad" if sys.platform == "win32" else "vi"
        with tempfile.TemporaryDirectory(prefix="reread-") as folder:
            path = Path(folder) / "input.json"
            path.write_text(text, "utf-8")
            command = [*shlex.split(editor or usual, posix=sys.platform != "win32"), str(path)]
            with self._interrupts.left_alone():
                try:
                    await asyncio.to_thread(subprocess.run, command, check=False)
                except OSError as error:
                    self._put(f"  {command[0]}: {error.strerror or error}; set EDITOR\n")
            return path.read_text("utf-8")

    def _edited_line(self, text: str) -> str:
        """The line with what is there to change; the loop stands still, as does the client, which waits for us."""
        with self._interrupts.raised(), self._keyboard.typing():
            try:
                return typed_line("  $ ", text).strip()
            except (KeyboardInterrupt, EOFError):
                self._put("\n")
                return ""


def _picked(typed: str, labels: list[str], *, is_several: bool) -> str | None:
    """`2` or `1,3` as labels; None where a number is not there."""
    numbers = [part.strip() for part in typed.split(",")]
    if not all(number.isdecimal() and 1 <= int(number) <= len(labels) for number in numbers):
        return None
    if len(numbers) > 1 and not is_several:
        return None
    return ", ".join(dict.fromkeys(labels[int(number) - 1] for number in numbers))
