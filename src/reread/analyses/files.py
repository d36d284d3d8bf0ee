"""Which files a tool call names."""

from __future__ import annotations

from reread.sessions import ToolCall

_PATH_KEYS = ("file_path", "notebook_path", "path")


def paths_of(call: ToolCall) -> list[str]:
    """The paths among a call's arguments; a shell command's are not looked for."""
    given = call.input
    if not isinstance(given, dict):
        return []
    return [given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)]
