"""Which entries in the settings of Claude Code are ours; putting them in and taking exactly them out. Pure.

An entry is ours by the command it runs, so nothing has to be remembered beside the settings. Which empty containers
the person had is known from the file as it was before, where that is still there; without it, what is left empty goes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from reread.errors import BadInput, printable

from . import text as json_text

__all__ = ["TIMEOUT", "Entries", "Settings", "command_of", "entries_running", "home_of", "words_of"]

EVENT = "SessionEnd"
TIMEOUT = 10
"""Seconds. All hooks of this event share 1.5 unless one asks for more (2.1); Python on a cold disk may need that."""
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:+~@%,-]+")

Json = dict[str, Any]


class Entries(NamedTuple):
    """What is put into the settings."""

    hook: Json
    status_line: Json | None


def entries_running(program: list[str], options: list[str], home: list[str], *, is_windows: bool) -> Entries:
    """The hook and the status line that run this program.

    Claude Code hands commands to a POSIX shell; on Windows to Git Bash, or to PowerShell where there is none. Plain
    words with forward slashes are the same to all of them. Others go without a shell there, as a program with
    arguments (a hook can, 2.1.197; a status line cannot and is quoted for Git Bash).
    """
    if is_windows:
        program, options, home = ([word.replace("\\", "/") for word in words] for words in (program, options, home))
    words = [*program, "hook", "run", *options]
    hook: Json = {"type": "command"}
    if is_windows and not all(_PLAIN_WORD.fullmatch(word) for word in words):
        hook |= {"command": words[0], "args": words[1:]}
    else:
        hook |= {"command": shlex.join(words)}
    line = {"type": "command", "command": shlex.join([*program, "statusline", *home])}
    return Entries({**hook, "timeout": TIMEOUT}, line)


class Settings:
    """The settings as text and as values. BadInput, naming the file, where they cannot be understood."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = printable(name)
        try:
            values = json_text.parse(text)
        except ValueError as error:
            raise BadInput(f"{self.name} is not valid JSON ({printable(str(error))}); nothing was changed") from error
        self.values: Json = self._expected(values, dict, "it holds no object")
        hooks = self._expected(self.values.get("hooks", {}), dict, "its `hooks` is no object")
        self._groups: list[Any] = self._expected(hooks.get(EVENT, []), list, f"its `hooks.{EVENT}` is no array")

    def _expected(self, value: Any, kind: type, otherwise: str) -> Any:
        if not isinstance(value, kind):
            raise BadInput(f"{self.name} is not as expected: {otherwise}; nothing was changed")
        return value

    @property
    def hook(self) -> Json | None:
        """Our hook, if it is there."""
        return next((hook for _, _, hook in self._ours()), None)

    @property
    def status_line(self) -> str:
        """Whose status line is set: `ours`, `other` or `none`."""
        if "statusLine" not in self.values:
            return "none"
        return "ours" if _runs(self.values["statusLine"], "statusline") else "other"

    @property
    def is_ours_there(self) -> bool:
        return self.hook is not None or self.status_line == "ours"

    @property
    def are_hooks_off(self) -> bool:
        return self.values.get("disableAllHooks") is True

    def _ours(self) -> Iterator[tuple[int, int, Json]]:
        for number, group in enumerate(self._groups):
            hooks = group.get("hooks") if isinstance(group, dict) else None
            for position, hook in enumerate(hooks if isinstance(hooks, list) else []):
                if _runs(hook, "hook", "run"):
                    yield number, position, hook

    def with_entries(self, entries: Entries) -> Settings:
        """With our hook, and our status line if that is wanted and no other is set."""
        text = self._with_hook(entries.hook)
        line = entries.status_line
        if line is not None and self.status_line == "none":
            text = json_text.append(text, json_text.start_of(text), "statusLine", line)
        elif line is not None and self.status_line == "ours" and self.values["statusLine"] != line:
            text = json_text.replace(text, _place(text, "statusLine"), line)
        return Settings(text, self.name)

    def _with_hook(self, hook: Json) -> str:
        text = self.text
        ours = next(self._ours(), None)
        if ours is not None:
            place = _place(text, "hooks", EVENT, ours[0], "hooks", ours[1])
            return text if ours[2] == hook else json_text.replace(text, place, hook)
        group = {"hooks": [hook]}
        if event := json_text.find(text, "hooks", EVENT):
            return json_text.append(text, event.value, None, group)
        if hooks := json_text.find(text, "hooks"):
            return json_text.append(text, hooks.value, EVENT, [group])
        return json_text.append(text, json_text.start_of(text), "hooks", {EVENT: [group]})

    def without_entries(self, before: Settings | None) -> Settings:
        """Without anything of ours; `before` is what it was before, as far as that is known."""
        if before is not None and self._is_made_from(before):
            return before
        cleared = self
        while (ours := next(cleared._ours(), None)) is not None:
            cleared = cleared._without_hook(ours[0], ours[1], before)
        text = cleared.text
        if cleared.status_line == "ours":
            text = _without(text, "statusLine")
        return Settings(text, self.name)

    def _is_made_from(self, before: Settings) -> bool:
        line = self.values["statusLine"] if self.status_line == "ours" else None
        if self.hook is None:
            return False
        made = before.with_entries(Entries(self.hook, None))
        return self.text in (made.text, made.with_entries(Entries(self.hook, line)).text)

    def _without_hook(self, group: int, position: int, before: Settings | None) -> Settings:
        """Takes a hook out, then each container around it that this leaves empty and that was not there before."""
        text = _without(self.text, "hooks", EVENT, group, "hooks", position)
        had: Json = before.values if before is not None else {}
        emptied: list[tuple[str | int, ...]] = [("hooks", EVENT, group)]
        if EVENT not in had.get("hooks", {}):
            emptied.append(("hooks", EVENT))
        if "hooks" not in had:
            emptied.append(("hooks",))
        for path in emptied:
            if _is_empty(json_text.parse(text), path):
                text = _without(text, *path)
        return Settings(text, self.name)


