"""The lines of the conversation itself: from the person, the tools and the model."""

from typing import Any

from msgspec import Raw, Struct, field

from reread.decoders import json_decoder

from .base import Number, Record
from .content import Block, Content, Usage, text_of
from .json_parts import object_of, text_or_none
from .lenient import ABSENT, FAILURES, OURS, parse_or_none

SYNTHETIC_MODEL = "<synthetic>"
"""The model name on the client's own notices: no request was made, no tokens were used."""


class CacheMissReason(Struct, frozen=True, gc=False):
    type: str | None = None
    cache_missed_input_tokens: int | None = None


class Diagnostics(Struct, frozen=True, gc=False):
    cache_miss_reason: CacheMissReason | None = None


class ApiMessage(Struct, frozen=True, kw_only=True, gc=False, repr_omit_defaults=True):
    """The API's message object; on user lines only `role` and `content` are there."""

    id: str | None = None
    type: str | None = None
    role: str | None = None
    model: str | None = None
    content: Content = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None
    container: Raw = ABSENT
    provider: str | None = None
    diagnostics: Diagnostics | None = None


_NO_MESSAGE = ApiMessage()


class Spoken(Record, frozen=True):
    """A line that holds a message."""

    message: ApiMessage | None = None
    is_api_error_message: bool | None = None
    retracted_message_uuids: list[str] | None = None
    """Lines before it that the client took back (2.1.327)."""
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")
    """In a stream: the call that started the subagent that wrote this."""

    @property
    def api_message(self) -> ApiMessage:
        """The message; an empty one where the line has none."""
        return self.message if self.message is not None else _NO_MESSAGE

    @property
    def content(self) -> Content:
        return self.message.content if self.message is not None else None

    @property
    def blocks(self) -> list[Block]:
        """The content blocks; empty where the content is plain text."""
        message = self.message
        if message is None or type(message.content) is not list:
            return []
        return message.content

    @property
    def text(self) -> str:
        return text_of(self.content)


class Origin(Struct, frozen=True, gc=False, rename="camel"):
    kind: str | None = None


class ThinkingMetadata(Struct, frozen=True, gc=False, rename="camel"):
    max_thinking_tokens: Number | None = None
    level: str | None = None
    disabled: bool | None = None
    triggers: list[Any] | None = None


class PermissionDecision(Struct, frozen=True, gc=False, rename="camel"):
    decision: str | None = None
    source: str | None = None


class User(Spoken, tag="user", frozen=True):
    """What was sent to the model in the user's role: prompts, but far more often tool results."""

    raw_result: Raw = field(default=ABSENT, name="toolUseResult")
    source_tool_assistant_uuid: str | None = field(default=None, name="sourceToolAssistantUUID")
    source_tool_use_id: str | None = field(default=None, name="sourceToolUseID")
    tool_use_id: str | None = field(default=None, name="toolUseID")
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    permission_mode: str | None = None
    prompt_source: str | None = None
    origin: Origin | None = None
    thinking_metadata: ThinkingMetadata | None = None
    todos: list[Any] | None = None
    plan_content: str | None = None
    image_paste_ids: list[int] | None = None
    interrupted_message_id: str | None = None
    tool_denial_kind: str | None = None
    tool_denial_before_run: bool | None = None
    tool_denial_unanswered: str | None = None
    """Why a permission request had no answer: `stream-closed` (2.1.327)."""
    sent_as_uuid: str | None = None
    """The uuid it was sent with, where the line has another one: later lines may name either (2.1.327)."""
    stored_anew_for: str | None = None
    dropped_prompt_uuids: list[str] | None = None
    """On an interruption: the prompts that were stopped and have no line of their own (2.1.327)."""
    user_feedback: str | None = None
    permission_decision: PermissionDecision | None = None
    classifier_meta_lines: str | None = None
    is_replay: bool | None = None
    is_synthetic: bool | None = None
    tool_result_meta: Raw = field(default=ABSENT, name="tool_result_meta")
    subagent_type: str | None = field(default=None, name="subagent_type")
    task_description: str | None = field(default=None, name="task_description")

    holds_persons_words: Raw = ABSENT
    refused_message_id: str | None = None

    @property
    def other_uuids(self) -> tuple[str, ...]:
        """Further names of the line, by which later ones may follow it."""
        return (*([self.sent_as_uuid] if self.sent_as_uuid else []), *(self.dropped_prompt_uuids or ()))

    @property
    def is_persons_answer(self) -> bool:
        """Whether the tool result is what the person wrote when they turned the call down (2.1.325)."""
        return bytes(self.holds_persons_words) == b"true"

    @property
    def tool_use_result(self) -> Any:
        """The structured twin of the tool result: an object, a string or a list."""
        return parse_or_none(self.raw_result)


class ToolResultLine(User, tag="tool_result", frozen=True):
    """A tool result as a root type: described in old documents, seen only in hand-made files."""


class Assistant(Spoken, tag="assistant", frozen=True):
    """Usually one content block of an API response; all lines with the same `message.id` are the response."""

    request_id: str | None = None
    request_session_id: str | None = None
    """The session that made the request, where the line is a fork's copy (2.1.327)."""
    error: Raw = ABSENT
    api_error: str | None = None
    api_error_status: Number | None = None
    api_error_type: str | None = None
    effort: str | None = None
    per_turn_effort: str | None = None
    attribution_agent: str | None = None
    attribution_skill: str | None = None
    attribution_plugin: str | None = None
    attribution_mcp_server: str | None = None
    attribution_mcp_tool: str | None = None
    is_aborted_mid_stream: bool | None = None
    api_block_index: int | None = None
    requested_model: str | None = None
    thinking_duration_ms: Number | None = None
    thinking_display: str | None = None
    tool_input_stream_ms: Number | None = None
    failed_response_had_no_tool_call: bool | None = None
    thinking_metadata: ThinkingMetadata | None = None
    todos: list[Any] | None = None
    cost_usd: Number | None = field(default=None, name="costUSD")
    """Written by 1.0.x clients: a hint, never to be relied on."""
    duration_ms: Number | None = None
    subagent_type: str | None = field(default=None, name="subagent_type")
    task_description: str | None = field(default=None, name="task_description")

    # Of frames: which messages it answers, and what a command of the client printed.
    user_message_uuid: str | None = field(default=None, name="user_message_uuid")
    user_message_uuids: Raw = field(default=ABSENT, name="user_message_uuids")
    context_usage: Raw = field(default=ABSENT, name="context_usage")

    @property
    def is_synthetic(self) -> bool:
        return self.message is not None and self.message.model == SYNTHETIC_MODEL


class ResultTwin(Struct, frozen=True, gc=False, rename="camel"):
    interrupted: bool | None = None
    persisted_output_path: str | None = None
    agent_id: str | None = None
    message: str = field(default="", name=f"{OURS}message")
    """The whole text, where the twin is a string instead of an object: `Error: ...`, `User rejected tool use`."""


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
        return ResultTwin(message=text_or_none(parse_or_none(raw)) or "")
    return _NOTHING


def _piecewise(value: object) -> ResultTwin:
    fields = object_of(value)
    return ResultTwin(
        interrupted=fields.get("interrupted") is True,
        persisted_output_path=text_or_none(fields.get("persistedOutputPath")),
        agent_id=text_or_none(fields.get("agentId")),
    )
