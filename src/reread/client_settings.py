"""Changes Claude Code's settings file, and its memory and project files for suggestions, only when asked to.

Our hook and status line are added and removed; every other character of the settings stays as it was.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from reread.errors import BadInput, SourceError, printable
from reread.features.friction.stated import Stated
from reread.features.friction.suggestions import Suggestion, SuggestionKind
from reread.home import sync_file

_SPACE = re.compile(r"[ \t\r\n]*")
_BYTE_ORDER_MARK = "\ufeff"


class JsonPlace(NamedTuple):
    """The positions in the text of one member of an object or one element of an array."""

    key: str | None
    start: int
    value: int
    """Where the value begins, after the key if there is one."""
    end: int


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def start_of(text: str) -> int:
    """The position of the outermost value."""
    return _skip(text, len(_BYTE_ORDER_MARK) if text.startswith(_BYTE_ORDER_MARK) else 0)


def parse(text: str) -> Any:
    """The value of a whole text. Raises ValueError if it is not JSON or is nested too deeply."""
    try:
        value, end = _DECODER.raw_decode(text, start_of(text))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _skip(text, end) != len(text):
        raise ValueError(f"something follows the value, at character {end}")
    return value


def find(text: str, *path: str | int) -> JsonPlace | None:
    """The place that a path leads to; of a repeated key the last one, as in every parser."""
    opening = start_of(text)
    place = None
    for step in path:
        if text[opening] != ("{" if isinstance(step, str) else "["):
            return None
        places, _ = _members(text, opening)
        matching = places[step : step + 1] if isinstance(step, int) else [each for each in places if each.key == step]
        if not matching:
            return None
        place = matching[-1]
        opening = place.value
    return place


def append(text: str, opening: int, key: str | None, value: object) -> str:
    """The text with a member added at the end of the object or array that opens there, laid out like the others."""
    places, closing = _members(text, opening)
    if places:
        last = places[-1]
        lead = _lead(text, last.start)
        gap = _gap(text) if lead is None else _newline(text) + lead
        return f"{text[: last.end]},{gap}{_member(text, key, value, lead)}{text[last.end :]}"
    if "\n" not in text and opening != start_of(text):
        return text[: opening + 1] + _member(text, key, value, None) + text[closing:]
    outer = _newline(text) + _indent_of_line(text, opening)
    inner = outer + _unit(text)
    shown = _member(text, key, value, inner.lstrip("\r\n"))
    return text[: opening + 1] + inner + shown + outer + text[closing:]


def replace(text: str, place: JsonPlace, value: object) -> str:
    """The text with another value at a place."""
    return text[: place.start] + _member(text, place.key, value, _lead(text, place.start)) + text[place.end :]


def remove(text: str, opening: int, place: JsonPlace) -> str:
    """The text without a member; for the last one this undoes `append` to the character."""
    places, closing = _members(text, opening)
    index = places.index(place)
    if len(places) == 1:
        return text[: opening + 1] + text[closing:]
    if index == 0:
        return text[: places[0].start] + text[places[1].start :]
    return text[: places[index - 1].end] + text[places[index].end :]


def _members(text: str, opening: int) -> tuple[list[JsonPlace], int]:
    """The members of the object or array that opens here, and where it closes. The text must be valid JSON."""
    found = []
    at = _skip(text, opening + 1)
    while text[at] not in "}]":
        start, key = at, None
        if text[opening] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # skips the colon
        value = at
        _, at = _DECODER.raw_decode(text, at)
        found.append(JsonPlace(key, start, value, at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found, at


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _member(text: str, key: str | None, value: object, lead: str | None) -> str:
    """The text of a member: over several lines indented by `lead`, or on one line if that is None."""
    is_spaced = lead is not None or _gap(text) == " "
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + (": " if is_spaced else ":")
    if lead is None:
        separators = (", ", ": ") if is_spaced else (",", ":")
        return name + json.dumps(value, ensure_ascii=False, separators=separators)
    shown = json.dumps(value, ensure_ascii=False, indent=_unit(text))
    return name + shown.replace("\n", _newline(text) + lead)


def _lead(text: str, at: int) -> str | None:
    """The indentation of an item at the beginning of its line; None if other text comes before it."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if "\n" in text[:at] and not before.strip() else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(_BYTE_ORDER_MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation: that of the outermost members, else the two spaces that Claude Code writes."""
    places, _ = _members(text, start_of(text))
    return (_lead(text, places[0].start) if places else None) or "  "


