"""`reread tools`: how often each tool ran and failed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.analyses.tools import ToolCount
    from reread.config import Config

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
    from .opening import open_rows, open_sessions

    wanted = options.make_filter(given, config)
    with open_rows(given, config) as archive:
        if archive is not None:
            _show(given, config, archive.tools(wanted))
            return 0
    from reread.queries.answers import tools

    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        _show(given, config, tools(sessions, wanted))
        options.warn(problems)
    return 0


def _show(given: argparse.Namespace, config: Config, counts: Sequence[ToolCount]) -> None:
    from reread.render.documents import tools_document
    from reread.render.reports import tools_lines

    options.show_answer(
        given,
        config,
        lambda: tools_document(counts, given.limit),
        lambda view: tools_lines(counts, view, given.limit),
    )
