"""`reread demo`: the product on built-in sample sessions, touching nothing of the user's."""

from __future__ import annotations

import os
import shutil
import sys
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from . import main

USAGE = """\
usage: reread demo [COMMAND] [OPTIONS]

Runs a command on sample sessions that come with reread; nothing of yours is read.

examples:
  reread demo                       the overview, then a whole session
  reread demo show @last --branch all
  reread demo thinking
  reread demo tools --json
"""


def run(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    with TemporaryDirectory(prefix="reread-demo-") as folder:
        place = _lay_out(Path(folder))
        if arguments:
            return main.run([*arguments, "--source", str(place)])
        main.run(["--source", str(place)])
        sys.stdout.write("\n$ reread demo show @last\n\n")
        return main.run(["show", "@last", "--source", str(place)])


def _lay_out(folder: Path) -> Path:
    """Copies the samples out of the package; a session's age is its file's, as with the client."""
    from reread.loading import read

    with resources.as_file(resources.files("reread").joinpath("samples")) as samples:
        shutil.copytree(samples, folder / "sample", ignore=shutil.ignore_patterns("__pycache__", "*.py"))
    for path in (folder / "sample").rglob("*.jsonl"):
        last = max((time.timestamp() for record in read(path) if (time := record.time) is not None), default=0)
        os.utime(path, (last, last))
    return folder / "sample"