def _gap(text: str) -> str:
    return " " if '": ' in text else ""


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


EVENT, COMPACTING_EVENT, ASKING_EVENT = "SessionEnd", "PreCompact", "PermissionRequest"
FAILED_EVENT = "PostToolUseFailure"
"""`PreCompact`: a compaction may rewrite the transcript (2.1.327). The last is what `PostToolUse` is for a success."""
_ACTIONS = {EVENT: "run", COMPACTING_EVENT: "run", ASKING_EVENT: "ask", FAILED_EVENT: "fix"}
TIMEOUT = 10
"""Seconds. All hooks of this event share 1.5 unless one asks for more (2.1); Python on a cold disk may need more."""
ASKING_TIMEOUT = 86_400
"""Seconds in which the person may come back to a dialog; after that it waits on its own screen only."""
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:+~@%,-]+")

Json = dict[str, Any]


class Entries(NamedTuple):
    """What we add to the settings."""

    hooks: Mapping[str, Json]
    """By event."""
    status_line: Json | None

    @property
    def hook(self) -> Json:
        """The one that imports sessions as they end."""
        return self.hooks[EVENT]


def entries_running(program: list[str], options: list[str], home: list[str], *, is_windows: bool) -> Entries:
    """The hooks and the status line that run this program.

    Claude Code runs commands in a POSIX shell; on Windows in Git Bash, or in PowerShell if there is none. Plain words
    with forward slashes mean the same in all of them. On Windows a hook with other words is written as a program with
    arguments, which needs no shell (2.1.197); a status line has no such form and is quoted for Git Bash.
    """
    if is_windows:
        program, options, home = ([word.replace("\\", "/") for word in words] for words in (program, options, home))

    def hook(action: str, more: list[str], timeout: int) -> Json:
        words = [*program, "hook", action, *more]
        if is_windows and not all(_PLAIN_WORD.fullmatch(word) for word in words):
            return {"type": "command", "command": words[0], "args": words[1:], "timeout": timeout}
        return {"type": "command", "command": shlex.join(words), "timeout": timeout}

    line = {"type": "command", "command": shlex.join([*program, "statusline", *home])}
    ends, asks, fails = hook("run", options, TIMEOUT), hook("ask", home, ASKING_TIMEOUT), hook("fix", home, TIMEOUT)
    return Entries({EVENT: ends, COMPACTING_EVENT: ends, ASKING_EVENT: asks, FAILED_EVENT: fails}, line)


