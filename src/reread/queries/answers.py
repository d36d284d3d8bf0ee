"""Questions over many sessions: what was thought, typed and done. A line copied from another session is told once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from reread.analyses.tools import ToolCount, count_tools
from reread.sessions import Conversation, Copies, Prompt, Session, Thought, ToolCall
from reread.sessions.calls import call_identity

from .filters import Filter, is_tool

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class FoundThought(Struct, frozen=True):
    session: str
    agent: str | None
    thought: Thought


class Thinking(Struct, frozen=True):
    """The thoughts worth reading, newest first, and what was left out."""

    thoughts: list[FoundThought]
    skipped_short: int
    empty_with_signature: int
    redacted: int
    total: int
    """Of those worth reading, beyond the limit, too."""


class FoundPrompt(Struct, frozen=True):
    session: str
    project: str | None
    prompt: Prompt


class FoundPrompts(Struct, frozen=True):
    """Prompts, newest first, and how many there are beyond the limit, too."""

    prompts: list[FoundPrompt]
    total: int


class _Part(Struct, frozen=True):
    """A session's trunk or the file of one of its agents, without what it copied from a session before it."""

    session: Session
    agent: str | None
    conversation: Conversation
    copied: frozenset[int]
    """`id()` of the records that an earlier session has too."""

    def has(self, item: Thought | Prompt | ToolCall, wanted: Filter) -> bool:
        return id(item.record) not in self.copied and wanted.keeps_time(item.time)


def thinking(sessions: Iterable[Session], wanted: Filter, min_length: int) -> Thinking:
    """Thoughts of trunks and agents. Sessions come oldest first, so that a copy follows what it copies."""
    found: list[FoundThought] = []
    short = empty = redacted = 0
    for part in _parts(sessions, wanted):
        for thought in part.conversation.thoughts:
            if not part.has(thought, wanted):
                continue
            if thought.is_redacted:
                redacted += 1
            elif not thought.text:
                empty += thought.is_signed
            elif len(thought.text) < min_length:
                short += 1
            else:
                found.append(FoundThought(part.session.id, part.agent, thought))
    found.sort(key=lambda each: each.thought.time or _BEGINNING, reverse=True)
    return Thinking(found[: wanted.limit], short, empty, redacted, len(found))


def prompts(sessions: Iterable[Session], wanted: Filter) -> FoundPrompts:
    """What people typed, newest first."""
    found = [
        FoundPrompt(part.session.id, part.session.project, prompt)
        for part in _parts(sessions, wanted)
        if part.agent is None
        for prompt in part.conversation.prompts
        if part.has(prompt, wanted)
    ]
    found.sort(key=lambda each: each.prompt.time or _BEGINNING, reverse=True)
    return FoundPrompts(found[: wanted.limit], len(found))


def tools(sessions: Iterable[Session], wanted: Filter) -> list[ToolCount]:
    """How often each tool ran and failed, subagents included; a limit is for whoever shows them."""
    found: dict[object, ToolCall] = {}
    for part in _parts(sessions, wanted):
        for call in part.conversation.tool_calls:
            if part.has(call, wanted) and (wanted.tool is None or is_tool(call, wanted.tool)):
                found.setdefault(call_identity(call.id, call.time) or id(call.block), call)
    return count_tools(found.values())


def _parts(sessions: Iterable[Session], wanted: Filter) -> Iterator[_Part]:
    """Trunks and the files of their agents; agents inside the trunk's file come with the trunk.

    Copies are told before the filter: a filter must not decide which of two copies counts.
    """
    copies = Copies()
    for session in sessions:
        files = [agent for agent in session.subagents if not agent.is_recorded_inline]
        parts = [_part(session, None, session, copies), *(_part(session, a.id, a, copies) for a in files)]
        if wanted.keeps_session(session):
            yield from parts


def _part(session: Session, agent: str | None, conversation: Conversation, copies: Copies) -> _Part:
    copied = copies.take(conversation)
    return _Part(session, agent, conversation, frozenset(id(record) for record in conversation.records[:copied]))
