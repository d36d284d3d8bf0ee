"""Where the archive lies, and what this machine is called: known without loading anything."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def archive_home(environ: Mapping[str, str], system: str, user: str) -> str:
    """`REREAD_HOME`, else the platform's folder for a user's data."""
    named = environ.get("REREAD_HOME", "").strip()
    if named:
        return os.path.expanduser(named)  # noqa: PTH111  pathlib takes longer than a status line may
    if system == "darwin":
        return os.path.join(user, "Library", "Application Support", "reread")  # noqa: PTH118
    if system == "win32":
        local = environ.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")  # noqa: PTH118
        return os.path.join(local, "reread")  # noqa: PTH118
    # A relative XDG path is to be ignored, says the specification.
    data = environ.get("XDG_DATA_HOME", "")
    usual = os.path.join(user, ".local", "share")  # noqa: PTH118
    return os.path.join(data if os.path.isabs(data) else usual, "reread")  # noqa: PTH117, PTH118


def this_machine() -> str:
    """The name rows of this machine carry."""
    if hasattr(os, "uname"):
        return os.uname().nodename or "unknown"
    import platform  # slower, and only needed where there is no uname

    return platform.node() or "unknown"
