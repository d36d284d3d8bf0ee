"""Questions over the texts of many sessions (thinking, prompts, tools, decisions), and selecting part of a session.

A line that was copied from another session is reported once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatch
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from msgspec import Struct

from reread.errors import BadInput, SafeDamaged, printable
from reread.features.tool_use import ASKING, Decision, ToolCount, count_tools, decisions_in, decisions_of, sum_tools
from reread.index import conversation_rows
from reread.index.conversation_rows import FoundCall, TalkRow, Window, calls_of, tool_sums
from reread.index.meta import RESULT
from reread.index.read import lines_with
from reread.index.sessions import StoredSession, programs, sessions
from reread.records import Assistant, QueueOperation, Record, RedactedThinking, Thinking, User, decode
from reread.sessions import Branch, Conversation, Copies, Prompt, Session, Step, Thought, ToolCall, Turn
from reread.sessions.calls import call_names
from reread.sessions.speaker import Speaker, kind_of
from reread.sessions.turns import prompt_of, queued_prompt

from .answer import Answer
from .filters import Filter, is_tool
from .listing import passing_ids

if TYPE_CHECKING:
    from reread.loading import LoadedSession

    from .inner import InnerArchive


_WHATEVER_FOLLOWS = 10**9
_LONGEST_RANGE = 19


def chosen_turns(text: str | None, branches: Sequence[Branch], option: str) -> range | None:
    """The turns that `3`, `3-7` or `5-` asks for; raises BadInput if the session has none of them."""
    wanted = None if text is None else _range(text, option)
    there = sorted({turn.index for branch in branches for turn in branch.turns})
    if wanted is not None and not any(index in wanted for index in there):
        span = f"{there[0]} to {there[-1]}" if there else "none"
        raise BadInput(f"{option} {text} names no turn of this session (it has {span})")
    return wanted


def _range(text: str, option: str) -> range:
    first, dash, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()) or len(text) > _LONGEST_RANGE:
        raise BadInput(f"{option} {text!r} is not a range; try 3, 3-7 or 5-")
    start, stop = int(first), int(last) if last else (_WHATEVER_FOLLOWS if dash else int(first))
    if stop < start:
        raise BadInput(f"{option} {text!r} ends before it begins")
    return range(start, stop + 1)


class Piece(NamedTuple):
    """The content of one line of a session: a prompt, or the steps of a reply."""

    turn: Turn
    said: tuple[Prompt | Step, ...]

    @property
    def name(self) -> str | None:
        return self.said[0].uuid

    @property
    def names(self) -> list[str]:
        """The uuids of the line and of the lines with the results of its calls."""
        outputs = (step.output for step in self.said if isinstance(step, ToolCall))
        found = (self.name, *(output.uuid for output in outputs if output is not None))
        return [name for name in found if name is not None]


class PathToLine(NamedTuple):
    """A path through a session, piece by piece, and the position of a line on it."""

    name: str
    """Empty for the active branch."""
    pieces: list[Piece]
    at: int


def pieces_of(turns: Iterable[Turn]) -> Iterator[Piece]:
    for turn in turns:
        if turn.prompt is not None:
            yield Piece(turn, (turn.prompt,))
        for _, steps in groupby(turn.steps, key=lambda step: id(step.record)):
            yield Piece(turn, tuple(steps))


def path_to(session: Session, uuid: str) -> PathToLine:
    """The path through a line, given by its uuid or a prefix of it; for a line that is not a step, to the step before.

    Raises BadInput if no turn contains the line.
    """
    ways = [(name, list(pieces_of(turns))) for name, turns in _ways(session)]
    for is_prefix in (False, True):
        for name, pieces in ways:
            for at, piece in enumerate(pieces):
                if any(_is_one(own, [uuid], is_prefix=is_prefix) for own in piece.names):
                    return PathToLine(name, pieces, at)
    branch, index = place_of(session, uuid)
    pieces = list(pieces_of(branch.turns))
    there = [at for at, piece in enumerate(pieces) if piece.turn.index == index]
    return PathToLine(_name_of(branch), pieces, _before(uuid, pieces, there))


def _before(uuid: str, pieces: Sequence[Piece], there: Sequence[int]) -> int:
    """The position of the last piece of a turn (`there`) at or before a line of it; the first if all come after."""
    records = pieces[there[0]].turn.records if there else ()
    places = {id(record): place for place, record in enumerate(records)}
    line = next((place for place, record in enumerate(records) if (record.uuid or "").startswith(uuid)), 0)
    return max(
        (at for at in there if places.get(id(pieces[at].said[0].record), 0) <= line), default=min(there, default=0)
    )


def _ways(session: Session) -> Iterator[tuple[str, Sequence[Turn]]]:
    """The active branch comes first, so a line that several branches share is found there."""
    for branch in session.branches:
        yield _name_of(branch), branch.turns
    for agent in session.subagents:
        yield f"subagent {agent.type or agent.id}", agent.turns


def _name_of(branch: Branch) -> str:
    return "" if branch.active else f"left behind, branch {branch.id}"


def place_of(session: Session, uuid: str) -> tuple[Branch, int]:
    """The branch and turn of a line, given by its uuid or a prefix of it. A line of an agent counts as part of the
    turn that started the agent. Raises BadInput if no turn contains the line."""
    found = _turn_with(session, {uuid}, is_prefix=False) or _turn_with(session, {uuid}, is_prefix=True)
    agents = {agent.id: agent for agent in session.subagents}
    agent = next((agent for agent in session.subagents if _holds(agent, uuid)), None)
    while found is None and agent is not None:
        if agent.call is not None and agent.call.uuid is not None:
            found = _turn_with(session, {agent.call.uuid}, is_prefix=False)
        agent = agents.get(agent.parent or "")
    if found is None:
        raise BadInput(f"no turn of session {printable(session.id)} holds a line {printable(uuid)!r}")
    return found


def _turn_with(session: Session, uuids: set[str], *, is_prefix: bool) -> tuple[Branch, int] | None:
    """The active branch comes first, so a line that several branches share is found there."""
    for branch in session.branches:
        for turn in branch.turns:
            if any(_is_one(name, uuids, is_prefix=is_prefix) for name in _names(turn)):
                return branch, turn.index
    return None


def _names(turn: Turn) -> Iterator[str]:
    return (record.uuid for record in turn.records if record.uuid is not None)


def _is_one(name: str, uuids: Iterable[str], *, is_prefix: bool) -> bool:
    return any(name.startswith(uuid) if is_prefix else name == uuid for uuid in uuids)


def _holds(conversation: Conversation, uuid: str) -> bool:
    return any(record.uuid is not None and record.uuid.startswith(uuid) for record in conversation.records)


_BEGINNING = datetime.min.replace(tzinfo=UTC)


class FoundThought(Struct, frozen=True):
    session: str
    agent: str | None
    thought: Thought

    def __repr__(self) -> str:
        return f"<FoundThought {self.thought.text[:80]!r} in {self.session}>"


class ThinkingAnswer(Answer[FoundThought], frozen=True):
    """The thoughts with enough text, newest first, and how many were left out."""

    _rows_in = "thoughts"
    thoughts: list[FoundThought]
    skipped_short: int
    empty_with_signature: int
    redacted: int
    total: int
    """How many have enough text, including those beyond the limit."""

    def _plain(self, row: FoundThought) -> dict[str, object]:
        return {"session": row.session, "agent": row.agent, "time": row.thought.time, "text": row.thought.text}


class FoundPrompt(Struct, frozen=True):
    session: str
    project: str | None
    prompt: Prompt

    def __repr__(self) -> str:
        return f"<FoundPrompt {self.prompt.text[:80]!r} in {self.session}>"


class FoundPrompts(Answer[FoundPrompt], frozen=True):
    """Prompts, newest first, and how many there are including those beyond the limit."""

    _rows_in = "prompts"
    prompts: list[FoundPrompt]
    total: int

    def _plain(self, row: FoundPrompt) -> dict[str, object]:
        return {"session": row.session, "project": row.project, "time": row.prompt.time, "text": row.prompt.text}


class _Part(Struct, frozen=True):
    """A session's trunk or the file of one of its agents, and which of its records are copies from earlier sessions."""

    session: Session
    agent: str | None
    conversation: Conversation
    copied: frozenset[int]
    """`id()` of the records that an earlier session also has."""

    def has(self, item: Thought | Prompt | ToolCall, filters: Filter) -> bool:
        return id(item.record) not in self.copied and filters.keeps_time(item.time)


