"""What a session changed in the end: each file before and after, on one branch or between two."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from reread.sessions import Branch, Session

from .changes import Change, changes_of
from .histories import Event, Gap, History, ReadBackup, histories_of
from .patches import Hunk, hunks_between
from .places import Whereabouts
from .sightings import rewinds_of, sightings_of
from .texts import Content


class FileDiff(Struct, frozen=True, kw_only=True):
    """A file in two states; a content that is None cannot be known, one without text is a file that is not there."""

    path: str
    before: Content | None
    after: Content | None
    changes: tuple[Change, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.before is not None and self.after is not None

    @property
    def is_change(self) -> bool:
        """Whether there is anything to show: a difference, or changes that cannot be shown."""
        if self.before is None or self.after is None:
            return True
        return not self.before.says_the_same(self.after)

    @property
    def hunks(self) -> list[Hunk]:
        """What is different; where the file is not known as a whole, the patches as they came."""
        if self.before is None or self.after is None:
            return [hunk for change in self.changes for hunk in change.hunks or _by_strings(change)]
        return hunks_between(self.before.plain, self.after.plain)

    @property
    def status(self) -> str:
        was, now = (content is None or content.text is not None for content in (self.before, self.after))
        return "added" if now and not was else "deleted" if was and not now else "modified"


def _by_strings(change: Change) -> list[Hunk]:
    """The strings a change replaced as hunks; where in the file they stand, nothing tells."""
    pairs = [(f"{each.old}\n" if each.old else "", f"{each.new}\n" if each.new else "") for each in change.replacements]
    return [hunk for old, new in pairs for hunk in hunks_between(old, new)]


class SessionEdits:
    """The changes of one session, to be asked by branch."""

    def __init__(self, session: Session, read_backup: ReadBackup | None = None) -> None:
        self.session = session
        self.changes = changes_of(session)
        self._sightings = sightings_of(session)
        self._where = Whereabouts(session)
        self._read_backup = read_backup

    def on_disk(self) -> list[FileDiff]:
        """Net changes in the order things happened, whatever branch they are on."""
        events: list[Event] = [*self._sightings, *self.changes]
        histories = histories_of(events, rewinds_of(self.session), self._read_backup)
        return [_net(history) for history in histories.values() if history.changes]

    def on(self, branch: Branch) -> list[FileDiff]:
        """Net changes along one branch: what was done on others does not count."""
        return [_net(history) for history in self.histories(branch).values() if history.changes]

    def between(self, one: Branch, other: Branch) -> list[FileDiff]:
        """Files as the two branches left them. A file that only one of them changed had on the other what it had
        where they parted."""
        first, second = self.histories(one), self.histories(other)
        keys = [key for key in {**first, **second} if _has_changes(first, key) or _has_changes(second, key)]
        return [_across(first.get(key), second.get(key)) for key in keys]

    def path_of(self, branch: Branch) -> frozenset[int]:
        """The segments a branch goes through."""
        return self._where.path_of(branch)

    def histories(self, branch: Branch) -> dict[str, History]:
        """Along one branch: only what it did and read itself is a branch's; backups belong to none."""
        path = self.path_of(branch)
        events: list[Event] = [change for change in self.changes if change.place.segment in path]
        events += [sighting for sighting in self._sightings if sighting.segment in path]
        return histories_of(events)


def _has_changes(histories: dict[str, History], key: str) -> bool:
    return key in histories and bool(histories[key].changes)


def _net(history: History) -> FileDiff:
    return FileDiff(
        path=history.path,
        before=history.base,
        after=history.last,
        changes=tuple(history.changes),
        gaps=tuple(history.gaps),
    )


def _across(one: History | None, other: History | None) -> FileDiff:
    """A branch that did not touch a file has it as it was before the other one did."""
    known = [history for history in (one, other) if history is not None]
    base = next((history.base for history in known if history.base is not None), None)
    return FileDiff(
        path=known[0].path,
        before=one.last if one is not None else base,
        after=other.last if other is not None else base,
        changes=tuple(change for history in known for change in history.changes),
        gaps=tuple(gap for history in known for gap in history.gaps),
    )


def totals(diffs: Sequence[FileDiff]) -> tuple[int, int]:
    """Lines added and removed."""
    hunks = [hunk for diff in diffs for hunk in diff.hunks]
    return sum(hunk.added for hunk in hunks), sum(hunk.removed for hunk in hunks)
