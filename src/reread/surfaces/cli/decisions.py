"""`reread decisions`: questions the model asked, the options, what was answered."""

from __future__ import annotations

from . import options

EXAMPLES = """\
  reread decisions --since 30d
  reread decisions --topic database
  reread decisions --project api --json"""


def parser() -> options.Parser:
    made = options.make_parser(
        "decisions", "Questions Claude asked, the options it gave, and what you answered, newest first.", EXAMPLES
    )
    options.add_session(made)
    made.add_argument("--topic", metavar="TEXT", help="only those with these words in question, options or answer")
    options.add_filters(made, limit=None)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.queries.decisions import asking, decisions
    from reread.render.touched import decisions_document, decisions_lines

    from .opening import open_session
    from .travelling import asked_archive

    wanted = options.make_filter(given, config)
    if given.session is not None:
        with open_session(given, config) as opened:
            found = decisions([opened.session], wanted, given.topic)
    else:
        with asked_archive(given, config) as archive:
            found = decisions(archive.read_all(asking(wanted)), wanted, given.topic)
    options.show_answer(given, config, lambda: decisions_document(found), lambda view: decisions_lines(found, view))
    return 0
