"""The program on a terminal that a test types at."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from cli.running import PROGRAM, environment, without_colour
from screens import displayed

_MODES = re.compile(r"\x1b7.*?\x1b8|\x1b\[\?\d+[hl]|\r\x1b\[J|\r\x1b\[\d+C|\x1b\[\d+A|\x1bD|\x1b\[J", re.DOTALL)
"""How pasted text is to be marked; the rows below the text; where the line that is edited begins, and its cursor."""


class Terminal:
    """Waits for what the program shows, and presses keys."""

    def __init__(
        self,
        *arguments: str | Path,
        columns: int = 80,
        changes: Mapping[str, str] | None = None,
        shell: str | None = None,
    ) -> None:
        """`shell` is a script of bash that runs the program as `"$@"`."""
        import fcntl
        import pty
        import struct
        import termios

        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        env = environment(**(changes or {}))
        del env["COLUMNS"]
        for name in ("VISUAL", "EDITOR"):
            if name not in (changes or {}):
                env.pop(name, None)
        self.process = subprocess.Popen(
            [*(["bash", "-c", shell, "bash"] if shell else []), *PROGRAM, *map(str, arguments)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=env,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # so that Ctrl-C is a signal
        )
        os.close(theirs)
        self._columns = columns
        self.written = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    @property
    def rows(self) -> list[str]:
        """What the screen shows."""
        written = _MODES.sub("", self.written).replace("\r\n", "\n").replace("\b", "\x1b[1D")
        return displayed(written, self._columns)

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Until the text was written, behind whatever was waited for before."""
        end = time.monotonic() + seconds
        while text not in (plain := without_colour(_MODES.sub("", self.written)).replace("\r\n", "\n"))[self._seen :]:
            assert self._take(max(0.0, end - time.monotonic())), f"{text!r} was not shown, but:\n{plain}"
        self._seen = plain.index(text, self._seen) + len(text)

    @property
    def echoes(self) -> bool:
        """Whether the terminal shows what is typed."""
        import termios

        return bool(termios.tcgetattr(self._ours)[3] & termios.ECHO)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def hang_up(self) -> None:
        """Close the terminal, as a window is closed."""
        ours, self._ours = self._ours, os.open(os.devnull, os.O_RDONLY)
        os.close(ours)

    def end(self, seconds: float = 60) -> int:
        """The exit code, once the program has ended by itself."""
        end = time.monotonic() + seconds
        while self._take(max(0.0, end - time.monotonic())):
            pass
        return self.process.wait(timeout=max(0.1, end - time.monotonic()))

    def _take(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says EIO when the other side has closed
            return False
        self.written += data.decode()
        return bool(data)
