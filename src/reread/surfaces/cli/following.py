"""Prints a session as it grows: each step once, when it is complete."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from reread.blocks.model import CallBlock, StepBlock, TurnBlocks
from reread.blocks.of_session import SessionBlocks, heading_of
from reread.config import Config
from reread.errors import BadInput, SourceError
from reread.loading import records_of
from reread.sessions import Session, SessionBuilder, Status
from reread.sources import Reset, follow_looks

from . import options
from .telling import tell


def follow_session(given: argparse.Namespace, config: Config) -> int:
    if given.turns or given.around or given.branch != "main":
        raise BadInput("--follow shows the branch that grows; it does not go with --turns, --around or --branch")
    show = _json_printer() if given.json else _text_printer(given, config)
    return _watch(trunk_of(given.session, config), show)


def _text_printer(given: argparse.Namespace, config: Config) -> Callable[[Session], None]:
    from reread.render.terminal import heading_lines, prompt_lines, rule_lines, step_lines

    view = options.make_view(config, thinking=given.thinking, tools=given.tools)
    shown = _Shown()

    def show(session: Session) -> None:
        for turn, is_new in shown.fresh(session):
            if shown.is_new("heading"):
                options.print_lines(heading_lines(heading_of(session), view))
            if is_new:
                options.print_lines(rule_lines(turn.rule, view))
                if turn.prompt is not None:
                    options.print_lines(prompt_lines(turn.prompt, view))
            options.print_lines(step_lines(turn.steps, view, session.project))

    return show


def _json_printer() -> Callable[[Session], None]:
    """One document per line: a prompt, or a step as `show --json` has it, each with the number of its turn."""
    from reread.render.documents import prompt_document, step_documents

    shown = _Shown()

    def show(session: Session) -> None:
        for turn, is_new in shown.fresh(session):
            if is_new and turn.prompt is not None:
                options.print_json_line({"turn": turn.rule.index, **prompt_document(turn.prompt)})
            for step in turn.steps:
                for document in step_documents(step):
                    options.print_json_line({"turn": turn.rule.index, **document})

    return show


def follow_thinking(given: argparse.Namespace, config: Config) -> int:
    if given.session is None:
        raise BadInput("--follow needs a session, such as @last")
    from reread.queries.answers import FoundThought
    from reread.render.documents import thought_document
    from reread.render.reports import thought_lines

    view = options.make_view(config)
    wanted = options.make_filter(given, config)
    shown = _Shown()

    def show(session: Session) -> None:
        for thought in session.thinking(given.min_length):
            if wanted.keeps_time(thought.time) and shown.is_new(
                f"{thought.uuid} {thought.record.line} {thought.text[:40]}"
            ):
                found = FoundThought(session.id, None, thought)
                if given.json:
                    options.print_json_line(thought_document(found))
                else:
                    options.print_lines(thought_lines(found, view))

    return _watch(trunk_of(given.session, config), show)


def trunk_of(session: str, config: Config) -> Path:
    path = options.as_path(session)
    return path if path is not None else options.open_shelf(config).trunk(session)


def _watch(path: Path, show: Callable[[Session], None]) -> int:
    """Feeds every new line to a builder and shows what it amounts to; ends with the person's Ctrl-C."""
    if not path.exists():
        raise SourceError(path, "no such file or folder")
    builder = SessionBuilder(path.stem)
    for look in follow_looks(path):
        is_changed = False
        for event in look:
            is_changed = True
            if isinstance(event, Reset):
                tell(f"{path} was {event.reason}; starting again")
                builder = SessionBuilder(path.stem)
            else:
                for record in records_of(event):
                    builder.add(record)
        if is_changed:
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

    def fresh(self, session: Session) -> Iterator[tuple[TurnBlocks, bool]]:
        """Turns with their new steps, and whether they are new; a call waits for its result."""
        made = SessionBlocks(session)
        for turn in session.turns:
            if turn.prompt is None and not turn.steps:
                continue
            blocks = made.turn(session, turn)
            is_new = self.is_new(blocks.rule.key)
            steps = tuple(step for step in blocks.steps if not _is_pending(step) and self.is_new(step.key))
            if is_new or steps:
                yield replace(blocks, steps=steps), is_new


def _is_pending(step: StepBlock) -> bool:
    return isinstance(step, CallBlock) and step.status is Status.MISSING
