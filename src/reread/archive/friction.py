"""`archive.friction`: what went wrong, which moments a person marked as wrong, and suggestions put into settings."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from reread import lazy
from reread.client_settings import Applied, applied, stated_in, undone
from reread.features.friction.detection import FrictionKind, Moment
from reread.features.friction.stated import Stated
from reread.features.friction.suggestions import Suggestion
from reread.features.friction.wishes import JUDGED, AppliedDraft, own_threshold
from reread.index import meta
from reread.index.database import snapshot, transaction
from reread.index.user_data import take_over_copy, write_copy

from . import friction_history, friction_report
from .filters import Filter, FilterOptions, Zone, make_filter, text_of, texts_of, zone_of
from .friction_report import LEAST_CONFIDENCE, Labelled, Retro, RetroQuestion, kind_called

if TYPE_CHECKING:
    from typing import Unpack

    from reread.ingest import Report, second_phase

    from . import known_commands
    from .inner import InnerArchive
    from .known_commands import KnownCommand
    from .listing import SessionName
else:
    lazy.bind(globals())

_APPLIED, _LOOKS = "applied.jsonl", "retro.jsonl"
_MOST_DOUBTFUL = 5
_PERSON = "person"


def friction_notes(home: Path) -> tuple[int, ...]:
    """The sizes of what was noted, which only grow: an answer made before is out of date when they change."""
    return tuple((home / name).stat().st_size if (home / name).exists() else 0 for name in (_APPLIED, _LOOKS))


def client_home() -> Path:
    """Where Claude Code keeps the settings for all projects."""
    named = os.environ.get("CLAUDE_CONFIG_DIR", "").strip()
    return Path(named) if named else Path.home() / ".claude"


def _stated(project: str | None) -> Stated:
    return stated_in(client_home(), is_home=True) if project is None else stated_in(Path(project))


class ArchiveFriction:
    """Questions about what went wrong."""

    def __init__(self, archive: InnerArchive) -> None:
        self._archive = archive

    def __repr__(self) -> str:
        return f"<friction of {self._archive!r}>"

    def fixes(self, error: str, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> list[KnownCommand]:
        """The commands that worked after this error in past sessions, the most frequent first."""
        return known_commands.fixes(self._archive, text_of(error, "the error"), make_filter(base, filters))

    def runs(self, words: str, base: Filter | None = None, **filters: Unpack[FilterOptions]) -> list[KnownCommand]:
        """The commands with all these words that past sessions ran, and how often they worked."""
        return known_commands.runs(self._archive, text_of(words, "the command"), make_filter(base, filters))

    def keep_fixes(self, session: str | None = None) -> None:
        """Writes what the hook of `hook install --fixes` looks up; with `session`, adds what that one shows."""
        known_commands.keep_fixes(self._archive, session)

    def retro(
        self,
        base: Filter | None = None,
        session: SessionName | None = None,
        *,
        kinds: str | Iterable[str] | None = None,
        with_agents: bool = False,
        least_confidence: float | None = None,
        with_wrong: bool = False,
        by: str = "hurt",
        timezone: Zone | None = None,
        report: Report | None = None,
        **filters: Unpack[FilterOptions],
    ) -> Retro:
        """What hurt most in a period or one session, compared with the person's own past; what repeats; what to change.

        Moments that a quick sync left for later are found first; if that is not possible, the answer says in how many
        sessions they are missing.

        Moments that a person marked as wrong, that are unsure or that happened in subagents are left out unless asked
        for. Raises BadInput for an unknown kind.
        """
        archive = self._archive
        archive.reprice()
        ask = RetroQuestion(
            filters=make_filter(base, filters, timezone),
            session=archive.find(session) if session is not None else None,
            kinds=frozenset(map(kind_called, texts_of(kinds, "kinds"))) if kinds is not None else None,
            with_agents=with_agents,
            least_confidence=LEAST_CONFIDENCE if least_confidence is None else least_confidence,
            own_least=self._own_least() if least_confidence is None else {},
            with_wrong=with_wrong,
            by=by,
            zone=zone_of(timezone),
            stated=_stated,
            applied=self.applied(),
        )
        self.find_waiting(report=report)
        with snapshot(archive.connection):
            found = friction_report.retro(archive.connection, ask)
        dismissed = {noted["dismissed"] for _, noted in self._noted(_LOOKS) if "dismissed" in noted}
        return replace(found, suggestions=[each for each in found.suggestions if each.key not in dismissed])

    def find_waiting(self, session: SessionName | None = None, report: Report | None = None) -> None:
        """Finds the moments that a quick sync left for later, of one session or of all. Does nothing if the archive
        cannot be written or a sync is writing."""
        archive = self._archive
        waiting = {number for number, _ in meta.waiting_for_friction(archive.connection)}
        number = archive.find(session).id if session is not None else None
        if waiting and number in {None, *waiting}:
            find = second_phase.find_friction
            archive.if_free(lambda: find(archive.connection, archive.packs, archive.price_file, report, number))

    def in_session(self, session: SessionName) -> list[Moment]:
        """What went wrong in one session, as `retro` would show it; reads only its rows, so it is cheap enough for any
        page. Does not include what shows only across sessions, such as a repeated instruction.
        """
        found = self._archive.find(session)
        self.find_waiting(found)
        return friction_history.moments_of(self._archive.connection, found, LEAST_CONFIDENCE)

    def planned(self, each: Suggestion) -> Applied:
        """What applying a suggestion would change in which file; raises BadInput if it cannot be applied."""
        return applied(each, Path(each.project) if each.project else None, client_home())

    def apply(self, plan: Applied) -> None:
        """Writes the planned change, keeps the old file next to the new one, and notes the time.

        Later retrospectives compare how often things went wrong before and after it. Raises BadInput if the file was
        changed in the meantime.
        """
        plan.file.write(plan.change)
        self._note(_APPLIED, path=str(plan.file.path), draft=msgspec.json.encode(plan.draft).decode())

    def applied(self) -> tuple[AppliedDraft, ...]:
        """The drafts that were put into files and not undone, the oldest first."""
        found: dict[str, AppliedDraft] = {}
        for at, noted in self._noted(_APPLIED):
            found.pop(noted.get("undone", ""), None)
            with suppress(msgspec.DecodeError):
                draft = msgspec.json.decode(noted.get("draft", ""), type=Suggestion)
                found[draft.key] = AppliedDraft(path=noted.get("path", ""), time=at, draft=draft)
        return tuple(found.values())

    def undoing(self, each: AppliedDraft) -> Applied:
        """What taking a draft out of its file again would change; raises BadInput if it cannot be found in it."""
        return undone(each.draft, Path(each.path))

    def undo(self, plan: Applied) -> None:
        """Writes the file without the draft, and forgets that it was applied."""
        plan.file.write(plan.change)
        self._note(_APPLIED, undone=plan.draft.key)

    def dismiss(self, each: Suggestion) -> None:
        """Remembers that a draft is not wanted: later retrospectives leave it out."""
        self._note(_LOOKS, dismissed=each.key)

    def doubtful(self, found: Retro) -> list[Moment]:
        """The guesses of an answer that are the least sure and that nobody was asked about, at most five."""
        asked = {noted["answered"] for _, noted in self._noted(_LOOKS) if "answered" in noted}
        guesses = [each for each in found.events if each.kind in JUDGED and each.uuid and each.uuid not in asked]
        return sorted(guesses, key=lambda each: each.confidence)[:_MOST_DOUBTFUL]

    def answer(self, each: Moment, *, is_right: bool, by: str = _PERSON) -> None:
        """Notes what was said of a guess; a wrong one is left out from now on, and what the person says moves the
        threshold of its kind."""
        right = "yes" if is_right else ""
        self._note(
            _LOOKS, answered=each.uuid or "", kind=each.kind, confidence=str(each.confidence), right=right, by=by
        )
        if not is_right:
            self.mark_wrong(each.uuid or "", each.kind)

    def _own_least(self) -> dict[FrictionKind, float]:
        said: dict[FrictionKind, list[tuple[float, bool]]] = {}
        for _, noted in self._noted(_LOOKS):
            if noted.get("by") == _PERSON:
                with suppress(ValueError, KeyError):  # a line that was changed by hand
                    answer = float(noted["confidence"]), noted["right"] == "yes"
                    said.setdefault(FrictionKind(noted["kind"]), []).append(answer)
        return {kind: own_threshold(answers, LEAST_CONFIDENCE) for kind, answers in said.items() if answers}

    def note_look(self, fix: Suggestion | None) -> None:
        """Remembers the time of this look, and which fix was shown."""
        self._note(_LOOKS, fix=fix.key if fix is not None else "")

    def last_look(self) -> tuple[datetime, str] | None:
        """When `note_look` was last called, and the key of the fix; None if never."""
        looks = [(at, noted["fix"]) for at, noted in self._noted(_LOOKS) if "fix" in noted]
        return looks[-1] if looks else None

    def _note(self, name: str, **fields: str) -> None:
        line = json.dumps({**fields, "at": datetime.now(UTC).isoformat()})
        number = os.open(self._archive.home / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with open(number, "a", encoding="utf-8") as notes:  # noqa: PTH123  a descriptor, no path
            notes.write(f"{line}\n")

    def _noted(self, name: str) -> Iterator[tuple[datetime, dict[str, str]]]:
        """The notes with their times; lines that cannot be read are skipped."""
        try:
            lines = (self._archive.home / name).read_text("utf-8", "replace").splitlines()
        except OSError:
            return
        for line in lines:
            try:
                noted = json.loads(line)
                yield datetime.fromisoformat(noted["at"]), {key: str(value) for key, value in noted.items()}
            except (ValueError, KeyError, TypeError, AttributeError):
                continue

    def mark_wrong(self, uuid: str, kind: str | None = None) -> Labelled:
        """Marks the moments at a line as not friction, all or those of one kind; a prefix of the uuid is enough. Raises
        BadInput if there is no such moment."""
        named = friction_report.moment_called(self._archive.connection, text_of(uuid, "the uuid"), kind)
        return self._label(named, friction_report.put)

    def mark_right(self, uuid: str, kind: str | None = None) -> Labelled:
        """Undoes `mark_wrong`."""
        named = friction_report.label_called(self._archive.connection, text_of(uuid, "the uuid"), kind)
        return self._label(named, friction_report.take)

    def _label(self, named: Labelled, change: Callable[[sqlite3.Connection, Labelled], None]) -> Labelled:
        archive = self._archive
        with transaction(archive.connection, durable=True):
            take_over_copy(archive.connection, archive.home)
            change(archive.connection, named)
            write_copy(archive.connection, archive.home)
        return named
