"""Finds the turn that holds a line, wherever the line is: in any branch, or in an agent at any depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reread.errors import BadInput, printable
from reread.sessions import Branch, Conversation, Session, Subagent, Turn


def place_of(session: Session, uuid: str) -> tuple[Branch, int]:
    """The branch and turn of a line, by its uuid or a beginning of it. A line of an agent stands where the agent
    was started."""
    found = _turn_with(session, {uuid}, is_prefix=False) or _turn_with(session, {uuid}, is_prefix=True)
    agent = _agent_with(session, uuid)
    while found is None and agent is not None:
        call = agent.call
        if call is not None and call.uuid is not None:
            found = _turn_with(session, {call.uuid}, is_prefix=False)
        parent = agent.parent
        agent = next((each for each in session.subagents if each.id == parent), None) if parent else None
    if found is None:
        raise BadInput(f"no turn of session {printable(session.id)} holds a line {printable(uuid)!r}")
    return found


def _turn_with(session: Session, uuids: set[str], *, is_prefix: bool) -> tuple[Branch, int] | None:
    """The active branch comes first, so a line that several share is shown there."""
    for branch in session.branches:
        for turn in branch.turns:
            if any(_is_one(name, uuids, is_prefix=is_prefix) for name in _names(turn)):
                return branch, turn.index
    return None


def _names(turn: Turn) -> Iterator[str]:
    return (record.uuid for record in turn.records if record.uuid is not None)


def _is_one(name: str, uuids: Iterable[str], *, is_prefix: bool) -> bool:
    return any(name.startswith(uuid) if is_prefix else name == uuid for uuid in uuids)


def _agent_with(session: Session, uuid: str) -> Subagent | None:
    return next((agent for agent in session.subagents if _holds(agent, uuid)), None)


def _holds(conversation: Conversation, uuid: str) -> bool:
    return any(record.uuid is not None and record.uuid.startswith(uuid) for record in conversation.records)
