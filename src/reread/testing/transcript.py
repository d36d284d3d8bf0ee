"""A session made of entries: its lines, its records, its files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from reread.billing import Prices
from reread.records import AgentMeta, Record, decode_all, decode_side_file
from reread.sessions import Session, SessionBuilder
from reread.sources import project_folder_name

from .blocks import Block
from .lines import Agent, Entry
from .writer import Writer, encoded

Raw = bytes  # `Transcript.bytes` hides the name inside its class


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