def command_of(entry: Json) -> str:
    """The whole command line of an entry, for people."""
    arguments = entry.get("args")
    return (
        shlex.join([entry["command"], *map(str, arguments)]) if isinstance(arguments, list) else str(entry["command"])
    )


def home_of(entry: Json) -> str | None:
    """The archive an entry of ours names, if it names one."""
    words = words_of(entry)
    return words[words.index("--home") + 1] if "--home" in words[:-1] else None


def words_of(entry: Json) -> list[str]:
    """A command as its words; none where a shell would not understand it either."""
    if isinstance(arguments := entry.get("args"), list):
        return [entry["command"], *map(str, arguments)]
    try:
        return shlex.split(entry["command"])
    except ValueError:  # a quotation that does not end
        return []


def _is_empty(value: Any, path: tuple[str | int, ...]) -> bool:
    """Whether nothing is left there; a group of hooks is nothing without hooks, whatever its matcher."""
    for step in path:
        if isinstance(value, dict) and step not in value:
            return False
        value = value[step]
    return not (value["hooks"] if isinstance(path[-1], int) else value)


def _place(text: str, *path: str | int) -> json_text.Place:
    place = json_text.find(text, *path)
    if place is None:
        raise LookupError(path)
    return place


def _without(text: str, *path: str | int) -> str:
    place = _place(text, *path)
    opening = _place(text, *path[:-1]).value if path[:-1] else json_text.start_of(text)
    return json_text.remove(text, opening, place)


def _runs(entry: object, *action: str) -> bool:
    """Whether an entry runs reread with these words, by whatever path."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    words = words_of(entry)
    return any(
        re.split(r"[/\\]", word)[-1].lower() in ("reread", "reread.exe")
        and tuple(words[number : number + len(action)]) == action
        for number, word in enumerate(words, start=1)
    )
