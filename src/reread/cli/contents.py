"""`reread show`, `thinking`, `prompts`, `tools`, `decisions`, `summary`, `secrets`: what sessions contain."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import chain
from typing import NamedTuple

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput

from . import options, session_source
from .session_source import ProgressBar, open_rows, open_session, open_sessions, query_archive
from .streams import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread import billing, loading
    from reread.archive.answers import FoundPrompts, ThinkingAnswer
    from reread.cli import ask_claude, event_printer
    from reread.config import Config
    from reread.features import summaries
    from reread.features.tool_use import ToolCount
    from reread.sessions import Branch, Session
    from reread.team import questions
    from reread.team import store as stores

    from .session_source import Opened
else:
    event_printer = lazy.module("reread.cli.event_printer")
    summaries = lazy.module("reread.features.summaries")
    loading = lazy.module("reread.loading")
    billing = lazy.module("reread.billing")
    ask_claude = lazy.module("reread.cli.ask_claude")
    questions = lazy.module("reread.team.questions")
    stores = lazy.module("reread.team.store")


THINKING_EXAMPLES = """\
  reread thinking @last               the newest session's thoughts
  reread thinking --since 2h --json   the last two hours, for a script
  reread thinking --min-length 1      short ones too
  reread thinking --follow            what all running sessions think, as they do"""


MOST_THOUGHTS = 200
"""How many thoughts of all sessions are shown as text without `--limit`: thousands would only scroll by."""


def thinking_parser() -> options.Parser:
    made = options.make_parser(
        "thinking",
        f"Show the model's thinking, newest first: of one session, or the newest {MOST_THOUGHTS} of all (--json: all).",
        THINKING_EXAMPLES,
    )
    options.add_session(made)
    made.add_argument(
        "--min-length",
        type=options.whole,
        default=11,
        metavar="N",
        help="skip thinking shorter than N characters (default 11)",
    )
    made.add_argument("--follow", action="store_true", help="keep printing as it grows; without SESSION, as any does")
    options.add_filters(made, limit=None)
    return made


def run_thinking(arguments: list[str]) -> int:
    args = thinking_parser().parse_args(arguments)
    config = options.make_config(args)
    if args.follow:
        return event_printer.follow_thinking(args, config)
    if args.limit is None and args.session is None and not args.json:
        args.limit = MOST_THOUGHTS
    filters = options.make_filter(args, config)
    with open_rows(args, config) as archive:
        if archive is not None:
            _show_thinking(args, config, archive.thinking(filters, args.min_length))
            return 0
    with open_sessions(args, config, filters) as (sessions, problems, filters):
        _show_thinking(args, config, archives.answers.thinking(sessions, filters, args.min_length))
        options.warn(problems)
    return 0


def _show_thinking(args: argparse.Namespace, config: Config, answer: ThinkingAnswer) -> None:
    options.show_answer(
        args,
        config,
        lambda: views.session_json.thinking_document(answer),
        lambda view: views.reports.thinking_lines(answer, view),
    )


PROMPTS_EXAMPLES = """\
  reread prompts --project api --since 7d
  reread prompts @last
  reread prompts --raw | grep -i migration"""


MOST_SHOWN = 200
"""How many prompts of all sessions are shown as text without `--limit`; the output also gives their number."""


def prompts_parser() -> options.Parser:
    made = options.make_parser(
        "prompts",
        f"List prompts, newest first: of one session, or the newest {MOST_SHOWN} of all (--json, --raw: all).",
        PROMPTS_EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--raw", action="store_true", help="print only the text, one prompt per line")
    options.add_programs(made)
    options.add_filters(made, limit=None)
    return made


def run_prompts(arguments: list[str]) -> int:
    args = prompts_parser().parse_args(arguments)
    config = options.make_config(args)
    if args.limit is None and args.session is None and not (args.json or args.raw):
        args.limit = MOST_SHOWN
    filters = options.make_filter(args, config)
    with open_rows(args, config) as archive:
        if archive is not None:
            _show_prompts(args, config, archive.prompts(filters))
            return 0
    with open_sessions(args, config, filters) as (sessions, problems, filters):
        _show_prompts(args, config, archives.answers.prompts(sessions, filters))
        options.warn(problems)
    return 0


def _show_prompts(args: argparse.Namespace, config: Config, found: FoundPrompts) -> None:
    options.show_answer(
        args,
        config,
        lambda: views.session_json.prompts_document(found),
        lambda view: views.reports.raw_prompts(found) if args.raw else views.reports.prompts_lines(found, view),
    )


TOOLS_EXAMPLES = """\
  reread tools --since 30d
  reread tools --tool 'mcp__*'        MCP tools only
  reread tools @last --json"""


def tools_parser() -> options.Parser:
    made = options.make_parser("tools", "Count tool calls, failures and time, subagents included.", TOOLS_EXAMPLES)
    options.add_session(made)
    options.add_filters(made, limit=None)
    return made


def run_tools(arguments: list[str]) -> int:
    args = tools_parser().parse_args(arguments)
    config = options.make_config(args)
    filters = options.make_filter(args, config)
    with open_rows(args, config) as archive:
        if archive is not None:
            _show_tools(args, config, archive.tools(filters))
            return 0
    with open_sessions(args, config, filters) as (sessions, problems, filters):
        _show_tools(args, config, archives.answers.tools(sessions, filters))
        options.warn(problems)
    return 0


def _show_tools(args: argparse.Namespace, config: Config, counts: Sequence[ToolCount]) -> None:
    options.show_answer(
        args,
        config,
        lambda: views.session_json.tools_document(counts, args.limit),
        lambda view: views.reports.tools_lines(counts, view, args.limit),
    )


DECISIONS_EXAMPLES = """\
  reread decisions --since 30d
  reread decisions --topic database
  reread decisions --project api --json"""


def decisions_parser() -> options.Parser:
    made = options.make_parser(
        "decisions",
        "List questions Claude asked, the options it gave, and what you answered, newest first.",
        DECISIONS_EXAMPLES,
    )
    options.add_session(made)
    made.add_argument("--topic", metavar="TEXT", help="only questions that contain TEXT in question, options or answer")
    options.add_filters(made, limit=None)
    return made


def run_decisions(arguments: list[str]) -> int:
    args = decisions_parser().parse_args(arguments)
    config = options.make_config(args)
    filters = options.make_filter(args, config)._replace(limit=None)
    if args.session is not None:
        with open_session(args, config) as opened:
            known = session_source.knowing(filters, opened.archive)
            found = archives.answers.decisions([opened.session], known, args.topic)
    else:
        with query_archive(args, config) as archive:
            found = archive.decisions(filters, args.topic)
    shown, total = found[: args.limit], len(found)
    options.show_answer(
        args,
        config,
        lambda: views.file_tables.decisions_document(shown, total),
        lambda view: views.file_tables.decisions_lines(shown, total, view),
    )
    return 0


SUMMARY_EXAMPLES = """\
  reread summary @last
  reread summary 3f2a --format markdown > summary.md
  reread summary 3f2a --format obsidian > vault/session.md
  reread summary @last --ask-claude                 what Claude makes of it, by your own client; asks first"""
FORMS = ("text", "markdown", "obsidian")


def summary_parser() -> options.Parser:
    about = (
        "Summarise a session from its records: what it was for, what was done and decided, what was refused and why,"
        " what is left open; its files, errors and steps."
    )
    made = options.make_parser("summary", about, SUMMARY_EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="a file, a folder, an id or the start of one, @last, @2")
    made.add_argument("--format", choices=FORMS, default="text", help="output format (default: text)")
    made.add_argument("--yes", action="store_true", help="with --ask-claude: do not ask")
    options.add_asking(made)
    return made


def run_summary(arguments: list[str]) -> int:
    args = summary_parser().parse_args(arguments)
    config = options.make_config(args)
    with open_session(args, config) as opened:
        summary = summaries.summary_of(opened.session, loading.edits_of(opened.session, opened.kept_backups))
        answer = (
            _ask_about(args, config, summary)
            if args.ask_claude
            else archives.model_answers.kept(config.home, "summary", summary.id)
        )
        if args.ask_claude and answer is None:
            return 0
        asked = None if answer is None else views.summary.asked_document(answer)
        options.show_answer(
            args,
            config,
            lambda: {**views.summary.summary_document(summary), "asked_claude": asked},
            lambda view: chain(
                views.summary.lines_of(summary, args.format, view),
                () if answer is None else views.markdown.asked_as(args.format)(answer, view),
            ),
        )
    return 0


def _ask_about(
    args: argparse.Namespace, config: Config, summary: summaries.SessionSummary
) -> archives.model_answers.ModelAnswer | None:
    evidence = ask_claude.SentEvidence(
        about="summary",
        subject=summary.id,
        session=summary.id,
        lines=views.summary.markdown_lines(summary, options.make_view(config)),
        model=summary.models[-1] if summary.models else None,
    )
    return ask_claude.ask(args, config, evidence, billing.load_prices(config.prices))


SECRETS_EXAMPLES = """\
  reread secrets
  reread secrets --project api --since 30d
  reread secrets --json | jq '.secrets[] | .kind'
  reread secrets --show                        the values, too; on a terminal only"""
LIMIT = 50


def secrets_parser() -> options.Parser:
    made = options.make_parser(
        "secrets",
        "List keys and passwords found in past sessions: kind, place and time, never the value.",
        SECRETS_EXAMPLES,
    )
    made.add_argument("--show", action="store_true", help="also print the values; on a terminal only")
    options.add_filters(made, limit=LIMIT)
    return made


def run_secrets(arguments: list[str]) -> int:
    args = secrets_parser().parse_args(arguments)
    config = options.make_config(args)
    if args.show and (args.json or not sys.stdout.isatty()):
        raise BadInput("--show prints secrets on a terminal only, not into a file, a pipe or JSON")
    filters = options.make_filter(args, config)
    with query_archive(args, config) as archive:
        scan = archive.secrets
        with closing(ProgressBar()) as progress:
            answer = scan.report(filters, archives.Progress.in_phase(progress, "looking for secrets"))
        values = {each.id: scan.value_of(each) or "(lost)" for each in answer.secrets} if args.show else {}
        options.show_answer(
            args,
            config,
            lambda: views.secret_list.secrets_document(answer, archives.secret_scan.ADVICE),
            lambda view: views.secret_list.secrets_lines(answer, archives.secret_scan.ADVICE, view, values),
        )
    if answer.damaged:
        tell(f"{answer.damaged:,} files could not be scanned; run `reread archive verify`")
    return 0


SHOW_EXAMPLES = """\
  reread show @last                     the newest session
  reread show 3f2a --turns 3-7          some turns of the session whose id begins so
  reread show session.jsonl --tools full --no-thinking
  reread show @last --branch all        what was rewound, too
  reread show 3f2a --around b1d0e3f4    where a search hit stands
  reread show @last --follow            keeps printing as the session grows"""


def run_show(arguments: list[str]) -> int:
    args = show_parser().parse_args(arguments)
    config = options.make_config(args)
    store = options.store_of(args)
    if store is not None:
        _show_of_store(store, args, config)
        return 0
    if args.follow:
        return event_printer.follow_session(args, config)
    with open_session(args, config) as opened, options.paged(config, is_wanted=args.pager and not args.json):
        _show(opened, args, config)
    return 0


def _show_of_store(url: str, args: argparse.Namespace, config: Config) -> None:
    if args.follow:
        raise BadInput("a team store is not followed; leave out --follow")
    with stores.Store(url) as store:
        found, kept = questions.session(store, args.session)
    with options.paged(config, is_wanted=args.pager and not args.json):
        _show(session_source.Opened(found, kept.listed), args, config)


def _show(opened: Opened, args: argparse.Namespace, config: Config) -> None:
    chosen = _chosen(opened.session, args)
    if args.json:
        kept = views.session_list.kept_fields(opened.kept) if opened.kept is not None else None
        options.print_json(views.session_json.session_document(opened.session, chosen.branches, chosen.turns, kept))
    else:
        view = options.make_view(config, thinking=args.thinking, tools=args.tools, marked=chosen.marked)
        options.print_lines(views.terminal.session_lines(opened.session, chosen.branches, chosen.turns, view))


class _Chosen(NamedTuple):
    """The part of a session to show."""

    branches: list[Branch]
    turns: range | None
    marked: int | None = None


def _chosen(session: Session, args: argparse.Namespace) -> _Chosen:
    if args.around is None:
        branches = chosen_branches(session, args.branch)
        return _Chosen(branches, archives.answers.chosen_turns(args.turns, branches, "--turns"))
    if args.turns:
        raise BadInput("--around and --turns both choose turns; give one of them")
    branch, index = archives.answers.place_of(session, args.around)
    return _Chosen([branch], range(index - 1, index + 2), index)


def show_parser() -> options.Parser:
    about = "Show a conversation turn by turn: prompts, replies, thinking, tool calls, subagents, compactions, rewinds."
    made = options.make_parser("show", about, SHOW_EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="a file, a folder, an id or the start of one, @last, @2")
    made.add_argument("--thinking", action=argparse.BooleanOptionalAction, default=True, help="show thinking")
    made.add_argument(
        "--tools",
        choices=("none", "brief", "full"),
        default="brief",
        help="how much of tool calls to show (default: brief)",
    )
    made.add_argument(
        "--branch", default="main", metavar="ID|all", help="show another branch of a rewound session, or all"
    )
    made.add_argument("--turns", metavar="A-B", help="show only these turns: 3, 3-7 or 5-")
    made.add_argument("--around", metavar="UUID", help="show the turn with this record, and its neighbours")
    made.add_argument("--follow", action="store_true", help="keep printing as the session grows")
    made.add_argument("--no-pager", dest="pager", action="store_false", help="do not use $PAGER or less")
    return made


def chosen_branches(session: Session, name: str) -> list[Branch]:
    if name == "all":
        return list(session.branches)
    found = [branch for branch in session.branches if _is_called(branch.id, name)]
    if len(found) != 1:
        names = ", ".join(branch.id for branch in session.branches)
        raise BadInput(f"{'several branches begin' if found else 'no branch begins'} with {name!r}; there are: {names}")
    return found


def _is_called(name: str, wanted: str) -> bool:
    """Whether a name matches: the full id, its beginning, or the part after the @."""
    return name == wanted or name.startswith(wanted) or name.rpartition("@")[2].startswith(wanted.lstrip("@"))
