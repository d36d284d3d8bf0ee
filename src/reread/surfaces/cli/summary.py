"""`reread summary`: what a session was about and what came of it."""

from __future__ import annotations

from . import options

EXAMPLES = """\
  reread summary @last
  reread summary 3f2a --format markdown > summary.md
  reread summary 3f2a --format obsidian > vault/session.md"""
FORMS = ("text", "markdown", "obsidian")


def parser() -> options.Parser:
    about = "Goal, journey, files, tools, key exchanges, errors and outcome of a session, from its own records."
    made = options.make_parser("summary", about, EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="a file, a folder, an id or its beginning, @last, @2")
    made.add_argument("--format", choices=FORMS, default="text", help="the default is text")
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.analyses.summaries import summary_of
    from reread.queries.travel import edits_of
    from reread.render.summaries import lines_of, summary_document

    from .opening import open_session

    with open_session(given, config) as opened:
        summary = summary_of(opened.session, edits_of(opened.session, opened.kept_backups))
        options.show_answer(
            given, config, lambda: summary_document(summary), lambda view: lines_of(summary, given.format, view)
        )
    return 0
