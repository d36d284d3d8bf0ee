"""The filters that every listing command shares, as one value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatch
from typing import TYPE_CHECKING, NamedTuple

from reread.errors import BadInput
from reread.marks import NO_MOVES, Moves

if TYPE_CHECKING:
    from reread.marks import Mark
    from reread.sessions import Conversation, Session, ToolCall

_AGO = re.compile(r"(\d{1,5})\s*([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Filter(NamedTuple):
    """What to keep. Everything unset lets everything pass."""

    project: str | None = None
    folder: str | None = None
    """The folder of a project: sessions in it or below it, where its worktrees commonly lie. Of lists and searches;
    usage has no such question, nor the one for `without`."""
    since: datetime | None = None
    until: datetime | None = None
    """The first moment that is not kept."""
    model: str | None = None
    git_branch: str | None = None
    tool: str | None = None
    file: str | None = None
    limit: int | None = None
    without: str | None = None
    """The id of a session to leave out."""
    sources: tuple[str, ...] = ()
    """Folders or files the archive's sessions must come from; what is read straight from sources is not asked."""
    starred: bool = False
    tags: tuple[str, ...] = ()
    """All of these must be on a session."""
    without_hidden: bool = False
    """Leaves out what a person hid; only lists do so."""
    machine: str | None = None
    """Label, earlier host name or id of the machine that sessions lie on; not asked of what is read from sources."""
    moves: Moves = NO_MOVES
    """Under which names a project is found, too; the archive knows."""

    def keeps_session(self, session: Session) -> bool:
        """Whether anything of a session may be of interest."""
        checks = (
            self.keeps_project(session.project),
            self.since is None or (session.ended is not None and session.ended >= self.since),
            self.until is None or (session.started is not None and session.started < self.until),
        )
        is_asked_for = self.keeps_folder(session.project) and session.id != self.without
        return all(checks) and is_asked_for and self.keeps_mark(session.mark) and self._is_met_by(session)

    def keeps_folder(self, path: str | None) -> bool:
        return self.folder is None or self.moves.is_below(path, self.folder)

    def keeps_project(self, folder: str | None) -> bool:
        return self.project is None or self.moves.is_called(folder, self.project)

    def keeps_mark(self, mark: Mark) -> bool:
        is_seen = not (self.without_hidden and mark.hidden)
        return is_seen and (mark.starred or not self.starred) and (not self.tags or mark.has_tags(self.tags))

    @property
    def asks_for_marks(self) -> bool:
        return self.starred or bool(self.tags) or self.without_hidden

    def _is_met_by(self, session: Session) -> bool:
        """What any part of a session may meet, its agents included."""
        parts = (session, *session.subagents)
        calls = [call for part in parts for call in part.tool_calls] if self.tool or self.file else []
        checks = (
            self.model is None or any(self._ran_on(part, self.model.lower()) for part in parts),
            self.git_branch is None or any(r.git_branch == self.git_branch for part in parts for r in part.records),
            self.tool is None or any(is_tool(call, self.tool) for call in calls),
            self.file is None or any(touches(call, self.file) for call in calls),
        )
        return all(checks)

    def keeps_time(self, moment: datetime | None) -> bool:
        """Whether a moment lies in the window; a line without a time passes only an open one."""
        if moment is None:
            return self.since is None and self.until is None
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    @staticmethod
    def _ran_on(part: Conversation, model: str) -> bool:
        return any(model in (request.model or "").lower() for request in part.requests)


def is_tool(call: ToolCall, name: str) -> bool:
    return call.name == name or fnmatch(call.name.lower(), name.lower())


def touches(call: ToolCall, pattern: str) -> bool:
    """Whether a call names a file the glob fits, as a whole or at its end."""
    from reread.features.tool_use import paths_of  # with all of sessions behind it: not for a mere list

    return any(fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}") for path in paths_of(call))


def parse_time(text: str, now: datetime, zone: tzinfo | None, option: str) -> datetime:
    """`2026-10-02`, `2026-10-02T14:00`, `7d`, `24h`, `today`, `yesterday`, `monday`; days begin in the zone."""
    return _parsed(text, now, zone, option, days_on=0)


def parse_end(text: str, now: datetime, zone: tzinfo | None, option: str) -> datetime:
    """The same for the end of a window, which a day belongs to as a whole; a time or `7d` is the moment itself."""
    return _parsed(text, now, zone, option, days_on=1)


def _parsed(text: str, now: datetime, zone: tzinfo | None, option: str, *, days_on: int) -> datetime:
    word = text.strip().lower()
    if ago := _AGO.fullmatch(word):
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    if word == "now":
        return now
    try:
        day = _day_called(word, now.astimezone(zone).date())
        if day is not None:
            begins = day + timedelta(days=days_on) if day < date.max else day  # `9999-12-31` is said for no end at all
            return _local(datetime.combine(begins, time()), zone).astimezone(UTC)
        return _local(datetime.fromisoformat(text.strip()), zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise BadInput(f"{option} {text!r} is not a date; try 2026-10-02, 7d, 24h, yesterday or monday") from error


def _day_called(word: str, today: date) -> date | None:
    """None for what is no day, but may be a time."""
    if word in ("today", "yesterday"):
        return today - timedelta(days=int(word == "yesterday"))
    if word in _WEEKDAYS:
        return today - timedelta(days=(today.weekday() - _WEEKDAYS.index(word)) % 7)
    try:
        return date.fromisoformat(word.upper())  # 2026-W40-5 is one, too
    except ValueError:
        return None


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    """What says no zone itself is meant in the one given, else in that of this machine, as its clocks stood then."""
    if moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()


def check_window(since: datetime | None, until: datetime | None, option: str = "--") -> None:
    if since is not None and until is not None and since >= until:
        raise BadInput(f"{option}since must lie before {option}until")
