"""What of a line can be searched: its texts, each with the field it belongs to.

The order is part of the contract with the index: a text is found again by its line and its position here.
"""

from __future__ import annotations

from enum import StrEnum

from reread.lazy import NamedTuple
from reread.records import (
    AiTitle,
    Assistant,
    AwaySummary,
    CustomTitle,
    QueueOperation,
    Record,
    Summary,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Unknown,
    UnknownBlock,
    User,
)
from reread.sessions.captured import WithdrawnBlock
from reread.sessions.speaker import Speaker, kind_of, typed_text, was_typed_while_busy


class Field(StrEnum):
    """Where a text was said."""

    PROMPT = "prompt"
    TEXT = "text"
    THINKING = "thinking"
    TOOL = "tool"
    RESULT = "result"
    TITLE = "title"


class FieldText(NamedTuple):
    field: Field
    text: str


_OF_USER = {
    Speaker.PROMPT: Field.PROMPT,
    Speaker.COMMAND: Field.PROMPT,
    Speaker.SHELL: Field.PROMPT,
    Speaker.AGENT_PROMPT: Field.PROMPT,
    Speaker.COMPACT_SUMMARY: Field.TEXT,
    Speaker.TASK_NOTIFICATION: Field.RESULT,
    Speaker.TEAMMATE: Field.RESULT,
    Speaker.LOCAL_OUTPUT: Field.RESULT,
}
_OF_WITHDRAWN: dict[type, Field] = {Thinking: Field.THINKING, ToolUse: Field.TOOL}
_TITLES: dict[type[Record], str] = {CustomTitle: "custom_title", AiTitle: "ai_title", Summary: "summary"}


def texts_of(record: Record) -> list[FieldText]:
    """The texts of a line, in a fixed order; most lines have one, bookkeeping none."""
    if type(record) is Assistant:
        return _of_reply(record)
    if isinstance(record, User):
        return _of_user(record)
    if type(record) in _TITLES:
        title: str | None = getattr(record, _TITLES[type(record)])
        return [FieldText(Field.TITLE, title)] if title else []
    if isinstance(record, QueueOperation) or was_typed_while_busy(record):
        return [FieldText(Field.PROMPT, record.text)] if record.text else []
    if isinstance(record, AwaySummary | Unknown) and record.text:
        return [FieldText(Field.TEXT, record.text)]
    if isinstance(record, WithdrawnBlock) and record.text:
        return [FieldText(_OF_WITHDRAWN.get(type(record.block), Field.TEXT), record.text)]
    return []


def _of_reply(record: Assistant) -> list[FieldText]:
    found: list[FieldText] = []
    for block in record.blocks:
        if type(block) is Text or type(block) is UnknownBlock:
            found.append(FieldText(Field.TEXT, block.as_text))
        elif type(block) is Thinking:
            found.append(FieldText(Field.THINKING, block.as_text))
        elif isinstance(block, ToolUse):
            found.append(FieldText(Field.TOOL, tool_text(block.input)))
    if isinstance(record.content, str):
        found.append(FieldText(Field.TEXT, record.content))
    return [each for each in found if each.text]


def tool_text(value: object) -> str:
    """The strings of a tool's input, without the names of its arguments, in the order they were written."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            waiting.extend(reversed(item.values()))
        elif isinstance(item, list):
            waiting.extend(reversed(item))
    return "\n".join(found)


def _of_user(record: User) -> list[FieldText]:
    kind = kind_of(record)
    if kind is Speaker.TOOL_RESULT:
        results = [block.as_text for block in record.blocks if type(block) is ToolResult]
        return [FieldText(Field.RESULT, text) for text in results if text]
    field = _OF_USER.get(kind)
    if field is None:
        return []
    text = typed_text(record, kind) if field is Field.PROMPT else record.text
    return [FieldText(field, text)] if text else []
