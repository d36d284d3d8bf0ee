"""Lines that are not part of the conversation: titles, modes, snapshots, queues, totals, progress lines, side files.

Only progress lines have a uuid and are linked into the tree. The others apply to what follows them in the same file.
"""

from typing import TYPE_CHECKING, Any, TypeVar, Union

from msgspec import Raw, Struct, field

from .base import Number, Record
from .content import Content, text_of
from .lenient import ABSENT, UNKNOWN_TAG, Timestamp, parse_or_none, salvage, tagged


class Summary(Record, tag="summary", frozen=True):
    summary: str | None = None
    leaf_uuid: str | None = None
    """Often the uuid of a line in another file: check before use."""

    @property
    def text(self) -> str:
        return self.summary or ""


class FileBackup(Struct, frozen=True, gc=False, rename="camel"):
    backup_file_name: str | None = None
    version: int | None = None
    backup_time: Timestamp = None


class BackupSnapshot(Struct, frozen=True, gc=False, rename="camel"):
    message_id: str | None = None
    timestamp: Timestamp = None
    tracked_file_backups: dict[str, FileBackup | None] | None = None


class FileHistorySnapshot(Record, tag="file-history-snapshot", frozen=True):
    message_id: str | None = None
    is_snapshot_update: bool | None = None
    snapshot: BackupSnapshot | None = None


class FileHistoryDelta(Record, tag="file-history-delta", frozen=True):
    message_id: str | None = None
    tracking_path: str | None = None
    backup: FileBackup | None = None


class QueueOperation(Record, tag="queue-operation", frozen=True):
    operation: str | None = None
    content: Content = None
    reason: str | None = None
    command_uuid: str | None = None
    delivery_id: str | None = None

    @property
    def text(self) -> str:
        return text_of(self.content)


class PermissionMode(Record, tag="permission-mode", frozen=True):
    permission_mode: str | None = None


class Mode(Record, tag="mode", frozen=True):
    mode: str | None = None


class LastPrompt(Record, tag="last-prompt", frozen=True):
    last_prompt: str | None = None
    leaf_uuid: str | None = None
    explicit: bool | None = None


class AiTitle(Record, tag="ai-title", frozen=True):
    ai_title: str | None = None


class CustomTitle(Record, tag="custom-title", frozen=True):
    custom_title: str | None = None


class AgentName(Record, tag="agent-name", frozen=True):
    """The session's name as the person set it; the same as the custom title."""


class SessionTag(Record, tag="tag", frozen=True):
    """Set by `tagSession` of the official SDK; empty when it was taken away."""

    given: str | None = field(default=None, name="tag")


class AgentSetting(Record, tag="agent-setting", frozen=True):
    agent_setting: str | None = None


class Relocated(Record, tag="relocated", frozen=True):
    relocated_cwd: str | None = None


