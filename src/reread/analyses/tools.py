"""How often tools ran, failed and were refused, and how long they took."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from reread.sessions import Status, ToolCall, split_tool_name


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
    Status.ERROR: "errors",
    Status.REJECTED: "rejected",
    Status.INTERRUPTED: "interrupted",
    Status.MISSING: "missing",
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
