"""Writes the lines of one synthetic transcript file: envelope, chain, clock and tally."""

from __future__ import annotations

import functools
import json
import os
import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from truth import Tally, Usage

__all__ = ["ERAS", "Block", "Era", "Message", "Transcript", "era_of", "iso", "new_id", "new_uuid", "numbers"]

Block = dict[str, Any]
LETTERS = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Era:
    """The habits of a range of client versions (format 6)."""

    versions: tuple[str, ...]
    usage: str
    """growing: final on the last row; stub: often opening values on all rows; final: the same on all rows."""
    models: tuple[str, ...]
    stubs: float = 0.0
    thinking: float = 0.0
    """Share of thinking blocks whose text is stored."""
    progress: bool = False
    attachments: bool = False
    newest: bool = False


OLD = ("claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101", "claude-opus-4-1-20250805")
MID = ("claude-opus-4-6", "claude-opus-4-5-20251101", "claude-sonnet-4-6", "claude-opus-4-7[1m]")
NEW = ("claude-opus-4-8", "claude-sonnet-5", "claude-haiku-5-5", "claude-opus-4-8[1m]", "claude-opus-5")
ERAS = (
    Era(("2.0.30", "2.0.55", "2.0.76"), "growing", OLD, thinking=1.0),
    Era(("2.1.3", "2.1.7"), "growing", OLD, thinking=1.0),
    Era(("2.1.17", "2.1.29"), "stub", OLD, stubs=0.9, thinking=1.0, progress=True),
    Era(("2.1.42", "2.1.50", "2.1.56"), "stub", MID, stubs=0.5, thinking=1.0, progress=True),
    Era(("2.1.63", "2.1.77"), "final", MID, thinking=0.8, progress=True),
    Era(("2.1.98", "2.1.119"), "final", MID, thinking=0.1, attachments=True),
    Era(("2.1.162", "2.1.197"), "final", NEW, thinking=0.05, attachments=True),
    Era(("2.1.204", "2.1.228", "2.1.239"), "final", NEW, thinking=0.05, attachments=True),
    Era(("2.1.325",), "final", NEW, thinking=0.2, attachments=True, newest=True),
)


@functools.cache
def era_of(version: str) -> Era:
    """The era a version belongs to."""
    return next(era for era in ERAS if version in era.versions)


@functools.cache
def numbers(version: str) -> tuple[int, ...]:
    """A version that compares."""
    return tuple(int(part) for part in version.split("."))


def iso(ms: int) -> str:
    """A timestamp as the client writes it."""
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def new_uuid(rng: random.Random) -> str:
    """A version 4 UUID."""
    h = f"{rng.getrandbits(128):032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def new_id(rng: random.Random, prefix: str) -> str:
    """An API id such as `msg_01…`."""
    return f"{prefix}_01" + "".join(rng.choices(LETTERS, k=22))


@dataclass
class Message:
    """One API response, whose blocks become one line each."""

    id: str
    request_id: str | None
    model: str
    usage: Usage
    stop: str
    blocks: list[Block] = field(default_factory=list)
    day: str = ""
    """UTC day of its first row."""
    opening: tuple[str, Usage] | None = None
    """Model and usage of the first row when another model took over mid-stream."""


