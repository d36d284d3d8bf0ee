"""`reread push` and `reread pull`: one history on several machines of one person, through a shared folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from reread.config import expanded
from reread.errors import BadInput, RereadError, printable

from . import options
from .stderr import tell

if TYPE_CHECKING:
    from reread.archive import Archive, Pulled, Pushed
    from reread.archive.filters import Filter
    from reread.config import Config

PUSH_EXAMPLES = """\
  reread push /mnt/nas/reread
  reread push                              to the folder of the last time
  reread push --project api --dry-run
  reread push --watch
  reread pull                              what the other machines pushed there"""
PULL_EXAMPLES = """\
  reread pull /mnt/nas/reread
  reread pull                              from the folder of the last time
  reread list --machine laptop             sessions of one machine
  reread usage machine                     what each has used"""
PUSH_ABOUT = """Send this machine's sessions to a folder that your other machines share: a NAS, Syncthing, a mounted
bucket. Only what is not there yet is sent: full transcripts, stars, tags, notes, titles, and what was forgotten.
Anyone who can read the folder can read the sessions."""
PULL_ABOUT = """Import what your other machines pushed to a folder: their sessions, complete, and their marks (the
latest change wins). What was forgotten there is forgotten here."""
EXIT_DAMAGE = 1
_WHAT = ("ledger", "text", "all")


def push_parser() -> options.Parser:
    made = options.make_parser("push", PUSH_ABOUT, PUSH_EXAMPLES)
    made.add_argument("target", nargs="?", metavar="FOLDER", help="the shared folder (default: the last one used)")
    made.add_argument("--what", choices=_WHAT, help="how much to send; a folder always gets all")
    made.add_argument("--dry-run", action="store_true", help="show what would be sent, and send nothing")
    made.add_argument("--watch", action="store_true", help="keep sending new sessions until Ctrl-C")
    made.add_argument("--full", action="store_true", help="verify every byte in the folder and resend what is damaged")
    options.add_filters(made, limit=None)
    return made


def pull_parser() -> options.Parser:
    made = options.make_parser("pull", PULL_ABOUT, PULL_EXAMPLES, syncs=False)
    made.add_argument("folder", nargs="?", metavar="FOLDER", help="the shared folder (default: the last one used)")
    return made


def run_push(arguments: list[str]) -> int:
    given = push_parser().parse_args(arguments)
    config = options.make_config(given)
    from reread.archive.filters import Filter

    from .session_source import open_archive

    wanted = options.make_filter(given, config)
    if given.target is not None:
        _refuse_store(given.target)
    if given.watch and (given.dry_run or given.full):
        raise BadInput("--watch goes on sending; --dry-run and --full are for once")
    if given.what not in (None, "all"):
        raise BadInput(f"a folder takes all or nothing: --what {given.what} is for a team store")
    with open_archive(given, config) as archive:
        folder = _folder(archive, given.target, config, "push")
        some = wanted if wanted != Filter() else None
        if given.watch:
            _follow(archive, folder, some, given)
            return 0
        done = archive.safe.push(folder, some, is_dry=given.dry_run, full=given.full)
    _tell_all(done.problems)
    options.show_answer(given, config, lambda: _push_document(done), lambda _: _push_lines(done, given))
    return EXIT_DAMAGE if done.failed else 0


def _follow(archive: Archive, folder: Path, wanted: Filter | None, given: argparse.Namespace) -> None:
    """Sends what comes until Ctrl-C. A folder that is away is told once, and tried again with the next change."""
    from threading import Event

    told: set[str] = set()
    for number, _ in enumerate(archive.watch(Event())):
        try:
            done = archive.safe.push(folder, wanted)
        except RereadError as problem:
            _tell_all([each for each in [str(problem)] if each not in told])
            told.add(str(problem))
            continue
        fresh = [problem for problem in done.problems if problem not in told]
        told = set(done.problems)
        _tell_all(fresh)
        if done.sent or not number:
            if given.json:
                options.print_json_line(_push_document(done))
            else:
                options.print_lines(_push_lines(done, given))
            sys.stdout.flush()


def run_pull(arguments: list[str]) -> int:
    given = pull_parser().parse_args(arguments)
    config = options.make_config(given)
    from .session_source import bare_archive

    if given.folder is not None:
        _refuse_store(given.folder)
    with bare_archive(config) as archive:
        done = archive.safe.pull(_folder(archive, given.folder, config, "pull"))
    _tell_all(done.problems)
    options.show_answer(given, config, lambda: _pull_document(done), lambda _: _pull_lines(done))
    return 0


def _refuse_store(target: str) -> None:
    if target.startswith(("postgresql:", "postgres:")):
        raise BadInput("a team store is nothing this version can push to or pull from; name a folder")


def _folder(archive: Archive, named: str | None, config: Config, command: str) -> Path:
    from .output_files import refuse_sources
    from .session_source import is_below

    found = expanded(named).absolute() if named else archive.safe.last_folder()
    if found is None:
        raise BadInput(f"say which folder, as in `reread {command} /mnt/nas/reread`; the next time it is known")
    refuse_sources(found, config)
    if is_below(found, config.home):
        raise BadInput(f"{printable(str(found))} lies in the archive itself; choose a folder that machines share")
    return found


def _tell_all(problems: list[str]) -> None:
    for problem in problems:
        tell(problem)


def _push_document(done: Pushed) -> dict[str, object]:
    return {
        "schema": "reread.push/1",
        "target": str(done.target),
        "what": "all",
        "sessions": {"sent": done.sent, "unchanged": done.unchanged, "failed": done.failed},
        "bytes_sent": done.bytes_sent,
        "redacted": 0,
    }


def _push_lines(done: Pushed, given: argparse.Namespace) -> list[str]:
    from reread.views.numbers import count, size

    sent = f"{count(done.sent, 'session')} {'would be sent' if given.dry_run else 'sent'}, {size(done.bytes_sent)}"
    failed = f"; {count(done.failed, 'session')} failed" if done.failed else ""
    return [f"{printable(str(done.target))}: {sent}; {count(done.unchanged, 'session')} there already{failed}"]


def _pull_document(done: Pulled) -> dict[str, object]:
    return {
        "schema": "reread.pull/1",
        "folder": str(done.folder),
        "machines": done.machines,
        "sessions": {"taken": done.sessions, "forgotten": done.forgotten},
        "marks": done.marks,
        "bytes_taken": done.bytes_taken,
        "problems": done.problems,
    }


def _pull_lines(done: Pulled) -> list[str]:
    from reread.views.numbers import count, size

    if not done.machines and not done.problems:
        return [f"{printable(str(done.folder))}: no other machine has pushed there yet"]
    taken = f"{count(done.sessions, 'session')} taken, {size(done.bytes_taken)}, {count(done.marks, 'mark')}"
    forgotten = f"; {count(done.forgotten, 'session')} forgotten" if done.forgotten else ""
    return [f"from {', '.join(map(printable, done.machines))}: {taken}{forgotten}"]
