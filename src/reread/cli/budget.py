"""`reread budget`: how much may be spent in a day, a week, a month, and how it stands."""

from __future__ import annotations

from datetime import timedelta

from reread import archive as archives
from reread import views
from reread.errors import BadInput

from . import options
from .session_source import open_archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive import Archive
    from reread.archive.budgets import Spending
    from reread.config import Config

BUDGET_EXAMPLES = """\
  reread budget                    what was spent, and of which budget
  reread budget day 10             at most 10 dollars a day
  reread budget month 200
  reread budget day none           take it away
  reread budget --json"""
ABOUT = """\
Show spending today, this week and this month, compared with the previous period, and a forecast for the month
from the pace of the last one and four weeks. With a period and an amount, set a budget: `reread statusline` and
the usage page show it and warn before it is used up. A budget never stops anything."""


def budget_parser() -> options.Parser:
    made = options.make_parser("budget", ABOUT, BUDGET_EXAMPLES)
    made.add_argument("period", nargs="?", choices=("day", "week", "month"), help="budget to set")
    made.add_argument("amount", nargs="?", metavar="DOLLARS", help="the limit, or `none` to remove it")
    options.add_prices(made)
    return made


def run_budget(arguments: list[str]) -> int:
    given = budget_parser().parse_args(arguments)
    config = options.make_config(given)
    if given.period is not None:
        _set(config, given.period, given.amount)
    with open_archive(given, config) as archive:
        found = _spending(archive, config)
    options.show_answer(
        given, config, lambda: views.budgets.spending_document(found), lambda _: views.budgets.spending_lines(found)
    )
    return 0


def _set(config: Config, period: str, amount: str | None) -> None:
    if amount is None:
        raise BadInput(f"say how many dollars a {period} may cost, as in `reread budget {period} 10`")
    limits = archives.budgets.read_limits(str(config.home))
    try:
        if amount == "none":
            limits.pop(period, None)
        else:
            limits[period] = archives.budgets.dollars_to_nano(amount)
    except ValueError:
        raise BadInput(f"{amount!r} is not an amount in dollars") from None
    archives.budgets.write_limits(str(config.home), limits)


def _spending(archive: Archive, config: Config) -> Spending:
    today = config.now.astimezone(config.timezone).replace(hour=0, minute=0, second=0, microsecond=0)
    report = archive.usage(
        "day", archives.filters.Filter(since=today - timedelta(days=archives.budgets.DAYS_BACK)), config.timezone
    )
    by_day = {row.key: row.tokens.nanodollars or 0 for row in report.rows if row.key is not None}
    return archives.budgets.spending(by_day, today.date().isoformat(), archives.budgets.read_limits(str(config.home)))
