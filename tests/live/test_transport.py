"""Lines of a real child process: of any length, no faster than they are read, and an end that comes."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from live.faking import HURRY, fake
from reread.errors import ClientError
from reread.live.transport import Patience, Transport

T = TypeVar("T")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to ignore")


def script(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def run(talk: Callable[[Transport], Coroutine[Any, Any, T]], command: list[str], patience: Patience = HURRY) -> T:
    """What came of a talk with that child, which is gone afterwards."""

    async def main() -> T:
        transport = await Transport.start(command, patience=patience)
        try:
            return await asyncio.wait_for(talk(transport), 20)
        finally:
            await transport.close()
            assert transport.exit_code is not None

    return asyncio.run(main())


async def all_lines(transport: Transport) -> list[bytes]:
    return [line async for line in transport.lines()]


def test_lines_are_cut_at_newlines_only() -> None:
    text = 'a\u2028b\x85c\x0cd\re\r\n\n{"x": 1}\nunfinished'.encode()
    lines = run(all_lines, script(f"import sys; sys.stdout.buffer.write({text!r})"))
    assert lines == [text[: text.index(b"\n") + 1], b"\n", b'{"x": 1}\n', b"unfinished"]


def test_a_line_may_have_any_length() -> None:
    lines = run(all_lines, script("print('x' * 9_000_000); print('y')"))
    assert [len(line.strip()) for line in lines] == [9_000_000, 1]


def test_every_byte_arrives_whatever_the_chunks() -> None:
    code = "import sys, time\nfor n in range(300): sys.stdout.write('ab\\n'[n % 3]); sys.stdout.flush()"
    assert run(all_lines, script(code)) == [b"ab" + os.linesep.encode()] * 100


def test_who_does_not_read_stops_the_child(tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    code = (
        "import sys, pathlib\n"
        "for n in range(2000):\n"
        "    sys.stdout.buffer.write(b'x' * 9_999 + b'\\n'); sys.stdout.flush()\n"
        f"    pathlib.Path({str(count)!r}).write_text(str(n + 1))\n"
    )

    async def talk(transport: Transport) -> tuple[int, int]:
        lines = transport.lines()
        await anext(lines)
        before = -1
        while before != (now := int(count.read_text() or 0)):
            before = now
            await asyncio.sleep(0.3)
        rest = [line async for line in lines]
        return before, len(rest)

    written, rest = run(talk, script(code), Patience(finish=10, terminate=1))
    assert written * 10_000 < 1_000_000, "the rest waits in the child, not in our memory"
    assert rest == 1999


def test_what_is_written_arrives_in_order_also_from_many_tasks() -> None:
    async def talk(transport: Transport) -> list[bytes]:
        lines = [b"%d %s\n" % (n, b"x" * 50_000) for n in range(40)]
        reading = asyncio.create_task(all_lines(transport))
        await asyncio.gather(*map(transport.write, lines))
        transport.end_input()
        return [line.split()[0] for line in await reading]

    echo = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line)"
    assert run(talk, script(echo), Patience(10, 1)) == [b"%d" % n for n in range(40)]


def test_writing_to_a_child_that_is_gone_is_a_connection_error() -> None:
    async def talk(transport: Transport) -> None:
        await all_lines(transport)
        with pytest.raises(ConnectionError):
            for _ in range(50):
                await transport.write(b"anybody?\n" * 1000)
                await asyncio.sleep(0.01)

    run(talk, script("pass"))


def test_stderr_is_heard_line_by_line_and_its_end_remembered() -> None:
    heard: list[bytes] = []

    async def main() -> Transport:
        code = "import sys\nfor n in range(100_000): sys.stderr.write(f'line {n}\\n')\nsys.exit(3)"
        transport = await Transport.start(script(code), on_error=heard.append, patience=Patience(10, 1))
        assert await all_lines(transport) == []
        assert await transport.close() == 3
        return transport

    transport = asyncio.run(main())
    assert len(heard) == 100_000
    assert transport.stderr == tuple(f"line {n}" for n in range(99_980, 100_000))


def test_a_child_that_ends_by_itself_is_not_hurried() -> None:
    async def talk(transport: Transport) -> tuple[list[bytes], int]:
        reading = asyncio.create_task(all_lines(transport))
        code = await transport.close()
        return await reading, code

    late = "import sys, time\nsys.stdin.read(); time.sleep(0.4); print('my last line'); sys.exit(5)"
    lines, code = run(talk, script(late), Patience(finish=10, terminate=1))
    assert (lines, code) == ([b"my last line" + os.linesep.encode()], 5)


@posix_only
@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import time; print('up', flush=True); time.sleep(60)", -15),
        ("import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)", -9),
    ],
    ids=["is terminated", "is killed"],
)
def test_a_child_that_does_not_end(code: str, exit_code: int) -> None:
    async def talk(transport: Transport) -> int:
        lines = transport.lines()
        assert await anext(lines) == b"up\n"
        reading = asyncio.create_task(anext(lines, None))
        code = await transport.close()
        await reading
        return code

    assert run(talk, script(code)) == exit_code


@posix_only
def test_closing_is_not_cut_short_by_a_cancellation() -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"

    async def talk(transport: Transport) -> None:
        assert await anext(transport.lines()) == b"up\n"
        closing = asyncio.create_task(transport.close())
        await asyncio.sleep(0.1)
        closing.cancel()
        await asyncio.sleep(0.05)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert transport.exit_code == -9

    run(talk, script(code))


@posix_only
def test_a_grandchild_that_holds_the_output_does_not_hold_us() -> None:
    async def talk(transport: Transport) -> float:
        began = time.monotonic()
        await asyncio.gather(all_lines(transport), transport.close())
        return time.monotonic() - began

    assert run(talk, fake("leaves_somebody_behind"), Patience(5, 5)) < 5


def is_running(pid: int) -> bool:
    """Whether it is there and has not just been left unburied."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc whether it is gone")
def test_what_the_child_started_in_its_group_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    wrapper = (
        "import subprocess, sys, pathlib\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(60)'])\n"
        f"pathlib.Path({str(pid)!r}).write_text(str(inner.pid))\n"
        "inner.wait()\n"
    )

    async def talk(transport: Transport) -> None:
        await anext(transport.lines())

    run(talk, script(wrapper))
    deadline = time.monotonic() + 5
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    "command",
    [["no-such-program-anywhere"], [str(Path(__file__).parent)], ["with\0nul"]],
    ids=["missing", "a folder", "impossible"],
)
def test_what_cannot_be_started_is_named(command: list[str]) -> None:
    with pytest.raises(ClientError, match="cannot be started"):
        run(all_lines, command)


@posix_only
@pytest.mark.parametrize(
    ("text", "mode"), [("#!/no/such/interpreter\n", 0o700), ("#!/bin/sh\n", 0o600), ("not a program", 0o700)]
)
def test_a_script_that_cannot_run_is_named(tmp_path: Path, text: str, mode: int) -> None:
    path = tmp_path / "claude"
    path.write_text(text)
    path.chmod(mode)
    with pytest.raises(ClientError, match=r"claude cannot be started \("):
        run(all_lines, [str(path)])
