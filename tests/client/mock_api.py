"""A scripted stand-in for the Messages API on loopback, so that a real client runs without a network.

`mock:NAME` or `mock:NAME(ARG)` in the last prompt chooses the scenario; the number of assistant messages
after it chooses the turn, so one directive scripts a whole tool loop.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, islice
from pathlib import Path
from typing import Any, ClassVar

from client.scenarios import SCENARIOS, Block, Break, Turn, says

Json = dict[str, Any]

DIRECTIVE = re.compile(r"mock:([a-z0-9-]+)(?:\(([^()]*)\))?")
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
# What the compaction prompts of 1.0 - 2.1 have in common.
SUMMARY_REQUEST = re.compile(r"create a (?:detailed|concise|structured)[\w ,-]* summary", re.IGNORECASE)


def blocks_of(message: Json) -> list[Block]:
    """The content of a request message as blocks."""
    content = message.get("content")
    return [says(content)] if isinstance(content, str) else list(content or [])


def prompt_text(message: Json) -> str:
    """What a message says itself: no tool results, no injected reminders."""
    texts = (block.get("text", "") for block in blocks_of(message) if block.get("type") == "text")
    return "\n".join(REMINDER.sub("", text) for text in texts)


def find_directive(messages: list[Json]) -> tuple[str, str, int]:
    """Scenario name, argument and turn number; the name is "" where no prompt asks for one."""
    turn = 0
    for message in reversed(messages):
        if message["role"] == "assistant":
            turn += 1
            continue
        found = DIRECTIVE.findall(prompt_text(message)) if message["role"] == "user" else []
        if found:
            return found[-1][0], found[-1][1], turn
    return "", "", turn


def filled(value: Any, table: dict[str, str]) -> Any:
    """A copy with the placeholders replaced."""
    if isinstance(value, str):
        for key, text in table.items():
            value = value.replace("{" + key + "}", text)
        return value
    if isinstance(value, dict):
        return {key: filled(item, table) for key, item in value.items()}
    if isinstance(value, list):
        return [filled(item, table) for item in value]
    return value


def tokens(value: object) -> int:
    """A plausible token count."""
    return max(1, len(json.dumps(value)) // 4)


def side_turn(body: Json) -> Turn | None:
    """The reply to a call that the client makes beside the conversation: a title, a summary, a probe."""
    if body.get("max_tokens") == 1:
        return Turn((says("#"),), stop_reason="max_tokens")
    wanted = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
    if wanted.get("type") == "json_schema":
        names = wanted.get("schema", {}).get("required", ["title"])
        return Turn((says(json.dumps(dict.fromkeys(names, "Mock title"))),))
    messages = body.get("messages") or [{}]
    if SUMMARY_REQUEST.search(prompt_text(messages[-1])):
        return Turn((says("<summary>\n1. Primary request: exercise the client.\n</summary>"),))
    return None


def scripted_turn(body: Json, cwd: Path) -> Turn:
    """The turn that the conversation so far asks for."""
    name, arg, index = find_directive(body.get("messages") or [])
    turns = SCENARIOS.get(name)
    if turns is None:
        return Turn((says(f"The mock has no scenario {name!r}."),))
    if index >= len(turns):
        return Turn((says("Done."),))
    offered = {tool.get("name") for tool in body.get("tools") or []}
    table = {
        "arg": arg,
        "cwd": str(cwd),
        "agent": "Agent" if "Agent" in offered else "Task",
        "images": str(sum(block.get("type") == "image" for said in body["messages"] for block in blocks_of(said))),
    }
    return replace(turns[index], blocks=tuple(filled(block, table) for block in turns[index].blocks))


def ident(prefix: str, *parts: object) -> str:
    """An id shaped like the service's own."""
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return f"{prefix}_01" + re.sub(r"[^A-Za-z0-9]", "x", base64.b64encode(digest).decode())[:22]


def complete_block(block: Block, seed: str, number: int, index: int) -> Block:
    """The block with the id or signature that the service would add."""
    added: dict[str, Json] = {
        "thinking": {"signature": base64.b64encode(f"{seed}{number}{index}".encode()).decode()},
        "redacted_thinking": {"data": base64.b64encode(b"redacted-by-the-mock").decode()},
        "tool_use": {"id": ident("toolu", seed, number, index)},
    }
    return {**added.get(block["type"], {}), **block}


def message_of(body: Json, turn: Turn, seed: str, number: int) -> Json:
    """The whole reply as the API gives it without streaming."""
    blocks = [complete_block(block, seed, number, index) for index, block in enumerate(turn.blocks)]
    has_call = any(block["type"] == "tool_use" for block in blocks)
    prompt = tokens([body.get("system"), body.get("messages")])
    usage = {
        "input_tokens": 3 + number % 7,
        "cache_creation_input_tokens": prompt // 10,
        "cache_read_input_tokens": prompt - prompt // 10,
        "output_tokens": sum(tokens(block) for block in blocks),
        "service_tier": "standard",
    }
    return {
        "id": ident("msg", seed, number),
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": blocks,
        "stop_reason": turn.stop_reason or ("tool_use" if has_call else "end_turn"),
        "stop_sequence": None,
        "usage": {**usage, **turn.usage},
    }


