"""`reread show`: a conversation by turns."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from reread import archive as archives
from reread import lazy, views
from reread.errors import BadInput

from . import options, session_source
from .session_source import open_session

if TYPE_CHECKING:
    from reread.cli import follow_all
    from reread.config import Config
    from reread.sessions import Branch, Session
    from reread.team import questions
    from reread.team import store as stores

    from .session_source import Opened
else:
    questions = lazy.module("reread.team.questions")
    stores = lazy.module("reread.team.store")
    follow_all = lazy.module("reread.cli.follow_all")

SHOW_EXAMPLES = """\
  reread show @last                     the newest session
  reread show 3f2a --turns 3-7          some turns of the session whose id begins so
  reread show session.jsonl --tools full --no-thinking
  reread show @last --branch all        what was rewound, too
  reread show 3f2a --around b1d0e3f4    where a search hit stands
  reread show @last --follow            keeps printing as the session grows"""


def run_show(arguments: list[str]) -> int:
    given = show_parser().parse_args(arguments)
    config = options.make_config(given)
    store = options.store_of(given)
    if store is not None:
        _show_of_store(store, given, config)
        return 0
    if given.follow:
        return follow_all.follow_session(given, config)
    with open_session(given, config) as opened, options.paged(config, is_wanted=given.pager and not given.json):
        _show(opened, given, config)
    return 0


def _show_of_store(url: str, given: argparse.Namespace, config: Config) -> None:
    if given.follow:
        raise BadInput("a team store is not followed; leave out --follow")
    with stores.Store(url) as store:
        found, kept = questions.session(store, given.session)
    with options.paged(config, is_wanted=given.pager and not given.json):
        _show(session_source.Opened(found, kept.listed), given, config)


def _show(opened: Opened, given: argparse.Namespace, config: Config) -> None:
    chosen = _chosen(opened.session, given)
    if given.json:
        kept = views.archive_json.kept_fields(opened.kept) if opened.kept is not None else None
        options.print_json(views.session_json.session_document(opened.session, chosen.branches, chosen.turns, kept))
    else:
        view = options.make_view(config, thinking=given.thinking, tools=given.tools, marked=chosen.marked)
        options.print_lines(views.terminal.session_lines(opened.session, chosen.branches, chosen.turns, view))


class _Chosen(NamedTuple):
    """What of a session is shown."""

    branches: list[Branch]
    turns: range | None
    marked: int | None = None


def _chosen(session: Session, given: argparse.Namespace) -> _Chosen:
    if given.around is None:
        branches = chosen_branches(session, given.branch)
        return _Chosen(branches, archives.answers.chosen_turns(given.turns, branches, "--turns"))
    if given.turns:
        raise BadInput("--around and --turns both choose turns; give one of them")
    branch, index = archives.answers.place_of(session, given.around)
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


def chosen_branches(session: Session, wanted: str) -> list[Branch]:
    if wanted == "all":
        return list(session.branches)
    found = [branch for branch in session.branches if _is_called(branch.id, wanted)]
    if len(found) != 1:
        names = ", ".join(branch.id for branch in session.branches)
        raise BadInput(
            f"{'several branches begin' if found else 'no branch begins'} with {wanted!r}; there are: {names}"
        )
    return found


def _is_called(name: str, wanted: str) -> bool:
    """By the whole id, its beginning, or the part after the @."""
    return name == wanted or name.startswith(wanted) or name.rpartition("@")[2].startswith(wanted.lstrip("@"))
