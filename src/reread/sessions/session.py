"""A session: its own transcript, its agents, its title and cost; and `SessionBuilder`, which makes one from records.

The builder takes one line at a time, so a saved file and a growing one are read the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from msgspec import Struct

from reread.billing import Prices
from reread.billing.report import Tokens
from reread.billing.response import is_unique
from reread.marks import NO_MARK, Mark, below
from reread.records import AgentMeta, Assistant, ProgressLine, Record, Spoken, StreamEvent, Usage, parse_time
from reread.records.state import IndexEntry, Relocated, WorktreeState

from .agents import AgentKind, Subagent, inline_agents, link, progress_agents
from .calls import CallStatus, ToolCall
from .captured import Captured, Final, FinalCounts, Joined, SessionCapture, ToolPermission, completed
from .conversation import Conversation, span_of
from .progress_lines import lines_by_progress
from .requests import collapse
from .titles import title_of
from .values import Notice

FindOutput = Callable[[str], str | None]
"""Returns the text of a spilled tool output, given its base name in the session's own folder."""


class SessionSourceFile(Struct, frozen=True):
    """A file that a session was read from. It holds only path and size; nothing here opens it."""

    path: str
    size: int


class Session(Conversation):
    """One session. Its agents are in `subagents`; their usage is in `total_usage`, not in `usage`."""

    def __init__(
        self,
        records: Sequence[Record],
        *,
        id: str,  # noqa: A002
        agents: Sequence[Subagent] = (),
        files: Sequence[SessionSourceFile] = (),
        problems: Sequence[str] = (),
        title_file: str | None = None,
        find_output: FindOutput | None = None,
        prices: Prices | None = None,
        permissions: Mapping[str, ToolPermission] | None = None,
        transcript: Sequence[Record] | None = None,
        captures: Sequence[SessionCapture] = (),
        mark: Mark = NO_MARK,
        hint: IndexEntry | None = None,
    ) -> None:
        super().__init__(records, id=id, prices=prices, permissions=permissions)
        self._agents = tuple(agents)
        self.transcript = tuple(transcript) if transcript is not None and captures else self.records
        """The records of its own file, without those that only captures have."""
        self.captures = tuple(captures)
        """The captured runs, each with the records it adds: see `reread.sessions.captured`."""
        self._files = tuple(files)
        self.problems = tuple(problems)
        """Agent files and side files that could not be read; everything else is here."""
        self.mark = mark
        """The person's mark, where the session comes from the archive."""
        self.hint = hint
        """The session's entry in the client's own index, used where its lines say nothing."""
        self._title_file = title_file
        self._find_output = find_output

    def __repr__(self) -> str:
        return f"<Session {self.id}, {len(self.records)} records>"

    @property
    def files(self) -> tuple[str, ...]:
        """The files it was read from, side files included."""
        return tuple(file.path for file in self._files)

    @property
    def size(self) -> int:
        """Their total size in bytes."""
        return sum(file.size for file in self._files)

    @cached_property
    def line(self) -> tuple[Record, ...]:
        """The records of this conversation proper: no repeats, no lines of agents inside the same file."""
        inline = {id(record) for record in self._inline}
        return tuple(record for record in self.distinct if id(record) not in inline) if inline else self.distinct

    @cached_property
    def _inline(self) -> list[Record]:
        """Lines of agents in this file. Empty if the file has only agent lines: then it is an agent's own file."""
        inline = [r for r in self.distinct if r.is_sidechain or (r.is_frame and _names_a_call(r))]
        if not inline:
            return []
        spoken = sum(isinstance(record, Spoken) for record in self.distinct)
        return inline if sum(isinstance(record, Spoken) for record in inline) < spoken else []

    @cached_property
    def by_progress(self) -> Mapping[int, Spoken]:
        """Agents that have lines of their own are left out: those lines are counted instead."""
        lines = self.beside_of(ProgressLine)
        if not lines:
            return {}
        claimed = {agent.id for agent in self._agents if agent.records}
        claimed.update(record.agent_id for record in self._inline if record.agent_id is not None)
        return lines_by_progress(lines, claimed)

    @property
    def counted_lines(self) -> tuple[Spoken, ...]:
        return (*self.spoken, *self.by_progress.values()) if self.by_progress else self.spoken

    @cached_property
    def subagents(self) -> tuple[Subagent, ...]:
        """All agents at any depth, in the order they started; `parent` is the agent that started each."""
        agents = [
            *inline_agents(self._inline, self._prices, self.permissions),
            *progress_agents(self.by_progress.values(), self._prices, self.permissions),
            *self._agents,
        ]
        link(agents, self)
        return tuple(sorted(agents, key=_started))

    @cached_property
    def agents_with_files(self) -> Mapping[str, Subagent]:
        """By id, the agents whose lines are not in the session's own file."""
        return {agent.id: agent for agent in self.subagents if not agent.is_recorded_inline}

    @cached_property
    def agents_by_call(self) -> Mapping[str, Subagent]:
        """Agents by the id of the tool call that started them."""
        return {agent.call.id: agent for agent in self.subagents if agent.call is not None and agent.call.id}

    @cached_property
    def title(self) -> str:
        """The user's title, else the client's, else the first prompt and what else `title_of` tries."""
        return self.mark.title or title_of(self, self._title_file, self._named_agents, self._hinted_title)

    @property
    def _hinted_title(self) -> str | None:
        return (self.hint.summary or self.hint.first_prompt) if self.hint is not None else None

    @cached_property
    def project(self) -> str | None:
        """The working directory that the records begin in; the one that it was moved to, or the project of a worktree,
        where a line says so."""
        began = super().project or (self.hint.project_path if self.hint is not None else None)
        began = began or next((agent.project for agent in self._agents if agent.project), None)
        moved = (record.relocated_cwd for record in reversed(self.beside_of(Relocated)))
        return next(filter(None, moved), None) or self._made_worktree_from(began) or began

    def _made_worktree_from(self, folder: str | None) -> str | None:
        """The project of the worktree that a folder is in, where a line says that it is not below that project."""
        made = filter(None, (state.beside_project for state in self.beside_of(WorktreeState)))
        found = (each.original_cwd for each in made if below(folder or "", each.worktree_path or "") is not None)
        return next(found, None)

    @cached_property
    def span(self) -> tuple[datetime | None, datetime | None]:
        """The earliest and the latest time in the file, or else in the client's own index."""
        started, ended = super().span
        if started is not None:
            return started, ended
        if self.hint is not None:
            return span_of(map(parse_time, (self.hint.created, self.hint.modified)))
        return span_of(time for agent in self._agents for time in agent.span)

    @property
    def _named_agents(self) -> tuple[Subagent, ...]:
        """Agents whose task can serve as the title of a session that has no messages; task agents come first."""
        return (*self.working_agents, *self.subagents) if not self.spoken else ()

    @cached_property
    def total_usage(self) -> Tokens:
        """The session with all its agents, every API response counted once."""
        own_files = [agent.requests for agent in self.subagents if not agent.is_recorded_inline]
        return collapse([self.requests, *own_files], self.prices) if own_files else self.usage

    @cached_property
    def every_call(self) -> tuple[ToolCall, ...]:
        """The tool calls of the session and all its agents, each once. Lists, pages and counts use this."""
        parts = (self, *(agent for agent in self.subagents if not agent.is_recorded_inline))
        found: dict[object, ToolCall] = {}
        for part in parts:
            for call in part.tool_calls:
                found.setdefault(call.identity or id(call.block), call)
        return tuple(found.values())

    @cached_property
    def every_unsaid(self) -> tuple[Notice, ...]:
        """Where words of Claude were not stored, in the session and its agents."""
        return tuple(lost for speaker in (self, *self.working_agents) for lost in speaker.unsaid)

    @property
    def failed_calls(self) -> int:
        """How many calls ended with an error; rejected and interrupted ones do not count."""
        return sum(call.status is CallStatus.ERROR for call in self.every_call)

    @property
    def started(self) -> datetime | None:
        """The earliest time in the session."""
        return self.span[0]

    @property
    def ended(self) -> datetime | None:
        """The latest time in the session."""
        return self.span[1]

    @property
    def working_agents(self) -> tuple[Subagent, ...]:
        """The agents that were asked for a task, without warm-ups, suggestions and summarisers."""
        return tuple(a for a in self.subagents if a.kind in (AgentKind.TASK, AgentKind.WORKFLOW))

    def of_transcript(self) -> Session:
        """The session as its own file has it, without what captures add; agents keep their own files."""
        if not self.captures:
            return self
        return Session(self.transcript, id=self.id, agents=self._agents, prices=self._prices)

    def until(self, place: int) -> Session:
        """The session as it was after its first `place` records; its agents stay as they are."""
        return Session(self.records[:place], id=self.id, agents=self._agents, files=self._files, prices=self._prices)

    def rewritten(self, change: Callable[[Any], Any]) -> Session:
        """A copy of the session with `change` applied to everything in it, side files included."""
        agents = [
            Subagent(
                change(agent.records),
                id=change(agent.id),
                meta=change(agent.meta),
                workflow=change(agent.workflow),
                prices=self._prices,
                permissions=change(dict(agent.permissions)),
            )
            for agent in self._agents
        ]
        persisted = {call.persisted: call for part in (self, *self.subagents) for call in part.tool_calls}
        outputs = {change(name): call for name, call in persisted.items() if name is not None}

        def find_output(name: str) -> str | None:
            return change(self.full_output(outputs[name])) if name in outputs else None

        return Session(
            change(self.records),
            id=change(self.id),
            agents=agents,
            files=[SessionSourceFile(change(file.path), file.size) for file in self._files],
            problems=change(self.problems),
            title_file=change(self._title_file),
            find_output=find_output,
            prices=self._prices,
            permissions=change(dict(self.permissions)),
            transcript=change(self.transcript),
            captures=change(self.captures),
            hint=change(self.hint),
            mark=NO_MARK._replace(title=change(self.mark.title)),  # the other marks are private to the person
        )

    def full_output(self, call: ToolCall) -> str:
        """The whole output of a call, from its side file where the line holds only the beginning."""
        if call.output is None:
            return ""
        if call.persisted is not None and self._find_output is not None:
            whole = self._find_output(call.persisted)
            if whole is not None:
                return whole
        return call.output.text


