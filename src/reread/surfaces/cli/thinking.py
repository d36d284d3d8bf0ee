"""`reread thinking`: what the model thought."""

from __future__ import annotations

import argparse

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.config import Config
    from reread.queries.answers import Thinking

EXAMPLES = """\
  reread thinking @last               the newest session's thoughts
  reread thinking --since 2h --json   the last two hours, for a script
  reread thinking --min-length 1      short ones too
  reread thinking session.jsonl --follow"""


MOST_SHOWN = 200
"""Thoughts of all sessions that are shown as text unless a limit is named: thousands would only scroll by."""


def parser() -> options.Parser:
    made = options.make_parser(
        "thinking",
        f"Thinking only, newest first; in one session, or the {MOST_SHOWN} newest of all (--json: every one).",
        EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--min-length", type=int, default=11, metavar="N", help="characters (default 11)")
    made.add_argument("--follow", action="store_true", help="keep printing as the session grows")
    options.add_filters(made, limit=None)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    if given.follow:
        from .following import follow_thinking

        return follow_thinking(given, config)
    from .opening import open_rows, open_sessions

    if given.limit is None and given.session is None and not given.json:
        given.limit = MOST_SHOWN
    wanted = options.make_filter(given, config)
    with open_rows(given, config) as archive:
        if archive is not None:
            _show(given, config, archive.thinking(wanted, given.min_length))
            return 0
    from reread.queries.answers import thinking

    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        _show(given, config, thinking(sessions, wanted, given.min_length))
        options.warn(problems)
    return 0


def _show(given: argparse.Namespace, config: Config, answer: Thinking) -> None:
    from reread.render.documents import thinking_document
    from reread.render.reports import thinking_lines

    options.show_answer(given, config, lambda: thinking_document(answer), lambda view: thinking_lines(answer, view))