def thinking(sessions: Iterable[Session], filters: Filter, min_length: int) -> ThinkingAnswer:
    """Thoughts of trunks and agents. Sessions must come oldest first, so that a copy follows its original."""
    found: list[FoundThought] = []
    short = empty = redacted = 0
    for part in _parts(sessions, filters):
        for thought in part.conversation.thoughts:
            if not part.has(thought, filters):
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
    return ThinkingAnswer(found[: filters.limit], short, empty, redacted, len(found))


def prompts(sessions: Iterable[Session], filters: Filter) -> FoundPrompts:
    """What people typed, newest first."""
    found = [
        FoundPrompt(part.session.id, part.session.project, prompt)
        for part in _parts(sessions, filters)
        if part.agent is None
        for prompt in part.conversation.prompts
        if part.has(prompt, filters)
    ]
    found.sort(key=lambda each: each.prompt.time or _BEGINNING, reverse=True)
    return FoundPrompts(found[: filters.limit], len(found))


def tools(sessions: Iterable[Session], filters: Filter) -> list[ToolCount]:
    """How often each tool ran and failed, subagents included. The limit is left to the caller."""
    found: dict[object, ToolCall] = {}
    for part in _parts(sessions, filters):
        for call in part.conversation.tool_calls:
            if part.has(call, filters) and (filters.tool is None or is_tool(call, filters.tool)):
                found.setdefault(call.identity or id(call.block), call)
    return count_tools(found.values())


