"""A run at the terminal, from the client's first prompt to its last: events are shown, keys become answers.

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
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol

from reread.blocks.model import AskedQuestion
from reread.config import Config
from reread.errors import BadInput, ClientError, ClientRefused
from reread.features.edits.patches import is_edit
from reread.live import outgoing
from reread.live.client import NO_PLAN, Client, Policy, by_policy
from reread.live.events import Event, Permission, PermissionAnswered, PermissionVoid, Prompt, TurnResult
from reread.live.outgoing import Allow, Decision, Deny
from reread.live.transport import Errands
from reread.views import permissions
from reread.views.text import harmless
from reread.views.values import View

from .event_printer import Showing
from .keyboard import Interrupts, Keyboard, typed_line
from .main import EXIT_INTERRUPTED
from .options import command_words
from .streams import tell

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


PROMPT = "> "


def talk(
    args: argparse.Namespace, config: Config, prompt: str | None, arguments: Sequence[str], *, can_answer: bool
) -> int:
    """Runs the client and returns the exit code. `can_answer`: standard input was not read for the prompt."""
    return asyncio.run(_Run(args, config, prompt, arguments, can_answer=can_answer).to_its_end())


class _Run:
    def __init__(
        self,
        args: argparse.Namespace,
        config: Config,
        prompt: str | None,
        arguments: Sequence[str],
        *,
        can_answer: bool,
    ) -> None:
        self._given = args
        self._prompt = prompt
        self._can_answer = can_answer
        self._is_interactive: bool = args.interactive or prompt is None
        if self._is_interactive and not sys.stdin.isatty():
            raise BadInput("--interactive needs a terminal")
        self._showing = Showing(args, config)
        self._keyboard = Keyboard()
        self._client = Client(
            claude=args.claude,
            cwd=args.cwd,
            model=args.model,
            permission_mode=args.permission_mode,
            max_thinking_tokens=args.max_thinking_tokens,
            resume=args.resume,
            fork=args.fork,
            continue_last=args.continue_last,
            arguments=arguments,
            capture=None if args.no_capture else config.home / "wire",
        )

    async def to_its_end(self) -> int:
        main = asyncio.current_task()
        assert main is not None  # noqa: S101  asyncio.run made it
        self._interrupts = Interrupts()
        talk = PermissionLoop(self._client, self._showing, self._given.permission, self._answerer())
        quiet = self._keyboard.quiet() if sys.stdin.isatty() else contextlib.nullcontext()

        def on_terminate() -> None:
            main.cancel()

        with quiet, self._interrupts.caught(lambda: talk.press(main), on_terminate):
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
            if prompt in _LEAVE:
                return
            is_typed = True
            if await self._steered(prompt):
                prompt = None

    def _next_prompt(self) -> str | None:
        """Reads the next prompt; None at Ctrl-D. It may block, because after a turn nothing works in the background."""
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
        """Runs one of our commands; False for any other text, which goes to the client."""
        name, _, value = typed.partition(" ")
        value = value.strip()
        if name == "/help":
            for line in (*(f"{each} {about}" for each, about in _STEERING.items()), _OTHERS):
                self._showing.note(f"  {line}", "dim")
            return True
        if name not in _STEERING:
            return False
        if not value:
            self._showing.note(f"  {name} {_STEERING[name]}", "dim")
            return True
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
        """Prints the command that shows the session."""
        self._showing.end()
        if talk.session is not None:
            self._showing.note(f"reread show {talk.session}", "dim")


_STEERING = {
    "/model": "NAME: another model from now on, such as haiku, or default",
    "/mode": "MODE: another permission mode, such as plan, acceptEdits or default",
    "/thinking": "TOKENS: how much it may think, or off, or default",
}
_LEAVE = ("/exit", "/quit")
_OTHERS = "Ctrl-D or /exit ends the session; other commands go to Claude Code"


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


UNASKED = "Permission was denied: there is no terminal to ask at."


class Answerer(Protocol):
    """Answers permission requests: a person with keys, or a program with lines."""

    async def decide(self, permission: Permission) -> Decision: ...


class PermissionLoop:
    """Runs the client turn by turn, shows events and asks permission requests one after the other."""

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
        """Runs one prompt until it is done. `is_typed`: the prompt is on the screen already."""
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
        """Handles Ctrl-C: the first in a turn interrupts it, the next ends the run."""
        self._presses += 1
        if self._presses == 1 and self._is_busy:
            self._run(self._interrupt())
        else:
            main.cancel()

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C interrupted the last turn."""
        return self._presses > 0

    async def _interrupt(self) -> None:
        with contextlib.suppress(ClientRefused):  # it was idle
            await self._client.interrupt()

    def _saw(self, event: Event) -> None:
        self.session = event.session or self.session
        if isinstance(event, TurnResult):
            self.result = event
        elif isinstance(event, PermissionVoid):
            self._void(event)
            return
        if isinstance(event, Permission):
            self._on_permission(event)
        elif self._is_shown(event):
            self._show(event)

    def _is_shown(self, event: Event) -> bool:
        """Whether to show an event; a decision that a person made at the keys is on the screen already."""
        if self._showing.is_json or not isinstance(event, PermissionAnswered):
            return True
        return event.decision != "allow" and (self._answerer is None or self._policy != "ask")

    def _show(self, event: Event) -> None:
        if self._open is not None and not self._showing.is_json:
            self._held.append(event)
        else:
            self._showing.show([event])

    # Questions

    def _on_permission(self, permission: Permission) -> None:
        if self._showing.is_json:
            self._showing.show([permission])
        decision = self._unasked(permission)
        if decision is not None:
            self._run(self._client.decide(permission, decision))
            return
        self._waiting.append(permission)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_each())

    def _unasked(self, permission: Permission) -> Decision | None:
        """The decision by policy, or a refusal if there is nobody to ask; None if the person must be asked."""
        decision = by_policy(self._policy, permission)
        if decision is not None or self._answerer is not None:
            return decision
        if not self._has_told:
            self._has_told = True
            what = "a question" if permission.is_question else permission.tool
            hint = "answer at a terminal, or choose with --permission allow|deny"
            tell(f"{what} was denied, because there was no terminal to ask at; {hint}")
        return Deny(reason=UNASKED)

    async def _ask_each(self) -> None:
        assert self._answerer is not None  # noqa: S101  else the policy has decided
        while self._waiting:
            self._open = permission = self._waiting.popleft()
            try:
                await self._ask(self._answerer, permission)
            except ClientError:
                self._waiting.clear()  # the client has ended; the loop over events reports it
            finally:
                self._open = None
                if is_edit(permission.tool):
                    self._showing.screen.saw_diff(permission.id)
                held, self._held = self._held, []
                self._showing.show(held)

    async def _ask(self, answerer: Answerer, permission: Permission) -> None:
        """Asks until there is an answer that can be sent."""
        while True:
            decision = await answerer.decide(permission)
            try:
                return await self._client.decide(permission, decision)
            except BadInput as error:  # an input that is not JSON, such as NaN, which Python reads
                tell(f"not a valid answer: {error}")

    def _void(self, event: PermissionVoid) -> None:
        """Withdraws a void request: the open question is left, a waiting one is never asked."""
        if self._showing.is_json:
            self._showing.show([event])
        is_open = self._open is not None and self._open.request_id == event.request_id
        if not is_open:
            self._waiting = deque(asked for asked in self._waiting if asked.request_id != event.request_id)
        elif self._asking is not None:
            self._run(self._ask_on(self._asking))

    async def _ask_on(self, stopped: asyncio.Task[None]) -> None:
        """Leaves the open question and asks those that still wait."""
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
        """Runs in its own task: the loop over the events must not wait for the client's answer."""
        self._errands.send(_quietly(errand))


