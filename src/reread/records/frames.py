"""Frames that exist only in the stdout stream of `--output-format stream-json`, never in a transcript."""

from __future__ import annotations

from typing import Any

from msgspec import Raw, field

from .base import Number, Record
from .tolerant import ABSENT, parse_or_none
from .usage import Usage


class StreamEvent(Record, tag="stream_event", frozen=True):
    """The API's own streaming event; `event` is read by the live accumulator."""

    raw_event: Raw = field(default=ABSENT, name="event")
    parent_tool_use_id: str | None = field(default=None, name="parent_tool_use_id")
    ttft_ms: Number | None = field(default=None, name="ttft_ms")
    api_message_id: str | None = field(default=None, name="api_message_id")
    thinking_display: str | None = field(default=None, name="thinking_display")
    abandoned_blocks: Raw = field(default=ABSENT, name="abandoned_blocks")

    @property
    def event(self) -> Any:
        return parse_or_none(self.raw_event)


class Result(Record, tag="result", frozen=True):
    """The end of a turn. Success is `is_error == False`, not the subtype `success`."""

    subtype: str | None = None
    is_error: bool | None = field(default=None, name="is_error")
    result: str | None = None
    stop_reason: str | None = field(default=None, name="stop_reason")
    terminal_reason: str | None = field(default=None, name="terminal_reason")
    duration_ms: Number | None = field(default=None, name="duration_ms")
    duration_api_ms: Number | None = field(default=None, name="duration_api_ms")
    num_turns: int | None = field(default=None, name="num_turns")
    total_cost_usd: Number | None = field(default=None, name="total_cost_usd")
    usage: Usage | None = None
    model_usage: Raw = ABSENT
    permission_denials: list[Any] | None = field(default=None, name="permission_denials")
    errors: list[Any] | None = None
    api_error_status: Number | None = field(default=None, name="api_error_status")
    origin: Raw = ABSENT
    fast_mode_state: str | None = field(default=None, name="fast_mode_state")
    result_index: int | None = field(default=None, name="result_index")
    model_usage_since_last_result: Raw = field(default=ABSENT, name="model_usage_since_last_result")
    structured_output: Raw = field(default=ABSENT, name="structured_output")
    ttft_ms: Raw = field(default=ABSENT, name="ttft_ms")
    ttft_stream_ms: Raw = field(default=ABSENT, name="ttft_stream_ms")
    time_to_request_ms: Raw = field(default=ABSENT, name="time_to_request_ms")
    first_content_frame_ms: Raw = field(default=ABSENT, name="first_content_frame_ms")
    fast_mode_disabled_reason: Raw = field(default=ABSENT, name="fast_mode_disabled_reason")
    subagent_stats: Raw = field(default=ABSENT, name="subagent_stats")
    safety_stops: Raw = field(default=ABSENT, name="safety_stops")
    queued_turn_count: Raw = field(default=ABSENT, name="queued_turn_count")
    local_command: Raw = field(default=ABSENT, name="local_command")
    api_error_type: Raw = field(default=ABSENT, name="api_error_type")
    key: str | None = None
    """Workflow journals use the same type name with a `key`."""

    @property
    def text(self) -> str:
        return self.result or ""


class ControlRequest(Record, tag="control_request", frozen=True):
    request_id: str | None = field(default=None, name="request_id")
    request: Raw = ABSENT


class ControlResponse(Record, tag="control_response", frozen=True):
    response: Raw = ABSENT


class ControlCancelRequest(Record, tag="control_cancel_request", frozen=True):
    request_id: str | None = field(default=None, name="request_id")


class CommandLifecycle(Record, tag="command_lifecycle", frozen=True):
    command_uuid: str | None = field(default=None, name="command_uuid")
    state: str | None = None


class ConversationReset(Record, tag="conversation_reset", frozen=True):
    new_conversation_id: str | None = field(default=None, name="new_conversation_id")
    """Not the session id that follows."""
    trigger: str | None = None
    user_message_uuid: str | None = field(default=None, name="user_message_uuid")
