"""Where in a session something happened: on which branch, in which turn, after which prompt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from reread.records import Record
from reread.sessions import MAIN, Branch, Conversation, Session, Subagent, ToolCall, Turn

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class EditPlace(Struct, frozen=True, kw_only=True):
    session: str
    agent: str | None
    branch: str
    segment: int
    """The stretch of the tree between two rewinds; -1 where the session does not tell."""
    turn: int
    prompt: str | None
    prompt_uuid: str | None
    uuid: str | None
    """The line of the call."""
    time: datetime | None
    number: int
    """Its position among the calls of the session, which orders what has no time or the same."""

    @property
    def moment(self) -> datetime:
        return self.time or _BEGINNING


class Done(Struct, frozen=True):
    """A call, the agent that made it, and when its result came."""

    call: ToolCall
    agent: str | None
    time: datetime | None
    number: int = 0


class Whereabouts:
    """Finds the turn of every call of a session; what an agent did happened where the agent was started."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, done: Done) -> EditPlace:
        call = done.call
        branch, turn, segment = self._found(call.record, done.agent)
        prompt = turn.prompt if turn is not None else None
        return EditPlace(
            session=self._session.id,
            agent=done.agent or self._inline.get(id(call.record)),
            branch=branch,
            segment=segment,
            turn=turn.index if turn is not None else 0,
            prompt=prompt.text if prompt is not None else None,
            prompt_uuid=prompt.uuid if prompt is not None else None,
            uuid=call.uuid,
            time=done.time,
            number=done.number,
        )

    def segment_of(self, done: Done) -> int:
        return self._found(done.call.record, done.agent)[2]

    def path_of(self, branch: Branch) -> frozenset[int]:
        """The segments a branch goes through, from the beginning to its end."""
        tree = self._session.tree
        segment = self._segments.get(branch.leaf or "", tree.active)
        return frozenset(tree.path(segment))

    @cached_property
    def _turns(self) -> dict[int, tuple[str, Turn]]:
        """By the `id()` of a record."""
        return {
            id(record): (branch.id, turn)
            for branch in self._session.branches
            for turn in branch.turns
            for record in turn.records
        }

    @cached_property
    def _segments(self) -> dict[str, int]:
        pairs = zip(self._session.line, self._session.tree.segment_of, strict=True)
        return {record.uuid: segment for record, segment in pairs if record.uuid is not None}

    @cached_property
    def _agents(self) -> dict[str, Subagent]:
        return {agent.id: agent for agent in self._session.subagents}

    @cached_property
    def _inline(self) -> dict[int, str]:
        """The agent of every line that stands in the trunk's file and is not the trunk's."""
        inline = (agent for agent in self._session.subagents if agent.is_recorded_inline)
        return {id(record): agent.id for agent in inline for record in agent.records}

    def _found(self, record: Record, agent: str | None) -> tuple[str, Turn | None, int]:
        for above in self._upwards(record, agent):
            if id(above) in self._turns:
                branch, turn = self._turns[id(above)]
                return branch, turn, self._segments.get(above.uuid or "", -1)
        return MAIN, None, -1

    def _upwards(self, record: Record, agent: str | None) -> Iterator[Record]:
        """The record, then the calls that started the agents around it."""
        yield record
        name = agent or self._inline.get(id(record))
        seen: set[str] = set()
        while name is not None and name not in seen and name in self._agents:
            seen.add(name)
            owner = self._agents[name]
            if owner.call is not None:
                yield owner.call.record
            name = owner.parent


def calls_of(session: Session) -> list[Done]:
    """Every call of a session and its agents, in the order they were done; lines without a time keep their place."""
    parts: list[tuple[str | None, Conversation]] = [(None, session)]
    parts += [(agent.id, agent) for agent in session.subagents if not agent.is_recorded_inline]
    found = sorted((done for name, part in parts for done in _timed(part, name)), key=_moment)
    return [replace(done, number=number) for number, done in enumerate(found)]


def _moment(done: Done) -> datetime:
    return done.time or _BEGINNING


def _timed(part: Conversation, agent: str | None) -> Iterator[Done]:
    """A call counts when its result came: calls of one message run side by side."""
    last: datetime | None = None
    for call in part.tool_calls:
        last = (call.output.time if call.output is not None else None) or call.time or last
        yield Done(call, agent, last)
