"""Which sessions wrote the lines of a commit: by what they wrote, not by when they ran.

A line that a commit adds is attributed to the last edit before the commit that wrote the same text into the same file,
and, if the text was written more than once, beside the same line; one that no such edit wrote to nobody. Lines that say
nothing (a bracket, a blank) do not count.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from reread.errors import BadInput, printable
from reread.features.edits.changes import EditPosition, FileChange, changes_of
from reread.features.edits.shell import key_of
from reread.features.summaries import RanTests, test_runs_of
from reread.index.read import calls_with_files
from reread.index.sessions import sessions
from reread.sessions import CallStatus, Session

if TYPE_CHECKING:
    from .inner import InnerArchive

_LEAST = 3
"""Letters and digits of a line that says something."""
_SLACK = timedelta(minutes=1)
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)")


class CommitLine(Struct, frozen=True, kw_only=True):
    """A line that a commit adds."""

    commit: str
    path: str
    """Within the repository."""
    number: int
    text: str
    writer: EditPosition | None = None
    """The edit that wrote it."""


class Work(Struct, frozen=True, kw_only=True):
    """What one prompt of a session did for some commits."""

    session: str
    title: str
    turn: int
    prompt: str | None
    prompt_uuid: str | None
    time: datetime | None
    lines: int
    """Lines of the commits that it wrote."""
    nanodollars: int | None
    """The cost of its turn, by the share of what it wrote that is in the commits."""
    tests: tuple[RanTests, ...]
    failures: int
    """Calls that failed or were refused in its turn."""


class CommitOrigin(Struct, frozen=True, kw_only=True):
    """Who wrote one commit, or several."""

    commits: tuple[tuple[str, str], ...]
    """Ids and subjects, the newest first."""
    lines: tuple[CommitLine, ...]
    """Those that say something."""
    work: tuple[Work, ...]
    """What sessions did for them, in the order of time."""

    @property
    def attributed(self) -> int:
        return sum(line.writer is not None for line in self.lines)


def commit_origin(archive: InnerArchive, revision: str, folder: Path) -> CommitOrigin:
    """Who wrote a commit, or the commits of a range such as `main..HEAD`, of the repository in a folder."""
    if revision.startswith("-"):
        raise BadInput(f"{printable(revision)!r} names no commit")
    one = [] if ".." in revision else ["--max-count=1"]
    told = _git(folder, "log", *one, "--format=%H%x00%ct%x00%s", revision).splitlines()
    commits = [line.split("\0", 2) for line in told if line]
    root = key_of(_git(folder, "rev-parse", "--show-toplevel").strip())
    lines = [line for commit, _, _ in commits for line in _added(folder, commit)]
    until = {commit: datetime.fromtimestamp(int(time), UTC) + _SLACK for commit, time, _ in commits}
    known = {each.id: each for each in _sessions(archive, root, {line.path for line in lines})}
    written = _Written(known.values(), root)
    found = tuple(_with_writers(lines, written, until))
    work = sorted(_works(found, written, known), key=lambda each: (each.time is None, each.time))
    return CommitOrigin(commits=tuple((commit, title) for commit, _, title in commits), lines=found, work=tuple(work))


def _git(folder: Path, *arguments: str) -> str:
    try:
        ran = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)  # noqa: S603, S607
    except OSError as error:
        raise BadInput(f"git cannot be run: {error.strerror or error}") from error
    if ran.returncode:
        reason = ran.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise BadInput(f"git: {printable(reason.removeprefix('fatal: '))}")
    return ran.stdout.decode("utf-8", "replace")


def _added(folder: Path, commit: str) -> Iterator[CommitLine]:
    """The lines that a commit adds and that say something; a merge adds those that no parent has."""
    shown = _git(
        folder, "-c", "core.quotePath=false", "show", "--format=", "--no-color", "--no-ext-diff", "-U0", "-M", commit
    )
    path, number = "", 0
    for line in shown.split("\n"):
        if line.startswith("+++ "):
            path = line[6:].rstrip("\t") if line.startswith("+++ b/") else ""
        elif found := _HUNK.match(line):
            number = int(found[1])
        elif line.startswith("+") and path:
            if _tells(line):
                yield CommitLine(commit=commit, path=path, number=number, text=line[1:])
            number += 1


def _tells(text: str) -> bool:
    return sum(map(str.isalnum, text)) >= _LEAST


def _sessions(archive: InnerArchive, root: str, paths: set[str]) -> Iterator[Session]:
    calls = list(calls_with_files(archive.connection))
    names = {each.path for each in calls}
    touched = {known for known in names if any(_is_file(known, root, path) for path in paths)}
    numbers = sorted({each.session for each in calls if each.path in touched})
    for stored in sessions(archive.connection, ids=numbers):
        yield archive.session(stored)


def _is_file(known: str, root: str, path: str) -> bool:
    """Whether a path in a transcript is that file: below the repository, or in a folder of its name elsewhere."""
    key = key_of(known)
    return key.endswith(f"/{path}") and (key.startswith(f"{root}/") or root.rpartition("/")[2] in key.split("/"))


class _Edit(Struct, frozen=True):
    place: EditPosition
    path: str
    pairs: frozenset[tuple[str, str]]
    """Lines that it wrote one after the other."""
    is_whole: bool
    """Whether it wrote a whole file over one that is not known, so that most of its lines may be another's."""