@dataclass
class Transcript:
    """One file being written; `parent` is the line the next one hangs from."""

    path: Path
    sid: str
    cwd: str
    version: str
    rng: random.Random
    clock: int
    agent: str | None = None
    parent: str | None = None
    lines: list[bytes] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    copied: Tally = field(default_factory=Tally)
    echo: list[Block] = field(default_factory=list)
    """The last assistant lines, for the clients that repeat an agent's lines in the trunk."""

    @property
    def era(self) -> Era:
        """The habits of the client writing now."""
        return era_of(self.version)

    def since(self, *version: int) -> bool:
        """Whether the client writing now is at least this one."""
        return numbers(self.version) >= version

    def tick(self, least: int, most: int) -> int:
        """Moves the clock on by some milliseconds."""
        self.clock += self.rng.randint(least, most)
        return self.clock

    def node(self, kind: str, payload: Block, *, late: int = 0, aside: bool = False) -> str:
        """Writes a line of the tree; an `aside` line leaves the chain where it was."""
        uuid = new_uuid(self.rng)
        record: Block = {
            "parentUuid": self.parent,
            "isSidechain": self.agent is not None,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.sid,
            "version": self.version,
            "gitBranch": "main",
            "type": kind,
            **payload,
            "uuid": uuid,
            "timestamp": iso(self.clock - late),
        }
        if self.agent:
            record["agentId"] = self.agent
        if self.since(2, 1, 78):
            record["entrypoint"] = "cli"
        if self.since(2, 1, 199) and kind != "attachment":
            record["session_id"] = self.sid
        self.write(record)
        if kind == "assistant" and self.agent:
            self.echo = [*self.echo[-7:], record]
        if not aside:
            self.parent = uuid
        return uuid

    def state(self, kind: str, payload: Block) -> None:
        """Writes a line without uuid, which belongs to what stands around it."""
        self.write({"type": kind, **payload, "sessionId": self.sid})

    def write(self, record: Block) -> None:
        """Encodes and keeps one line."""
        self.keep(encode(record).encode())
        self.tally.records += 1

    def keep(self, line: bytes) -> None:
        """Keeps one line as it is."""
        self.lines.append(line)
        self.tally.lines += 1
        self.tally.bytes += len(line) + 1

    def row(self, message: Message, block: Block, *, last: bool, copy: bool = False) -> str:
        """Writes one block of a message with the usage its era shows on that row."""
        usage, model = message.usage, message.model
        if self.era.usage == "growing" and not last:
            usage = replace(usage, output=min(usage.output, self.rng.randint(1, 8)), advisor=None)
        if message.opening and not message.blocks:
            model, usage = message.opening
        if not message.blocks:
            message.day = iso(self.clock)[:10]
        message.blocks.append(block)
        self.tally_block(block, copy)
        body = {
            "model": model,
            "id": message.id,
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": message.stop if self.era.usage == "final" else None,
            "stop_sequence": None,
            "usage": self.usage_fields(usage),
        }
        payload: Block = {"message": body}
        if message.request_id:
            payload["requestId"] = message.request_id
        if self.since(2, 1, 212):
            payload["effort"] = "high"
        return self.node("assistant", payload)

    def tally_block(self, block: Block, copy: bool) -> None:
        """Counts a block of an assistant line."""
        for tally in (self.tally, self.copied) if copy else (self.tally,):
            tally.tool_calls += block["type"] == "tool_use"
            tally.thoughts += block["type"] == "thinking" and len(block["thinking"]) > 10

    def usage_fields(self, usage: Usage) -> Block:
        """The `usage` object with the fields this version knows."""
        fields = token_fields(usage)
        fields["service_tier"] = "standard"
        if usage.searches:
            fields["server_tool_use"] = {"web_search_requests": usage.searches, "web_fetch_requests": 0}
        if self.since(2, 1, 17):
            fields["inference_geo"] = usage.geo
        if self.since(2, 1, 41):
            fields["speed"] = usage.speed
        if self.since(2, 1, 98):
            fields["iterations"] = [{"type": "message", **token_fields(usage)}]
        if usage.advisor:
            model, own = usage.advisor
            fields["iterations"].append({"type": "advisor_message", "model": model, **token_fields(own)})
        return fields

    def damage(self, kind: str) -> None:
        """Spoils the file here: a `malformed` line, or the last two lines run together (`joined`)."""
        if kind == "malformed":
            self.keep(b'{"type":"user","uuid":"' + new_uuid(self.rng).encode() + b'","message":{"role":"us')
            self.tally.malformed += 1
        elif len(self.lines) > 1:
            second = self.lines.pop()
            self.lines[-1] += second
            self.tally.lines -= 1
            self.tally.bytes -= 1

    def save(self, *, onto: bool = False, ends_open: bool = False) -> None:
        """Writes the lines to the file, whose time becomes that of its last line."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        data = b"\n".join(self.lines) + b"\n"
        if ends_open:
            data = data[:-1]
            self.tally.bytes -= 1
        with self.path.open("ab" if onto else "wb") as file:
            file.write(data)
        os.utime(self.path, (self.clock / 1000, self.clock / 1000))


def token_fields(usage: Usage) -> Block:
    """The four counts and the cache split, as in `usage` and in each of its iterations."""
    fields: Block = {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.write,
        "cache_read_input_tokens": usage.read,
        "output_tokens": usage.output,
    }
    if usage.split is not None:
        five, hour = usage.split
        fields["cache_creation"] = {"ephemeral_5m_input_tokens": five, "ephemeral_1h_input_tokens": hour}
    return fields
