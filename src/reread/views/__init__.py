"""Values to text: terminal, Markdown, HTML, JSON and charts.

Nothing here reads a file, asks a database or knows a terminal.
"""

from reread.lazy import fetch_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import (
        cache_table,
        calls,
        commit_table,
        context_table,
        cost_lines,
        fact_lines,
        file_tables,
        format_book,
        hits,
        limit_lines,
        mark_list,
        markdown,
        mcp_text,
        numbers,
        permissions,
        price_table,
        rates,
        reports,
        retro_news,
        retro_report,
        screen,
        secret_list,
        session_json,
        session_list,
        summary,
        terminal,
        text,
        usage_table,
        values,
    )

fetch_names(__name__)
