"""`reread files`: which files sessions touched, how and when."""

from __future__ import annotations

import argparse

from . import options

EXAMPLES = """\
  reread files --since 7d
  reread files 'src/**/retry.py'        every session that read, wrote or edited it
  reread files '*.sql' --tool Edit --json
  reread files Makefile --shell         commands that name it, too"""


def parser() -> options.Parser:
    about = "Files that sessions read, wrote, edited or searched, the one touched last first."
    made = options.make_parser("files", about, EXAMPLES)
    made.add_argument("glob", nargs="?", metavar="GLOB", help="a path or its end; * and ? stand for anything")
    made.add_argument(
        "--shell",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="guess the files of shell commands too; by default where GLOB has a word to find them by",
    )
    options.add_filters(made, limit=None)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.render.touched import files_document, files_lines

    from .telling import tell_hidden
    from .travelling import asked_archive, index_of

    wanted = options.make_filter(given, config)
    with asked_archive(given, config) as archive:
        touched = index_of(archive).touched(given.glob, wanted, with_shell=given.shell, with_uuids=given.json)
        options.show_answer(given, config, lambda: files_document(touched), lambda view: files_lines(touched, view))
        tell_hidden(touched.hidden)
    return 0
