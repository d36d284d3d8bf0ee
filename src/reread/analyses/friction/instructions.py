"""The files that tell the agent what to do: when sessions changed them, and what they state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from reread.sessions import Kind as Speaker
from reread.sessions import Status

from .calls import EDITS, name_of
from .fingerprints import words_of
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


class Stated(NamedTuple):
    """What the files of a project tell the agent already."""

    memory: tuple[tuple[str, str, datetime | None], ...] = ()
    """Files with their text and when they were last changed."""
    allowed: frozenset[str] = frozenset()
    """Permission rules of its settings, allowed or denied."""
    hooks: str = ""
    """The commands of its hooks."""
    commands: frozenset[str] = frozenset()
    """Names of its commands and skills."""


_STATED = 0.75
"""Of the words of a rule, how many must stand in one line for it to be said there."""


def said_in(stated: Stated, rule: str) -> tuple[str, datetime | None] | None:
    """The file that says most of a rule in one line, and when it was last changed."""
    words = set(words_of(rule))
    for name, text, changed in stated.memory:
        for line in text.split("\n"):
            if len(words) > 1 and len(words & set(words_of(line))) >= _STATED * len(words):
                return name, changed
    return None
