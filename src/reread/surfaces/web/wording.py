"""The words of a branch as its page has them, loaded or not, folded or not, each with the place it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from reread.blocks.model import AgentBlock, CallBlock, NoticeBlock, StepBlock, TurnBlocks, WordsBlock
from reread.blocks.of_session import SessionBlocks
from reread.queries.letters import Letters, as_read, readied
from reread.render.html import calls
from reread.render.html.anchors import anchor

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
        shown = SessionBlocks(session).turn(session, turn)
        found += (each._replace(piece=number) for each in _of_turn(shown, set()))
    for agent in unfolding.lone:
        shown_agent = SessionBlocks(session).agent(agent)
        found += (each._replace(piece=len(unfolding.pieces)) for each in _of_agent(shown_agent, set()))
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


def _of_turn(turn: TurnBlocks, named: set[str]) -> Iterator[Worded]:
    place = ""
    if turn.prompt is not None:
        place = anchor(turn.prompt.place.uuid) if turn.prompt.place.uuid else ""
        named.add(place)
        yield Worded(place, 0, readied(turn.prompt.text))
    for step in turn.steps:
        place = _place(step, place, named)
        yield from _of_step(step, place)
        if isinstance(step, CallBlock) and step.agent is not None:
            yield from _of_agent(step.agent, named)


def _of_agent(agent: AgentBlock, named: set[str]) -> Iterator[Worded]:
    for turn in agent.turns:
        yield from _of_turn(turn, named)


def _place(step: StepBlock, before: str, named: set[str]) -> str:
    """As the page names it: of several blocks in one line the first has the line's name, other calls their own."""
    place = anchor(step.place.uuid) if step.place.uuid else before
    if isinstance(step, CallBlock) and step.id and (place in named or not place):
        place = anchor(step.id)
    named.add(place)
    return place


def _of_step(step: StepBlock, place: str) -> Iterator[Worded]:
    if isinstance(step, CallBlock):
        yield Worded(place, 0, readied("\n".join(calls.words_of(step))))
        yield Worded(place, 0, readied(calls.output_of(step)))
    elif isinstance(step, WordsBlock):
        shown = as_read(step.text)
        yield Worded(place, 0, readied(shown), readied(step.text) if shown != step.text else "")
    else:
        yield Worded(place, 0, readied(step.text))
        if isinstance(step, NoticeBlock) and step.detail:
            yield Worded(place, 0, readied(step.detail))
