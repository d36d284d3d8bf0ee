"""Builders of transcripts, for tests of tools that read them.

    from reread.testing import a_prompt, a_reply, a_session, a_tool_call, a_tool_result

    transcript = a_session(
        a_prompt("what is here?"),
        a_reply("let me look", a_tool_call("Bash", {"command": "ls"})),
        a_tool_result("a.txt"),
        a_reply("one file"),
    )
    transcript.build()          # a reread Session
    transcript.write(folder)    # the files that a client would have written

Ids and times come from counters, so the same call gives the same bytes. The product itself never imports this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType

from reread.billing import Prices
from reread.records import AgentMeta, Record, decode_all, decode_side_file
from reread.sessions import Session, SessionBuilder
from reread.sources import project_folder_name

__all__ = [
    "Agent",
    "ContentBlock",
    "Entry",
    "Transcript",
    "a_command",
    "a_compaction",
    "a_line",
    "a_prompt",
    "a_queued_prompt",
    "a_reply",
    "a_session",
    "a_subagent",
    "a_summary",
    "a_system_line",
    "a_task_notification",
    "a_thought",
    "a_title",
    "a_tool_call",
    "a_tool_result",
    "a_usage",
    "an_attachment",
    "an_ending",
    "an_image",
    "an_interrupt",
    "build",
]

Json = dict[str, Any]


class ContentBlock(Struct, frozen=True):
    """One content block; an UNSET id gets a number when the session is written."""

    fields: Json


def as_block(content: str | ContentBlock | Json) -> ContentBlock:
    """A string becomes a text block; a dict is used as it is."""
    if isinstance(content, ContentBlock):
        return content
    return ContentBlock({"type": "text", "text": content} if isinstance(content, str) else content)


def a_thought(text: str = "", *, signature: str = "c2ln", **fields: Any) -> ContentBlock:
    """A thinking block; without text, as clients store it since 2.1.70."""
    return ContentBlock({"type": "thinking", "thinking": text, "signature": signature, **fields})


def a_tool_call(
    name: str = "Bash",
    input: Json | None = None,  # noqa: A002
    *,
    id: str | UnsetType = UNSET,  # noqa: A002
    **fields: Any,
) -> ContentBlock:
    """A tool_use block. Given to a session directly, it becomes a reply with nothing else."""
    return ContentBlock({"type": "tool_use", "id": id, "name": name, "input": input or {}, **fields})


def an_image(data: str = "iVBORw0KGgo=", media_type: str = "image/png") -> ContentBlock:
    return ContentBlock({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}})


def a_usage(
    input: int = 10,  # noqa: A002
    output: int = 20,
    *,
    cache_read: int = 0,
    cache_write: int = 0,
    cache_write_1h: int | None = None,
    web_searches: int | None = None,
    **fields: Any,
) -> Json:
    """The `usage` of a response; the cache split is there only if `cache_write_1h` is given."""
    usage: Json = {
        "input_tokens": input,
        "output_tokens": output,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
    }
    if cache_write_1h is not None:
        five_minutes = max(0, cache_write - cache_write_1h)
        usage["cache_creation"] = {
            "ephemeral_5m_input_tokens": five_minutes,
            "ephemeral_1h_input_tokens": cache_write_1h,
        }
    if web_searches is not None:
        usage["server_tool_use"] = {"web_search_requests": web_searches}
    return {**usage, **fields}


Name = str | None | UnsetType
Where = Literal["below", "beside", "inside"]

NODES = frozenset({"user", "assistant", "system", "attachment", "progress"})
"""Types whose lines have a uuid and a parent; all others only apply to the lines after them."""


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that happened, as one or several lines of the file."""

    lines: tuple[Json, ...]
    """The lines without ids, parents and times; these are added, and UNSET fields are filled in."""
    uuid: str | None = None
    to: Name = UNSET
    text: str | None = None
    """A name by which `to=` of other entries may refer to it."""
    names: tuple[tuple[str, str | None], ...] = ()
    """Fields that refer to another entry in the way of `to=`."""
    is_node: bool = True


class Agent(Struct, frozen=True, kw_only=True):
    """A subagent with its own file, or (`inside`, clients of 1.0) as sidechain lines of the trunk."""

    entries: tuple[Entry | ContentBlock, ...]
    id: str
    meta: Json | None
    where: Where
    workflow: str | None


