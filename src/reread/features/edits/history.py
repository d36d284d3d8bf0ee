"""The contents of one file over time, rebuilt from changes, whole reads, mentions and the client's backups; and the
change that wrote each of its lines, as far as transcripts show.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from reread.features.tool_use import twin_of
from reread.records import Attachment, Record, parse_time
from reread.records.attachments import EditedTextFile, FileAttachment
from reread.records.json_parts import object_of
from reread.records.lenient import parse_or_none
from reread.records.state import FileBackup, FileHistoryDelta, FileHistorySnapshot
from reread.sessions import CallStatus, Session, ToolCall

from .changes import FileChange, Whereabouts, calls_of
from .patches import ABSENT, Content, Hunk, exact, normalised, split_lines, steps
from .shell import Action, absolute, files_in, key_of

_LINE = re.compile(r" *(\d+)(?:→|\t)(.*)")
_MOST_LINES = _LONGEST_LINE = 2000
"""The client cuts longer files and lines when it shows a file."""
_AFTER_A_FILE = "<system-reminder>"
_KEEPING = frozenset({"chmod", "chown"})
"""Programs that change a file's attributes but not its content."""
_BEGINNING = datetime.min.replace(tzinfo=UTC)


class CodeRewind(Struct, frozen=True):
    """The conversation went back to an earlier point and continued on another branch."""

    session: str
    time: datetime | None
    path: frozenset[int]
    """The segments of the tree on the new branch's path."""

    @property
    def moment(self) -> datetime:
        return self.time or _BEGINNING


class Sighting(Struct, frozen=True, kw_only=True):
    """The state of a file at one moment."""

    path: str
    session: str
    time: datetime | None
    content: Content | None = None
    backup: str | None = None
    """The name of the backup that holds the content."""
    number: int = -1
    """Its position among the calls of the session; -1 for others, such as backups, which come before the calls of the
    same moment."""
    segment: int = -1
    """The part of the tree it belongs to; -1 if it belongs to no branch."""
    lines: tuple[tuple[int, str], ...] = ()
    """Numbered lines, where the content was not shown as a whole."""
    command: str | None = None
    """The program in a shell command that may have changed the file. The resulting content is not known."""

    @property
    def is_partial(self) -> bool:
        """Whether it shows only that the file changed or may have changed, and not the whole content."""
        return bool(self.lines) or self.command is not None

    @property
    def key(self) -> str:
        return key_of(self.path)

    @property
    def moment(self) -> datetime:
        return self.time or _BEGINNING


def sightings_of(session: Session) -> list[Sighting]:
    return [*_reads(session), *_mentions(session), *_backups(session), *_commands(session)]


def rewinds_of(session: Session) -> list[CodeRewind]:
    """Where a person went back. Forks that something else explains are not included."""
    tree, line = session.tree, session.line
    if len(tree.segments) < 2:
        return []
    found = []
    for number, segment in enumerate(tree.segments):
        if number and segment.certain:
            times = (record.time for record in line[segment.start :])
            time = next((time for time in times if time is not None), None)
            found.append(CodeRewind(session.id, time, frozenset(tree.path(number))))
    return found


def _reads(session: Session) -> Iterator[Sighting]:
    where = Whereabouts(session)
    for done in calls_of(session):
        if done.call.name == "Read" and done.call.status is CallStatus.OK:
            file = twin_of(done.call).get("file") or _numbered(done.call)
            for seen in _seen(object_of(file), session, done.call.record, done.time):
                yield replace(seen, number=done.number, segment=where.segment_of(done))


