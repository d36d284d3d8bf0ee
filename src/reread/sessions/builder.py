"""Folds records into a session, one line at a time, from a saved file or a growing one alike."""

from __future__ import annotations

from typing import TypeVar

from reread.billing import Prices
from reread.marks import NO_MARK, Mark
from reread.records import AgentMeta, Record, StreamEvent, Usage
from reread.records.state import IndexEntry

from .agents import Subagent
from .captured import Captured, Final, FinalCounts, Joined, ToolPermission, completed
from .session import FindOutput, Session, SessionSourceFile

AnySession = TypeVar("AnySession", bound=Session)


class SessionBuilder:
    """Takes the lines of a session as they come; `session()` is what they amount to so far.

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
        """The next line of the trunk, or of the file of the agent named."""
        if agent is None:
            self._trunk.append(record)
            if type(record) is StreamEvent:
                self._counts.add(record)
        else:
            self._agents.setdefault(agent, []).append(record)

    def name(self, id: str) -> None:  # noqa: A002
        """Gives the session its id, once it is known."""
        self._id = id

    def add_meta(self, agent: str, meta: AgentMeta) -> None:
        """What the side file of an agent says; it may come without any line of the agent."""
        self._metas[agent] = meta

    def add_workflow(self, agent: str, run: str) -> None:
        """Says that an agent ran as a step of a workflow."""
        self._workflows[agent] = run

    def add_title(self, title: str | None) -> None:
        """The title from `custom-title.json`."""
        self._title_file = title

    def add_hint(self, hint: IndexEntry) -> None:
        """What the client's own index says of the session: it fills what the session's lines do not tell."""
        self._hint = hint

    def add_file(self, path: str, size: int) -> None:
        """Says where the lines come from."""
        self._files.append(SessionSourceFile(path, size))

    def add_problem(self, problem: str) -> None:
        """Says that a file of the session could not be read, and why."""
        self._problems.append(problem)

    def add_final(self, message: str, usage: Usage, stop_reason: str | None) -> None:
        """The final counts of a message whose lines carry those of its beginning: a stream tells them apart."""
        self._counts.finals[message] = Final(usage, stop_reason)

    def add_permission(self, call: str, asked: ToolPermission) -> None:
        """What was asked and answered about a call, where a running client tells it."""
        self._permissions[call] = asked

    def add_capture(self, capture: Captured) -> None:
        """What crossed the wire in one run; the runs of a session come in order."""
        self._captures.append(capture)

    def session(self) -> Session:
        return self.build(Session)

    def build(self, kind: type[AnySession]) -> AnySession:
        """The same as a session of another kind."""
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
        """The last id is the session's own: a file may begin with a line of the session before it."""
        captured = (record for capture in reversed(self._captures) for record in reversed(capture.records))
        records = reversed(self._trunk) if self._trunk else captured
        return next((record.session_id for record in records if record.session_id), "")
