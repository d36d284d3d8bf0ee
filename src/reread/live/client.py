"""Drives Claude Code over the stream-json protocol: `Client`, hooks, host tools, and permissions decided by policy."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, Unpack
from uuid import uuid4

from reread.errors import BadInput, ClientError, ClientRefused, SourceError
from reread.records import ControlRequest
from reread.records.json_parts import object_of, objects_in
from reread.sessions import Session, SessionBuilder, ToolPermission

from . import outgoing
from .capture import Capture, interpreted
from .capture_fold import withdrawn_block
from .events import (
    ControlAnswer,
    ControlQuestion,
    Event,
    HookCallback,
    Permission,
    PermissionAnswered,
    PermissionVoid,
    Trouble,
    TurnResult,
    UnknownFrame,
    Withdrawn,
)
from .host import Hook, Hooks, HostTool, HostTools
from .outgoing import Allow, Decision, Deny
from .protocol import Stream, settled_permission
from .running_turn import RunningTurn, is_request
from .transport import (
    PATIENT,
    BackgroundTasks,
    ClientOptions,
    Mailbox,
    Patience,
    Program,
    Start,
    Transport,
    child_environment,
    is_folder,
    program,
    unhurried,
)

OnPermission = Callable[[Permission], Decision | Awaitable[Decision | None] | None]
"""Decides about a tool, a question or a plan; None leaves the decision to the loop over the events."""


Policy = Literal["ask", "allow", "deny"]
POLICIES: tuple[Policy, ...] = ("ask", "allow", "deny")
REFUSED = "Permission was denied: this run was started to deny every permission."

NOBODY_TO_ASK = "Permission was denied: this run was started without anybody to ask."
NO_PLAN = "The user wants another plan."
NOT_STARTED = "the client has not been started: use `async with`"
LONGEST_PLAN = 1_000_000
"""Bytes of a plan file that are shown."""


def by_policy(policy: Policy, permission: Permission) -> Decision | None:
    """The decision that the policy makes without asking; None if the person must be asked, as always for a question."""
    if policy == "ask" or permission.is_question:
        return None
    return Allow() if policy == "allow" else Deny(reason=REFUSED)


SHOWN_LINES = 5
"""How many of the last lines of stderr an error message quotes."""
LISTENS = 1.0
"""Seconds to wait for a client that closed its input to end, so that the error can report how it ended."""

Picture = bytes | str | os.PathLike[str]
"""An image, or the path of one."""


class StartArguments(TypedDict, total=False):
    """The arguments of `Client` that say which session, model and options a run starts with."""

    model: str | None
    permission_mode: str | None
    max_thinking_tokens: int | None
    resume: str | None
    fork: bool
    continue_last: bool
    session_id: str | None
    partial: bool
    options: ClientOptions | None


class ClientArguments(StartArguments, total=False):
    """The arguments of `Client`, typed for functions that pass them on."""

    claude: Program | None
    cwd: str | os.PathLike[str] | None
    arguments: Sequence[str]
    environment: Mapping[str, str] | None
    capture: str | os.PathLike[str] | None
    hooks: Mapping[str, Sequence[Hook]] | None
    on_permission: OnPermission | None
    tools: Sequence[HostTool]
    patience: Patience


class Client:
    """A running Claude Code: send prompts, iterate over events, answer its questions, steer it.

    Only one loop may iterate over the events at a time. `claude` is the program, by default `claude` on PATH;
    `environment` replaces our own, as in `subprocess`; `capture` is the folder for a file with every line of the run;
    `hooks` are keyed by event, such as `PreToolUse`; `on_permission` decides permission requests, which are also
    delivered as events; `tools` are functions of this process that the model may call.
    """

    def __init__(
        self,
        claude: Program | None = None,
        *,
        cwd: str | os.PathLike[str] | None = None,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        capture: str | os.PathLike[str] | None = None,
        hooks: Mapping[str, Sequence[Hook]] | None = None,
        on_permission: OnPermission | None = None,
        tools: Sequence[HostTool] = (),
        patience: Patience = PATIENT,
        **start: Unpack[StartArguments],
    ) -> None:
        self._program = claude
        self._cwd = Path(cwd) if cwd is not None else None
        self._tools = HostTools(tools)
        self._start = Start(**start, arguments=[*self._tools.arguments, *arguments])
        self._environment = environment
        self._capture_folder = Path(capture) if capture is not None else None
        self._hooks = Hooks(hooks or {})
        self._on_permission = on_permission
        self._patience = patience
        self._builder = SessionBuilder()
        self._stream = Stream(self._builder, _plan_file, counts_on=self._start.goes_on)
        self._mailbox = Mailbox()
        self._permissions: dict[str, tuple[str, ToolPermission]] = {}
        self._asked: dict[str, asyncio.Future[ControlAnswer]] = {}
        self._background = BackgroundTasks()
        self.hook_errors: list[Exception] = []
        """Exceptions of hooks and `on_permission`. The client got an error as the answer and went on."""

    capture: Capture | None = None
    """The capture file: its path, and the first problem in writing it. `/clear` begins another."""
    _about: dict[str, Any] | None = None
    """What `initialize` was answered."""
    _open_turn: weakref.ref[TurnEvents] | None = None
    _leaving: asyncio.Task[None] | None = None
    _transport: Transport | None = None
    _reader: asyncio.Task[None] | None = None
    _is_answering = False
    _has_failed_turn = False
    _is_closing = False
    _failure: Exception | None = None

    async def __aenter__(self) -> Self:
        if self._reader is not None:
            raise BadInput("a Client runs once: make another")
        environment = child_environment(os.environ if self._environment is None else self._environment)
        command = [*program(self._program, environment), *self._start.flags()]
        if self._cwd is not None and not is_folder(self._cwd):
            raise BadInput(f"{str(self._cwd)!r} is not a folder to work in")
        if self._capture_folder is not None:
            self.capture = Capture(self._capture_folder, on_problem=lambda problem: self._report("capture", problem))
            about = {"claude": command[0], "arguments": command[1:], "cwd": str(self._cwd or Path.cwd())}
            self.capture.note({**about, "pid": os.getpid()})
        try:
            self._transport = await Transport.start(
                command, cwd=self._cwd, environment=environment, on_error=self._heard, patience=self._patience
            )
        except ClientError as error:
            self._end_capture({"error": str(error)})
            raise
        self._reader = asyncio.create_task(self._read(self._transport))
        if self._hooks:
            try:
                self._about = object_of(await self.ask("initialize", hooks=self._hooks.announced))
            except BaseException:
                await self.close()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the client: interrupts its turn, closes its input, then asks it to end, then kills it. Its last output
        is still read."""
        if not self._is_closing:
            self._interrupt_at_the_end()
        self._is_closing = True
        if self._reader is not None and self._transport is not None:
            with self._mailbox.unbounded():
                await unhurried(asyncio.create_task(_ended(self._transport, self._reader)))

    def _interrupt_at_the_end(self) -> None:
        """A client whose input just ends goes on with its turn, and takes an open question for a failed tool."""
        if self._transport is None or not (self._is_answering or self._stream.open_tasks):
            return
        line = outgoing.request(str(uuid4()), "interrupt")
        if self._transport.write_last(line) and self.capture is not None:
            self.capture.sent(line)

    def end_input(self) -> None:
        """Tells the client that no prompt or answer will follow. It ends when it is done, and so do the events."""
        self._running().end_input()

    @property
    def session(self) -> Session:
        """The conversation so far, built from the same records as a session from a transcript."""
        return self._builder.session()

    @property
    def stream(self) -> Stream:
        """The protocol state: the session's id, open permissions and open tasks."""
        return self._stream

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative if a signal ended it, as in `subprocess`."""
        return self._transport.exit_code if self._transport is not None else None

    @property
    def stderr(self) -> str:
        """The last lines of the client's stderr."""
        return "\n".join(self._transport.stderr) if self._transport is not None else ""

    # Events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """The next event. If the client ended badly, raises ClientError once after the last event."""
        if self._reader is None:
            raise BadInput(NOT_STARTED)
        await self._when_left()
        delivery = await self._mailbox.take()
        if delivery is not None:
            return delivery.event
        failure, self._failure = self._failure, None
        raise failure or StopAsyncIteration

    def turn(self, text: str, images: Sequence[Picture] = ()) -> TurnEvents:
        """Sends a prompt and yields events until it is answered and nothing works in the background.

        A loop that is left early, by `break`, an exception, a time-out or a cancelled task, interrupts the turn; the
        next one begins when that has ended. One turn at a time: a second loop raises BadInput (`send` queues a prompt).
        """
        return TurnEvents(self, text, images)

    async def _begin(self, events: TurnEvents, text: str, images: Sequence[Picture]) -> RunningTurn:
        """Sends the prompt of a turn once the turn before is over."""
        uuid = str(uuid4())
        line = outgoing.prompt(text, [_image(picture) for picture in images], uuid=uuid)
        self._running()
        for _ in range(_CLOSING_STEPS):
            if self._is_in_turn():
                await asyncio.sleep(0)
        if self._is_in_turn():
            raise BadInput("a turn is open: finish its loop, or leave it, before the next one; `send` queues a prompt")
        self._open_turn = weakref.ref(events)
        await self._when_left()
        events.turn = turn = RunningTurn(uuid)
        self._is_answering = True
        await self._say(line)
        return turn

    def _is_in_turn(self) -> bool:
        open_turn = self._open_turn() if self._open_turn is not None else None
        return open_turn is not None and not open_turn.is_over

    async def _when_left(self) -> None:
        """Waits until a turn that was left early has ended."""
        if self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def _next_of(self, turn: RunningTurn) -> Event | None:
        """The next event of a turn; None after its last."""
        if turn.is_done:
            return None
        try:
            async with asyncio.timeout(turn.grace):
                delivery = await self._mailbox.take()
        except TimeoutError:
            return None
        if delivery is None:
            if self._failure is not None:
                raise self._failure
            return None
        turn.saw(delivery)
        return delivery.event

    def _leave(self, turn: RunningTurn) -> None:
        if not (turn.is_done or self._is_closing or self._reader is None or self._reader.done()):
            self._leaving = asyncio.create_task(_suppressing_the_end(self._drain(turn)))

    async def _drain(self, turn: RunningTurn) -> None:
        """Stops a turn and drops the rest of its events."""
        await self._stop(turn)
        while (event := await self._next_of(turn)) is not None:
            if is_request(event):  # it was interrupted before it had begun
                await self._stop(turn)

    async def _stop(self, turn: RunningTurn) -> None:
        with contextlib.suppress(ClientRefused):
            await self.interrupt()
        for task in sorted(self._stream.open_tasks):
            try:
                await self.stop_task(task)
            except ClientRefused:
                turn.waits_for_tasks = False  # no way to end them

    # Requests to the client

    async def send(self, text: str, images: Sequence[Picture] = ()) -> str:
        """Sends a prompt and returns the uuid that its line will have in the transcript. A busy client queues it."""
        await self._when_left()
        uuid = str(uuid4())
        line = outgoing.prompt(text, [_image(picture) for picture in images], uuid=uuid)
        self._is_answering = True
        await self._say(line)
        return uuid

    async def decide(self, permission: Permission, decision: Decision) -> None:
        """Answers a permission request. Answering one that is void by now does no harm."""
        await self._say(outgoing.decision(permission.request_id, decision, permission.input))

    async def allow(self, permission: Permission, input: Any = None, remember: Sequence[Any] = ()) -> None:  # noqa: A002
        """Lets the tool run; `remember` takes items of `permission.suggestions`."""
        await self.decide(permission, Allow(input=input, remember=remember))

    async def deny(self, permission: Permission, reason: str = "", interrupt: bool = False) -> None:
        await self.decide(permission, Deny(reason=reason, interrupt=interrupt))

    async def answer(self, permission: Permission, chosen: Mapping[str, str]) -> None:
        """Answers `AskUserQuestion`: for each question the chosen label or a text of one's own."""
        await self.decide(permission, outgoing.answers(permission.input, chosen))

    async def interrupt(self) -> None:
        """Stops the client's work; a result follows. Harmless when it is idle."""
        await self.ask("interrupt")

    async def set_model(self, model: str | None) -> None:
        await self.ask("set_model", model=model)

    async def set_permission_mode(self, mode: str) -> None:
        await self.ask("set_permission_mode", mode=mode)

    async def set_thinking_budget(self, tokens: int | None) -> None:
        """Applies from the next request on; 0 turns thinking off, None leaves it to the client."""
        await self.ask("set_max_thinking_tokens", max_thinking_tokens=tokens)

    async def about(self) -> dict[str, Any]:
        """What the client offers: `commands`, `models`, `agents`, `account`, `output_style`, ..."""
        if self._about is None:  # a second `initialize` would announce the hooks again
            self._about = object_of(await self.ask("initialize", hooks=None))
        return self._about

    async def context_usage(self) -> dict[str, Any]:
        """What fills the context window: `categories`, `totalTokens`, `maxTokens`, ..."""
        return object_of(await self.ask("get_context_usage"))

    async def settings(self) -> dict[str, Any]:
        """`effective`, `sources` and `applied`."""
        return object_of(await self.ask("get_settings"))

    async def mcp_servers(self) -> list[dict[str, Any]]:
        """Each with its `name` and `status`."""
        return objects_in(object_of(await self.ask("mcp_status")).get("mcpServers"))

    async def reconnect_mcp_server(self, name: str) -> None:
        await self.ask("mcp_reconnect", serverName=name)

    async def toggle_mcp_server(self, name: str, *, enabled: bool) -> None:
        await self.ask("mcp_toggle", serverName=name, enabled=enabled)

    async def stop_task(self, task: str) -> None:
        """Ends a background task; `stream.open_tasks` has the ids."""
        await self.ask("stop_task", task_id=task)

    async def rewind_files(self, prompt: str, *, dry_run: bool = False) -> dict[str, Any]:
        """Restores files to their state before a prompt, named by the uuid that `send` returned.

        The client keeps the needed backups only if its environment has `CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1`.
        """
        extra = {"dry_run": True} if dry_run else {}
        return object_of(await self.ask("rewind_files", user_message_id=prompt, **extra))

    async def ask(self, subtype: str, **fields: Any) -> Any:
        """Sends any control request and returns the response, {} if it is empty.

        Raises ClientRefused if the answer is an error, ClientError if the client ends before it answers.
        """
        request_id = str(uuid4())
        answered: asyncio.Future[ControlAnswer] = asyncio.get_running_loop().create_future()
        answered.add_done_callback(_is_heard)
        self._asked[request_id] = answered
        try:
            with self._mailbox.unbounded():
                await self._say(outgoing.request(request_id, subtype, **fields))
                answer = await answered
        finally:
            del self._asked[request_id]
        if not answer.ok:
            raise ClientRefused(answer.error or f"the client refused {subtype!r} without a reason")
        return {} if answer.response is None else answer.response

    async def _say(self, line: bytes) -> None:
        transport = self._running()
        if self.capture is not None:
            self.capture.sent(line)
        self._deliver(self._stream.sent(line))
        with self._mailbox.unbounded():
            try:
                await transport.write(line)
            except ConnectionError as error:
                await asyncio.wait([self._reader] if self._reader is not None else [], timeout=LISTENS)
                raise self._ended_error() from error

    def _running(self) -> Transport:
        if self._transport is None or self._reader is None:
            raise BadInput(NOT_STARTED)
        if self._reader.done() or self._is_closing:
            raise self._ended_error()
        return self._transport

    # Reading the client

    async def _read(self, transport: Transport) -> None:
        """Reads everything the client writes. It waits for room in the mailbox, never for the host to answer."""
        line = b"\n"
        try:
            async for line in transport.lines():
                if self.capture is not None:
                    self.capture.received(line)
                before = self._stream.session
                self._deliver(interpreted(self._stream, line), len(line))
                if self.capture is not None and before is not None and self._stream.session != before:
                    self.capture = self.capture.followed_by(before, line)
                await self._mailbox.room()
            await transport.close()
            self._deliver(self._stream.close())
            self._failure = self._trouble()
        except Exception as error:  # noqa: BLE001  a bug of ours must reach the loop that waits for events
            self._failure = error
        finally:
            transport.abandon()
            self._end_capture({"exit_code": transport.exit_code, "unterminated": not line.endswith(b"\n")})
            self._background.cancel()
            for answered in self._asked.values():
                if not answered.done():
                    answered.set_exception(self._ended_error())
            self._mailbox.end()

    def _deliver(self, events: Sequence[Event], weight: int = 0) -> None:
        for event in events:
            react = _REACTIONS.get(type(event))
            if react is not None:
                react(self, event)
        self._mailbox.add(events, bool(self._stream.open_tasks), weight)

    def _take_answer(self, event: ControlAnswer) -> None:
        answered = self._asked.get(event.request_id)
        if answered is not None and not answered.done():
            answered.set_result(event)

    def _take_question(self, event: ControlQuestion) -> None:
        if event.subtype == "mcp_message" and self._tools:
            self._send_out(self._answer_tools(event))
        else:
            self._refuse(event.request_id, f"this host does not know {event.subtype!r}")

    def _take_unknown(self, event: UnknownFrame) -> None:
        if isinstance(event.record, ControlRequest) and event.record.request_id:
            self._refuse(event.record.request_id, "this host does not understand the request")

    def _refuse(self, request_id: str, why: str) -> None:
        """An error to a request that this host does not know: unanswered, it would block the client for ever."""
        self._send_out(self._say(outgoing.failure(request_id, why)))

    def _take_permission(self, event: Permission) -> None:
        """Permissions belong to the session: a transcript has only their outcome."""
        if event.id is not None:
            asked = ToolPermission(asked=datetime.now(UTC), reason=event.reason)
            self._permissions[event.request_id] = event.id, asked
        if self._on_permission is not None:
            self._send_out(self._call_on_permission(self._on_permission, event))

    def _take_settled(self, event: PermissionAnswered | PermissionVoid) -> None:
        known = self._permissions.pop(event.request_id, None)
        if known is not None:
            call, permission = known
            self._builder.add_permission(call, settled_permission(permission, event, datetime.now(UTC)))

    def _take_result(self, event: TurnResult) -> None:
        self._is_answering = self._is_answering and event.origin is not None
        self._has_failed_turn = event.is_error

    def _send_out(self, task: Coroutine[Any, Any, None]) -> None:
        """Runs in its own task: the reader must not wait for room in the client's input."""
        self._background.send(_suppressing_the_end(task))

    async def _call_hook(self, callback: HookCallback) -> None:
        try:
            line = outgoing.success(callback.request_id, await self._hooks.answer(callback))
        except Exception as error:  # noqa: BLE001  the client must get an answer to any error
            self.hook_errors.append(error)
            self._report("hook", f"{type(error).__name__}: {error}")
            line = outgoing.failure(callback.request_id, f"{type(error).__name__}: {error}")
        await self._say(line)

    async def _answer_tools(self, question: ControlQuestion) -> None:
        try:
            line = outgoing.success(question.request_id, await self._tools.answer(question.data))
        except BadInput as error:  # the tool's result is not JSON
            line = outgoing.failure(question.request_id, str(error))
        await self._say(line)

    async def _call_on_permission(self, decide: OnPermission, permission: Permission) -> None:
        try:
            said = decide(permission)
            decision = await said if inspect.isawaitable(said) else said
            if decision is None:
                return
            line = outgoing.decision(permission.request_id, decision, permission.input)
        except Exception as error:  # noqa: BLE001  the client must get an answer to any error
            self.hook_errors.append(error)
            self._report("permission", f"{type(error).__name__}: {error}")
            refused = Deny(reason=f"The host could not decide: {type(error).__name__}: {error}")
            line = outgoing.decision(permission.request_id, refused, permission.input)
        await self._say(line)

    def _heard(self, line: bytes) -> None:
        if self.capture is not None:
            self.capture.error(line)

    def _report(self, what: Literal["hook", "capture", "permission"], text: str) -> None:
        self._deliver([Trouble(session=self._stream.session, what=what, text=text)])

    def _end_capture(self, note: Mapping[str, Any]) -> None:
        if self.capture is not None:
            lost = {"lost": self.capture.lost} if self.capture.lost else {}
            self.capture.note({**note, **lost})
            self.capture.close(self._stream.session)

    # How it ended

    def _trouble(self) -> ClientError | None:
        """The error that describes a bad end of the client; None if it ended well."""
        if self._is_closing:
            return None
        if self._is_answering:
            return self._error("Claude Code ended in the middle of a turn")
        return self._error("Claude Code ended") if self.exit_code and not self._has_failed_turn else None

    def _ended_error(self) -> Exception:
        ended = "Claude Code has ended" if self.exit_code is not None else "Claude Code does not listen any more"
        return self._failure or self._error(ended)

    def _error(self, what: str) -> ClientError:
        stderr = self._transport.stderr[-SHOWN_LINES:] if self._transport is not None else ()
        code = self.exit_code
        return ClientError(what if code is None else f"{what} (exit code {code})", code, stderr)


