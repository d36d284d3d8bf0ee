"""A child process that is spoken to in lines.

There is no limit to a line. Nothing is read ahead: who does not ask for the next line stops the child's output, once
the pipe is full.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reread.errors import ClientError, printable

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
