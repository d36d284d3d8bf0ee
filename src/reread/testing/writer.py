"""Entries to lines: fills in the ids, parents and times nobody gave.

Each line hangs from the one above it, except a tool result, which hangs from its call, as in clients since 2.1.50.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from msgspec import UNSET

from .blocks import Block, Json
from .lines import Agent, Entry, a_reply

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

    def add(self, entry: Entry | Block | Agent) -> None:
        if isinstance(entry, Agent):
            self._add_agent(entry)
        else:
            self._add_entry(a_reply(entry) if isinstance(entry, Block) else entry)

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
