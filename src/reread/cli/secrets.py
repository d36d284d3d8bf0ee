"""`reread secrets`: which keys and passwords lie in past sessions, so that new ones can be made."""

from __future__ import annotations

import sys

from reread import archive as archives
from reread import views
from reread.errors import BadInput

from . import options
from .progress import ShareProgress
from .session_source import asked_archive
from .stderr import tell

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
    given = secrets_parser().parse_args(arguments)
    config = options.make_config(given)
    if given.show and (given.json or not sys.stdout.isatty()):
        raise BadInput("--show prints secrets on a terminal only, not into a file, a pipe or JSON")
    wanted = options.make_filter(given, config)
    with asked_archive(given, config) as archive:
        scan = archive.secrets
        answer = scan.report(wanted, ShareProgress("looking through sessions") if sys.stderr.isatty() else None)
        values = {each.id: scan.value_of(each) or "(lost)" for each in answer.secrets} if given.show else {}
        options.show_answer(
            given,
            config,
            lambda: views.secret_list.secrets_document(answer, archives.secret_scan.ADVICE),
            lambda view: views.secret_list.secrets_lines(answer, archives.secret_scan.ADVICE, view, values),
        )
    if answer.damaged:
        tell(f"{answer.damaged:,} files could not be scanned; run `reread archive verify`")
    return 0
