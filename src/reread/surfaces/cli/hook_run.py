"""What the hook does when a session ends: a process of its own takes the session in, and Claude Code goes on at once.

`run` is what Claude Code starts; it must be quick and never fail, for its failure would be shown to the person. `take`
is the process it leaves behind. What went well or wrong is a line of `hook.log` in the archive's folder.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from reread.config import make_config
from reread.errors import printable

from . import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reread.config import Config
    from reread.records.hook_input import HookInput

LOG = "hook.log"
MOST_LOG_BYTES = 64_000
KEPT_LINES = 100
SETTLE = 2.0
"""Seconds until the transcript is looked at again: the client may still write while its hooks run."""


def parser() -> options.Parser:
    about = "What Claude Code runs when a session ends; not meant to be typed."
    made = options.make_parser("hook run", about, "  reread hook run < told.json", syncs=False)
    made.add_argument("--session", metavar="ID", help="the session that ended, if that is known")
    made.add_argument("--transcript", metavar="FILE", help="its transcript, if that is known")
    return made


def run(arguments: list[str]) -> int:
    """Starts `take` and leaves it behind. Always 0: a session has ended, and nobody is there to help."""
    home = make_config(None, None).home
    try:
        home = options.make_config(parser().parse_args(arguments)).home
        from reread.records.hook_input import read_hook_input

        from .piped import piped_input

        _start(arguments, read_hook_input(piped_input()))
    except Exception as error:  # noqa: BLE001  Claude Code would show it, and the person can do nothing with it
        note(home, f"could not be started: {error}")
    return 0


def _start(arguments: list[str], told: HookInput) -> None:
    import subprocess

    # -P: the working directory is the person's project, and nothing there may pass for a module of ours.
    command = [sys.executable, "-P", "-m", "reread", "hook", "take", *arguments]
    command += [f"--session={told.session}"] if told.session else []
    command += [f"--transcript={told.transcript}"] if told.transcript else []
    quiet = subprocess.DEVNULL
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, creationflags=flags)  # noqa: S603
    else:
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)  # noqa: S603


def take(arguments: list[str]) -> int:
    """Takes in what changed, and once more when the client has had time to write its last lines."""
    given = parser().parse_args(arguments)
    config = options.make_config(given)
    session = given.session or "a session"
    try:
        _sync(config, given.transcript)
        time.sleep(SETTLE)
        problems = _sync(config, given.transcript)
    except Exception as error:  # noqa: BLE001  nobody sees what this process prints: the log is all there is
        problems = [str(error) or type(error).__name__]
    for problem in problems:
        note(config.home, f"{session}: {problem}")
    if not problems:
        note(config.home, f"{session}: synced")
    return 0


def _sync(config: Config, transcript: str | None) -> list[str]:
    from .opening import bare_archive, is_below

    with bare_archive(config) as archive:
        path = Path(transcript) if transcript else None
        if path and path.is_file() and not any(is_below(path, source) for source in archive.sources):
            archive.sources = (*archive.sources, _source_of(path))
        return [str(problem) for problem in archive.sync().problems]


def _source_of(transcript: Path) -> Path:
    """CONFIG for CONFIG/projects/PROJECT/SESSION.jsonl; anywhere else the file alone."""
    projects = transcript.parent.parent
    return projects.parent if projects.name == "projects" else transcript


def note(home: Path, what: str) -> None:
    """Adds a line to the log; one that cannot be written is nothing to stop for."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = home / LOG
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > MOST_LOG_BYTES:
            path.write_text("".join(f"{line}\n" for line in noted(home)[-KEPT_LINES:]), "utf-8")
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(number, "ab") as file:  # noqa: PTH123  a descriptor, no path
            file.write(f"{now} {printable(what)}\n".encode())
    except OSError:
        return


def noted(home: Path) -> list[str]:
    """The lines of the log, oldest first; none where there is no log."""
    try:
        return (home / LOG).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
