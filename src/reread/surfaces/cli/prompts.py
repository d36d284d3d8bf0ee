"""`reread prompts`: what the person typed."""

from __future__ import annotations

import argparse

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.config import Config
    from reread.queries.answers import FoundPrompts

EXAMPLES = """\
  reread prompts --project api --since 7d
  reread prompts @last
  reread prompts --raw | grep -i migration"""


MOST_SHOWN = 200
"""Prompts of all sessions that are shown as text unless a limit is named; how many there are is told."""


def parser() -> options.Parser:
    made = options.make_parser(
        "prompts",
        f"What you typed, newest first: in one session, or the {MOST_SHOWN} newest of all (--json, --raw: every one).",
        EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--raw", action="store_true", help="only the text, one prompt per line")
    options.add_filters(made, limit=None)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from .opening import open_rows, open_sessions

    if given.limit is None and given.session is None and not (given.json or given.raw):
        given.limit = MOST_SHOWN
    wanted = options.make_filter(given, config)
    with open_rows(given, config) as archive:
        if archive is not None:
            _show(given, config, archive.prompts(wanted))
            return 0
    from reread.queries.answers import prompts

    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        _show(given, config, prompts(sessions, wanted))
        options.warn(problems)
    return 0


def _show(given: argparse.Namespace, config: Config, found: FoundPrompts) -> None:
    from reread.render.documents import prompts_document
    from reread.render.reports import prompts_lines, raw_prompts

    options.show_answer(
        given,
        config,
        lambda: prompts_document(found),
        lambda view: raw_prompts(found) if given.raw else prompts_lines(found, view),
    )
