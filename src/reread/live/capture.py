"""The capture file of a run: every line that crossed the pipe, with its time, written before it is parsed.

    2026-11-15T08:46:13.123456Z < {"type":"system",...}      from the client, its bytes untouched after the 30th
    2026-11-15T08:46:13.123456Z > {"type":"user",...}        to the client
    2026-11-15T08:46:13.123456Z ! some text                  a line of its stderr
    2026-11-15T08:46:13.123456Z = {"claude": "...", ...}     ours: how it was started, how it ended

During the run the file is `FOLDER/RUN.part` and locked; afterwards it is `FOLDER/SESSION/RUN.wire`. `/clear` begins
another session, and with it another file.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from reread.errors import SourceError
from reread.home import make_private, sync_file, sync_folder
from reread.records import Unknown, decode

from .events import Event, UnknownFrame
from .protocol import Stream

PARSED = 64 << 20
"""Bytes. A longer line is kept but not parsed."""
NOBODY = "unknown"
"""The folder for runs that never named a session."""
LEFT_ALONE = 24 * 3600.0
"""On a file system without locks, a run that has written nothing for this many seconds counts as dead."""

_STAMP = 27
_MARKS = frozenset(b"<>!=")
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class WireLine(NamedTuple):
    """One line of a capture file. A line in any other format has the mark `?` and is kept whole in `raw`."""

    time: datetime | None
    mark: str
    raw: bytes
    """The bytes that crossed the pipe, without the newline."""
    offset: int


class Capture:
    """Writes one run. A failing disk does not stop it: `on_problem` is called once, and `lost` counts lost lines."""

    def __init__(self, folder: Path, on_problem: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self.problem: str | None = None
        """The first thing that went wrong."""
        self.lost = 0
        """Lines that could not be written."""
        self._on_problem = on_problem
        self._size = 0
        run = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
        self.path = folder / f"{run}.part"
        self._file: io.FileIO | None = None
        with self._reporting_trouble():
            make_private(folder)
            self._file = io.FileIO(os.open(self.path, _NEW, 0o600), "wb")
            _lock(self._file.fileno())

    def received(self, raw: bytes) -> None:
        self._write(b"<", raw)

    def sent(self, raw: bytes) -> None:
        self._write(b">", raw)

    def error(self, raw: bytes) -> None:
        self._write(b"!", raw)

    def note(self, about: Mapping[str, Any]) -> None:
        self._write(b"=", json.dumps(about, default=str).encode())

    def close(self, session: str | None) -> Path:
        """Moves the file to its final place and returns the path."""
        file, self._file = self._file, None
        if file is None:
            return self.path
        with self._reporting_trouble():
            sync_file(file.fileno())
        file.close()
        with self._reporting_trouble():
            self.path = _settle(self.path, session)
        return self.path

    def followed_by(self, session: str, line: bytes) -> Capture:
        """Closes the file of a session and begins that of the next with the line that named it."""
        self.note({"ended_by": "another session"})
        self.close(session)
        following = Capture(self.folder, self._on_problem)
        following.note({"follows": self.path.stem, "pid": os.getpid()})
        following.received(line)
        return following

    def _write(self, mark: bytes, raw: bytes) -> None:
        """Writes without buffering, so that no line is lost that was already parsed when the process is killed."""
        if self._file is None:
            self.lost += 1
            return
        line = b"%s %s %s\n" % (_now(), mark, raw.removesuffix(b"\n"))
        written = 0
        with self._reporting_trouble():
            while written < len(line):
                written += self._file.write(line[written:])
        if written == len(line):
            self._size += written
            return
        self.lost += 1
        with self._reporting_trouble():  # half a line would corrupt the next one
            self._file.truncate(self._size)
            self._file.seek(self._size)

    @contextlib.contextmanager
    def _reporting_trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if self.problem is None:
                self.problem = str(SourceError(self.path, f"cannot be written ({error.strerror or error})"))
                self._on_problem(self.problem)


def read_capture(source: Path | bytes) -> Iterator[WireLine]:
    """The lines of a capture file, which may be cut off or damaged."""
    try:
        with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
            offset = 0
            for line in file:
                yield _wire_line(line.removesuffix(b"\n"), offset)
                offset += len(line)
    except OSError as error:
        raise SourceError(Path(str(source)), error.strerror or str(error)) from error


def replay(source: Path | bytes, stream: Stream | None = None) -> Iterator[tuple[datetime | None, Event]]:
    """The events of a run, each with its time."""
    stream = stream or Stream()
    last = None
    for line in read_capture(source):
        last = line.time or last
        for event in _replayed(stream, line):
            yield line.time, event
    for event in stream.close():
        yield last, event


def interpreted(stream: Stream, line: bytes) -> list[Event]:
    """The events of a line from the client; a line longer than `PARSED` becomes one `UnknownFrame`."""
    if len(line) <= PARSED:
        return stream.feed(line)
    reason = f"a line of {len(line):,} bytes is too long to be read"
    record = Unknown(raw=line.removesuffix(b"\n"), reason=reason)
    return [UnknownFrame(session=stream.session, record=record, reason=reason)]


def adopt(folder: Path) -> list[Path]:
    """Moves the files of runs whose process is gone to their final places and returns the new paths."""
    return [path for part in sorted(folder.glob("*.part")) if (path := _adopt(part)) is not None]


def session_named_last(path: Path) -> str | None:
    """The session id of the last frame that has one; in captures of earlier versions `/clear` changes it on the way."""
    named = (decode(line.raw).session_id for line in read_capture(path) if line.mark == "<" and len(line.raw) <= PARSED)
    last = None
    for session in named:
        last = session or last
    return last


def _adopt(part: Path) -> Path | None:
    try:
        with part.open("r+b") as file:
            about = os.fstat(file.fileno())
            # An empty file was just created, and its writer may not have locked it yet.
            if not about.st_size or not _is_left(file.fileno(), about.st_mtime):
                return None
            if sys.platform != "win32":  # Windows cannot rename an open file
                return _settle(part, session_named_last(part))
        return _settle(part, session_named_last(part))
    except (FileNotFoundError, PermissionError):  # another process adopted it, or (Windows) it is still being written
        return None


def _settle(part: Path, session: str | None) -> Path:
    place = part.parent / (session if session and _SAFE_NAME.fullmatch(session) else NOBODY)
    make_private(place)
    settled = part.rename(place / f"{part.stem}.wire")
    sync_folder(place)
    return settled


def _replayed(stream: Stream, line: WireLine) -> list[Event]:
    if line.mark == "<":
        return interpreted(stream, line.raw + b"\n")
    return stream.sent(line.raw) if line.mark == ">" else []


def _wire_line(line: bytes, offset: int) -> WireLine:
    if line[_STAMP : _STAMP + 1] == b" " == line[_STAMP + 2 : _STAMP + 3] and line[_STAMP + 1] in _MARKS:
        with contextlib.suppress(ValueError):
            written = datetime.fromisoformat(line[:_STAMP].decode())
            return WireLine(written, chr(line[_STAMP + 1]), line[_STAMP + 3 :], offset)
    return WireLine(None, "?", line, offset)


def _now() -> bytes:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()


_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

if sys.platform == "win32":
    # Windows cannot rename an open file, so the rename itself fails while the writer lives: no lock is needed.
    def _lock(_fd: int) -> None:
        return

    def _is_left(_fd: int, _written: float) -> bool:
        return True

else:
    import fcntl

    # Unlike a record lock, flock is not lost when the same process opens and closes the file a second time.
    def _lock(fd: int) -> None:
        with contextlib.suppress(OSError):  # a file system without locks: see LEFT_ALONE
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _is_left(fd: int, written: float) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return time.time() - written > LEFT_ALONE
        return True
