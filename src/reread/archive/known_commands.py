"""What is known of commands from kept calls: what worked after an error, and how a command was run.

`fixes.json` in the archive's folder has what worked after which error, redacted, for the hook that must answer at once.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from reread.features.fixes import SHELLS, command_of, recoveries, signature
from reread.features.friction.call_results import worked
from reread.features.secrets import Redactor
from reread.home import FIXES, write_durably
from reread.sessions import Session

from .filters import Filter
from .listing import listed
from .text_search import ArchiveText

if TYPE_CHECKING:
    from .inner import InnerArchive

_MOST_ERRORS, _MOST_SESSIONS, _DAYS = 2000, 20, 90
_READ = 12
"""Sessions that are read for one question."""


class KnownCommand(Struct, frozen=True, kw_only=True):
    command: str
    worked: int
    """How often it worked; of a remedy, after how many of these errors."""
    failed: int
    sessions: tuple[str, ...]
    """The newest first."""
    last: datetime | None


def fixes(archive: InnerArchive, error: str, filters: Filter) -> list[KnownCommand]:
    """The commands that worked after this error, the most frequent first."""
    name = signature(error)
    words = " ".join(word for word in name.split() if word.isalnum())
    about = _sessions_about(archive, words, "result", filters)
    recovered = ((told, command, session) for session in about for told, command in recoveries(session))
    return _ranked((command, True, session) for told, command, session in recovered if told == name)


def runs(archive: InnerArchive, words: str, filters: Filter) -> list[KnownCommand]:
    """The commands with all these words that sessions ran, the most frequent that worked first."""
    wanted = words.lower().split()
    about = _sessions_about(archive, words, "tool", filters)
    calls = ((call, session) for session in about for call in session.every_call if call.name in SHELLS)
    ran = ((command_of(call), call, session) for call, session in calls)
    return _ranked(
        (command, worked(command, call), session)
        for command, call, session in ran
        if command and all(word in command.lower() for word in wanted)
    )


def _sessions_about(archive: InnerArchive, words: str, field: str, filters: Filter) -> Iterable[Session]:
    plain = " ".join("".join(each if each.isalnum() else " " for each in words).split())
    hits = ArchiveText(archive).search(plain, [field], filters, 50).hits if plain else []
    for name in list(dict.fromkeys(hit.session.name for hit in hits))[:_READ]:
        yield archive.session(name)


def _ranked(made: Iterable[tuple[str, bool, Session]]) -> list[KnownCommand]:
    """What came of each command."""
    by_command: dict[str, list[tuple[bool, Session]]] = defaultdict(list)
    for command, is_ok, session in made:
        by_command[command].append((is_ok, session))
    found = [
        KnownCommand(
            command=command,
            worked=sum(is_ok for is_ok, _ in runs),
            failed=sum(not is_ok for is_ok, _ in runs),
            sessions=tuple(dict.fromkeys(session.id for _, session in runs)),
            last=max((session.ended for _, session in runs if session.ended is not None), default=None),
        )
        for command, runs in by_command.items()
    ]
    return sorted(found, key=lambda each: (-each.worked, each.failed, each.command))


def keep_fixes(archive: InnerArchive, session: str | None = None) -> None:
    """Writes what the hook looks up, from all sessions of three months; with `session`, adds that one alone to what is
    there, and does nothing where nobody asked for the file."""
    path = archive.home / FIXES
    if session is not None and not path.exists():
        return
    known: dict[str, dict[str, list[str]]] = json.loads(path.read_bytes()) if path.exists() and session else {}
    since = datetime.now(UTC) - timedelta(days=_DAYS)
    names: list[Any] = [session] if session else []
    if not known:
        names += listed(archive.connection, Filter(since=since), 0.0)
    redactor = Redactor()
    for each in map(archive.session, names):
        for error, command in recoveries(each):
            redactor.learn_all([error, command])
            told = known.setdefault(redactor.redact(error), {}).setdefault(redactor.redact(command), [])
            told += [each.id] if each.id not in told and len(told) < _MOST_SESSIONS else []
    write_durably(path, json.dumps(dict(list(known.items())[-_MOST_ERRORS:])))
