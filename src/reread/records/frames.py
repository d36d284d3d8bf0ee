"""Frames that exist only in the stream: control requests and responses, and the API's own streaming events."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from reread.decoders import json_decoder

from .base import Number, Record
from .content import Block, Text, Thinking, ToolUse, UnknownBlock, Usage
from .conversation import ApiMessage
from .json_parts import object_of
from .lenient import ABSENT, FAILURES, parse_or_none, unknown_value


class StreamEvent(Record, tag="stream_event", frozen=True):
    """The API's own streaming event, undecoded: `decode_api_event` reads it."""

    raw_event: Raw = field(default=ABSENT, name="event")
    parent_tool_use_id: str | None = field(default=None, name="parent_tool_use_id")
    ttft_ms: Number | None = field(default=None, name="ttft_ms")
    api_message_id: str | None = field(default=None, name="api_message_id")
    thinking_display: str | None = field(default=None, name="thinking_display")
    abandoned_blocks: Raw = field(default=ABSENT, name="abandoned_blocks")
    user_message_uuid: str | None = field(default=None, name="user_message_uuid")
    user_message_uuids: Raw = field(default=ABSENT, name="user_message_uuids")

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
    structured_output: Raw = field(default=ABSENT, name="structured_output")
    ttft_ms: Raw = field(default=ABSENT, name="ttft_ms")
    local_command: Raw = field(default=ABSENT, name="local_command")
    user_message_uuid: str | None = field(default=None, name="user_message_uuid")
    user_message_uuids: Raw = field(default=ABSENT, name="user_message_uuids")
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
    state: str | None = None

    @property
    def text(self) -> str:
        return self.state or ""


class ConversationReset(Record, tag="conversation_reset", frozen=True):
    trigger: str | None = None
    user_message_uuid: str | None = field(default=None, name="user_message_uuid")


class RateLimitEvent(Record, tag="rate_limit_event", frozen=True):
    """A usage limit moved. Only subscriptions have limits."""

    rate_limit_info: Raw = field(default=ABSENT, name="rate_limit_info")

    @property
    def text(self) -> str:
        """Which limit is near or reached; empty while there is room."""
        told = object_of(parse_or_none(self.rate_limit_info))
        state = _LIMITS.get(str(told.get("status")))
        name = str(told.get("rateLimitType") or "usage").replace("_", " ")
        return f"the {name} limit is {state}" if state is not None else ""


_LIMITS = {"allowed_warning": "near", "rejected": "reached"}


class ToolProgress(Record, tag="tool_progress", frozen=True):
    """A tool is still running: the client says so every 30 seconds."""

    tool_use_id: str | None = field(default=None, name="tool_use_id")
    tool_name: str | None = field(default=None, name="tool_name")
    parent_tool_use_id: str | None = field(default=None, name="parent_tool_use_id")
    task_id: str | None = field(default=None, name="task_id")
    subagent_type: str | None = field(default=None, name="subagent_type")

    @property
    def text(self) -> str:
        return self.tool_name or ""


class ToolUseSummary(Record, tag="tool_use_summary", frozen=True):
    summary: str | None = None

    @property
    def text(self) -> str:
        return self.summary or ""


class PromptSuggestion(Record, tag="prompt_suggestion", frozen=True):
    """What the client thinks the person may ask next."""

    suggestion: str | None = None

    @property
    def text(self) -> str:
        return self.suggestion or ""


class AuthStatus(Record, tag="auth_status", frozen=True):
    output: Raw = ABSENT
    error: str | None = None

    @property
    def text(self) -> str:
        return self.error or ""


class KeepAlive(Record, tag="keep_alive", frozen=True):
    """Says that the client lives, and nothing else."""


CAN_USE_TOOL = "can_use_tool"
HOOK_CALLBACK = "hook_callback"


class ClientAsks(Struct, frozen=True, kw_only=True, gc=False):
    """A question of the client; its subtype determines which fields are present."""

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


class HostAnswer(Struct, frozen=True, kw_only=True, gc=False):
    """The answer to a control request, in either direction."""

    subtype: str | None = None
    request_id: str | None = None
    raw_response: Raw = field(default=ABSENT, name="response")
    error: str | None = None
    error_code: str | Number | None = None

    @property
    def response(self) -> Any:
        """The content of the response; a success may have none."""
        return parse_or_none(self.raw_response)


# These decoders are made when a stream is read: transcripts have no such frames.
@cache
def _asks() -> msgspec.json.Decoder[ClientAsks]:
    return json_decoder(ClientAsks)


@cache
def _answer() -> msgspec.json.Decoder[HostAnswer]:
    return json_decoder(HostAnswer)


def question_of(frame: ControlRequest) -> ClientAsks | None:
    """The client's question; None if it does not have the shape we know."""
    try:
        return _asks().decode(frame.request)
    except FAILURES:
        return None


