"""The client as a child process spoken to in lines: how it is started, and where its events wait for the reader."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from reread.errors import BadInput, ClientError, printable

from .events import Event

Program = str | PathLike[str] | Sequence[str]
"""`claude`, its path, or a command that leads to it."""

SPEAKS_STREAM_JSON = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
ASKS_ON_STDIO = ("--permission-prompt-tool", "stdio")
HOST = "sdk-py"
"""What transcripts name as the entry point. The clients seen (2.1.197, 2.1.325) treat it like `sdk-ts`."""
NOT_FOUND = (
    "Claude Code was not found: install it with `npm install -g @anthropic-ai/claude-code`, "
    "or say where it is with `--claude PATH`"
)


_ID = re.compile(r"\w[\w.-]*")
"""A session is named by its file, and a file may be called `--dangerously-skip-permissions.jsonl`."""


class ClientOptions(Struct, frozen=True, kw_only=True):
    """What else the client can be told at its start; None and nothing leave it as the client has it."""

    system_prompt: str | None = None
    """Instead of the client's own."""
    append_system_prompt: str | None = None
    """Behind the client's own."""
    tools: Sequence[str] | None = None
    """The built-in tools there are; an empty list for none."""
    allowed_tools: Sequence[str] = ()
    """Rules such as `Read` or `Bash(git log:*)` that are allowed without asking."""
    disallowed_tools: Sequence[str] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    fallback_model: str | None = None
    effort: str | None = None
    """`low`, `medium`, `high`, ..."""
    add_dirs: Sequence[str | PathLike[str]] = ()
    """Folders to work in besides `cwd`."""
    mcp_servers: Mapping[str, Mapping[str, Any]] | str | PathLike[str] | None = None
    """Servers by name, as in `.mcp.json`, or the path of such a file."""
    strict_mcp: bool = False
    """Whether only these servers are used."""
    settings: Mapping[str, Any] | str | PathLike[str] | None = None
    """On top of the settings files, or the path of one more."""
    setting_sources: Sequence[str] | None = None
    """Which settings files are read: `user`, `project`, `local`; an empty list for none."""
    agents: Mapping[str, Mapping[str, Any]] | None = None
    """Subagents by name, each with `description` and `prompt`."""
    output_schema: Mapping[str, Any] | None = None
    """A JSON Schema that the answer must meet."""
    betas: Sequence[str] = ()
    flags: Mapping[str, str | None] = {}
    """Any other flag of the client by its name without `--`; None for one without a value."""

    def arguments(self) -> list[str]:
        """With `=`, so that a value that begins with a dash is no flag."""
        named = {
            "system-prompt": self.system_prompt,
            "append-system-prompt": self.append_system_prompt,
            "tools": None if self.tools is None else ",".join(self.tools),
            "allowedTools": ",".join(self.allowed_tools) or None,
            "disallowedTools": ",".join(self.disallowed_tools) or None,
            "max-turns": self.max_turns,
            "max-budget-usd": self.max_budget_usd,
            "fallback-model": self.fallback_model,
            "effort": self.effort,
            "mcp-config": _document(self._servers),
            "settings": _document(self.settings),
            "setting-sources": None if self.setting_sources is None else ",".join(self.setting_sources),
            "agents": _document(self.agents),
            "json-schema": _document(self.output_schema),
            "betas": ",".join(self.betas) or None,
        }
        return [
            *(f"--{name}={value}" for name, value in named.items() if value is not None),
            *(f"--add-dir={fspath(folder)}" for folder in self.add_dirs),
            *(["--strict-mcp-config"] if self.strict_mcp else []),
            *(f"--{name}" if value is None else f"--{name}={value}" for name, value in self.flags.items()),
        ]

    @property
    def _servers(self) -> Mapping[str, Any] | str | PathLike[str] | None:
        return {"mcpServers": self.mcp_servers} if isinstance(self.mcp_servers, Mapping) else self.mcp_servers


def _document(value: Mapping[str, Any] | str | PathLike[str] | None) -> str | None:
    """JSON, or the path of a file that has it."""
    return json.dumps(value) if isinstance(value, Mapping) else None if value is None else fspath(value)