def _parts(sessions: Iterable[Session], filters: Filter) -> Iterator[_Part]:
    """Trunks and the files of their agents; agents inside the trunk's file come with the trunk.

    Copies are detected before filtering: a filter must not decide which of two copies counts.
    """
    copies = Copies()
    for session in sessions:
        files = [agent for agent in session.subagents if not agent.is_recorded_inline]
        parts = [_part(session, None, session, copies), *(_part(session, a.id, a, copies) for a in files)]
        if filters.keeps_session(session):
            yield from parts


def _part(session: Session, agent: str | None, conversation: Conversation, copies: Copies) -> _Part:
    copied = copies.take(conversation)
    return _Part(session, agent, conversation, conversation.identities(conversation.records[:copied]))


def decisions(sessions: Iterable[Session], filters: Filter, topic: str | None = None) -> list[Decision]:
    """Questions and answers, newest first. Sessions must come oldest first, so that a copy follows its original."""
    found: list[Decision] = []
    for part in _parts(sessions, filters):
        copied = {record.uuid for record in part.conversation.records if id(record) in part.copied}
        found += [
            each
            for each in decisions_of(part.conversation, part.session.id, part.agent)
            if each.uuid not in copied - {None} and filters.keeps_time(each.time) and _is_about(each, topic)
        ]
    found.sort(key=lambda each: each.time or _BEGINNING, reverse=True)
    return found[: filters.limit]


def _is_about(decision: Decision, topic: str | None) -> bool:
    """Whether all words of a topic occur anywhere in the question, its options and the answer."""
    if topic is None:
        return True
    options = (f"{option.label} {option.description}" for option in decision.options)
    text = " ".join((decision.question, decision.header, decision.answer or "", decision.note, *options)).lower()
    return all(word in text for word in topic.lower().split())


def rows_of(connection: sqlite3.Connection, filters: Filter) -> Window:
    """The rows that pass a filter: those of the sessions that pass, within its times."""
    since, until = (None if time is None else int(time.timestamp() * 1000) for time in (filters.since, filters.until))
    of_sessions = filters._replace(limit=None, programs=False)
    is_narrow = of_sessions._replace(since=None, until=None) != Filter()
    return Window(passing_ids(connection, of_sessions) if is_narrow else None, since, until)


def typed_rows(connection: sqlite3.Connection, filters: Filter) -> Window:
    """The same without sessions that a program drove, unless asked for."""
    return rows_of(connection, filters)._replace(without=() if filters.programs else programs(connection))


def tool_counts(connection: sqlite3.Connection, filters: Filter) -> list[ToolCount]:
    """Every call once, agents included; most used first."""
    tool = (filters.tool or "*").lower()
    found = tool_sums(connection, rows_of(connection, filters))
    return sum_tools(each for each in found if each.name == filters.tool or fnmatch(each.name.lower(), tool))


Told = TypeVar("Told", Prompt, Thought)


