"""Prints a session as it grows: each step once, when it is complete."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from reread.config import Config
from reread.errors import BadInput
from reread.loading import records_of
from reread.sessions import Session, SessionBuilder, Status, Step, Thought, ToolCall, Turn
from reread.sources import Reset, follow

from . import options

if TYPE_CHECKING:
    from reread.queries.answers import FoundThought


def follow_session(given: argparse.Namespace, config: Config) -> int:
    from reread.render.terminal import heading, prompt_lines, step_lines
    from reread.render.text import ruler

    view = options.make_view(config, thinking=given.thinking, tools=given.tools)
    shown = _Shown()

    def show(session: Session) -> None:
        if shown.is_new("heading"):
            options.print_lines(heading(session, view))
        for turn, steps in shown.fresh(session):
            if turn is not None:
                options.print_lines(["", view.style.paint(ruler(str(turn.index), view.width), "dim")])
                if turn.prompt is not None:
                    options.print_lines(prompt_lines(turn.prompt, view))
            options.print_lines(step_lines(session, steps, view))

    return _watch(trunk_of(given.session, config), show)


def follow_thinking(given: argparse.Namespace, config: Config) -> int:
    if given.session is None:
        raise BadInput("--follow needs a session, such as @last")
    from reread.queries.answers import FoundThought
    from reread.render.reports import thought_lines

    view = options.make_view(config)
    shown = _Shown()

    def show(session: Session) -> None:
        for thought in session.thinking(given.min_length):
            if shown.is_new(_key(thought)):
                found = FoundThought(session.id, None, thought)
                _print_thought(found, given.json, thought_lines(found, view))

    return _watch(trunk_of(given.session, config), show)


def _print_thought(found: FoundThought, as_json: bool, lines: Iterator[str]) -> None:
    if as_json:
        import msgspec

        from reread.render.documents import thought_document

        sys.stdout.write(msgspec.json.encode(thought_document(found)).decode() + "\n")
    else:
        options.print_lines(lines)


def trunk_of(session: str, config: Config) -> Path:
    path = options.as_path(session)
    return path if path is not None else options.open_shelf(config).trunk(session)


def _watch(path: Path, show: Callable[[Session], None]) -> int:
    """Feeds every new line to a builder and shows what it amounts to; ends with the person's Ctrl-C."""
    builder = SessionBuilder(path.stem)
    for event in follow(path):
        if isinstance(event, Reset):
            sys.stderr.write(f"reread: {path} was {event.reason}; starting again\n")
            builder = SessionBuilder(path.stem)
            continue
        for record in records_of(event):
            builder.add(record)
        show(builder.session())
        sys.stdout.flush()
    return 0


class _Shown:
    """What has been printed already."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def is_new(self, key: str) -> bool:
        is_new = key not in self._keys
        self._keys.add(key)
        return is_new

    def fresh(self, session: Session) -> Iterator[tuple[Turn | None, list[Step]]]:
        """Turns not seen yet, and new steps of those that were; a call waits for its result."""
        for turn in session.turns:
            first = turn.records[0] if turn.records else None
            is_new = self.is_new(f"turn {turn.index} {turn.prompt.uuid if turn.prompt else first and first.line}")
            ready = [step for step in turn.steps if not _is_pending(step)]
            steps = [step for step in ready if self.is_new(_key(step))]
            if is_new or steps:
                yield (turn if is_new else None), steps


def _is_pending(step: Step) -> bool:
    return isinstance(step, ToolCall) and step.status is Status.MISSING


def _key(step: Step | Thought) -> str:
    if isinstance(step, ToolCall):
        return f"call {step.id} {step.uuid}"
    return f"{type(step).__name__} {step.uuid} {step.record.line} {step.text[:40]}"
