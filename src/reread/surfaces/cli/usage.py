"""`reread usage`: tokens and money, every API response counted once."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from reread.errors import BadInput

from . import options
from .telling import tell

if TYPE_CHECKING:
    from reread.archive import Archive, Reconciled, UsageReport
    from reread.config import Config
    from reread.queries.filters import Filter

EXAMPLES = """\
  reread usage                              by day
  reread usage month --breakdown            with a line for every model
  reread usage session --since 7d --limit 10
  reread usage session --reconcile          beside what Claude Code itself counted
  reread usage project --fold-worktrees     worktrees with the project they were made from
  reread usage block                        five-hour windows, the open one with its burn rate
  reread usage day --timezone UTC --json
  reread usage week --plot weeks.svg"""


def parser() -> options.Parser:
    about = """Tokens and what they cost at list prices, every API response once over all files and agents.
A response that calls several tools is shared evenly between them in a report by tool."""
    made = options.make_parser("usage", about, EXAMPLES)
    made.add_argument(
        "by",
        nargs="?",
        default="day",
        metavar="GROUPING",
        help="day (default), week, month, session, model, project, branch (git), tool, block, agent, skill, machine",
    )
    made.add_argument("--breakdown", action="store_true", help="a line for every model")
    made.add_argument(
        "--reconcile", action="store_true", help="by session: what Claude Code said it cost, and the difference"
    )
    made.add_argument(
        "--fold-worktrees", action="store_true", help="by project: worktrees count to the one they were made from"
    )
    made.add_argument("--plot", metavar="FILE", help="draw it: FILE.svg, FILE.png, or - for the terminal")
    made.add_argument(
        "--csv",
        action="store_true",
        help="comma-separated values, for spreadsheets; names that look like a formula are quoted",
    )
    made.add_argument(
        "--cost",
        choices=("computed", "recorded"),
        default="computed",
        help="recorded shows what clients of 1.0.x wrote into their lines instead",
    )
    options.add_filters(made, limit=None)
    options.add_prices(made)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.billing import load_prices
    from reread.queries.usage import ALIASES, GROUPINGS

    from .opening import bare_archive, freshen, refuse_nothing, without_needless_sources

    by = ALIASES.get(given.by, given.by)
    if by not in GROUPINGS:
        raise BadInput(f"usage by {given.by!r} is not there; try {', '.join(GROUPINGS)}")
    if given.reconcile and by != "session":
        raise BadInput("Claude Code counts by session; try `reread usage session --reconcile`")
    if given.fold_worktrees and by != "project":
        raise BadInput("worktrees are folded into projects; try `reread usage project --fold-worktrees`")
    if given.plot is not None:
        from .plotting import check_target

        check_target(given.plot, config)
    wanted = options.make_filter(given, config)
    given.breakdown = given.breakdown and by != "model"  # every row is its own breakdown there
    load_prices(config.prices)  # a price file that is none is refused before anything is taken in
    with bare_archive(config) as archive:
        refuse_nothing(archive, config)
        wanted = without_needless_sources(wanted, archive)
        is_current = given.no_sync or archive.is_current(is_glance=True)
        is_ahead = not is_current and not archive.is_read_only and _show_ahead(given, config, archive, by, wanted)
        if not is_current and (not is_ahead or sys.stdout.isatty()):
            freshen(archive)
        if not is_ahead:
            is_recorded = given.cost == "recorded"
            folds = given.fold_worktrees
            report = archive.usage(by, wanted, config.timezone, is_recorded=is_recorded, folds_worktrees=folds)
            _show(given, config, report, archive.reconciliation() if given.reconcile else None)
    return 0


def _show_ahead(given: argparse.Namespace, config: Config, archive: Archive, by: str, wanted: Filter) -> bool:
    """Before a long first sync the answer is counted straight from the sources. Who waits at a terminal sees it, and
    then the sync; a script goes on at once."""
    if given.cost == "recorded":
        return False
    report = archive.usage_ahead(by, wanted, config.timezone)
    if report is None:
        return False
    _show(given, config, report, None)
    sys.stdout.flush()
    follows = "this now" if sys.stdout.isatty() else "`reread sync`"
    tell(f"counted straight from the sources; {follows} takes them into the archive")
    return True


def _show(
    given: argparse.Namespace, config: Config, report: UsageReport, reconciliation: dict[str, Reconciled] | None
) -> None:
    report = options.limited(report, given.limit)
    from reread.render.usage import usage_csv, usage_document, usage_lines

    if given.plot is not None:
        from reread.render.usage_chart import usage_chart

        from .plotting import save_chart

        save_chart(usage_chart(report, config.timezone), given.plot, config)
        return
    if given.csv:
        options.print_text(usage_csv(report, breakdown=given.breakdown, reconciliation=reconciliation))
        return
    options.show_answer(
        given,
        config,
        lambda: usage_document(report, options.zone_name(given.timezone), config.now, reconciliation),
        lambda view: usage_lines(report, view, config.now, breakdown=given.breakdown, reconciliation=reconciliation),
    )
