"""`progress` lines (2.1.12 to 2.1.81): noise to a reader, but nodes of the tree that others hang from."""

from msgspec import Raw, Struct, field

from .base import Number, Record
from .lenient import ABSENT, UNKNOWN_TAG


class _Progress(Struct, frozen=True, kw_only=True, gc=False, tag_field="type", rename="camel"):
    pass


class BashProgress(_Progress, tag="bash_progress", frozen=True):
    output: str | None = None
    full_output: Raw = ABSENT
    elapsed_time_seconds: Number | None = None
    total_lines: int | None = None
    timeout_ms: Number | None = None
    total_bytes: int | None = None
    task_id: str | None = None


class HookProgress(_Progress, tag="hook_progress", frozen=True):
    hook_event: str | None = None
    hook_name: str | None = None
    command: str | None = None
    prompt_text: str | None = None
    status_message: str | None = None


class AgentProgress(_Progress, tag="agent_progress", frozen=True):
    """A copy of a subagent's line, usage included: never count it."""

    agent_id: str | None = None
    prompt: str | None = None
    message: Raw = ABSENT
    normalized_messages: Raw = ABSENT


class McpProgress(_Progress, tag="mcp_progress", frozen=True):
    status: str | None = None
    server_name: str | None = None
    tool_name: str | None = None
    elapsed_time_ms: Number | None = None


class WaitingForTask(_Progress, tag="waiting_for_task", frozen=True):
    task_description: str | None = None
    task_type: str | None = None


class QueryUpdate(_Progress, tag="query_update", frozen=True):
    query: str | None = None


class SearchResultsReceived(_Progress, tag="search_results_received", frozen=True):
    query: str | None = None
    result_count: int | None = None


class UnknownProgress(_Progress, tag=UNKNOWN_TAG, frozen=True):
    type_name: str | None = None
    value: Raw = ABSENT


ProgressData = (
    BashProgress
    | HookProgress
    | AgentProgress
    | McpProgress
    | WaitingForTask
    | QueryUpdate
    | SearchResultsReceived
    | UnknownProgress
)


class ProgressLine(Record, tag="progress", frozen=True):
    progress: ProgressData | None = field(default=None, name="data")
    tool_use_id: str | None = field(default=None, name="toolUseID")
    parent_tool_use_id: str | None = field(default=None, name="parentToolUseID")
