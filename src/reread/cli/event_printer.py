"""Prints events as they happen: of a stream, of a growing session, or of all running sessions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from reread import archive as archives
from reread import views
from reread.archive.answers import FoundThought
from reread.billing import load_prices
from reread.blocks import of_events
from reread.blocks.model import CallBlock, ShownBlock, StepBlock, ThinkingBlock, TurnBlocks
from reread.blocks.of_events import session_started
from reread.blocks.of_session import SessionBlocks, heading_of, spoken_blocks
from reread.config import Config, terminal_width
from reread.errors import BadInput, RereadError, SourceError
from reread.features.activity import Activity, Doing, activity_of
from reread.live.events import Event, ToolCall
from reread.loading import add_file, records_of
from reread.marks import NO_MARK, Mark
from reread.sessions import CallStatus, Session, SessionBuilder
from reread.sources import AppendedLine, Reset, SessionTail, Tail, pace
from reread.sources.lines import read_head
from reread.views.reports import activity_words
from reread.views.screen import Screen
from reread.views.text import printed

from . import options
from .streams import notify, tell


class EventPrinter:
    """Writes events to standard output: text for people, JSON lines for programs."""

    def __init__(self, args: options.Options) -> None:
        self.is_json: bool = args.jsonl
        self._is_terminal = sys.stdout.isatty()
        view = options.make_view(args.config, thinking=args.thinking)
        self._told: set[str] = set()
        """Keys of the blocks of growing sessions that were printed."""
        self.screen = Screen(view, is_terminal=args.config.can_redraw)

    def show(self, events: Iterable[Event]) -> None:
        """Shows these events and flushes, so that they are on the screen when it returns."""
        if self._is_terminal:
            self.screen.resize(terminal_width())
        for event in events:
            if self.is_json:
                self._document(event)
            else:
                sys.stdout.write(self.screen.show(event))
        sys.stdout.flush()

    def write(self, blocks: Iterable[ShownBlock], session: Session) -> None:
        """Shows blocks of a session that grows on disk; programs get the events that a stream would have had."""
        if self.is_json:
            self.show(event for block in blocks for event in self._events(block, session))
            return
        if self._is_terminal:
            self.screen.resize(terminal_width())
        for block in blocks:
            sys.stdout.write(self.screen.write(block))
        sys.stdout.flush()

    def learn(self, block: ShownBlock) -> None:
        """Remembers a block that was there before and is not to be shown."""
        self._told.add(block.key)
        self.screen.learn(block)

    def _events(self, block: ShownBlock, session: Session) -> Iterator[Event]:
        """The events of a block. A call's block comes again with its result: the call itself is not repeated then."""
        is_shown = block.key in self._told
        self._told.add(block.key)
        return (
            event for event in of_events.events_of(block, session.id) if not (is_shown and isinstance(event, ToolCall))
        )

    def note(self, text: str, *looks: str) -> None:
        """Prints a line of reread's own, for people only."""
        if not self.is_json:
            sys.stdout.write(self.screen.note(text, *looks))
            sys.stdout.flush()

    def heading(self, text: str, project: str | None) -> None:
        """Names the session of the following lines, for people only."""
        if not self.is_json:
            sys.stdout.write(self.screen.heading(text, project))

    def ask(self, lines: Iterable[str]) -> None:
        """Asks a question: on the screen, or on standard error if the output is not a terminal or is JSON."""
        harmless = list(map(printed, lines))
        self.put(self.screen.question(harmless) if self._is_for_people else "".join(f"{line}\n" for line in harmless))

    def put(self, text: str) -> None:
        """Writes text of reread's own after a question, such as the answer that was chosen."""
        stream = sys.stdout if self._is_for_people else sys.stderr
        stream.write(text)
        stream.flush()

    @property
    def _is_for_people(self) -> bool:
        return self._is_terminal and not self.is_json

    def end(self) -> None:
        """Ends the open line."""
        if not self.is_json:
            sys.stdout.write(self.screen.rest())
            sys.stdout.flush()

    def _document(self, event: Event) -> None:
        options.print_json_line(views.session_json.event_document(event))


def follow_session(args: options.Options) -> None:
    if args.turns or args.around or args.branch != "main":
        raise BadInput("--follow shows the branch that grows; it does not go with --turns, --around or --branch")
    show = _json_printer() if args.json else _text_printer(args)
    path = trunk_of(args.session, args.config)
    mark = NO_MARK if options.as_path(args.session) is not None else _mark_of(path.stem, args.config)
    _watch(path, show, lambda: SessionBuilder(path.stem, prices=load_prices(args.config.prices), mark=mark))


