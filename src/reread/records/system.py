"""`system` lines: one class per subtype, for transcript and stream alike.

A new subtype needs a class here; an unknown one becomes a plain `System` and keeps its place in the tree.
"""

# ruff: noqa: SIM905  with a word a line they would take a page

from typing import Any

from msgspec import Raw, Struct, field

from .base import Number, Record
from .lenient import ABSENT

HOOK_FAILED = "Failed with non-blocking status code: "
"""How the client begins its line about a hook that failed without blocking anything."""


class System(Record, tag="system", frozen=True):
    """A notice without a subtype (hooks, 1.0.x) or with one we do not know."""

    subtype: str | None = None
    content: str | None = None
    level: str | None = None
    tool_use_id: str | None = field(default=None, name="toolUseID")

    @property
    def text(self) -> str:
        return self.content or ""


class TurnDuration(System, tag="system", frozen=True):
    duration_ms: Number | None = None
    message_count: int | None = None
    pending_background_agent_count: int | None = None
    pending_workflow_count: int | None = None


class HookInfo(Struct, frozen=True, gc=False, rename="camel"):
    command: str | None = None
    duration_ms: Number | None = None


class StopHookSummary(System, tag="system", frozen=True):
    hook_count: int | None = None
    hook_infos: list[HookInfo] | None = None
    hook_errors: list[Any] | None = None
    failed_hook_error_indexes: list[int] | None = None
    hook_additional_context: list[Any] | None = None
    prevented_continuation: bool | None = None
    stop_reason: str | None = None
    has_output: bool | None = None
    hook_label: str | None = None
    total_duration_ms: Number | None = None

    @property
    def failures(self) -> list[str]:
        """The messages of hooks that failed without blocking anything."""
        return [error for place, error in self._errors_by_place() if self._is_failure(place, error)]

    @property
    def blocks(self) -> list[str]:
        """The messages of hooks that kept the turn from ending."""
        return [error for place, error in self._errors_by_place() if not self._is_failure(place, error)]

    def _errors_by_place(self) -> list[tuple[int, str]]:
        return [(place, error) for place, error in enumerate(self.hook_errors or ()) if isinstance(error, str)]

    def _is_failure(self, place: int, error: str) -> bool:
        """Since 2.1.327 the line lists its failures; before, they are known by how the client begins the message."""
        if self.failed_hook_error_indexes is not None:
            return place in self.failed_hook_error_indexes
        return error.startswith(HOOK_FAILED)


class AwaySummary(System, tag="system", frozen=True):
    """A recap written while the person was away."""


class Informational(System, tag="system", frozen=True):
    prevent_continuation: bool | None = None


class ApiError(System, tag="system", frozen=True):
    error: Raw = ABSENT
    retry_in_ms: Number | None = None
    retry_attempt: int | None = None
    max_retries: int | None = None
    cause: Raw = ABSENT
    source: str | None = None


class PreservedSegment(Struct, frozen=True, gc=False, rename="camel"):
    tail_uuid: str | None = None


class PreservedMessages(Struct, frozen=True, gc=False, rename="camel"):
    uuids: list[str] | None = None