class ClientSettings:
    """The settings as text and as values. Raises BadInput, naming the file, if they are not as expected."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = printable(name)
        try:
            values = parse(text)
        except ValueError as error:
            raise BadInput(f"{self.name} is not valid JSON ({printable(str(error))}); nothing was changed") from error
        self.values: Json = self._expected(values, dict, "it holds no object")
        hooks = self._expected(self.values.get("hooks", {}), dict, "its `hooks` is no object")
        self._groups: dict[str, list[Any]] = {
            event: self._expected(hooks.get(event, []), list, f"its `hooks.{event}` is no array") for event in _ACTIONS
        }

    def _expected(self, value: Any, kind: type, otherwise: str) -> Any:
        if not isinstance(value, kind):
            raise BadInput(f"{self.name} is not as expected: {otherwise}; nothing was changed")
        return value

    @property
    def hook(self) -> Json | None:
        """Our hook, if it is installed."""
        return self.hook_at(EVENT)

    def hook_at(self, event: str) -> Json | None:
        """Our hook for an event, if it is installed."""
        return next((hook for found, _, _, hook in self._ours() if found == event), None)

    @property
    def status_line(self) -> str:
        """Whose status line is set: `ours`, `other` or `none`."""
        if "statusLine" not in self.values:
            return "none"
        return "ours" if _runs(self.values["statusLine"], "statusline") else "other"

    @property
    def is_ours_there(self) -> bool:
        return any(True for _ in self._ours()) or self.status_line == "ours"

    @property
    def are_hooks_off(self) -> bool:
        return self.values.get("disableAllHooks") is True

    def _ours(self) -> Iterator[tuple[str, int, int, Json]]:
        for event, action in _ACTIONS.items():
            for number, group in enumerate(self._groups[event]):
                hooks = group.get("hooks") if isinstance(group, dict) else None
                for position, hook in enumerate(hooks if isinstance(hooks, list) else []):
                    if _runs(hook, "hook", action):
                        yield event, number, position, hook

    def with_entries(self, entries: Entries) -> ClientSettings:
        """The settings with our hooks and, if requested and no other is set, our status line."""
        text = self.text
        for event, hook in entries.hooks.items():
            text = ClientSettings(text, self.name)._with_hook(event, hook)
        line = entries.status_line
        if line is not None and self.status_line == "none":
            text = append(text, start_of(text), "statusLine", line)
        elif line is not None and self.status_line == "ours" and self.values["statusLine"] != line:
            text = replace(text, _place(text, "statusLine"), line)
        return ClientSettings(text, self.name)

    def _with_hook(self, event: str, hook: Json) -> str:
        text = self.text
        ours = next((each for each in self._ours() if each[0] == event), None)
        if ours is not None:
            place = _place(text, "hooks", event, ours[1], "hooks", ours[2])
            return text if ours[3] == hook else replace(text, place, hook)
        group = {"hooks": [hook]}
        if groups := find(text, "hooks", event):
            return append(text, groups.value, None, group)
        if hooks := find(text, "hooks"):
            return append(text, hooks.value, event, [group])
        return append(text, start_of(text), "hooks", {event: [group]})

    def with_values(self, outer: str, inner: str, values: Sequence[object]) -> ClientSettings:
        """The settings with values added to the list `outer.inner`, which is made if missing."""
        group = self._expected(self.values.get(outer, {}), dict, f"its `{outer}` is no object")
        self._expected(group.get(inner, []), list, f"its `{outer}.{inner}` is no array")
        text = self.text
        if outer not in self.values:
            text = append(text, start_of(text), outer, {})
        if inner not in group:
            text = append(text, _place(text, outer).value, inner, [])
        for value in values:
            text = append(text, _place(text, outer, inner).value, None, value)
        return ClientSettings(text, self.name)

    def without_values(self, outer: str, inner: str, values: Sequence[object]) -> ClientSettings:
        """The settings without these values of the list `outer.inner`."""
        text = self.text
        for value in values:
            listed = parse(text).get(outer, {}).get(inner, [])
            if value in listed:
                text = _without(text, outer, inner, listed.index(value))
        return ClientSettings(text, self.name)

    def without_entries(self, before: ClientSettings | None) -> ClientSettings:
        """The settings without our entries; `before` are the settings before them, if known."""
        if before is not None and self._is_made_from(before):
            return before
        cleared = self
        while (ours := next(cleared._ours(), None)) is not None:
            cleared = cleared._without_hook(*ours[:3], before)
        text = cleared.text
        if cleared.status_line == "ours":
            text = _without(text, "statusLine")
        return ClientSettings(text, self.name)

    def _is_made_from(self, before: ClientSettings) -> bool:
        line = self.values["statusLine"] if self.status_line == "ours" else None
        if self.hook is None:
            return False
        hooks = {event: hook for event, _, _, hook in self._ours()}
        made = before.with_entries(Entries(hooks, None))
        return self.text in (made.text, made.with_entries(Entries(hooks, line)).text)

    def _without_hook(self, event: str, group: int, position: int, before: ClientSettings | None) -> ClientSettings:
        """Removes a hook, then each container around it that is now empty and was not there before."""
        text = _without(self.text, "hooks", event, group, "hooks", position)
        had: Json = before.values if before is not None else {}
        emptied: list[tuple[str | int, ...]] = [("hooks", event, group)]
        if event not in had.get("hooks", {}):
            emptied.append(("hooks", event))
        if "hooks" not in had:
            emptied.append(("hooks",))
        for path in emptied:
            if _is_empty(parse(text), path):
                text = _without(text, *path)
        return ClientSettings(text, self.name)


def command_of(entry: Json) -> str:
    """The full command line of an entry, for people."""
    arguments = entry.get("args")
    return (
        shlex.join([entry["command"], *map(str, arguments)]) if isinstance(arguments, list) else str(entry["command"])
    )


def home_of(entry: Json) -> str | None:
    """The archive that an entry of ours names, if it names one."""
    words = words_of(entry)
    return words[words.index("--home") + 1] if "--home" in words[:-1] else None


def words_of(entry: Json) -> list[str]:
    """The words of an entry's command; empty if a shell could not parse it either."""
    if isinstance(arguments := entry.get("args"), list):
        return [entry["command"], *map(str, arguments)]
    try:
        return shlex.split(entry["command"])
    except ValueError:  # an unclosed quote
        return []