def answer_of(frame: ControlResponse) -> HostAnswer | None:
    try:
        return _answer().decode(frame.response)
    except FAILURES:
        return None


class _ApiEvent(Struct, frozen=True, kw_only=True, gc=False, tag_field="type"):
    pass


class MessageStart(_ApiEvent, tag="message_start", frozen=True):
    message: ApiMessage | None = None


class BlockStart(_ApiEvent, tag="content_block_start", frozen=True):
    index: int = 0
    content_block: Raw = ABSENT

    @property
    def block(self) -> Block:
        """The block as it begins: its type and id, without any content yet."""
        return _block_in(self.content_block)


class ApiDelta(Struct, frozen=True, kw_only=True, gc=False):
    """A fragment; the type of its block determines which field carries it."""

    type: str | None = None
    thinking: str | None = None
    text: str | None = None
    partial_json: str | None = None
    signature: str | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    estimated_tokens: Number | None = None


class BlockDelta(_ApiEvent, tag="content_block_delta", frozen=True):
    index: int = 0
    delta: ApiDelta | None = None


class BlockStop(_ApiEvent, tag="content_block_stop", frozen=True):
    index: int = 0


class MessageDelta(_ApiEvent, tag="message_delta", frozen=True):
    """The end of a message: why it ended, and its final counts."""

    delta: ApiDelta | None = None
    usage: Usage | None = None


class MessageStop(_ApiEvent, tag="message_stop", frozen=True):
    pass


ApiEvent = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop


@cache
def _event() -> msgspec.json.Decoder[ApiEvent]:
    return json_decoder(ApiEvent)


@cache
def _block() -> msgspec.json.Decoder[Block]:
    return json_decoder(Block)


def _block_in(raw: Raw | bytes) -> Block:
    try:
        block: Block = _block().decode(raw)
    except FAILURES:
        return unknown_value(UnknownBlock, parse_or_none(raw))
    return block


def block_of(value: Any) -> Block:
    """A block given as plain values."""
    return _block_in(msgspec.json.encode(value))


def decode_api_event(raw: Raw) -> ApiEvent | None:
    """The event; None if no type describes it. Its frame still has the bytes."""
    try:
        event: ApiEvent = _event().decode(raw)
    except FAILURES:
        return None
    return event


def whole_block(start: Block, text: str, signature: str | None = None) -> Block:
    """A block made of how it began and of its fragments."""
    if isinstance(start, Thinking):
        return Thinking(thinking=start.as_text + text, signature=signature or start.signature)
    if isinstance(start, Text):
        return Text(text=start.as_text + text)
    if isinstance(start, ToolUse) and text:
        return replace(start, raw_input=_input(text))
    return start


def _input(text: str) -> Raw:
    """The input of a call; text that is not JSON is wrapped the way the client does it."""
    raw = text.encode("utf-8", "replace")
    if parse_or_none(raw) is not None:
        return Raw(raw)
    return Raw(msgspec.json.encode({"__unparsedToolInput": {"raw": raw.decode(), "len": len(text)}}))


def message_of_events(text: str) -> ApiMessage | None:
    """The message that the text of an event stream (`data: {...}` lines) tells; None if it tells none."""
    message: ApiMessage | None = None
    starts: dict[int, Block] = {}
    pieces: dict[int, list[ApiDelta]] = {}
    for line in text.splitlines():
        event = decode_api_event(Raw(line[5:].strip().encode("utf-8", "replace"))) if line.startswith("data:") else None
        if isinstance(event, MessageStart):
            message = event.message or ApiMessage()
        elif isinstance(event, BlockStart):
            starts[event.index] = event.block
        elif isinstance(event, BlockDelta) and event.delta is not None:
            pieces.setdefault(event.index, []).append(event.delta)
        elif isinstance(event, MessageDelta):
            message = _ended(message or ApiMessage(), event)
    blocks = [_of_pieces(start, pieces.get(index, ())) for index, start in starts.items()]
    return replace(message, content=blocks) if message is not None else None


def _of_pieces(start: Block, pieces: Iterable[ApiDelta]) -> Block:
    text, signature = "", None
    for piece in pieces:
        text += piece.thinking or piece.text or piece.partial_json or ""
        signature = piece.signature or signature
    return whole_block(start, text, signature)


def _ended(message: ApiMessage, event: MessageDelta) -> ApiMessage:
    known, final = message.usage or Usage(), event.usage
    names = Usage.__struct_fields__ if final is not None else ()
    counts = {name: value for name in names if (value := getattr(final, name)) not in (None, ABSENT)}
    reason = event.delta.stop_reason if event.delta is not None else None
    return replace(message, usage=replace(known, **counts), stop_reason=reason or message.stop_reason)