class Worktree(Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    original_cwd: str | None = None
    worktree_path: str | None = None
    worktree_branch: str | None = None
    session_id: str | None = None
    made_elsewhere: Raw = ABSENT


class WorktreeState(Record, tag="worktree-state", frozen=True):
    worktree_session: Worktree | None = None
    """None once the session left it."""

    @property
    def beside_project(self) -> Worktree | None:
        """The worktree, if it is not below the project it was made from, whose path then does not lead there."""
        found = self.worktree_session
        if found is None or not found.original_cwd or not found.worktree_path:
            return None
        return found if not found.worktree_path.startswith(found.original_cwd) else None


class ContinuedIn(Record, tag="continued-in", frozen=True):
    """The conversation moved to the background: its other half is a session of its own (2.1.258 and later)."""

    continued_in_session_id: str | None = None


class SessionOrigin(Struct, frozen=True, gc=False):
    type: str | None = None
    id: str | None = None
    via: str | None = None


class DerivedFrom(Record, tag="derived-from", frozen=True):
    v: int | None = None
    sessions: list[SessionOrigin] | None = None


class PrLink(Record, tag="pr-link", frozen=True):
    pr_url: str | None = None


class BridgeSession(Record, tag="bridge-session", frozen=True):
    pass


class AtisLatch(Record, tag="atis-latch", frozen=True):
    atis: str | None = None


class ToolsUsed(Record, tag="tools-used", frozen=True):
    tools: list[str] | None = None


class ModelUsage(Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    web_search_requests: int | None = None
    cost_usd: Number | None = field(default=None, name="costUSD")
    context_window: int | None = None


class CostState(Record, tag="cost-state", frozen=True):
    """The client's own running total, including hidden calls. The last one in a file counts."""

    total_cost_usd: Number | None = field(default=None, name="totalCostUSD")
    total_api_duration: Number | None = field(default=None, name="totalAPIDuration")
    total_api_duration_without_retries: Number | None = field(default=None, name="totalAPIDurationWithoutRetries")
    total_tool_duration: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    total_duration: Number | None = None
    start_time: Timestamp = None
    model_usage: dict[str, ModelUsage | None] | None = None
    has_unknown_model_cost: bool | None = None


class ApiRequest(Record, tag="api-request", frozen=True):
    id: str | None = None
    params: Raw = ABSENT
    keep: Raw = ABSENT
    tail: Raw = ABSENT
    base: Raw = ABSENT


class ApiRequestShape(Record, tag="api-request-shape", frozen=True):
    """Holds the client's whole system prompt and tool descriptions; it is never part of a conversation."""

    shape: Raw = ABSENT


class ApiRequestBlob(Record, tag="api-request-blob", frozen=True):
    """Looks like a message (`message.role`, `.content`) but is not one."""

    hash: str | None = None
    blob: Raw = field(default=ABSENT, name="message")


class _Progress(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", rename="camel"):
    pass


class BashProgress(_Progress, tag="bash_progress", frozen=True):
    output: str | None = None
    full_output: Raw = ABSENT
    timeout_ms: Number | None = None
    total_bytes: int | None = None
    task_id: str | None = None


class HookProgress(_Progress, tag="hook_progress", frozen=True):
    hook_event: str | None = None
    hook_name: str | None = None
    command: str | None = None
    prompt_text: str | None = None


class AgentProgress(_Progress, tag="agent_progress", frozen=True):
    """A copy of a subagent's line, usage included: never count it."""

    agent_id: str | None = None
    prompt: str | None = None
    message: Raw = ABSENT


class McpProgress(_Progress, tag="mcp_progress", frozen=True):
    status: str | None = None
    server_name: str | None = None
    tool_name: str | None = None


class WaitingForTask(_Progress, tag="waiting_for_task", frozen=True):
    pass


class QueryUpdate(_Progress, tag="query_update", frozen=True):
    query: str | None = None


class SearchResultsReceived(_Progress, tag="search_results_received", frozen=True):
    query: str | None = None


class UnknownProgress(_Progress, tag=UNKNOWN_TAG, frozen=True):
    type_name: str | None = None
    value: Raw = ABSENT


if TYPE_CHECKING:
    ProgressData = _Progress
else:
    ProgressData = Union[tuple(tagged(_Progress).values())]  # noqa: UP007  of as many as there are


class ProgressLine(Record, tag="progress", frozen=True):
    progress: ProgressData | None = field(default=None, name="data")
    tool_use_id: str | None = field(default=None, name="toolUseID")
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")


S = TypeVar("S", bound=Struct)


class AgentMeta(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """`agent-<id>.meta.json`: which call started the agent. It may exist without the agent's transcript."""

    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None
    spawn_depth: int | None = None
    model: str | None = None
    parent_agent_id: str | None = None
    is_built_in: bool | None = None
    launched_with_defaults: bool | None = None
    request_non_interactive: bool | None = None
    finished: Raw = ABSENT
    name: str | None = None
    worktree_path: str | None = None


class CustomTitleFile(Struct, frozen=True, gc=False, rename="camel"):
    custom_title: str | None = None


class IndexEntry(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    session_id: str | None = None
    full_path: str | None = None
    file_mtime: Timestamp = None
    first_prompt: str | None = None
    summary: str | None = None
    message_count: int | None = None
    created: Timestamp = None
    modified: Timestamp = None
    git_branch: str | None = None
    project_path: str | None = None
    is_sidechain: bool | None = None


class SessionsIndex(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """`sessions-index.json`: a cache of older clients that lists only some sessions. Use it only as a hint."""

    version: int | None = None
    original_path: str | None = None
    entries: list[IndexEntry] = field(default_factory=list)


class HistoryEntry(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """One line of `history.jsonl`: a prompt typed in the interactive client. The file outlives the sessions."""

    display: str | None = None
    pasted_contents: Any = None
    timestamp: Timestamp = None
    project: str | None = None
    session_id: str | None = None


class SettingsFields(Struct, frozen=True, gc=False, rename="camel"):
    cleanup_period_days: Number | None = None


def decode_side_file(raw: bytes, kind: type[S]) -> S | None:
    """A side file as its type, read field by field; None when the bytes are not a JSON object."""
    value = parse_or_none(raw)
    return salvage(kind, value, []) if isinstance(value, dict) else None