def _is_empty(value: Any, path: tuple[str | int, ...]) -> bool:
    """Whether nothing is left at a path; a group without hooks counts as empty, whatever its matcher."""
    for step in path:
        if isinstance(value, dict) and step not in value:
            return False
        value = value[step]
    return not (value["hooks"] if isinstance(path[-1], int) else value)


def _place(text: str, *path: str | int) -> JsonPlace:
    place = find(text, *path)
    if place is None:
        raise LookupError(path)
    return place


def _without(text: str, *path: str | int) -> str:
    place = _place(text, *path)
    opening = _place(text, *path[:-1]).value if path[:-1] else start_of(text)
    return remove(text, opening, place)


def _runs(entry: object, *action: str) -> bool:
    """Whether an entry runs reread, by any path, with these words."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    words = words_of(entry)
    return any(
        re.split(r"[/\\]", word)[-1].lower() in ("reread", "reread.exe")
        and tuple(words[number : number + len(action)]) == action
        for number, word in enumerate(words, start=1)
    )


BACKUP = ".reread-backup"
NEW = "{}\n"


class SettingsChange(NamedTuple):
    """A change of the file."""

    before: bytes | None
    """Its bytes; None if there is no file."""
    after: bytes | None
    """None to delete the file, which we made and which has nothing else."""
    backup: bytes | None
    """The content for the backup; None if no backup is needed."""

    @property
    def is_none(self) -> bool:
        return self.before == self.after


class SettingsFile:
    """One settings file. If it is a link, the link stays and its target is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backup = path.with_name(path.name + BACKUP)

    def read(self) -> bytes | None:
        """The bytes; None if there is no file. Raises SourceError if it cannot be read."""
        return _bytes_of(self.path)

    def settings(self, content: bytes | None) -> ClientSettings:
        """The settings in these bytes. Raises BadInput if they are not as expected."""
        return ClientSettings(NEW if content is None else self._text(content, self.path), str(self.path))

    def installing(self, entries: Entries) -> SettingsChange:
        before = self.read()
        settings = self.settings(before)
        # With our entries in it, the file is no longer the original: an existing backup is.
        backup = _bytes_of(self.backup) if settings.is_ours_there else before
        try:
            after = settings.with_entries(entries).text.encode()
        except UnicodeEncodeError as error:  # the name of the archive or of a source: JSON could not hold it
            raise BadInput("the name of the archive or of a source is not UTF-8; nothing was changed") from error
        return SettingsChange(before, after, backup or before)

    def removing(self) -> SettingsChange:
        before = self.read()
        if before is None:
            return SettingsChange(None, None, None)
        settings = self.settings(before)
        kept = _bytes_of(self.backup)
        earlier = self._settings_before_us(kept)
        cleared = settings.without_entries(earlier)
        if cleared.text == settings.text:
            return SettingsChange(before, before, None)
        if earlier is None and not cleared.values:
            return SettingsChange(before, None, None)
        after = cleared.text.encode()
        return SettingsChange(before, after, None if after == kept else before)

    def write(self, change: SettingsChange) -> None:
        """Writes a change. Raises BadInput if the file is no longer as in `change.before` or cannot be written."""
        target = self.path.resolve()
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if change.before is not None and not os.access(target, os.W_OK):
                raise PermissionError(13, "it is not writable")
            self._refuse_changed(change)
            mode = stat.S_IMODE(target.stat().st_mode) if change.before is not None else 0o600
            if change.backup is not None:
                _write(self.backup, change.backup, mode, None)
            self._put(change, target, mode)
            if change.backup is None:
                self.backup.unlink(missing_ok=True)
        except OSError as error:
            raise BadInput(f"{printable(str(self.path))} cannot be changed: {error.strerror or error}") from error

    def _put(self, change: SettingsChange, target: Path, mode: int) -> None:
        self._refuse_changed(change)
        if change.after is None:
            target.unlink()
        else:
            _write(target, change.after, mode, target.stat() if change.before is not None else None)

    def _refuse_changed(self, change: SettingsChange) -> None:
        if self.read() != change.before:
            raise BadInput(f"{printable(str(self.path))} was changed in the meantime; nothing was written, try again")

    def _settings_before_us(self, kept: bytes | None) -> ClientSettings | None:
        """The backup's settings, which show what was empty before us; None if unreadable or with our entries in it."""
        if kept is None:
            return None
        try:
            settings = ClientSettings(self._text(kept, self.backup), str(self.path))
        except BadInput:
            return None
        return None if settings.is_ours_there else settings

    @staticmethod
    def _text(content: bytes, path: Path) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"{printable(str(path))} is not valid JSON (not UTF-8); nothing was changed") from error


