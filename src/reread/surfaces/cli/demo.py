"""`reread demo`: the product on built-in sample sessions, touching nothing of the user's."""

from __future__ import annotations

import os
import shutil
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from reread.errors import BadInput

from . import main, options

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


def run(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        options.print_text(USAGE)
        return 0
    if arguments and arguments[0] == "run":
        raise BadInput("there is nothing to demonstrate without Claude Code itself; see `reread run --help`")
    with TemporaryDirectory(prefix="reread-demo-") as folder:
        place = _lay_out(Path(folder))
        scratch = ["--source", str(place), "--home", str(Path(folder, "home"))]
        if arguments:
            if arguments[0] in ("archive", "prices", "statusline"):  # they look at what is there, and make no archive
                _fill(place, Path(folder, "home"))
            if arguments[0] == "statusline":
                scratch = scratch[2:]  # it reads no sources
            return main.run([*arguments, *scratch])
        main.run(scratch)
        options.print_lines(["", "$ reread demo show @last", ""])
        code = main.run(["show", "@last", *scratch])
        options.print_lines(["", "The same in your browser: reread demo serve"])
        return code


def _fill(place: Path, home: Path) -> None:
    from reread.archive import Archive

    with Archive(home, [place]) as archive:
        archive.sync()


def _lay_out(folder: Path) -> Path:
    """Copies the samples out of the package; a session's age is its file's, as with the client."""
    from reread.loading import read

    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        shutil.copytree(samples, folder / "sample", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    for path in (folder / "sample").rglob("*.jsonl"):
        last = max((time.timestamp() for record in read(path) if (time := record.time) is not None), default=0)
        os.utime(path, (last, last))
    return folder / "sample"
