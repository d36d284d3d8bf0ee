"""`reread blame`: which prompt and which edit made each line of a file."""

from __future__ import annotations

from reread.errors import BadInput, printable

from . import options

EXAMPLES = """\
  reread blame src/retry.py
  reread blame retry.py --at 2026-10-02T14:00     as it was then
  reread blame src/retry.py --json"""


def parser() -> options.Parser:
    from .travelling import add_at, add_file

    about = "Each line of a file with the session, the prompt and the edit that wrote it, as far as transcripts know."
    made = options.make_parser("blame", about, EXAMPLES)
    add_file(made)
    add_at(made)
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.analyses.edits.blame import blame
    from reread.render.travel import blame_document, blame_lines

    from .travelling import asked_archive, trace_file

    with asked_archive(given, config) as archive:
        traced = trace_file(archive, given, config)
    lines = blame(traced.history)
    if lines is None:
        raise BadInput(f"transcripts tell only parts of {printable(traced.history.path)}: no line can be placed")
    options.show_answer(
        given, config, lambda: blame_document(traced, lines), lambda view: blame_lines(traced, lines, view)
    )
    return 0