class Start(Struct, frozen=True, kw_only=True):
    """What a run is to be."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | None = None
    resume: str | None = None
    fork: bool = False
    continue_last: bool = False
    session_id: str | None = None
    partial: bool = True
    options: ClientOptions = ClientOptions()
    arguments: Sequence[str] = ()

    def flags(self) -> list[str]:
        if self.fork and not (self.resume or self.continue_last):
            raise BadInput("a fork needs a session to be taken from: give `resume` or `continue_last`")
        named = {
            "--model": self.model,
            "--permission-mode": self.permission_mode,
            "--max-thinking-tokens": self.max_thinking_tokens,
            "--resume": self.resume,
            "--session-id": self.session_id,
        }
        asked = {
            "--include-partial-messages": self.partial,
            "--fork-session": self.fork,
            "--continue": self.continue_last,
        }
        return [
            *SPEAKS_STREAM_JSON,
            *ASKS_ON_STDIO,
            *(flag for flag, is_asked in asked.items() if is_asked),
            *(part for flag, value in named.items() if value is not None for part in (flag, str(value))),
            *self.options.arguments(),
            *self.arguments,
        ]


def program(claude: Program | None, environment: Mapping[str, str]) -> list[str]:
    """The command that starts the client; raises ClientError where there is none."""
    if claude is not None and not isinstance(claude, str | PathLike):
        return list(claude)
    wanted = fspath(claude or "claude")
    # On Windows npm installs `claude.cmd`; `which` knows such endings.
    found = shutil.which(wanted, path=environment.get("PATH"))
    if found is not None:
        return [found]
    if claude is None:
        raise ClientError(NOT_FOUND)
    raise ClientError(f"{wanted!r} is not a program that can be run; {NOT_FOUND}")


class Resumed(NamedTuple):
    """A session to go on with, and the folder it was held in: the client knows it only there."""

    session: str
    folder: str | None
    """None where it is not there any more."""


def resumed(session: str, project: str | None, *, is_there: bool) -> Resumed:
    """`is_there` says whether the client still has the transcript; raises BadInput where it has not."""
    if not is_there:
        how = f"`reread archive restore {session} --to DIR` gives its files back"
        raise BadInput(f"Claude Code does not have the session {session} any more; {how}")
    if not _ID.fullmatch(session):
        raise BadInput(f"{session!r} is not an id that Claude Code accepts")
    return Resumed(session, project if project and is_folder(project) else None)


def is_folder(path: str | PathLike[str]) -> bool:
    """Whether it is one, as far as we may look: `Path.is_dir` raises where we may not, and for too long a name."""
    return os.path.isdir(path)  # noqa: PTH112


def child_environment(given: Mapping[str, str]) -> dict[str, str]:
    """What the client sees. A client that runs inside another one behaves differently, so it must not know."""
    seen = dict(given)
    if seen.pop("CLAUDECODE", None) is not None:
        seen.pop("CLAUDE_CODE_ENTRYPOINT", None)  # of the other one
    seen.setdefault("CLAUDE_CODE_ENTRYPOINT", HOST)
    return seen


class Errands:
    """Tasks that nobody awaits. They are held until they are done: asyncio alone might lose them."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def send(self, errand: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(errand)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


ROOM = 4 << 20
"""Bytes of lines whose events may wait."""


class Delivery(NamedTuple):
    event: Event
    has_open_tasks: bool
    """Whether something worked in the background when this came."""
    weight: int


class Mailbox:
    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._waiting: deque[Delivery] = deque()
        self._weight = 0
        self._waiters_for_the_client = 0
        self._has_ended = False
        self._news = asyncio.Event()
        self._space = asyncio.Event()

    def add(self, events: Sequence[Event], has_open_tasks: bool, weight: int = 0) -> None:
        for event in events:
            self._waiting.append(Delivery(event, has_open_tasks, weight))
            self._weight += weight
            weight = 0  # a line is counted once, whatever it amounts to
        if events:
            self._news.set()

    async def room(self) -> None:
        """Returns when there is room for more."""
        while self._weight > self._room and not self._waiters_for_the_client:
            self._space.clear()
            await self._space.wait()

    async def take(self) -> Delivery | None:
        """The next event; None when there will be no more."""
        while not self._waiting:
            if self._has_ended:
                return None
            self._news.clear()
            await self._news.wait()
        taken = self._waiting.popleft()
        self._weight -= taken.weight
        self._space.set()
        return taken

    def end(self) -> None:
        self._has_ended = True
        self._news.set()

    @contextmanager
    def unbounded(self) -> Iterator[None]:
        self._waiters_for_the_client += 1
        self._space.set()
        try:
            yield
        finally:
            self._waiters_for_the_client -= 1


T = TypeVar("T")

CHUNK = 1 << 16
STDERR_LINES = 20
"""How many of the last lines of stderr are at hand for a message."""
STDERR_WIDTH = 500
LINGER = 1.0
"""How long the output of a child that has ended may be silent before it is given up: what the child started itself may
hold the pipe open for ever."""
GLANCE = 0.02
"""Between two looks at whether the child has ended: `Process.wait` waits for its pipes too in some versions of 3.11 and
3.12."""


class Patience(NamedTuple):
    """How long a child may take to end, in seconds."""

    finish: float = 5.0
    """After its input was closed."""
    terminate: float = 5.0
    """After it was asked to end."""


