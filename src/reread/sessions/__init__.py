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

__getattr__ = fetcher(__name__)
