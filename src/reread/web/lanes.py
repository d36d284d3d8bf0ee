"""The subagents of a session as lanes over the time in which any of them ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from reread.blocks.model import AgentBlock
from reread.blocks.of_session import SessionBlocks
from reread.sessions import Session, Subagent, ToolCall, Turn
from reread.views.html import parts
from reread.views.html.content import anchor
from reread.views.numbers import count, duration, money
from reread.views.text import one_line, shorten

WIDTH = 1_000
"""Of all lanes, in their own units."""
MOST_LANES = 500


class AgentLane(NamedTuple):
    anchor: str
    """Of its first message, to which a click leads."""
    title: str
    starter: str
    """Who started it."""
    turn: str
    """The anchor of the turn that did; empty if an agent did, or nothing names a turn."""
    x: float
    width: float
    took: str
    waited: str
    """How long its call took; empty if it ran in the background."""
    calls: str
    failed: int
    cost: str


def lanes_of(session: Session) -> list[AgentLane]:
    """The agents that were asked for a task, in the order of their beginnings."""
    timed = ((agent, *agent.span) for agent in session.working_agents)
    found = sorted(((a, began, ended) for a, began, ended in timed if began and ended), key=lambda each: each[1])
    clock = _running((began, ended) for _, began, ended in found)
    whole = sum((ended - began).total_seconds() for began, ended in clock) or 1.0
    blocks = SessionBlocks(session)
    names = {agent.id: _title(blocks.agent(agent), agent.task) for agent, _, _ in found}
    turns = {call.id: turn for turn in session.turns for call in turn.steps if isinstance(call, ToolCall) and call.id}
    return [
        _lane(agent, names, turns)._replace(
            x=WIDTH * _seconds_before(clock, began) / whole,
            width=max(3.0, WIDTH * (ended - began).total_seconds() / whole),
        )
        for agent, began, ended in found[:MOST_LANES]
    ]


def _running(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """The times in which something ran: hours between two agents would make all lanes dots."""
    found: list[tuple[datetime, datetime]] = []
    for began, ended in spans:
        if found and began <= found[-1][1]:
            found[-1] = (found[-1][0], max(ended, found[-1][1]))
        else:
            found.append((began, ended))
    return found


def _seconds_before(clock: Iterable[tuple[datetime, datetime]], moment: datetime) -> float:
    return sum((min(ended, moment) - began).total_seconds() for began, ended in clock if began < moment)


def _lane(agent: Subagent, names: Mapping[str, str], turns: Mapping[str, Turn]) -> AgentLane:
    call, (began, ended) = agent.call, agent.span
    turn = turns.get(call.id or "") if call is not None else None
    first = next((record.uuid for record in agent.records if record.uuid), None)
    seconds = (ended - began).total_seconds() if began and ended else 0.0
    return AgentLane(
        anchor=anchor(first) if first else "",
        title=names[agent.id],
        starter=names.get(agent.parent or "", "") or (f"turn {turn.index}" if turn is not None else ""),
        turn=_anchor_of(turn),
        x=0.0,
        width=0.0,
        took=duration(seconds),
        waited=_waited(call, seconds),
        calls=count(len(agent.tool_calls), "call"),
        failed=sum(each.status in parts.BAD for each in agent.tool_calls),
        cost=money(agent.cost, is_partial=agent.usage.unpriced_tokens > 0),
    )


def _anchor_of(turn: Turn | None) -> str:
    prompt = turn.prompt if turn is not None else None
    return anchor(prompt.uuid) if prompt is not None and prompt.uuid else ""


def _waited(call: ToolCall | None, seconds: float) -> str:
    """How long a call took; empty if it returned long before its agent was done."""
    waited = call.seconds if call is not None else None
    return duration(waited) if waited is not None and waited >= seconds / 2 else ""


def _title(agent: AgentBlock, task: str) -> str:
    words = agent.description or one_line(task[:300])
    return shorten(" · ".join(filter(None, (agent.type, words))), 120) or agent.kind
