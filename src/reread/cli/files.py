"""`reread files`, `blame`, `restore` and `diff`: what sessions did to files."""

from __future__ import annotations

import argparse
import os
import re
from pathlib import Path

from reread import lazy, views
from reread.config import expanded
from reread.errors import BadInput, printable
from reread.foreign_files import path_below
from reread.lazy import TYPE_CHECKING

from . import commit, options
from .contents import chosen_branches
from .session_source import open_session, query_archive, refuse_known_sources
from .streams import report_hidden, tell

if TYPE_CHECKING:
    from reread import loading
    from reread.archive import Archive
    from reread.archive.file_history import Traced
    from reread.config import Config
    from reread.features.edits import shell
    from reread.features.edits.net import FileDiff
    from reread.features.edits.patches import Content
    from reread.sessions import Branch, Session
else:
    lazy.bind(globals())


def trace_file(archive: Archive, args: options.Options) -> Traced:
    """The history of the named file up to `--at`. Tells the person if the name means another path."""
    file = archive.file(args.file)
    if shell.key_of(shell.absolute(str(expanded(args.file)), str(Path.cwd()))) != shell.key_of(file.path):
        tell(f"using {file.path}")
    return file.history(args.at, args.config.timezone)


def add_file(parser: options.Parser) -> None:
    parser.word("FILE", "a path, or the end of one that is unique")


def add_at(parser: options.Parser) -> None:
    parser.option("--at WHEN", "after the record with this uuid, or at a time: 2026-10-02T14:00, 7d")


def report_gaps(traced: Traced, config: Config) -> None:
    """Reports gaps on standard error: the content shown may be incomplete."""
    view = options.make_view(config)
    for text in views.file_tables.gap_texts(traced.history.gaps, view):
        tell(text)
    if traced.gap is not None:
        tell(f"at that moment the file may have been different: {views.file_tables.gap_text(traced.gap, view)}")


FILES_EXAMPLES = """\
  reread files --since 7d
  reread files 'src/**/retry.py'        every session that read, wrote or edited it
  reread files '*.sql' --tool Edit --json
  reread files Makefile --shell         commands that name it, too"""


def files_parser() -> options.Parser:
    about = "List files that sessions read, wrote, edited or searched, last touched first."
    made = options.make_parser("files", about, FILES_EXAMPLES)
    made.word("[GLOB]", "a path or the end of one; * and ? match anything")
    made.option(
        "--shell",
        "guess files named in shell commands as well (default: if GLOB contains a word to search for)",
        action=argparse.BooleanOptionalAction,
        default=None,
    )
    options.add_filters(made, limit=None)
    return made


def run_files(args: options.Options) -> None:
    filters = options.make_filter(args)
    with query_archive(args) as archive:
        touched = archive.files.touched(args.glob, filters, with_shell=args.shell, with_uuids=args.json)
        args.print_answer(views.file_tables.files_document, views.file_tables.files_lines, touched)
        report_hidden(touched.hidden)


BLAME_EXAMPLES = """\
  reread blame src/retry.py
  reread blame retry.py --at 2026-10-02T14:00     as it was then
  reread blame src/retry.py --json"""


def blame_parser() -> options.Parser:

    about = """Show the session, prompt and edit that wrote each line of a file, as far as transcripts know: of source,
of MEMORY.md or CLAUDE.md. For a commit (HEAD, 3f2a9c1) see the lines that it adds."""
    made = options.make_parser("blame", about, BLAME_EXAMPLES)
    add_file(made)
    add_at(made)
    return made


_COMMIT = re.compile(r"HEAD\S*|[0-9a-f]{7,40}")


def run_blame(arguments: list[str]) -> None:
    args = blame_parser().parse_args(arguments)
    if _COMMIT.fullmatch(args.file) and not Path(args.file).exists():
        commit.run_commit(commit.commit_parser().parse_args(["--lines", *arguments]))
        return
    with query_archive(args) as archive:
        traced = trace_file(archive, args)
    lines = traced.blame()
    args.print_answer(views.file_tables.blame_document, views.file_tables.blame_lines, traced, lines)


RESTORE_EXAMPLES = """\
  reread restore src/retry.py                            as the last session left it
  reread restore src/retry.py --at 3f2a1b7c              as it was after that line
  reread restore src/retry.py --at yesterday --to /tmp/retry.py"""