PATIENT = Patience()


class Transport:
    """One child: its lines, what it said on stderr, its end. It is ended by `close`, which is safe to call again."""

    def __init__(self, process: Process, on_error: Callable[[bytes], None], patience: Patience) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: S101
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._on_error = on_error
        self._patience = patience
        self._last_lines: deque[bytes] = deque(maxlen=STDERR_LINES)
        self._errors = asyncio.create_task(self._read_errors(process.stderr))
        self._writing = asyncio.Lock()
        self._closing: asyncio.Task[int] | None = None
        self._chunks = 0
        self._is_drained = False

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        on_error: Callable[[bytes], None] = lambda _: None,
        patience: Patience = PATIENT,
    ) -> Transport:
        """Raises ClientError where there is nothing to run. `on_error` gets each line of stderr."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=CHUNK, cwd=cwd, env=environment, **_apart()
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ClientError(f"{printable(command[0])} cannot be started ({reason})") from error
        return cls(process, on_error, patience)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        return self._process.returncode

    @property
    def stderr(self) -> tuple[str, ...]:
        """The last lines, without those that say nothing."""
        lines = (line.decode("utf-8", "replace").strip()[:STDERR_WIDTH] for line in self._last_lines)
        return tuple(line for line in lines if line)

    async def lines(self) -> AsyncIterator[bytes]:
        """Every line with its newline, until the child closes its output; the last may have none."""
        async for line in self._framed(self._stdout):
            yield line
        self._is_drained = True

    async def write(self, line: bytes) -> None:
        """One whole line; returns when the child has room for more. Raises ConnectionError when it is gone."""
        if self._stdin.is_closing():
            raise ConnectionResetError("its input is closed")
        self._stdin.write(line)  # at once, so that lines go out in the order in which they were given
        async with self._writing:
            await self._stdin.drain()

    def end_input(self) -> None:
        """Tells the child to finish what it does and to end."""
        self._stdin.close()

    async def close(self) -> int:
        """Ends the child and gives its exit code. Being cancelled does not hurry it; somebody must read `lines`."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._end())
        return await unhurried(self._closing)

    def abandon(self) -> None:
        """Ends the child at once, and hears nothing more from it."""
        self._signal("SIGKILL")
        self._errors.cancel()
        # There is no public way to close a pipe that a grandchild may hold open.
        self._process._transport.close()  # type: ignore[attr-defined]

    async def _end(self) -> int:
        process = self._process
        try:
            self.end_input()
            if not await self._is_gone_within(self._patience.finish):
                self._signal("SIGTERM")
            if not await self._is_gone_within(self._patience.terminate):
                self._signal("SIGKILL")
            while process.returncode is None:
                await asyncio.sleep(GLANCE)
            await self._drain()
        finally:
            self.abandon()
        return process.returncode

    async def _is_gone_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._process.returncode is None:
                    await asyncio.sleep(GLANCE)
        return self._process.returncode is not None

    async def _drain(self) -> None:
        """Both outputs to their ends, or until they have been silent for long."""
        seen, looks = self._chunks, 0  # by the clock, who takes long over one line would make the next one late
        while not (self._is_drained and self._errors.done()) and looks * GLANCE < LINGER:
            await asyncio.sleep(GLANCE)
            seen, looks = self._chunks, looks + 1 if seen == self._chunks else 0

    async def _read_errors(self, stderr: asyncio.StreamReader) -> None:
        async for line in self._framed(stderr):
            self._last_lines.append(line)
            self._on_error(line)

    async def _framed(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """Lines of any length, cut at newlines only: text may hold other characters that pass for one."""
        begun: list[bytes] = []
        with contextlib.suppress(ConnectionResetError):  # Windows: the other end was killed
            while chunk := await reader.read(CHUNK):
                self._chunks += 1
                first, *others = chunk.split(b"\n")
                begun.append(first)
                for other in others:
                    yield b"".join([*begun, b"\n"])
                    begun = [other]
        if last := b"".join(begun):
            yield last

    def _signal(self, name: str) -> None:
        """To the child and what it started in its own group: `claude` may be a script that starts the program."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: it has ended, and nobody has asked yet
            if sys.platform == "win32":
                self._process.kill()
            else:
                os.killpg(self._process.pid, signal.Signals[name])


def _apart() -> dict[str, Any]:
    """In a group of its own, so that Ctrl-C at the terminal reaches us alone. If we die, its input ends, and so it."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


async def unhurried(task: asyncio.Task[T]) -> T:
    """The result of a task that is not to be cancelled; a cancellation meanwhile is obeyed when it is done."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None and not task.cancelled():
        raise cancelled
    return task.result()
