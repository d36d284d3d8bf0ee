"""`reread show`, `thinking`, `prompts`, `tools`, `decisions`, `summary`, `secrets`: what sessions contain."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from itertools import chain

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput
from reread.lazy import TYPE_CHECKING

from . import options, session_source
from .session_source import ProgressBar, open_session, query_archive, rows_or_sessions
from .streams import tell

if TYPE_CHECKING:
    from reread import billing, loading
    from reread.cli import ask_claude, event_printer
    from reread.features import summaries
    from reread.sessions import Branch, Session
    from reread.team import questions
    from reread.team import store as stores

    from .session_source import Opened
else:
    lazy.bind(globals())


THINKING_EXAMPLES = """\
  reread thinking @last               the newest session's thoughts
  reread thinking --since 2h --json   the last two hours, for a script
  reread thinking --min-length 1      short ones too
  reread thinking --follow            what all running sessions think, as they do"""


MOST_SHOWN = 200
"""How many thoughts or prompts of all sessions are shown as text without `--limit`: thousands would only scroll by."""


def thinking_parser() -> options.Parser:
    made = options.make_parser(
        "thinking",
        f"Show the model's thinking, newest first: of one session, or the newest {MOST_SHOWN} of all (--json: all).",
        THINKING_EXAMPLES,
    )
    options.add_session(made)
    made.option(
        "--min-length N", "skip thinking shorter than N characters (default 11)", type=options.whole, default=11
    )
    made.flag("--follow", "keep printing as it grows; without SESSION, as any does")
    options.add_filters(made, limit=None)
    return made


def run_thinking(args: options.Options) -> None:
    if args.follow:
        event_printer.follow_thinking(args)
        return
    if args.limit is None and args.session is None and not args.json:
        args.limit = MOST_SHOWN
    filters, least = options.make_filter(args), args.min_length
    with rows_or_sessions(
        args,
        filters,
        lambda archive: archive.thinking(filters, least),
        lambda sessions, known: archives.answers.thinking(sessions, known, least),
    ) as answer:
        args.print_answer(views.session_json.thinking_document, views.reports.thinking_lines, answer)


PROMPTS_EXAMPLES = """\
  reread prompts --project api --since 7d
  reread prompts @last
  reread prompts --raw | grep -i migration"""


def prompts_parser() -> options.Parser:
    made = options.make_parser(
        "prompts",
        f"List prompts, newest first: of one session, or the newest {MOST_SHOWN} of all (--json, --raw: all).",
        PROMPTS_EXAMPLES,
    )
    options.add_session(made)
    made.flag("--raw", "print only the text, one prompt per line")
    options.add_programs(made)
    options.add_filters(made, limit=None)
    return made


def run_prompts(args: options.Options) -> None:
    if args.limit is None and args.session is None and not (args.json or args.raw):
        args.limit = MOST_SHOWN
    filters = options.make_filter(args)
    lines = (lambda found, _: views.reports.raw_prompts(found)) if args.raw else views.reports.prompts_lines
    with rows_or_sessions(args, filters, lambda archive: archive.prompts(filters), archives.answers.prompts) as found:
        args.print_answer(views.session_json.prompts_document, lines, found)


TOOLS_EXAMPLES = """\
  reread tools --since 30d
  reread tools --tool 'mcp__*'        MCP tools only
  reread tools @last --json"""


def tools_parser() -> options.Parser:
    made = options.make_parser("tools", "Count tool calls, failures and time, subagents included.", TOOLS_EXAMPLES)
    options.add_session(made)
    options.add_filters(made, limit=None)
    return made


def run_tools(args: options.Options) -> None:
    filters = options.make_filter(args)
    with rows_or_sessions(args, filters, lambda archive: archive.tools(filters), archives.answers.tools) as counts:
        args.print_answer(
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
    made.option("--topic TEXT", "only questions that contain TEXT in question, options or answer")
    options.add_filters(made, limit=None)
    return made


def run_decisions(args: options.Options) -> None:
    filters = options.make_filter(args)._replace(limit=None)
    if args.session is not None:
        with open_session(args) as opened:
            known = session_source.knowing(filters, opened.archive)
            found = archives.answers.decisions([opened.session], known, args.topic)
    else:
        with query_archive(args) as archive:
            found = archive.decisions(filters, args.topic)
    shown, total = found[: args.limit], len(found)
    args.print_answer(views.file_tables.decisions_document, views.file_tables.decisions_lines, shown, total)


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
    made.word("SESSION", "a file, a folder, an id or the start of one, @last, @2")
    made.option("--format", "output format (default: text)", choices=FORMS, default="text")
    made.flag("--yes", "with --ask-claude: do not ask")
    options.add_asking(made)
    return made


def run_summary(args: options.Options) -> None:
    with open_session(args) as opened:
        summary = summaries.summary_of(opened.session, loading.edits_of(opened.session, opened.kept_backups))
        answer = (
            _ask_about(args, summary)
            if args.ask_claude
            else archives.model_answers.kept(args.config.home, "summary", summary.id)
        )
        if args.ask_claude and answer is None:
            return
        asked = None if answer is None else views.summary.asked_document(answer)
        args.print_answer(
            lambda: {**views.summary.summary_document(summary), "asked_claude": asked},
            lambda view: chain(
                views.summary.lines_of(summary, args.format, view),
                () if answer is None else views.markdown.asked_as(args.format)(answer, view),
            ),
        )


def _ask_about(args: options.Options, summary: summaries.SessionSummary) -> archives.model_answers.ModelAnswer | None:
    evidence = ask_claude.SentEvidence(
        about="summary",
        subject=summary.id,
        session=summary.id,
        lines=views.summary.markdown_lines(summary, options.make_view(args.config)),
        model=summary.models[-1] if summary.models else None,
    )
    return ask_claude.ask(args, evidence, billing.load_prices(args.config.prices))


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
    made.flag("--show", "also print the values; on a terminal only")
    options.add_filters(made, limit=LIMIT)
    return made


def run_secrets(args: options.Options) -> None:
    if args.show and (args.json or not sys.stdout.isatty()):
        raise BadInput("--show prints secrets on a terminal only, not into a file, a pipe or JSON")
    filters = options.make_filter(args)
    with query_archive(args) as archive:
        scan = archive.secrets
        with closing(ProgressBar()) as progress:
            answer = scan.report(filters, archives.Progress.in_phase(progress, "looking for secrets"))
        values = {each.id: scan.value_of(each) or "(lost)" for each in answer.secrets} if args.show else {}
        args.print_answer(
            lambda: views.secret_list.secrets_document(answer, archives.secret_scan.ADVICE),
            lambda view: views.secret_list.secrets_lines(answer, archives.secret_scan.ADVICE, view, values),
        )
    if answer.damaged:
        tell(f"{answer.damaged:,} files could not be scanned; run `reread archive verify`")


SHOW_EXAMPLES = """\
  reread show @last                     the newest session
  reread show 3f2a --turns 3-7          some turns of the session whose id begins so
  reread show session.jsonl --tools full --no-thinking
  reread show @last --branch all        what was rewound, too
  reread show 3f2a --around b1d0e3f4    where a search hit stands
  reread show @last --follow            keeps printing as the session grows"""


def run_show(args: options.Options) -> None:
    store = options.store_of(args)
    if store is not None:
        _show_of_store(store, args)
    elif args.follow:
        event_printer.follow_session(args)
    else:
        with open_session(args) as opened, options.paged(args.config, is_wanted=args.pager and not args.json):
            _show(opened, args)


def _show_of_store(url: str, args: options.Options) -> None:
    if args.follow:
        raise BadInput("a team store is not followed; leave out --follow")
    with stores.Store(url) as store:
        found, kept = questions.session(store, args.session)
    with options.paged(args.config, is_wanted=args.pager and not args.json):
        _show(session_source.Opened(found, kept.listed), args)


def _show(opened: Opened, args: options.Options) -> None:
    branches, turns, marked = _chosen(opened.session, args)
    if args.json:
        kept = views.session_list.kept_fields(opened.kept) if opened.kept is not None else None
        options.print_json(views.session_json.session_document(opened.session, branches, turns, kept))
    else:
        view = options.make_view(args.config, thinking=args.thinking, tools=args.tools, marked=marked)
        options.print_lines(views.terminal.session_lines(opened.session, branches, turns, view))


def _chosen(session: Session, args: options.Options) -> tuple[list[Branch], range | None, int | None]:
    """The branches and turns to show, and the turn to mark."""
    if args.around is None:
        branches = chosen_branches(session, args.branch)
        return branches, archives.answers.chosen_turns(args.turns, branches, "--turns"), None
    if args.turns:
        raise BadInput("--around and --turns both choose turns; give one of them")
    branch, index = archives.answers.place_of(session, args.around)
    return [branch], range(index - 1, index + 2), index


def show_parser() -> options.Parser:
    about = "Show a conversation turn by turn: prompts, replies, thinking, tool calls, subagents, compactions, rewinds."
    made = options.make_parser("show", about, SHOW_EXAMPLES)
    made.word("SESSION", "a file, a folder, an id or the start of one, @last, @2")
    made.option("--thinking", "show thinking", action=argparse.BooleanOptionalAction, default=True)
    made.option(
        "--tools", "how much of tool calls to show (default: brief)", choices=("none", "brief", "full"), default="brief"
    )
    made.option("--branch ID|all", "show another branch of a rewound session, or all", default="main")
    made.option("--turns A-B", "show only these turns: 3, 3-7 or 5-")
    made.option("--around UUID", "show the turn with this record, and its neighbours")
    made.flag("--follow", "keep printing as the session grows")
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
