"""Prints sessions as they grow: one that is named, or every one that runs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from reread import archive as archives
from reread import views
from reread.blocks.model import CallBlock, ShownBlock, StepBlock, TurnBlocks
from reread.blocks.of_events import session_started
from reread.blocks.of_session import SessionBlocks, heading_of, spoken_blocks
from reread.config import Config
from reread.errors import BadInput, SourceError
from reread.loading import add_file, records_of
from reread.sessions import CallStatus, Session, SessionBuilder
from reread.sources import FileKind, Line, Reset, SourceFile, find, follow_looks

from . import options
from .event_printer import Showing
from .stderr import tell


def follow_session(given: argparse.Namespace, config: Config) -> int:
    if given.turns or given.around or given.branch != "main":
        raise BadInput("--follow shows the branch that grows; it does not go with --turns, --around or --branch")
    show = _json_printer() if given.json else _text_printer(given, config)
    return _watch(trunk_of(given.session, config), show)


def _text_printer(given: argparse.Namespace, config: Config) -> Callable[[Session], None]:
    view = options.make_view(config, thinking=given.thinking, tools=given.tools)
    shown = _Shown()

    def show(session: Session) -> None:
        for turn, is_new in shown.fresh(session):
            if shown.is_new("heading"):
                options.print_lines(views.terminal.heading_lines(heading_of(session), view))
            if is_new:
                options.print_lines(views.terminal.rule_lines(turn.rule, view))
                if turn.prompt is not None:
                    options.print_lines(views.terminal.prompt_lines(turn.prompt, view))
            options.print_lines(views.terminal.step_lines(turn.steps, view, session.project))

    return show


def _json_printer() -> Callable[[Session], None]:
    """One document per line: a prompt, or a step as `show --json` has it, each with the number of its turn."""
    shown = _Shown()

    def show(session: Session) -> None:
        for turn, is_new in shown.fresh(session):
            if is_new and turn.prompt is not None:
                options.print_json_line({"turn": turn.rule.index, **views.session_json.prompt_document(turn.prompt)})
            for step in turn.steps:
                for document in views.session_json.step_documents(step):
                    options.print_json_line({"turn": turn.rule.index, **document})

    return show


def follow_thinking(given: argparse.Namespace, config: Config) -> int:
    if given.session is None:
        raise BadInput("--follow needs a session, such as @last")
    view = options.make_view(config)
    wanted = options.make_filter(given, config)
    shown = _Shown()

    def show(session: Session) -> None:
        for thought in session.thinking(given.min_length):
            if wanted.keeps_time(thought.time) and shown.is_new(
                f"{thought.uuid} {thought.record.line} {thought.text[:40]}"
            ):
                found = archives.answers.FoundThought(session.id, None, thought)
                if given.json:
                    options.print_json_line(views.session_json.thought_document(found))
                else:
                    options.print_lines(views.reports.thought_lines(found, view))

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
    return isinstance(step, CallBlock) and step.status is CallStatus.MISSING


OFTEN = 0.1
SELDOM = 2.0
"""How often the sources are walked for files that are new, or that grow again."""
BUSY = 0.02
"""The share of the time that may be spent on that: with thousands of old sessions a walk is no trifle."""
AWAKE = 600.0
"""A session that grew within so many seconds is looked at often."""

_SPOKEN = (FileKind.TRANSCRIPT, FileKind.SUBAGENT)


def follow_running(given: argparse.Namespace, config: Config) -> int:
    """Shows what is new until Ctrl-C."""
    showing = _Speakers(Showing(given, config))
    only = trunk_of(given.session, config) if given.session is not None else None
    if only is not None and not only.exists():
        raise SourceError(only, "no such file or folder")
    places = config.sources if only is None else (only,)
    if only is None:
        options.refuse_no_sources(config)
    _Watch(places, "every session that grows" if only is None else only.stem, showing).run()
    return 0


class _Speakers:
    """Shows what happens in many sessions, each under a line that names it."""

    def __init__(self, showing: Showing) -> None:
        self._showing = showing
        self._last: str | None = None

    def show(self, session: Session, blocks: list[ShownBlock], *, is_first: bool) -> None:
        if blocks and session.id != self._last:
            project = Path(session.project).name if session.project else ""
            title = " · ".join(part for part in (project, session.title, session.id[:8]) if part)
            self._showing.heading(title, session.project)
            self._last = session.id
        if is_first and self._showing.is_json:
            self._showing.show([session_started(session)])
        self._showing.write(blocks, session)

    def learn(self, blocks: list[ShownBlock]) -> None:
        for block in blocks:
            self._showing.learn(block)


class _Watch:
    """All files of some sources; those that grow are read."""

    def __init__(self, places: tuple[Path, ...], name: str, speakers: _Speakers) -> None:
        self._places = places
        self._name = name
        self._speakers = speakers
        self._sizes: dict[Path, int] = {}
        self._sessions: dict[tuple[Path, str], _Growing] = {}

    def run(self) -> None:
        awake = time.time() - AWAKE
        found = list(self._files())
        self._sizes = {file.path: file.size for file in found}
        self._open([file for file in found if file.mtime_ns / 1e9 > awake], found)
        # From here on nothing is missed, which is good to know for programs, too.
        tell(f"following {self._name}; stop with Ctrl-C")
        took = 0.0
        while True:
            end = time.monotonic() + max(SELDOM, took / BUSY)
            while time.monotonic() < end:
                for key, session in list(self._sessions.items()):
                    try:
                        session.look(self._speakers)
                    except SourceError as problem:
                        options.warn([problem])
                        del self._sessions[key]
                time.sleep(OFTEN)
            began = time.monotonic()
            self._look_around()
            took = time.monotonic() - began

    def _files(self) -> Iterator[SourceFile]:
        for place in self._places:
            for part in [place] if place.is_dir() else [place, place.with_suffix("")]:
                if part.exists():
                    yield from (file for file in find(part, problems=[]) if file.session is not None)

    def _look_around(self) -> None:
        """New files, and old ones that grow again."""
        found = list(self._files())
        self._open([file for file in found if file.size != self._sizes.get(file.path)], found)
        self._sizes.update((file.path, file.size) for file in found)
        asleep = time.time() - AWAKE
        self._sessions = {key: each for key, each in self._sessions.items() if each.grew > asleep}

    def _open(self, grown: list[SourceFile], found: list[SourceFile]) -> None:
        """Reads the sessions of these files from now on, with all their files."""
        keys = {(file.folder, file.session or "") for file in grown if file.kind in _SPOKEN}
        for file in found:
            key = (file.folder, file.session or "")
            if key in keys:
                session = self._sessions.setdefault(key, _Growing(key[1]))
                session.add(file, self._sizes.get(file.path, 0))


class _Growing:
    """One session and its agents, read once from the beginning and from then on as it grows."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.grew = time.time()
        self._builder = SessionBuilder(name)
        self._files: dict[Path, tuple[SourceFile, int]] = {}
        self._tails: dict[Path, Iterator[Iterator[Line | Reset]]] = {}
        self._seen: set[tuple[str, bool]] = set()
        self._is_first = True

    def add(self, file: SourceFile, old: int) -> None:
        """A file of the session, of which so many bytes were there before anybody looked."""
        if file.path in self._files:
            return
        self._files[file.path] = (file, old)
        if file.kind in _SPOKEN:
            self._tails[file.path] = follow_looks(file.path, interval=0)
        else:
            add_file(self._builder, file)

    def look(self, speakers: _Speakers) -> None:
        fresh: list[tuple[Line, str | None]] = []
        has_old = False
        for path, looks in list(self._tails.items()):
            file, old = self._files[path]
            for item in next(looks):
                if isinstance(item, Reset):
                    self._begin_anew()
                    return
                if item.offset + len(item.raw) < old:
                    self._take(item, file.agent)
                    has_old = True
                else:
                    fresh.append((item, file.agent))
        if has_old:
            speakers.learn(list(self._news(self._builder.session())))
        if fresh:
            for line, agent in fresh:
                self._take(line, agent)
            self.grew = time.time()
            session = self._builder.session()
            speakers.show(session, list(self._news(session)), is_first=self._is_first)
            self._is_first = False

    def _take(self, line: Line, agent: str | None) -> None:
        for record in records_of(line):
            self._builder.add(record, agent)

    def _begin_anew(self) -> None:
        """A file is another than it was; what was shown of the session is not shown again."""
        self._builder = SessionBuilder(self._name)
        files, self._files, self._tails = self._files, {}, {}
        for path, (file, _) in files.items():
            if path.exists():
                self.add(file, 0)

    def _news(self, session: Session) -> Iterator[ShownBlock]:
        """Blocks that are new, and calls that have their result now."""
        for block in spoken_blocks(session):
            has_result = isinstance(block, CallBlock) and block.output is not None
            if (block.key, has_result) not in self._seen:
                self._seen.add((block.key, has_result))
                yield block
