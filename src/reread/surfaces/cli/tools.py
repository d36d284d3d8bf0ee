"""`reread tools`: how often each tool ran and failed."""

from __future__ import annotations

from . import options

EXAMPLES = """\
  reread tools --since 30d
  reread tools --tool 'mcp__*'        MCP tools only
  reread tools @last --json"""


def parser() -> options.Parser:
    made = options.make_parser("tools", "Tool frequency, failures and time, subagents included.", EXAMPLES)
    options.add_session(made)
    options.add_filters(made, limit=None)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.queries.answers import tools
    from reread.render.documents import tools_document
    from reread.render.reports import tools_lines

    from .opening import open_sessions

    wanted = options.make_filter(given, config)
    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        counts = tools(sessions, wanted)
        options.show_answer(given, config, lambda: tools_document(counts), lambda view: tools_lines(counts, view))
        options.warn(problems)
    return 0
