"""`reread tools`: how often each tool ran and failed."""

from __future__ import annotations

from reread.config import make_config

from . import options

EXAMPLES = """\
  reread tools --since 30d
  reread tools --tool 'mcp__*'        MCP tools only
  reread tools @last --json"""


def run(arguments: list[str]) -> int:
    parser = options.make_parser("tools", "Tool frequency, failures and time, subagents included.", EXAMPLES)
    options.add_session(parser)
    options.add_filters(parser, limit=None)
    given = parser.parse_args(arguments)
    config = make_config(given.source, given.timezone)
    from reread.queries.answers import tools
    from reread.render.documents import tools_document
    from reread.render.reports import tools_lines

    wanted = options.make_filter(given, config)
    sessions, problems = options.sessions_asked_for(given.session, config)
    counts = tools(sessions, wanted)
    options.show_answer(given, config, lambda: tools_document(counts), lambda view: tools_lines(counts, view))
    options.warn(problems)
    return 0
