"""Options that several commands share, and what they turn into."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from reread.config import expanded
from reread.errors import BadInput, SourceError

if TYPE_CHECKING:
    from reread.config import Config
    from reread.loading import Shelf
    from reread.queries.filters import Filter
    from reread.render.terminal import View
    from reread.sessions import Session


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence, without repeating the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}; see `{self.prog} --help`")


def make_parser(name: str, about: str, examples: str) -> Parser:
    parser = Parser(
        prog=f"reread {name}".strip(),
        description=about,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    common = parser.add_argument_group("where and how")
    common.add_argument(
        "--source",
        action="append",
        metavar="PATH",
        help="a config directory, a projects directory, any folder, or one file; may be repeated",
    )
    common.add_argument("--timezone", metavar="ZONE", help="for example Europe/Berlin; the default is local time")
    common.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


def add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="a file, an id or its beginning, @last")


def add_filters(parser: argparse.ArgumentParser, limit: int | None) -> None:
    group = parser.add_argument_group("filters")
    group.add_argument("--project", metavar="TEXT", help="part of the real working directory")
    group.add_argument("--since", metavar="WHEN", help="2026-10-02, 7d, 24h, yesterday, monday")
    group.add_argument("--until", metavar="WHEN", help="the same; what lies before it is kept")
    group.add_argument("--model", metavar="TEXT", help="part of the model's name")
    group.add_argument("--branch", metavar="NAME", help="git branch")
    group.add_argument("--tool", metavar="NAME", help="tool name; * stands for anything")
    group.add_argument("--file", metavar="GLOB", help="sessions whose tools touched such a file")
    shown = f" (default {limit})" if limit else ""
    group.add_argument("--limit", type=positive, default=limit, metavar="N", help=f"at most N results{shown}")


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def make_filter(options: argparse.Namespace, config: Config) -> Filter:
    from reread.queries.filters import Filter, check_window, parse_time

    def moment(option: str) -> Any:
        text = getattr(options, option)
        return None if text is None else parse_time(text, config.now, config.timezone, f"--{option}")

    since, until = moment("since"), moment("until")
    check_window(since, until)
    return Filter(
        project=options.project,
        since=since,
        until=until,
        model=options.model,
        git_branch=options.branch,
        tool=options.tool,
        file=options.file,
        limit=options.limit,
    )


def open_shelf(config: Config) -> Shelf:
    """The transcripts of the sources; having none is an error a person can act on."""
    from reread.loading import Shelf

    if not config.sources:
        raise BadInput("no Claude Code folder found; name one with --source, or try `reread demo`")
    shelf = Shelf(config.sources)
    if not shelf.sessions and not shelf.files:
        places = ", ".join(str(place) for place in config.sources)
        raise BadInput(f"no transcripts in {places}")
    return shelf


def has_transcripts(config: Config) -> bool:
    """Whether the usual places hold any session at all."""
    from reread.sources import Kind, find

    return any(file.kind is Kind.TRANSCRIPT for place in config.sources if place.exists() for file in find(place))


def as_path(session: str) -> Path | None:
    """The path a session argument names; None when it is an id."""
    path = expanded(session)
    looks_like_one = path.suffix in (".jsonl", ".json") or "/" in session or "\\" in session
    return path if looks_like_one or (session and _exists(path)) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no file system takes such a name
        return False


def make_view(config: Config, **choices: Any) -> View:
    from reread.render.terminal import View
    from reread.render.text import Style

    return View(width=config.width, style=Style(config.colour), timezone=config.timezone, **choices)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{line}\n")


def print_json(document: object) -> None:
    import msgspec

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n")


def show_answer(
    given: argparse.Namespace,
    config: Config,
    document: Callable[[], object],
    lines: Callable[[View], Iterable[str]],
) -> None:
    """An answer as the person wants it: one JSON document, or text for the terminal."""
    if given.json:
        print_json(document())
    else:
        print_lines(lines(make_view(config)))


def warn(problems: Iterable[Exception]) -> None:
    for problem in problems:
        sys.stderr.write(f"reread: {problem}\n")


def sessions_asked_for(session: str | None, config: Config) -> tuple[Iterable[Session], list[SourceError]]:
    """One session, or all of the sources, oldest first; the list fills with what could not be read."""
    if session is None:
        shelf = open_shelf(config)
        return shelf.oldest_first(), shelf.problems
    return [load_session(session, config)], []


def load_session(session: str, config: Config) -> Session:
    """A session by path, id, beginning of an id, `@last` or `@2`."""
    from reread.loading import load

    path = as_path(session)
    return load(path) if path is not None else open_shelf(config).session(session)
