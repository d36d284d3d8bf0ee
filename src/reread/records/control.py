"""What stands inside control frames: the questions a client asks its host, and the answers to the host's own."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct, field

from ..decoders import json_decoder
from .base import Number
from .frames import ControlRequest, ControlResponse
from .tolerant import ABSENT, FAILURES, parse_or_none

CAN_USE_TOOL = "can_use_tool"
HOOK_CALLBACK = "hook_callback"


class ClientAsks(Struct, frozen=True, kw_only=True, gc=False):
    """A question of the client; which fields are there follows from its subtype."""

    subtype: str | None = None

    # can_use_tool
    tool_name: str | None = None
    raw_input: Raw = field(default=ABSENT, name="input")
    tool_use_id: str | None = None
    display_name: str | None = None
    title: str | None = None
    description: str | None = None
    permission_suggestions: list[Any] | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    decision_reason_type: str | None = None
    agent_id: str | None = None
    requires_user_interaction: bool | None = None

    # hook_callback, mcp_message
    callback_id: str | None = None
    server_name: str | None = None
    raw_message: Raw = field(default=ABSENT, name="message")

    @property
    def input(self) -> Any:
        return parse_or_none(self.raw_input)

    @property
    def message(self) -> Any:
        return parse_or_none(self.raw_message)


class Answer(Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a control request, in either direction."""

    subtype: str | None = None
    request_id: str | None = None
    raw_response: Raw = field(default=ABSENT, name="response")
    error: str | None = None
    error_code: str | Number | None = None

    @property
    def response(self) -> Any:
        """What was answered; may be missing in a success."""
        return parse_or_none(self.raw_response)


_asks = json_decoder(ClientAsks).decode
_answer = json_decoder(Answer).decode


def question_of(frame: ControlRequest) -> ClientAsks | None:
    """What a client asks; None where its shape is not the one we know."""
    try:
        return _asks(frame.request)
    except FAILURES:
        return None


def answer_of(frame: ControlResponse) -> Answer | None:
    try:
        return _answer(frame.response)
    except FAILURES:
        return None