async def _quietly(errand: Coroutine[Any, Any, None]) -> None:
    """Awaits, ignoring ClientError: a client that has ended needs no answer, and the loop over its events ends too."""
    with contextlib.suppress(ClientError):
        await errand


STOPPED = "The user stopped here."


class TerminalAnswerer:
    """Asks a person at the terminal."""

    leaves: tuple[tuple[str, str], ...] = (("q", "uit turn"),)
    """Keys that leave a question without an answer: the key and the rest of its word."""

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

    async def decide(self, permission: Permission) -> Decision:
        with self._keyboard.listening():
            try:
                if permission.is_question and permissions.questions_of(permission):
                    return await self._answer(permission)
                if permission.is_plan:
                    return await self._judge_plan(permission)
                return await self._permit(permission)
            except asyncio.CancelledError:
                self._put("no longer asked\n")
                raise

    async def _permit(self, permission: Permission) -> Decision:
        wider = permissions.wider_suggestions(permission)
        self._showing.ask(
            [
                *permissions.permission_lines(permission, self._showing.screen.project, self._view),
                *permissions.key_line(permission, self._view, self.leaves),
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
            if key == "a" and permission.narrowest is not None:
                self._put("always\n")
                return Allow(remember=[permission.suggestions[permission.narrowest]])
            if key.isdecimal() and 0 < int(key) <= len(wider):
                self._put(f"always {key}\n")
                return Allow(remember=[wider[int(key) - 1]])
            if key == "e":
                self._put("edit\n")
                edited = await self._edited(permission)
                if edited is not None:
                    return Allow(input=edited)
            elif (left := self._left(key)) is not None:
                return left
            else:
                self._put("\r")

    def _left(self, key: str) -> Decision | None:
        """The answer if a key leaves the question or the terminal is gone; None for any other key."""
        if key not in ("q", ""):
            return None
        self._put("quit\n")
        return Deny(reason=STOPPED, interrupt=True)

    async def _line(self, prompt: str) -> str:
        with self._keyboard.typing():
            self._put(prompt)
            return await self._keyboard.line()

    async def _judge_plan(self, permission: Permission) -> Decision:
        keys = " ".join(f"[{key}]{rest}" for key, rest in (("y", "es"), ("n", "o"), *self.leaves))
        self._showing.ask([*permissions.plan_lines(permission, self._view), f"  go ahead with it? {keys}"])
        while True:
            self._put("  > ")
            key = (await self._keyboard.key()).lower()
            if key == "y":
                self._put("yes\n")
                return Allow()
            if key == "n":
                return Deny(reason=await self._line("no, because (Enter for no reason): ") or NO_PLAN)
            if (left := self._left(key)) is not None:
                return left
            self._put("\r")

    # Questions

    async def _answer(self, permission: Permission) -> Decision:
        chosen: dict[str, str] = {}
        for question in permissions.questions_of(permission):
            self._showing.ask(permissions.menu_lines(question, self._view))
            answer = await self._choice(question)
            if not isinstance(answer, str):
                return answer
            chosen[question.text] = answer
        return outgoing.answers(permission.input, chosen)

    async def _choice(self, question: AskedQuestion) -> str | Decision:
        """One or several labels, or a text in the person's words; a decision if the question was left."""
        labels = [option.label for option in question.options]
        by_key = len(labels) < 10 and not question.is_several
        several = " (several: 1,3)" if question.is_several else ""
        *names, last = ["o", *(key for key, _ in self.leaves)]
        while True:
            prompt = f"  number{several}, {', '.join(names)} or {last} > "
            if by_key:
                self._put(prompt)
            typed = await self._keyboard.key() if by_key else await self._line(prompt)
            if (by_key or typed) and (left := self._left(typed.lower())) is not None:
                return left
            if typed.lower() == "o":
                answer = await self._line("in your words: ")
                if answer:
                    return answer
                continue
            found = picked(typed, labels, is_several=question.is_several)
            if found is not None:
                self._put(f"{harmless(found)}\n" if by_key else "")
                return found
            self._put("\r" if by_key else "")

    # Editing the input

    async def _edited(self, permission: Permission) -> Any:
        """The input as the person edited it; None if unchanged."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if not editor and permission.tool == "Bash" and isinstance(permission.input, dict):
            command = self._edited_line(str(permission.input.get("command") or ""))
            return {**permission.input, "command": command} if command else None
        before = json.dumps(permission.input, ensure_ascii=False, indent=2) + "\n"
        text = await self._in_editor(editor, before)
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

    async def _in_editor(self, editor: str | None, text: str) -> str | None:
        """The edited text; None if the editor did not start or ended with an error, as by `:cq`."""
        usual = "notepad" if sys.platform == "win32" else "vi"
        try:
            words = command_words(editor or usual)
            with tempfile.TemporaryDirectory(prefix="reread-") as folder:
                path = Path(folder) / "input.json"
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

    def _edited_line(self, text: str) -> str:
        """A line to edit. It blocks the loop, which does no harm because the client waits for the answer."""
        with self._interrupts.raised(), self._keyboard.typing():
            try:
                return typed_line("  $ ", text).strip()
            except (KeyboardInterrupt, EOFError):
                self._put("\n")
                return ""


def picked(typed: str, labels: list[str], *, is_several: bool) -> str | None:
    """`2` or `1,3` as labels; None if a number is out of range."""
    numbers = [part.strip() for part in typed.split(",")]
    if not all(number.isdecimal() and 1 <= int(number) <= len(labels) for number in numbers):
        return None
    if len(numbers) > 1 and not is_several:
        return None
    return ", ".join(dict.fromkeys(labels[int(number) - 1] for number in numbers))
