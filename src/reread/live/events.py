"""The events of a stream.

Every block of a message is delivered whole exactly once (`Thinking`, `Text`, `ToolCall`, `OtherBlock`), after its
deltas if the client sends them; or, if it was shown and taken back, as `Withdrawn`. Nothing is dropped: a frame that
no other event describes becomes an `UnknownFrame`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, TypedDict

from msgspec import Struct

from reread.records import Record, Usage
from reread.sessions.captured import Withdrawal as Withdrawal


class EventPlace(TypedDict):
    """The session and agent that an event belongs to."""

    session: str | None
    agent: str | None


class Event(Struct, frozen=True, kw_only=True, gc=False, tag_field="event"):
    session: str | None = None
    agent: str | None = None
    """The call that started the subagent this event is from; None for the main conversation."""
    message_id: str | None = None
    index: int | None = None
    """Number of the block in its message."""


class SessionStarted(Event, tag="session", frozen=True, kw_only=True):
    """The first frame of a session; sent again when its content changes."""

    model: str | None = None
    cwd: str | None = None
    version: str | None = None
    permission_mode: str | None = None
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[Any, ...] = ()


class Delta(Event, frozen=True, kw_only=True):
    text: str


class ThinkingDelta(Delta, tag="thinking_delta", frozen=True, kw_only=True):
    pass


class TextDelta(Delta, tag="text_delta", frozen=True, kw_only=True):
    pass


class ToolDelta(Delta, tag="tool_delta", frozen=True, kw_only=True):
    """A fragment of a call's input, as JSON text."""

    id: str | None = None
    name: str | None = None


class Whole(Event, frozen=True, kw_only=True):
    """A complete block. `uuid` is that of its line in the transcript."""

    uuid: str | None = None
    record: Record | None = None
    """The frame it came in; None if only its fragments came."""


class Thinking(Whole, tag="thinking", frozen=True, kw_only=True):
    text: str
    signature: str | None = None
    is_redacted: bool = False
    duration_ms: float | None = None


class Text(Whole, tag="text", frozen=True, kw_only=True):
    text: str
    is_synthetic: bool = False
    """Whether the client wrote it in the model's name, for example an API error."""


class ToolCall(Whole, tag="tool", frozen=True, kw_only=True):
    id: str | None
    name: str
    input: Any
    is_server: bool = False
    """Whether the API itself runs the tool."""


class OtherBlock(Whole, tag="block", frozen=True, kw_only=True):
    """Any other block: a server tool's result, an image, or a block of unknown type."""

    type: str
    value: Any


class Withdrawn(Event, tag="withdrawn", frozen=True, kw_only=True):
    """The shown part of a block that the client took back: it is in no transcript and in no sum."""

    kind: str
    """`thinking`, `text`, `tool` or another block type."""
    text: str
    reason: Withdrawal
    id: str | None = None
    name: str | None = None

    @property
    def uuid(self) -> str | None:
        """Made by us: the block has no line in a transcript, so the client gave it no uuid."""
        return f"{self.message_id}.{self.index}" if self.message_id is not None else None


class ToolResult(Event, tag="tool_result", frozen=True, kw_only=True):
    id: str | None
    text: str
    is_error: bool
    uuid: str | None = None
    result: Any = None
    """The structured form of the result: a patch, an exit code, answers, ..."""
    images: int = 0
    record: Record | None = None


class Prompt(Event, tag="prompt", frozen=True, kw_only=True):
    """A user line other than a tool result: a prompt that was sent, an agent's prompt, or a note of the client."""

    text: str
    uuid: str | None = None
    is_replay: bool = False
    is_synthetic: bool = False
    images: int = 0
    record: Record | None = None


PLAN_TOOL = "ExitPlanMode"
RULE_PLACES = ("session", "localSettings", "projectSettings", "userSettings")
"""Where a rule may be kept, narrowest scope first."""


def _added_rules(suggestion: Any) -> list[dict[str, Any]]:
    """The allow rules that a suggestion would add; none for any other suggestion."""
    if not isinstance(suggestion, dict) or suggestion.get("type") != "addRules":
        return []
    rules = suggestion.get("rules") if suggestion.get("behavior", "allow") == "allow" else None
    return rules if isinstance(rules, list) and all(isinstance(rule, dict) for rule in rules) else []


