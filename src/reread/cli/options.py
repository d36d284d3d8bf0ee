"""Options that several commands share, what they are parsed into, output functions, and a yes-or-no question."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from reread import archive as archives
from reread import config, lazy, views
from reread.config import expanded, local_zone, terminal_width
from reread.errors import BadInput
from reread.lazy import TYPE_CHECKING

from . import main
from .streams import is_closed_pipe, tell, tell_lines

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import Any, NoReturn

    from reread import loading, marks, sources
    from reread.billing import Prices
    from reread.config import Config
else:
    lazy.bind(globals())


def is_agreed(question: str, otherwise: str = "nothing was changed:") -> bool:
    """Asks a person at a terminal: only yes is True. If standard input is not a terminal, raises BadInput; its message
    begins with `otherwise`."""
    if not sys.stdin.isatty():
        raise BadInput(f"{otherwise} standard input is not a terminal to ask at; pass --yes")
    tell_lines(f"{question} [yes/no] ", end="")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


MOST_PROBLEMS = 5

COMMON_GROUP, FILTER_GROUP = SHARED_GROUPS = ("common options", "filters")
"""Groups of options that many commands have; the short help omits them."""


OTHER_OPTIONS = {
    "": {
        **dict.fromkeys(("-L", "-m", "--max-count", "--top"), "--limit"),
        **dict.fromkeys(("-q", "--jq"), "--json | jq"),
        **dict.fromkeys(("--nl", "--ndjson"), "--json"),
        **dict.fromkeys(("-f", "--watch", "--tail"), "--follow"),
        **dict.fromkeys(("-s", "--from", "--after"), "--since"),
        **dict.fromkeys(("-u", "--to", "--before"), "--until"),
        **dict.fromkeys(("-z", "--tz"), "--timezone"),
        **dict.fromkeys(("-g", "--glob"), "--file"),
        "--web": "`reread serve` opens everything in your browser",
        **dict.fromkeys(("--sort", "--order", "--reverse"), "the order is fixed; `--json | jq` makes any other"),
        **dict.fromkeys(("--no-color", "--no-colour"), "set NO_COLOR=1 for none"),
        **dict.fromkeys(("-O", "--offline"), "prices come with reread, and nothing asks the network"),
        **dict.fromkeys(("--color", "--colour"), "set FORCE_COLOR=1 for colours in a pipe, NO_COLOR=1 for none"),
    },
    "usage": {
        "-b": "--breakdown",
        "--mode": "--cost",
        **dict.fromkeys(("-i", "--instances"), "`reread usage project` is by project"),
        "--compact": "tables fit the terminal, or COLUMNS",
        "--debug": "`reread explain` shows how a cost is made up, `reread doctor` what could not be read",
        **dict.fromkeys(("--active", "--live", "--recent"), "`reread usage block` has the open block last"),
        "--start-of-week": "weeks begin on Monday",
        "--id": "`reread explain ID` is about one session",
    },
    "search": {
        **dict.fromkeys(("-i", "--ignore-case"), "case never matters, but with --regex, where (?i) ignores it"),
        **dict.fromkeys(("-F", "--fixed-strings"), "words are taken as they are; a phrase stands in quotes: '\"a b\"'"),
        **dict.fromkeys(("-e", "-E", "-P", "--regexp"), "--regex"),
        **dict.fromkeys(("-w", "--word-regexp"), "words are whole words; word* finds beginnings"),
        **dict.fromkeys(("-v", "--invert-match"), "NOT before a word leaves out what has it"),
        **dict.fromkeys(("-l", "--files-with-matches"), "--json -n 9999 | jq -r '.hits[].session' | sort -u"),
        **dict.fromkeys(("-c", "--count"), "--json | jq .total"),
        **dict.fromkeys(
            ("-A", "-B", "-C", "--context"), "the last line of a hit is the command that shows it in context"
        ),
    },
    "sql": {
        "--tables": "--schema",
        **dict.fromkeys(("-t", "--table"), "a table is what is printed without --json or --csv"),
    },
    "serve": {"-p": "--port"},
    "export": {"-f": "--format"},
}
"""Options of other programs (ccusage, gh, ripgrep, sqlite-utils), by command: our option for it, or a hint. By spelling
alone `--order` would suggest `--store`."""


_LEAST_COLUMN = 12


class Help(argparse.RawDescriptionHelpFormatter):
    """Sets its width itself: argparse makes a formatter for every option and would import shutil for the width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)
        self._action_max_length = _LEAST_COLUMN  # argparse ignores that actions are indented, and breaks their lines

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wraps descriptions to the terminal's width. Of examples, whose lines are indented, no command is broken: what
        is said about one goes below it if there is no room beside it."""
        if "\n  " in text:
            return super()._fill_text("\n".join(_example_lines(text.splitlines(), terminal_width())), width, indent)
        from textwrap import fill

        return "\n\n".join(fill(" ".join(part.split()), width) for part in text.split("\n\n"))


def _example_lines(lines: Iterable[str], width: int) -> Iterator[str]:
    from textwrap import wrap

    for line in lines:
        command, gap, about = line.strip().partition("   ")
        if len(line) <= width or not gap or not line.startswith("  "):
            yield line
        else:
            yield f"  {command}"
            yield from wrap(about.strip(), width, initial_indent="      ", subsequent_indent="      ")


class _ShortHelp(argparse.Action):
    """`-h` shows only the command's own options; `--help` adds those that many commands share."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        if isinstance(parser, Parser):
            parser.show_help(is_short=True)
        parser.exit()


