"""Writes events as they come: text for a person, or one JSON document per line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from reread import lazy, views
from reread.blocks.model import ShownBlock
from reread.config import Config, terminal_width
from reread.live.events import Event, ToolCall
from reread.sessions import Session
from reread.views.screen import Screen
from reread.views.text import printed

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.blocks import of_events
else:
    of_events = lazy.module("reread.blocks.of_events")


class Showing:
    """Where the events of a stream are shown."""

    def __init__(self, given: argparse.Namespace, config: Config) -> None:
        self.is_json: bool = given.jsonl
        self._is_terminal = sys.stdout.isatty()
        view = options.make_view(config, thinking=given.thinking)
        self._told: set[str] = set()
        """Keys of blocks of growing sessions that were told."""
        self.screen = Screen(view, is_terminal=config.can_redraw)

    def show(self, events: Iterable[Event]) -> None:
        """Everything that came together; it is on the screen when this returns."""
        if self._is_terminal:
            self.screen.resize(terminal_width())
        for event in events:
            if self.is_json:
                self._document(event)
            else:
                sys.stdout.write(self.screen.show(event))
        sys.stdout.flush()

    def write(self, blocks: Iterable[ShownBlock], session: Session) -> None:
        """Blocks of a session that grows on disk; for programs as the events a stream would have had."""
        if self.is_json:
            self.show(event for block in blocks for event in self._events(block, session))
            return
        if self._is_terminal:
            self.screen.resize(terminal_width())
        for block in blocks:
            sys.stdout.write(self.screen.write(block))
        sys.stdout.flush()

    def learn(self, block: ShownBlock) -> None:
        """Of something that was there before and is not to be shown."""
        self._told.add(block.key)
        self.screen.learn(block)

    def _events(self, block: ShownBlock, session: Session) -> Iterator[Event]:
        """A call comes once more with its result, and was told before."""
        is_told = block.key in self._told
        self._told.add(block.key)
        return (
            event for event in of_events.events_of(block, session.id) if not (is_told and isinstance(event, ToolCall))
        )

    def note(self, text: str, *looks: str) -> None:
        """A line of our own, for a person only."""
        if not self.is_json:
            sys.stdout.write(self.screen.note(text, *looks))
            sys.stdout.flush()

    def heading(self, text: str, project: str | None) -> None:
        """Names the one who speaks from here on, for a person only."""
        if not self.is_json:
            sys.stdout.write(self.screen.heading(text, project))

    def ask(self, lines: Iterable[str]) -> None:
        """Puts a question: on the screen, or beside it where that is no terminal or not for people."""
        harmless = list(map(printed, lines))
        self.put(self.screen.question(harmless) if self._is_for_people else "".join(f"{line}\n" for line in harmless))

    def put(self, text: str) -> None:
        """A word of ours behind a question."""
        stream = sys.stdout if self._is_for_people else sys.stderr
        stream.write(text)
        stream.flush()

    @property
    def _is_for_people(self) -> bool:
        return self._is_terminal and not self.is_json

    def end(self) -> None:
        """Nothing more comes: the line that is open ends."""
        if not self.is_json:
            sys.stdout.write(self.screen.rest())
            sys.stdout.flush()

    def _document(self, event: Event) -> None:
        options.print_json_line(views.session_json.event_document(event))
