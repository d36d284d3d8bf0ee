"""Text typed while the agent was busy.

It reaches the model in one of three ways: as a `user` line later, as a `queued_command` attachment, or (2.0.30,
2.1.50) without any other trace than the queue record itself. The last kind is what this finds.
"""

from __future__ import annotations

from collections.abc import Iterable

from reread.records import Attachment, QueuedCommand, QueueOperation, Record, User

from .kinds import Kind, command_line, was_typed_while_busy
from .values import Prompt


def queued_prompt(record: Record) -> Prompt | None:
    """What an attachment says the person typed; up to 2.1.202 there is no `user` line for it."""
    if not was_typed_while_busy(record):
        return None
    return Prompt(record=record, text=record.text, kind=Kind.PROMPT, is_queued=True)


def traceless_prompts(queue: Iterable[Record], records: Iterable[Record]) -> dict[int, Prompt]:
    """Queued text found nowhere else among the records, by the `id()` of its queue record."""
    queued = [record for record in queue if isinstance(record, QueueOperation) and _is_typed(record)]
    if not queued:
        return {}
    traces = [_as_lines(trace) for record in records for trace in _traces(record)]
    return {
        id(record): Prompt(record=record, text=record.text, kind=Kind.PROMPT, is_queued=True)
        for record in queued
        if not any(_as_lines(record.text) in trace for trace in traces)
    }


def _is_typed(record: QueueOperation) -> bool:
    """Clients also queue notifications and, in 2.1.50, a JSON string for every subagent they start."""
    return record.operation == "enqueue" and bool(record.text.strip()) and not record.text.startswith(("<", "{"))


def _traces(record: Record) -> list[str]:
    if isinstance(record, User):
        return [record.text, command_line(record.text)] if "<command-" in record.text else [record.text]
    if isinstance(record, QueueOperation):  # taken back into the input box, to be edited there
        return [record.text] if record.operation == "popAll" else []
    is_queued = isinstance(record, Attachment) and isinstance(record.attachment, QueuedCommand)
    return [record.text] if is_queued else []


def _as_lines(text: str) -> str:
    """Whole lines, so that `go` is not found in `go on`; the client sends queued prompts joined, a line each."""
    lines = (" ".join(line.split()) for line in text.strip().splitlines())
    return "\n".join(("", *lines, ""))