def has_program(hook: dict[str, Any]) -> bool:
    """Whether the program of our hook still exists; a program found by PATH is assumed to."""
    program = words_of(hook)[0]
    return not Path(program).is_absolute() or Path(program).exists()


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SourceError(path, (error.strerror or str(error)).lower()) from error


def _write(path: Path, content: bytes, mode: int, owner: os.stat_result | None) -> None:
    """Writes under another name and renames, so that a reader sees the old file or the new one, never half of one."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    number = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with open(number, "wb") as file:  # noqa: PTH123  a descriptor, not a path
            file.write(content)
            file.flush()
            sync_file(number)
        fresh.chmod(mode)
        if owner is not None and hasattr(os, "chown") and owner.st_uid != fresh.stat().st_uid:
            os.chown(fresh, owner.st_uid, owner.st_gid)
        fresh.replace(path)
    finally:
        with suppress(FileNotFoundError):
            fresh.unlink()


MEMORIES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md")
_LONGEST = 200_000
_HEADING = "## Learned from sessions"


def stated_in(folder: Path, *, is_home: bool = False) -> Stated:
    """The memories, rules, hooks and commands of a project's folder or of the client's own; empty if it is missing."""
    client = folder if is_home else folder / ".claude"
    settings = [_json(client / name) for name in ("settings.json", "settings.local.json")]
    return Stated(
        memory=tuple(_memories(folder)),
        allowed=frozenset(rule for each in settings for rule in _rules(each)),
        hooks="\n".join(json.dumps(each.get("hooks", "")) for each in settings),
        commands=frozenset(_commands(client)),
    )


def _memories(folder: Path) -> Iterator[tuple[str, str, datetime | None]]:
    for name in MEMORIES:
        path = folder / name
        text = _text(path)
        if text:
            yield name, text, datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _commands(client: Path) -> Iterator[str]:
    try:
        yield from (path.stem for path in client.glob("commands/**/*.md"))
        yield from (path.parent.name for path in client.glob("skills/*/SKILL.md"))
    except OSError:  # no permission: as if it were empty
        return


def _rules(settings: dict[str, Any]) -> list[str]:
    permissions = settings.get("permissions")
    groups = permissions.values() if isinstance(permissions, dict) else ()
    return [rule for group in groups if isinstance(group, list) for rule in group if isinstance(rule, str)]


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    """The beginning of a file; empty if it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""