def _numbered(call: ToolCall) -> dict[str, Any] | None:
    """The file in a result with numbered lines: results in agents' files often have no twin.

    If a file ends with a newline, the last number has no text. None for a text long enough to have been cut.
    """
    tool_input = call.fields
    if call.output is None or {"offset", "limit", "pages"} & tool_input.keys():
        return None
    shown = call.output.text.split("\n")
    lines = [text for number, (told_number, text) in enumerate(_numbered_lines(shown), 1) if told_number == number]
    rest = "\n".join(shown[len(lines) :]).strip()
    if not lines or len(lines) >= _MOST_LINES or max(map(len, lines)) >= _LONGEST_LINE:
        return None
    if rest and not rest.startswith(_AFTER_A_FILE):  # cut in the middle: not the whole file was shown
        return None
    told_lines = {"startLine": 1, "numLines": len(lines), "totalLines": len(lines)}
    return {"filePath": tool_input.get("file_path"), "content": "\n".join(lines), **told_lines}


def _numbered_lines(shown: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Numbers and texts of lines, up to the first line without a number."""
    for line in shown:
        found = _LINE.fullmatch(line)
        if found is None:
            return
        yield int(found[1]), found[2]


def _commands(session: Session) -> Iterator[Sighting]:
    """Files that shell commands write to, judged by the command, where the client did not compare them before and
    after."""
    where = Whereabouts(session)
    for done in calls_of(session):
        if done.call.name != "Bash" or done.call.status is not CallStatus.OK:
            continue
        text = done.call.fields.get("command")
        if not isinstance(text, str) or "bashEditDiff" in twin_of(done.call):
            continue
        for named in files_in(text, done.call.record.cwd):
            if named.action in (Action.WRITE, Action.EDIT) and named.program not in _KEEPING:
                yield Sighting(
                    path=named.path,
                    session=session.id,
                    time=done.time,
                    number=done.number,
                    segment=where.segment_of(done),
                    command=named.program,
                )


def _mentions(session: Session) -> Iterator[Sighting]:
    """Files that a person mentioned in a prompt (`@src/a.py`), and parts of files changed outside the session."""
    for record in session.beside_of(Attachment):
        body = record.attachment
        if isinstance(body, FileAttachment):
            file = object_of(parse_or_none(body.content)).get("file")
            yield from _seen(object_of(file), session, record, record.time)
        elif isinstance(body, EditedTextFile) and body.filename and body.snippet:
            lines = tuple(_numbered_lines(body.snippet.split("\n")))
            path = absolute(body.filename, record.cwd)
            yield Sighting(path=path, session=session.id, time=record.time, lines=lines)


def _seen(file: dict[str, Any], session: Session, record: Record, time: datetime | None) -> Iterator[Sighting]:
    text, path = _whole_text(file), file.get("filePath")
    if text is not None and isinstance(path, str):
        content = normalised(text, has_mark=False)
        yield Sighting(path=absolute(path, record.cwd), session=session.id, time=time, content=content)


def _whole_text(file: dict[str, Any]) -> str | None:
    """The text; None if it is only part of the file, or if there is no text."""
    if not isinstance(file.get("content"), str):
        return None
    first, shown, total = (file.get(name) for name in ("startLine", "numLines", "totalLines"))
    is_whole = first in (0, 1) and isinstance(shown, int) and isinstance(total, int) and shown >= total
    # A text that was cut has fewer lines than it claims. All 587 recorded reads have as many as they claim.
    return file["content"] if is_whole and file["content"].count("\n") + 1 >= shown else None


def _backups(session: Session) -> Iterator[Sighting]:
    seen: set[tuple[str, str | None, int | None]] = set()
    for record in session.records:
        for path, backup, time, is_new_look in _entries(record):
            mark = (path, backup.backup_file_name, backup.version)
            if mark in seen and not is_new_look:
                continue
            seen.add(mark)
            name = backup.backup_file_name
            yield Sighting(
                path=absolute(path, session.project),
                session=session.id,
                time=parse_time(time),
                content=ABSENT if name is None else None,
                backup=name,
            )


def _entries(record: Record) -> Iterator[tuple[str, FileBackup, Any, bool]]:
    """Path, backup, time, and whether the client read the file again to make the backup."""
    if isinstance(record, FileHistoryDelta) and record.tracking_path and record.backup is not None:
        yield record.tracking_path, record.backup, record.backup.backup_time, True
    elif isinstance(record, FileHistorySnapshot) and record.snapshot is not None:
        is_new_look = not record.is_snapshot_update
        for path, backup in (record.snapshot.tracked_file_backups or {}).items():
            if backup is not None:
                time = record.snapshot.timestamp if is_new_look else backup.backup_time
                yield path, backup, time, is_new_look


ReadBackup = Callable[[str, str], bytes | None]
"""Returns the bytes of a backup, given its session and name; None if there is none."""
Event = FileChange | Sighting


class Gap(Struct, frozen=True):
    """A time between two moments in which something outside the sessions changed the file."""

    start: datetime | None
    end: datetime | None
    is_return: bool = False
    """The file has a content again that it had before: a rewind, or a checkout."""
    is_assumed: bool = False
    """Not known whether a rewind restored the file, too; it is assumed, so changes on the abandoned branch do not
    count."""
    command: str | None = None
    """The program in a shell command that may have changed the file. Whether it did is not known."""

    def holds(self, moment: datetime) -> bool:
        return self.start is not None and self.end is not None and self.start < moment < self.end


class Version(Struct, frozen=True, kw_only=True):
    """A content the file had, and what caused it."""

    time: datetime | None
    content: Content | None
    """None if it cannot be known."""
    change: FileChange | None = None
    """None for a content that was only seen, and for a file that a rewind restored."""
    gap: Gap | None = None
    """What happened between the previous version and this one."""


class FileHistory(Struct, frozen=True, kw_only=True):
    path: str
    base: Content | None
    """The content before the first change; None if not known."""
    versions: tuple[Version, ...]

    @property
    def changes(self) -> list[FileChange]:
        return [version.change for version in self.versions if version.change is not None]

    @property
    def gaps(self) -> list[Gap]:
        return [version.gap for version in self.versions if version.gap is not None]

    @property
    def last(self) -> Content | None:
        return self.versions[-1].content if self.versions else self.base

    def until(self, moment: datetime) -> FileHistory:
        """The history up to a moment."""
        kept = [version for version in self.versions if version.time is None or version.time <= moment]
        return FileHistory(path=self.path, base=self.base, versions=tuple(kept))

    def after(self, uuid: str) -> FileHistory | None:
        """The history up to the change that a line made, given the line's uuid or a prefix of it; None if no line
        matches."""
        for number in range(len(self.versions) - 1, -1, -1):
            change = self.versions[number].change
            names = (change.place.uuid, change.result, change.call) if change is not None else ()
            if any(is_called(name, uuid) for name in names):
                return FileHistory(path=self.path, base=self.base, versions=self.versions[: number + 1])
        return None

    def gap_at(self, moment: datetime) -> Gap | None:
        """The gap that a moment falls into."""
        return next((gap for gap in self.gaps if gap.holds(moment)), None)


_SHORTEST = 8


def is_called(name: str | None, wanted: str) -> bool:
    """Whether `wanted` names a line. A prefix must have 8 characters, so that it is not taken for a time such as
    `7d`."""
    return name is not None and (name == wanted or (len(wanted) >= _SHORTEST and name.startswith(wanted)))


def histories_of(
    events: Iterable[Event], rewinds: Sequence[CodeRewind] = (), read_backup: ReadBackup | None = None
) -> dict[str, FileHistory]:
    """The history of every file that was changed or whose content was seen, by the key of its path."""
    by_file: dict[str, list[Event]] = {}
    for event in events:
        by_file.setdefault(event.key, []).append(event)
    return {key: history_of(found, rewinds, read_backup) for key, found in by_file.items()}


def history_of(
    events: Sequence[Event], rewinds: Sequence[CodeRewind] = (), read_backup: ReadBackup | None = None
) -> FileHistory:
    """The history of one file, from its events in any order."""
    writer = _Writer(read_backup)
    for event in sorted([*rewinds, *events], key=_order):
        writer.take(event)
    base, versions = writer.finish()
    return FileHistory(path=events[-1].path, base=base, versions=tuple(versions))


def _order(event: Event | CodeRewind) -> tuple[datetime, int]:
    if isinstance(event, FileChange):
        return event.place.moment, event.place.number
    return event.moment, event.number if isinstance(event, Sighting) else -2


class _Return(Struct, frozen=True):
    """A rewind that may have taken the file back."""

    time: datetime | None
    content: Content | None


def _is_left_behind(version: Version, rewind: CodeRewind) -> bool:
    place = version.change.place if version.change is not None else None
    return place is not None and place.session == rewind.session and place.segment not in rewind.path


class _Writer:
    """Builds the versions of a file from one event after the other."""

    def __init__(self, read_backup: ReadBackup | None) -> None:
        self.versions: list[Version] = []
        self._first: Content | None = None
        self._read_backup = read_backup
        self._named: dict[tuple[str, str], Content] = {}
        """Contents by the session and name of their backup."""
        self._name_since: dict[str, str] = {}
        """The backup each session named since the last change; backup names of different sessions are unrelated."""
        self._before_rewind: _Return | None = None

    def take(self, event: Event | CodeRewind) -> None:
        if isinstance(event, FileChange):
            self._change(event)
        elif isinstance(event, Sighting):
            self._see(event)
        else:
            self._rewind(event)

    @property
    def _now(self) -> Content | None:
        return self.versions[-1].content if self.versions else self._first

    def _rewind(self, event: CodeRewind) -> None:
        """Remembers the content before the abandoned changes, until a later event shows what the file is now."""
        off = [number for number, version in enumerate(self.versions) if _is_left_behind(version, event)]
        on = [number for number, version in enumerate(self.versions) if version.change and number not in off]
        left = [number for number in off if number > max(on, default=-1)]
        if left:
            before = self.versions[left[0] - 1].content if left[0] else self._first
            self._before_rewind = _Return(event.time, before)

    def _go_back(self, time: datetime | None, *, is_assumed: bool) -> None:
        """Restores the file to its content before the changes that a rewind abandoned."""
        pending, self._before_rewind = self._before_rewind, None
        if pending is not None:
            gap = Gap(self._last_time, time, is_return=True, is_assumed=is_assumed)
            self.versions.append(Version(time=time, content=pending.content, gap=gap))

    def _see(self, event: Sighting) -> None:
        if event.command is not None:
            self._touch(event)
            return
        if event.lines:
            self._glimpse(event)
            return
        content = event.content if event.content is not None else self._backed_up(event)
        if content is not None:
            self._meet(content, event.time)

    def _touch(self, event: Sighting) -> None:
        """A command may have changed the file: the known content is kept until something else is seen."""
        if self._now is not None:
            gap = Gap(self._last_time, event.time, command=event.command)
            self.versions.append(Version(time=event.time, content=self._now, gap=gap))

    def _glimpse(self, event: Sighting) -> None:
        """Some lines, shown because the file changed: the known content stays valid only if it has them."""
        now = self._now
        if now is None:
            return
        known = now.plain.split("\n")
        if not all(number <= len(known) and known[number - 1] == text for number, text in event.lines):
            self._before_rewind = None
            self.versions.append(Version(time=event.time, content=None, gap=Gap(self._last_time, event.time)))

    def _change(self, event: FileChange) -> None:
        before = ABSENT if event.is_creation else event.before
        pending = self._before_rewind
        if before is not None:
            self._meet(before, event.place.time)
        elif pending is not None and (pending.content is None or event.after(pending.content) is not None):
            self._go_back(pending.time, is_assumed=event.after(self._now) is not None)
        self._before_rewind = None
        self._name_since.clear()
        after = event.after(self._now)
        # The change fitted the file when it was made. If it does not fit now, our content of the file is wrong.
        is_lost = after is None and self._now is not None
        gap = Gap(self._last_time, event.place.time) if is_lost else None
        self.versions.append(Version(time=event.place.time, content=after, change=event, gap=gap))

    def finish(self) -> tuple[Content | None, list[Version]]:
        """The content before the first version, and all versions, with gaps in earlier ones filled from later ones."""
        if self._before_rewind is not None:
            self._go_back(self._before_rewind.time, is_assumed=True)
        for number in range(len(self.versions) - 1, -1, -1):
            before = self._before(number)
            if before is not None:
                self._fill(number - 1, before)
        return self._first, self.versions

    def _before(self, number: int) -> Content | None:
        """What a version shows about the content before it."""
        version = self.versions[number]
        if version.gap is not None or version.change is None or version.content is None:
            return None
        return version.change.undone(version.content)

    def _fill(self, number: int, content: Content) -> None:
        """Adds to what is known of a version, or of the content before the first version (-1)."""
        known = self.versions[number].content if number >= 0 else self._first
        if known is not None:
            content = known.spelled_like(content) if known.says_the_same(content) else known
        if number >= 0:
            self.versions[number] = replace(self.versions[number], content=content)
        else:
            self._first = content

    def _backed_up(self, event: Sighting) -> Content | None:
        """The content of a backup: read from it, or else the known content at the time it was first named.

        A new name without a change of ours means that something else changed the file.
        """
        if event.backup is None:
            return None
        key = (event.session, event.backup)
        last = self._name_since.get(event.session)
        self._name_since[event.session] = event.backup
        if key not in self._named:
            raw = self._read_backup(*key) if self._read_backup is not None else None
            if raw is None and last not in (None, event.backup):
                self._before_rewind = None
                gap = Gap(self._last_time, event.time)
                self.versions.append(Version(time=event.time, content=None, gap=gap))
            content = exact(raw.decode("utf-8", "surrogateescape")) if raw is not None else self._now
            if content is None:
                return None
            self._named[key] = content
        return self._named[key]

    def _meet(self, content: Content, time: datetime | None) -> None:
        """Compares the content seen with the known one, and goes on from the one seen."""
        now, self._before_rewind = self._now, None
        if now is not None and now.says_the_same(content):
            self._confirm()
        if now is None or now.says_the_same(content):
            self._fill(len(self.versions) - 1, content)
        else:
            contents = [self._first, *(version.content for version in self.versions)]
            is_return = any(each is not None and each.says_the_same(content) for each in contents)
            gap = Gap(self._last_time, time, is_return)
            self.versions.append(Version(time=time, content=content.like_before(now), gap=gap))

    def _confirm(self) -> None:
        """Removes the versions of commands that may have changed the file: they did not."""
        while self.versions and self.versions[-1].gap is not None and self.versions[-1].gap.command is not None:
            self.versions.pop()

    @property
    def _last_time(self) -> datetime | None:
        return self.versions[-1].time if self.versions else None


class LineSource(StrEnum):
    EDIT = "edit"
    BEFORE = "before"
    """The line was there before the first known change."""
    OUTSIDE = "outside"
    """Written in a gap, by something outside the sessions."""


class LineOrigin(Struct, frozen=True):
    source: LineSource
    change: FileChange | None = None
    gap: Gap | None = None


class BlamedLine(Struct, frozen=True):
    number: int
    text: str
    origin: LineOrigin


BEFORE = LineOrigin(LineSource.BEFORE)


def blame(history: FileHistory) -> list[BlamedLine] | None:
    """Every line of the last version with its origin; None if its content is not known."""
    if history.last is None:
        return None
    walk = _Walk(history.base)
    for version in history.versions:
        walk.go_on(version)
    pairs = zip(walk.lines, walk.origins, strict=True)
    return [BlamedLine(number, line.removesuffix("\n"), origin) for number, (line, origin) in enumerate(pairs, 1)]


class _Walk:
    """The origins of the lines, carried from version to version."""

    def __init__(self, base: Content | None) -> None:
        self.lines = _lines(base)
        self.origins: list[LineOrigin] = [BEFORE] * len(self.lines)
        self._is_known = base is not None
        self._had: dict[str, list[LineOrigin]] = {}
        self._remember()

    def go_on(self, version: Version) -> None:
        if version.content is None:
            self._is_known = False
            return
        lines, origin = _lines(version.content), _origin(version)
        returned = self._had.get("".join(lines)) if version.change is None else None
        if returned is not None:
            self.origins = returned
        elif self._is_known or version.content.text is None:
            self.origins = _carried(self.lines, self.origins, lines, origin)
        else:
            self.origins = self._unsure(version, lines, origin)
        self.lines, self._is_known = lines, True
        self._remember()

    def _unsure(self, version: Version, lines: list[str], origin: LineOrigin) -> list[LineOrigin]:
        """After an unknown version: lines that the change itself shows are its own, the others were there before it."""
        before = version.change.undone(version.content) if version.change is not None and version.content else None
        if before is None:
            return [BEFORE if version.change is None else origin] * len(lines)
        old = _lines(before)
        return _carried(old, [BEFORE] * len(old), lines, origin)

    def _remember(self) -> None:
        self._had["".join(self.lines)] = self.origins


def _lines(content: Content | None) -> list[str]:
    return split_lines(content.plain) if content is not None else []


def _origin(version: Version) -> LineOrigin:
    if version.change is not None:
        return LineOrigin(LineSource.EDIT, change=version.change)
    return BEFORE if version.gap is None else LineOrigin(LineSource.OUTSIDE, gap=version.gap)


def _carried(
    old: Sequence[str], origins: Sequence[LineOrigin], new: Sequence[str], written: LineOrigin
) -> list[LineOrigin]:
    """Lines that stayed keep their origin; the others get the origin `written`."""
    carried: list[LineOrigin] = []
    for step in steps(old, new):
        carried += (
            origins[step.old_start : step.old_end] if step.is_same else [written] * (step.new_end - step.new_start)
        )
    return carried


def known_parts(history: FileHistory) -> list[BlamedLine]:
    """The lines of the last version that patches show, for a file not known as a whole. Line numbers show the holes."""
    known: dict[int, tuple[str, LineOrigin]] = {}
    for version in history.versions:
        if version.content is not None:
            lines = _lines(version.content)
            known = {number: (line.removesuffix("\n"), BEFORE) for number, line in enumerate(lines, 1)}
            continue
        if version.gap is not None or version.change is None or not version.change.hunks:
            known = {}  # where its lines are now is not known
        if version.change is not None:
            known = _patched(known, version.change)
    return [BlamedLine(number, *known[number]) for number in sorted(known)]


def _patched(known: dict[int, tuple[str, LineOrigin]], change: FileChange) -> dict[int, tuple[str, LineOrigin]]:
    """The known lines after a patch: lines outside its hunks moved, lines that it shows added."""
    found = {number + _moved(number, change.hunks): said for number, said in known.items() if _stays(number, change)}
    origin = LineOrigin(LineSource.EDIT, change=change)
    for hunk in change.hunks:
        number = hunk.new_start
        for line in hunk.lines:
            if line[:1] in (" ", "+"):
                found[number] = (line[1:], BEFORE if line[0] == " " else origin)
                number += 1
    return found


def _stays(number: int, change: FileChange) -> bool:
    return not any(hunk.old_start <= number < hunk.old_start + hunk.old_lines for hunk in change.hunks)


def _moved(number: int, hunks: Sequence[Hunk]) -> int:
    """How many lines a line moves by the hunks before it."""
    return sum(hunk.new_lines - hunk.old_lines for hunk in hunks if number >= hunk.old_start + hunk.old_lines)


def with_holes(parts: Sequence[BlamedLine]) -> Iterator[BlamedLine | str]:
    """The lines, with a note in every place where some are not known."""
    expected = 1
    for line in parts:
        if line.number > expected:
            last = line.number - 1
            yield f"[line {last} is not known]" if last == expected else f"[lines {expected} to {last} are not known]"
        yield line
        expected = line.number + 1
    yield "[what comes after is not known]"


def text_of_parts(parts: Sequence[BlamedLine]) -> str:
    return "".join(f"{each if isinstance(each, str) else each.text}\n" for each in with_holes(parts))