def _mark_of(session: str, config: Config) -> Mark:
    """The person's mark on the session, for its title. It is empty without an archive."""
    try:
        with archives.Archive(config.home) as archive:
            return archive.marks.all().get(session, NO_MARK) if archive.exists else NO_MARK
    except RereadError:
        return NO_MARK


def _text_printer(args: options.Options) -> Callable[[Session], None]:
    view = options.make_view(args.config, thinking=args.thinking, tools=args.tools)
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
    """Prints one document per line: a prompt or a step as in `show --json`, each with the number of its turn."""
    shown = _Shown()

    def show(session: Session) -> None:
        for turn, is_new in shown.fresh(session):
            if is_new and turn.prompt is not None:
                options.print_json_line({"turn": turn.rule.index, **views.session_json.prompt_document(turn.prompt)})
            for step in turn.steps:
                for document in views.session_json.step_documents(step):
                    options.print_json_line({"turn": turn.rule.index, **document})

    return show


def follow_thinking(args: options.Options) -> None:
    """Prints the thoughts of a session as it grows; without one, the new thoughts of all running sessions."""
    printer = _ThoughtPrinter(args)
    if args.session is not None:
        _watch(trunk_of(args.session, args.config), printer.show_all)
    else:
        options.refuse_no_sources(args.config)
        _Watch(args.config.sources, "the thinking of every session that grows", printer).run()


class _ThoughtPrinter:
    def __init__(self, args: options.Options) -> None:
        self._is_json: bool = args.json
        self._least: int = args.min_length
        self._view = options.make_view(args.config)
        self._filters = options.make_filter(args)._replace(limit=None)
        self._shown = _Shown()

    def show_all(self, session: Session) -> None:
        for found in reversed(archives.answers.thinking([session], self._filters, self._least).thoughts):
            if not self._shown.is_new(self._key(found)):
                continue
            if self._is_json:
                options.print_json_line(views.session_json.thought_document(found))
            else:
                options.print_lines(views.reports.thought_lines(found, self._view))

    def learn(self, session: Session, blocks: list[ShownBlock]) -> None:  # noqa: ARG002  as `_Speakers.learn`
        for found in archives.answers.thinking([session], self._filters, self._least).thoughts:
            self._shown.is_new(self._key(found))

    def show(self, session: Session, blocks: list[ShownBlock], *, is_first: bool) -> None:  # noqa: ARG002
        if any(isinstance(block, ThinkingBlock) for block in blocks):
            self.show_all(session)
            sys.stdout.flush()

    @staticmethod
    def _key(found: FoundThought) -> str:
        return f"{found.session} {found.thought.uuid} {found.thought.record.line} {found.thought.text[:40]}"


def trunk_of(session: str, config: Config) -> Path:
    path = options.as_path(session)
    return path if path is not None else options.open_tree(config).trunk(session)


def _watch(path: Path, show: Callable[[Session], None], begin: Callable[[], SessionBuilder] | None = None) -> None:
    """Adds every new line to a builder and shows the session, until Ctrl-C."""
    read_head(path)  # raises if it is not a file
    tail = SessionTail(path.stem)
    read = _ReadSoFar(tail, begin or partial(SessionBuilder, path.stem))
    for is_due in chain([True], pace(None)):
        if is_due:
            tail.look_around(path)
        news = tail.look()
        if isinstance(news, list) and news:  # when an agent's result has come, its file exists
            tail.look_around(path)
            later = tail.look()
            news = later if isinstance(later, Reset) else news + later
        if isinstance(news, Reset):
            tell(f"{path} was {news.reason}; starting again")
            read.restart()
        elif read.take(news):
            show(read.session())
            sys.stdout.flush()


class _ReadSoFar:
    """A session and its agents, built from the lines read so far."""

    def __init__(self, tail: SessionTail, begin: Callable[[], SessionBuilder]) -> None:
        self._tail = tail
        self._begin = begin
        self.restart()

    def restart(self) -> None:
        self._builder = self._begin()
        self._beside: set[Path] = set()

    def take(self, lines: Iterable[AppendedLine]) -> bool:
        """Adds lines; returns whether there were any."""
        for file in self._tail.side_files:
            if file.path not in self._beside:
                self._beside.add(file.path)
                add_file(self._builder, file)
        is_any = False
        for file, line, _ in lines:
            is_any = True
            for record in records_of(line):
                self._builder.add(record, file.agent)
        return is_any

    def session(self) -> Session:
        return self._builder.session()


class _Shown:
    """The keys of what has been printed."""

    def __init__(self) -> None:
        self._keys: set[str] = set()

    def is_new(self, key: str) -> bool:
        is_new = key not in self._keys
        self._keys.add(key)
        return is_new

    def fresh(self, session: Session) -> Iterator[tuple[TurnBlocks, bool]]:
        """Turns with their new steps, and whether the turn is new. A call is not new until it has its result."""
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


