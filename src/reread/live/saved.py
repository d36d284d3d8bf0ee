"""A saved session as the events its stream would have given, so that live and saved look alike.

A transcript knows nothing of fragments, permission questions or results of turns: those events only a stream has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reread import sessions
from reread.records import SYNTHETIC_MODEL, Assistant, User
from reread.sessions import Kind, Said, Session, Step, Subagent, Thought, Turn

from .events import Event, Notice, Prompt, SessionStarted, Text, Thinking, ToolCall, ToolResult, Where


def session_events(session: Session) -> Iterator[Event]:
    """Everything on the branch that is active, then what each agent did."""
    indexes: Counter[str | None] = Counter()
    for turn in session.turns:
        yield from _turn(session, turn, Where(session=session.id, agent=None), indexes)
    for agent in session.subagents:
        for turn in agent.turns:
            yield from _turn(session, turn, Where(session=session.id, agent=_name(agent)), indexes)


def started(session: Session) -> SessionStarted:
    models = [each.model for each in session.assistant_messages if each.model not in (None, SYNTHETIC_MODEL)]
    versions = [record.version for record in session.records if record.version is not None]
    return SessionStarted(
        session=session.id,
        model=models[-1] if models else None,
        cwd=session.project,
        version=versions[-1] if versions else None,
    )


def _name(agent: Subagent) -> str:
    """A stream names an agent by the call that started it."""
    return (agent.call.id if agent.call is not None else None) or agent.id


def _turn(session: Session, turn: Turn, where: Where, indexes: Counter[str | None]) -> Iterator[Event]:
    prompt = turn.prompt
    if prompt is not None:
        is_synthetic = prompt.kind not in (Kind.PROMPT, Kind.AGENT_PROMPT)
        yield Prompt(**where, text=prompt.text, uuid=prompt.uuid, images=prompt.images, is_synthetic=is_synthetic)
    for step in turn.steps:
        yield from _step(session, step, where, indexes)


def _step(session: Session, step: Step, where: Where, indexes: Counter[str | None]) -> Iterator[Event]:
    if isinstance(step, sessions.Notice):
        yield Notice(**where, what=step.what, text=step.text, record=step.record)
        return
    message = step.message_id
    index = indexes[message]
    indexes[message] += 1
    uuid = step.uuid
    if isinstance(step, Thought):
        yield Thinking(
            **where,
            message_id=message,
            index=index,
            uuid=uuid,
            text=step.text,
            signature=getattr(step.block, "signature", None),
            is_redacted=step.is_redacted,
            duration_ms=step.duration_ms,
        )
    elif isinstance(step, Said):
        is_synthetic = isinstance(step.record, Assistant) and step.record.is_synthetic
        yield Text(**where, message_id=message, index=index, uuid=uuid, text=step.text, is_synthetic=is_synthetic)
    else:
        yield ToolCall(
            **where, message_id=message, index=index, uuid=uuid, id=step.id, name=step.name, input=step.input
        )
        if step.output is not None:
            yield ToolResult(
                **where,
                id=step.id,
                uuid=step.output.uuid,
                text=session.full_output(step),
                is_error=step.output.is_error,
                result=step.output.record.tool_use_result if isinstance(step.output.record, User) else None,
            )
