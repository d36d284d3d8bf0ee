"""`reread push install` and `remove`: a push that goes on by itself, as a unit of systemd or an agent of launchd."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from reread.errors import BadInput, RereadError, printable

from . import options
from .stderr import tell, tell_lines

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from reread.config import Config

_MARK = "written by `reread push install`"
_UNIT = "reread-push.service"
_AGENT = "dev.reread.push"


class Service(NamedTuple):
    """A file that starts a push at log-in, and what tells the system of it."""

    path: Path
    content: str
    start: tuple[tuple[str, ...], ...]
    stop: tuple[tuple[str, ...], ...]


def service(command: Sequence[str], user: Path, config_home: str | None, system: str) -> Service:
    """What `command` becomes where it runs. Raises BadInput for a system that has neither."""
    if system == "darwin":
        path = user / "Library" / "LaunchAgents" / f"{_AGENT}.plist"
        return Service(path, _plist(command), (("launchctl", "load", "-w", str(path)),), _unload(path))
    if system.startswith("linux"):
        folder = Path(config_home) if config_home else user / ".config"
        run = ("systemctl", "--user")
        start = ((*run, "daemon-reload"), (*run, "enable", "--now", _UNIT))
        return Service(folder / "systemd" / "user" / _UNIT, _unit(command), start, ((*run, "disable", "--now", _UNIT),))
    raise BadInput("a service is installed on Linux and macOS; elsewhere let your system start `reread push --watch`")


def _unload(path: Path) -> tuple[tuple[str, ...], ...]:
    return (("launchctl", "unload", "-w", str(path)),)


def _unit(command: Sequence[str]) -> str:
    quoted = " ".join(f'"{_in_unit(word)}"' for word in command)
    return f"""# {_MARK}
[Unit]
Description=reread: pushes sessions as they grow

[Service]
ExecStart={quoted}
Restart=on-failure
RestartSec=60
Nice=10

[Install]
WantedBy=default.target
"""


def _in_unit(word: str) -> str:
    """systemd replaces % and $ in what it runs."""
    return word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")


def _plist(command: Sequence[str]) -> str:
    words = "\n".join(f"    <string>{escape(word)}</string>" for word in command)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {_MARK} -->
<plist version="1.0"><dict>
  <key>Label</key><string>{_AGENT}</string>
  <key>ProgramArguments</key><array>
{words}
  </array>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>ProcessType</key><string>Background</string>
</dict></plist>
"""


def install(given: argparse.Namespace, config: Config, target: str) -> int:
    """Shows the file, asks, writes it and starts it."""
    command = [sys.executable, "-P", "-m", "reread", "push", target, "--watch"]
    if config.is_home_named or os.environ.get("REREAD_HOME"):
        command += ["--home", str(config.home.absolute())]
    for source in config.sources if config.is_source_named else ():
        command += ["--source", str(source.absolute())]
    command += ["--what", given.what] if given.what else []
    command += ["--encrypt", str(Path(given.encrypt).absolute())] if given.encrypt else []
    command += ["--projects", given.projects] if given.projects else []
    made = service(command, Path.home(), os.environ.get("XDG_CONFIG_HOME"), sys.platform)
    _refuse_others(made.path)
    tell_lines(f"{printable(str(made.path))}:\n{made.content}")
    if not given.yes and not options.is_agreed("write this file and start it?", "nobody is here to agree; say --yes"):
        return 0
    try:
        made.path.parent.mkdir(parents=True, exist_ok=True)
        made.path.write_text(made.content, "utf-8")
    except OSError as error:
        raise RereadError(f"{printable(str(made.path))}: cannot be written ({error.strerror or error})") from error
    _run(made.start)
    options.print_lines([f"{printable(str(made.path))} is written; `reread push remove` takes it out again"])
    return 0


def remove(given: argparse.Namespace) -> int:
    """Takes out what `install` wrote, and nothing else."""
    made = service((), Path.home(), os.environ.get("XDG_CONFIG_HOME"), sys.platform)
    if not made.path.exists():
        options.print_lines([f"{printable(str(made.path))} is not there; nothing to take out"])
        return 0
    _refuse_others(made.path)
    question = f"stop it and remove {printable(str(made.path))}?"
    if not given.yes and not options.is_agreed(question, "nobody is here to agree; say --yes"):
        return 0
    _run(made.stop)
    made.path.unlink()
    options.print_lines([f"{printable(str(made.path))} is gone"])
    return 0


def _refuse_others(path: Path) -> None:
    try:
        found = path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return
    except OSError as error:
        raise RereadError(f"{printable(str(path))}: cannot be read ({error.strerror or error})") from error
    if _MARK not in found:
        raise BadInput(f"{printable(str(path))} was written by somebody else; move it away first")


def _run(commands: Sequence[Sequence[str]]) -> None:
    """Where the system's own program is missing or fails, the person is told what to run."""
    for command in commands:
        program = shutil.which(command[0])
        done = subprocess.run([program, *command[1:]], capture_output=True, check=False) if program else None  # noqa: S603
        if done is None or done.returncode:
            tell(f"not done, do it yourself: {shlex.join(command)}")