def follow_running(args: options.Options) -> None:
    """Shows what is new in all running sessions, until Ctrl-C."""
    printer = _Speakers(EventPrinter(args))
    only = trunk_of(args.session, args.config) if args.session is not None else None
    if only is not None and not only.exists():
        raise SourceError(only, "no such file or folder")
    places = args.config.sources if only is None else (only,)
    if only is None:
        options.refuse_no_sources(args.config)
    notices = _Notices() if args.notify else None
    _Watch(places, "every session that grows" if only is None else only.stem, printer, notices).run()


class _Notices:
    """Reports that a session begins to wait for the person or is done: by a line and a notification of the terminal."""

    def __init__(self) -> None:
        self._doing: dict[str, Doing] = {}
        self._next = 0.0

    def look(self, sessions: Iterable[_Growing]) -> None:
        """Compares the sessions' states, at most once a second; how long a session is silent is part of its state."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 1
        for growing in sessions:
            if growing.session is not None:
                self._compare(growing.session, activity_of(growing.session, max(0.0, time.time() - growing.grew)))

    def _compare(self, session: Session, now: Activity) -> None:
        before = self._doing.get(session.id)
        self._doing[session.id] = now.doing
        is_asked = now.needs_person and before is not Doing.ASKING
        is_done = now.doing is Doing.WAITING and before is not Doing.WAITING
        if is_asked or is_done:
            name = session.title or session.id[:8]
            notify(f"{name}: {'done, ' if is_done else ''}{activity_words(now)}")


class _Speakers:
    """Shows the events of many sessions, each under a line that names the session."""

    def __init__(self, printer: EventPrinter) -> None:
        self._printer = printer
        self._last: str | None = None

    def show(self, session: Session, blocks: list[ShownBlock], *, is_first: bool) -> None:
        if blocks and session.id != self._last:
            project = Path(session.project).name if session.project else ""
            title = " · ".join(part for part in (project, session.title, session.id[:8]) if part)
            self._printer.heading(title, session.project)
            self._last = session.id
        if is_first and self._printer.is_json:
            self._printer.show([session_started(session)])
        self._printer.write(blocks, session)

    def learn(self, session: Session, blocks: list[ShownBlock]) -> None:  # noqa: ARG002  as `_ThoughtPrinter.learn`
        for block in blocks:
            self._printer.learn(block)


class _Watch:
    """Shows every session that grows."""

    def __init__(
        self,
        places: tuple[Path, ...],
        name: str,
        speakers: _Speakers | _ThoughtPrinter,
        notices: _Notices | None = None,
    ) -> None:
        self._notices = notices
        self._places = places
        self._name = name
        self._speakers = speakers
        self._growing: dict[SessionTail, _Growing] = {}

    def run(self) -> None:
        problems: list[SourceError] = []
        tail = Tail(self._places, problems)
        # Printed for programs, too: from here on no new line is missed.
        tell(f"following {self._name}; stop with Ctrl-C")
        for is_due in chain([False], pace(None)):
            for session, news in tail.look(is_due=is_due):
                self._growing.setdefault(session, _Growing(session)).show(news, self._speakers)
            options.warn(problems)
            problems.clear()
            self._growing = {each: self._growing[each] for each in tail.sessions if each in self._growing}
            if self._notices is not None:
                self._notices.look(self._growing.values())


class _Growing:
    """One session and its agents, as read so far."""

    def __init__(self, tail: SessionTail) -> None:
        self._tail = tail
        self._read = _ReadSoFar(tail, partial(SessionBuilder, tail.name))
        self._seen: set[tuple[str, bool]] = set()
        self._is_first = True
        self.session: Session | None = None
        """The session when it last grew."""

    @property
    def grew(self) -> float:
        return self._tail.grew

    def show(self, news: Sequence[AppendedLine] | Reset, speakers: _Speakers | _ThoughtPrinter) -> None:
        if isinstance(news, Reset):  # a file was replaced; what was shown is not shown again
            self._read.restart()
            return
        if self._read.take(each for each in news if each.is_old):
            session = self._read.session()
            speakers.learn(session, list(self._news(session)))
        if self._read.take(each for each in news if not each.is_old):
            session = self.session = self._read.session()
            speakers.show(session, list(self._news(session)), is_first=self._is_first)
            self._is_first = False

    def _news(self, session: Session) -> Iterator[ShownBlock]:
        """New blocks, and calls whose result has come."""
        for block in spoken_blocks(session):
            has_result = isinstance(block, CallBlock) and block.output is not None
            if (block.key, has_result) not in self._seen:
                self._seen.add((block.key, has_result))
                yield block
