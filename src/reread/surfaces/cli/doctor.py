"""`reread doctor`: what can be read, what is new, what is at risk."""

from __future__ import annotations

import sys

from reread.config import make_config

from . import options

EXAMPLES = """\
  reread doctor
  reread doctor --strict && echo all readable
  reread doctor --source ~/backup --json"""
EXIT_DAMAGE = 1


def run(arguments: list[str]) -> int:
    about = "Reads every line of every source and reports versions, unknown record types, damage and retention."
    parser = options.make_parser("doctor", about, EXAMPLES)
    parser.add_argument("--strict", action="store_true", help="exit with 1 when something could not be read")
    given = parser.parse_args(arguments)
    config = make_config(given.source, given.timezone)
    from reread.queries.health import examine
    from reread.render.documents import health_document
    from reread.render.reports import health_lines

    health = examine(options.open_shelf(config), config.now, _progress if sys.stderr.isatty() else None)
    options.show_answer(given, config, lambda: health_document(health), lambda view: health_lines(health, view))
    return EXIT_DAMAGE if given.strict and health.is_damaged else 0


def _progress(done: int, of: int) -> None:
    end = "\r" if done + 1 < of else "\r\x1b[K"
    sys.stderr.write(f"\rreading session {done + 1:,} of {of:,}{end}")
