"""Records to sessions: how the lines of a transcript belong together.

Names are fetched when first used: a search needs only the speaker of a line, and nothing else of this room.
"""

# ruff: noqa: I001  it would give each `X as X`, which makes X public, an import of its own

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.billing.report import Tokens as Tokens

    from .agents import AgentKind as AgentKind, Subagent as Subagent
    from .calls import (
        CallStatus as CallStatus,
        ToolCall as ToolCall,
        ToolOutput as ToolOutput,
        split_tool_name as split_tool_name,
    )
    from .captured import (
        Captured as Captured,
        Final as Final,
        MessageTiming as MessageTiming,
        SessionCapture as SessionCapture,
        ToolPermission as ToolPermission,
        WithdrawnBlock as WithdrawnBlock,
        completed as completed,
        with_final_counts as with_final_counts,
    )
    from .conversation import Conversation as Conversation
    from .requests import (
        Request as Request,
        add_up as add_up,
        collapse as collapse,
        is_of_one_file as is_of_one_file,
        requests_in as requests_in,
        requests_of as requests_of,
        responses_in as responses_in,
        scope_of as scope_of,
        spoken_groups as spoken_groups,
    )
    from .session import (
        Copies as Copies,
        FindOutput as FindOutput,
        Session as Session,
        SessionBuilder as SessionBuilder,
    )
    from .speaker import Speaker as Speaker, kind_of as kind_of
    from .tree import MAIN as MAIN
    from .turns import prompt_of as prompt_of
    from .values import (
        MINIMUM_THOUGHT as MINIMUM_THOUGHT,
        Branch as Branch,
        Coverage as Coverage,
        Message as Message,
        Notice as Notice,
        Prompt as Prompt,
        Said as Said,
        Step as Step,
        Thought as Thought,
        Turn as Turn,
        Unplaced as Unplaced,
    )

fetch_names(__name__)
