"""`reread list`: the sessions of the archive."""

from __future__ import annotations

from itertools import chain

from reread import lazy, views

from . import options
from .session_source import cleanup_days_of, open_archive
from .stderr import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import team
else:
    team = lazy.module("reread.cli.team")

LIST_EXAMPLES = """\
  reread list --since 7d
  reread list --project api --tool Edit
  reread list --file '*.sql' --json
  reread list --starred --tag refactor
  reread list --no-sync --limit 5"""


def list_parser() -> options.Parser:
    about = "List sessions, last active first: title, project, cost, and what Claude Code will delete soon."
    made = options.make_parser("list", about, LIST_EXAMPLES)
    options.add_filters(made, limit=None)
    options.add_hidden(made)
    return made


def run_list(arguments: list[str]) -> int:
    given = list_parser().parse_args(arguments)
    config = options.make_config(given)
    store = options.store_of(given)
    if store is not None:
        team.list_store(store, given, config, options.make_filter(given, config))
        return 0
    wanted = options.make_filter(given, config)._replace(without_hidden=not given.hidden)
    with open_archive(given, config, only_reads=True) as archive:
        total = archive.count_sessions(wanted)
        if not total and not given.hidden and archive.count_sessions(wanted._replace(without_hidden=False)):
            tell("all matching sessions are hidden; --hidden shows them")
        found = archive.each_session(wanted, cleanup_days_of(config))
        lost = archive.lost(wanted)
        if given.json:
            head = {
                "schema": "reread.sessions/1",
                "total": total,
                "lost": [views.archive_json.lost_row(each) for each in lost],
            }
            options.print_json_list(head, "sessions", map(views.archive_json.listed_row, found))
        else:
            view = options.make_view(config)
            options.print_lines(
                chain(
                    views.session_list.list_lines(found, view, config.now, total),
                    views.session_list.lost_lines(lost, view),
                )
            )
    return 0