def restore_parser() -> options.Parser:

    about = "Print a file as it was at some moment, rebuilt from edits, contents and backups; report gaps."
    made = options.make_parser("restore", about, RESTORE_EXAMPLES)
    add_file(made)
    add_at(made)
    made.option("--to PATH", "file or folder to write to (default: standard output)")
    made.flag("--force", "overwrite an existing file")
    return made


def run_restore(args: options.Options) -> None:

    with query_archive(args) as archive:
        traced = trace_file(archive, args)
        content = traced.content
        to = _target(args, traced, archive)
    report_gaps(traced, args.config)
    if traced.history.last is None:
        tell("only parts of it are known; gaps are marked in brackets")
    if to is not None:
        with os.fdopen(
            os.open(to, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600), "wb"
        ) as file:
            file.write(content.to_bytes())
    if args.json:
        options.print_json(_document(traced, content, to))
    elif to is not None:
        options.print_lines([str(to)])
    else:
        options.print_bytes(content.to_bytes(), content.plain)


def _target(args: options.Options, traced: Traced, archive: Archive) -> Path | None:
    """The path to write; raises BadInput below a source, and for an existing file without `--force`."""
    if args.to is None:
        return None
    to = expanded(args.to)
    if to.is_dir():
        to = path_below(to, traced.history.path.replace("\\", "/").rpartition("/")[2])
    refuse_known_sources(to, archive, args.config)
    if os.path.lexists(to) and not args.force:
        raise BadInput(f"{printable(str(to))} exists already; pass --force to overwrite it")
    return to


def _document(traced: Traced, content: Content, to: Path | None) -> object:
    history = traced.history
    last = history.versions[-1] if history.versions else None
    return {
        "schema": "reread.restored/1",
        "path": history.path,
        "is_whole": history.last is not None,
        "timestamp": views.values.utc(last.time) if last is not None else None,
        "last_change": views.file_tables.change_document(history.changes[-1] if history.changes else None),
        "to": str(to) if to is not None else None,
        "bytes": len(content.to_bytes()),
        "line_endings": content.ending.value if content.ending is not None else None,
        "byte_order_mark": content.has_bom,
        "content": content.to_bytes().decode("utf-8", "replace"),
        "gaps": [views.file_tables.gap_document(gap) for gap in history.gaps],
        "in_gap": views.file_tables.gap_document(traced.gap) if traced.gap is not None else None,
    }


DIFF_EXAMPLES = """\
  reread diff @last
  reread diff 3f2a src/retry.py         one file
  reread diff @last --stat
  reread diff @last --branch b1d0e3f4..main     between two branches of a rewind"""


def diff_parser() -> options.Parser:
    about = "Show the net change of a session by file, or the difference between two branches of a rewound session."
    made = options.make_parser("diff", about, DIFF_EXAMPLES)
    made.word("SESSION", "a file, a folder, an id or the start of one, @last, @2")
    made.word("[FILE]", "only this file: a path, the end of one, or a glob")
    made.option("--branch ID|A..B", "the changes of one branch, or the difference between two")
    made.flag("--stat", "only count changed lines per file")
    return made


def run_diff(args: options.Options) -> None:
    with open_session(args) as opened:
        session = opened.session
        edits = loading.edits_of(session, opened.kept_backups)
        if args.branch is None:
            found = edits.on_disk()
        else:
            first, second = _branches(session, args.branch)
            found = edits.on(first) if second is None else edits.between(first, second)
    shown = _chosen(found, args)
    args.print_answer(
        lambda: views.file_tables.diff_document(session, args.branch or "all", shown),
        lambda view: (
            views.file_tables.stat_lines(session, shown, view)
            if args.stat
            else views.file_tables.diff_lines(session, shown, view)
        ),
    )


def _branches(session: Session, text: str) -> tuple[Branch, Branch | None]:
    first, dots, second = text.partition("..")
    if dots and not (first and second):
        raise BadInput(f"--branch {printable(text)!r} names only one branch; try A..B")
    names = [chosen_branches(session, name)[0] for name in (first, second) if name]
    return names[0], names[1] if dots else None


def _chosen(found: list[FileDiff], args: options.Options) -> list[FileDiff]:
    """The chosen files. Raises BadInput for one that the session never changed."""
    shown = [diff for diff in found if diff.is_change]
    if args.file is None:
        return shown
    name = args.file.removeprefix("./")
    if not any(shell.fits(diff.path, name) for diff in found):
        raise BadInput(f"the session changed no file {printable(args.file)!r}")
    return [diff for diff in shown if shell.fits(diff.path, name)]
