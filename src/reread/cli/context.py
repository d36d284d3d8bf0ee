"""`reread context`: what fills the context of a session, what compactions cost, and what is offered and never used."""

from __future__ import annotations

import argparse
from datetime import timedelta

from reread import views
from reread.archive import context_report
from reread.errors import BadInput

from . import options
from .session_source import open_archive, open_session

EXAMPLES = """\
  reread context @last                  what fills it, and what compactions cost
  reread context --unused               skills, agents and MCP servers nobody used in 30 days
  reread context --unused --days 7 --json"""
ABOUT = """\
Show what fills the context of a session by system section, tool, MCP server, memory file, agent and skill: as the
client counted it where `reread run` asked it or `/context` was typed, else estimated from the transcript (marked ~).
Then what each compaction dropped, and what it took until work went on. With `--unused`: what was in the context of
the sessions of some days, how often it was used, and what it costs in each session."""


def context_parser() -> options.Parser:
    made = options.make_parser("context", ABOUT, EXAMPLES)
    options.add_session(made)
    made.flag("--unused", "over all sessions: what is offered, and what of it is used")
    made.option("--days N", "days that --unused looks back (default: 30)", type=_days, default=30.0)
    options.add_filters(made, limit=None)
    return made


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = 0
    if not 0 < days < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days")
    return days


def run_context(args: options.Options) -> None:
    if args.unused == (args.session is not None):
        raise BadInput("name a session, such as @last, or ask for --unused")
    if args.unused:
        filters = options.make_filter(args)
        with open_archive(args) as archive:
            since = filters.since or args.config.now - timedelta(days=args.days)
            days = (args.config.now - since).total_seconds() / 86_400
            found = archive.billing.offered(filters._replace(since=since))[: args.limit]
        args.print_answer(views.context_table.offered_document, views.context_table.offered_lines, found, days)
        return
    with open_session(args) as opened:
        answer = context_report.context_of(opened.session)
    args.print_answer(views.context_table.context_document, views.context_table.context_lines, answer)
