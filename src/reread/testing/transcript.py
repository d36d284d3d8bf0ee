"""A session made of entries: missing ids, parents and times filled in; its lines, records and files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct

from reread.billing import Prices
from reread.records import AgentMeta, Record, decode_all, decode_side_file
from reread.sessions import Session, SessionBuilder
from reread.sources import project_folder_name

from .lines import Agent, ContentBlock, Entry, Json, a_reply

_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


class Writer:
    """Takes entries in order; `trunk` and `agents` hold the lines so far."""

    def __init__(self, session: str, cwd: str, version: str) -> None:
        self.trunk: list[bytes] = []
        self.agents: dict[str, list[bytes]] = {}
        self._session = session
        self._mark = sha256(session.encode()).hexdigest()[:12]
        """Keeps ids of different sessions apart: readers take equal ids for copies of one line or response."""
        self._place = {"cwd": cwd, "version": version, "userType": "external", "gitBranch": "main"}
        self._file = self.trunk
        self._side: Json = {"isSidechain": False}
        self._above: str | None = None
        self._named: dict[str, str] = {}
        self._line_of_call: dict[str, str | None] = {}
        self._open_calls: list[str] = []
        self._lines = self._messages = 0

    def add(self, entry: Entry | ContentBlock | Agent) -> None:
        if isinstance(entry, Agent):
            self._add_agent(entry)
        else:
            self._add_entry(a_reply(entry) if isinstance(entry, ContentBlock) else entry)

    def _add_agent(self, agent: Agent) -> None:
        """An agent has a root of its own, and the trunk goes on as if it were not there."""
        before = self._file, self._side, self._above
        if agent.where == "inside":
            self._side = {"isSidechain": True}
        else:
            self._side = {"isSidechain": True, "agentId": agent.id}
            self._file = self.agents.setdefault(agent.id, []) if agent.entries else []
        self._above = None
        for entry in agent.entries:
            self.add(entry)
        self._file, self._side, self._above = before

    def _add_entry(self, entry: Entry) -> None:
        self._messages += "assistant" in entry.lines[0].values()
        parent: str | None = None
        for number, line in enumerate(entry.lines, 1):
            self._lines += 1
            uuid = self._uuid(entry, number)
            body = self._filled(line, uuid)
            if number == 1:
                parent = self._parent(entry, body)
                body |= {field: self._find(name) for field, name in entry.names}
            self._file.append(encoded(self._envelope(uuid, parent) | body))
            if uuid is not None:
                parent = self._above = uuid
        for name in (entry.text, entry.uuid):
            if name is not None and self._above is not None:
                self._named[name] = self._above

    def _uuid(self, entry: Entry, number: int) -> str | None:
        if not entry.is_node:
            return None
        if entry.uuid is None:
            return f"{self._lines:08d}-0000-4000-8000-{self._mark}"
        return entry.uuid if len(entry.lines) == 1 else f"{entry.uuid}-{number}"

    def _envelope(self, uuid: str | None, parent: str | None) -> Json:
        if uuid is None:
            return {"sessionId": self._session}
        time = (_START + timedelta(seconds=self._lines)).isoformat(timespec="milliseconds")
        return {
            "uuid": uuid,
            "parentUuid": parent,
            "sessionId": self._session,
            "timestamp": time.replace("+00:00", "Z"),
            **self._side,
            **self._place,
        }

    def _parent(self, entry: Entry, body: Json) -> str | None:
        if entry.to is not UNSET:
            return self._find(entry.to)
        results = [block["tool_use_id"] for block in _blocks(body) if block.get("type") == "tool_result"]
        return self._line_of_call.get(results[0], self._above) if results else self._above

    def _find(self, name: str | None) -> str | None:
        """The last line of the entry called so; a name nobody has is taken as a uuid."""
        return None if name is None else self._named.get(name, name)

    def _filled(self, line: Json, uuid: str | None) -> Json:
        body = dict(line)
        if body.get("requestId") is UNSET:
            body["requestId"] = f"req_{self._messages}_{self._mark}"
        if body.get("logicalParentUuid") is UNSET:
            body["logicalParentUuid"] = self._above
        if isinstance(body.get("message"), dict):
            message = body["message"] = dict(body["message"])
            if message.get("id") is UNSET:
                message["id"] = f"msg_{self._messages}_{self._mark}"
            if isinstance(message.get("content"), list):
                message["content"] = [self._filled_block(block, uuid) for block in message["content"]]
        return body

    def _filled_block(self, block: Any, uuid: str | None) -> Any:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "tool_use":
            block = {**block, "id": self._call_id(block.get("id"))}
            self._line_of_call[block["id"]] = uuid
            self._open_calls.append(block["id"])
        elif kind == "tool_result":
            block = {**block, "tool_use_id": self._answered(block.get("tool_use_id"))}
        return block

    def _call_id(self, given: Any) -> Any:
        return f"toolu_{len(self._line_of_call) + 1}" if given is UNSET else given

    def _answered(self, given: Any) -> Any:
        if given is UNSET:
            if not self._open_calls:
                raise ValueError("a_tool_result() without of= stands after no open call")
            return self._open_calls.pop(0)
        if given in self._open_calls:
            self._open_calls.remove(given)
        return given


def _blocks(body: Json) -> list[Json]:
    message = body.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


Raw = bytes  # `Transcript.bytes` hides the name inside its class


class Transcript(Struct, frozen=True, kw_only=True):
    """A session as a client would have written it."""

    entries: tuple[Entry | ContentBlock | Agent, ...]
    id: str
    cwd: str
    version: str
    outputs: Mapping[str, str]
    """Spilled tool outputs by file name."""
    last_newline: bool = True

    @property
    def lines(self) -> list[Raw]:
        """The lines of the trunk."""
        return self._written().trunk

    @property
    def bytes(self) -> Raw:
        return self._joined(self.lines)

    @property
    def agent_lines(self) -> dict[str, list[Raw]]:
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
            meta = decode_side_file(encoded(agent.meta), AgentMeta) if agent.meta is not None else None
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
                _put(place / f"agent-{agent.id}.meta.json", encoded(agent.meta))
        for name, text in self.outputs.items():
            _put(own / "tool-results" / name, text.encode())
        return _put(project / f"{self.id}.jsonl", self.bytes)

    def _agents(self) -> list[Agent]:
        return [entry for entry in self.entries if isinstance(entry, Agent)]

    def _joined(self, lines: list[Raw]) -> Raw:
        return b"\n".join(lines) + (b"\n" if lines and self.last_newline else b"")

    def _written(self) -> Writer:
        writer = Writer(self.id, self.cwd, self.version)
        for entry in self.entries:
            writer.add(entry)
        return writer


def a_session(
    *entries: Entry | ContentBlock | Agent,
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


def build(*entries: Entry | ContentBlock | Agent) -> Session:
    """Short for `a_session(...).build()`."""
    return a_session(*entries).build()


def _decoded(lines: list[bytes]) -> list[Record]:
    records: list[Record] = []
    offset = 0
    for number, line in enumerate(lines, 1):
        records += decode_all(line, number, offset)
        offset += len(line) + 1
    return records


def _place(agent: Agent, project: Path, own: Path) -> Path:
    if agent.where == "beside":
        return project
    below = own / "subagents"
    return below if agent.workflow is None else below / "workflows" / agent.workflow


def _put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
