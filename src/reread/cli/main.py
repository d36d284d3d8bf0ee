"""`reread`: finds the command, runs it, and turns errors into one sentence and an exit code.

It uses plain tables, because the general help and finding a command must not wait for the import of a parser.
"""

from __future__ import annotations

import atexit
import os
import sys
from importlib import import_module

from reread import __version__
from reread.errors import BadInput, RereadError

from .streams import is_closed_pipe, tell, tell_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType, TracebackType
    from typing import Any


WITH_VALUE = {
    "--source": ("PATH", "read transcripts from PATH: a config directory, a folder, or one file; repeatable"),
    "--home": ("DIR", "archive folder (default: REREAD_HOME, or the platform's data folder)"),
    "--timezone": ("ZONE", "show times in this zone, such as Europe/Berlin (default: local time)"),
}
STORE = "--store"
OVER_STORE = ("usage", "list", "search", "show", "serve", "team")
"""Commands that query a team's store directly."""
OVER_COPIES = ("retro", "explain", "export")
"""Commands that run on temporary files made of the text that was pushed to the store."""
FLAGS = {
    "--no-sync": "do not import new transcripts first",
    "--json": "print one JSON document",
    "--jsonl": "print one JSON document per event",
}
SHORT = {"--json": "-j"}
"""Short forms of common options; the filters have `-n` and `-p`."""


def word_first(arguments: list[str]) -> list[str]:
    """Moves the first word, a command or an action, before the common options that precede it."""
    end = 0
    while end < len(arguments) and arguments[end].startswith("-"):
        option, equals, _ = arguments[end].partition("=")
        if option in WITH_VALUE or option == STORE:
            end += 1 if equals else 2
        elif arguments[end] in FLAGS or arguments[end] in SHORT.values():
            end += 1
        else:
            return arguments
    return [*arguments[end : end + 1], *arguments[:end], *arguments[end + 1 :]]


def store_of(name: str, arguments: list[str], environ: Mapping[str, str]) -> str | None:
    """The team's store to use, from the option or, for commands of `OVER_COPIES`, from the environment."""
    for place, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option == STORE:
            return value if equals else "".join(arguments[place + 1 : place + 2])
    return environ.get("REREAD_STORE") or None if name in OVER_COPIES else None


def without_store(arguments: list[str]) -> list[str]:
    """The arguments without the store option."""
    kept = [argument for argument in arguments if not argument.startswith(f"{STORE}=")]
    if STORE in kept:
        place = kept.index(STORE)
        del kept[place : place + 2]
    return kept


def help_lines(named: dict[str, str], width: int) -> list[str]:
    """Names with their descriptions, in the width of the terminal."""
    from textwrap import wrap

    beside = max(map(len, named)) + 4
    room = max(20, width - beside)
    return [
        f"{f'  {name}' if not number else '':<{beside}}{line}"
        for name, about in named.items()
        for number, line in enumerate(wrap(about, room, break_on_hyphens=False))
    ]


COMMANDS: dict[str, str] = {
    "sync": "import everything new into the archive and keep it",
    "list": "list sessions: when, where, title, cost",
    "mark": "star, tag, rename, annotate or hide sessions",
    "projects": "list projects; tell reread that a folder was renamed",
    "show": "show a conversation: prompts, replies, thinking, tool calls, subagents",
    "thinking": "show what the model thought, in one session or all",
    "prompts": "list the prompts you typed, newest first",
    "search": "search prompts, replies, thinking and tool calls",
    "run": "start Claude Code with live thinking and permission prompts, and record it",
    "live": "watch running sessions, or a stream on standard input",
    "approvals": "answer what waits for you, over all sessions that `serve` runs",
    "usage": "report tokens and cost by day, session, model, project and more",
    "budget": "set budgets per day, week or month, and see where you stand",
    "cache": "report what the prompt cache saved and what rebuilding it cost",
    "context": "show what fills a context, and what is offered and never used",
    "explain": "explain a cost: the lines it comes from, the price, the arithmetic",
    "statusline": "print a status line for Claude Code: cost, burn rate, context, limits",
    "hook": "import sessions as they end, with a hook in Claude Code's settings",
    "tools": "count how often each tool ran and failed",
    "files": "list the files that sessions touched",
    "commit": "show which sessions and prompts wrote a commit, and its cost",
    "pr": "summarise which sessions made the commits of a branch, as Markdown",
    "blame": "show which prompt and edit wrote each line of a file",
    "restore": "print a file as it was at some moment",
    "diff": "show what a session changed, or how two branches differ",
    "decisions": "list questions Claude asked and your answers",
    "retro": "report what went wrong, what repeats and what to change",
    "summary": "summarise a session: goal, work done, decisions, refusals, what is open",
    "mcp": "serve past sessions to Claude Code as an MCP server",
    "serve": "open everything in your browser, on this machine only",
    "open": "open a session or message in your browser",
    "export": "export sessions as HTML, Markdown, Obsidian, JSON, SQLite; redact secrets",
    "secrets": "list keys and passwords found in past sessions",
    "prices": "show prices per million tokens, your own included",
    "doctor": "check what can be read and what Claude Code will delete soon",
    "archive": "verify, restore, forget or rebuild what is kept",
    "machine": "show or rename this machine",
    "push": "send this machine's sessions to a shared folder, or its numbers to a team store",
    "pull": "import what your other machines pushed to a shared folder",
    "team": "set up and manage a team store on PostgreSQL: members, teams, retention",
    "lake": "write many people's transcripts to Delta tables and query them",
    "sql": "run read-only SQL on the archive",
    "format": "describe the transcript format: every record and field",
    "schema": "print JSON Schemas of transcripts, the stream and --json",
    "demo": "try any command on sample sessions",
    "completion": "print a completion script for bash, zsh or fish",
}
"""Every command with its help. A command's module is imported only when it runs, to keep start-up fast."""

