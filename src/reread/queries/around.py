"""What part of a session is meant: some of its turns, or a line wherever it is, in any branch or agent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from reread.errors import BadInput, printable
from reread.sessions import Branch, Conversation, Prompt, Session, Step, Subagent, ToolCall, Turn

_WHATEVER_FOLLOWS = 10**9
_LONGEST_RANGE = 19


def chosen_turns(text: str | None, branches: Sequence[Branch], option: str) -> range | None:
    """The turns that `3`, `3-7` or `5-` asks for; a range that holds none of them is a mistake."""
    wanted = None if text is None else _range(text, option)
    there = sorted({turn.index for branch in branches for turn in branch.turns})
    if wanted is not None and not any(index in wanted for index in there):
        span = f"{there[0]} to {there[-1]}" if there else "none"
        raise BadInput(f"{option} {text} names no turn of this session (it has {span})")
    return wanted


def _range(text: str, option: str) -> range:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()) or len(text) > _LONGEST_RANGE:
        raise BadInput(f"{option} {text!r} is no range; try 3, 3-7 or 5-")
    start, stop = int(first), int(last) if last else (_WHATEVER_FOLLOWS if dash else int(first))
    if stop < start:
        raise BadInput(f"{option} {text!r} ends before it begins")
    return range(start, stop + 1)


class Piece(NamedTuple):
    """What one line of a session says: a prompt, or the steps of a reply."""

    turn: Turn
    said: tuple[Prompt | Step, ...]

    @property
    def name(self) -> str | None:
        return self.said[0].uuid

    @property
    def names(self) -> list[str]:
        """The line, and those of the results of its calls."""
        outputs = (step.output for step in self.said if isinstance(step, ToolCall))
        found = (self.name, *(output.uuid for output in outputs if output is not None))
        return [name for name in found if name is not None]


class Way(NamedTuple):
    """A way through a session piece by piece, and where on it a line stands."""

    name: str
    """Empty for the branch that is read by default."""
    pieces: list[Piece]
    at: int


def pieces_of(turns: Iterable[Turn]) -> Iterator[Piece]:
    for turn in turns:
        if turn.prompt is not None:
            yield Piece(turn, (turn.prompt,))
        for _, steps in groupby(turn.steps, key=lambda step: id(step.record)):
            yield Piece(turn, tuple(steps))


def way_to(session: Session, uuid: str) -> Way:
    """The way that leads through a line, by its uuid or a beginning of it; for one that is no step, to the step before.

    Raises BadInput where no turn holds it.
    """
    ways = [(name, list(pieces_of(turns))) for name, turns in _ways(session)]
    for is_prefix in (False, True):
        for name, pieces in ways:
            for at, piece in enumerate(pieces):
                if any(_is_one(own, [uuid], is_prefix=is_prefix) for own in piece.names):
                    return Way(name, pieces, at)
    branch, index = place_of(session, uuid)
    pieces = list(pieces_of(branch.turns))
    there = [at for at, piece in enumerate(pieces) if piece.turn.index == index]
    return Way(_name_of(branch), pieces, _before(uuid, pieces, there))


def _before(uuid: str, pieces: Sequence[Piece], there: Sequence[int]) -> int:
    """The last of some pieces of a turn that does not come after a line of it; the first where all do."""
    records = pieces[there[0]].turn.records if there else ()
    places = {id(record): place for place, record in enumerate(records)}
    line = next((place for place, record in enumerate(records) if (record.uuid or "").startswith(uuid)), 0)
    return max(
        (at for at in there if places.get(id(pieces[at].said[0].record), 0) <= line), default=min(there, default=0)
    )


def _ways(session: Session) -> Iterator[tuple[str, Sequence[Turn]]]:
    """The active branch comes first, so a line that several share is read there."""
    for branch in session.branches:
        yield _name_of(branch), branch.turns
    for agent in session.subagents:
        yield f"subagent {agent.type or agent.id}", agent.turns


def _name_of(branch: Branch) -> str:
    return "" if branch.active else f"left behind, branch {branch.id}"


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
