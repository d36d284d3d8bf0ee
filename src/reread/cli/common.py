"""Options that nearly every command has, which may stand before the command as well as behind it.

Plain tables: the general help and the way to a command must not wait for the import of a parser.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WITH_VALUE = {
    "--source": ("PATH", "read transcripts from PATH: a config directory, a folder, or one file; repeatable"),
    "--home": ("DIR", "archive folder (default: REREAD_HOME, or the platform's data folder)"),
    "--timezone": ("ZONE", "show times in this zone, such as Europe/Berlin (default: local time)"),
}
STORE = "--store"
OVER_STORE = ("usage", "list", "search", "show", "team")
"""Commands that ask a team's store themselves."""
OVER_COPIES = ("retro", "explain", "export", "serve")
"""Commands that are given what was pushed as text, as files that are gone afterwards."""
FLAGS = {
    "--no-sync": "do not import new transcripts first",
    "--json": "print one JSON document",
    "--jsonl": "print one JSON document per event",
}
SHORT = {"--json": "-j"}
"""What people type for them without looking; the filters have `-n` and `-p`."""


def word_first(arguments: list[str]) -> list[str]:
    """With the first word, a command or an action, before the common options that it was given behind."""
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
    """The team's store that a command is to be asked of, by an option or the environment."""
    for place, argument in enumerate(arguments):
        option, equals, value = argument.partition("=")
        if option == STORE:
            return value if equals else "".join(arguments[place + 1 : place + 2])
    return environ.get("REREAD_STORE") or None if name in OVER_COPIES else None


def without_store(arguments: list[str]) -> list[str]:
    """The same arguments for a command that knows no store."""
    kept = [argument for argument in arguments if not argument.startswith(f"{STORE}=")]
    if STORE in kept:
        place = kept.index(STORE)
        del kept[place : place + 2]
    return kept


def common_help() -> dict[str, str]:
    return {f"{option} {value}": about for option, (value, about) in WITH_VALUE.items()} | FLAGS


def help_lines(named: dict[str, str], width: int) -> list[str]:
    """Names, and beside them what they are; no wider than the terminal."""
    from textwrap import wrap

    beside = max(map(len, named)) + 4
    room = max(20, width - beside)
    return [
        f"{f'  {name}' if not number else '':<{beside}}{line}"
        for name, about in named.items()
        for number, line in enumerate(wrap(about, room, break_on_hyphens=False))
    ]
