"""`reread doctor`: what can be read, what is new, what is at risk."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from reread import archive as archives
from reread import views

from . import options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reread.config import Config
    from reread.views.values import View

DOCTOR_EXAMPLES = """\
  reread doctor
  reread doctor --strict && echo all readable
  reread doctor --fields                     which fields records have, and how often
  reread doctor --source ~/backup --json"""
EXIT_DAMAGE = 1


def doctor_parser() -> options.Parser:
    about = "Read every line of every source and report versions, unknown record types, damage and deletions."
    made = options.make_parser("doctor", about, DOCTOR_EXAMPLES, syncs=False)
    made.add_argument("--strict", action="store_true", help="exit with 1 if anything could not be read")
    made.add_argument("--fields", action="store_true", help="count every field by record type")
    return made


def run_doctor(arguments: list[str]) -> int:
    given = doctor_parser().parse_args(arguments)
    config = options.make_config(given)
    progress = _progress if sys.stderr.isatty() else None
    shelf = options.open_shelf(config)
    kept, forgotten = _kept(config, [files.id for files in shelf.sessions])
    health = archives.health.examine(shelf, config.now, progress, kept, forgotten)

    def lines(view: View) -> Iterator[str]:
        yield from views.reports.health_lines(health, view)
        if given.fields:
            yield from views.reports.field_lines(health.drift, view)

    options.show_answer(
        given, config, lambda: views.session_json.health_document(health, with_fields=given.fields), lines
    )
    return EXIT_DAMAGE if given.strict and health.is_damaged else 0


def _kept(config: Config, sessions: list[str]) -> tuple[dict[str, int] | None, set[str]]:
    """What the archive has, and which of some sessions it is not to take; the doctor looks and makes none."""
    with archives.Archive(config.home) as archive:
        return (archive.kept_bytes(), archive.forgotten_among(sessions)) if archive.exists else (None, set())


def _progress(done: int, of: int) -> None:
    end = "\r" if done + 1 < of else "\r\x1b[K"
    sys.stderr.write(f"\rreading session {done + 1:,} of {of:,}{end}")