class TalkReader:
    """What people typed, what models thought and what was decided over many sessions, read where the rows say."""

    def __init__(self, archive: InnerArchive) -> None:
        self._connection = archive.connection
        self._kept = archive.line_reader()
        self._load = archive.session
        """Reads a whole session, for what one line does not show."""
        self.hidden = 0
        """Rows whose text cannot be read because the safe is damaged."""

    def prompts(self, filters: Filter) -> FoundPrompts:
        """What people typed, newest first; a prompt that a fork repeats is listed once."""
        rows, total = conversation_rows.prompt_rows(
            self._connection, typed_rows(self._connection, filters), filters.limit
        )
        found = [
            FoundPrompt(stored.row.uuid, stored.row.project, prompt)
            for stored, row in self._with_sessions(rows)
            if (prompt := self._read(stored, row, _prompts_in, lambda session: session.prompts)) is not None
        ]
        return FoundPrompts(found, total - self.hidden)

    def thinking(self, filters: Filter, min_length: int) -> ThinkingAnswer:
        window = rows_of(self._connection, filters)
        rows, total = conversation_rows.thought_rows(self._connection, window, min_length, filters.limit)
        found = [
            FoundThought(stored.row.uuid, row.agent, thought)
            for stored, row in self._with_sessions(rows)
            if (thought := self._read(stored, row, _thoughts_in, lambda session: session.thoughts)) is not None
        ]
        counts = conversation_rows.thought_counts(self._connection, window, min_length)
        return ThinkingAnswer(found, *counts, total - self.hidden)

    def decisions(self, filters: Filter, topic: str | None) -> list[Decision]:
        asked = calls_of(self._connection, rows_of(self._connection, filters), ASKING)
        found: list[Decision] = []
        for (stored, row), each in zip(self._with_sessions([each.place for each in asked]), asked, strict=True):
            if filters.limit is not None and len(found) >= filters.limit:
                break
            call = self._call(stored, each)
            asked_here = decisions_in(call, stored.row.uuid, stored.row.project, row.agent) if call is not None else ()
            found += [decision for decision in asked_here if _is_about(decision, topic)]
        return found[: filters.limit]

    def _call(self, stored: StoredSession, wanted: FoundCall) -> ToolCall | None:
        """A call with its result; read from the whole session if their two lines are not enough."""
        found = self._call_in_lines(wanted) if wanted.place.kind != "capture" else None
        if found is None:
            session = self._load(stored)
            parts: list[Conversation] = [session, *session.subagents]
            named = (each for part in parts for each in call_names(part.tool_calls))
            found = next((call for name, call in named if name == wanted.id), None)
        self.hidden += found is None
        return found

    def _call_in_lines(self, found: FoundCall) -> ToolCall | None:
        row = found.place
        results = lines_with(self._connection, row.file, RESULT) if found.has_result else []
        try:
            asked = decode(self._kept.line(row.file, row.generation, row.offset, row.length))
            for line in results:
                if line.offset > row.offset:
                    content = self._kept.line(row.file, line.generation, line.offset, line.length)
                    call = _called(found.id, asked, decode(content)) if found.id.encode() in content else None
                    if call is not None and call.output is not None:
                        return call
        except SafeDamaged:
            return None
        return None if found.has_result else _called(found.id, asked)

    def _with_sessions(self, rows: list[TalkRow]) -> Iterator[tuple[StoredSession, TalkRow]]:
        known = {each.id: each for each in sessions(self._connection, ids=sorted({row.session for row in rows}))}
        return ((known[row.session], row) for row in rows)

    def _read(
        self,
        stored: StoredSession,
        row: TalkRow,
        responses_in: Callable[[Record], list[Told]],
        told_by: Callable[[Session], tuple[Told, ...]],
    ) -> Told | None:
        try:
            content = self._kept.line(row.file, row.generation, row.offset, row.length)
        except SafeDamaged:
            self.hidden += 1
            return None
        if row.kind == "capture":
            # What was retracted is spread over several lines, and only the whole run shows why.
            same = [each for each in told_by(self._load(stored)) if each.record.raw == content]
        else:
            same = responses_in(decode(content))
        if row.part >= len(same):
            self.hidden += 1
            return None
        return same[row.part]


def _called(name: str, *records: Record) -> ToolCall | None:
    return next((call for call in Conversation(records, id="").tool_calls if call.id == name), None)


def _prompts_in(record: Record) -> list[Prompt]:
    """The prompt in a line that is known to hold one."""
    if isinstance(record, User):
        return [queued_prompt(record) or prompt_of(record, kind_of(record))]
    if isinstance(record, QueueOperation):
        return [Prompt(record=record, text=record.text, kind=Speaker.PROMPT, is_queued=True)]
    queued = queued_prompt(record)
    return [] if queued is None else [queued]


def _thoughts_in(record: Record) -> list[Thought]:
    blocks = record.blocks if isinstance(record, Assistant) else ()
    return [Thought(record=record, block=block) for block in blocks if isinstance(block, Thinking | RedactedThinking)]


def read_all(archive: InnerArchive, filters: Filter) -> Iterator[LoadedSession]:
    """Sessions read from the safe one at a time, the oldest first."""
    for number in reversed(passing_ids(archive.connection, filters)):
        for stored in sessions(archive.connection, ids=[number]):
            yield archive.session(stored)
