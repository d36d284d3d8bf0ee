"""The copies the client makes of files before it changes them: `file-history/<session>/<name>` beside `projects`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["backup_reader"]

_NAME = re.compile(r"[0-9A-Za-z]+@v\d+")


def backup_reader(trunks: Mapping[str, Path]) -> Callable[[str, str], bytes | None]:
    """Reads a backup by session and name, given where the transcripts of the sessions lie; None where it is gone."""

    def read(session: str, name: str) -> bytes | None:
        trunk = trunks.get(session)
        # A name comes out of a transcript: it must not lead anywhere else.
        if trunk is None or len(trunk.parents) < 3 or not _NAME.fullmatch(name):
            return None
        try:
            return (trunk.parents[2] / "file-history" / trunk.stem / name).read_bytes()
        except OSError:  # cleaned up, or never made
            return None

    return read
