"""`reread` alone: the newest sessions."""

from __future__ import annotations

import sys
from itertools import islice

from reread.config import make_config

from . import demo, options

EXAMPLES = """\
  reread                         your newest sessions
  reread --source ~/backup       those of another folder"""
NEWEST = 10


def run(arguments: list[str]) -> int:
    parser = options.make_parser("", "The newest sessions, with their titles.", EXAMPLES)
    given = parser.parse_args(arguments)
    config = make_config(given.source, given.timezone)
    if given.source is None and not options.has_transcripts(config):
        sys.stderr.write("No Claude Code transcripts found here, so this is a demonstration on sample sessions.\n\n")
        return demo.run([])
    from reread.render.documents import sessions_document
    from reread.render.reports import overview_lines

    shelf = options.open_shelf(config)
    newest = list(islice(shelf, NEWEST))
    options.show_answer(
        given,
        config,
        lambda: sessions_document(newest),
        lambda view: overview_lines(newest, len(shelf.sessions), view),
    )
    options.warn(shelf.problems)
    return 0
