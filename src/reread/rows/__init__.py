"""What a session amounts to, as plain frozen rows: its files, responses, calls, prompts, thoughts, texts, moments.

`rows_of(session)` makes them in memory. Every store is a sink of them: the archive's index, a team's store, a lake, a
plain database. It knows no database, reads no file, and prints nothing.
"""

# ruff: noqa: I001  it would give each `X as X`, which makes X public, an import of its own

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .model import (
        VERSION as VERSION,
        CallRow as CallRow,
        ClientTotalRow as ClientTotalRow,
        FileRows as FileRows,
        MomentRow as MomentRow,
        PromptRow as PromptRow,
        RequestContext as RequestContext,
        Rows as Rows,
        TextRow as TextRow,
        ThoughtRow as ThoughtRow,
        TypedPrompt as TypedPrompt,
    )
    from .of_bytes import UNTOLD as UNTOLD, rows_of_bytes as rows_of_bytes
    from .of_session import file_texts as file_texts, rows_of as rows_of
    from .session_row import SessionRow as SessionRow

fetch_names(__name__)
