"""What a stream amounts to, one event after the other.

Every block of a message comes whole exactly once (`Thinking`, `Text`, `ToolCall`, `OtherBlock`), after its deltas where
the client sends them; or it comes as `Withdrawn`, when it was shown but taken back. Nothing is dropped: a frame that no
event describes is an `UnknownFrame`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, TypedDict

from msgspec import Struct

from reread.records import Record, Usage
from reread.sessions.captured import Withdrawal as Withdrawal


class EventPlace(TypedDict):
    """Whose event it is."""

    session: str | None
    agent: str | None


class Event(Struct, frozen=True, kw_only=True, gc=False, tag_field="event"):
    session: str | None = None
    agent: str | None = None
    """The call that started the subagent this came from; None for the conversation itself."""
    message_id: str | None = None
    index: int | None = None
    """Which block of the message."""


class SessionStarted(Event, tag="session", frozen=True, kw_only=True):
    """The first frame of a session, and again where what it says has changed."""

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
    """A fragment of the JSON of a call's input."""

    id: str | None = None
    name: str | None = None


class Whole(Event, frozen=True, kw_only=True):
    """A block that is complete. `uuid` is that of its line in the transcript."""

    uuid: str | None = None
    record: Record | None = None
    """The frame it came in; None where only its fragments came."""


class Thinking(Whole, tag="thinking", frozen=True, kw_only=True):
    text: str
    signature: str | None = None
    is_redacted: bool = False
    duration_ms: float | None = None


class Text(Whole, tag="text", frozen=True, kw_only=True):
    text: str
    is_synthetic: bool = False
    """In the model's name, but said by the client: an API error, for example."""


class ToolCall(Whole, tag="tool", frozen=True, kw_only=True):
    id: str | None
    name: str
    input: Any
    is_server: bool = False
    """Whether the API runs it by itself."""


class OtherBlock(Whole, tag="block", frozen=True, kw_only=True):
    """Any other block: a server tool's result, an image, or one of an unknown type."""

    type: str
    value: Any


class Withdrawn(Event, tag="withdrawn", frozen=True, kw_only=True):
    """What was shown of a block that the client took back: it is in no transcript and counts nothing."""

    kind: str
    """`thinking`, `text`, `tool` or another type of block."""
    text: str
    reason: Withdrawal
    id: str | None = None
    name: str | None = None

    @property
    def uuid(self) -> str | None:
        """Made up: it has no line in a transcript, and so none of the client's."""
        return f"{self.message_id}.{self.index}" if self.message_id is not None else None


class ToolResult(Event, tag="tool_result", frozen=True, kw_only=True):
    id: str | None
    text: str
    is_error: bool
    uuid: str | None = None
    result: Any = None
    """The structured twin: a patch, an exit code, answers, ..."""
    images: int = 0
    record: Record | None = None


class Prompt(Event, tag="prompt", frozen=True, kw_only=True):
    """A user line that is no tool result: a prompt that was sent, a prompt of an agent, a note of the client."""

    text: str
    uuid: str | None = None
    is_replay: bool = False
    is_synthetic: bool = False
    images: int = 0
    record: Record | None = None


PLAN_TOOL = "ExitPlanMode"
RULE_PLACES = ("session", "localSettings", "projectSettings", "userSettings")
"""Where a rule may be kept, the one that reaches least first."""


class Permission(Event, tag="permission", frozen=True, kw_only=True):
    """The client asks whether a tool may run; `AskUserQuestion` and `ExitPlanMode` come the same way."""

    request_id: str
    tool: str
    input: Any
    id: str | None = None
    """Of the call."""
    description: str | None = None
    suggestions: tuple[Any, ...] = ()
    """What may be remembered, as the client puts it."""
    blocked_path: str | None = None
    reason: str | None = None
    plan: str | None = None
    """The plan that `ExitPlanMode` is about. 2.1.325 asks without it: then it is what the call, the plan file or the
    reply before said."""
    plan_file: str | None = None
    """Where the client keeps the plan, as far as the stream tells."""

    @property
    def narrowest(self) -> int | None:
        """Which suggestion opens least: a rule, best one for this very call; None where only wider ones are there."""
        found = [(width, number) for number, each in enumerate(self.suggestions) if (width := self._width(each))]
        return min(found)[1] if found else None

    def _width(self, suggestion: Any) -> tuple[bool, int, int, int] | None:
        """How much a rule opens; None for a folder, a mode or whatever else is no rule."""
        if not isinstance(suggestion, dict) or suggestion.get("type") != "addRules":
            return None
        rules = suggestion.get("rules")
        if suggestion.get("behavior", "allow") != "allow" or not isinstance(rules, list) or not rules:
            return None
        if not all(isinstance(rule, dict) for rule in rules):
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
    """The question needs no answer any more: withdraw it from the screen."""

    request_id: str


class PermissionAnswered(Event, tag="permission_answered", frozen=True, kw_only=True):
    """What the host answered."""

    request_id: str
    decision: Literal["allow", "deny", "error"]
    tool: str | None = None
    id: str | None = None
    message: str | None = None
    is_edited: bool = False
    """Whether the tool ran with another input than the model gave it."""
    edited_input: Any = None
    remembered: tuple[Any, ...] = ()


class HookCallback(Event, tag="hook", frozen=True, kw_only=True):
    request_id: str
    callback: str
    input: Any
    id: str | None = None


class ControlQuestion(Event, tag="control_request", frozen=True, kw_only=True):
    """A question of the client that is neither about a tool nor a hook."""

    request_id: str
    subtype: str | None
    data: Any


class ControlAnswer(Event, tag="control_response", frozen=True, kw_only=True):
    """The answer to a question of ours."""

    request_id: str
    ok: bool
    response: Any = None
    error: str | None = None


class MessageUsage(Event, tag="usage", frozen=True, kw_only=True):
    """The final counts of a message."""

    usage: Usage
    stop_reason: str | None = None
    model: str | None = None
    ttft_ms: float | None = None


class Notice(Event, tag="notice", frozen=True, kw_only=True):
    """Something else happened: `interrupted`, `compacted`, `retry`, `status`, `task`, `hook`, `thinking_tokens`, ..."""

    what: str
    text: str = ""
    record: Record

    @property
    def data(self) -> dict[str, Any]:
        """All that the frame says."""
        return self.record.data


class TurnResult(Event, tag="result", frozen=True, kw_only=True):
    """The end of a turn. There may be several for one prompt, where agents work in the background."""

    is_error: bool
    subtype: str | None = None
    text: str = ""
    terminal_reason: str | None = None
    cost_usd: Decimal | None = None
    """The client's own count, for the whole process so far."""
    turn_cost_usd: Decimal | None = None
    """The same count, since the result before."""
    usage: Usage | None = None
    models: Any = None
    duration_ms: float | None = None
    turns: int | None = None
    errors: tuple[Any, ...] = ()
    denials: tuple[Any, ...] = ()
    origin: Any = None


class UnknownFrame(Event, tag="unknown", frozen=True, kw_only=True):
    """A frame that no other event describes, or a line that is no JSON; the record has its bytes."""

    record: Record
    reason: str


class Trouble(Event, tag="trouble", frozen=True, kw_only=True):
    """Something of ours failed, not of the client's: a hook raised, the capture file cannot be written."""

    what: Literal["hook", "capture", "permission"]
    text: str