class _Written:
    """The lines that edits wrote, by their text; the spaces between words may be another's."""

    def __init__(self, sessions: Iterable[Session], root: str) -> None:
        self._root = root
        self._edits: dict[str, list[_Edit]] = defaultdict(list)
        self.sizes: Counter[tuple[str, int]] = Counter()
        """Lines that each turn wrote into any file."""
        for session in sessions:
            for change in changes_of(session):
                texts = list(_lines_of(change))
                is_whole = change.content is not None and change.before is None and not change.hunks
                is_whole = is_whole and not change.is_creation
                edit = _Edit(change.place, change.path, frozenset(pairwise(texts)), is_whole)
                self.sizes[session.id, change.place.turn] += len(texts)
                for text in texts:
                    self._edits[text].append(edit)

    def by(self, path: str, texts: tuple[str, str, str], until: datetime) -> EditPosition | None:
        """Who wrote the second of three lines. A text that was written more than once belongs to an edit that wrote it
        beside one of its neighbours, else to nobody."""
        before, text, after = texts
        known = self._edits.get(text, ())
        fit = [each for each in known if each.place.moment <= until and _is_file(each.path, self._root, path)]
        fit = [each for each in fit if not each.is_whole] or fit
        if len(known) > 1:
            fit = [each for each in fit if (before, text) in each.pairs or (text, after) in each.pairs]
        return max((each.place for each in fit), key=lambda place: (place.moment, place.number), default=None)


def _lines_of(change: FileChange) -> Iterator[str]:
    """The lines that a change put into its file."""
    old, new = _texts_of(change)
    had = set(map(_plain, old))
    return (line for line in map(_plain, new) if _tells(line) and line not in had)


def _texts_of(change: FileChange) -> tuple[list[str], list[str]]:
    """The lines that a change took out or replaced, and those that it put in."""
    if change.hunks:
        lines = [line for hunk in change.hunks for line in hunk.lines]
        old, new = ([line[1:] for line in lines if line[:1] == sign] for sign in "-+")
        return old, new
    if change.content is not None:
        before = [change.before.text] if change.before is not None else []
        return _split(before), _split([change.content.text])
    return _split(each.old for each in change.replacements), _split(each.new for each in change.replacements)


def _split(texts: Iterable[str | None]) -> list[str]:
    return [line for text in texts for line in (text or "").split("\n")]


def _plain(line: str) -> str:
    return " ".join(line.split())


def _with_writers(lines: Sequence[CommitLine], written: _Written, until: dict[str, datetime]) -> Iterator[CommitLine]:
    plain = ["", *(_plain(line.text) for line in lines), ""]
    for line, *texts in zip(lines, plain, plain[1:], plain[2:], strict=False):
        yield replace(line, writer=written.by(line.path, (texts[0], texts[1], texts[2]), until[line.commit]))


def _works(lines: Iterable[CommitLine], written: _Written, known: dict[str, Session]) -> Iterator[Work]:
    found: dict[tuple[str, int], list[EditPosition]] = defaultdict(list)
    for line in lines:
        if line.writer is not None:
            found[line.writer.session, line.writer.turn].append(line.writer)
    runs = {name: list(test_runs_of(known[name])) for name in {session for session, _ in found}}
    for (name, number), places in found.items():
        share = min(1.0, len(places) / max(1, written.sizes[name, number]))
        tests = tuple(run for run in runs[name] if run.turn == number)
        yield _work(known[name], places, share, tests)


def _work(session: Session, places: Sequence[EditPosition], share: float, tests: tuple[RanTests, ...]) -> Work:
    """The work of a turn, from where it wrote lines of commits; `share` is how much of what it wrote they are."""
    first = places[0]
    turns = (turn for branch in session.branches for turn in branch.turns if turn.index == first.turn)
    turn = next((each for each in turns if each.branch == first.branch), None)
    calls = turn.calls if turn is not None else []
    spent = session.usage_of(turn).nanodollars if turn is not None else None
    return Work(
        session=session.id,
        title=session.title,
        turn=first.turn,
        prompt=first.prompt,
        prompt_uuid=first.prompt_uuid,
        time=first.time,
        lines=len(places),
        nanodollars=None if spent is None else round(spent * share),
        tests=tests,
        failures=sum(call.status in (CallStatus.ERROR, CallStatus.REJECTED) for call in calls),
    )
