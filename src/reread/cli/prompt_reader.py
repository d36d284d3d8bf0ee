"""Reads the prompts of a conversation: the line that is edited, its history over runs, and what Tab completes."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from reread.config import terminal_width
from reread.home import make_home
from reread.views.text import Style, shorten

from .input_line import InputLine, KeyAction
from .keyboard import Interrupts, Keyboard

PROMPT = "> "
MOST_KEPT = 1000
"""Prompts in the history."""
_MARK_PASTES, _MARK_NO_PASTES = "\x1b[?2004h", "\x1b[?2004l"
_INTERRUPTED = "\x03"
_MOST_FILES = 200


class PromptHistory:
    """The prompts typed in all runs, oldest first, one JSON text a line. Without a path, those of this run."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.texts: list[str] = []
        if path is not None:
            with suppress(OSError):
                lines = path.read_text("utf-8", "replace").splitlines()[-MOST_KEPT:]
                self.texts = [text for line in lines if (text := _text(line)) is not None]

    def add(self, text: str) -> None:
        if self._path is None:
            return
        with suppress(OSError):  # a history that cannot be kept is no reason to stop
            make_home(self._path.parent)
            kept = [*self.texts[-MOST_KEPT:], text]
            is_full = len(self.texts) > 2 * MOST_KEPT
            flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_full else os.O_APPEND)
            with os.fdopen(os.open(self._path, flags, 0o600), "w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(each)}\n" for each in (kept if is_full else [text]))
        self.texts.append(text)


def _text(line: str) -> str | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, str) else None


class Completion:
    """The words that Tab offers: commands after `/`, and after `@` the files of a folder."""

    def __init__(self, folder: Path, commands: Iterable[str]) -> None:
        self._folder = folder
        self._commands = set(commands)

    def learn(self, commands: Iterable[str]) -> None:
        self._commands |= {f"/{name.removeprefix('/')}" for name in commands}

    def __call__(self, word: str) -> Sequence[str]:
        if word.startswith("/"):
            return sorted(each for each in self._commands if each.startswith(word))
        return self._files(word)

    def _files(self, word: str) -> Sequence[str]:
        place, _, beginning = word[1:].rpartition("/")
        folder = self._folder / f"{place}/" if place or word.startswith("@/") else self._folder
        try:
            found = sorted(os.scandir(folder), key=lambda entry: entry.name)[:10_000]
        except OSError:
            return []
        lead = f"@{place}/" if "/" in word else "@"
        wanted = [each for each in found if each.name.startswith(beginning) and each.name.isprintable()]
        shown = [each for each in wanted if " " not in each.name and (beginning or not each.name.startswith("."))]
        return [f"{lead}{each.name}{'/' if each.is_dir() else ''}" for each in shown[:_MOST_FILES]]


class PromptReader:
    """Edits one line after the other. What was typed while the client worked is there already."""

    def __init__(
        self,
        keyboard: Keyboard,
        interrupts: Interrupts,
        put: Callable[[str], None],
        style: Style,
        history: PromptHistory,
        complete: Completion,
    ) -> None:
        self._keyboard, self._interrupts, self._put = keyboard, interrupts, put
        self._style = style
        self._history = history
        self.complete = complete
        self.line = InputLine(history.texts, complete)
        self.queue: list[str] = []
        """Prompts that were entered while the client worked."""
        self._left = ""
        """Keys behind the last Enter."""
        self._row = 0
        self._reading: asyncio.Future[str] | None = None
        self._was_interrupted = False

    def typed_ahead(self, keys: str) -> None:
        """Takes what is typed while the client works; Enter puts a prompt into the queue."""
        keys, self._left = self._left + keys, ""
        while keys:
            asked, keys = self.line.feed(keys)
            if asked is KeyAction.SUBMIT and (text := self.line.take().strip()):
                self.queue.append(text)
                self._history.add(text)

    def take_back(self) -> None:
        """Makes the queue one text to edit, after an interrupt: what was queued was meant for another turn."""
        if self.queue:
            self.line.set("\n".join([*self.queue, *([self.line.text] if self.line.text else [])]))
            self.queue.clear()

    async def read(self) -> str | None:
        """The next prompt; None to leave. The second Ctrl-C on an empty line is for whoever handles it elsewhere."""
        self._row = 0
        self._put("\n")
        with self._keyboard.editing(), self._interrupts.handled(self._interrupt) as pass_on:
            self._put(_MARK_PASTES)
            try:
                text = await self._edited(pass_on)
            finally:
                self._put(_MARK_NO_PASTES)
        if text:
            self._history.add(text)
        return text

    async def _edited(self, pass_on: Callable[[], object]) -> str | None:
        hint = ""
        while True:
            self._draw(hint)
            keys, self._left = self._left or await self._keys(), ""
            if keys == _INTERRUPTED:
                if not self.line.text and hint:
                    self._leave()
                    pass_on()
                hint = "" if self.line.text else "Ctrl-C again or Ctrl-D to leave"
                self.line.take()
                continue
            hint = ""
            asked, self._left = self.line.feed(keys)
            if asked is KeyAction.SUBMIT and self.line.text.strip():
                self._leave()
                return self.line.take().strip()
            if asked is KeyAction.LEAVE:
                self._leave()
                return None
            if asked is KeyAction.REDRAW:
                self._put("\x1b[H\x1b[2J")
                self._row = 0

    async def _keys(self) -> str:
        self._reading = asyncio.ensure_future(self._keyboard.keys())
        try:
            return await self._reading
        except asyncio.CancelledError:
            if not self._was_interrupted:
                raise
            self._was_interrupted = False
            return _INTERRUPTED

    def _interrupt(self) -> None:
        if self._reading is not None:
            self._was_interrupted = True
            self._reading.cancel()

    def _draw(self, hint: str = "") -> None:
        size = shutil.get_terminal_size()
        shown = self.line.rows(PROMPT, terminal_width()).part(size.lines - 2)
        below = shorten("  ".join(self.line.offered) or hint or shown.about, size.columns - 1)
        lines = [*shown.lines, *([self._style.paint(below, "dim")] if below else [])]
        up = len(lines) - 1 - shown.row
        self._put(
            (f"\x1b[{self._row}A" if self._row else "")
            + "\r\x1b[J"
            + "\n".join(lines)
            + (f"\x1b[{up}A" if up else "")
            + f"\r\x1b[{shown.column}C"
        )
        self._row = shown.row

    def _leave(self) -> None:
        """Shows the text without what is below it, and ends its line."""
        self.line.offered = ()
        self.line.cursor = len(self.line.text)
        self._draw()
        self._put("\n\x1b[J")
        self._row = 0
