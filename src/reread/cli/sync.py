"""`reread sync`: imports everything that changed into the archive."""

from __future__ import annotations

import sys
from contextlib import closing

from reread import views
from reread.views.numbers import beside_lines, count, duration, left_out_document, left_out_lines, size

from . import options
from .session_source import ProgressBar, unsynced_archive
from .streams import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.archive import Archive, SyncResult
    from reread.config import Config

SYNC_EXAMPLES = """\
  reread sync                      what changed since the last time
  reread sync --watch              keeps following until Ctrl-C
  reread sync --full               reads everything again
  reread sync --source /mnt/old-laptop/.claude"""


def sync_parser() -> options.Parser:
    about = (
        "Import new and changed transcripts, with subagents, tool results and backups, into the archive and keep them."
    )
    made = options.make_parser("sync", about, SYNC_EXAMPLES, syncs=False)
    made.flag("--watch", "keep importing until Ctrl-C")
    made.flag("--full", "read everything again, even if unchanged")
    return made


def run_sync(args: options.Options) -> None:
    options.refuse_no_sources(args.config)
    with unsynced_archive(args.config, to_import=True) as archive:
        result = _sync(archive, is_full=args.full)
        _print_result(result, args)
        if result.files:
            _tell_beside(args.config)
        if args.watch:
            _watch(archive, args)


def _tell_beside(config: Config) -> None:
    from reread.sources.beside import find_beside  # a sync with nothing new imports nothing of sources

    for line in beside_lines(find_beside(config.sources)):
        tell(line)


def _sync(archive: Archive, *, is_full: bool) -> SyncResult:
    with closing(ProgressBar()) as progress:
        return archive.sync(progress, full=is_full)


def _watch(archive: Archive, args: options.Options) -> None:
    """Reports every sync that imported something, and every problem once, until Ctrl-C."""
    reported: set[str] = set()
    for result in archive.watch():
        fresh = [problem for problem in result.problems if str(problem) not in reported]
        reported.update(str(problem) for problem in fresh)
        if result.files or result.vanished or fresh:
            result.problems = fresh
            _print_result(result, args)


def _print_result(result: SyncResult, args: options.Options) -> None:
    if args.json:
        _print_document(result, is_one_line=args.watch)
    else:
        options.print_lines([sentence(result)])
    sys.stdout.flush()
    options.warn(result.problems)


def sentence(result: SyncResult) -> str:
    """`imported 3 sessions, 7 files, 1.2 MB in 0.4s; 2 files vanished from the sources and are kept`."""
    if result.files:
        what = f"{count(result.sessions, 'session')}, {count(result.files, 'file')}, {size(result.bytes)}"
        text = f"imported {what} in {duration(result.seconds)}"
    else:
        text = "nothing new"
    if result.rebuilt:
        text = f"the index was not complete and is rebuilt, {count(result.rebuilt, 'session')}; {text}"
    if result.vanished:
        is_one = result.vanished == 1
        text += f"; {count(result.vanished, 'file')} vanished from the sources and {'is' if is_one else 'are'} kept"
    return "; ".join([text, *left_out_lines(result.left_out.items())])


def _print_document(result: SyncResult, *, is_one_line: bool) -> None:
    document = {
        "schema": "reread.sync/1",
        **views.values.picked(result, "sessions files bytes unchanged vanished"),
        "left_out": left_out_document(result.left_out.items()),
        "rebuilt": result.rebuilt,
        "seconds": round(result.seconds, 3),
        "problems": [str(problem) for problem in result.problems],
    }
    print_document = options.print_json_line if is_one_line else options.print_json
    print_document(document)