MODULES = {
    **dict.fromkeys(("blame", "restore", "diff"), "files"),
    **dict.fromkeys(("push", "pull"), "exchange"),
    **dict.fromkeys(("list", "search", "sql"), "query"),
    **dict.fromkeys(("budget", "cache", "explain", "prices"), "usage"),
    **dict.fromkeys(("show", "thinking", "prompts", "tools", "decisions", "summary", "secrets"), "contents"),
    "machine": "archive",
    "pr": "commit",
    "projects": "mark",
    "open": "serve",
    "live": "run",
    "doctor": "archive",
    "schema": "format",
    "demo": "overview",
}
"""Commands that share a module; every other command has a module of its own name."""

WITH_ACTIONS = ("archive", "hook", "lake", "push", "team")
UNPARSED = (*WITH_ACTIONS, "blame", "completion", "demo", "fix_hook", "mark", "projects", "run", "statusline")
"""Commands that get their arguments as they were typed; every other gets what its parser made of them."""

OTHER_NAMES = {
    **dict.fromkeys(("ls", "sessions", "history", "log"), "list"),
    "session": "list or usage session",
    **dict.fromkeys(("find", "grep", "rg", "query"), "search"),
    **dict.fromkeys(("cost", "costs", "stats", "tokens", "total", "totals"), "usage"),
    **dict.fromkeys(("model", "models"), "usage model"),
    "today": "usage --since today",
    "limits": "usage block",
    **dict.fromkeys(("view", "read", "cat"), "show"),
    **dict.fromkeys(("start", "claude"), "run"),
    "resume": "run --resume SESSION",
    "continue": "run --continue",
    **dict.fromkeys(("web", "ui", "tui", "dashboard", "browser", "server"), "serve"),
    **dict.fromkeys(("tag", "tags", "star", "note", "rename", "hide"), "mark"),
    **dict.fromkeys(("watch", "tail", "follow", "top", "ps"), "live"),
    **dict.fromkeys(("approve", "approval", "permissions", "queue", "allow", "deny"), "approvals"),
    **dict.fromkeys(("import", "backup", "update"), "sync"),
    **dict.fromkeys(("forget", "delete", "remove", "rm"), "archive forget"),
    **{name: f"archive {name}" for name in ("status", "verify", "rebuild")},
    "tables": "sql --schema",
    **{name: f"usage {name}" for name in ("daily", "weekly", "monthly", "blocks")},
}
"""Names that users of other programs try first; by spelling alone `sessions` would suggest `decisions`."""

OVERVIEW = "overview"

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Runs one command, by default that of the process's arguments; returns the exit code."""
    if arguments is None:
        sys.excepthook = _print_fault
        code = main(sys.argv[1:])
        if "pyarrow" in sys.modules or _leaves_nothing_to_do():
            _end_now(code)
        return code
    _stand_in_for_closed_streams()
    _speak_utf8()
    try:
        code = run(arguments)
        sys.stdout.flush()
    except RereadError as error:
        tell(error)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        # Otherwise Python would report the error again when it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if is_closed_pipe(error):
            return 0
        reason = error.strerror or error
        if isinstance(error, FileNotFoundError) and error.filename is None:  # only a missing current folder has no name
            reason = "the current folder is gone; go to another one"
        tell(f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason)
        return EXIT_USAGE
    return code


