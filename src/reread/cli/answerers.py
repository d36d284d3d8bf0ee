"""Who answers the client's questions: a person with keys, or a program with lines.

A program answers with JSON lines on standard input (`reread run --jsonl`):

{"request_id": "...", "behavior": "allow"}
{"request_id": "...", "behavior": "allow", "updatedInput": {...}, "updatedPermissions": [...]}
{"request_id": "...", "behavior": "deny", "message": "...", "interrupt": true}
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any, Protocol

from reread.blocks.model import AskedQuestion
from reread.errors import BadInput
from reread.live import outgoing
from reread.live.client import NO_PLAN
from reread.live.events import Permission
from reread.live.outgoing import Allow, Decision, Deny
from reread.views import permissions
from reread.views.text import hanging, harmless
from reread.views.values import View

from .event_printer import EventPrinter
from .keyboard import Interrupts, Keyboard
from .options import command_words
from .prompt_reader import Completion, PromptHistory, PromptReader
from .streams import tell


class Answerer(Protocol):
    """Answers permission requests: a person with keys, or a program with lines."""

    async def decide(self, permission: Permission) -> Decision: ...

    async def confirm(self, reason: str) -> bool:
        """Asks whether to go on all the same."""
        ...


NOBODY = "Nobody is there to answer: standard input has ended."


class ProgramAnswerer:
    """Answers permission requests with the JSON lines of a program."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, asyncio.Future[Decision]] = {}
        self._early: dict[str, Decision] = {}
        self._has_ended = False
        # The descriptor, not `sys.stdin`: at the end of the process nobody could take its lock from the waiting thread.
        # Taken here, not in the thread: a program that runs us inside itself may have restored its own stdin by then.
        self._input = sys.stdin.fileno()
        # A thread, because standard input may be a file, which no loop can wait for; a daemon, because it may block for
        # ever and must not keep the process from ending.
        threading.Thread(target=self._read, daemon=True).start()

    async def confirm(self, reason: str) -> bool:  # noqa: ARG002  what an `Answerer` takes
        """No line means yes to more than a limit: the program has set it."""
        return False

    async def decide(self, permission: Permission) -> Decision:
        if permission.request_id in self._early:
            return self._early.pop(permission.request_id)
        if self._has_ended:
            return Deny(reason=NOBODY)
        answered: asyncio.Future[Decision] = self._loop.create_future()
        self._waiting[permission.request_id] = answered
        try:
            return await answered
        finally:
            del self._waiting[permission.request_id]

    def _read(self) -> None:
        rest = b""
        with contextlib.suppress(RuntimeError):  # the loop ended before the input
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
        except OSError:  # the terminal was hung up or the input closed: no more answers
            return b""

    def _take(self, line: bytes) -> None:
        try:
            request_id, decision = _decision(json.loads(line))
        except (ValueError, RecursionError) as error:
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
        updated, rules = answer.get("updatedInput"), answer.get("updatedPermissions")
        if not isinstance(updated, dict | None) or not isinstance(rules, list | None):
            raise ValueError("updatedInput must be an object, updatedPermissions an array")
        return answer["request_id"], Allow(input=updated, remember=tuple(rules or ()))
    if answer.get("behavior") == "deny":
        return answer["request_id"], Deny(
            reason=str(answer.get("message") or ""), interrupt=answer.get("interrupt") is True
        )
    raise ValueError(f"its behavior is {answer.get('behavior')!r}, neither allow nor deny")


_NO_ANSWER = "\a\r"
"""A bell, and the same line again."""
STOPPED = "The user stopped here."


_PLAN_KEYS = (("y", "es"), ("a", "ccept: yes, and its edits"), ("e", "dit the plan"), ("n", "o"))
_ACCEPT_EDITS = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
_BY_PLAN_KEY = {"a": ("yes, and edits are accepted", _ACCEPT_EDITS)}


def _rule_keys(permission: Permission) -> dict[str, tuple[str, Any]]:
    """Keys of the suggestions: what is shown for each, and the suggestion."""
    wider = enumerate(permissions.wider_suggestions(permission), 1)
    found = {str(number): (f"always {number}", each) for number, each in wider}
    narrow = permission.narrowest
    return found if narrow is None else {**found, "a": ("always", permission.suggestions[narrow])}