class Options(argparse.Namespace):
    """The options of a command, with the configuration that they and the environment make."""

    @cached_property
    def config(self) -> Config:
        return config.make_config(self.source, self.timezone, self.home, prices=getattr(self, "prices", None))

    def print_answer(self, document: Callable[..., object], lines: Callable[..., Iterable[str]], *about: Any) -> None:
        """Prints an answer as one JSON document, or as text for the terminal, which is made with a view as well."""
        if self.json:
            print_json(document(*about))
        else:
            print_lines(lines(*about, make_view(self.config)))


Section = argparse._ArgumentGroup


class Parser(argparse.ArgumentParser):
    """Reports a wrong argument in one sentence, without repeating the usage."""

    _usage_words = ""
    legend: tuple[str, Callable[[], Mapping[str, str]]] | None = None
    """A title, and words with their meanings: a section of the long help, made only when that is shown."""

    def flag(self, names: str, about: str, to: Section | None = None, **more: Any) -> None:
        """Adds an option without a value: `flag("--watch", "keep importing until Ctrl-C")`."""
        (to or self).add_argument(*names.split(), action="store_true", help=about, **more)

    def option(self, names: str, about: str, to: Section | None = None, **more: Any) -> None:
        """Adds an option with a value: `option("--output -o PATH", "file to write")`."""
        words = names.split()
        if not words[-1].startswith("-"):  # of choices, they are the name of the value
            more["metavar"] = words.pop()
        (to or self).add_argument(*words, help=about, **more)

    def word(self, name: str, about: str, **more: Any) -> None:
        """Adds a word in its place, in brackets if it may be missing: `word("[SESSION]", "an id")`."""
        metavar = name.strip("[]")
        number = None if metavar == name else "?"
        self.add_argument(metavar.lower(), metavar=metavar, help=about, nargs=number, **more)

    def take(self, table: Mapping[str, str]) -> None:
        """Adds flags, options and words, which differ in how they are written: `--all`, `--to DIR`, `SESSION`."""
        for name, about in table.items():
            add = self.word if not name.startswith("-") else self.option if " " in name else self.flag
            add(name, about)

    def take_section(self, title: str, table: Mapping[str, str]) -> Section:
        """Adds flags and options in a section of the help, to which more can be added."""
        section = self.add_argument_group(title)
        for name, about in table.items():
            (self.option if " " in name else self.flag)(name, about, section)
        return section

    def show_help(self, *, is_short: bool) -> None:
        sys.stdout.write(self.format_help(is_short=is_short))

    def print_help(self, _file: object = None) -> None:
        """Prints help. argparse would ignore a full disk."""
        self.show_help(is_short=False)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Ends after help. It flushes first, while a closed pipe or a full disk can still be reported."""
        sys.stdout.flush()
        super().exit(status, message)

    def format_help(self, *, is_short: bool = False) -> str:
        formatter = self._get_formatter()
        formatter.add_usage(f"{self.prog} [OPTIONS] {self._usage_words or self._words()}".strip(), [], [])
        formatter.add_text(self.description)
        groups = [group for group in self._action_groups if not (is_short and group.title in SHARED_GROUPS)]
        for group in groups:
            formatter.start_section(group.title)
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        if self.legend is not None and not is_short:
            title, meanings = self.legend
            formatter.start_section(title)
            formatter.add_arguments([argparse.Action([], word, help=text) for word, text in meanings().items()])
            formatter.end_section()
        formatter.add_text(self.epilog)
        left_out = [str(group.title) for group in self._action_groups if group not in groups]
        if left_out:
            formatter.add_text(f"`{self.prog} --help` lists {' and '.join(reversed(left_out))} as well.")
        return formatter.format_help()

    def _words(self) -> str:
        """The positional arguments as the usage line shows them."""
        formatter = argparse.HelpFormatter("", width=10_000)
        formatter.add_usage(None, [action for action in self._actions if not action.option_strings], [], prefix="")
        return formatter.format_help().rstrip()

    def parse_intermixed_args(self, args: Sequence[str]) -> Options:  # type: ignore[override]
        """Keeps words in the usage line: argparse (3.11) hides them while it parses options, `--help` among them."""
        self._usage_words = self._words()
        return self._checked(*self.parse_known_intermixed_args(args, Options()), args)

    def parse_args(self, args: Sequence[str]) -> Options:  # type: ignore[override]
        return self._checked(*self.parse_known_args(args, Options()), args)

    def _checked(self, given: Options, unknown: list[str], args: Sequence[str]) -> Options:
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}", self._meant(unknown, args))
        for action in self._actions:
            value = getattr(given, action.dest, None)
            if not action.option_strings and action.choices is not None and value not in (None, *action.choices):
                self.error(f"{value!r} is not one of {', '.join(map(str, action.choices))}")
        return given

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Checks options only. `_checked` does words: here the value of an unknown option would be a wrong word."""
        if action.option_strings:
            super()._check_value(action, value)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Accepts `--note=--`: argparse (3.11) takes that `--` for the end of options and returns an empty list."""
        if not action.option_strings or action.nargs is not None or arg_strings != ["--"]:
            return super()._get_values(action, arg_strings)
        value = self._get_value(action, "--")
        self._check_value(action, value)
        return value

    def _meant(self, unknown: list[str], args: Sequence[str]) -> str:
        """A hint for the first unknown option: ours for what it means in other programs, else the most similar one."""
        wrong = next((each.partition("=")[0] for each in unknown if each.startswith("-")), "")
        if not wrong:
            return self._meant_word(unknown[0], args)
        command = self.prog.removeprefix("reread").strip()
        if other := self._of_other_programs(wrong, command):
            return other
        if command == "search" and len(wrong) > 2 and not wrong.startswith("--"):
            return f" (what leaves a word out stands in quotes: 'word {wrong}')"
        known = [*self._option_string_actions, *(["--version"] if self.prog == "reread" else [])]
        close = main.spelled_like(wrong[2:], [each[2:] for each in known if each.startswith("--")])
        if wrong.startswith("--") and close:
            return f" (did you mean --{close}?)"
        return self._command_first(unknown) if self.prog == "reread" else ""

    @staticmethod
    def _command_first(unknown: Sequence[str]) -> str:
        named = next((each for each in unknown if each in main.COMMANDS), None)
        rest = [each for each in unknown if each != named]
        return f" (did you mean reread {' '.join([named, *rest])}?)" if named else ""

    def _of_other_programs(self, wrong: str, command: str) -> str:
        names = [wrong, wrong[:2]] if wrong[2:].isdecimal() else [wrong]  # `-A3` is `-A 3`
        others = [OTHER_OPTIONS.get(which, {}).get(name) for which in (command, "") for name in names]
        other = next(filter(None, others), "")
        if not other.startswith("--"):
            return f" ({other})" if other else ""
        return f" (did you mean {other}?)" if other.split()[0] in self._option_string_actions else ""

    def _meant_word(self, word: str, args: Sequence[str]) -> str:
        if ("--json", word) in pairwise(args):
            return " (--json prints every field; `--json | jq` chooses)"
        has_words = any(not action.option_strings for action in self._actions)
        if self.prog == "reread usage":
            return f" (`reread explain {word}` is about one session)"
        takes_it = "--project" in self._option_string_actions and not has_words
        return f" (did you mean --project {word}?)" if takes_it else ""

    def error(self, message: str, meant: str = "") -> NoReturn:
        raise BadInput(f"{message}; see `{self.prog} --help`{meant}")


def make_parser(
    name: str, description: str, examples: str, *, syncs: bool = True, is_stream: bool = False, has_json: bool = True
) -> Parser:
    """A parser with the options that every command has; with `syncs`, also `--no-sync`.

    With `is_stream`, it has `--jsonl` instead of `--json`.
    """
    parser = Parser(
        prog=f"reread {name}".strip(),
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=Help,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument("-h", action=_ShortHelp, nargs=0, help=argparse.SUPPRESS)
    parser.add_argument("--help", action="help", help="show this help (-h: without filters and common options)")
    group = parser.add_argument_group(COMMON_GROUP)
    for option, (value, about) in main.WITH_VALUE.items():
        group.add_argument(option, action="append" if option == "--source" else "store", metavar=value, help=about)
    if name.partition(" ")[0] in main.OVER_STORE:
        usual = "REREAD_STORE, or the last one used" if name.startswith("team") else "REREAD_STORE, if set"
        about = f"ask a team store, such as postgresql://host/database (default: {usual})"
        group.add_argument(main.STORE, metavar="URL", help=about)
    flags = {"--no-sync": syncs, "--jsonl": is_stream, "--json": has_json and not is_stream}
    for option in filter(flags.get, main.FLAGS):
        names = [option, main.SHORT[option]] if option in main.SHORT else [option]
        group.add_argument(*names, action="store_true", help=main.FLAGS[option])
    if not syncs and name != "sync":  # `reread --help` lists it for all: a command that imports nothing does as told
        parser.add_argument("--no-sync", action="store_true", help=argparse.SUPPRESS)
    return parser


def store_of(args: Options) -> str | None:
    """The team's store to use; None for the person's own archive."""
    return args.store or os.environ.get("REREAD_STORE") or None


def add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", nargs="?", metavar="SESSION", help="a file, an id or the start of one, @last")


_FILTERS = {
    "--project -p TEXT": "only sessions whose project path contains TEXT",
    "--since WHEN": "only from WHEN on: 2026-10-02, 2026-10, 7d, 2mo, thu",
    "--until WHEN": "only up to WHEN: a day is included, a time such as 2026-10-02T14:00 is not",
    "--model TEXT": "only models whose name contains TEXT",
    "--branch NAME": "only sessions on this git branch",
    "--tool NAME": "only sessions that used this tool; * matches anything",
    "--file GLOB": "only sessions whose tools touched a matching file",
    "--machine NAME": "only sessions of the machine with this label or id",
    "--starred": "only starred sessions",
}


def add_filters(parser: Parser, limit: int | None, tag_names: str = "--tag --tagged") -> None:
    section = parser.take_section(FILTER_GROUP, _FILTERS)
    about = "only sessions with this tag; repeat to require several"
    parser.option(f"{tag_names} NAME", about, section, action="append", dest="tagged")
    shown = f" (default {limit})" if limit else ""
    parser.option("--limit -n N", f"print at most N results{shown}", section, type=positive, default=limit)


def add_hidden(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands that list sessions; all other commands include hidden sessions."""
    parser.add_argument("--hidden", action="store_true", help="include sessions hidden with `reread mark --hide`")