_CLOSING_STEPS = 4
"""Steps of the event loop in which it closes an async generator, around a turn, that was left by `break`."""


class TurnEvents:
    """The events of one prompt, which is sent when the first is asked for."""

    def __init__(self, client: Client, text: str, images: Sequence[Picture]) -> None:
        self._client = client
        self._prompt = text, images
        self.turn: RunningTurn | None = None
        self.is_over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if self.is_over:
            raise StopAsyncIteration
        try:
            event = await self._client._next_of(self.turn or await self._client._begin(self, *self._prompt))
        except BaseException:
            self._leave()
            raise
        if event is None:
            self.is_over = True
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Leaves the turn, and returns when it has ended."""
        self._leave()
        await self._client._when_left()

    def _leave(self) -> None:
        if not self.is_over:
            self.is_over = True
            if self.turn is not None:
                self._client._leave(self.turn)

    def __del__(self) -> None:
        """Leaves the turn when its loop was left: nothing else tells of a `break`."""
        with contextlib.suppress(RuntimeError):  # the event loop has ended, and the client with it
            asyncio.get_running_loop()
            self._leave()


async def query(prompt: str, images: Sequence[Picture] = (), **client: Unpack[ClientArguments]) -> AsyncIterator[Event]:
    """The events of one prompt in its own client, which ends with them; `client` are arguments of `Client`.

    Without `on_permission` all permission requests are denied, because nobody could answer them.
    """
    client["on_permission"] = client.get("on_permission") or _nobody
    async with Client(**client) as running:
        async for event in running.turn(prompt, images):
            yield event


def _nobody(permission: Permission) -> Decision:  # noqa: ARG001
    return Deny(reason=NOBODY_TO_ASK)


async def _ended(transport: Transport, reader: asyncio.Task[None]) -> None:
    await transport.close()
    await asyncio.wait([reader])


def _is_heard(answered: asyncio.Future[ControlAnswer]) -> None:
    """Retrieves the exception of a request that could not be sent: asyncio warns about one that nobody retrieves."""
    if not answered.cancelled():
        answered.exception()


async def _suppressing_the_end(task: Coroutine[Any, Any, None]) -> None:
    """Awaits, ignoring ClientError: a client that has ended needs no answer, and the loop over its events ends too."""
    with contextlib.suppress(ClientError):
        await task


_REACTIONS: dict[type[Event], Callable[[Client, Any], None]] = {
    ControlAnswer: Client._take_answer,
    HookCallback: lambda client, event: client._send_out(client._call_hook(event)),
    ControlQuestion: Client._take_question,
    UnknownFrame: Client._take_unknown,
    Withdrawn: lambda client, event: client._builder.add(withdrawn_block(event)),
    Permission: Client._take_permission,
    PermissionAnswered: Client._take_settled,
    PermissionVoid: Client._take_settled,
    TurnResult: Client._take_result,
}
"""What the client itself does about an event; the host gets all of them."""


def _plan_file(path: str) -> str | None:
    """The text of the plan file; None if it cannot be read, as on another machine."""
    try:
        with Path(path).open("rb") as file:
            return file.read(LONGEST_PLAN).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None


def _image(picture: Picture) -> bytes:
    if isinstance(picture, bytes):
        return picture
    try:
        return Path(picture).read_bytes()
    except OSError as error:
        raise SourceError(Path(picture), error.strerror or str(error)) from error
