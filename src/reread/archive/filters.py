"""The filters that every listing command shares, as one value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from fnmatch import fnmatch
from os import PathLike, fspath
from typing import NamedTuple, TypedDict

from reread.errors import BadInput, printable
from reread.marks import NO_MOVES, Moves, tag_name
from reread.times import in_zone, zone_called

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from reread.marks import Mark
    from reread.sessions import Conversation, Session, ToolCall

_AGO = re.compile(r"(\d{1,5})\s*(mo|[mhdwy])")
_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Filter(NamedTuple):
    """Which sessions to keep; a field that is unset lets everything pass."""

    project: str | None = None
    folder: str | None = None
    """A project's folder: keeps sessions in it or below it, where worktrees usually are. For lists and searches; usage
    ignores this and `without`."""
    of_project: str | None = None
    """A project as `projects` lists it, by its present path: keeps its sessions and no others."""
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
    """Folders or files that the archive's sessions must come from; ignored for sessions read directly from sources."""
    starred: bool = False
    tags: tuple[str, ...] = ()
    """A session must have all of these."""
    without_hidden: bool = False
    """Leaves out sessions that a person hid; only lists do so."""
    programs: bool = False
    """Includes sessions that a program drove where answers are about what people typed: prompts and friction."""
    machine: str | None = None
    """Label or id of the machine that has the sessions; ignored for sessions read from sources."""
    moves: Moves = NO_MOVES
    """Moved folders, so that a project is also found under its other names; the archive fills this in."""

    def keeps_session(self, session: Session) -> bool:
        """Whether a session passes; `keeps_time` then decides about its parts."""
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
        """Whether model, branch, tool and file each match some part of the session, its agents included."""
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
        """Whether a moment is in the window; a line without a time passes only if there is no window."""
        if moment is None:
            return self.since is None and self.until is None
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    @staticmethod
    def _ran_on(part: Conversation, model: str) -> bool:
        return any(model in (request.model or "").lower() for request in part.requests)


def is_tool(call: ToolCall, name: str) -> bool:
    return call.name == name or fnmatch(call.name.lower(), name.lower())


def touches(call: ToolCall, pattern: str) -> bool:
    """Whether a call names a file whose path, or the end of it, matches the glob."""
    from reread.features.tool_use import paths_of  # imports all of `sessions`, which a list does not need

    return any(fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}") for path in paths_of(call))


def parse_time(text: str, now: datetime, zone: tzinfo | None, option: str) -> datetime:
    """Parses `2026-10-02`, `2026-10-02T14:00`, `2026-11`, `7d`, `24h`, `2mo`, `today`, `yesterday`, `thu`,
    `last month`, `last monday`; days begin at midnight in the zone."""
    return _parsed(text, now, zone, option, is_end=False)


def parse_end(text: str, now: datetime, zone: tzinfo | None, option: str) -> datetime:
    """The same for the end of a window: a day or month is included as a whole; a time or `7d` is the moment itself."""
    return _parsed(text, now, zone, option, is_end=True)


def _parsed(text: str, now: datetime, zone: tzinfo | None, option: str, *, is_end: bool) -> datetime:
    word = " ".join(text.lower().split())
    try:
        if ago := _AGO.fullmatch(word):
            return _before(now, int(ago[1]), ago[2], zone)
        if word == "now":
            return now
        days = _days_called(word, now.astimezone(zone).date())
        if days is not None:
            begins = days.last + timedelta(days=1) if is_end and days.last < date.max else days[is_end]
            return _in_utc(datetime.combine(begins, time()), zone)  # `9999-12-31` means no end
        return _in_utc(datetime.fromisoformat(text.strip()), zone)
    except (ValueError, OverflowError) as error:
        raise BadInput(
            f"{option} {text!r} is not a date; try 2026-10-02, 2026-10, 7d, 24h, 2mo, yesterday, thu or last monday"
        ) from error