def _names_a_call(record: Record) -> bool:
    """In a stream, an agent's messages name the call that started it."""
    return isinstance(record, Spoken) and record.parent_tool_use_id is not None


def _started(agent: Subagent) -> float:
    started = agent.span[0]
    return started.timestamp() if started is not None else 0.0


class Copies:
    """Takes sessions one after the other and finds how much of each repeats an earlier one."""

    def __init__(self) -> None:
        self._lines: set[str] = set()
        self._messages: set[str] = set()

    def take(self, conversation: Conversation) -> int:
        """How many leading records repeat a session taken before; the records after them are the session's own."""
        copied = self._copied(conversation.records)
        for record in conversation.records:
            if record.uuid is not None:
                self._lines.add(record.uuid)
            if (message_id := _message_id(record)) is not None:
                self._messages.add(message_id)
        return copied

    def _copied(self, records: tuple[Record, ...]) -> int:
        """The position of the last known record before the first response that is not known."""
        copied = 0
        for position, record in enumerate(records, 1):
            message_id = _message_id(record)
            if record.uuid in self._lines or message_id in self._messages:
                copied = position
            elif message_id is not None:
                break
        return copied


def _message_id(record: Record) -> str | None:
    """The id of the API's message; that of a gateway names it only with its request and time (docs/ledger.md)."""
    if not isinstance(record, Assistant) or record.message is None or record.message.id is None:
        return None
    found = record.message.id
    if is_unique(found):
        return found
    return f"{found} {record.request_id} {record.timestamp}" if record.timestamp is not None else None


