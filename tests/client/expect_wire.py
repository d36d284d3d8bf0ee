"""What a capture amounts to, read with nothing but `json`: the truth that replayed captures are held against.

It follows the rules of the protocol in the plainest way, so that a mistake of reread's own reader is not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

MARK, BODY = 28, 30
STREAMED = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
COUNTED = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
INTERRUPTED = "[Request interrupted by user"


def wire_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Mark and line of a capture; only `\n` ends a line, for a text may hold U+2028."""
    for line in path.read_bytes().decode().split("\n"):
        if line:
            yield line[MARK], line[BODY:]


@dataclass
class Open:
    """A block that is being streamed."""

    block: Json
    streamed: str = ""
    is_settled: bool = False
    """An assistant line confirmed it, or it was withdrawn."""


@dataclass
class Message:
    """The main thread's message that is being streamed; subagents have no stream events."""

    id: str
    blocks: dict[int, Open] = field(default_factory=dict)
    has_final_usage: bool = False
    is_stopped: bool = False


@dataclass
class Reading:
    """All that is expected of one capture."""

    delivered: list[Json] = field(default_factory=list)
    withdrawn: list[Json] = field(default_factory=list)
    permissions: list[Json] = field(default_factory=list)
    tool_results: list[Json] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)
    usage: dict[str, Json] = field(default_factory=dict)
    deltas: dict[str, int] = field(default_factory=dict)
    torn: list[str] = field(default_factory=list)
    """Blocks whose fragments do not add up to the whole."""
    exit: int | None = None
    message: Message | None = None
    uuids: set[str] = field(default_factory=set)
    """Of assistant and user lines: the transcript's lines have the same."""
    notes: list[str] = field(default_factory=list)
    """Results whose counts are not the sum of their messages."""
    counted: set[str] = field(default_factory=set)
    """Messages that an earlier result has counted."""

    # What comes from the client

    def take(self, frame: Json) -> None:
        """One frame of the client."""
        session = frame.get("session_id")
        if session and session not in self.sessions:
            self.sessions.append(session)
        if frame["type"] in ("assistant", "user") and "uuid" in frame:
            self.uuids.add(frame["uuid"])
        handler = getattr(self, f"take_{frame['type']}", None)
        if handler:
            handler(frame)

    def take_stream_event(self, frame: Json) -> None:
        """The API's own event, as the client passed it on."""
        event = frame["event"]
        kind = event["type"]
        if kind == "message_start":
            self.give_up(self.cause_of_end())
            self.message = Message(event["message"]["id"])
        assert self.message
        if kind == "content_block_start":
            self.message.blocks[event["index"]] = Open(event["content_block"])
        elif kind == "content_block_delta":
            self.add_delta(self.message.blocks[event["index"]], event["delta"])
        elif kind == "message_delta":
            self.message.has_final_usage = True
            # A message that was abandoned is closed with a count of nothing.
            if event["delta"].get("stop_reason"):
                self.usage[self.message.id] = event["usage"]
        elif kind == "message_stop":
            self.message.is_stopped = True

    def add_delta(self, block: Open, delta: Json) -> None:
        """A fragment of a block."""
        self.deltas[delta["type"]] = self.deltas.get(delta["type"], 0) + 1
        if delta["type"] in STREAMED:
            block.streamed += delta[STREAMED[delta["type"]]]

    def take_assistant(self, frame: Json) -> None:
        """One whole block; what streamed of it before is the same block."""
        message = frame["message"]
        agent = frame.get("parent_tool_use_id")
        if not agent and (self.message is None or message["id"] != self.message.id):
            # Another message without stream events: what was streaming is not going to end.
            self.give_up("error" if frame.get("error") else "cut")
        for block in message["content"]:
            self.deliver(agent, message, block)

    def deliver(self, agent: str | None, message: Json, block: Json) -> None:
        """Note a block, and settle the streamed one that it confirms."""
        if not agent and self.message and self.message.id == message["id"]:
            waiting = [one for one in self.message.blocks.values() if not one.is_settled]
            same = [one for one in waiting if one.block["type"] == block["type"]]
            same = [one for one in same if one.block.get("id") == block.get("id")]
            if same:
                same[0].is_settled = True
                self.check(same[0], block)
        kept = {
            key: value for key, value in block.items() if key in ("type", "text", "thinking", "id", "name", "input")
        }
        if "thinking" in kept:
            kept["text"] = kept.pop("thinking")
        self.delivered.append({"agent": agent, "message_id": message["id"], **kept})
        if message["model"] == "<synthetic>":
            self.delivered[-1]["synthetic"] = True

    def check(self, one: Open, block: Json) -> None:
        """What streamed must add up to what was delivered."""
        whole = block.get("text", block.get("thinking", block.get("input", "")))
        if not isinstance(whole, dict):
            is_torn = one.streamed != whole
        elif "__unparsedToolInput" in whole:
            is_torn = one.streamed != whole["__unparsedToolInput"]["raw"]
        else:
            # The client adds the defaults of the tool's schema: `replace_all` of Edit (2.1.197, 2.1.325).
            is_torn = not json.loads(one.streamed).items() <= whole.items()
        if is_torn:
            self.torn.append(f"{one.streamed!r} became {whole!r}")

    def take_user(self, frame: Json) -> None:
        """A tool's result, or the line that says that the person interrupted."""
        content = frame["message"]["content"]
        for block in content if isinstance(content, list) else []:
            if block["type"] == "tool_result":
                agent = frame.get("parent_tool_use_id")
                failed = bool(block.get("is_error"))
                self.tool_results.append({"agent": agent, "id": block["tool_use_id"], "is_error": failed})
            if block["type"] == "text" and block["text"].startswith(INTERRUPTED):
                self.give_up("interrupted")

    def take_system(self, frame: Json) -> None:
        """A retry without a status tells that the connection broke."""
        if frame.get("subtype") == "api_retry" and frame.get("error_status") is None:
            self.give_up("cut")

    def take_control_request(self, frame: Json) -> None:
        """A question."""
        request = frame["request"]
        if request["subtype"] == "can_use_tool":
            asked = {"request_id": frame["request_id"], "tool": request["tool_name"], "input": request["input"]}
            self.permissions.append({**asked, "tool_use_id": request["tool_use_id"], "answer": None})

    def take_control_cancel_request(self, frame: Json) -> None:
        """A question that is void."""
        self.answer(frame["request_id"], "cancelled")

    def take_result(self, frame: Json) -> None:
        """A prompt is done; what is still open was never ended."""
        self.give_up(self.cause_of_end())
        self.results.append({"is_error": frame["is_error"], "subtype": frame["subtype"]})
        fresh = [usage for message, usage in self.usage.items() if message not in self.counted]
        self.counted |= set(self.usage)
        summed = {key: sum(usage[key] for usage in fresh) for key in COUNTED}
        told = {key: frame["usage"][key] for key in COUNTED}
        if told != summed:
            self.notes.append(f"result counts {told}, its messages {summed}")

    def cause_of_end(self) -> str:
        """Why a message that is over had no proper end: a failed one is stopped, a broken one is just silent."""
        return "error" if self.message and self.message.is_stopped else "cut"

    def give_up(self, reason: str) -> None:
        """Withdraw what streamed and was never confirmed."""
        for one in self.message.blocks.values() if self.message else ():
            if not one.is_settled:
                one.is_settled = True
                about = {"message_id": self.message.id if self.message else None, "type": one.block["type"]}
                call = {key: value for key, value in one.block.items() if key in ("id", "name")}
                self.withdrawn.append({**about, "text": one.streamed, "reason": reason, **call})

    # What was said to it

    def take_answer(self, frame: Json) -> None:
        """Our answer to a question."""
        if frame["type"] == "control_response":
            said = frame["response"]
            self.answer(said["request_id"], (said.get("response") or {}).get("behavior", said["subtype"]))

    def answer(self, request: str, behavior: str) -> None:
        """The first word counts: an answer to a cancelled question says nothing."""
        for asked in self.permissions:
            if asked["request_id"] == request and asked["answer"] is None:
                asked["answer"] = behavior