def _before(now: datetime, number: int, unit: str, zone: tzinfo | None) -> datetime:
    if unit in _UNITS:
        return now - timedelta(**{_UNITS[unit]: number})
    here = now.astimezone(zone)
    day = _months_before(here.date(), number * (12 if unit == "y" else 1))
    return _in_utc(datetime.combine(day, here.time()), zone)


def _months_before(day: date, months: int) -> date:
    """The same day of an earlier month, or its last day."""
    year, month = divmod(day.year * 12 + day.month - 1 - months, 12)
    return date(year, month + 1, min(day.day, _last_of(year, month + 1).day))


def _last_of(year: int, month: int) -> date:
    return date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)


class Days(NamedTuple):
    first: date
    last: date


def _month_of(day: date) -> Days:
    return Days(day.replace(day=1), _last_of(day.year, day.month))


def _week_of(day: date) -> Days:
    monday = day - timedelta(days=day.weekday())
    return Days(monday, monday + timedelta(days=6))


def _days_called(word: str, today: date) -> Days | None:
    """The days that a word names; None if it names none, but may be a time."""
    which, _, unit = word.rpartition(" ")
    if unit in ("week", "month", "year") and which in ("this", "last"):
        return _span(unit, today, is_last=which == "last")
    if word in ("today", "yesterday"):
        return _day(today - timedelta(days=int(word == "yesterday")))
    weekday = next((n for n, name in enumerate(_WEEKDAYS) if len(unit) > 2 and name.startswith(unit)), None)
    if weekday is not None and which in ("", "last"):
        back = (today.weekday() - weekday) % 7
        return _day(today - timedelta(days=back or (7 if which else 0)))
    if month := _MONTH.fullmatch(word):
        return _month_of(date(int(month[1]), int(month[2]), 1)) if month[2] else _year(int(month[1]))
    try:
        return _day(date.fromisoformat(word.upper()))  # also accepts 2026-W40-5
    except ValueError:
        return None


def _span(unit: str, today: date, *, is_last: bool) -> Days:
    """This week, month or year, or the last one."""
    if unit == "week":
        return _week_of(today - timedelta(weeks=int(is_last)))
    if unit == "month":
        return _month_of(_months_before(today, int(is_last)))
    return _year(today.year - int(is_last))


def _day(day: date) -> Days:
    return Days(day, day)


def _year(year: int) -> Days:
    return Days(date(year, 1, 1), date(year, 12, 31))


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    """A time without a zone is taken to be in the given one, else in this machine's, with its clock at that time."""
    if moment.tzinfo is not None:
        return moment
    return moment.replace(tzinfo=zone) if zone is not None else in_zone(moment, None)


def _in_utc(moment: datetime, zone: tzinfo | None) -> datetime:
    """In UTC. The first and last possible day, which mean no limit, do not fit the calendar in some zones; they are
    taken as UTC."""
    try:
        return _local(moment, zone).astimezone(UTC)
    except (ValueError, OverflowError):
        if moment.tzinfo is not None:
            raise
        return moment.replace(tzinfo=UTC)


def check_window(since: datetime | None, until: datetime | None, option: str = "--") -> None:
    if since is not None and until is not None and since >= until:
        raise BadInput(f"{option}since must lie before {option}until")


Moment = str | date | datetime
"""A time as people give it: `2026-10-02`, `2026-10-02T14:00`, `7d`, `24h`, `yesterday`, `monday`, or a value."""
Zone = str | tzinfo


class ScopeOptions(TypedDict, total=False):
    """The filters by name, as on the command line; every question to the archive accepts these keywords."""

    project: str | None
    folder: str | PathLike[str] | None
    since: Moment | None
    until: Moment | None
    model: str | None
    branch: str | None
    tool: str | None
    file: str | PathLike[str] | None
    machine: str | None
    starred: bool
    tags: str | Iterable[str]
    sources: str | PathLike[str] | Iterable[str | PathLike[str]]
    without: str | None
    without_hidden: bool
    programs: bool


