"""`reread usage`: tokens and money, every API response counted once."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from reread.errors import BadInput

from . import options

if TYPE_CHECKING:
    from datetime import tzinfo

    from reread.archive import UsageReport
    from reread.config import Config
    from reread.queries.filters import Filter

EXAMPLES = """\
  reread usage                              by day
  reread usage month --breakdown            with a line for every model
  reread usage session --since 7d --limit 10
  reread usage project --model opus
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
        help="day (default), week, month, session, model, project, branch (git), tool, block, agent, skill",
    )
    made.add_argument("--breakdown", action="store_true", help="a line for every model")
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
    from reread.queries.usage import ALIASES, GROUPINGS

    by = ALIASES.get(given.by, given.by)
    if by not in GROUPINGS:
        raise BadInput(f"usage by {given.by!r} is not there; try {', '.join(GROUPINGS)}")
    wanted = options.make_filter(given, config)
    given.breakdown = given.breakdown and by != "model"  # every row is its own breakdown there
    report = _limited(_report(given, config, by, wanted), given.limit)
    _show(given, config, report)
    return 0


def _report(given: argparse.Namespace, config: Config, by: str, wanted: Filter) -> UsageReport:
    from msgspec.structs import replace

    from reread.pricing import load_prices

    from .opening import bare_archive, freshen

    load_prices(config.prices)  # a price file that is none is refused before anything is taken in
    is_recorded = given.cost == "recorded"
    with bare_archive(config) as archive:
        if archive.known_sources() <= {str(source) for source in archive.sources}:
            wanted = replace(wanted, sources=())  # they are all there is
        if not given.no_sync:
            ahead = None if is_recorded else archive.usage_ahead(by, wanted, config.timezone)
            if ahead is not None:
                sys.stderr.write("reread: counted from the sources; `reread sync` takes them into the archive\n")
                return ahead
            freshen(archive)
        return archive.usage(by, wanted, config.timezone, is_recorded=is_recorded)


def _limited(report: UsageReport, limit: int | None) -> UsageReport:
    """The newest periods, or the dearest of the rest; the totals stay those of everything."""
    from msgspec.structs import replace

    if limit is None:
        return report
    is_time = report.by in ("day", "week", "month", "block")
    return replace(report, rows=report.rows[-limit:] if is_time else report.rows[:limit])


def _show(given: argparse.Namespace, config: Config, report: UsageReport) -> None:
    from reread.render.usage import usage_csv, usage_document, usage_lines

    if given.plot is not None:
        from reread.render.usage_chart import usage_chart

        from .plotting import save_chart

        save_chart(usage_chart(report, config.timezone), given.plot, config)
        return
    if given.csv:
        sys.stdout.write(usage_csv(report, breakdown=given.breakdown))
        return
    options.show_answer(
        given,
        config,
        lambda: usage_document(report, _zone_name(config.timezone, given.timezone), config.now),
        lambda view: usage_lines(report, view, config.now, breakdown=given.breakdown),
    )


def _zone_name(zone: tzinfo | None, named: str | None) -> str:
    """The zone the days are those of, by the name it was asked for or the machine's own."""
    if named is not None:
        return named
    from datetime import datetime

    local = datetime.now().astimezone(zone)
    return local.tzname() or str(local.tzinfo)
