"""`reread`: finds the command, runs it, and turns what goes wrong into one sentence and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module

from reread import __version__
from reread.errors import BadInput, RereadError

from .common import common_help, help_lines, word_first
from .stderr import tell, tell_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType, TracebackType

COMMANDS: dict[str, str] = {
    "sync": "takes everything new into the archive, for good",
    "list": "your sessions: when, where, about what, for how much",
    "mark": "stars, tags, notes and better titles on sessions",
    "projects": "what was worked on where, and which folder is which today",
    "show": "a conversation by turns: prompts, replies, thinking, tool calls, subagents",
    "thinking": "what the model thought, in one session or all of them",
    "prompts": "what you typed, newest first",
    "search": "finds words in prompts, replies, thinking and tool calls",
    "run": "starts Claude Code: live thinking, permissions at the terminal, everything kept",
    "live": "what happens now: in running sessions, or in a stream on standard input",
    "usage": "tokens and cost by day, session, model, project and more",
    "budget": "what may be spent in a day, a week, a month, and how it stands",
    "cache": "what the prompt cache saved, what its rebuilds cost and why",
    "explain": "how a cost comes about: every line, the price, each product and the sum",
    "statusline": "a line for Claude Code's status bar: cost, burn rate, context, limits",
    "hook": "takes sessions in as they end, by a hook in Claude Code's settings",
    "tools": "how often each tool ran and failed",
    "files": "which files sessions touched, how and when",
    "blame": "which prompt and which edit made each line of a file",
    "restore": "a file as it was at a moment, rebuilt from transcripts",
    "diff": "what a session changed in the end, or two branches of it",
    "decisions": "questions Claude asked, the options, what you answered",
    "retro": "what went wrong, what repeats, and what to change, with evidence",
    "summary": "a session's goal, journey, files, errors and outcome; for Obsidian, too",
    "mcp": "a memory for Claude Code itself: it looks up past sessions",
    "serve": "all of it in your browser, on this machine only",
    "open": "a session or a message of it in your browser",
    "export": "a session as HTML, Markdown, Obsidian note or JSON, secrets taken out if you like",
    "secrets": "keys and passwords that lie in past sessions, so that you can make new ones",
    "prices": "what a million tokens cost, your own prices, and what has none",
    "doctor": "what can be read, what is new in the format, what will be deleted soon",
    "archive": "what is kept, proof that it is intact, restoring, forgetting",
    "machine": "what this machine is called, and the id that stays when its name changes",
    "push": "sends what this machine keeps to a folder that your other machines share",
    "pull": "takes what your other machines pushed to a shared folder",
    "lake": "transcripts of many people as Delta tables, exact to the nano-dollar",
    "sql": "read-only SQL on everything that is kept",
    "demo": "the same commands on built-in sample sessions",
    "completion": "a script for bash, zsh or fish that finishes commands and options",
}
"""Every command with its help. Its module is imported only when it is asked for: start-up is a feature."""

MODULES = {
    **dict.fromkeys(("blame", "restore", "diff"), "files"),
    **dict.fromkeys(("push", "pull"), "exchange"),
    **dict.fromkeys(("cache", "explain", "prices"), "usage"),
    **dict.fromkeys(("thinking", "prompts", "tools", "decisions", "summary"), "contents"),
}
"""Commands that share a module; every other one has a module of its own name."""

OTHER_NAMES = {
    **dict.fromkeys(("ls", "sessions", "session", "history"), "list"),
    **dict.fromkeys(("find", "grep", "query"), "search"),
    **dict.fromkeys(("cost", "costs", "stats", "tokens"), "usage"),
    **dict.fromkeys(("view", "read", "cat"), "show"),
    **dict.fromkeys(("start", "resume", "continue"), "run"),
    **dict.fromkeys(("web", "ui", "browser", "server"), "serve"),
    **dict.fromkeys(("tag", "tags", "star", "note", "rename", "hide"), "mark"),
    **dict.fromkeys(("watch", "tail", "follow"), "live"),
    **dict.fromkeys(("import", "backup", "update"), "sync"),
    **dict.fromkeys(("forget", "delete", "verify"), "archive"),
}
"""What people of other programs try first; letters alone would lead `sessions` to `decisions`."""

OVERVIEW = "overview"

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Runs one command, by default the one this process was started for; the return value is the exit code."""
    if arguments is None:
        sys.excepthook = _tell_fault
        try:
            return main(sys.argv[1:])
        finally:
            # Before it ends the interpreter would look for cycles in all that lives: 4 ms of a sync, 13 of a search.
            gc.freeze()
    _stand_in_for_closed_streams()
    _speak_utf8()
    # Records hold no cycles, and a command ends soon: rarer collections read a tree a fifth faster.
    gc.set_threshold(100_000, 50, 100)
    try:
        code = run(arguments)
        sys.stdout.flush()
    except RereadError as error:
        tell(error)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough. Python would complain again when it closes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror or error
        tell(f"{os.fsdecode(error.filename)}: {reason}" if isinstance(error.filename, str | bytes) else reason)
        return EXIT_USAGE
    return code


def run(arguments: list[str]) -> int:
    arguments = word_first(arguments)
    name = arguments[0] if arguments else OVERVIEW
    if name == "help" and len(arguments) > 1:
        return run([arguments[1], "--help"])
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
    code: int = getattr(module_of(name), f"run_{name}")(arguments[1:])
    return code


def module_of(name: str) -> ModuleType:
    """Where a command lives; it has `run_NAME` and, unless it takes other commands, `NAME_parser`."""
    return import_module(f"reread.cli.{MODULES.get(name, name)}")


def _help() -> str:
    from reread.config import terminal_width

    width = terminal_width()
    commands = "\n".join(help_lines(COMMANDS, width))
    common = "\n".join(help_lines(common_help(), width))
    return (
        "usage: reread [COMMAND] [OPTIONS]\n\n"
        "Reads and keeps Claude Code transcripts: every record, every era, nothing lost.\n"
        "Without a command: what you used lately and your newest sessions.\n\n"
        f"commands:\n{commands}\n\n"
        f"options of nearly every command, before or behind it:\n{common}\n\n"
        "A SESSION is a file, a folder, the beginning of an id, @last or @2.\n"
        "`reread COMMAND --help` shows options and examples; `reread --version` the version.\n"
    )


def _meant(name: str) -> str:
    from difflib import get_close_matches

    close = [OTHER_NAMES[name]] if name in OTHER_NAMES else get_close_matches(name, COMMANDS, n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _tell_fault(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """A fault of ours, with its traceback as Python has it: it may quote the text that brought it about."""
    from traceback import format_exception

    tell_lines("".join(format_exception(kind, error, trace)), end="")


def _stand_in_for_closed_streams() -> None:
    """A process may be started without them, as by `<&-`; nobody types then, and nobody reads."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # the first free number is the next one's
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  lives as long as we do


def _speak_utf8() -> None:
    """Transcripts hold every character there is; a Windows console or a C locale does not.

    What goes into a file or a program is UTF-8 whatever the locale says: JSON and our pages promise it.
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
