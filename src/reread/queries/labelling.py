"""What a person says about a moment: that it is none, and that it is one after all."""

from __future__ import annotations

import sqlite3
import time
from typing import NamedTuple

from reread.analyses.friction.events import Kind
from reread.errors import BadInput, printable
from reread.store import friction, labels
from reread.store.paths import as_path, stored_path


class Labelled(NamedTuple):
    """A moment that was spoken about."""

    uuid: str
    kinds: tuple[str, ...]
    """What was found at the line."""
    kind: str | None
    """The one that is meant; None for all."""
    session: str


def kind_called(name: str) -> Kind:
    try:
        return Kind(name.replace("-", "_"))
    except ValueError as error:
        known = ", ".join(kind.value for kind in Kind)
        raise BadInput(f"there is no kind {printable(name)!r}; try {known}") from error


def moment_called(connection: sqlite3.Connection, uuid: str, kind: str | None) -> Labelled:
    """The moment at a line; raises BadInput where there is none, or lines of several begin so."""
    found = friction.homes_of(connection, _text(uuid)) if uuid else []
    found = found or _told_again(connection, uuid)
    lines = sorted({line for line, _, _ in found})
    if not lines:
        raise BadInput(f"nothing was found at a line {printable(uuid)!r}; `reread retro --json` has the uuids")
    if len(lines) > 1 and uuid not in lines:
        raise BadInput(f"{len(lines)} lines begin with {printable(uuid)!r}: {', '.join(map(printable, lines[:5]))}")
    line = uuid if uuid in lines else lines[0]
    kinds = tuple(sorted({what for at, what, _ in found if at == line}))
    meant = kind_called(kind).value if kind is not None else None
    if meant is not None and meant not in kinds:
        raise BadInput(f"line {printable(line)} shows no {meant}, but {', '.join(kinds)}")
    return Labelled(line, kinds, meant, as_path(next(session for at, _, session in found if at == line)))


def _told_again(connection: sqlite3.Connection, uuid: str) -> list[tuple[str, str, str | bytes]]:
    """Repeated instructions have no rows: they are found over many sessions."""
    from .retro import Ask, retro

    asked = Ask(kinds=frozenset({Kind.REPEATED_INSTRUCTION}), with_wrong=True)
    events = retro(connection, asked).events
    return [
        (e.uuid, e.kind.value, e.session) for e in events if uuid and e.uuid is not None and e.uuid.startswith(uuid)
    ]


def label_called(connection: sqlite3.Connection, uuid: str, kind: str | None) -> Labelled:
    """What was said about a line; raises BadInput where nothing was."""
    meant = kind_called(kind).value if kind is not None else None
    said = [row for row in labels.labels(connection) if uuid and row[0].startswith(uuid)]
    said = [row for row in said if row[0] == uuid] or said
    said = [row for row in said if meant is None or row[1] in (meant, "")]
    if len({row[0] for row in said}) != 1:
        raise BadInput(f"{'nothing' if not said else 'more than one thing'} was said about a line {printable(uuid)!r}")
    return Labelled(said[0][0], tuple(row[1] for row in said if row[1]), meant, as_path(said[0][2]))


def put(connection: sqlite3.Connection, named: Labelled) -> None:
    """Inside the caller's transaction."""
    now = int(time.time() * 1000)
    labels.put_label(connection, named.uuid, named.kind or "", stored_path(named.session), now)


def take(connection: sqlite3.Connection, named: Labelled) -> None:
    """Inside the caller's transaction."""
    labels.take_label(connection, named.uuid, named.kind or "")


def _text(uuid: str) -> str:
    """An argument may hold bytes that are no UTF-8, and no line is called so."""
    return uuid.encode("utf-8", "replace").decode()
