"""Work done twice: lines written and taken away again, files read again unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from reread.records import CompactBoundary
from reread.sessions import Status

from .calls import EDITS, Call, name_of
from .detector import Detector
from .events import Cause, Event, Kind, Loss
from .scene import Scene

_FEWEST_LINES = 3
_FEWEST_READS = 2
_MANY_TOKENS = 4000
_CHARACTERS_PER_TOKEN = 4


class _File:
    """What a session wrote into one file so far."""

    __slots__ = ("added", "again", "before", "characters", "last", "previous", "undone", "undone_by")

    def __init__(self) -> None:
        self.added: dict[str, int] = {}
        self.again = 0
        """Lines of the session's own that it changed or removed."""
        self.characters = 0
        self.last: Call | None = None
        self.previous: set[str] = set()
        """What every edit put in."""
        self.before: set[str] = set()
        """And what stood there before."""
        self.undone = 0
        self.undone_by: Call | None = None


class Rework(Detector):
    """Lines the agent wrote were changed or removed by it before the session ended, or an edit was undone."""

    kind = Kind.REWORK
    heuristics = "three or more lines of its own taken away: 0.7; an edit turned round: 0.85"

    def find(self, scene: Scene) -> Iterator[Event]:
        edits: dict[str, list[Call]] = {}
        for call in scene.main_calls:
            if call.name in EDITS and call.status is Status.OK:
                edits.setdefault(call.path, []).append(call)
        for path, calls in edits.items():
            if len(calls) > 1:
                yield from self._of(scene, path, calls)

    def _of(self, scene: Scene, path: str, calls: list[Call]) -> Iterator[Event]:
        file = _File()
        for call in calls:
            for old, new in _replacements(call):
                _replace(file, old, new, call)
        if file.last is not None and (file.again >= _FEWEST_LINES or file.undone):
            yield self._event(scene, path, file, file.last)

    def _event(self, scene: Scene, path: str, file: _File, last: Call) -> Event:
        at = file.undone_by or last
        what = f"{file.again} lines written and taken away again"
        what = f"an edit undone, {what}" if file.undone else what
        return scene.event(
            self.kind,
            at.record,
            f"{name_of(path)}: {what}",
            Cause.AGENT,
            0.85 if file.undone else 0.7,
            about=path,
            loss=Loss(tokens=file.characters // _CHARACTERS_PER_TOKEN),
            lines=file.again,
            undone=file.undone,
        )


def _replacements(call: Call) -> Iterator[tuple[str | None, str]]:
    """Old and new text of every change; None for a file that is written anew."""
    given = call.given
    if call.name == "Write" and given.content is not None:
        yield None, given.content
    elif given.edits is not None:
        pairs = ((edit.get("old_string"), edit.get("new_string")) for edit in given.edits)
        yield from ((old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str))
    elif given.old_string is not None and given.new_string is not None:
        yield given.old_string, given.new_string


def _replace(file: _File, old: str | None, new: str, call: Call) -> None:
    """Counts what of the session's own lines goes, then adds what comes."""
    coming = _lines(new)
    if old is None:
        going = {line: count for line, count in file.added.items() if line not in coming} if file.added else {}
    elif file.added:
        going = {line: 1 for line in _lines(old) if line in file.added and line not in coming}
        if old and new in file.before and old in file.previous:
            file.undone += 1
            file.undone_by = call
    else:
        going = {}
    if old:
        file.before.add(old)
        file.previous.add(new)
    for line in going:
        del file.added[line]
        file.again += 1
        file.characters += len(line)
    if going:
        file.last = call
    for line in coming.difference(_lines(old)) if old else coming:
        file.added[line] = 1
    file.last = file.last or call


def _lines(text: str) -> set[str]:
    return {line for line in map(str.strip, text.split("\n")) if line}


class ReadWaste(Detector):
    """The same part of a file was read again although nothing had changed it."""

    kind = Kind.READ_WASTE
    exact = "a result that says the file is unchanged"
    heuristics = "the same part read again with no edit of the file and no compaction between: 0.7"

    def find(self, scene: Scene) -> Iterator[Event]:
        cuts = sorted(record.offset for record in scene.conversation.beside.get(CompactBoundary, ()))
        read: dict[str, set[str]] = {}
        wasted: dict[str, list[Call]] = {}
        passed = 0
        for call in scene.main_calls:
            if call.name == "Read":
                if call.status is Status.OK:
                    while passed < len(cuts) and cuts[passed] < call.record.offset:
                        passed += 1
                        read.clear()
                    path, part = call.path, _part(call)
                    parts = read.setdefault(path, set())
                    if part in parts:
                        wasted.setdefault(path, []).append(call)
                    parts.add(part)
            elif call.name in EDITS:
                read.pop(call.path, None)
        for path, calls in wasted.items():
            tokens = sum(_size(call) for call in calls) // _CHARACTERS_PER_TOKEN
            if len(calls) >= _FEWEST_READS or tokens >= _MANY_TOKENS:
                yield self._event(scene, path, calls, tokens)

    def _event(self, scene: Scene, path: str, calls: list[Call], tokens: int) -> Event:
        times = "once" if len(calls) == 1 else f"{len(calls)} times"
        return scene.event(
            self.kind,
            calls[0].record,
            f"{name_of(path)} was read again {times} unchanged",
            Cause.AGENT,
            0.7,
            about=path,
            loss=Loss(tokens=tokens),
            reads=len(calls),
        )


def _part(call: Call) -> str:
    given = call.given
    return f"{given.offset} {given.limit} {given.pages}"


def _size(call: Call) -> int:
    return len(call.text)
