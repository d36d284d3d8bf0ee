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


_COUNTER = {
    Status.ERROR: "errors",
    Status.REJECTED: "rejected",
    Status.INTERRUPTED: "interrupted",
    Status.MISSING: "missing",
}


def count_tools(calls: Iterable[ToolCall]) -> list[ToolCount]:
    """Most used first, then by name."""
    counts: dict[str, ToolCount] = {}
    for call in calls:
        count = counts.get(call.name)
        if count is None:
            server, tool = split_tool_name(call.name)
            count = counts[call.name] = ToolCount(name=call.name, server=server, tool=tool)
        count.calls += 1
        count.seconds += call.seconds or 0.0
        if call.status in _COUNTER:
            setattr(count, _COUNTER[call.status], getattr(count, _COUNTER[call.status]) + 1)
    return sorted(counts.values(), key=lambda count: (-count.calls, count.name))