class FilterOptions(ScopeOptions, total=False):
    """The same, and the largest number of results."""

    limit: int | None


_FLAGS = frozenset({"starred", "without_hidden", "programs"})
_LISTS = frozenset({"tags", "sources"})
_FIELDS = {"branch": "git_branch"}


def make_filter(filters: Filter | None, options: FilterOptions | ScopeOptions, zone: Zone | None = None) -> Filter:
    """A filter from keywords, which override those of a ready-made one. Raises BadInput that names what is wrong."""
    chosen = filters if filters is not None else Filter()
    if not isinstance(chosen, Filter):
        raise BadInput(f"{_shown(filters)} is not a Filter; give filters by name, such as project= or since=")
    if not options:
        return chosen
    unknown = [name for name in options if name not in FilterOptions.__annotations__]
    if unknown:
        raise BadInput(
            f"there is no filter {_shown(unknown[0])}; choose from {', '.join(FilterOptions.__annotations__)}"
        )
    tz = zone_of(zone)
    values: dict[str, Any] = {_FIELDS.get(name, name): _value(name, value, tz) for name, value in options.items()}
    made = chosen._replace(**values)
    check_window(made.since, made.until, "")
    return made


def zone_of(zone: Zone | None) -> tzinfo | None:
    """A time zone by its name, such as Europe/Berlin; None for the machine's own."""
    if zone is None or isinstance(zone, tzinfo):
        return zone
    if not isinstance(zone, str):
        raise BadInput(f"{_shown(zone)} is not a time zone; give a name like Europe/Berlin or UTC")
    return zone_called(zone)


def moment_of(value: object, zone: tzinfo | None, option: str, *, is_end: bool = False) -> datetime:
    """The time that a text or a value means; without a zone of its own it is taken to be in `zone`."""
    if isinstance(value, datetime):
        try:
            return _in_utc(value, zone)
        except OverflowError as error:
            raise BadInput(f"{option} {value.isoformat()} is outside the calendar") from error
    if isinstance(value, str | date):
        parse = parse_end if is_end else parse_time
        return parse(str(value), datetime.now(UTC), zone, option)
    raise BadInput(f"{option} {_shown(value)} is not a time; give a date, a datetime, or text such as 2026-10-02 or 7d")


def positive(value: object, option: str) -> int:
    return whole_number(value, option, least=1, kind="positive number")


def whole_number(value: object, option: str, least: int = 0, kind: str = "whole number") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 62:
        raise BadInput(f"{option} {_shown(value)} is not a {kind}")
    return value


def flag_of(value: object, option: str) -> bool:
    if not isinstance(value, bool):
        raise BadInput(f"{option} {_shown(value)} is neither True nor False")
    return value


def texts_of(value: object, option: str) -> tuple[str, ...]:
    """One text or path, or several of them."""
    if isinstance(value, str | PathLike):
        return (text_of(value, option),)
    try:
        return tuple(text_of(each, option) for each in value)  # type: ignore[attr-defined]  # asked, not known
    except TypeError as error:
        raise BadInput(f"{option} {_shown(value)} is not text, nor a list of texts") from error


def _value(name: str, value: object, zone: tzinfo | None) -> object:
    if name in _FLAGS:
        return flag_of(value, name)
    if name in _LISTS:
        texts = texts_of(value if value is not None else (), name)
        return tuple(map(tag_name, texts)) if name == "tags" else texts
    if value is None:
        return None
    if name in ("since", "until"):
        return moment_of(value, zone, name, is_end=name == "until")
    return positive(value, name) if name == "limit" else text_of(value, name)


def text_of(value: object, option: str) -> str:
    """A text or a path, as text. Raises BadInput for anything else."""
    text = fspath(value) if isinstance(value, str | PathLike) else None
    if not isinstance(text, str):
        raise BadInput(f"{option} {_shown(value)} is not text")
    return text


def _shown(value: object) -> str:
    return printable(repr(value))[:80]