class CompactMetadata(Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    trigger: str | None = None
    pre_tokens: int | None = None
    post_tokens: int | None = None
    duration_ms: Number | None = None
    preserved_segment: PreservedSegment | None = None
    preserved_messages: PreservedMessages | None = None


class CompactBoundary(System, tag="system", frozen=True):
    """Where the conversation was summarised; `parentUuid` is always null here."""

    logical_parent_uuid: str | None = None
    """The last line before it; missing from the file in 31 of 70 recorded cases."""
    compact_metadata: CompactMetadata | None = None


class MicrocompactMetadata(Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    trigger: str | None = None
    pre_tokens: int | None = None


class MicrocompactBoundary(System, tag="system", frozen=True):
    """Old tool outputs were cleared. Unlike `CompactBoundary`, it is an ordinary line of the chain."""

    microcompact_metadata: MicrocompactMetadata | None = None


class CommandRun(Struct, frozen=True, gc=False):
    command: str | None = None
    args: str | None = None


class LocalCommand(System, tag="system", frozen=True):
    command_run: CommandRun | None = None
    context_usage: Raw = ABSENT


class BridgeStatus(System, tag="system", frozen=True):
    url: str | None = None


class ModelConsentFallback(System, tag="system", frozen=True):
    choice: str | None = None
    fallback_model: str | None = None


class ScheduledTaskFire(System, tag="system", frozen=True):
    pass


class AgentsKilled(System, tag="system", frozen=True):
    pass


class Init(System, tag="system", frozen=True):
    """The first frame of a stream, and again at every turn."""

    model: str | None = None
    tools: list[str] | None = None
    mcp_servers: list[Any] | None = field(default=None, name="mcp_servers")
    permission_mode: str | None = None
    slash_commands: list[Any] | None = field(default=None, name="slash_commands")
    api_key_source: str | None = None
    claude_code_version: str | None = field(default=None, name="claude_code_version")
    agents: list[Any] | None = None
    skills: list[Any] | None = None
    plugins: list[Any] | None = None
    output_style: str | None = field(default=None, name="output_style")
    analytics_disabled: bool | None = field(default=None, name="analytics_disabled")
    fast_mode_state: str | None = field(default=None, name="fast_mode_state")
    capabilities: Raw = ABSENT
    original_cwd: Raw = field(default=ABSENT, name="original_cwd")
    per_turn_effort_active: Raw = field(default=ABSENT, name="per_turn_effort_active")
    user_message_uuids: Raw = field(default=ABSENT, name="user_message_uuids")


class StatusLineRecord(System, tag="system", frozen=True):
    status: str | None = None
    permission_mode: str | None = None
    user_message_uuids: list[str] | None = field(default=None, name="user_message_uuids")


class ThinkingTokens(System, tag="system", frozen=True):
    estimated_tokens: int | None = field(default=None, name="estimated_tokens")


class ApiRetry(System, tag="system", frozen=True):
    attempt: int | None = None
    max_retries: int | None = field(default=None, name="max_retries")
    retry_delay_ms: Number | None = field(default=None, name="retry_delay_ms")
    error_status: int | None = field(default=None, name="error_status")
    error: Raw = ABSENT


class TaskEvent(System, tag="system", frozen=True):
    """A background task started, progressed, changed or ended."""

    task_id: str | None = field(default=None, name="task_id")
    call_id: str | None = field(default=None, name="tool_use_id")
    description: str | None = None
    task_type: str | None = field(default=None, name="task_type")
    subagent_type: str | None = field(default=None, name="subagent_type")
    prompt: str | None = None
    usage: Raw = ABSENT
    patch: Raw = ABSENT
    status: str | None = None
    summary: str | None = None
    summary_is_report: bool | None = field(default=None, name="summary_is_report")
    output_file: str | None = field(default=None, name="output_file")
    last_tool_name: str | None = field(default=None, name="last_tool_name")
    run_id: str | None = field(default=None, name="run_id")
    spawn_depth: Raw = field(default=ABSENT, name="spawn_depth")
    parent_task_id: str | None = field(default=None, name="parent_task_id")


class HookEvent(System, tag="system", frozen=True):
    hook_name: str | None = field(default=None, name="hook_name")
    hook_event: str | None = field(default=None, name="hook_event")
    output: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = field(default=None, name="exit_code")
    outcome: str | None = None


class Notification(System, tag="system", frozen=True):
    key: str | None = None
    notice: str | None = field(default=None, name="text")
    priority: str | None = None

    @property
    def text(self) -> str:
        return self.notice or self.content or ""


class BackgroundTasksChanged(System, tag="system", frozen=True):
    tasks: Raw = ABSENT


class PermissionDenied(System, tag="system", frozen=True):
    tool_name: str | None = field(default=None, name="tool_name")
    message: str | None = None
    decision_reason: str | None = field(default=None, name="decision_reason")


class SessionTitleChanged(System, tag="system", frozen=True):
    title: str | None = None


class SessionStateChanged(System, tag="system", frozen=True):
    state: str | None = None


class ModelRefusalNoFallback(System, tag="system", frozen=True):
    """The model declined, and no fallback model was asked."""

    request_id: str | None = None


class ModelFallback(System, tag="system", frozen=True):
    """Another model answers, because the first failed or declined."""

    trigger: str | None = None
    direction: str | None = None
    scope: str | None = None
    fallback_model: str | None = None
    request_id: str | None = None
    retracted_message_uuids: list[str] | None = None


class SessionWritesLost(System, tag="system", frozen=True):
    """The client could not write all of a transcript or of its settings."""

    error_code: str | None = None
    lost: list[str] | None = None

    @property
    def text(self) -> str:
        what = " and ".join(each.replace("_", " ") for each in self.lost or ())
        return f"{what} ({self.error_code})" if what and self.error_code else what


class Bookkeeping(System, tag="system", frozen=True):
    """For other programs; not used, but described so that it does not count as unknown."""


_BOOKKEEPING_SUBTYPES = """
    vcs_state_changed code_change_published permission_check_status commands_changed per_turn_effort_changed
    turn_preempted memory_recall memory_saved files_persisted task_summary post_turn_summary elicitation_complete
    plugin_install control_request_progress
    """.split()

SYSTEM_SUBTYPES: dict[str, type[System]] = {
    "turn_duration": TurnDuration,
    "stop_hook_summary": StopHookSummary,
    "away_summary": AwaySummary,
    "informational": Informational,
    "api_error": ApiError,
    "compact_boundary": CompactBoundary,
    "microcompact_boundary": MicrocompactBoundary,
    "bridge_status": BridgeStatus,
    "model_consent_fallback": ModelConsentFallback,
    "scheduled_task_fire": ScheduledTaskFire,
    "agents_killed": AgentsKilled,
    "init": Init,
    "status": StatusLineRecord,
    "thinking_tokens": ThinkingTokens,
    "api_retry": ApiRetry,
    "notification": Notification,
    "model_refusal_no_fallback": ModelRefusalNoFallback,
    "background_tasks_changed": BackgroundTasksChanged,
    "permission_denied": PermissionDenied,
    "session_title_changed": SessionTitleChanged,
    "session_state_changed": SessionStateChanged,
    "session_writes_lost": SessionWritesLost,
    **dict.fromkeys(("local_command", "local_command_output"), LocalCommand),
    **dict.fromkeys(("task_started", "task_progress", "task_updated", "task_notification"), TaskEvent),
    **dict.fromkeys(("hook_started", "hook_progress", "hook_response"), HookEvent),
    **dict.fromkeys(("model_fallback", "model_refusal_fallback"), ModelFallback),
    **dict.fromkeys(_BOOKKEEPING_SUBTYPES, Bookkeeping),
}
