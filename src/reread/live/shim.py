"""Finds the program behind a batch file such as `claude.cmd`, which npm, pnpm and yarn put on PATH on Windows.

Arguments of a batch file go through cmd.exe, which has rules of its own for quotes, `%`, `&` and `|`: JSON arrives
mangled, and parts of it may be run.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from reread.errors import ClientError, printable

_ENDINGS = (".cmd", ".bat")
_STARTED = re.compile(r'"%(?:dp0%|~dp0)[\\/]*([^"%\r\n]+\.(?:[cm]?js|exe))"', re.IGNORECASE)
"""What a shim starts, named from its own folder."""
_NODE = "node.exe"
_SAFE = re.compile(r"[\w ./\\:=,@*+~#\[\]{}$;'-]*")
_LARGEST = 1 << 16


def behind_shim(found: str, environment: Mapping[str, str]) -> list[str]:
    """The command that a shim runs; the file itself if it is none, or not as package managers write them."""
    if not found.lower().endswith(_ENDINGS):
        return [found]
    shim = Path(found).absolute()
    try:
        with shim.open(encoding="utf-8", errors="replace") as file:
            named = [name.replace("\\", "/") for name in _STARTED.findall(file.read(_LARGEST))]
    except OSError:
        return [found]
    programs = [shim.parent / name for name in named if not name.lower().endswith(_NODE)]
    if not programs or not programs[-1].is_file():
        return [found]
    if programs[-1].suffix.lower() == ".exe":
        return [str(programs[-1])]
    beside = shim.parent / _NODE
    node = str(beside) if beside.is_file() else shutil.which("node", path=environment.get("PATH"))
    return [node, str(programs[-1])] if node is not None else [found]


def refuse_batch_file(command: Sequence[str]) -> None:
    """Raises ClientError if cmd.exe would read more into an argument of a batch file than its text."""
    if command[0].lower().endswith(_ENDINGS) and not all(_SAFE.fullmatch(part) for part in command[1:]):
        raise ClientError(
            f"{printable(command[0])} is a batch file, which would be given its arguments by cmd.exe, mangled: "
            "name the program that it starts, with `--claude PATH`"
        )
