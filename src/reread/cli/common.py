"""Options that nearly every command has, which may stand before the command as well as behind it.

Plain tables: the general help and the way to a command must not wait for the import of a parser.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

WITH_VALUE = {
    "--source": ("PATH", "a config directory, a projects directory, any folder, or one file; may be repeated"),
    "--home": ("DIR", "the archive's folder; the default is REREAD_HOME or a data folder"),
    "--timezone": ("ZONE", "for example Europe/Berlin; the default is local time"),
}
STORE = "--store"
OVER_STORE = ("usage", "list", "search", "show", "team")
"""Commands that may be asked of a team's store."""
NOT_OVER_STORE = ("retro", "explain", "export", "serve")
"""Questions to a store that this version does not answer: they must not be answered from somewhere else."""
FLAGS = {
    "--no-sync": "answer from the archive as it is",
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


def refuse_store(name: str, arguments: list[str], environ: Mapping[str, str]) -> str | None:
    """Why a command cannot be asked of the store that was named; None where it can, or none was."""
    is_named = any(argument.partition("=")[0] == STORE for argument in arguments)
    if name in OVER_STORE or not (is_named or (name in NOT_OVER_STORE and environ.get("REREAD_STORE"))):
        return None
    offered = ", ".join(OVER_STORE)
    away = "leave out --store" if is_named else "unset REREAD_STORE"
    return f"`reread {name}` is not offered over a team store ({offered} are); {away} to ask your own archive"


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
