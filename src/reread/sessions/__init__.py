"""Records to sessions: how the lines of a transcript belong together.

Names are fetched when first used: a search needs only the speaker of a line, and nothing else of this room.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.billing.report import Tokens

    from .agents import AgentKind, Subagent
    from .calls import CallStatus, ToolCall, ToolOutput, split_tool_name
    from .captured import (
        Captured,
        Final,
        MessageTiming,
        SessionCapture,
        ToolPermission,
        WithdrawnBlock,
        completed,
        with_final_counts,
    )
    from .conversation import Conversation
    from .requests import (
        Request,
        add_up,
        collapse,
        is_of_one_file,
        requests_in,
        requests_of,
        responses_in,
        scope_of,
        spoken_groups,
    )
    from .session import Copies, FindOutput, Session, SessionBuilder
    from .speaker import Speaker, kind_of
    from .tree import MAIN
    from .turns import prompt_of
    from .values import MINIMUM_THOUGHT, Branch, Coverage, Message, Notice, Prompt, Said, Step, Thought, Turn, Unplaced

_HOME = {
    "completed": ".captured",
    "WithdrawnBlock": ".captured",
    "ToolPermission": ".captured",
    "MessageTiming": ".captured",
    "Final": ".captured",
    "Captured": ".captured",
    "SessionCapture": ".captured",
    "AgentKind": ".agents",
    "Branch": ".values",
    "Conversation": ".conversation",
    "Copies": ".session",
    "Coverage": ".values",
    "FindOutput": ".session",
    "Speaker": ".speaker",
    "MAIN": ".tree",
    "MINIMUM_THOUGHT": ".values",
    "Message": ".values",
    "Notice": ".values",
    "Prompt": ".values",
    "Request": ".requests",
    "Said": ".values",
    "Session": ".session",
    "SessionBuilder": ".session",
    "CallStatus": ".calls",
    "Step": ".values",
    "Subagent": ".agents",
    "Thought": ".values",
    "Tokens": "reread.billing.report",
    "ToolCall": ".calls",
    "ToolOutput": ".calls",
    "Turn": ".values",
    "Unplaced": ".values",
    "add_up": ".requests",
    "collapse": ".requests",
    "is_of_one_file": ".requests",
    "scope_of": ".requests",
    "kind_of": ".speaker",
    "prompt_of": ".turns",
    "requests_in": ".requests",
    "requests_of": ".requests",
    "split_tool_name": ".calls",
    "spoken_groups": ".requests",
    "responses_in": ".requests",
    "with_final_counts": ".captured",
}

__all__ = [
    "MAIN",
    "MINIMUM_THOUGHT",
    "AgentKind",
    "Branch",
    "CallStatus",
    "Captured",
    "Conversation",
    "Copies",
    "Coverage",
    "Final",
    "FindOutput",
    "Message",
    "MessageTiming",
    "Notice",
    "Prompt",
    "Request",
    "Said",
    "Session",
    "SessionBuilder",
    "SessionCapture",
    "Speaker",
    "Step",
    "Subagent",
    "Thought",
    "Tokens",
    "ToolCall",
    "ToolOutput",
    "ToolPermission",
    "Turn",
    "Unplaced",
    "WithdrawnBlock",
    "add_up",
    "collapse",
    "completed",
    "is_of_one_file",
    "kind_of",
    "prompt_of",
    "requests_in",
    "requests_of",
    "responses_in",
    "scope_of",
    "split_tool_name",
    "spoken_groups",
    "with_final_counts",
]

__getattr__ = fetcher(__name__, _HOME, {"Status": "CallStatus", "Kind": "Speaker", "Capture": "SessionCapture"})
