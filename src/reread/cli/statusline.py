"""`reread statusline`: one line for Claude Code to show under its prompt, and what it told for it kept.

Start-up is all it costs, so nothing is imported that a plain line does not need; `parser` only with options.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import options

STATUSLINE_EXAMPLES = """\
  reread statusline < line.json
  reread statusline --format "{model} {session}, {today} today, {five_hour} of the limit"

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
    import argparse

    from reread.views.statusline import PARTS

    from . import options

    made = options.Parser(
        prog="reread statusline",
        description=ABOUT,
        epilog=f"examples:\n{STATUSLINE_EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument(
        "--home", metavar="DIR", help="archive folder (default: REREAD_HOME, or the platform's data folder)"
    )
    fields = ", ".join(f"{{{name}}}" for name in PARTS)
    made.add_argument("--format", metavar="TEXT", help=f"your own line; may contain {fields}")
    return made


def run_statusline(arguments: list[str]) -> int:
    home, template = _given(arguments)
    from reread.archive.status import spent
    from reread.records.client_input import read_status_line
    from reread.views.statusline import status_line

    from .streams import piped_input

    now = time.time_ns() // 10**6
    line = read_status_line(piped_input(), now)
    shown = status_line(line, spent(_folder(home), line, now), now, template)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # what Claude Code reads, whatever the console of Windows speaks
    sys.stdout.write(f"{shown}\n")
    return 0


def _given(arguments: list[str]) -> tuple[str | None, str | None]:
    """The home and the format. Pairs are read by hand: argparse and what its options need take longer than the rest."""
    pairs = dict(zip(arguments[::2], arguments[1::2], strict=False))
    is_plain = len(arguments) == 2 * len(pairs) and not any(value.startswith("-") for value in pairs.values())
    if is_plain and pairs.keys() <= {"--home", "--format"}:
        return pairs.get("--home"), pairs.get("--format")
    given = statusline_parser().parse_args(arguments)
    return given.home, given.format


def _folder(named: str | None) -> str:
    from reread.home import archive_home

    environ = {"REREAD_HOME": named} if named else os.environ
    return archive_home(environ, sys.platform, os.path.expanduser("~"))  # noqa: PTH111
