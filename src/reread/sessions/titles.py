"""What a session is called: the person's own title first, the session id last."""

from __future__ import annotations

from reread.records import AiTitle, CustomTitle, LastPrompt, Record, Summary

from .conversation import Conversation
from .kinds import Kind

_LONGEST = 200
_ERROR_OPENINGS = ("Invalid API key", "API Error", "Credit balance is too low", "Execution error")
"""Old clients summarised a failed session with the error text itself."""


def title_of(conversation: Conversation, title_file: str | None) -> str:
    """The first of these that says something."""
    custom = _last(conversation.records, CustomTitle) or title_file
    choices = (
        custom,
        _last(conversation.records, AiTitle),
        _summary(conversation),
        next((prompt.text for prompt in conversation.prompts if prompt.text.strip()), None),
        _last(conversation.records, LastPrompt),
        _first_command(conversation),
    )
    return next((_one_line(choice) for choice in choices if choice and choice.strip()), conversation.id)


_FIELD: dict[type[Record], str] = {
    CustomTitle: "custom_title",
    AiTitle: "ai_title",
    LastPrompt: "last_prompt",
}


def _last(records: tuple[Record, ...], kind: type[Record]) -> str | None:
    for record in reversed(records):
        if isinstance(record, kind):
            value: str | None = getattr(record, _FIELD[kind])
            if value:
                return value
    return None


def _summary(conversation: Conversation) -> str | None:
    """A summary counts only if it names a line of this session: 1.0.x wrote those of others here."""
    summaries = [record for record in conversation.records if isinstance(record, Summary)]
    if not summaries:
        return None
    own = {record.uuid for record in conversation.records if record.uuid is not None}
    for record in reversed(summaries):
        text = record.summary or ""
        if record.leaf_uuid in own and not text.startswith(_ERROR_OPENINGS):
            return text
    return None


def _first_command(conversation: Conversation) -> str | None:
    for turn in conversation.turns:
        if turn.prompt is not None and turn.prompt.kind is Kind.COMMAND:
            return turn.prompt.text
        for step in turn.steps:
            if getattr(step, "what", None) == "command" and step.text.startswith("/"):  # type: ignore[union-attr]
                return step.text  # type: ignore[union-attr]
    return None


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
