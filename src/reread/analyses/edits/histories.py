"""The contents of one file over time, rebuilt from everything that tells of it.

Changes are applied one after the other and checked against whatever is known of the whole file in between. Where
the two disagree somebody else had a hand in it: the history goes on from what is known, and the gap is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from .changes import Change
from .sightings import Rewind, Sighting
from .texts import ABSENT, Content, exact

ReadBackup = Callable[[str, str], bytes | None]
"""Gives the bytes of a backup by session and name; None where there is none."""
Event = Change | Sighting


class Gap(Struct, frozen=True):
    """Between these moments the file was changed by something that no transcript tells of."""

    start: datetime | None
    end: datetime | None
    is_return: bool = False
    """The file went back to a content it had before: a rewind, or a checkout."""
    is_assumed: bool = False
    """Nothing tells whether a rewind took the file back, too; what was done on the branch left behind is left out."""

    def holds(self, moment: datetime) -> bool:
        return self.start is not None and self.end is not None and self.start < moment < self.end


class Version(Struct, frozen=True, kw_only=True):
    """A content the file had, and what made it so."""

    time: datetime | None
    content: Content | None
    """None where it cannot be known."""
    change: Change | None = None
    """None for a content that was only seen."""
    gap: Gap | None = None
    """What happened between the version before and this one."""


class History(Struct, frozen=True, kw_only=True):
    path: str
    base: Content | None
    """The content before the first change; None where nothing tells."""
    versions: tuple[Version, ...]

    @property
    def changes(self) -> list[Change]:
        return [version.change for version in self.versions if version.change is not None]

    @property
    def gaps(self) -> list[Gap]:
        return [version.gap for version in self.versions if version.gap is not None]

    @property
    def last(self) -> Content | None:
        return self.versions[-1].content if self.versions else self.base

    def until(self, moment: datetime) -> History:
        """As it was then."""
        kept = [version for version in self.versions if version.time is None or version.time <= moment]
        return History(path=self.path, base=self.base, versions=tuple(kept))

    def after(self, uuid: str) -> History | None:
        """As it was after the change that a line made, by its uuid or a beginning of it; None where none did."""
        for number in range(len(self.versions) - 1, -1, -1):
            change = self.versions[number].change
            names = (change.place.uuid, change.result, change.call) if change is not None else ()
            if any(is_called(name, uuid) for name in names):
                return History(path=self.path, base=self.base, versions=self.versions[: number + 1])
        return None

    def gap_at(self, moment: datetime) -> Gap | None:
        """The gap a moment falls into."""
        return next((gap for gap in self.gaps if gap.holds(moment)), None)


_SHORTEST = 8


def is_called(name: str | None, wanted: str) -> bool:
    """Whether a line is meant: a beginning must be long enough not to be taken for a time such as `7d`."""
    return name is not None and (name == wanted or (len(wanted) >= _SHORTEST and name.startswith(wanted)))


def histories_of(
    events: Iterable[Event], rewinds: Sequence[Rewind] = (), read_backup: ReadBackup | None = None
) -> dict[str, History]:
    """The history of every file some change was made to or some content was seen of, by the key of its path."""
    by_file: dict[str, list[Event]] = {}
    for event in events:
        by_file.setdefault(event.key, []).append(event)
    return {key: history_of(found, rewinds, read_backup) for key, found in by_file.items()}


def history_of(
    events: Sequence[Event], rewinds: Sequence[Rewind] = (), read_backup: ReadBackup | None = None
) -> History:
    """From events of one file, in any order."""
    writer = _Writer(read_backup)
    for event in sorted([*rewinds, *events], key=_order):
        writer.take(event)
    base, versions = writer.finish()
    return History(path=events[-1].path, base=base, versions=tuple(versions))


def _order(event: Event | Rewind) -> tuple[datetime, int]:
    if isinstance(event, Change):
        return event.place.moment, event.place.number
    return event.moment, event.number if isinstance(event, Sighting) else -2


class _Return(Struct, frozen=True):
    """A rewind that may have taken the file back."""

    time: datetime | None
    content: Content | None


def _is_left_behind(version: Version, rewind: Rewind) -> bool:
    place = version.change.place if version.change is not None else None
    return place is not None and place.session == rewind.session and place.segment not in rewind.path


class _Writer:
    """Writes the versions of a file, one event after the other."""

    def __init__(self, read_backup: ReadBackup | None) -> None:
        self.versions: list[Version] = []
        self._first: Content | None = None
        self._read_backup = read_backup
        self._named: dict[tuple[str, str], Content] = {}
        """Contents by session and name of their backup."""
        self._name_since: tuple[str, str] | None = None
        """The backup that was named since the last change."""
        self._before_rewind: _Return | None = None

    def take(self, event: Event | Rewind) -> None:
        if isinstance(event, Change):
            self._change(event)
        elif isinstance(event, Sighting):
            self._see(event)
        else:
            self._rewind(event)

    @property
    def _now(self) -> Content | None:
        return self.versions[-1].content if self.versions else self._first

    def _rewind(self, event: Rewind) -> None:
        """Keeps in mind what the file was where the conversation went back to, until something tells what it is."""
        off = [number for number, version in enumerate(self.versions) if _is_left_behind(version, event)]
        on = [number for number, version in enumerate(self.versions) if version.change and number not in off]
        left = [number for number in off if number > max(on, default=-1)]
        if left:
            before = self.versions[left[0] - 1].content if left[0] else self._first
            self._before_rewind = _Return(event.time, before)

    def _go_back(self, time: datetime | None, *, is_assumed: bool) -> None:
        """Takes the file back to what it was before what a rewind left behind."""
        pending, self._before_rewind = self._before_rewind, None
        if pending is not None:
            gap = Gap(self._last_time, time, is_return=True, is_assumed=is_assumed)
            self.versions.append(Version(time=time, content=pending.content, gap=gap))

    def _see(self, event: Sighting) -> None:
        content = event.content if event.content is not None else self._backed_up(event)
        if content is not None:
            self._meet(content, event.time)

    def _change(self, event: Change) -> None:
        before = ABSENT if event.is_creation else event.before
        pending = self._before_rewind
        if before is not None:
            self._meet(before, event.place.time)
        elif pending is not None and (pending.content is None or event.after(pending.content) is not None):
            self._go_back(pending.time, is_assumed=event.after(self._now) is not None)
        self._before_rewind = self._name_since = None
        after = event.after(self._now)
        # It fitted the file when it was made: where it does not, the file was not what it is taken for.
        is_lost = after is None and self._now is not None
        gap = Gap(self._last_time, event.place.time) if is_lost else None
        self.versions.append(Version(time=event.place.time, content=after, change=event, gap=gap))

    def finish(self) -> tuple[Content | None, list[Version]]:
        """The content before the first version, and all versions, with what later ones tell of earlier ones."""
        if self._before_rewind is not None:
            self._go_back(self._before_rewind.time, is_assumed=True)
        for number in range(len(self.versions) - 1, -1, -1):
            before = self._before(number)
            if before is not None:
                self._fill(number - 1, before)
        return self._first, self.versions

    def _before(self, number: int) -> Content | None:
        """What a version tells of the one before it."""
        version = self.versions[number]
        if version.gap is not None or version.change is None or version.content is None:
            return None
        return version.change.undone(version.content)

    def _fill(self, number: int, content: Content) -> None:
        """Adds to what is known of a version, or of what was before the first."""
        known = self.versions[number].content if number >= 0 else self._first
        if known is not None:
            content = known.spelled_like(content) if known.says_the_same(content) else known
        if number >= 0:
            self.versions[number] = replace(self.versions[number], content=content)
        else:
            self._first = content

    def _backed_up(self, event: Sighting) -> Content | None:
        """The content of a backup: read, or what the file was when the backup was first named.

        A new name without a change of ours means that somebody else changed the file.
        """
        if event.backup is None:
            return None
        key = (event.session, event.backup)
        last, self._name_since = self._name_since, key
        if key not in self._named:
            raw = self._read_backup(*key) if self._read_backup is not None else None
            if raw is None and last not in (None, key):
                self._before_rewind = None
                gap = Gap(self._last_time, event.time)
                self.versions.append(Version(time=event.time, content=None, gap=gap))
            content = exact(raw.decode("utf-8", "surrogateescape")) if raw is not None else self._now
            if content is None:
                return None
            self._named[key] = content
        return self._named[key]

    def _meet(self, content: Content, time: datetime | None) -> None:
        """Holds what is seen against what is known, and goes on from what is seen."""
        now, self._before_rewind = self._now, None
        if now is None or now.says_the_same(content):
            self._fill(len(self.versions) - 1, content)
        else:
            contents = [self._first, *(version.content for version in self.versions)]
            is_return = any(each is not None and each.says_the_same(content) for each in contents)
            gap = Gap(self._last_time, time, is_return)
            self.versions.append(Version(time=time, content=content.like_before(now), gap=gap))

    @property
    def _last_time(self) -> datetime | None:
        return self.versions[-1].time if self.versions else None
