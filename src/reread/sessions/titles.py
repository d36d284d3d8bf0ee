"""The title of a session: the person's own title is tried first, then the client's, then what was said.

"hi" or "go on" names nothing: words of more than a dozen characters come before shorter ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from reread import lazy
from reread.records import AiTitle, Attachment, CustomTitle, LastPrompt, Record, Summary, User, parse_or_none
from reread.records.attachments import GoalStatus

from .agents import Subagent
from .conversation import Conversation
from .speaker import Speaker, command_arguments, command_line, prompt_text, tag
from .values import Notice

NO_TITLE = "(empty)"
_LONGEST = 200
_DOZEN = 12
_EARLY = 3
"""Among how many first prompts one that says enough is looked for."""
_ERROR_OPENINGS = ("Invalid API key", "API Error", "Credit balance is too low", "Execution error")
"""Old clients summarised a failed session with the error text itself."""


_MESSAGE = lazy.pattern(r"<(teammate|agent)-message\b([^>]*)>(.*?)(?:</\1-message>|$)", re.DOTALL)
_SUMMARY = lazy.pattern(r"""\bsummary="([^"]+)\"""")
_SENTENCE = lazy.pattern(r"(.{12,}?[.!?…])(?:\s|$)")
_MARKUP = "#*_`> -"
_in_summary = tag("summary")


def title_of(
    conversation: Conversation, title_file: str | None, agents: Sequence[Subagent] = (), hint: str | None = None
) -> str:
    """The first choice that is not empty. An agent gives the title of a session that has no words of its own."""
    choices = (*_choices(conversation, title_file, agents), hint)
    return next((_one_line(choice) for choice in choices if choice and choice.strip()), NO_TITLE)


class TitleParts(NamedTuple):
    """The parts of a title. Later lines may replace the first two and add prompts; no later line changes the third."""

    given: str | None
    suggested: str | None
    opening: str | None
    prompts: tuple[str, ...]
    """The first prompts, each as one line."""

    def title(self) -> str | None:
        """The first part that is not empty; None if no part says enough."""
        said = filter(_says_enough, self.prompts[:_EARLY])
        return next((_one_line(name) for name in (*self[:3], *said) if name and name.strip()), None)

    def second(self, title: str) -> str | None:
        """The first prompt that the title does not tell: it distinguishes sessions of a title that no person gave."""
        return None if self.given else next((prompt for prompt in self.prompts if prompt != title), None)

    def renamed(self, later: TitleParts) -> TitleParts:
        """The parts after later lines."""
        given, suggested = later.given or self.given, later.suggested or self.suggested
        return TitleParts(given, suggested, self.opening, (*self.prompts, *later.prompts)[: _EARLY + 1])


def title_parts(conversation: Conversation) -> TitleParts:
    """The parts that take precedence over what the model or an agent said."""
    opening = _summary(conversation) or _leading_command(conversation)
    prompts = tuple(_one_line(text) for text in islice(_prompts(conversation), _EARLY + 1))
    return TitleParts(_last(conversation, CustomTitle), _last(conversation, AiTitle), opening, prompts)


def _choices(conversation: Conversation, title_file: str | None, agents: Sequence[Subagent]) -> Iterator[str | None]:
    yield _last(conversation, CustomTitle)
    yield title_file
    yield _last(conversation, AiTitle)
    yield _summary(conversation)
    yield _leading_command(conversation)
    yield from filter(_says_enough, _words(conversation, agents))
    yield from _words(conversation, agents)
    yield from _notifications(conversation)
    yield _first_command(conversation, "/")
    yield from (record.text for record in conversation.beside_of(Summary))
    yield from _goals(conversation)


def _words(conversation: Conversation, agents: Sequence[Subagent]) -> Iterator[str]:
    """What was said in the session, what tells most of it first."""
    yield from islice(_prompts(conversation), _EARLY)
    yield _last(conversation, LastPrompt) or ""
    yield _first_command(conversation, " ")
    yield from _tasks(conversation)
    yield from (_described(agent) for agent in agents)
    yield _first_sentence(conversation)


def _says_enough(text: str) -> bool:
    """In bytes, because four characters of Chinese say as much as a dozen Latin letters."""
    return len(" ".join(text.split()).encode("utf-8", "replace")) > _DOZEN


def _prompts(conversation: Conversation) -> Iterator[str]:
    typed = (prompt.text for prompt in conversation.prompts if prompt.kind is Speaker.PROMPT)
    return (text for text in typed if text.strip())


_FIELD: dict[type[Record], str] = {CustomTitle: "custom_title", AiTitle: "ai_title", LastPrompt: "last_prompt"}


def _last(conversation: Conversation, kind: type[Record]) -> str | None:
    """The last value that is not empty: these lines are repeated at every turn."""
    values = (getattr(record, _FIELD[kind]) for record in reversed(conversation.beside_of(kind)))
    return next((value for value in values if value), None)


def _summary(conversation: Conversation) -> str | None:
    """A summary counts only if it names a line of this session: 1.0.x wrote those of others here."""
    summaries = conversation.beside_of(Summary)
    if not summaries:
        return None
    own = {record.uuid for record in conversation.records if record.uuid is not None}
    texts = (record.text for record in reversed(summaries) if record.leaf_uuid in own)
    return next((text for text in texts if not text.startswith(_ERROR_OPENINGS)), None)


def _first_command(conversation: Conversation, having: str) -> str:
    """The first command with this in it: a space, if it has an argument."""
    return next((text for text in _commands(conversation) if having in text and text.startswith("/")), "")


def _commands(conversation: Conversation) -> Iterator[str]:
    for turn in conversation.turns:
        if turn.prompt is not None and turn.prompt.kind is Speaker.COMMAND:
            yield turn.prompt.text
        yield from (step.text for step in turn.steps if isinstance(step, Notice) and step.what == "command")


def _leading_command(conversation: Conversation) -> str | None:
    """`/orchestrator create an app`, if it comes before every prompt and was answered."""
    for i, kind in conversation.kinds.items():
        record = conversation.line[i]
        if kind is Speaker.PROMPT:
            return None
        if kind is Speaker.COMMAND and command_arguments(record.text) and i in conversation.opening_lines:
            return command_line(record.text)
    return None


def _tasks(conversation: Conversation) -> Iterator[str]:
    """The tasks that another session gave this one, or that an agent got from its parent."""
    for i, kind in conversation.kinds.items():
        record = conversation.line[i]
        if kind is Speaker.TEAMMATE:
            yield _subject(record.text)
        elif kind is Speaker.AGENT_PROMPT and isinstance(record, User):
            yield _first_line(prompt_text(record))


def _notifications(conversation: Conversation) -> Iterator[str]:
    """What tasks in the background ended with. It says what the client did, not what the session is for."""
    for i, kind in conversation.kinds.items():
        if kind is Speaker.TASK_NOTIFICATION:
            yield _in_summary(conversation.line[i].text) or ""


def _subject(text: str) -> str:
    """What a message between agents is about: it has a summary, or is a task with a subject, or is plain text."""
    found = _MESSAGE.search(text)
    if found is None:
        return ""
    summary, body = _SUMMARY.search(found[2]), found[3].strip()
    task = parse_or_none(body.encode("utf-8", "replace")) if body.startswith("{") else None
    if isinstance(task, dict):
        named = (task.get(name) for name in ("subject", "summary", "description", "content", "message"))
        return next((_first_line(each) for each in named if isinstance(each, str) and each.strip()), "")
    return summary[1] if summary else _first_line(body)


def _described(agent: Subagent) -> str:
    """The description given by its caller; without one, the first line of its task."""
    if agent.meta is not None and agent.meta.description:
        return agent.meta.description
    described = agent.call.fields.get("description") if agent.call is not None else None
    return described if isinstance(described, str) and described.strip() else _first_line(agent.task)


def _first_sentence(conversation: Conversation) -> str:
    """The first sentences of the model's first words, until they say enough; used where no prompt does."""
    line = next((_first_line(said.text) for said in conversation.words(1) if said.text.strip()), "")
    sentence = _SENTENCE.match(line)
    return (sentence[1] if sentence else line).strip(_MARKUP)


def _goals(conversation: Conversation) -> Iterator[str]:
    bodies = (record.attachment for record in conversation.beside_of(Attachment))
    return (body.condition or "" for body in bodies if isinstance(body, GoalStatus))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _one_line(text: str) -> str:
    line = " ".join(text.split(maxsplit=_LONGEST))  # 200 words are longer than 200 characters: no need to split more
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
