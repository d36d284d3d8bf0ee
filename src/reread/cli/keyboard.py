"""Single keys, lines and Ctrl-C from the terminal, read while the event loop runs."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from reread.live.transport import ending_signals
from reread.views.text import cells


class Interrupts:
    """What Ctrl-C does while a loop runs."""

    def __init__(self) -> None:
        self._callback: Callable[[], object] = _ignore
        self._ended: Callable[[], object] = _ignore
        self._loop = asyncio.get_running_loop()
        self._is_deaf = False

    @contextlib.contextmanager
    def caught(self, callback: Callable[[], object], ended: Callable[[], object]) -> Iterator[None]:
        """Calls `callback` inside the loop for every Ctrl-C, and `ended` for SIGTERM and SIGHUP."""
        self._callback, self._ended = callback, ended
        # Not `loop.add_signal_handler`, which Windows lacks. `call_soon_threadsafe` wakes the loop.
        before = [
            (signal.SIGINT, signal.signal(signal.SIGINT, self._came)),
            *((number, signal.signal(number, lambda *_: self._soon(ended))) for number in ending_signals()),
        ]
        with _put_back(before):
            yield

    def _came(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  what `signal` calls
        if not self._is_deaf:
            self._soon(self._callback)

    def _soon(self, callback: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(callback)

    @contextlib.contextmanager
    def handled(self, callback: Callable[[], object]) -> Iterator[Callable[[], object]]:
        """Calls another function for Ctrl-C meanwhile; gives the one before, to pass a Ctrl-C on."""
        before, self._callback = self._callback, callback
        try:
            yield before
        finally:
            self._callback = before

    @contextlib.contextmanager
    def left_alone(self) -> Iterator[None]:
        """Ignores Ctrl-C while another program has the terminal."""
        self._is_deaf = True
        try:
            yield
        finally:
            self._is_deaf = False

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """Raises KeyboardInterrupt for Ctrl-C, SIGTERM and SIGHUP while a line is typed, which blocks the loop."""
        before = [
            (signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler)),
            *((number, signal.signal(number, self._end_line)) for number in ending_signals()),
        ]
        with _put_back(before):
            yield

    def _end_line(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  what `signal` calls
        self._soon(self._ended)
        raise KeyboardInterrupt


@contextlib.contextmanager
def _put_back(handlers: list[tuple[signal.Signals, Any]]) -> Iterator[None]:
    try:
        yield
    finally:
        for number, handler in handlers:
            signal.signal(number, handler)


def _ignore() -> None:
    """The callback until `caught` sets one."""


_POLL = 0.05
_BETWEEN_KEYS = 0.25
"""Seconds within which whoever types a text has pressed the next key."""
ESCAPE = "\x1b\x1b"
"""The key Escape; one such character alone is the beginning of another key."""
_END = "\x04"
"""Ctrl-D as a single key: no more input, as on a line."""

if sys.platform == "win32":
    import msvcrt

    class Keyboard:
        """The keys of a Windows console, which must be polled."""

        can_edit = False
        """Whether keys come one by one, with those that move the cursor."""
        on_stop: Callable[[], object] = staticmethod(_ignore)
        """Called before Ctrl-Z stops us."""

        @contextlib.contextmanager
        def watched(self, on_keys: Callable[[str], None]) -> Iterator[None]:  # noqa: ARG002
            """Does nothing: keys wait in the console until they are asked for."""
            yield

        @contextlib.contextmanager
        def quiet(self) -> Iterator[None]:
            """Does nothing: a console shows a key only when it is read."""
            yield

        @contextlib.contextmanager
        def listening(self) -> Iterator[None]:
            """Discards keys typed before: they were not meant for this question."""
            while msvcrt.kbhit():
                msvcrt.getwch()
            yield

        async def key(self) -> str:
            """One character, empty for Ctrl-D; keys that send two, such as arrows, are ignored."""
            while True:
                while not msvcrt.kbhit():
                    await asyncio.sleep(_POLL)
                typed = msvcrt.getwch()
                if typed not in "\x00\xe0" or not msvcrt.kbhit():
                    return "" if typed == _END else typed
                msvcrt.getwch()

        async def is_typing(self) -> bool:
            """Whether keys follow at once: a text that was not meant for this question. It is discarded."""
            await asyncio.sleep(_BETWEEN_KEYS)
            is_more = msvcrt.kbhit()
            with self.listening():
                return is_more

        async def line_from(self, begun: str, put: Callable[[str], None]) -> str:
            """A line that begins with keys that were read already."""
            put(begun)
            return begun + await asyncio.to_thread(_line)

        @contextlib.contextmanager
        def typing(self) -> Iterator[None]:
            """Does nothing: a console always reads lines with echo."""
            yield

    def _line() -> str:
        try:
            return input().strip()
        except EOFError:
            return ""

else:
    import os
    import re
    import select
    import termios
    from codecs import getincrementaldecoder

    _SEQUENCE = re.compile(rb"\x1b(\[[0-9;?]*[@-~]|O.|.)?", re.DOTALL)
    """What arrows and function keys send."""
    _ESCAPE_SECONDS = 0.05
    """Time for the rest of a key that begins like Escape: over a network it may come in a packet of its own."""

    class Keyboard:
        """The keys of a terminal."""

        def __init__(self) -> None:
            self._terminal = sys.stdin.fileno()
            self._ahead = b""
            self._is_line_wise = False
            self._decoder = getincrementaldecoder("utf-8")("replace")
            self._on_keys: Callable[[str], None] | None = None
            self.on_stop: Callable[[], object] = _ignore
            """Called before Ctrl-Z stops us."""

        @property
        def can_edit(self) -> bool:
            """Whether keys come one by one, with those that move the cursor."""
            return not self._is_line_wise and os.environ.get("TERM") not in ("", "dumb", None)

        @contextlib.contextmanager
        def editing(self) -> Iterator[None]:
            """Keys come as they are typed, unseen; see `keys`."""
            with self._mode(0, termios.ECHO | termios.ICANON):
                yield

        async def keys(self) -> str:
            """What is typed next, whole characters and keys of several; Ctrl-D if the terminal is gone."""
            typed, self._ahead = self._ahead or await self._read(), b""
            return self._decoder.decode(typed) if typed else _END

        @contextlib.contextmanager
        def watched(self, on_keys: Callable[[str], None]) -> Iterator[None]:
            """Calls a function with what is typed while nothing asks for it."""
            self._on_keys = on_keys
            with self.editing():
                self._watch(is_on=True)
                try:
                    yield
                finally:
                    self._watch(is_on=False)
                    self._on_keys = None

        def _watch(self, *, is_on: bool) -> None:
            loop = asyncio.get_running_loop()
            if is_on and self._on_keys is not None:
                loop.add_reader(self._terminal, self._take_keys)
            elif self._on_keys is not None:
                loop.remove_reader(self._terminal)

        def _take_keys(self) -> None:
            typed = self._typed()
            if not typed:
                self._watch(is_on=False)
            elif self._on_keys is not None:
                self._on_keys(self._decoder.decode(typed))

        @contextlib.contextmanager
        def _unwatched(self) -> Iterator[None]:
            """Keys are for somebody else meanwhile."""
            self._watch(is_on=False)
            try:
                yield
            finally:
                self._watch(is_on=True)

        @contextlib.contextmanager
        def quiet(self) -> Iterator[None]:
            """Turns echo off, so that keys typed while nothing is asked, and `^C`, do not show between the lines."""
            with self._mode(0, termios.ECHO):
                yield

        @contextlib.contextmanager
        def listening(self) -> Iterator[None]:
            """Discards keys typed before: they were not meant for this question."""
            self._ahead = b""
            with self._unwatched(), self._mode(0, termios.ECHO | termios.ICANON, termios.TCSAFLUSH):
                yield

        async def key(self) -> str:
            """One character; empty for Ctrl-D, Escape or a terminal that is gone; what other keys send is ignored."""
            while True:
                typed = self._ahead or await self._read()
                self._ahead = b""
                if not typed or typed == ESCAPE.encode():
                    return ""
                text = _SEQUENCE.sub(b"", typed).decode("utf-8", "ignore")
                self._ahead = b"" if self._is_line_wise else text[1:].encode()
                if text:
                    return "" if text[0] == _END else text[0]

        async def is_typing(self) -> bool:
            """Whether more than Enter follows at once: a text that was not meant for this question. It is discarded."""
            await asyncio.sleep(_BETWEEN_KEYS)
            is_more = select.select([self._terminal], [], [], 0)[0]
            more, self._ahead = self._ahead + (self._typed() if is_more else b""), b""
            return bool(more.strip())

        async def line_from(self, begun: str, put: Callable[[str], None]) -> str:
            """A line that begins with keys that were read already; they can be taken back, as all others."""
            text, typed = "", begun
            while True:
                for character in _SEQUENCE.sub(b"", typed.encode()).decode("utf-8", "ignore"):
                    if character in "\r\n":
                        put("\n")
                        return text
                    if character == _END and not text:
                        return ""
                    if character in "\x7f\b" and text:
                        put("\b \b" * cells(text[-1]))
                        text = text[:-1]
                    elif character.isprintable():
                        put(character)
                        text += character
                typed = await self.keys()
                if typed == _END:
                    return text

        @contextlib.contextmanager
        def typing(self) -> Iterator[None]:
            """Line mode with echo."""
            with self._mode(termios.ECHO | termios.ICANON, 0):
                yield

        @contextlib.contextmanager
        def _mode(self, on: int, off: int, when: int = termios.TCSADRAIN) -> Iterator[None]:
            try:
                before = termios.tcgetattr(self._terminal)
                wanted = termios.tcgetattr(self._terminal)
                wanted[3] = wanted[3] & ~off | on
                termios.tcsetattr(self._terminal, when, wanted)
            except termios.error:  # the terminal has no such mode: keys need Enter
                self._is_line_wise = True
                yield
                return
            stops: Any = signal.getsignal(signal.SIGTSTP)
            if stops != signal.SIG_IGN:  # ignored in a shell without job control
                signal.signal(signal.SIGTSTP, self._stop)
            try:
                yield
            finally:
                signal.signal(signal.SIGTSTP, stops)
                with contextlib.suppress(termios.error):  # the terminal was closed
                    termios.tcsetattr(self._terminal, termios.TCSADRAIN, before)

        def _stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002  what `signal` calls
            """Handles Ctrl-Z. The shell changes the terminal mode and does not restore it at `fg`, so we do. After `bg`
            the terminal is the shell's and is left alone."""
            self.on_stop()
            mode = termios.tcgetattr(self._terminal)
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            signal.raise_signal(signal.SIGTSTP)  # returns when the process is continued
            signal.signal(signal.SIGTSTP, self._stop)
            with contextlib.suppress(termios.error, OSError):
                if os.tcgetpgrp(self._terminal) == os.getpgrp():
                    termios.tcsetattr(self._terminal, termios.TCSADRAIN, mode)

        async def _read(self) -> bytes:
            """The next bytes; empty when the terminal is gone."""
            loop = asyncio.get_running_loop()
            ready: asyncio.Future[None] = loop.create_future()
            loop.add_reader(self._terminal, _set, ready)
            try:
                await ready
            finally:
                loop.remove_reader(self._terminal)
            return self._typed()

        def _typed(self) -> bytes:
            """What is there."""
            try:
                typed = os.read(self._terminal, 4096)
            except OSError:
                return b""
            is_key = typed == b"\x1b" and not select.select([self._terminal], [], [], _ESCAPE_SECONDS)[0]
            return ESCAPE.encode() if is_key else typed

    def _set(ready: asyncio.Future[None]) -> None:
        if not ready.done():
            ready.set_result(None)