class Applied(NamedTuple):
    """A suggestion with the file it changes."""

    file: SettingsFile
    change: SettingsChange
    draft: Suggestion

    def diff(self) -> list[str]:
        """The change as `diff -u` would show it."""
        before = (self.change.before or b"").decode("utf-8", "replace").splitlines()
        after = (self.change.after or b"").decode("utf-8", "replace").splitlines()
        name = str(self.file.path)
        old = name if self.change.before is not None else "/dev/null"
        return [line.rstrip("\n") for line in difflib.unified_diff(before, after, old, name, lineterm="")]


def applied(each: Suggestion, project: Path | None, home: Path) -> Applied:
    """The change for a suggestion, in its project or, for all projects, in the client's own folder.

    Raises BadInput if the project is not on this machine, or if the file is not as expected.
    """
    if project is not None and not project.is_dir():
        raise BadInput(f"the project {printable(str(project))} is not on this machine; copy the draft yourself")
    root = project if project is not None else home
    place = each.place if project is not None else each.place.removeprefix(".claude/")
    file = SettingsFile(root / place)
    before = file.read()
    return Applied(file, SettingsChange(before, _after(each, before, file), before), each)


def undone(each: Suggestion, path: Path) -> Applied:
    """The change that takes a draft out of its file again. Raises BadInput if the file no longer has it."""
    file = SettingsFile(path)
    before = file.read()
    after = _without_draft(each, before, file)
    if before is None or after == before:
        raise BadInput(f"{printable(str(path))} no longer has it as it was applied; nothing was changed")
    return Applied(file, SettingsChange(before, after, before if after is not None else None), each)


def _without_draft(each: Suggestion, before: bytes | None, file: SettingsFile) -> bytes | None:
    """The file without a draft; the same if it is not in it, None if nothing else is."""
    if each.place.endswith(".json"):
        return file.settings(before).without_values(*_values_of(each)).text.encode()
    if each.kind is not SuggestionKind.MEMORY:
        return None if before == f"{each.draft.rstrip()}\n".encode() else before
    text = (before or b"").decode("utf-8", "surrogateescape")
    newline = _newline(text)
    rest = f"{newline}{text}".replace(f"{newline}{each.draft.replace(chr(10), newline)}{newline}", newline, 1)
    kept = re.sub(rf"(?:{newline})*{re.escape(_HEADING)}(?:{newline})*(?=#|\Z)", newline, rest).strip("\r\n")
    is_there = rest != f"{newline}{text}"
    after = f"{kept}{newline}".encode("utf-8", "surrogateescape") if kept else None
    return after if is_there else before


def _values_of(each: Suggestion) -> tuple[str, str, list[object]]:
    """What a draft of settings adds: the names of an object and of a list in it, and the values."""
    [(outer, lists)] = json.loads(each.draft).items()
    [(inner, values)] = lists.items()
    return outer, inner, values


def _after(each: Suggestion, before: bytes | None, file: SettingsFile) -> bytes:
    if each.kind is SuggestionKind.MEMORY:
        return _with_line((before or b"").decode("utf-8", "surrogateescape"), each.draft).encode(
            "utf-8", "surrogateescape"
        )
    if each.place.endswith(".json"):
        return file.settings(before or None).with_values(*_values_of(each)).text.encode()
    if before is not None:
        raise BadInput(f"{printable(str(file.path))} is there already; nothing was written")
    return f"{each.draft.rstrip()}\n".encode()


def _with_line(text: str, line: str) -> str:
    """The text with a line added below our own heading, which is added at the end if missing."""
    newline = _newline(text)
    lines = text.rstrip("\r\n").split(newline) if text.strip() else []
    if _HEADING not in lines:
        return newline.join([*lines, *([""] if lines else []), _HEADING, "", line, ""])
    at = lines.index(_HEADING) + 1
    while at < len(lines) and not lines[at].startswith("#"):
        at += 1
    while not lines[at - 1].strip():
        at -= 1
    return newline.join([*lines[:at], line, *lines[at:], ""])
