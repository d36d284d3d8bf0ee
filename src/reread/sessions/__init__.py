"""Records to sessions: how the lines of a transcript belong together."""

from .agents import AgentKind, Subagent
from .branches import MAIN
from .builder import SessionBuilder
from .calls import Status, ToolCall, ToolOutput, split_tool_name
from .conversation import Conversation
from .copies import Copies
from .kinds import Kind, kind_of
from .requests import Request, Tokens, add_up, collapse, reply_groups, requests_of
from .session import FindOutput, Session
from .turns import prompt_of
from .values import (
    MINIMUM_THOUGHT,
    Branch,
    Coverage,
    Message,
    Notice,
    Prompt,
    Said,
    Step,
    Thought,
    Turn,
    Unplaced,
)

__all__ = [
    "MAIN",
    "MINIMUM_THOUGHT",
    "AgentKind",
    "Branch",
    "Conversation",
    "Copies",
    "Coverage",
    "FindOutput",
    "Kind",
    "Message",
    "Notice",
    "Prompt",
    "Request",
    "Said",
    "Session",
    "SessionBuilder",
    "Status",
    "Step",
    "Subagent",
    "Thought",
    "Tokens",
    "ToolCall",
    "ToolOutput",
    "Turn",
    "Unplaced",
    "add_up",
    "collapse",
    "kind_of",
    "prompt_of",
    "reply_groups",
    "requests_of",
    "split_tool_name",
]
