"""`reread demo`: the product on built-in sample sessions, touching nothing of the user's."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from reread import archive as archives
from reread.errors import BadInput

from . import main, options
from .common import word_first
from .stderr import tell

USAGE = """\
usage: reread demo [COMMAND] [OPTIONS]

Runs a command on sample sessions that come with reread, in an archive of their own; nothing of yours is read
or written.

examples:
  reread demo                       the overview, then a whole session
  reread demo show @last --branch all
  reread demo search "retry*"
  reread demo thinking
  reread demo tools --json
  reread demo serve                 the same in your browser
"""


def run_demo(arguments: list[str]) -> int:
    arguments = word_first(arguments)
    if arguments and arguments[0] in ("-h", "--help"):
        options.print_text(USAGE)
        return 0
    if arguments and arguments[0] == "run":
        raise BadInput("there is nothing to demonstrate without Claude Code itself; see `reread run --help`")
    with TemporaryDirectory(prefix="reread-demo-") as folder:
        place, home = Path(folder, "sample"), Path(folder, "home")
        _lay_out(place, datetime.now(UTC))
        _fill(place, home)
        scratch = ["--source", str(place), "--home", str(home)]
        if arguments:
            if arguments[0] == "statusline":
                scratch = scratch[2:]  # it reads no sources
            code = main.run([*arguments, *scratch])
            if sys.stdout.isatty() and code == 0:
                tell("run the commands shown here as `reread demo COMMAND`")
            return code
        main.run(scratch)
        options.print_lines(["", "$ reread demo show @last", ""])
        code = main.run(["show", "@last", *scratch])
        options.print_lines(["", "The same in your browser: reread demo serve"])
        return code


def _fill(place: Path, home: Path) -> None:
    """Takes the samples in; then old ones go, as the client would have deleted them."""
    with archives.Archive(home, [place]) as archive:
        archive.sync()
    oldest = time.time() - timedelta(days=archives.CLEANUP_DAYS).total_seconds()
    for path in place.rglob("*.jsonl"):
        if path.stat().st_mtime < oldest:
            path.unlink()


_NEWEST = timedelta(minutes=12)
"""So long ago the newest sample ended."""
_TIME = re.compile(rb"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def _lay_out(place: Path, now: datetime) -> None:
    """Copies the samples out of the package, all moved by the same time; a file is as old as its last line."""
    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        shutil.copytree(samples, place, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    written = {path: path.read_bytes() for path in place.rglob("*.jsonl")}
    last = {path: max(map(_moment, _TIME.findall(content))) for path, content in written.items()}
    moved = now - _NEWEST - max(last.values())
    for path, content in written.items():
        path.write_bytes(_TIME.sub(lambda found: _written(_moment(found[0]) + moved), content))
        ended = (last[path] + moved).timestamp()
        os.utime(path, (ended, ended))


def _moment(text: bytes) -> datetime:
    return datetime.fromisoformat(text.decode())


def _written(moment: datetime) -> bytes:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z").encode()