def pieces(text: str, chunk: int, whole: str) -> Iterator[str]:
    """The text in chunks, none of which ends inside `whole`: a path that is torn apart can not be renamed later."""
    start = 0
    while start < len(text):
        end = start + chunk
        spanned = text.find(whole, max(0, end - len(whole) + 1), end + len(whole) - 1)
        end = end if spanned < 0 else spanned + len(whole)
        yield text[start:end]
        start = end


def deltas(block: Block, chunk: int, whole: str) -> Iterator[Json]:
    """The deltas that deliver a block."""
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in pieces(block["text"], chunk, whole))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"], chunk, whole))
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] in ("tool_use", "server_tool_use"):
        streamed = block.get("streamed_json", json.dumps(block["input"]))
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in pieces(streamed, chunk, whole))


def broken_off(whole: Iterator[Json], broken: Break) -> Iterator[Json]:
    """The first events, and the `error` event where the break has one."""
    yield from islice(whole, broken.after)
    if broken.error:
        yield {"type": "error", "error": {"type": broken.error, "message": "mock: broken off"}}


EMPTY: dict[str, Json] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "tool_use": {"input": {}},
    "server_tool_use": {"input": {}},
}


def events(message: Json, chunk: int, whole: str) -> Iterator[Json]:
    """The server-sent events that deliver a message."""
    early = {**message["usage"], "output_tokens": min(2, message["usage"]["output_tokens"])}
    started = {**message, "content": [], "stop_reason": None, "usage": early}
    yield {"type": "message_start", "message": started}
    for index, block in enumerate(message["content"]):
        opened = {**block, **EMPTY.get(block["type"], {})}
        opened.pop("streamed_json", None)
        yield {"type": "content_block_start", "index": index, "content_block": opened}
        for delta in deltas(block, chunk, whole):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {key: value for key, value in message["usage"].items() if key != "service_tier"}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}


@dataclass
class Mock:
    """A running server: where it is, and what it was asked."""

    cwd: Path
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=count)
    # New ids in each run: a client that resumes a session must not meet an id it already holds.
    seed: str = field(default_factory=lambda: os.urandom(8).hex())

    def attempt(self, body: Json) -> int:
        """How many times this step of this prompt has been asked for, with this one."""
        key = json.dumps(find_directive(body["messages"]))
        self.attempts[key] += 1
        return self.attempts[key]


class Handler(BaseHTTPRequestHandler):
    """Answers the few endpoints that the client calls."""

    protocol_version = "HTTP/1.1"
    mock: ClassVar[Mock]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Keep the test output quiet."""

    def reply(self, status: int, value: Json) -> None:
        """Send one JSON body."""
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.send_header("request-id", ident("req", self.mock.seed, next(self.mock.numbers)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def error(self, status: int, kind: str, message: str) -> None:
        """Send an error shaped like the API's."""
        self.reply(status, {"type": "error", "error": {"type": kind, "message": message}})

    def do_HEAD(self) -> None:
        """The client's reachability probe."""
        self.reply(200, {})

    def do_GET(self) -> None:
        """Nothing is served by GET."""
        self.error(404, "not_found_error", f"mock: {self.path}")

    def do_POST(self) -> None:
        """A message, or a count of its tokens."""
        body = json.loads(self.body())
        if self.path.startswith("/v1/messages/count_tokens"):
            self.reply(200, {"input_tokens": tokens(body)})
        elif self.path.startswith("/v1/messages"):
            self.answer(body)
        else:
            self.error(404, "not_found_error", f"mock: {self.path}")

    def body(self) -> bytes:
        """The request body, whole or chunked."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def answer(self, body: Json) -> None:
        """Choose a turn and send it as it was asked for."""
        self.mock.requests.append(body)
        turn = side_turn(body) or scripted_turn(body, self.mock.cwd)
        attempt = self.mock.attempt(body) if turn.failure or turn.broken else 1
        if turn.failure and attempt <= turn.failure.times:
            self.error(turn.failure.status, turn.failure.kind, turn.failure.message)
            return
        message = message_of(body, turn, self.mock.seed, next(self.mock.numbers))
        if not body.get("stream"):
            self.reply(200, message)
            return
        parts = events(message, turn.chunk, str(self.mock.cwd))
        if turn.broken and attempt == 1:
            parts = broken_off(parts, turn.broken)
        self.stream(message["id"], parts, turn.delay)

    def stream(self, message_id: str, parts: Iterator[Json], delay: float) -> None:
        """Send a message as server-sent events; an interrupted client hangs up in the middle."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("request-id", ident("req", message_id))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            for event in parts:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
                time.sleep(delay if event["type"] == "content_block_delta" else 0)
        except (BrokenPipeError, ConnectionResetError) as gone:
            self.log_message("%s", gone)


@contextmanager
def serving(cwd: Path) -> Iterator[Mock]:
    """A mock on a free loopback port, until the block ends."""
    mock = Mock(cwd)
    handler = type("BoundHandler", (Handler,), {"mock": mock})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    mock.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield mock
    finally:
        server.shutdown()
        server.server_close()
