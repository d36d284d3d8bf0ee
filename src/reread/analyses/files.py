"""Which files a tool call names."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from reread.sessions import ToolCall

_PATH_KEYS = ("file_path", "notebook_path", "path")


class _Paths(Struct, frozen=True, gc=False):
    file_path: str | None = None
    notebook_path: str | None = None
    path: str | None = None


_decode = msgspec.json.Decoder(_Paths).decode
"""Passes over all other arguments: a written file's content would cost more than the rest of the call."""


def paths_of(call: ToolCall) -> list[str]:
    """The paths among a call's arguments; a shell command's are not looked for."""
    try:
        paths = _decode(call.block.raw_input)
    except (msgspec.DecodeError, UnicodeDecodeError):  # arguments that are no object, or of unexpected types
        given = call.input
        return [given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)] if isinstance(given, dict) else []
    return [path for path in (paths.file_path, paths.notebook_path, paths.path) if path is not None]
