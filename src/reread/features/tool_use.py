"""Which files a tool call names, and how often tools ran, failed and were refused."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from reread.sessions import CallStatus, ToolCall, split_tool_name

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


class ToolCount(Struct, kw_only=True):
    name: str
    server: str | None
    tool: str
    calls: int = 0
    errors: int = 0
    rejected: int = 0
    interrupted: int = 0
    missing: int = 0
    seconds: float = 0.0
    """Summed from call to result, waiting for the person included."""

    @property
    def error_rate(self) -> float:
        return self.errors / self.calls if self.calls else 0.0


_COUNTER: dict[str, str] = {
    CallStatus.ERROR: "errors",
    CallStatus.REJECTED: "rejected",
    CallStatus.INTERRUPTED: "interrupted",
    CallStatus.MISSING: "missing",
}


def count_tools(calls: Iterable[ToolCall]) -> list[ToolCount]:
    """Most used first, then by name."""
    return sum_tools((call.name, call.status.value, 1, call.seconds or 0.0) for call in calls)


def sum_tools(sums: Iterable[tuple[str, str, int, float]]) -> list[ToolCount]:
    """The same of calls that were counted by name and by how they ended, with the seconds they took."""
    counts: dict[str, ToolCount] = {}
    for name, status, calls, seconds in sums:
        count = counts.get(name)
        if count is None:
            server, tool = split_tool_name(name)
            count = counts[name] = ToolCount(name=name, server=server, tool=tool)
        count.calls += calls
        count.seconds += seconds
        if status in _COUNTER:
            setattr(count, _COUNTER[status], getattr(count, _COUNTER[status]) + calls)
    return sorted(counts.values(), key=lambda count: (-count.calls, count.name))
