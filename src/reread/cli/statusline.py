"""`reread statusline`: prints one line for Claude Code to show under its prompt, and keeps the input it gets for it.

Start-up is nearly all of its cost, so it imports only what a plain line needs; a parser only for options.
"""

from __future__ import annotations

import os
import re
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive.status import SpentToday
    from reread.records.client_input import Limit, StatusLine

    from . import options


STATUSLINE_EXAMPLES = """\
  reread statusline < line.json
  reread statusline --format "{model} {session}, {today} today, {five_hour}"

in the settings.json of Claude Code:
  "statusLine": {"type": "command", "command": "reread statusline"}"""
ABOUT = """Print one line for Claude Code's status bar from the JSON it gives on standard input: the model,
today's cost of all sessions, this session's cost as Claude Code counts it, cost per hour in the current
five-hour block, context size, and usage limits with the time until they reset. Unknown values are left out;
without valid JSON the line has only what the archive knows.

This does not import anything: today's cost is as of the last sync (`reread sync --watch` keeps it fresh), and
for sessions started today at least what Claude Code reports. Cost and limits are stored, if there is an
archive, for `reread usage session --reconcile` and `reread usage block`."""


def statusline_parser() -> options.Parser:
    from . import options

    made = options.Parser(
        prog="reread statusline",
        description=ABOUT,
        epilog=f"examples:\n{STATUSLINE_EXAMPLES}",
        formatter_class=options.Help,
        allow_abbrev=False,
    )
    made.option("--home DIR", "archive folder (default: REREAD_HOME, or the platform's data folder)")
    fields = ", ".join(f"{{{name}}}" for name in PARTS)
    made.option("--format TEXT", f"your own line; may contain {fields}")
    return made


def run_statusline(arguments: list[str]) -> None:
    home, template = _home_and_format(arguments)
    from reread.archive.status import spent
    from reread.records.client_input import read_status_line

    from .streams import piped_input

    now = time.time_ns() // 10**6
    line = read_status_line(piped_input(), now)
    shown = status_line(line, spent(_folder(home), line, now), now, template)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # Claude Code reads UTF-8, whatever the Windows console uses
    sys.stdout.write(f"{shown}\n")


def _home_and_format(arguments: list[str]) -> tuple[str | None, str | None]:
    """The home and the format. Pairs are parsed by hand: argparse and its options take longer than all the rest."""
    pairs = dict(zip(arguments[::2], arguments[1::2], strict=False))
    is_plain = len(arguments) == 2 * len(pairs) and not any(value.startswith("-") for value in pairs.values())
    if is_plain and pairs.keys() <= {"--home", "--format"}:
        return pairs.get("--home"), pairs.get("--format")
    args = statusline_parser().parse_args(arguments)
    return args.home, args.format


def _folder(named: str | None) -> str:
    from reread.home import archive_home

    environ = {"REREAD_HOME": named} if named else os.environ
    return archive_home(environ, sys.platform, os.path.expanduser("~"))  # noqa: PTH111


UNKNOWN = "-"
PARTS = {
    "model": "{model}",
    "today": "today {today}",
    "session": "session {session}",
    "budget": "{budget}",
    "hourly": "{hourly}/h",
    "context": "context {context}",
    "five_hour": "5h {five_hour}",
    "seven_day": "7d {seven_day}",
}
"""The parts of a line in their order; each is shown if its fields are known."""
_FIELD = rf"{{({'|'.join(PARTS)})}}"


def status_line(line: StatusLine | None, spent: SpentToday, now: int, template: str | None) -> str:
    """The line; just the program's name if nothing is known, because an empty line would look broken."""
    known = _fields(line, spent, now)
    if template is None:
        template = " · ".join(part for name, part in PARTS.items() if name in known) or "reread"
    return re.sub(_FIELD, lambda found: known.get(found[1], UNKNOWN), template)


def _fields(line: StatusLine | None, spent: SpentToday, now: int) -> dict[str, str]:
    fields = {"today": _money(spent.today), "hourly": _money(spent.hourly), "budget": _budget(spent)}
    if line is not None:
        fields["model"] = line.model
        fields["session"] = _money(line.nanodollars)
        fields["context"] = None if line.context_percent is None else f"{line.context_percent:.0f}%"
        fields["five_hour"] = _limit(line.five_hour, now)
        fields["seven_day"] = _limit(line.seven_day, now)
    return {name: text for name, text in fields.items() if text is not None}


def _budget(spent: SpentToday) -> str | None:
    """`day 82% of $10`, with a mark if the budget is nearly used up."""
    found = spent.budget
    if found is None:
        return None
    mark = {"ok": "", "near": " !", "over": " !!"}[found.state]
    limit = found.limit / 1e9
    amount = f"${limit:,.0f}" if limit == int(limit) else f"${limit:,.2f}"
    return f"{found.period} {found.share:.0%} of {amount}{mark}"


def _money(nanodollars: int | None) -> str | None:
    return None if nanodollars is None else f"${nanodollars / 1e9:,.2f}"


def _limit(limit: Limit, now: int) -> str | None:
    if limit.percent is None:
        return None
    left = 0 if limit.resets is None else limit.resets - now
    return f"{limit.percent:.0f}%" + (f" ({_span(left // 60_000)} left)" if left > 0 else "")


def _span(minutes: int) -> str:
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    return f"{hours}h {minutes}m" if hours else f"{minutes}m"
