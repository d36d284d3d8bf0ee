"""The frames we send, each as one line. A line that is not JSON kills the client, so all are made here."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from reread.errors import BadInput
from reread.records.json_parts import object_of

IMAGE_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"RIFF": "image/webp"}
"""Image types that the API accepts, by the first bytes of a file."""


class Allow(Struct, frozen=True):
    """Lets a tool run, with the model's input or another."""

    input: Any = None
    """None keeps the model's input."""
    remember: Sequence[Any] = ()
    """The client's suggestions to apply from now on."""
    rule: str | None = None
    """The rule of ours that let the call through. The client ignores it; the capture keeps it."""


class Deny(Struct, frozen=True):
    """Refuses a tool; the model sees the reason."""

    reason: str = ""
    interrupt: bool = False
    """Whether to end the turn, too."""


Decision = Allow | Deny
NO_REASON = "The user does not want this tool to run."
"""A refusal without a message is invalid: the model would see a failed tool instead."""


def line(frame: Mapping[str, Any]) -> bytes:
    """A frame as bytes. ASCII only, so that no reader takes a character of a text for the end of the line."""
    try:
        return json.dumps(frame, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"this cannot be sent as JSON: {error}") from error


def prompt(text: str, images: Sequence[bytes] = (), *, uuid: str | None = None, session: str = "") -> bytes:
    """A prompt as a user line; the client keeps its uuid."""
    content = [{"type": "text", "text": text}, *map(_image, images)] if images else text
    frame: dict[str, Any] = {
        "type": "user",
        "session_id": session,
        "parent_tool_use_id": None,
        "message": {"role": "user", "content": content},
    }
    return line(frame if uuid is None else {**frame, "uuid": uuid})


def _image(raw: bytes) -> dict[str, Any]:
    kind = next((name for sign, name in IMAGE_TYPES.items() if raw.startswith(sign)), None)
    if kind is None:
        raise BadInput("an image must be PNG, JPEG, GIF or WebP")
    source = {"type": "base64", "media_type": kind, "data": b64encode(raw).decode()}
    return {"type": "image", "source": source}


def request(request_id: str, subtype: str, **fields: Any) -> bytes:
    """A control request. The client answers an unknown one with an error, so trying is safe."""
    return line({"type": "control_request", "request_id": request_id, "request": {"subtype": subtype, **fields}})


def success(request_id: str, response: Mapping[str, Any]) -> bytes:
    answer = {"subtype": "success", "request_id": request_id, "response": response}
    return line({"type": "control_response", "response": answer})


def failure(request_id: str, message: str) -> bytes:
    """The answer to a request that we cannot answer: left unanswered, it would block the client for ever."""
    return line(
        {"type": "control_response", "response": {"subtype": "error", "request_id": request_id, "error": message}}
    )


def decision(request_id: str, decided: Decision, given: Any) -> bytes:
    """The answer to a permission request with the input `given`. Older clients reject one with a missing field."""
    return success(request_id, verdict(decided, given))


def verdict(decided: Decision, given: Any) -> dict[str, Any]:
    """A decision as the client reads it, in the answer to a permission request as in that of a hook."""
    if not isinstance(decided, Allow | Deny):
        raise BadInput(f"{decided!r} is no decision; give an Allow or a Deny")
    if isinstance(decided, Allow):
        answer: dict[str, Any] = {
            "behavior": "allow",
            "updatedInput": given if decided.input is None else decided.input,
        }
        if decided.remember:
            answer["updatedPermissions"] = list(decided.remember)
        if decided.rule is not None:
            answer["rule"] = decided.rule
        return answer
    answer = {"behavior": "deny", "message": decided.reason or NO_REASON}
    if decided.interrupt:
        answer["interrupt"] = True
    return answer


def answers(given: Any, chosen: Mapping[str, str]) -> Allow:
    """The answer to `AskUserQuestion`: the chosen label or text, by question."""
    return Allow(input={**object_of(given), "answers": dict(chosen)})
