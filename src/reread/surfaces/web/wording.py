"""The words of a branch as its page has them, loaded or not, folded or not, each with the place it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reread.queries.letters import Letters, as_read, readied
from reread.render.html import calls
from reread.render.html.anchors import anchor
from reread.sessions import Notice, Said, Session, Step, Subagent, ToolCall, Turn

from .unfolding import Unfolding


class Worded(NamedTuple):
    """One text."""

    anchor: str
    piece: int
    text: str
    as_written: str = ""
    """Where the page shows it otherwise than it was written."""

    def count(self, wanted: Letters) -> int:
        return wanted.count(self.text) or (wanted.count(self.as_written) if self.as_written else 0)


def wording(unfolding: Unfolding) -> list[Worded]:
    """In the order of the conversation."""
    found: list[Worded] = []
    session = unfolding.session
    for number, turn in enumerate(unfolding.pieces):
        found += (each._replace(piece=number) for each in _of_turn(session, turn, set(), set()))
    for agent in unfolding.lone:
        found += (each._replace(piece=len(unfolding.pieces)) for each in _of_agent(session, agent, set(), set()))
    return found


def counted(words: list[Worded], wanted: Letters) -> list[tuple[str, int, int]]:
    """Place and piece of what has these letters, and how often."""
    found: dict[tuple[str, int], int] = {}
    for each in words:
        number = each.count(wanted)
        if number:
            place = (each.anchor, each.piece)
            found[place] = found.get(place, 0) + number
    return [(name, piece, number) for (name, piece), number in found.items()]


def _of_turn(session: Session, turn: Turn, named: set[str], agents: set[str]) -> Iterator[Worded]:
    place = ""
    if turn.prompt is not None:
        place = anchor(turn.prompt.uuid) if turn.prompt.uuid else ""
        named.add(place)
        yield Worded(place, 0, readied(turn.prompt.text))
    for step in turn.steps:
        place = _place(step, place, named)
        yield from _of_step(session, step, place)
        agent = session.agents_by_call.get(step.id or "") if isinstance(step, ToolCall) else None
        if agent is not None and agent.id not in agents:
            yield from _of_agent(session, agent, named, agents)


def _of_agent(session: Session, agent: Subagent, named: set[str], agents: set[str]) -> Iterator[Worded]:
    agents.add(agent.id)
    for turn in agent.turns:
        yield from _of_turn(session, turn, named, agents)


def _place(step: Step, before: str, named: set[str]) -> str:
    """As the page names it: of several blocks in one line the first has the line's name, other calls their own."""
    place = anchor(step.uuid) if step.uuid else before
    if isinstance(step, ToolCall) and step.id and (place in named or not place):
        place = anchor(step.id)
    named.add(place)
    return place


def _of_step(session: Session, step: Step, place: str) -> Iterator[Worded]:
    if isinstance(step, ToolCall):
        yield Worded(place, 0, readied("\n".join(calls.words_of(step))))
        yield Worded(place, 0, readied(calls.output_of(session, step)))
    elif isinstance(step, Said):
        shown = as_read(step.text)
        yield Worded(place, 0, readied(shown), readied(step.text) if shown != step.text else "")
    else:
        yield Worded(place, 0, readied(step.text))
        if isinstance(step, Notice) and step.detail:
            yield Worded(place, 0, readied(step.detail))
