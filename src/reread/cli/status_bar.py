"""The last rows of the terminal, which stay where they are while text scrolls above them."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from reread.config import terminal_width
from reread.live.limits import CostMeter
from reread.views.run_status import RunStatus
from reread.views.text import Style, cells, one_line, shorten

_LEAST_ROWS = 12
"""Smaller terminals keep all rows for the conversation."""
_ROWS = 2
"""What is typed and queued, and the status."""
_TICK = 0.25
"""Seconds between two looks at the clock."""


class StatusBar:
    """Reserves rows by a scroll region. All it writes leaves the cursor where the text above goes on."""

    def __init__(self, put: Callable[[str], None], *, is_possible: bool) -> None:
        self._put = put
        self._is_possible = is_possible
        self._is_open = False
        self._size = os.terminal_size((0, 0))
        """Of the terminal, when the rows were reserved in it."""
        self._last: list[str] = []

    def open(self) -> None:
        self._is_open = self._is_possible
        self.fit()

    def close(self) -> None:
        self.give_back()
        self._is_open = False

    def give_back(self) -> None:
        """Until the next `draw`: before Ctrl-Z stops us."""
        if self._has_rows:
            self._put("\x1b7\x1b[r\x1b8\x1b[J")
        self._size = os.terminal_size((0, 0))

    def fit(self) -> None:
        """Reserves the rows again if the terminal has another size, which ended the region and moved what was below."""
        size = shutil.get_terminal_size((0, 0))
        if not self._is_open or size == self._size:
            return
        self._size = size
        self._put("\x1b7\x1b[r\x1b8\x1b[J")
        if self._has_rows:
            room = "\x1bD" * _ROWS + f"\x1b[{_ROWS}A"  # not line feeds: the text goes on in its column
            self._put(f"{room}\x1b7\x1b[1;{size.lines - _ROWS}r\x1b8")
            self.draw(self._last)

    def draw(self, lines: Sequence[str]) -> None:
        """Shows one line in each row."""
        self._last = list(lines)
        self.fit()
        first = self._size.lines - _ROWS + 1
        shown = "".join(f"\x1b[{first + number};1H\x1b[2K{line}" for number, line in enumerate(lines[:_ROWS]))
        if self._has_rows:
            self._put(f"\x1b7{shown}\x1b8")

    @property
    def _has_rows(self) -> bool:
        return self._size.lines >= _LEAST_ROWS

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Gives the rows back while a person is asked, or another program has the terminal."""
        was_open = self._is_open
        self.close()
        try:
            yield
        finally:
            if was_open:
                self.open()


class TurnDisplay:
    """What stands below a turn while it runs: what is typed and queued, and the status of the run."""

    def __init__(self, bar: StatusBar, status: RunStatus, meter: CostMeter, style: Style) -> None:
        self._bar, self._status, self._meter, self._style = bar, status, meter, style
        self._began = 0.0
        self._spent_before = 0
        self.typed: Callable[[], str] = str
        """What is being typed."""
        self.queued: Callable[[], Sequence[str]] = tuple

    @contextmanager
    def shown(self) -> Iterator[None]:
        self._began, self._spent_before = time.monotonic(), self._meter.nanodollars
        self._status.begin_turn()
        self._bar.open()
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            self._bar.close()

    def draw(self) -> None:
        width = terminal_width()
        spent, queued = self._meter.nanodollars, self.queued()
        line = self._status.line(
            time.monotonic() - self._began, width, turn=spent - self._spent_before, run=spent, queued=len(queued)
        )
        self._bar.draw([self._waiting(queued, width), self._style.paint(line, "dim")])

    def _waiting(self, queued: Sequence[str], width: int) -> str:
        """The queue, and the end of what is typed."""
        waits = self._style.paint(shorten("  ".join(f"⏎ {one_line(each)}" for each in queued), width // 2), "dim")
        typed = one_line(self.typed())
        room = width - cells(waits) - 5
        line = f"> {typed if cells(typed) <= room else '…' + typed[-room + 1 :]}" if typed else ""
        return "  ".join(part for part in (waits, line) if part)

    async def _tick(self) -> None:
        while True:
            self.draw()
            await asyncio.sleep(_TICK)