AnySession = TypeVar("AnySession", bound=Session)


class SessionBuilder:
    """Takes the lines of a session as they arrive; `session()` returns the session so far.

    Lines of one file must come in file order. Files may be interleaved in any way.
    """

    def __init__(
        self,
        id: str | None = None,  # noqa: A002
        *,
        prices: Prices | None = None,
        find_output: FindOutput | None = None,
        mark: Mark = NO_MARK,
    ) -> None:
        self._id = id
        self._prices = prices
        self._find_output = find_output
        self._mark = mark
        self._trunk: list[Record] = []
        self._agents: dict[str, list[Record]] = {}
        self._metas: dict[str, AgentMeta] = {}
        self._workflows: dict[str, str] = {}
        self._title_file: str | None = None
        self._hint: IndexEntry | None = None
        self._files: list[SessionSourceFile] = []
        self._problems: list[str] = []
        self._counts = FinalCounts()
        self._captures: list[Captured] = []
        self._permissions: dict[str, ToolPermission] = {}

    def add(self, record: Record, agent: str | None = None) -> None:
        """Adds the next line of the trunk, or of the named agent's file."""
        if agent is None:
            self._trunk.append(record)
            if type(record) is StreamEvent:
                self._counts.add(record)
        else:
            self._agents.setdefault(agent, []).append(record)

    def name(self, id: str) -> None:  # noqa: A002
        """Sets the session's id, once it is known."""
        self._id = id

    def add_meta(self, agent: str, meta: AgentMeta) -> None:
        """Adds the content of an agent's side file, which may exist without any line of the agent."""
        self._metas[agent] = meta

    def add_workflow(self, agent: str, run: str) -> None:
        """Records that an agent ran as a step of a workflow."""
        self._workflows[agent] = run

    def add_title(self, title: str | None) -> None:
        """Adds the title from `custom-title.json`."""
        self._title_file = title

    def add_hint(self, hint: IndexEntry) -> None:
        """Adds the session's entry in the client's own index, used where its lines say nothing."""
        self._hint = hint

    def add_file(self, path: str, size: int) -> None:
        """Adds a file that lines were read from."""
        self._files.append(SessionSourceFile(path, size))

    def add_problem(self, problem: str) -> None:
        """Records that a file of the session could not be read, and why."""
        self._problems.append(problem)

    def add_final(self, message: str, usage: Usage, stop_reason: str | None) -> None:
        """Adds the final counts of a message whose lines have only the counts of its start: a stream has both."""
        self._counts.finals[message] = Final(usage, stop_reason)

    def add_permission(self, call: str, permission: ToolPermission) -> None:
        """Adds what a running client asked about a call, and the answer."""
        self._permissions[call] = permission

    def add_capture(self, capture: Captured) -> None:
        """Adds the capture of one run; the runs of a session must be added in order."""
        self._captures.append(capture)

    def session(self) -> Session:
        """The session so far."""
        return self.build(Session)

    def build(self, kind: type[AnySession]) -> AnySession:
        """The session so far, made as the given class."""
        id = self._id or self.recorded_id  # noqa: A001
        trunk = completed(self._trunk, self._counts.finals)
        joined = Joined(trunk, self._agents, self._captures, id) if self._captures else None
        finals = {name: final for capture in self._captures for name, final in capture.finals.items()}
        permissions = {call: asked for capture in self._captures for call, asked in capture.permissions.items()}
        permissions |= self._permissions
        agents = [
            Subagent(
                records,
                id=name,
                meta=self._metas.get(name),
                workflow=self._workflows.get(name),
                prices=self._prices,
                permissions=permissions,
            )
            for name, records in self._agents.items()
        ]
        return kind(
            trunk if joined is None else completed(joined.records, finals),
            id=id,
            agents=agents,
            files=self._files,
            problems=self._problems,
            title_file=self._title_file,
            find_output=self._find_output,
            prices=self._prices,
            permissions=permissions,
            transcript=trunk,
            captures=joined.captures if joined is not None else (),
            mark=self._mark,
            hint=self._hint,
        )

    @property
    def recorded_id(self) -> str:
        """The session id in the last record that has one: a file may begin with a line of the session before it."""
        captured = (record for capture in reversed(self._captures) for record in reversed(capture.records))
        records = reversed(self._trunk) if self._trunk else captured
        return next((record.session_id for record in records if record.session_id), "")
