"""Entries to the files of a session: ids, parents, times and places.

Each line hangs from the one above it, except a tool result, which hangs from its call, as in clients since 2.1.50.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import UNSET, Struct

from reread.pricing import Prices
from reread.records import AgentMeta, Record, decode_side_file
from reread.sessions import Session, SessionBuilder
from reread.sources import project_folder_name

from .blocks import Block, Json
from .lines import Agent, Entry, a_reply

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class Transcript(Struct, frozen=True, kw_only=True):
    """A session as a client would have written it."""

    entries: tuple[Entry | Block | Agent, ...]
    id: str
    cwd: str
    version: str
    outputs: Mapping[str, str]
    """Spilled tool outputs by file name."""
    last_newline: bool = True

    @property
    def lines(self) -> list[bytes]:
        """The lines of the trunk."""
        return self._written().trunk

    @property
    def bytes(self) -> bytes:
        return self._joined(self.lines)

    @property
    def agent_lines(self) -> dict[str, list[bytes]]:
        """The lines of every agent that has a file, by its id."""
        return self._written().agents

    def records(self) -> list[Record]:
        """The trunk's lines, decoded and placed."""
        return _decoded(self.lines)

    def build(self, prices: Prices | None = None) -> Session:
        """The session these lines amount to, read without touching a disk."""
        builder = SessionBuilder(self.id, prices=prices, find_output=self.outputs.get)
        for record in self.records():
            builder.add(record)
        for name, lines in self.agent_lines.items():
            for record in _decoded(lines):
                builder.add(record, name)
        for agent in self._agents():
            meta = decode_side_file(_encode(agent.meta), AgentMeta) if agent.meta is not None else None
            if meta is not None:
                builder.add_meta(agent.id, meta)
            if agent.workflow is not None:
                builder.add_workflow(agent.id, agent.workflow)
        return builder.session()

    def write(self, folder: Path) -> Path:
        """Writes every file below `folder`, which stands for `projects`, and gives the trunk's path."""
        project = folder / project_folder_name(self.cwd)
        own = project / self.id
        lines = self.agent_lines
        for agent in self._agents():
            place = _place(agent, project, own)
            if agent.id in lines:
                _put(place / f"agent-{agent.id}.jsonl", self._joined(lines[agent.id]))
            if agent.meta is not None:
                _put(place / f"agent-{agent.id}.meta.json", _encode(agent.meta))
        for name, text in self.outputs.items():
            _put(own / "tool-results" / name, text.encode())
        return _put(project / f"{self.id}.jsonl", self.bytes)

    def _agents(self) -> list[Agent]:
        return [entry for entry in self.entries if isinstance(entry, Agent)]

    def _joined(self, lines: list[bytes]) -> bytes:
        return b"\n".join(lines) + (b"\n" if lines and self.last_newline else b"")

    def _written(self) -> _Writer:
        writer = _Writer(self)
        for entry in self.entries:
            if isinstance(entry, Agent):
                writer.add_agent(entry)
            else:
                writer.add(entry)
        return writer


def a_session(
    *entries: Entry | Block | Agent,
    id: str = "5e551011-0000-4000-8000-000000000000",  # noqa: A002
    cwd: str = "/home/ann/app",
    version: str = "2.1.197",
    outputs: Mapping[str, str] | None = None,
    last_newline: bool = True,
) -> Transcript:
    """A session of these entries, in this order."""
    return Transcript(
        entries=entries, id=id, cwd=cwd, version=version, outputs=outputs or {}, last_newline=last_newline
    )


def build(*entries: Entry | Block | Agent) -> Session:
    """Short for `a_session(...).build()`."""
    return a_session(*entries).build()


class _Writer:
    """Gives entries what they left open, in the order they come."""

    def __init__(self, transcript: Transcript) -> None:
        self.trunk: list[bytes] = []
        self.agents: dict[str, list[bytes]] = {}
        self._transcript = transcript
        self._file = self.trunk
        self._sidechain: Json = {"isSidechain": False}
        self._previous: str | None = None
        self._named: dict[str, str] = {}
        self._line_of_call: dict[str, str | None] = {}
        self._open_calls: list[str] = []
        self._lines = self._messages = self._calls = 0

    def add(self, entry: Entry | Block) -> None:
        entry = a_reply(entry) if isinstance(entry, Block) else entry
        message_id = self._message_id(entry)
        uuids = self._uuids(entry)
        for line, uuid in zip(entry.lines, uuids, strict=True):
            body = self._body(line, uuid, message_id)
            body |= {field: self._find(name) for field, name in entry.names if field in line or field == "leafUuid"}
            if body.get("logicalParentUuid") is UNSET:
                body["logicalParentUuid"] = self._previous
            is_first = uuid == uuids[0]
            self._file.append(_encode(self._envelope(uuid, self._parent(entry, body) if is_first else None) | body))
            self._previous = uuid or self._previous
        for name in (entry.text, entry.uuid):
            if name is not None and uuids[-1] is not None:
                self._named[name] = uuids[-1]

    def add_agent(self, agent: Agent) -> None:
        """Agents have a root of their own, and the trunk goes on as if they were not there."""
        before = self._file, self._sidechain, self._previous
        self._sidechain = {"isSidechain": True}
        if agent.where != "inside":
            self._sidechain["agentId"] = agent.id
            self._file = self.agents.setdefault(agent.id, []) if agent.entries else []
        self._previous = None
        for entry in agent.entries:
            self.add(entry)
        self._file, self._sidechain, self._previous = before

    def _envelope(self, uuid: str | None, parent: str | None) -> Json:
        self._lines += 1
        session = {"sessionId": self._transcript.id}
        if uuid is None:
            return session
        time = (_START + timedelta(seconds=self._lines)).isoformat(timespec="milliseconds")
        return {
            "uuid": uuid,
            "parentUuid": parent,
            **session,
            **self._sidechain,
            "timestamp": time.replace("+00:00", "Z"),
            "cwd": self._transcript.cwd,
            "version": self._transcript.version,
            "userType": "external",
            "gitBranch": "main",
        }
