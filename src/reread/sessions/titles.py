"""What a session is called: the person's own title first, the session id last."""

from __future__ import annotations

from collections.abc import Iterator

from reread.records import AiTitle, CustomTitle, LastPrompt, Record, Summary

from .conversation import Conversation
from .speaker import Speaker
from .values import Notice

_LONGEST = 200
_ERROR_OPENINGS = ("Invalid API key", "API Error", "Credit balance is too low", "Execution error")
"""Old clients summarised a failed session with the error text itself."""


def title_of(conversation: Conversation, title_file: str | None) -> str:
    """The first of these that says something."""
    for choice in _choices(conversation, title_file):
        if choice and choice.strip():
            return _one_line(choice)
    return conversation.id


def _choices(conversation: Conversation, title_file: str | None) -> Iterator[str | None]:
    yield _last(conversation, CustomTitle)
    yield title_file
    yield _last(conversation, AiTitle)
    yield _summary(conversation)
    yield next((prompt.text for prompt in conversation.prompts if prompt.text.strip()), None)
    yield _last(conversation, LastPrompt)
    yield _first_command(conversation)


_FIELD: dict[type[Record], str] = {
    CustomTitle: "custom_title",
    AiTitle: "ai_title",
    LastPrompt: "last_prompt",
}


def _last(conversation: Conversation, kind: type[Record]) -> str | None:
    """The last one that says something: these lines are repeated at every turn."""
    values = (getattr(record, _FIELD[kind]) for record in reversed(conversation.beside.get(kind, ())))
    return next((value for value in values if value), None)


def _summary(conversation: Conversation) -> str | None:
    """A summary counts only if it names a line of this session: 1.0.x wrote those of others here."""
    summaries = conversation.beside.get(Summary)
    if not summaries:
        return None
    own = {record.uuid for record in conversation.records if record.uuid is not None}
    for record in reversed(summaries):
        text = record.text
        if getattr(record, "leaf_uuid", None) in own and not text.startswith(_ERROR_OPENINGS):
            return text
    return None


def _first_command(conversation: Conversation) -> str | None:
    for turn in conversation.turns:
        if turn.prompt is not None and turn.prompt.kind is Speaker.COMMAND:
            return turn.prompt.text
        for step in turn.steps:
            if isinstance(step, Notice) and step.what == "command" and step.text.startswith("/"):
                return step.text
    return None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
