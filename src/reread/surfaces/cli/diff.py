"""`reread diff`: what a session changed in the end."""

from __future__ import annotations

import argparse

from reread.errors import BadInput, printable

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.analyses.edits.net import FileDiff
    from reread.sessions import Branch, Session

EXAMPLES = """\
  reread diff @last
  reread diff 3f2a src/retry.py         one file
  reread diff @last --stat
  reread diff @last --branch b1d0e3f4..main     between two branches of a rewind"""


def parser() -> options.Parser:
    about = "The net change of a session, file by file, before and after; or between two branches of a rewind."
    made = options.make_parser("diff", about, EXAMPLES)
    made.add_argument("session", metavar="SESSION", help="a file, a folder, an id or its beginning, @last, @2")
    made.add_argument("file", nargs="?", metavar="FILE", help="only this file: a path, its end, or a glob")
    made.add_argument("--branch", metavar="ID|A..B", help="along one branch, or from the end of one to that of another")
    made.add_argument("--stat", action="store_true", help="only how much of each file changed")
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.queries.travel import edits_of
    from reread.render.travel import diff_document, diff_lines, stat_lines

    from .opening import open_session

    with open_session(given, config) as opened:
        session = opened.session
        edits = edits_of(session, opened.kept_backups)
        if given.branch is None:
            found = edits.on_disk()
        else:
            first, second = _branches(session, given.branch)
            found = edits.on(first) if second is None else edits.between(first, second)
    shown = _chosen(found, given)
    options.show_answer(
        given,
        config,
        lambda: diff_document(session, given.branch or "all", shown),
        lambda view: stat_lines(session, shown, view) if given.stat else diff_lines(session, shown, view),
    )
    return 0


def _branches(session: Session, text: str) -> tuple[Branch, Branch | None]:
    from .show import chosen_branches

    first, dots, second = text.partition("..")
    if dots and not (first and second):
        raise BadInput(f"--branch {printable(text)!r} names one branch only; try A..B")
    names = [chosen_branches(session, name)[0] for name in (first, second) if name]
    return names[0], names[1] if dots else None


def _chosen(found: list[FileDiff], given: argparse.Namespace) -> list[FileDiff]:
    """The files asked for; one that the session never changed is a mistake."""
    from reread.analyses.edits.paths import fits

    shown = [diff for diff in found if diff.is_change]
    if given.file is None:
        return shown
    name = given.file.removeprefix("./")
    if not any(fits(diff.path, name) for diff in found):
        raise BadInput(f"the session changed no file {printable(given.file)!r}")
    return [diff for diff in shown if fits(diff.path, name)]
