"""A tool call on one line: its most useful arguments, by tool, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import msgspec

from reread.blocks.model import CallBlock
from reread.sessions import CallStatus, split_tool_name

from .numbers import duration
from .text import joined, one_line

MARKS: dict[CallStatus, tuple[str, str]] = {
    CallStatus.OK: ("●", "green"),
    CallStatus.ERROR: ("✗", "red"),
    CallStatus.REJECTED: ("⊘", "red"),
    CallStatus.INTERRUPTED: ("■", "yellow"),
    CallStatus.MISSING: ("○", "dim"),
}

_FILE_KEYS = ("file_path", "notebook_path", "path")
_KEYS: dict[str, tuple[str, ...]] = {
    "Bash": ("command",),
    "BashOutput": ("bash_id", "shell_id"),
    "Glob": ("pattern", "path"),
    "Grep": ("pattern", "path", "glob"),
    "Task": ("description", "subagent_type"),
    "Agent": ("description", "subagent_type"),
    "WebFetch": ("url",),
    "WebSearch": ("query",),
    "web_search": ("query",),
    "Skill": ("skill", "command"),
    "SlashCommand": ("command",),
    "ToolSearch": ("query",),
    "TaskOutput": ("task_id",),
    "SendMessage": ("to", "message"),
    "ExitPlanMode": ("plan",),
}
"""The arguments to show, by tool; a tool that is not listed shows its file, or its whole input."""


def summary(call: CallBlock, project: str | None) -> str:
    """`src/foo.py`, `ls -la`: the point of a call without its tool's name."""
    return point_of(call.name, call.input, project)


def point_of(name: str, tool_input: Any, project: str | None) -> str:
    """The same for a name and an input without a block."""
    if not isinstance(tool_input, dict):
        return "" if tool_input is None else str(tool_input)
    special = _SPECIAL.get(name)
    if special is not None:
        return special(tool_input)
    keys = _KEYS.get(name) or next(((key,) for key in _FILE_KEYS if key in tool_input), tuple(tool_input))
    found = [_value(tool_input[key], project) for key in keys if tool_input.get(key) not in (None, "")]
    return " · ".join(found)


def tool_label(name: str) -> str:
    """MCP tools as `server:tool`, others unchanged."""
    server, tool = split_tool_name(one_line(name))
    return f"{server}:{tool}" if server else tool


def _value(value: Any, project: str | None) -> str:
    if not isinstance(value, str):
        return _compact(value)
    return shown_path(value, project)


def shown_path(path: str, project: str | None) -> str:
    """A path below the project is shown relative to it."""
    return relative(path, project) if project and path.startswith(project) else path


@lru_cache(maxsize=256)  # a session touches the same files again and again
def relative(path: str, project: str) -> str:
    """A path relative to the project if it is below it; Windows paths by their own rules."""
    kind = PureWindowsPath if "\\" in project else PurePosixPath
    try:
        return str(kind(path).relative_to(kind(project)))
    except ValueError:
        return path


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8", "replace")


def _todos(tool_input: Mapping[str, Any]) -> str:
    todos = _objects(tool_input.get("todos"))
    done = sum(todo.get("status") == "completed" for todo in todos)
    current = next((todo.get("content") for todo in todos if todo.get("status") == "in_progress"), None)
    return f"{done} of {len(todos)} done" + (f", now: {current}" if current else "")


def _questions(tool_input: Mapping[str, Any]) -> str:
    return " / ".join(str(question.get("question") or "") for question in _objects(tool_input.get("questions")))


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_SPECIAL: dict[str, Callable[[Mapping[str, Any]], str]] = {"TodoWrite": _todos, "AskUserQuestion": _questions}


def without_error_tags(text: str) -> str:
    """Removes the tags that the client puts around a tool's error message for the model."""
    return text.replace("<tool_use_error>", "").replace("</tool_use_error>", "").strip()


_DECISIONS = {
    "allow": "allowed",
    "deny": "denied",
    "error": "the question failed",
    "void": "the question was withdrawn",
}


def ending(call: CallBlock) -> str:
    """How it ended: what the person chose, or what they answered to the permission question and what went wrong."""
    answered = call.output.answers if call.output is not None else {}
    if answered:
        return f"→ {', '.join(map(str, answered.values()))}"
    is_refused = call.permission is not None and call.permission.decision == "deny"  # the denial says why
    return joined((permission(call), "" if is_refused else failure(call)))


def permission(call: CallBlock) -> str:
    """`allowed after 4.2s`, `denied: Not today.`, `allowed with edited input`: what was answered, and how soon."""
    permission = call.permission
    if permission is None:
        return ""
    decision = _DECISIONS[permission.decision] if permission.decision is not None else "asked, not answered"
    decision += " with edited input" if permission.is_edited else ""
    decision += " from now on" if permission.remembered else ""
    decision += f" by the rule {one_line(permission.rule)}" if permission.rule is not None else ""
    waited = permission.seconds
    decision += f" after {duration(waited)}" if waited is not None and waited >= _NOTICED else ""
    return f"{decision}: {permission.message}" if permission.message else decision


_NOTICED = 1.0
"""Seconds from which a wait is shown; answers from a program take less."""


def failure(call: CallBlock) -> str:
    """Why a call failed or was not run; empty for a call that succeeded."""
    if call.status is CallStatus.REJECTED:
        return "rejected, not applied"
    if call.status is CallStatus.INTERRUPTED:
        return "interrupted"
    if call.status is CallStatus.MISSING:
        return "no result"
    if call.status is CallStatus.ERROR and call.output is not None:
        return without_error_tags(call.output.text)
    return ""