class Permission(Event, tag="permission", frozen=True, kw_only=True):
    """The client asks whether a tool may run. `AskUserQuestion` and `ExitPlanMode` arrive the same way."""

    request_id: str
    tool: str
    input: Any
    id: str | None = None
    """Id of the call."""
    description: str | None = None
    suggestions: tuple[Any, ...] = ()
    """Rules and other changes that may be remembered, in the client's own format."""
    blocked_path: str | None = None
    reason: str | None = None
    plan: str | None = None
    """The plan that `ExitPlanMode` asks about. 2.1.325 asks without it: then it is taken from the plan file, the call
    or the reply before."""
    plan_file: str | None = None
    """The client's plan file, if the stream names it."""

    @property
    def narrowest(self) -> int | None:
        """Index of the suggested rule that allows least, ideally only this call; None if none is an allow rule."""
        found = [(width, number) for number, each in enumerate(self.suggestions) if (width := self._width(each))]
        return min(found)[1] if found else None

    def _width(self, suggestion: Any) -> tuple[bool, int, int, int] | None:
        """How much an allow rule allows, for sorting; None for any other suggestion, such as a folder or a mode."""
        rules = _added_rules(suggestion)
        if not rules:
            return None
        contents = [str(rule.get("ruleContent") or "") for rule in rules]
        reach = max(0 if text and "*" not in text else 1 if text else 2 for text in contents)
        is_other = any(rule.get("toolName") != self.tool for rule in rules)
        destination = str(suggestion.get("destination"))
        where = RULE_PLACES.index(destination) if destination in RULE_PLACES else len(RULE_PLACES)
        return is_other, reach, where, len(rules)

    @property
    def is_question(self) -> bool:
        return self.tool == "AskUserQuestion"

    @property
    def is_plan(self) -> bool:
        return self.tool == PLAN_TOOL


class PermissionVoid(Event, tag="permission_void", frozen=True, kw_only=True):
    """The permission request needs no answer any more: remove it from the screen."""

    request_id: str


class PermissionAnswered(Event, tag="permission_answered", frozen=True, kw_only=True):
    """The host's answer to a permission request."""

    request_id: str
    decision: Literal["allow", "deny", "error"]
    tool: str | None = None
    id: str | None = None
    message: str | None = None
    is_edited: bool = False
    """Whether the host changed the model's input."""
    edited_input: Any = None
    remembered: tuple[Any, ...] = ()
    rule: str | None = None
    """The rule of ours that let the call through unasked."""


class HookCallback(Event, tag="hook", frozen=True, kw_only=True):
    request_id: str
    callback: str
    input: Any
    id: str | None = None


class ControlQuestion(Event, tag="control_request", frozen=True, kw_only=True):
    """A control request of the client that is neither a permission request nor a hook."""

    request_id: str
    subtype: str | None
    data: Any


class ControlAnswer(Event, tag="control_response", frozen=True, kw_only=True):
    """The client's answer to a control request of ours."""

    request_id: str
    ok: bool
    response: Any = None
    error: str | None = None


class MessageUsage(Event, tag="usage", frozen=True, kw_only=True):
    """The final token counts of a message."""

    usage: Usage
    stop_reason: str | None = None
    model: str | None = None
    ttft_ms: float | None = None


class Notice(Event, tag="notice", frozen=True, kw_only=True):
    """Anything else: `interrupted`, `compacted`, `retry`, `status`, `task`, `hook`, `thinking_tokens`, ..."""

    what: str
    text: str = ""
    record: Record

    @property
    def data(self) -> dict[str, Any]:
        """All fields of the frame."""
        return self.record.data


class TurnResult(Event, tag="result", frozen=True, kw_only=True):
    """The end of a turn. One prompt may have several if agents work in the background."""

    is_error: bool
    subtype: str | None = None
    text: str = ""
    terminal_reason: str | None = None
    cost_usd: Decimal | None = None
    """The client's own total for the process so far."""
    turn_cost_usd: Decimal | None = None
    """The increase of that total since the previous result."""
    usage: Usage | None = None
    models: Any = None
    duration_ms: float | None = None
    turns: int | None = None
    errors: tuple[Any, ...] = ()
    denials: tuple[Any, ...] = ()
    origin: Any = None
    prompts: tuple[str, ...] = ()
    """The uuids of the prompts that the turn took in; clients before 2.1.325 do not name them."""
    structured_output: Any = None
    """The answer by `ClientOptions.output_schema`."""
    record: Record | None = None
    """The frame."""


class UnknownFrame(Event, tag="unknown", frozen=True, kw_only=True):
    """A frame that no other event describes, or a line that is not JSON; the record has its bytes."""

    record: Record
    reason: str


class Trouble(Event, tag="trouble", frozen=True, kw_only=True):
    """A failure on our side, not the client's: a hook raised, or the capture file cannot be written."""

    what: Literal["hook", "capture", "permission"]
    text: str
