"""Frames of a stream, as a client writes them."""

from __future__ import annotations

import json
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
USAGE = {"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 4}
FINAL = {**USAGE, "output_tokens": 63}


def frame(type: str, **fields: Any) -> bytes:  # noqa: A002
    return json.dumps({"type": type, "session_id": SESSION, **fields}, ensure_ascii=False).encode() + b"\n"


def streamed(event: str, **fields: Any) -> bytes:
    outside = {key: fields.pop(key) for key in ("abandoned_blocks", "ttft_ms", "parent_tool_use_id") if key in fields}
    return frame("stream_event", event={"type": event, **fields}, **outside)


def message_start(id: str, **fields: Any) -> bytes:  # noqa: A002
    return streamed("message_start", message={"id": id, "model": "claude-opus-4-8", "usage": USAGE}, **fields)


def block_start(index: int, **block: Any) -> bytes:
    return streamed("content_block_start", index=index, content_block=block)


def delta(index: int, **fragment: Any) -> bytes:
    return streamed("content_block_delta", index=index, delta=fragment)


def thinks(index: int, *texts: str) -> bytes:
    begun = block_start(index, type="thinking", thinking="", signature="")
    return begun + b"".join(delta(index, type="thinking_delta", thinking=text) for text in texts)


def says(index: int, *texts: str) -> bytes:
    return block_start(index, type="text", text="") + b"".join(
        delta(index, type="text_delta", text=text) for text in texts
    )


def calls(index: int, id: str, name: str, *pieces: str) -> bytes:  # noqa: A002
    begun = block_start(index, type="tool_use", id=id, name=name, input={})
    return begun + b"".join(delta(index, type="input_json_delta", partial_json=piece) for piece in pieces)


def block_stop(index: int) -> bytes:
    return streamed("content_block_stop", index=index)


def message_end(stop_reason: str | None = "end_turn", usage: dict[str, int] | None = None) -> bytes:
    given = streamed("message_delta", delta={"stop_reason": stop_reason}, usage=usage or FINAL)
    return given + streamed("message_stop")


def assistant(id: str, *blocks: dict[str, Any], uuid: str | None = None, **fields: Any) -> bytes:  # noqa: A002
    message = {"id": id, "role": "assistant", "model": "claude-opus-4-8", "content": list(blocks), "usage": USAGE}
    named = {} if uuid is None else {"uuid": uuid}
    return frame("assistant", message={**message, **fields.pop("message", {})}, **named, **fields)


def thinking(text: str, signature: str = "sig") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(id: str, name: str, **given: Any) -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_use", "id": id, "name": name, "input": given}


def user(content: Any, **fields: Any) -> bytes:
    return frame("user", message={"role": "user", "content": content}, **fields)


def asks(request_id: str, tool_name: str, **fields: Any) -> bytes:
    request = {"subtype": "can_use_tool", "tool_name": tool_name, **fields}
    return json.dumps({"type": "control_request", "request_id": request_id, "request": request}).encode() + b"\n"
