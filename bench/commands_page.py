"""Prints docs/commands.md: the short help of every command, from the table of commands."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout

from reread.cli.main import COMMANDS, main

WIDTH = 100


def page() -> str:
    """The page as Python 3.11 prints it; later ones lay out some lines of help in other ways."""
    os.environ["COLUMNS"] = str(WIDTH)
    parts = ["# Commands", "Printed by `python bench/commands_page.py`. By task: [index.md](index.md)."]
    for name, about in COMMANDS.items():
        parts += [f"## reread {name}", f"{about[0].upper()}{about[1:]}.", f"```\n{_help_of(name)}\n```"]
    return "\n\n".join(parts) + "\n"


def _help_of(name: str) -> str:
    said = io.StringIO()
    with redirect_stdout(said):
        try:
            main([name, "-h"])
        except SystemExit as end:
            if end.code:
                raise
    return "\n".join(line.rstrip() for line in said.getvalue().strip().splitlines())


if __name__ == "__main__":
    sys.stdout.write(page())
