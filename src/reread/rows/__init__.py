"""What a session amounts to, as plain frozen rows: its files, responses, calls, prompts, thoughts, texts, moments.

`rows_of(session)` makes them in memory. Every store is a sink of them: the archive's index, a team's store, a lake, a
plain database. It knows no database, reads no file, and prints nothing.
"""

from reread.lazy import fetcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import (
        VERSION,
        CallRow,
        ClientTotalRow,
        FileRows,
        MomentRow,
        PromptRow,
        RequestContext,
        Rows,
        TextRow,
        ThoughtRow,
        TypedPrompt,
    )
    from .of_session import file_texts, rows_of
    from .session_row import SessionRow

__all__ = [
    "VERSION",
    "CallRow",
    "ClientTotalRow",
    "FileRows",
    "MomentRow",
    "PromptRow",
    "RequestContext",
    "Rows",
    "SessionRow",
    "TextRow",
    "ThoughtRow",
    "TypedPrompt",
    "file_texts",
    "rows_of",
]

__getattr__ = fetcher(__name__)