class TerminalAnswerer:
    """Asks a person at the terminal."""

    leaves: tuple[tuple[str, str], ...] = (("q", "uit turn"),)
    """Keys that leave a question without an answer: the key and the rest of its word."""

    def __init__(self, printer: EventPrinter, keyboard: Keyboard, interrupts: Interrupts) -> None:
        self._printer = printer
        self._put = printer.put
        self._interrupts = interrupts
        self._keyboard = keyboard

    @property
    def _view(self) -> View:
        return self._printer.screen.view

    async def decide(self, permission: Permission) -> Decision:
        with self._keyboard.listening():
            try:
                if permission.is_question and permissions.questions_of(permission):
                    return await self._answer(permission)
                self._printer.ask(self._question_lines(permission))
                return await self._judge(permission)
            except asyncio.CancelledError:
                self._put("no longer asked\n")
                raise

    def _question_lines(self, permission: Permission) -> Iterator[str]:
        if permission.is_plan:
            keys = " ".join(f"[{key}]{rest}" for key, rest in (*_PLAN_KEYS, *self.leaves))
            yield from permissions.plan_lines(permission, self._view)
            yield from hanging(f"go ahead with it? {keys}", self._view.width, "  ", "  ")
        else:
            yield from permissions.permission_lines(permission, self._printer.screen.project, self._view)
            yield from permissions.key_line(permission, self._view, self.leaves)

    async def _judge(self, permission: Permission) -> Decision:
        """A key for a permission or a plan: yes, no, one that changes rules or the mode, edit, or leave."""
        remembered = _BY_PLAN_KEY if permission.is_plan else _rule_keys(permission)
        keys = {"y", "n", "e", "", *remembered, *(key for key, _ in self.leaves)}
        while True:
            key = await self._pressed(keys, before_text="n")
            if key == "y":
                self._put("yes\n")
                return Allow()
            if key == "n":
                self._put("no, because (Enter for no reason): ")
                reason = (await self._keyboard.line_from("", self._put)).strip()
                return Deny(reason=reason or (NO_PLAN if permission.is_plan else ""))
            if key in remembered:
                said, suggestion = remembered[key]
                self._put(f"{said}\n")
                return Allow(remember=[suggestion])
            if key == "e":
                self._put("edit\n")
                edited = await (self._edited_plan if permission.is_plan else self._edited)(permission)
                if edited is not None:
                    return Allow(input=edited)
            elif (left := self._left(key)) is not None:
                return left

    def _left(self, key: str) -> Decision | None:
        """The answer if a key leaves the question or the terminal is gone; None for any other key."""
        if key not in ("q", ""):
            return None
        self._put("quit\n")
        return Deny(reason=STOPPED, interrupt=True)

    async def confirm(self, reason: str) -> bool:
        with self._keyboard.listening():
            self._printer.ask([f"  ? {reason}", "  go on all the same? [y]es [n]o"])
            is_wanted = await self._pressed({"y", "n", "q", ""}) == "y"
            self._put("yes\n" if is_wanted else "no\n")
            return is_wanted

    async def _pressed(self, keys: Set[str], *, before_text: str = "") -> str:
        """The first of these keys that is no letter of a text, unless one may follow it; Ctrl-D is the empty key."""
        while True:
            self._put("  > ")
            key = (await self._keyboard.key()).lower()
            if key in keys and (key in before_text or not await self._keyboard.is_typing()):
                return key
            self._put(_NO_ANSWER)

    async def _edited_plan(self, permission: Permission) -> Any:
        """The input with the plan as the person changed it, which the client tells the model; None if unchanged."""
        before = (permission.plan or "").rstrip() + "\n"
        text = await self._in_editor(os.environ.get("VISUAL") or os.environ.get("EDITOR"), before, "plan.md")
        if text is None or not text.strip() or text == before:
            self._put("  nothing was changed\n" if text is not None else "")
            return None
        given = permission.input if isinstance(permission.input, dict) else {}
        return {**given, "plan": text.strip()}

    # Questions

    async def _answer(self, permission: Permission) -> Decision:
        chosen: dict[str, str] = {}
        for question in permissions.questions_of(permission):
            self._printer.ask(permissions.menu_lines(question, self._view))
            answer = await self._choice(question)
            if not isinstance(answer, str):
                return answer
            chosen[question.text] = answer
        return outgoing.answers(permission.input, chosen)

    async def _choice(self, question: AskedQuestion) -> str | Decision:
        """One or several labels, or a text in the person's words; a decision if the question was left.

        A number answers with its key. Any other key begins a line, so that an answer keeps its first letter.
        """
        labels = [option.label for option in question.options]
        by_key = len(labels) < 10 and not question.is_several
        several = " (several: 1,3)" if question.is_several else ""
        *names, last = ["your words", *(key for key, _ in self.leaves)]
        prompt = f"  number{several}, {', '.join(names)} or {last} > "
        while True:
            self._put(prompt)
            key = await self._keyboard.key()
            if not key:
                return Deny(reason=STOPPED, interrupt=True)
            if by_key and key.isdecimal():
                chosen = picked(key, labels, is_several=False)
                self._put(f"{harmless(chosen)}\n" if chosen is not None else "\r")
                answer: str | Decision | None = chosen
            else:
                answer = await self._typed_choice(key, labels, is_several=question.is_several)
            if answer is not None:
                return answer

    async def _typed_choice(self, key: str, labels: list[str], *, is_several: bool) -> str | Decision | None:
        """The answer in a line that begins with this key; None if it holds none."""
        typed = (await self._keyboard.line_from(key, self._put)).strip() if key.isprintable() else ""
        if not typed:
            self._put("\r")
            return None
        if typed.lower() == "o":
            self._put("  type your answer\n")
            return None
        is_number = typed.replace(",", "").replace(" ", "").isdecimal()
        answer = self._left(typed.lower()) or picked(typed, labels, is_several=is_several)
        return answer or (None if is_number else typed)

    # Editing the input

    async def _edited(self, permission: Permission) -> Any:
        """The input as the person edited it; None if unchanged."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor and permission.tool == "Bash" and isinstance(permission.input, dict):
            command = await self._edited_line(str(permission.input.get("command") or ""))
            return {**permission.input, "command": command} if command else None
        before = json.dumps(permission.input, ensure_ascii=False, indent=2) + "\n"
        text = await self._in_editor(editor, before, "input.json")
        if text == before:
            self._put("  nothing was changed\n")
        if text is None or text == before:
            return None
        try:
            edited = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._put(f"  that is not valid JSON: {error}\n")
            return None
        if not isinstance(edited, dict):
            self._put("  the input of a tool is a JSON object\n")
            return None
        return edited

    async def _in_editor(self, editor: str | None, text: str, name: str) -> str | None:
        """The edited text; None if the editor did not start or ended with an error, as by `:cq`."""
        usual = "notepad" if sys.platform == "win32" else "vi"
        try:
            words = command_words(editor or usual)
            with tempfile.TemporaryDirectory(prefix="reread-") as folder:
                path = Path(folder) / name
                path.write_text(text, "utf-8")
                with self._interrupts.left_alone():
                    done = await asyncio.to_thread(subprocess.run, [*words, str(path)], check=False)
                edited = path.read_text("utf-8")
        except OSError as error:
            self._put(f"  {harmless(str(error.filename or editor or usual))}: {error.strerror or error}; set EDITOR\n")
            return None
        except BadInput as error:
            self._put(f"  {harmless(str(error))}; set EDITOR\n")
            return None
        except UnicodeError:
            self._put("  what the editor wrote is not UTF-8\n")
            return None
        if done.returncode:
            self._put(f"  the editor ended with {done.returncode}\n")
            return None
        return edited

    async def _edited_line(self, text: str) -> str:
        """The text as the person edits it, empty if they leave it."""
        if not self._keyboard.can_edit:
            self._put("  $ ")
            return (await self._keyboard.line_from(text, self._put)).strip()
        history, complete = PromptHistory(None), Completion(Path(), ())
        reader = PromptReader(self._keyboard, self._interrupts, self._put, self._view.style, history, complete)
        reader.line.set(text)
        return await reader.read() or ""


def picked(typed: str, labels: list[str], *, is_several: bool) -> str | None:
    """`2` or `1,3` as labels; None if a number is out of range."""
    numbers = [part.strip() for part in typed.split(",")]
    if not all(number.isdecimal() and 1 <= int(number) <= len(labels) for number in numbers):
        return None
    if len(numbers) > 1 and not is_several:
        return None
    return ", ".join(dict.fromkeys(labels[int(number) - 1] for number in numbers))
