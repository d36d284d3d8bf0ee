"""What device management laid down on this machine: the store, what is sent there, and how its password is got."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from reread import errors

_PATIENCE = 60
"""Seconds for the command that gives a password."""


class Managed(Struct, frozen=True, forbid_unknown_fields=True):
    store: str | None = None
    what: Literal["ledger", "text", "all"] = "ledger"
    projects: Literal["plain", "hashed"] = "plain"
    password_command: tuple[str, ...] = ()
    """Prints a password that holds for a while, such as a cloud's token; run without a shell for every connection."""

    def password(self) -> str | None:
        """What the command prints. Raises StoreAway, so that `push --watch` tries again."""
        if not self.password_command:
            return None
        try:
            done = subprocess.run(  # noqa: S603
                self.password_command, capture_output=True, text=True, check=True, timeout=_PATIENCE
            )
        except (OSError, subprocess.SubprocessError) as error:
            why = f"ended with {error.returncode}" if isinstance(error, subprocess.CalledProcessError) else f"{error}"
            raise errors.StoreAway(f"no password for the store: {self.password_command[0]!r} {why}") from error
        return done.stdout.strip()


def managed() -> Managed:
    """What the file says: `REREAD_MANAGED`, else that in the system's place for settings of all its users; the usual
    settings if there is no file. Raises BadInput if it is not understood: nothing is sent on a guess."""
    usual = {"win32": os.environ.get("PROGRAMDATA", r"C:\ProgramData"), "darwin": "/Library/Application Support"}
    path = Path(os.environ.get("REREAD_MANAGED") or Path(usual.get(sys.platform, "/etc"), "reread", "managed.json"))
    try:
        return msgspec.json.decode(path.read_bytes(), type=Managed)
    except FileNotFoundError:
        return Managed()
    except (OSError, msgspec.MsgspecError) as error:
        raise errors.BadInput(f"{errors.printable(str(path))}: {errors.printable(str(error))}") from error
