"""`reread prompts`: what the person typed."""

from __future__ import annotations

from reread.config import make_config

from . import options

EXAMPLES = """\
  reread prompts --project api --since 7d
  reread prompts @last
  reread prompts --raw | grep -i migration"""


def run(arguments: list[str]) -> int:
    parser = options.make_parser(
        "prompts", "What you typed, newest first; tool results and meta lines left out.", EXAMPLES
    )
    options.add_session(parser)
    parser.add_argument("--raw", action="store_true", help="only the text, one prompt per line")
    options.add_filters(parser, limit=None)
    given = parser.parse_args(arguments)
    config = make_config(given.source, given.timezone)
    from reread.queries.answers import prompts
    from reread.render.documents import prompts_document
    from reread.render.reports import prompts_lines, raw_prompts

    wanted = options.make_filter(given, config)
    sessions, problems = options.sessions_asked_for(given.session, config)
    found = prompts(sessions, wanted)
    options.show_answer(
        given,
        config,
        lambda: prompts_document(found),
        lambda view: raw_prompts(found) if given.raw else prompts_lines(found, view),
    )
    options.warn(problems)
    return 0