def add_programs(parser: Parser) -> None:
    """Adds the option of commands about what people typed."""
    parser.flag("--programs", "include sessions that a program drove; `reread mark --typed` says that it was you")


def add_prices(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands that show money."""
    about = "use the prices in FILE (default: REREAD_PRICES, or prices.json in the archive folder)"
    parser.add_argument("--prices", metavar="FILE", help=about)


def add_asking(parser: Parser) -> None:
    table = {
        "--ask-claude": "ask Claude about it, by your own client and without tools",
        "--ask-model NAME": "model to ask, for example sonnet",
        "--claude PATH": "client to run (default: `claude` on PATH)",
    }
    parser.take_section("a model's opinion", table)


_MOST = (1 << 62) - 1
"""The largest limit passed on: SQLite takes no number much larger, and such a limit means everything."""


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return min(int(text), _MOST)


def whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 on")
    return min(int(text), _MOST)


def make_filter(options: Options) -> archives.filters.Filter:
    config = options.config

    def moment(parse: Any, option: str) -> Any:
        text = getattr(options, option)
        return None if text is None else parse(text, config.now, config.timezone, f"--{option}")

    since, until = moment(archives.filters.parse_time, "since"), moment(archives.filters.parse_end, "until")
    archives.filters.check_window(since, until)
    return archives.filters.Filter(
        sources=named_sources(config),
        project=options.project,
        since=since,
        until=until,
        model=options.model,
        git_branch=options.branch,
        tool=options.tool,
        file=options.file,
        machine=options.machine,
        limit=options.limit,
        programs=getattr(options, "programs", False),
        starred=options.starred,
        tags=tuple(marks.tag_name(text) for text in options.tagged or ()),
    )


def named_sources(config: Config) -> tuple[str, ...]:
    """The folders or files that answers are limited to; empty for all."""
    return tuple(place for source in config.sources for place in _spellings(source)) if config.is_source_named else ()


def _spellings(place: Path) -> list[str]:
    return list(dict.fromkeys([str(place.absolute()), str(place.resolve())]))


def open_tree(config: Config, prices: Prices | None = None) -> loading.SourceTree:
    """The transcripts of the sources. If there are none, says so on standard error; the answer is then empty."""
    refuse_no_sources(config)
    tree = loading.SourceTree(config.sources, prices)
    if not tree.sessions and not tree.files:
        tell(f"no transcripts in {', '.join(map(str, config.sources))}")
    return tree


def refuse_no_sources(config: Config) -> None:
    if not config.sources:
        raise BadInput("no Claude Code folder found; name one with --source, or try `reread demo`")


def has_transcripts(config: Config) -> bool:
    """Whether there is any transcript in the sources."""
    places = [place for place in config.sources if place.exists()]
    return any(file.kind is sources.FileKind.TRANSCRIPT for place in places for file in sources.find(place))


def as_path(session: str) -> Path | None:
    """The path that a session argument names; None if it is an id."""
    path = expanded(session)
    looks_like_one = path.suffix in (".jsonl", ".json") or "/" in session or "\\" in session
    return path if looks_like_one or (session and _exists(path)) else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # not a possible file name
        return False


def make_view(config: Config, **choices: Any) -> views.values.View:
    return views.values.View(
        width=config.width, style=views.text.Style(config.colour), timezone=config.timezone, **choices
    )


def zone_name(named: str | None) -> str:
    """The name of the time zone of a report's days: the named one or the machine's own."""
    return local_zone() if named is None else named


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines; only printable characters and our own colours reach the terminal."""
    for line in lines:
        if line.isprintable():  # most are; so `sync` need not import `views`
            sys.stdout.write(f"{line}\n")
        else:
            sys.stdout.write(f"{views.text.printed(line)}\n")


def print_text(text: str) -> None:
    """Prints text without colours, such as CSV, with all control characters except line ends made harmless."""
    sys.stdout.write(views.text.without_controls(text))


def print_bytes(raw: bytes, text: str) -> None:
    """Prints a file: a pipe or file gets the exact bytes, a terminal the text without control characters."""
    if sys.stdout.isatty():
        print_text(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(raw)
        sys.stdout.buffer.flush()


def print_bytes_or_text(raw: bytes, *, is_exact: bool) -> None:
    """Prints a document; if it has to be exact, a pipe or file gets the bytes unchanged."""
    text = raw.decode("utf-8", "replace")
    if is_exact:
        print_bytes(raw, text)
    else:
        print_text(text)


def print_json(document: object) -> None:
    sys.stdout.write(views.values.indented(document) + "\n")


def print_json_list(head: dict[str, object], name: str, rows: Iterable[object]) -> None:
    """Prints a document whose last field is a list of any length; each row is written as it comes."""
    text = views.values.indented

    sys.stdout.write(f'{text(head)[:-2]},\n  "{name}": [')
    between = ""
    for row in rows:
        sys.stdout.write(f"{between}\n    " + text(row).replace("\n", "\n    "))
        between = ","
    sys.stdout.write("\n  ]\n}\n" if between else "]\n}\n")


def print_json_line(document: object) -> None:
    """Prints one document of a stream on one line."""
    sys.stdout.write(views.values.encoded(document).decode() + "\n")


def send_json_line(document: object) -> None:
    """The same for a program that waits for it: flushed, in UTF-8, with a plain line feed on every system."""
    sys.stdout.flush()
    sys.stdout.buffer.write(views.values.encoded(document) + b"\n")
    sys.stdout.buffer.flush()


def refuse_two_answers(args: Options) -> None:
    """Raises BadInput if more than one of JSON, CSV and a chart is to be printed."""
    asked = {"--json": args.json, "--csv": args.csv, "--plot -": getattr(args, "plot", None) == "-"}
    names = [name for name, is_asked in asked.items() if is_asked]
    if len(names) > 1:
        raise BadInput(f"{' and '.join(names)} cannot be printed together; choose one")


@contextmanager
def paged(config: Config, *, is_wanted: bool) -> Iterator[None]:
    """Sends output through the pager, as git does: `PAGER`, else `less -FRX` if there is one.

    Only if input and output are a terminal that can redraw.
    """
    pager = _pager() if is_wanted and config.can_redraw and sys.stdin.isatty() else None
    if pager is None or pager.stdin is None:
        yield
        return
    import io
    import signal

    terminal = sys.stdout
    pipe = io.TextIOWrapper(pager.stdin, encoding="utf-8", errors="backslashreplace", newline="\n")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager, where it stops a search
    sys.stdout = pipe
    try:
        with _until_closed():
            yield
            pipe.flush()
    finally:
        sys.stdout = terminal
        with _until_closed():
            pipe.close()
        pager.wait()
        signal.signal(signal.SIGINT, before)


@contextmanager
def _until_closed() -> Iterator[None]:
    """Ends quietly when the person closes the pager."""
    try:
        yield
    except OSError as error:
        if not is_closed_pipe(error):
            raise


def command_words(command: str) -> list[str]:
    """The words of a command from the environment. Raises BadInput for an unclosed quote. On Windows a backslash is
    part of a path, and the quotes around a path with spaces, which `shlex` would keep, are removed."""
    import shlex

    is_posix = sys.platform != "win32"
    try:
        words = shlex.split(command, posix=is_posix)
    except ValueError as error:
        raise BadInput(f"{command!r} is no command: {str(error)[:1].lower()}{str(error)[1:]}") from error
    return words if is_posix else [word.strip('"') for word in words]


def _pager() -> Popen[bytes] | None:
    import shutil
    import subprocess

    named = os.environ.get("PAGER")
    words = command_words(named) if named is not None else ["less"]
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return None
    # We write UTF-8; without a locale, as in many containers, `less` would show it as hexadecimal bytes.
    environ = {"LESS": "FRX", "LESSCHARSET": "utf-8", **os.environ}
    return subprocess.Popen(words, stdin=subprocess.PIPE, env=environ)  # noqa: S603  the person's own


def warn(problems: Iterable[Exception]) -> None:
    """Prints the first problems, one line each, and the number of the others."""
    reported = list(problems)
    for problem in reported[:MOST_PROBLEMS]:
        tell(problem)
    if len(reported) > MOST_PROBLEMS:
        tell(f"and {len(reported) - MOST_PROBLEMS:,} more")
