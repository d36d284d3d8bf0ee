"""`reread restore`: a file as it was, rebuilt from what transcripts tell."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from reread.config import expanded
from reread.errors import BadInput, printable

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.analyses.edits.texts import Content
    from reread.archive import Archive
    from reread.config import Config
    from reread.queries.travel import Traced

EXAMPLES = """\
  reread restore src/retry.py                            as the last session left it
  reread restore src/retry.py --at 3f2a1b7c              as it was after that line
  reread restore src/retry.py --at yesterday --to /tmp/retry.py"""


def parser() -> options.Parser:
    from .travelling import add_at, add_file

    about = "A file as it was at a moment, rebuilt from edits, whole contents and backups; gaps are told."
    made = options.make_parser("restore", about, EXAMPLES)
    add_file(made)
    add_at(made)
    made.add_argument("--to", metavar="PATH", help="a file or folder to write to; the default is standard output")
    made.add_argument("--force", action="store_true", help="overwrite a file that is there")
    return made


def run(arguments: list[str]) -> int:
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    from .travelling import asked_archive, tell_gaps, trace_file

    with asked_archive(given, config) as archive:
        traced = trace_file(archive, given, config)
        content = _known(traced, given)
        to = _target(given, traced, config, archive)
    tell_gaps(traced, config)
    if to is not None:
        to.write_bytes(content.to_bytes())
    if given.json:
        options.print_json(_document(traced, content, to))
    elif to is not None:
        options.print_lines([str(to)])
    else:
        options.print_bytes(content.to_bytes(), content.plain)
    return 0


def _known(traced: Traced, given: argparse.Namespace) -> Content:
    path, content = printable(traced.history.path), traced.history.last
    when = "at that point" if given.at is not None else "in the end"
    if content is None:
        raise BadInput(f"transcripts tell only parts of what {path} held {when}")
    if content.text is None:
        raise BadInput(f"{path} was not there {when}")
    return content


def _target(given: argparse.Namespace, traced: Traced, config: Config, archive: Archive) -> Path | None:
    """Where to write: nothing is overwritten unasked, and nothing is written below a folder of Claude Code."""
    from .opening import is_below, is_protected

    if given.to is None:
        return None
    to = expanded(given.to)
    if to.is_dir():
        to = to / traced.history.path.replace("\\", "/").rpartition("/")[2]
    known = [Path(source) for source in archive.known_sources()]
    inside = [source for source in config.sources if is_below(to, source)]
    inside += [source for source in known if is_protected(to, source)]
    if inside:
        raise BadInput(f"{to} leads below the source {inside[0]}, where reread never writes; choose another place")
    if os.path.lexists(to) and not given.force:
        raise BadInput(f"{printable(str(to))} would be overwritten; --force does that")
    return to


def _document(traced: Traced, content: Content, to: Path | None) -> object:
    from reread.render.travel import change_document, gap_document
    from reread.render.values import utc

    history = traced.history
    last = history.versions[-1] if history.versions else None
    return {
        "schema": "reread.restored/1",
        "path": history.path,
        "timestamp": utc(last.time) if last is not None else None,
        "last_change": change_document(history.changes[-1] if history.changes else None),
        "to": str(to) if to is not None else None,
        "bytes": len(content.to_bytes()),
        "line_endings": content.ending.value if content.ending is not None else None,
        "byte_order_mark": content.has_bom,
        "content": content.to_bytes().decode("utf-8", "replace"),
        "gaps": [gap_document(gap) for gap in history.gaps],
        "in_gap": gap_document(traced.gap) if traced.gap is not None else None,
    }
