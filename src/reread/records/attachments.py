"""`attachment` lines: what the client added to the conversation besides the person's words.

A new subtype needs a class here; an unknown one keeps its bytes.
"""

from typing import TYPE_CHECKING, Any, Union

from msgspec import Raw, Struct, defstruct, field

from .base import Number, Record
from .content import Content, text_of
from .conversation import Origin
from .json_parts import object_of, objects_in, text_or_none
from .lenient import ABSENT, UNKNOWN_TAG, Timestamp, parse_or_none, tagged


class _Attachment(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", rename="camel"):
    @property
    def as_text(self) -> str:
        return ""


class _WithContent(_Attachment, frozen=True):
    content: Any = None

    @property
    def as_text(self) -> str:
        return self.content if isinstance(self.content, str) else ""


class _WithText(_Attachment, frozen=True):
    text: str | None = None

    @property
    def as_text(self) -> str:
        return self.text or ""


class _Hook(_WithContent, frozen=True):
    hook_name: str | None = None
    hook_event: str | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    command: str | None = None
    duration_ms: Number | None = None


class HookSuccess(_Hook, tag="hook_success", frozen=True):
    pass


class HookAdditionalContext(_Hook, tag="hook_additional_context", frozen=True):
    pass


class HookSystemMessage(_Hook, tag="hook_system_message", frozen=True):
    pass


class HookNonBlockingError(_Hook, tag="hook_non_blocking_error", frozen=True):
    pass


class HookBlockingError(_Hook, tag="hook_blocking_error", frozen=True):
    blocking_error: Raw = ABSENT

    @property
    def message(self) -> str:
        """The hook's own words: a field of the error, or the error itself if it is a string."""
        error = parse_or_none(self.blocking_error)
        return text_or_none(object_of(error).get("blockingError", error)) or ""


class HookStoppedContinuation(_Hook, tag="hook_stopped_continuation", frozen=True):
    """A hook ended the turn."""

    message: str | None = None


class HookCancelled(_Hook, tag="hook_cancelled", frozen=True):
    timed_out: bool | None = None
    timeout_ms: Number | None = None


class EditedTextFile(_Attachment, tag="edited_text_file", frozen=True):
    filename: str | None = None
    snippet: str | None = None


class DeferredToolsDelta(_Attachment, tag="deferred_tools_delta", frozen=True):
    added_names: list[str] | None = None
    added_lines: list[str] | None = None


class QueuedCommand(_Attachment, tag="queued_command", frozen=True):
    """Text sent while the agent was busy. Up to 2.1.202 this is the only trace of what was typed."""

    prompt: Content = None
    command_mode: str | None = None
    timestamp: Timestamp = None
    origin: Origin | None = None
    source_uuid: str | None = field(default=None, name="source_uuid")
    delivery_id: str | None = field(default=None, name="delivery_id")
    image_paste_ids: list[int] | None = None

    @property
    def as_text(self) -> str:
        return text_of(self.prompt)


class SkillListing(_WithContent, tag="skill_listing", frozen=True):
    names: list[str] | None = None
    digests: Raw = ABSENT


class BashOutputAudienceNote(_Attachment, tag="bash_output_audience_note", frozen=True):
    tool_use_id: str | None = field(default=None, name="toolUseID")


class AgentListingDelta(_Attachment, tag="agent_listing_delta", frozen=True):
    added_types: list[str] | None = None
    added_lines: list[str] | None = None
    built_in_types: Raw = ABSENT


class McpInstructionsDelta(_Attachment, tag="mcp_instructions_delta", frozen=True):
    added_names: list[str] | None = None
    added_blocks: list[str] | None = None


class CommandPermissions(_Attachment, tag="command_permissions", frozen=True):
    allowed_tools: list[str] | None = None


class DiagnosticsAttachment(_Attachment, tag="diagnostics", frozen=True):
    files: list[Any] | None = None
    is_new: bool | None = None


class FileAttachment(_Attachment, tag="file", frozen=True):
    """A file that the person named with @."""

    filename: str | None = None
    content: Raw = ABSENT
    display_path: str | None = None

    @property
    def as_text(self) -> str:
        file = object_of(object_of(parse_or_none(self.content)).get("file"))
        return text_or_none(file.get("content")) or ""


class DirectoryAttachment(_WithContent, tag="directory", frozen=True):
    """A folder that the person named with @; its content is a listing."""

    path: str | None = None
    display_path: str | None = None


class InvokedSkills(_Attachment, tag="invoked_skills", frozen=True):
    """Skills that were used before a compaction, told to the model again."""

    skills: list[Any] | None = None


class DynamicSkill(_Attachment, tag="dynamic_skill", frozen=True):
    display_path: str | None = None


class CompanionIntro(_Attachment, tag="companion_intro", frozen=True):
    name: str | None = None


class CompactFileReference(_Attachment, tag="compact_file_reference", frozen=True):
    filename: str | None = None
    display_path: str | None = None


class GoalStatus(_Attachment, tag="goal_status", frozen=True):
    met: bool | None = None
    condition: str | None = None
    reason: str | None = None
    iterations: int | None = None
    duration_ms: Number | None = None
    tokens: Number | None = None


class _InIde(_WithContent, frozen=True):
    line_end: int | None = None
    filename: str | None = None
    display_path: str | None = None


class BackgroundTaskStatus(_Attachment, tag="task_status", frozen=True):
    """What a background task is doing, told to the model after a compaction."""

    task_id: str | None = None
    description: str | None = None
    status: str | None = None


class NestedMemory(_Attachment, tag="nested_memory", frozen=True):
    path: str | None = None
    content: Raw = ABSENT
    display_path: str | None = None


class MaxTurnsReached(_Attachment, tag="max_turns_reached", frozen=True):
    max_turns: int | None = None


class Environment(_Attachment, tag="environment", frozen=True):
    snapshot: Raw = ABSENT


class ModelAttachment(_WithText, tag="model", frozen=True):
    identity: Raw = ABSENT


class DateAttachment(_Attachment, tag="date", frozen=True):
    date: str | None = None


class SessionContext(_Attachment, tag="session_context", frozen=True):
    context: Raw = ABSENT


class RemoteSessionChange(_Attachment, tag="remote_session_change", frozen=True):
    url: str | None = None
    commit: Raw = ABSENT
    pr: Raw = ABSENT


class PromptSnapshot(_Attachment, tag="prompt_snapshot", frozen=True):
    """The client's own system prompt: kept, never shown or exported as conversation."""

    system_prompt: Raw = ABSENT
    tools: Raw = ABSENT


class UnknownCommandFallback(_Attachment, tag="unknown_command_fallback", frozen=True):
    command_name: str | None = None


class HookPermissionDecision(_Hook, tag="hook_permission_decision", frozen=True):
    decision: str | None = None


class OutOfContext(_Attachment, frozen=True):
    """What was taken out of what the model sees; the transcript still has it."""

    @property
    def removed_part(self) -> str:
        return ""


class ThinkingStripped(OutOfContext, tag="thinking_stripped", frozen=True):
    scope: str | None = None
    begins: Raw = field(default=ABSENT, name="from")

    @property
    def removed_part(self) -> str:
        return "thinking" if self.scope == "all" else "a part of the thinking"


class ToolResultsCut(OutOfContext, tag="tool_results_cut", frozen=True):
    call_ids: list[str] | None = None
    rough_tokens: Number | None = None

    @property
    def removed_part(self) -> str:
        size = f", about {self.rough_tokens:,.0f} tokens" if self.rough_tokens is not None else ""
        return f"results of tools ({len(self.call_ids or ())}{size})"


class WholeTextsWithdrawn(OutOfContext, tag="whole_texts_withdrawn", frozen=True):
    @property
    def removed_part(self) -> str:
        return "whole texts of files"


class Instructions(_WithContent, tag="instructions", frozen=True):
    """The rules that were in force."""

    files: Raw = ABSENT
    changed: Raw = ABSENT
    removed: list[str] | None = None
    reason: str | None = None

    @property
    def each_file(self) -> list[dict[str, Any]]:
        """Every file with `path` and `content`; after a change only those that changed."""
        return objects_in(parse_or_none(self.files))


class InstructionFilesNotLoaded(_Attachment, tag="instruction_files_not_loaded", frozen=True):
    paths: list[str] | None = None


class MemoryUpdate(_Attachment, tag="memory_update", frozen=True):
    source: str | None = None
    summary: str | None = None
    paths: list[str] | None = None


class TokenUsage(_Attachment, tag="token_usage", frozen=True):
    used: Number | None = None
    total: Number | None = None
    remaining: Number | None = None


class BudgetUsd(_Attachment, tag="budget_usd", frozen=True):
    used: Number | None = None
    total: Number | None = None
    remaining: Number | None = None


_PLAIN: dict[type[_Attachment], str] = {
    _Attachment: """plan_file_reference workflow_keyword_request date_change
        plan_mode plan_mode_reentry plan_mode_exit auto_mode auto_mode_exit""",
    _WithContent: "task_reminder todo_reminder",
    _WithText: "total_tokens_reminder silent_turn_reminder",
    _InIde: "selected_lines_in_ide opened_file_in_ide",
}
"""Subtypes with nothing of their own; `TaskReminder` is the type of `task_reminder`."""
for _base, _tags in _PLAIN.items():
    for _tag in _tags.split():
        _name = _tag.title().replace("_", "")
        globals()[_name] = defstruct(_name, [], bases=(_base,), module=__name__, tag=_tag, frozen=True)


class UnknownAttachment(_Attachment, tag=UNKNOWN_TAG, frozen=True):
    type_name: str | None = None
    value: Raw = ABSENT

    @property
    def as_text(self) -> str:
        fields = object_of(parse_or_none(self.value))
        found = (fields.get(key) for key in ("text", "content", "prompt", "snippet"))
        return next((text for text in found if isinstance(text, str)), "")


if TYPE_CHECKING:
    AttachmentBody = _Attachment
else:
    AttachmentBody = Union[tuple(tagged(_Attachment).values())]  # noqa: UP007  of as many as there are


class Attachment(Record, tag="attachment", frozen=True):
    attachment: AttachmentBody | None = None
    rendered: Raw = ABSENT
    """What the model was actually shown (2.1.325)."""
    rendered_role: str | None = None

    @property
    def text(self) -> str:
        return self.attachment.as_text if self.attachment is not None else ""
