"""Questions over many sessions: what was thought, typed and done. A line copied by a fork is told once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from msgspec import Struct

from reread.analyses.tools import ToolCount, count_tools
from reread.sessions import Conversation, Prompt, Session, Thought, ToolCall

from .filters import Filter, is_tool

_BEGINNING = datetime.min.replace(tzinfo=UTC)
T = TypeVar("T", Thought, Prompt, ToolCall)


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


class FoundPrompt(Struct, frozen=True):
    session: str
    project: str | None
    prompt: Prompt


def thinking(sessions: Iterable[Session], wanted: Filter, min_length: int) -> Thinking:
    found: list[FoundThought] = []
    short = empty = redacted = 0
    for session, agent, thought in _distinct(_thoughts(sessions, wanted)):
        if thought.is_redacted:
            redacted += 1
        elif not thought.text:
            empty += thought.is_signed
        elif len(thought.text) < min_length:
            short += 1
        else:
            found.append(FoundThought(session, agent, thought))
    found.sort(key=lambda each: each.thought.time or _BEGINNING, reverse=True)
    return Thinking(found[: wanted.limit], short, empty, redacted)


def prompts(sessions: Iterable[Session], wanted: Filter) -> list[FoundPrompt]:
    """What people typed, newest first."""
    found = [
        FoundPrompt(session.id, session.project, prompt)
        for session in sessions
        if wanted.keeps_session(session)
        for prompt in session.prompts
        if wanted.keeps_time(prompt.time)
    ]
    unique = {each.prompt.uuid or str(id(each)): each for each in reversed(found)}
    newest_first = sorted(unique.values(), key=lambda each: each.prompt.time or _BEGINNING, reverse=True)
    return newest_first[: wanted.limit]


def tools(sessions: Iterable[Session], wanted: Filter) -> list[ToolCount]:
    """How often each tool ran and failed, subagents included."""
    calls = (call for _, _, call in _distinct(_calls(sessions, wanted)))
    return count_tools(calls)[: wanted.limit]


def _thoughts(sessions: Iterable[Session], wanted: Filter) -> Iterator[tuple[str, str | None, Thought]]:
    for session, agent, conversation in _conversations(sessions, wanted):
        for thought in conversation.thoughts:
            if wanted.keeps_time(thought.time):
                yield session, agent, thought


def _calls(sessions: Iterable[Session], wanted: Filter) -> Iterator[tuple[str, str | None, ToolCall]]:
    for session, agent, conversation in _conversations(sessions, wanted):
        for call in conversation.tool_calls:
            if wanted.keeps_time(call.time) and (wanted.tool is None or is_tool(call, wanted.tool)):
                yield session, agent, call


def _conversations(sessions: Iterable[Session], wanted: Filter) -> Iterator[tuple[str, str | None, Conversation]]:
    """Trunks and the files of their agents; agents inside the trunk's file come with the trunk."""
    for session in sessions:
        if wanted.keeps_session(session):
            yield session.id, None, session
            for agent in session.subagents:
                if not agent.is_recorded_inline:
                    yield session.id, agent.id, agent


def _distinct(found: Iterable[tuple[str, str | None, T]]) -> Iterator[tuple[str, str | None, T]]:
    """A fork copies every line with its uuid, a side question every message with its id."""
    seen: set[tuple[str | None, ...]] = set()
    for session, agent, item in found:
        keys = _keys(item)
        if not seen.isdisjoint(keys):
            continue
        seen.update(keys)
        yield session, agent, item


def _keys(item: Thought | Prompt | ToolCall) -> list[tuple[str | None, ...]]:
    if isinstance(item, ToolCall):
        return [("call", item.id)] if item.id is not None else []
    block = item.text if isinstance(item, Thought) else None
    by_line = [("line", item.uuid, block)] if item.uuid is not None else []
    by_message = [("message", item.message_id, block)] if item.message_id is not None and block else []
    return [*by_line, *by_message]
