"""When the files were changed that tell the agent what to do, as far as a session shows it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from reread.sessions import Kind as Speaker
from reread.sessions import Status

from .calls import EDITS, name_of
from .scene import Scene

NAMES = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"})
_MEMORY_LINE = b"<user-memory-input>"
UNTOLD = "CLAUDE.md"
"""A line kept with `#` does not say which of the files it went into."""


class Changed(Struct, frozen=True, kw_only=True, gc=False):
    """A change of an instruction file."""

    path: str
    uuid: str | None
    time: datetime | None


def changes_of(scene: Scene) -> tuple[Changed, ...]:
    """Edits that were carried out, and lines the person kept with `#`."""
    return tuple(sorted(_changes(scene), key=lambda each: (each.time is not None, each.time)))


def _changes(scene: Scene) -> Iterator[Changed]:
    for call in scene.main_calls:
        if call.name in EDITS and call.status is Status.OK and name_of(call.path) in NAMES:
            yield Changed(path=call.path, uuid=call.proof.uuid, time=call.proof.time)
    for speaker in Speaker:
        for record in scene.lines_of(speaker):
            if _MEMORY_LINE in record.raw:
                yield Changed(path=UNTOLD, uuid=record.uuid, time=record.time)