def read_wire(lines: Iterable[tuple[str, str]]) -> Reading:
    """The reading of a capture."""
    reading = Reading()
    for mark, line in lines:
        if mark == "<":
            reading.take(json.loads(line))
        elif mark == ">" and line.startswith("{"):
            reading.take_answer(json.loads(line))
        elif mark == "=":
            reading.exit = json.loads(line).get("exit", reading.exit)
    reading.give_up("cut")
    return reading


def expectation(reading: Reading) -> Json:
    """The reading as the JSON beside a capture."""
    kept = ("exit", "sessions", "results", "delivered", "withdrawn", "permissions", "tool_results", "usage", "deltas")
    return {name: getattr(reading, name) for name in kept}


# What the client wrote of the same run


def identity(block: Json) -> tuple[str, str]:
    """What makes a block of a message the same on the wire and on disk."""
    return block["type"], str(block.get("id") or block.get("thinking", block.get("text", "")))


@dataclass
class Written:
    """What the transcripts of a folder hold."""

    blocks: set[tuple[str, tuple[str, str]]] = field(default_factory=set)
    uuids: set[str] = field(default_factory=set)


def read_written(projects: Path) -> Written:
    """Every block with its message id, and every line's uuid."""
    found = Written()
    for path in projects.rglob("*.jsonl"):
        for line in path.read_bytes().decode().split("\n"):
            record = json.loads(line) if line else {}
            found.uuids.add(record.get("uuid", ""))
            if record.get("type") == "assistant":
                message = record["message"]
                found.blocks |= {(message["id"], identity(block)) for block in message["content"]}
    return found


def differences(reading: Reading, before: Written, after: Written) -> list[str]:
    """What only the wire delivered, what only the transcript holds, and what does not add up."""
    ids = [(block["message_id"], identity(block)) for block in reading.delivered]
    written = after.blocks - before.blocks
    told = [f"only on the wire: {one}" for one in sorted(set(ids) - written)]
    told += [f"only on disk: {one}" for one in sorted(written - set(ids))]
    told += [f"a line only on the wire: {one}" for one in sorted(reading.uuids - after.uuids)]
    told += [f"torn: {one}" for one in reading.torn]
    told += [f"delivered twice: {one}" for one in sorted(set(ids)) if ids.count(one) > 1]
    return told + reading.notes
