"""What the files of a project tell the agent already, and how one more suggestion is put into them.

Instructions, settings, commands and skills are read wherever Claude Code looks for them; nothing is written but what
`applied` planned and a person agreed to.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reread.analyses.friction.instructions import Stated
from reread.analyses.friction.suggestions import Suggestion, SuggestionKind
from reread.errors import BadInput, printable

from . import text as json_text
from .file import NEW, Change, SettingsFile

MEMORIES = ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md")
_LONGEST = 200_000
_HEADING = "## Learned from sessions"


def stated_in(folder: Path, *, is_home: bool = False) -> Stated:
    """What a project's folder states, or the client's own folder for all projects; nothing where there is none."""
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
    except OSError:  # a folder that nobody may look into states nothing
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
    """The beginning of a file; empty where it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST)
    except OSError:
        return ""


class Applied(NamedTuple):
    """A suggestion with the file it changes."""

    file: SettingsFile
    change: Change

    def diff(self) -> list[str]:
        """The change as `diff -u` would show it."""
        before = (self.change.before or b"").decode("utf-8", "replace").splitlines()
        after = (self.change.after or b"").decode("utf-8", "replace").splitlines()
        name = str(self.file.path)
        old = name if self.change.before is not None else "/dev/null"
        return [line.rstrip("\n") for line in difflib.unified_diff(before, after, old, name, lineterm="")]


def applied(each: Suggestion, project: Path | None, home: Path) -> Applied:
    """What would be written for a suggestion: into its project, or for all projects into the client's own folder.

    Raises BadInput where its place is no file of Claude Code's, where the project is not on this machine, or where
    the file cannot be understood.
    """
    if each.place.startswith("~"):
        raise BadInput(f"{each.place} is not a file of Claude Code's: copy the line into it yourself")
    if project is not None and not project.is_dir():
        raise BadInput(f"the project {printable(str(project))} is not on this machine; copy the draft yourself")
    root = project if project is not None else home
    place = each.place if project is not None else each.place.removeprefix(".claude/")
    file = SettingsFile(root / place)
    before = file.read()
    return Applied(file, Change(before, _after(each, before, file.path), before))


def _after(each: Suggestion, before: bytes | None, path: Path) -> bytes:
    if each.kind is SuggestionKind.MEMORY:
        return _with_line((before or b"").decode("utf-8", "surrogateescape"), each.draft).encode(
            "utf-8", "surrogateescape"
        )
    if each.place.endswith(".json"):
        return _with_settings(
            (before or NEW.encode()).decode("utf-8", "replace"), json.loads(each.draft), path
        ).encode()
    if before is not None:
        raise BadInput(f"{printable(str(path))} is there already; nothing was written")
    return f"{each.draft.rstrip()}\n".encode()


def _with_line(text: str, line: str) -> str:
    """Below our own heading, which is put at the end where there is none."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    if _HEADING not in lines:
        return "\n".join([*lines, *([""] if lines else []), _HEADING, "", line, ""])
    at = lines.index(_HEADING) + 1
    while at < len(lines) and not lines[at].startswith("#"):
        at += 1
    while not lines[at - 1].strip():
        at -= 1
    return "\n".join([*lines[:at], line, *lines[at:], ""])


def _with_settings(text: str, wanted: dict[str, Any], path: Path) -> str:
    """With the members of the draft added to the lists that are there; every other character stays."""
    try:
        json_text.parse(text)
    except ValueError as error:
        raise BadInput(f"{printable(str(path))} is not valid JSON ({error}); nothing was written") from error
    (outer, groups), *_ = wanted.items()
    (inner, values), *_ = groups.items()
    for keys, empty in (((outer,), {}), ((outer, inner), [])):
        if json_text.find(text, *keys) is None:
            holder = json_text.find(text, *keys[:-1]) if len(keys) > 1 else None
            opening = holder.value if holder is not None else json_text.start_of(text)
            text = json_text.append(text, opening, keys[-1], empty)
    for value in values:
        place = json_text.find(text, outer, inner)
        if place is None or text[place.value] != "[":
            raise BadInput(f"{printable(str(path))} has something else under {outer}.{inner}; nothing was written")
        text = json_text.append(text, place.value, None, value)
    return text
