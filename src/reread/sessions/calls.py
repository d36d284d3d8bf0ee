"""Tool calls and the results that belong to them, by `tool_use_id` alone.

Results arrive in the order tools finish, not in the order they were called, and sometimes after other lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from reread.records import (
    Assistant,
    Record,
    ResultTwin,
    ServerToolUse,
    Spoken,
    ToolResult,
    ToolUse,
    User,
    result_twin,
)

from .values import Status, ToolCall, ToolOutput

_REJECTIONS = (
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "User rejected tool use",
    "Permission for this tool use was denied",
    "Permission to use ",
)
_INTERRUPT = "[Request interrupted by user"
"""The whole result in 1.0.x; after `Exit code 137` in 2.0 and 2.1.50."""
_PERSISTED = re.compile(r"<persisted-output>.*?saved to:?\s*(\S[^\n]*)", re.DOTALL)
_NO_TWIN = ResultTwin()


def pair_calls(records: Iterable[Record]) -> list[ToolCall]:
    """Every call once, in file order, with its result: clients up to 1.0 replay calls after a compaction."""
    uses: dict[str, tuple[Record, ToolUse]] = {}
    outputs: dict[str, ToolOutput] = {}
    for record in records:
        if not isinstance(record, Spoken):
            continue
        for block in record.blocks:
            if type(block) is ToolUse:
                uses.setdefault(block.id or f"unnamed {len(uses)}", (record, block))
            elif type(block) is ToolResult and block.tool_use_id is not None:
                outputs.setdefault(block.tool_use_id, ToolOutput(record=record, block=block))
    return [_call(record, use, outputs.get(key)) for key, (record, use) in uses.items()]


def server_call(record: Assistant, use: ServerToolUse) -> ToolCall:
    """A call the API ran by itself: its result is a block of the same message, never a user line."""
    return ToolCall(record=record, block=use, output=None, status=Status.OK)


def _call(record: Record, use: ToolUse, output: ToolOutput | None) -> ToolCall:
    if output is None:
        return ToolCall(record=record, block=use, output=None, status=Status.MISSING)
    twin = _twin(output)
    return ToolCall(
        record=record,
        block=use,
        output=output,
        status=_status(output, twin),
        persisted=_persisted_name(output.text, twin),
    )


def _twin(output: ToolOutput) -> ResultTwin:
    """The structured twin, where the line holds one result: otherwise it may speak of another call."""
    record = output.record
    if not isinstance(record, User) or sum(type(block) is ToolResult for block in record.blocks) != 1:
        return _NO_TWIN
    return result_twin(record)


def _status(output: ToolOutput, twin: ResultTwin) -> Status:
    """By evidence, strongest first: a refusal is also marked as an error, an interrupt sometimes is not."""
    text = output.text[:100].lstrip()
    is_error = output.is_error or bool(twin.message)
    if isinstance(output.record, User) and output.record.tool_denial_kind is not None:
        return Status.REJECTED
    if is_error and (text.startswith(_REJECTIONS) or twin.message.startswith(_REJECTIONS)):
        return Status.REJECTED
    if twin.interrupted or (is_error and _INTERRUPT in text):
        return Status.INTERRUPTED
    if output.is_error or text.startswith("<tool_use_error>") or twin.message.startswith("Error: "):
        return Status.ERROR
    return Status.OK


def _persisted_name(text: str, twin: ResultTwin) -> str | None:
    """Base name only: the path in the line is another machine's, or an attempt to leave the session's folder."""
    path = twin.persisted_output_path
    if path is None and text.startswith("<persisted-output>"):
        saved = _PERSISTED.search(text)
        path = saved[1].strip() if saved else None
    if path is None:
        return None
    name = re.split(r"[/\\]+", path.rstrip("/\\"))[-1]
    return name if name not in ("", ".", "..") else None
