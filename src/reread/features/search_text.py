"""The texts of a line that can be searched, each with the field it belongs to.

The order is part of the contract with the index: a text is looked up again by its line and its position here.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from reread.records import (
    AdvisorToolResult,
    AiTitle,
    Assistant,
    Attachment,
    AwaySummary,
    CustomTitle,
    Document,
    QueueOperation,
    Record,
    ServerToolUse,
    Summary,
    System,
    Text,
    Thinking,
    ToolResult,
    ToolResultLine,
    ToolUse,
    Unknown,
    UnknownBlock,
    User,
    WebSearchToolResult,
)
from reread.records.attachments import DirectoryAttachment, FileAttachment, HookSystemMessage, UnknownAttachment
from reread.records.state import SessionTag
from reread.records.system import BridgeStatus, Informational, LocalCommand, ModelConsentFallback, ScheduledTaskFire
from reread.sessions.captured import WithdrawnBlock
from reread.sessions.speaker import (
    STOP_FEEDBACK,
    Speaker,
    kind_of,
    local_output,
    plain,
    typed_text,
    was_typed_while_busy,
    words_beside_result,
)


class Field(StrEnum):
    """The part of the conversation that a text belongs to."""

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
    Speaker.HOOK: Field.RESULT,
}
_OF_BLOCK: dict[type, Field] = {
    Text: Field.TEXT,
    UnknownBlock: Field.TEXT,
    Thinking: Field.THINKING,
    ToolUse: Field.TOOL,
    ServerToolUse: Field.TOOL,
    ToolResult: Field.RESULT,
    WebSearchToolResult: Field.RESULT,
    AdvisorToolResult: Field.RESULT,
    Document: Field.TEXT,
}
_OF_WITHDRAWN: dict[type, Field] = {Thinking: Field.THINKING, ToolUse: Field.TOOL}


def texts_of(record: Record) -> list[FieldText]:
    """The texts of a line, in a fixed order; most lines have one, bookkeeping none."""
    read = _READERS.get(type(record))
    return read(record) if read is not None else []


def is_output(record: Record) -> bool:
    """Whether a line that looks like a person's has only what programs and other agents wrote, outside of a tool's
    result."""
    if not isinstance(record, User) or kind_of(record) is Speaker.TOOL_RESULT:
        return False
    return all(each.field is Field.RESULT for each in texts_of(record))


def _of_reply(record: Assistant) -> list[FieldText]:
    content = record.content
    if isinstance(content, str):
        return _alone(Field.TEXT, content)
    found: list[FieldText] = []
    for block in content or ():
        field = _OF_BLOCK.get(type(block))
        if field is not None:
            text = tool_text(block.input) if type(block) is ToolUse or type(block) is ServerToolUse else block.as_text
            if text:
                found.append(FieldText(field, text))
    return found


def tool_text(value: object) -> str:
    """The strings of a tool's input, without the argument names, in the order they were written."""
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
        answer = Field.PROMPT if record.is_persons_answer else Field.RESULT
        results = [*_of_blocks(record, ToolResult, answer), *_alone(answer, _content_of(record))]
        return [*results, *_alone(Field.PROMPT, words_beside_result(record))]
    is_feedback = kind is Speaker.META and record.text.startswith(STOP_FEEDBACK)
    field = Field.RESULT if is_feedback else _OF_USER.get(kind)
    if field is None:
        return []
    typed = _alone(field, typed_text(record, kind) if field is Field.PROMPT else record.text)
    return [*typed, *_of_blocks(record, Document, Field.TEXT)]


def _of_blocks(record: User, wanted: type, field: Field) -> list[FieldText]:
    texts = (block.as_text for block in record.blocks if type(block) is wanted)
    return [FieldText(field, text) for text in texts if text]


def _content_of(record: User) -> str:
    return record.content if isinstance(record.content, str) else ""


def _of_attachment(record: Attachment) -> list[FieldText]:
    if isinstance(record.attachment, UnknownAttachment | FileAttachment | DirectoryAttachment | HookSystemMessage):
        return _alone(Field.TEXT, record.text)
    return _alone(Field.PROMPT, record.text) if was_typed_while_busy(record) else []


def _of_system(record: System) -> list[FieldText]:
    """What the client told the person. Lines without a subtype are notices of hooks (1.0.x)."""
    return _alone(Field.TEXT, plain(record.text)) if record.subtype else []


def _of_withdrawn(record: WithdrawnBlock) -> list[FieldText]:
    return _alone(_OF_WITHDRAWN.get(type(record.block), Field.TEXT), record.text)


def _alone(field: Field, text: str | None) -> list[FieldText]:
    return [FieldText(field, text)] if text else []


_READERS: dict[type[Record], Callable[..., list[FieldText]]] = {
    Assistant: _of_reply,
    User: _of_user,
    ToolResultLine: _of_user,
    CustomTitle: lambda record: _alone(Field.TITLE, record.custom_title),
    AiTitle: lambda record: _alone(Field.TITLE, record.ai_title),
    Summary: lambda record: _alone(Field.TITLE, record.summary),
    SessionTag: lambda record: _alone(Field.TITLE, f"#{record.given}" if record.given else None),
    QueueOperation: lambda record: _alone(Field.PROMPT, record.text),
    Attachment: _of_attachment,
    AwaySummary: lambda record: _alone(Field.TEXT, record.text),
    **dict.fromkeys((System, Informational, BridgeStatus, ModelConsentFallback, ScheduledTaskFire), _of_system),
    LocalCommand: lambda record: _alone(Field.RESULT, local_output(record.text)),
    Unknown: lambda record: _alone(Field.TEXT, record.text),
    WithdrawnBlock: _of_withdrawn,
}
