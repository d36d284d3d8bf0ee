"""`reread completion`: what may stand at the end of an unfinished command, and the scripts that make a shell ask."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput, RereadError, printable
from reread.home import archive_home

from . import main, options

if TYPE_CHECKING:
    from reread.features import search_text
    from reread.features.friction import detection
else:
    lazy.bind(globals())

USAGE = """\
usage: reread completion bash|zsh|fish
       reread completion --line TEXT

Prints a script that completes commands, options and their values: ids of
sessions, projects, tags, models, tools. With --line it prints what may stand at
the end of an unfinished command, which is what the scripts ask for.

examples:
  eval "$(reread completion bash)"                     in ~/.bashrc
  reread completion zsh > "${fpath[1]}/_reread"
  reread completion fish > ~/.config/fish/completions/reread.fish
  reread completion --line "reread list --project my"
"""
_FIRST = (*main.WITH_VALUE, *main.FLAGS, "--help", "--version")
"""Options that may come before a command."""
_WITH_VALUE = (*main.WITH_VALUE, main.STORE)
_KINDS = {
    **dict.fromkeys(("session", "sessions", "resume", "id"), "sessions"),
    **dict.fromkeys(("tag", "tagged", "untag"), "tags"),
    "project": "projects",
    "model": "models",
    "tool": "tools",
    "machine": "machines",
    "git_branch": "branches",
}
"""Names of arguments, and the kind of value that the archive completes for each."""
_NEWEST = ("@last", "@2", "@3")
_FILES = ":files"
"""Says to the scripts that file names may stand there, too."""

Offered = Sequence[tuple[str, str]]
"""Words, and what is said of each."""


def run_completion(arguments: list[str]) -> None:
    if arguments and arguments[0] in ("-h", "--help"):
        options.print_text(USAGE)
    elif len(arguments) == 2 and arguments[0] == "--line":
        found, with_files = completed(arguments[1])
        options.print_lines([*map(_line, found), *([_FILES] if with_files else [])])
    elif len(arguments) == 1 and arguments[0] in SHELLS:
        script = resources.files("reread.cli").joinpath("completions", f"reread.{arguments[0]}")
        options.print_text(script.read_text("utf-8"))
    else:
        raise BadInput(f"name a shell: {', '.join(SHELLS)}; see `reread completion --help`")


def _line(offered: tuple[str, str]) -> str:
    return "\t".join(views.text.one_line(printable(part)) for part in offered if part)


class _Typed(NamedTuple):
    """A command line up to the cursor."""

    command: str
    """Empty before there is one; with its action, as `archive restore`."""
    option: str
    """The option whose value comes next."""
    home: str | None
    last: str


def completed(line: str) -> tuple[Offered, bool]:
    """What may stand at the end of a line, and whether file names may, too."""
    typed = _typed(_words(line))
    option, equals, value = typed.last.partition("=")
    if typed.last.startswith("--") and equals:
        found, with_files = _values(typed._replace(option=option, last=value))
        return [(f"{option}={word}", about) for word, about in found], with_files
    return _values(typed) if typed.option else _next_words(typed)


def _words(line: str) -> list[str]:
    """The words of a line as a shell takes them apart; the last one may be empty, or have an open quote."""
    for end in ("", "'", '"'):
        try:
            words = shlex.split(f"{line.removesuffix(chr(92))}{end}")
        except ValueError:
            continue
        is_open = bool(end) or not line[-1:].isspace() or line.endswith("\\ ")
        return words if is_open and words else [*words, ""]
    return [""]


def _typed(words: Sequence[str]) -> _Typed:
    command = option = ""
    home: str | None = None
    for word in words[1:-1]:
        name, equals, value = word.partition("=")
        if option in _WITH_VALUE:
            home, option = (word if option == "--home" else home), ""
        elif word.startswith("-"):
            option = "" if equals else word
            home = value if equals and name == "--home" else home
        else:
            option = ""
            if command in ("", "demo"):
                command = word
            elif command == "archive":
                command = f"archive {word}"
    return _Typed(command, option, home, words[-1])


def _next_words(typed: _Typed) -> tuple[Offered, bool]:
    fixed = _FIXED.get(typed.command)
    if fixed is not None:
        return _beginning(fixed, typed.last), False
    parser = _parser(typed.command)
    if parser is None:
        return [], True
    if typed.last.startswith("-"):
        return _beginning(_option_names(parser), typed.last), False
    words = [each for each in parser._actions if not each.option_strings]
    found = [_of(each, typed, parser.prog) for each in words]
    return list(chain.from_iterable(found)), any(not _choices(each, parser.prog) for each in words)


def _option_names(parser: argparse.ArgumentParser) -> Offered:
    shown = chain.from_iterable(each.option_strings for each in parser._actions if each.help is not argparse.SUPPRESS)
    return [(name, "") for name in sorted(shown) if name.startswith("--")]


def _values(typed: _Typed) -> tuple[Offered, bool]:
    """The values of an option; what may follow a flag."""
    parser = _parser(typed.command)
    action = parser._option_string_actions.get(typed.option) if parser is not None else None
    if parser is None or action is None:
        return ([], True) if typed.option in _WITH_VALUE else _next_words(typed._replace(option=""))
    if action.nargs == 0:
        return _next_words(typed._replace(option=""))
    found = _of(action, typed, parser.prog)
    return found, _kind(action) is None and not _choices(action, parser.prog)


def _parser(command: str) -> argparse.ArgumentParser | None:
    name, _, action = command.partition(" ")
    if name not in main.COMMANDS:
        return None
    module = main.module_of(name)
    if not action:
        return getattr(module, f"{name}_parser")()  # type: ignore[no-any-return]
    return module.ACTIONS.parser_of(action) if action in module.ACTIONS.actions else None


def _of(action: argparse.Action, typed: _Typed, program: str) -> Offered:
    kind = _kind(action)
    if kind is None:
        return _beginning([(each, "") for each in _choices(action, program)], typed.last)
    try:
        return _known_values(kind, typed)
    except RereadError:  # completion cannot show it; the command itself will
        return []


def _known_values(kind: str, typed: _Typed) -> Offered:
    """The values of a kind that the archive knows, and what is said of each; for sessions the newest come first."""
    environ = {"REREAD_HOME": typed.home} if typed.home else os.environ
    archive = archives.Archive(Path(archive_home(environ, sys.platform, str(Path.home()))))
    is_newest = kind == "sessions" and typed.last.startswith("@")
    found = archive.inner.known_values(kind, "" if is_newest else typed.last)
    newest = [(name, "") for name in _NEWEST if kind == "sessions" and name.startswith(typed.last) and found]
    return [*newest, *([] if is_newest else found)]


def _beginning(pairs: Iterable[tuple[str, str]], beginning: str) -> Offered:
    return [pair for pair in pairs if pair[0].startswith(beginning)]


def _kind(action: argparse.Action) -> str | None:
    name = "git_branch" if action.dest == "branch" and action.metavar == "NAME" else action.dest
    return _KINDS.get(name)


def _choices(action: argparse.Action, program: str) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    command = program.rpartition(" ")[2]
    known: dict[tuple[str, str], Callable[[], Iterable[str]]] = {
        ("retro", "kind"): lambda: map(str, detection.FrictionKind),
        ("retro", "by"): lambda: archives.friction_report.ORDERS,
        ("search", "fields"): lambda: [*map(str, search_text.Field), "all"],
        ("usage", "by"): lambda: archives.usage_report.GROUPINGS,
        ("cache", "by"): lambda: archives.cache_report.GROUPINGS,
    }
    return list(known.get((command, action.dest), tuple)())


_FIXED = {
    "": [*main.COMMANDS.items(), *((each, "") for each in _FIRST)],
    "demo": [each for each in main.COMMANDS.items() if each[0] not in ("demo", "completion", "run")],
    "completion": [(each, "") for each in ("bash", "zsh", "fish", "--line")],
}
"""What may follow these, which have no parser."""
SHELLS = ("bash", "zsh", "fish")
"""Their scripts are files beside this one."""