def a_line(type: str, *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:  # noqa: A002
    """A line of any type. It has a uuid if its type usually has one or if one is given."""
    is_node = type in NODES or uuid is not None
    return Entry(lines=({"type": type, **fields},), uuid=uuid, to=to, is_node=is_node)


def a_prompt(*parts: str | ContentBlock | Json, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """A prompt that a person typed: a single string is written as a string, anything else as a list of blocks."""
    is_plain = len(parts) == 1 and isinstance(parts[0], str)
    content: Any = parts[0] if is_plain else [as_block(part).fields for part in parts]
    return _user(content, uuid, to, text=_first_text(parts), **fields)


def a_reply(
    *parts: str | ContentBlock | Json,
    thinking: str | None = None,
    id: str | UnsetType | None = UNSET,  # noqa: A002
    model: str | None = "claude-opus-4-8",
    usage: Json | Sequence[Json | None] | None = None,
    stop_reason: str | UnsetType | None = UNSET,
    uuid: str | None = None,
    to: Name = UNSET,
    **fields: Any,
) -> Entry:
    """One API response: a line per block, all with the same id and usage; with a list, each line has its own usage."""
    thoughts = [] if thinking is None else [a_thought(thinking)]
    blocks = [*thoughts, *(as_block(part) for part in parts)]
    calls = any(block.fields.get("type") == "tool_use" for block in blocks)
    message = {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": ("tool_use" if calls else "end_turn") if stop_reason is UNSET else stop_reason,
    }
    usages = usage if isinstance(usage, list | tuple) else [a_usage() if usage is None else usage] * len(blocks)
    lines = tuple(
        {
            "type": "assistant",
            "message": {**message, "content": [block.fields], "usage": used},
            "requestId": UNSET,
            **fields,
        }
        for block, used in zip(blocks, usages, strict=True)
    )
    return Entry(lines=lines, uuid=uuid, to=to, text=_first_text(parts))


def a_tool_result(
    output: str | Sequence[ContentBlock | Json] = "",
    *,
    of: str | UnsetType = UNSET,
    is_error: bool | None = None,
    twin: Any = UNSET,
    uuid: str | None = None,
    to: Name = UNSET,
    **fields: Any,
) -> Entry:
    """The result of a call, by default of the first open one; its parent is the line of the call."""
    content: Any = output if isinstance(output, str) else [as_block(part).fields for part in output]
    block: Json = {"type": "tool_result", "tool_use_id": of, "content": content}
    if is_error is not None:
        block["is_error"] = is_error
    if twin is not UNSET:
        fields["toolUseResult"] = twin
    return _user([block], uuid, to, text=output if isinstance(output, str) else None, **fields)


def a_command(name: str, arguments: str = "", *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """A slash command as the interactive client records it."""
    text = (
        f"<command-name>{name}</command-name>\n<command-message>{name.lstrip('/')}</command-message>\n"
        f"<command-args>{arguments}</command-args>"
    )
    return _user(text, uuid, to, text=name, **fields)


def an_interrupt(*, for_tool: bool = False, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """The line that the client writes when Esc is pressed."""
    text = f"[Request interrupted by user{' for tool use' if for_tool else ''}]"
    return _user([{"type": "text", "text": text}], uuid, to, text=text, **fields)


def a_task_notification(
    summary: str, *, task: str, call: str, uuid: str | None = None, to: Name = UNSET, **fields: Any
) -> Entry:
    """A user line in which a background task reports its end."""
    text = (
        f"<task-notification>\n<task-id>{task}</task-id>\n<tool-use-id>{call}</tool-use-id>\n"
        f"<status>completed</status>\n<summary>{summary}</summary>\n</task-notification>"
    )
    return _user(text, uuid, to, text=summary, **{"origin": {"kind": "task-notification"}, **fields})


def a_compaction(
    summary: str = "This session is being continued from a previous conversation.",
    *,
    after: Name = UNSET,
    trigger: str = "manual",
    pre_tokens: int = 100_000,
    uuid: str | None = None,
    **metadata: Any,
) -> Entry:
    """A compact boundary and its summary; `after` names the last line before, if that is not the entry above."""
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "logicalParentUuid": UNSET,
        "compactMetadata": {"trigger": trigger, "preTokens": pre_tokens, **metadata},
    }
    return Entry(
        lines=(boundary, {**_message(summary), "isCompactSummary": True, "isVisibleInTranscriptOnly": True}),
        uuid=uuid,
        to=None,
        text=summary,
        names=() if after is UNSET else (("logicalParentUuid", after),),
    )


def a_system_line(subtype: str | None, *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    return a_line("system", uuid=uuid, to=to, **({} if subtype is None else {"subtype": subtype}), **fields)


def an_attachment(kind: str, *, uuid: str | None = None, to: Name = UNSET, **fields: Any) -> Entry:
    """An attachment of this type; the fields are the attachment's, not the line's."""
    return a_line("attachment", uuid=uuid, to=to, attachment={"type": kind, **fields})


def a_queued_prompt(text: str, *, uuid: str | None = None, to: Name = UNSET) -> Entry:
    """A prompt sent while the client was busy, as recorded since 2.1.107."""
    return an_attachment("queued_command", prompt=text, commandMode="prompt", uuid=uuid, to=to)


def a_title(text: str, *, by: Literal["person", "model"] = "person") -> Entry:
    return a_line("custom-title", customTitle=text) if by == "person" else a_line("ai-title", aiTitle=text)


def a_summary(text: str, *, of: str | None) -> Entry:
    """A summary line; `of` names the last entry of what it summarises, which may be in another file."""
    return Entry(lines=({"type": "summary", "summary": text},), names=(("leafUuid", of),), is_node=False)


def an_ending(at: str | None = None, *, prompt: str | None = None) -> Entry:
    """The `last-prompt` line, which names the conversation's current leaf."""
    return Entry(
        lines=({"type": "last-prompt", "lastPrompt": prompt},),
        names=() if at is None else (("leafUuid", at),),
        is_node=False,
    )


def a_subagent(
    *entries: Entry | ContentBlock,
    id: str = "a1",  # noqa: A002
    of: str | None = None,
    meta: Json | None = None,
    where: Where = "below",
    workflow: str | None = None,
) -> Agent:
    """An agent's own conversation; `of` names its call in a `.meta.json`, as in clients since 2.1.197."""
    if of is not None:
        meta = {"agentType": "general-purpose", "toolUseId": of, **(meta or {})}
    return Agent(entries=entries, id=id, meta=meta, where=where, workflow=workflow)


def _user(content: Any, uuid: str | None, to: Name, *, text: str | None, **fields: Any) -> Entry:
    return Entry(lines=({**_message(content), **fields},), uuid=uuid, to=to, text=text)


def _message(content: Any) -> Json:
    return {"type": "user", "message": {"role": "user", "content": content}}


def _first_text(parts: Sequence[str | ContentBlock | Json]) -> str | None:
    return next((part for part in parts if isinstance(part, str)), None)


_START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


class Writer:
    """Turns entries, in order, into lines; `trunk` and `agents` have the lines so far."""

    def __init__(self, session: str, cwd: str, version: str) -> None:
        self.trunk: list[bytes] = []
        self.agents: dict[str, list[bytes]] = {}
        self._session = session
        self._mark = sha256(session.encode()).hexdigest()[:12]
        """Makes ids of different sessions differ: readers take equal ids for copies of one line or response."""
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
        """Adds an agent, which has its own root; the trunk then goes on as if the agent were not there."""
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
        """The last line of the entry with this name; an unknown name is taken as a uuid."""
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
                message["id"] = f"msg_01{self._messages:010}{self._mark}"
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
    """A session in the form a client would have written."""

    entries: tuple[Entry | ContentBlock | Agent, ...]
    id: str
    cwd: str
    version: str
    outputs: Mapping[str, str]
    """Spilled tool outputs, by file name."""
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
        """The lines of every agent with a file, by agent id."""
        return self._written().agents

    def records(self) -> list[Record]:
        """The trunk's lines, decoded, with their line numbers and offsets."""
        return _decoded(self.lines)

    def build(self, prices: Prices | None = None) -> Session:
        """The session that these lines make, without using the disk."""
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

    def write(self, folder: str | PathLike[str]) -> Path:
        """Writes all files below `folder`, which takes the place of `projects`, and returns the trunk's path."""
        project = Path(folder) / project_folder_name(self.cwd)
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
    """A session of these entries in this order."""
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
