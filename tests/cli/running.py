"""Runs the real program: as a process, on a terminal, or without the right to read a file."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest import mock

PROGRAM = (sys.executable, "-m", "reread")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Ran(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Ran]
"""Runs the program with these arguments in this process."""


def environment(**changes: str) -> dict[str, str]:
    """Ours without what steers the program's output, so that a developer's own settings change no test."""
    steering = ("NO_COLOR", "FORCE_COLOR", "PAGER", "CLAUDE_CONFIG_DIR", "PYTHONUNBUFFERED")
    ours = {name: value for name, value in os.environ.items() if name not in steering}
    return {**ours, "COLUMNS": "80", "TERM": "xterm-256color", "PYTHONUTF8": "1", **changes}


def reread(*arguments: str | Path, **changes: str) -> Ran:
    """A process whose output is piped."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)], capture_output=True, env=environment(**changes), timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def reread_here(*arguments: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    """The program in this process, with an environment as a process of its own would have."""
    from reread.cli.main import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    threshold = gc.get_threshold()
    seen = mock.patch.dict(os.environ, environment() if env is None else env, clear=True)
    with seen, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    gc.set_threshold(*threshold)
    return Ran(code, *(each.buffer.getvalue().decode() for each in (out, err)))


def start(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """A process that goes on; the caller ends it."""
    seen = environment() if env is None else env
    return subprocess.Popen(
        [*PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=seen, bufsize=0
    )


def read_until(process: subprocess.Popen[bytes], text: str, seconds: float = 60) -> str:
    """What a process prints up to a text; fails when the text does not come."""
    assert process.stdout is not None
    seen = b""
    end = time.monotonic() + seconds
    while text.encode() not in seen:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        data = os.read(process.stdout.fileno(), 65536) if ready else b""
        assert data, f"{text!r} was not printed; this was: {seen.decode()}"
        seen += data
    return seen.decode()


def on_terminal(*arguments: str | Path, columns: int = 80, changes: Mapping[str, str] | None = None) -> str:
    """What the program writes when standard output is a terminal, with its escapes."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = environment(**(changes or {}))
    del env["COLUMNS"]
    with subprocess.Popen([*PROGRAM, *map(str, arguments)], stdout=theirs, stderr=subprocess.DEVNULL, env=env):
        os.close(theirs)
        shown = b""
        while data := _next(ours):
            shown += data
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def _next(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says EIO when the other side has closed
        return b""


def without_colour(text: str) -> str:
    return _ESCAPE.sub("", text)


def reread_as_nobody(*arguments: str | Path, home: str = "/") -> Ran:
    """Root may read every file, so a child runs the program, to have it loaded, and then gives its rights away."""
    script = (
        "import contextlib, io, os, sys\n"
        "from reread.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    for command in ('show @last', 'prompts', 'doctor', 'hook install --yes'):\n"
        "        main(['demo', *command.split()])\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        env=environment(HOME=home),
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
