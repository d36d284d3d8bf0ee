"""A run at the terminal, from the client's first prompt to its last: events are shown, questions asked one by one."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from reread import archive as archives
from reread.billing import load_prices
from reread.errors import BadInput, ClientError, ClientRefused
from reread.features.edits.patches import is_edit
from reread.live.client import Client, Policy, by_policy
from reread.live.events import Event, Permission, PermissionAnswered, PermissionVoid, Prompt, ToolResult, TurnResult
from reread.live.limits import CostGate, CostLimit, CostMeter, Reached
from reread.live.outgoing import Allow, Decision, Deny
from reread.live.rules import AllowRule, allowing
from reread.live.transport import BackgroundTasks
from reread.views.numbers import count
from reread.views.run_status import RunStatus

from .answerers import Answerer, ProgramAnswerer, TerminalAnswerer
from .event_printer import EventPrinter
from .keyboard import ESCAPE, Interrupts, Keyboard
from .main import EXIT_INTERRUPTED, EXIT_USAGE
from .options import Options
from .prompt_reader import PROMPT, Completion, PromptHistory, PromptReader
from .status_bar import StatusBar, TurnDisplay
from .streams import tell


def talk(args: Options, prompt: str | None, arguments: Sequence[str], *, can_answer: bool) -> int:
    """Runs the client and returns the exit code. `can_answer`: standard input was not read for the prompt."""
    return asyncio.run(_Run(args, prompt, arguments, can_answer=can_answer).to_its_end())


class _Run:
    def __init__(self, args: Options, prompt: str | None, arguments: Sequence[str], *, can_answer: bool) -> None:
        self._given = args
        self._prompt = prompt
        self._can_answer = can_answer
        self._is_interactive: bool = args.interactive or prompt is None
        self._printer = EventPrinter(args)
        self._keyboard = Keyboard()
        self._rules = tuple(map(AllowRule.parse, args.allow))
        meter = CostMeter(load_prices(args.config.prices))
        self._gate = CostGate(meter, _limits(args), self._may_exceed)
        self._status = RunStatus()
        style, put = self._printer.screen.view.style, self._printer.put
        can_draw = args.config.can_redraw and sys.stdin.isatty() and not args.jsonl
        self._bar = bar = StatusBar(put, is_possible=can_draw)
        self._display = TurnDisplay(bar, self._status, meter, style)
        self._keyboard.on_stop = bar.give_back
        self._folder = Path(args.cwd or Path.cwd())
        self._history = PromptHistory(None if args.no_capture else args.config.home / "run-history")
        self._reader: PromptReader | None = None
        self._last_key = 0.0
        self._can_edit = can_draw and self._is_interactive and self._keyboard.can_edit
        self._background = BackgroundTasks()
        self._talk: PermissionLoop | None = None
        self._outputs: deque[ToolResult] = deque(maxlen=_KEPT_OUTPUTS)
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
            capture=None if args.no_capture else args.config.home / "wire",
            hooks=self._gate.hooks,
        )

    async def to_its_end(self) -> int:
        main = asyncio.current_task()
        assert main is not None  # noqa: S101  asyncio.run made it
        self._interrupts = Interrupts()
        talk = PermissionLoop(
            self._client,
            self._printer,
            self._given.permission,
            self._answerer(),
            rules=self._rules,
            folder=str(self._folder),
            on_event=self._saw,
            aside=self._bar.hidden,
            settled=self._typing_ends,
        )
        self._talk = talk
        if self._can_edit:
            self._reader = self._make_reader()
        quiet = self._keyboard.quiet() if sys.stdin.isatty() else contextlib.nullcontext()

        with quiet, self._interrupts.caught(lambda: talk.press(main), main.cancel):
            try:
                if not await self._gate.may_go_on():
                    return EXIT_USAGE
                async with self._client:
                    self._greet()
                    await self._turns(talk)
            except asyncio.CancelledError:
                self._printer.note("  ■ ended", "yellow")
                self._end(talk)
                return EXIT_INTERRUPTED
        self._end(talk)
        if talk.was_interrupted and not self._is_interactive:
            return EXIT_INTERRUPTED
        return int(self._gate.stopped is not None or (talk.result is not None and talk.result.is_error))

    def _make_reader(self) -> PromptReader:
        complete = Completion(self._folder, [*_STEERING, *_LEAVE, "/help", "/output"])
        style = self._printer.screen.view.style
        reader = PromptReader(self._keyboard, self._interrupts, self._printer.put, style, self._history, complete)
        self._display.typed = lambda: reader.line.text
        self._display.queued = lambda: reader.queue
        return reader

    def _greet(self) -> None:
        if not self._is_interactive:
            return
        model = self._given.model or "the usual model"
        self._printer.note(f"{self._folder} · {model} · /help for keys, Ctrl-D or /exit to leave", "dim")
        if self._reader is not None:
            self._background.send(self._learn_commands(self._reader))

    async def _learn_commands(self, reader: PromptReader) -> None:
        with contextlib.suppress(ClientError, ClientRefused):  # an old client, or one that has ended: Tab knows less
            commands = (await self._client.about()).get("commands")
            named = [each.get("name") for each in commands if isinstance(each, dict)] if commands else []
            reader.complete.learn(name for name in named if isinstance(name, str))

    def _saw(self, event: Event) -> None:
        self._bar.fit()
        self._gate.saw(event)
        self._status.saw(event)
        if isinstance(event, ToolResult):
            self._outputs.appendleft(event)

    def _typed(self, keys: str) -> None:
        if keys == ESCAPE and self._talk is not None:
            self._talk.stop_turn()
        elif self._reader is not None:
            self._reader.typed_ahead(keys)
            self._last_key = time.monotonic()
            self._display.draw()

    async def _typing_ends(self) -> None:
        """A question waits for whoever is typing what comes next, or the next letter would answer it."""
        while self._reader is not None and self._reader.line.text and time.monotonic() - self._last_key < _PAUSE:
            await asyncio.sleep(_PAUSE / 10)

    async def _may_exceed(self, reached: Reached) -> bool:
        """Asks whether to spend more than a limit; without anybody to ask, or after a no, says what ends the run."""
        is_wanted = self._talk is not None and await self._talk.confirm(reached.words)
        if not is_wanted:
            tell(f"stopped: {reached.words}")
        return is_wanted

    def _answerer(self) -> Answerer | None:
        if sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty()):
            return TerminalAnswerer(self._printer, self._keyboard, self._interrupts)
        return ProgramAnswerer() if self._given.jsonl and self._can_answer else None

    async def _turns(self, talk: PermissionLoop) -> None:
        prompt, is_typed = self._prompt, False
        images = [Path(name) for name in self._given.image]
        while True:
            if prompt is not None:
                await self._turn(talk, prompt, images, is_typed=is_typed)
                images = []
            if not self._is_interactive or not await self._gate.may_go_on():
                return
            is_typed = self._reader is None or not self._reader.queue
            prompt = await self._next_prompt()
            if prompt is None or prompt in _LEAVE:
                return
            if await self._steered(prompt):
                prompt = None

    async def _turn(self, talk: PermissionLoop, prompt: str, images: Sequence[Path], *, is_typed: bool) -> None:
        """One turn, below which the person may type what comes next."""
        with self._display.shown():
            watched = self._keyboard.watched(self._typed) if self._reader is not None else contextlib.nullcontext()
            with watched:
                await talk.turn(prompt, images, is_typed=is_typed)
        if self._client.capture is not None:
            asked = self._ask_context()
            await asked if not self._is_interactive else self._background.send(asked)
        if self._reader is not None and talk.was_interrupted:
            self._reader.take_back()

    async def _ask_context(self) -> None:
        """Has the client say what fills its context, which the capture then has. Counting it costs nothing."""
        with contextlib.suppress(ClientError, ClientRefused, TimeoutError):
            async with asyncio.timeout(_COUNTS_WITHIN):
                await self._client.context_usage()

    async def _next_prompt(self) -> str | None:
        """The prompt that was queued, or else is typed now; None at Ctrl-D."""
        if self._reader is None:
            return self._typed_line()
        return self._reader.queue.pop(0) if self._reader.queue else await self._reader.read()

    def _typed_line(self) -> str | None:
        """Where the line cannot be drawn. It blocks the loop, but after a turn nothing works in the background."""
        while True:
            try:
                with self._interrupts.raised(), self._keyboard.typing():
                    typed = input(f"\n{PROMPT}").strip()
            except EOFError:
                self._printer.put("\n")
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
            for line in (*(f"{each} {about}" for each, about in _STEERING.items()), _OUTPUT, *_KEYS, _OTHERS):
                self._printer.note(f"  {line}", "dim")
            return True
        if name == "/output":
            return self._show_output(_number(value) or 1)
        if name not in _STEERING:
            return False
        if not value:
            self._printer.note(f"  {name} {_STEERING[name]}", "dim")
            return True
        try:
            await self._steer(name, value)
        except ClientRefused as error:
            self._printer.note(f"  ✗ {error}", "red")
        else:
            self._printer.note(f"  · {name[1:]} {value}", "dim")
        return True

    async def _steer(self, name: str, value: str) -> None:
        if name == "/model":
            await self._client.set_model(None if value == "default" else value)
        elif name == "/mode":
            await self._client.set_permission_mode(value)
        elif value.isdecimal() or value in ("off", "default"):
            await self._client.set_thinking_budget({"off": 0, "default": None}.get(value, _number(value)))
        else:
            raise ClientRefused(f"{value!r} is not a number of tokens, off or default")

    def _show_output(self, number: int) -> bool:
        found = [*self._outputs][number - 1 : number]
        self._printer.note(found[0].text.strip("\n") or "(nothing)" if found else "  there is no such output", "dim")
        return True

    def _end(self, talk: PermissionLoop) -> None:
        """Prints the command that shows the session."""
        self._printer.end()
        for rule, number in talk.let_through.items():
            self._printer.note(f"the rule {rule} let {count(number, 'call')} through", "dim")
        if talk.session is not None:
            self._printer.note(f"reread show {talk.session}", "dim")


def _limits(args: Options) -> list[CostLimit]:
    now = int(args.config.now.timestamp() * 1000)
    found = archives.status.budgets(str(args.config.home), now)
    own = [CostLimit("the run's limit", args.max_cost)] if args.max_cost is not None else []
    return [*own, *(CostLimit(each.name, each.limit, each.spent) for each in found)]


_STEERING = {
    "/model": "NAME: another model from now on, such as haiku, or default",
    "/mode": "MODE: another permission mode, such as plan, acceptEdits or default",
    "/thinking": "TOKENS: how much it may think, or off, or default",
}
_OUTPUT = "/output [N]: the whole output of the last tool, or of the Nth from the end"
_KEPT_OUTPUTS = 20
_LEAVE = ("/exit", "/quit")
_KEYS = (
    "Enter sends; Alt-Enter, or Enter behind a backslash, begins another line; what is pasted is one prompt",
    "Up and Down go through earlier prompts that begin like this one; Tab completes /commands and @files",
    "what you enter while Claude works is sent when it is done; Esc or Ctrl-C interrupts and gives it back to edit",
)
_COUNTS_WITHIN = 3.0
"""Seconds in which the client counts its context; it asks the API, which took 1.2 over loopback."""
_PAUSE = 1.0
"""Seconds without a key after which a person has stopped typing."""
_OTHERS = "Ctrl-D or /exit ends the session; other commands go to Claude Code"


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


UNASKED = "Permission was denied: there is no terminal to ask at."


class PermissionLoop:
    """Runs the client turn by turn, shows events and asks permission requests one after the other."""

    def __init__(
        self,
        client: Client,
        printer: EventPrinter,
        policy: Policy,
        answerer: Answerer | None,
        *,
        rules: tuple[AllowRule, ...] = (),
        folder: str = "",
        on_event: Callable[[Event], None] = lambda _: None,
        aside: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
        settled: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client = client
        self._printer = printer
        self._policy = policy
        self._answerer = answerer
        self._rules = rules
        self._folder = folder
        self._on_event = on_event
        self._aside = aside
        """Gives a question the whole screen."""
        self._settled = settled
        self.let_through: Counter[str] = Counter()
        """How many calls each rule let through."""
        self._one_question = asyncio.Lock()
        self._confirming: asyncio.Task[bool] | None = None
        self._waiting: deque[Permission] = deque()
        self._open: Permission | None = None
        self._asking: asyncio.Task[None] | None = None
        self._held: list[Event] = []
        self._has_told = False
        self._is_busy = False
        self.was_interrupted = False
        """Whether the person interrupted the last turn."""
        self._background = BackgroundTasks()
        self.session: str | None = None
        self.result: TurnResult | None = None

    async def turn(self, text: str, images: Sequence[Path] = (), *, is_typed: bool = False) -> None:
        """Runs one prompt until it is done. `is_typed`: the prompt is on the screen already."""
        self._is_busy, self.was_interrupted, self.result = True, False, None
        try:
            async for event in self._client.turn(text, images):
                if not (is_typed and isinstance(event, Prompt) and event.agent is None):
                    self._saw(event)
        finally:
            self._is_busy = False
            await self._stop_asking()
            self._printer.end()

    def press(self, main: asyncio.Task[int]) -> None:
        """Handles Ctrl-C: the first in a turn interrupts it, the next ends the run."""
        if not self.stop_turn():
            self.was_interrupted = True
            main.cancel()

    def stop_turn(self) -> bool:
        """Interrupts the turn; False if none runs or it was interrupted before."""
        if not self._is_busy or self.was_interrupted:
            return False
        self.was_interrupted = True
        self._run(self._interrupt())
        return True

    async def _interrupt(self) -> None:
        with contextlib.suppress(ClientRefused):  # it was idle
            await self._client.interrupt()

    def _saw(self, event: Event) -> None:
        self.session = event.session or self.session
        self._on_event(event)
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
        if self._printer.is_json or not isinstance(event, PermissionAnswered):
            return True
        if event.rule is not None:
            return True
        return event.decision != "allow" and (self._answerer is None or self._policy != "ask")

    def _show(self, event: Event) -> None:
        if (self._open is not None or self._confirming is not None) and not self._printer.is_json:
            self._held.append(event)
        else:
            self._printer.show([event])

    # Questions

    def _on_permission(self, permission: Permission) -> None:
        if self._printer.is_json:
            self._printer.show([permission])
        decision = self._unasked(permission)
        if decision is not None:
            self._run(self._client.decide(permission, decision))
            return
        self._waiting.append(permission)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_each())

    def _unasked(self, permission: Permission) -> Decision | None:
        """The decision by policy, or a refusal if there is nobody to ask; None if the person must be asked."""
        rule = allowing(self._rules, permission, self._folder)
        if rule is not None:
            self.let_through[rule.text] += 1
            return Allow(rule=rule.text)
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
            async with self._one_question:
                if self._settled is not None:
                    await self._settled()
                if not self._waiting:  # it was void meanwhile
                    return
                self._open = permission = self._waiting.popleft()
                try:
                    with self._aside():
                        await self._ask(self._answerer, permission)
                except ClientError:
                    self._waiting.clear()  # the client has ended; the loop over events reports it
                finally:
                    self._open = None
                    if is_edit(permission.tool):
                        self._printer.screen.saw_diff(permission.id)
                    self._show_held()

    def _show_held(self) -> None:
        held, self._held = self._held, []
        self._printer.show(held)

    async def confirm(self, reason: str) -> bool:
        """Asks the person whether to go on all the same; False if there is nobody to ask."""
        if self._answerer is None:
            return False
        async with self._one_question:
            self._confirming = asyncio.create_task(self._answerer.confirm(reason))
            try:
                with self._aside():
                    return await self._confirming
            finally:
                self._confirming = None
                self._show_held()

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
        if self._printer.is_json:
            self._printer.show([event])
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
        if self._confirming is not None:
            self._confirming.cancel()  # asked again before the next prompt
        if self._asking is not None and not self._asking.done():
            await self._ask_on(self._asking)

    def _run(self, task: Coroutine[Any, Any, None]) -> None:
        """Runs in its own task: the loop over the events must not wait for the client's answer."""
        self._background.send(_quietly(task))


async def _quietly(task: Coroutine[Any, Any, None]) -> None:
    """Awaits, ignoring ClientError: a client that has ended needs no answer, and the loop over its events ends too."""
    with contextlib.suppress(ClientError):
        await task
