"""`reread thinking`, `prompts`, `tools`, `decisions` and `summary`: what sessions contain."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain

from . import options
from .options import add_asking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive.answers import FoundPrompts, ThinkingAnswer
    from reread.archive.model_answers import ModelAnswer
    from reread.config import Config
    from reread.features.summaries import SessionSummary
    from reread.features.tool_use import ToolCount


THINKING_EXAMPLES = """\
  reread thinking @last               the newest session's thoughts
  reread thinking --since 2h --json   the last two hours, for a script
  reread thinking --min-length 1      short ones too
  reread thinking session.jsonl --follow"""


MOST_THOUGHTS = 200
"""Thoughts of all sessions that are shown as text unless a limit is named: thousands would only scroll by."""


def thinking_parser() -> options.Parser:
    made = options.make_parser(
        "thinking",
        f"Thinking only, newest first; in one session, or the {MOST_THOUGHTS} newest of all (--json: every one).",
        THINKING_EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--min-length", type=int, default=11, metavar="N", help="characters (default 11)")
    made.add_argument("--follow", action="store_true", help="keep printing as the session grows")
    options.add_filters(made, limit=None)
    return made


def run_thinking(arguments: list[str]) -> int:
    given = thinking_parser().parse_args(arguments)
    config = options.make_config(given)
    if given.follow:
        from .follow_all import follow_thinking

        return follow_thinking(given, config)
    from .session_source import open_rows, open_sessions

    if given.limit is None and given.session is None and not given.json:
        given.limit = MOST_THOUGHTS
    wanted = options.make_filter(given, config)
    with open_rows(given, config) as archive:
        if archive is not None:
            _show_thinking(given, config, archive.thinking(wanted, given.min_length))
            return 0
    from reread.archive.answers import thinking

    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        _show_thinking(given, config, thinking(sessions, wanted, given.min_length))
        options.warn(problems)
    return 0


def _show_thinking(given: argparse.Namespace, config: Config, answer: ThinkingAnswer) -> None:
    from reread.views.reports import thinking_lines
    from reread.views.session_json import thinking_document

    options.show_answer(given, config, lambda: thinking_document(answer), lambda view: thinking_lines(answer, view))


PROMPTS_EXAMPLES = """\
  reread prompts --project api --since 7d
  reread prompts @last
  reread prompts --raw | grep -i migration"""


MOST_SHOWN = 200
"""Prompts of all sessions that are shown as text unless a limit is named; how many there are is told."""


def prompts_parser() -> options.Parser:
    made = options.make_parser(
        "prompts",
        f"What you typed, newest first: in one session, or the {MOST_SHOWN} newest of all (--json, --raw: every one).",
        PROMPTS_EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--raw", action="store_true", help="only the text, one prompt per line")
    options.add_filters(made, limit=None)
    return made


def run_prompts(arguments: list[str]) -> int:
    given = prompts_parser().parse_args(arguments)
    config = options.make_config(given)
    from .session_source import open_rows, open_sessions

    if given.limit is None and given.session is None and not (given.json or given.raw):
        given.limit = MOST_SHOWN
    wanted = options.make_filter(given, config)
    with open_rows(given, config) as archive:
        if archive is not None:
            _show_prompts(given, config, archive.prompts(wanted))
            return 0
    from reread.archive.answers import prompts

    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        _show_prompts(given, config, prompts(sessions, wanted))
        options.warn(problems)
    return 0


def _show_prompts(given: argparse.Namespace, config: Config, found: FoundPrompts) -> None:
    from reread.views.reports import prompts_lines, raw_prompts
    from reread.views.session_json import prompts_document

    options.show_answer(
        given,
        config,
        lambda: prompts_document(found),
        lambda view: raw_prompts(found) if given.raw else prompts_lines(found, view),
    )


TOOLS_EXAMPLES = """\
  reread tools --since 30d
  reread tools --tool 'mcp__*'        MCP tools only
  reread tools @last --json"""


def tools_parser() -> options.Parser:
    made = options.make_parser("tools", "Tool frequency, failures and time, subagents included.", TOOLS_EXAMPLES)
    options.add_session(made)
    options.add_filters(made, limit=None)
    return made


def run_tools(arguments: list[str]) -> int:
    given = tools_parser().parse_args(arguments)
    config = options.make_config(given)
    from .session_source import open_rows, open_sessions

    wanted = options.make_filter(given, config)
    with open_rows(given, config) as archive:
        if archive is not None:
            _show_tools(given, config, archive.tools(wanted))
            return 0
    from reread.archive.answers import tools

    with open_sessions(given, config, wanted) as (sessions, problems, wanted):
        _show_tools(given, config, tools(sessions, wanted))
        options.warn(problems)
    return 0


def _show_tools(given: argparse.Namespace, config: Config, counts: Sequence[ToolCount]) -> None:
    from reread.views.reports import tools_lines
    from reread.views.session_json import tools_document

    options.show_answer(
        given,
        config,
        lambda: tools_document(counts, given.limit),
        lambda view: tools_lines(counts, view, given.limit),
    )


DECISIONS_EXAMPLES = """\
  reread decisions --since 30d
  reread decisions --topic database
  reread decisions --project api --json"""


def decisions_parser() -> options.Parser:
    made = options.make_parser(
        "decisions",
        "Questions Claude asked, the options it gave, and what you answered, newest first.",
        DECISIONS_EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--topic", metavar="TEXT", help="only those with these words in question, options or answer")
    options.add_filters(made, limit=None)
    return made


def run_decisions(arguments: list[str]) -> int:
    given = decisions_parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.archive.answers import asking, decisions
    from reread.views.file_tables import decisions_document, decisions_lines

    from .files import asked_archive
    from .session_source import open_session

    wanted = options.make_filter(given, config)
    if given.session is not None:
        with open_session(given, config) as opened:
            found = decisions([opened.session], wanted, given.topic)
    else:
        with asked_archive(given, config) as archive:
            found = decisions(archive.read_all(asking(wanted)), wanted, given.topic)
    options.show_answer(given, config, lambda: decisions_document(found), lambda view: decisions_lines(found, view))
    return 0


SUMMARY_EXAMPLES = """\
  reread summary @last
  reread summary 3f2a --format markdown > summary.md
  reread summary 3f2a --format obsidian > vault/session.md
  reread summary @last --ask-claude                 what Claude makes of it, by your own client; asks first"""
FORMS = ("text", "markdown", "obsidian")


def summary_parser() -> options.Parser:
    about = (
        "What a session was for, what was done and decided, what was refused and why, and what is left open; its files,"
        " errors and journey. From its own records."
    )
    made = options.make_parser("summary", about, SUMMARY_EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="a file, a folder, an id or its beginning, @last, @2")
    made.add_argument("--format", choices=FORMS, default="text", help="the default is text")
    made.add_argument("--yes", action="store_true", help="with --ask-claude: send without asking")
    add_asking(made)
    return made


def run_summary(arguments: list[str]) -> int:
    given = summary_parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.archive.file_history import edits_of
    from reread.archive.model_answers import kept
    from reread.features.summaries import summary_of
    from reread.views.summary import asked_document, asked_lines, asked_markdown, lines_of, summary_document

    from .session_source import open_session

    with open_session(given, config) as opened:
        summary = summary_of(opened.session, edits_of(opened.session, opened.kept_backups))
        if given.ask_claude:
            answer = _ask_about(given, config, summary)
            if answer is None:
                return 0
        else:
            answer = kept(config.home, "summary", summary.id)
        told = asked_lines if given.format == "text" else asked_markdown
        options.show_answer(
            given,
            config,
            lambda: {**summary_document(summary), "asked_claude": None if answer is None else asked_document(answer)},
            lambda view: chain(lines_of(summary, given.format, view), () if answer is None else told(answer, view)),
        )
    return 0


def _ask_about(given: argparse.Namespace, config: Config, summary: SessionSummary) -> ModelAnswer | None:
    from reread.billing import load_prices
    from reread.views.summary import markdown_lines

    from .ask_claude import SentEvidence, asked

    evidence = SentEvidence(
        about="summary",
        subject=summary.id,
        session=summary.id,
        lines=markdown_lines(summary, options.make_view(config)),
        model=summary.models[-1] if summary.models else None,
    )
    return asked(given, config, evidence, load_prices(config.prices))
