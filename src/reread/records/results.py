"""`toolUseResult`, the structured twin of a tool result: only what the reading of a session depends on.

It is a third of all bytes in recorded files, so it is skipped over unless asked for; `User.tool_use_result`
gives the whole of it as plain values.
"""

from __future__ import annotations

from msgspec import Struct, field

from ..decoders import json_decoder
from .conversation import User
from .tolerant import FAILURES, OURS, parse_or_none


class ResultTwin(Struct, frozen=True, gc=False, rename="camel"):
    interrupted: bool | None = None
    persisted_output_path: str | None = None
    agent_id: str | None = None
    message: str = field(default="", name=f"{OURS}message")
    """The whole text, where the twin is a string and not an object: `Error: ...`, `User rejected tool use`."""


_decoder = json_decoder(ResultTwin)
_NOTHING = ResultTwin()


def result_twin(user: User) -> ResultTwin:
    """The twin of a line's tool result; empty where there is none."""
    raw = memoryview(user.raw_result)
    opening = bytes(raw[:1])
    if opening == b"{":
        try:
            return _decoder.decode(raw)
        except FAILURES:
            return _piecewise(parse_or_none(raw))
    if opening == b'"':
        text = parse_or_none(raw)
        return ResultTwin(message=text if isinstance(text, str) else "")
    return _NOTHING


def _piecewise(value: object) -> ResultTwin:
    fields = value if isinstance(value, dict) else {}
    path, agent = fields.get("persistedOutputPath"), fields.get("agentId")
    return ResultTwin(
        interrupted=fields.get("interrupted") is True,
        persisted_output_path=path if isinstance(path, str) else None,
        agent_id=agent if isinstance(agent, str) else None,
    )