def run(arguments: list[str]) -> int:
    arguments = word_first(arguments)
    name = arguments[0] if arguments else OVERVIEW
    if name == "help" and len(arguments) > 1:
        return run([*arguments[1:], "--help"])
    if name in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0
    if name in ("-V", "--version", "version"):
        sys.stdout.write(f"reread {__version__}\n")
        return 0
    if name.startswith("-"):
        name, arguments = OVERVIEW, [OVERVIEW, *arguments]
    if name not in COMMANDS and name != OVERVIEW:
        raise BadInput(f"there is no command {name!r}; see `reread --help`{_meant(name)}")
    if arguments[:2] == ["hook", "fix"]:  # without the modules of `hook`: a client waits for it
        name = "fix_hook"
    command = command_of(name)
    store = None if name in OVER_STORE else store_of(name, arguments[1:], os.environ)
    if store is None:
        return command(arguments[1:]) or 0
    if name not in OVER_COPIES:
        offered = ", ".join((*OVER_STORE, *OVER_COPIES))
        raise BadInput(f"`reread {name}` is not offered over a team's store: {offered} are")
    return module_of("team").run_over_copies(command, name, without_store(arguments[1:]), store) or 0


def module_of(name: str) -> ModuleType:
    """The module of a command. It has `run_NAME`, which returns the exit code (None is 0), and, unless the
    command takes other commands, `NAME_parser`."""
    return import_module(f"reread.cli.{MODULES.get(name, name)}")


def command_of(name: str) -> Callable[[list[str]], int | None]:
    """Runs a command with its arguments."""
    module = module_of(name)
    run: Callable[[Any], int | None] = getattr(module, f"run_{name}")
    if name in UNPARSED:
        return run
    return lambda arguments: run(getattr(module, f"{name}_parser")().parse_args(arguments))


def _help() -> str:
    from reread.config import terminal_width

    width = terminal_width()
    commands = "\n".join(help_lines(COMMANDS, width))
    with_value = {f"{option} {value}": about for option, (value, about) in WITH_VALUE.items()}
    common = "\n".join(help_lines(with_value | FLAGS, width))
    return (
        "usage: reread [COMMAND] [OPTIONS]\n\n"
        "Read, search, keep and cost every Claude Code conversation.\n"
        "Without a command: recent usage and your newest sessions.\n\n"
        f"commands:\n{commands}\n\n"
        f"common options, before or after the command:\n{common}\n\n"
        "Run `reread --version` for the version.\n"
        "SESSION is a file, a folder, the start of an id, @last, or @2 (second newest).\n"
        "Run `reread COMMAND -h` for a short help, `--help` for all options.\n"
    )


def _meant(name: str) -> str:
    close = OTHER_NAMES.get(name) or spelled_like(name, COMMANDS)
    return f" (did you mean {close}?)" if close else ""


def spelled_like(word: str, words: Iterable[str]) -> str | None:
    """The most similar word; None below a similarity that keeps `claude` from `lake` and `order` from `store`."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, words, n=1, cutoff=0.65)), None)


def _leaves_nothing_to_do() -> bool:
    """Whether this process was started for this one command and has no threads or `atexit` functions left to finish."""
    main, threading = sys.modules["__main__"], sys.modules.get("threading")
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None) or ""
    # False under a profiler or a script that calls us.
    is_ours = spec.name == "reread.__main__" if spec is not None else os.path.basename(file) == "reread"  # noqa: PTH119
    return is_ours and not atexit._ncallbacks() and (threading is None or threading.active_count() == 1)


def _end_now(code: int) -> None:
    """Exits without the interpreter's shutdown, a fifth of a search: it looks for cycles in all live objects and takes
    the loaded modules apart. Threads of Arrow and Delta that use the interpreter during shutdown also abort the process
    after all was written (seen once in a few hundred commands)."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _print_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Prints the traceback of a bug with control characters escaped: it may quote text of a transcript."""
    from traceback import format_exception

    tell_lines("".join(format_exception(kind, error, trace)), end="")


def _stand_in_for_closed_streams() -> None:
    """Opens the null device for standard streams that the process was started without, as by `<&-`."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # each gets the lowest free descriptor
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  lives as long as we do


def _speak_utf8() -> None:
    """Makes standard streams safe for any character: a Windows console or a C locale cannot encode all of them.

    Output to a file or a program is UTF-8 in any locale: JSON and our pages promise it.
    """
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    prompt = getattr(sys.stdin, "reconfigure", None)
    if prompt is not None and not sys.stdin.isatty():
        prompt(encoding="utf-8", errors="surrogateescape")


if __name__ == "__main__":
    raise SystemExit(main())
